//! Questions about the whole to the reports that are nearest to them.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use sha2::{Digest, Sha256};
use trefoil_core::{
    Analyzer, CommunityId, Content, Embedder, EntityId, ItemMetadata, Language, LineSpan, Question,
    Result, Role, Score, Sources,
};
use trefoil_store::{CommunityRow, Store};
use trefoil_text::language_of;

/// A report that is less relevant is not nearest to the question.
const LEAST_RELEVANCE: f32 = 0.4;
/// Reports that are embedded between two writes.
const BATCH: usize = 64;
/// Most entities that a result names.
const ENTITIES: usize = 20;
/// How soon a term that occurs again adds less, and how much a long report counts as long:
/// BM25's k₁ and b (Robertson, Zaragoza 2009).
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;

/// Every report, held in memory to be searched.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    reports: Vec<Report>,
    /// In how many reports a term is.
    df: BTreeMap<String, usize>,
    /// Mean number of terms of a report.
    mean_length: f32,
}

#[derive(Debug)]
struct Report {
    row: CommunityRow,
    /// Its unit vector, where it is embedded.
    vector: Option<Vec<f32>>,
    terms: BTreeMap<String, usize>,
    length: usize,
}

/// A community that a question is about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NearCommunity<'r> {
    pub(crate) row: &'r CommunityRow,
    pub(crate) relevance: Score,
}

/// Embeds the reports that are not embedded yet. How many.
///
/// # Errors
/// Those of the store and of the embedder; what was embedded before stays.
pub(crate) fn embed_reports(store: &Store, embedder: &dyn Embedder) -> Result<usize> {
    let rows = store.communities()?;
    let texts: BTreeMap<String, String> =
        rows.iter().map(text).map(|text| (hash(&text), text)).collect();
    let known = store.text_embeddings(texts.keys().map(String::as_str))?;
    let new: Vec<(&String, &String)> =
        texts.iter().filter(|(hash, _)| !known.contains_key(*hash)).collect();
    for batch in new.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embedder.embed(Role::Passage, &texts)?;
        let hashes = batch.iter().map(|(hash, _)| (*hash).clone());
        store.put_text_embeddings(&hashes.zip(vectors).collect::<Vec<_>>())?;
    }
    Ok(new.len())
}

impl Reports {
    /// Reads every report, with its embedding where there is one.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn load(store: &Store, analyzer: &dyn Analyzer) -> Result<Self> {
        let rows = store.communities()?;
        let hashes: Vec<String> = rows.iter().map(|row| hash(&text(row))).collect();
        let mut vectors = store.text_embeddings(hashes.iter().map(String::as_str))?;
        let vectors = hashes.iter().map(|hash| vectors.remove(hash));
        let given = rows.into_iter().zip(vectors.collect::<Vec<_>>());
        Ok(Self::new(given, analyzer))
    }

    fn new(
        given: impl IntoIterator<Item = (CommunityRow, Option<Vec<f32>>)>,
        analyzer: &dyn Analyzer,
    ) -> Self {
        let reports = given.into_iter().map(|(row, vector)| {
            let mut terms: BTreeMap<String, usize> = BTreeMap::new();
            let text = format!("{}\n{}", text(&row), row.keywords.join("\n"));
            analyze(analyzer, &text, |term| *terms.entry(term).or_default() += 1);
            let length = terms.values().sum();
            Report { row, vector, terms, length }
        });
        let reports: Vec<Report> = reports.collect();
        let mut df: BTreeMap<String, usize> = BTreeMap::new();
        for term in reports.iter().flat_map(|report| report.terms.keys()) {
            *df.entry(term.clone()).or_default() += 1;
        }
        let total: usize = reports.iter().map(|report| report.length).sum();
        let mean_length = total as f32 / reports.len().max(1) as f32;
        Self { reports, df, mean_length }
    }

    /// The `count` reports that are nearest to a question, best first, equals by level and
    /// size, then by id; none below a relevance of .4.
    ///
    /// A report with an embedding is as relevant as its cosine with the question's `vector`
    /// on the embedder's `range`, as a chunk is. Without, its relevance is the share of the
    /// question's information that it covers, as in the keyword leg: BM25 ÷ Σ idf.
    pub(crate) fn nearest(
        &self,
        question: &Question,
        embedded: Option<(&[f32], (f32, f32))>,
        analyzer: &dyn Analyzer,
        count: usize,
    ) -> Vec<NearCommunity<'_>> {
        let asked = self.asked(question, analyzer);
        let near = self.reports.iter().map(|report| {
            let relevance = match (embedded, &report.vector) {
                (Some((vector, (unrelated, perfect))), Some(own)) => {
                    let cosine: f32 = vector.iter().zip(own).map(|(a, b)| a * b).sum();
                    (cosine - unrelated) / (perfect - unrelated)
                }
                _ => self.covered(report, &asked),
            };
            NearCommunity { row: &report.row, relevance: Score::clamped(relevance) }
        });
        let mut near: Vec<NearCommunity<'_>> =
            near.filter(|one| one.relevance.get() >= LEAST_RELEVANCE).collect();
        near.sort_by(|a, b| {
            let order = b.relevance.cmp(&a.relevance).then(a.row.level.cmp(&b.row.level));
            let order = order.then(b.row.members.len().cmp(&a.row.members.len()));
            order.then_with(|| a.row.id.cmp(&b.row.id))
        });
        near.truncate(count);
        near
    }

    /// The `count` largest communities of the whole graph: what a question is about that
    /// names nothing, such as "what is this about?".
    pub(crate) fn largest(&self, count: usize) -> Vec<&CommunityRow> {
        let whole = self.reports.iter().map(|report| &report.row).filter(|row| row.level == 0);
        let mut whole: Vec<&CommunityRow> = whole.collect();
        whole.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then_with(|| a.id.cmp(&b.id)));
        whole.truncate(count);
        whole
    }

    /// The names of the communities that one is a part of, outermost first.
    pub(crate) fn path(&self, row: &CommunityRow) -> Vec<String> {
        let mut path = Vec::new();
        let mut parent = row.parent.as_ref();
        while let Some(above) = parent.and_then(|id| self.get(id)) {
            path.insert(0, above.name.clone());
            // A part lies one level deeper, so that this ends.
            parent = above.parent.as_ref().filter(|_| path.len() < usize::from(row.level));
        }
        path
    }

    /// A community by its id.
    pub(crate) fn get(&self, id: &CommunityId) -> Option<&CommunityRow> {
        self.reports.iter().map(|report| &report.row).find(|row| row.id == *id)
    }

    /// The terms of a question with their idf; those that no report holds tell least, for
    /// the words that ask for an overview are among them.
    fn asked(&self, question: &Question, analyzer: &dyn Analyzer) -> BTreeMap<String, f32> {
        let mut terms = BTreeSet::new();
        analyze(analyzer, &question.text, |term| {
            terms.insert(term);
        });
        let all = self.reports.len() as f32;
        let idf = |df: f32| (1.0 + (all - df + 0.5) / (df + 0.5)).ln();
        let weighed = terms.into_iter().map(|term| {
            let weight = self.df.get(&term).map_or_else(|| idf(all), |&df| idf(df as f32));
            (term, weight)
        });
        weighed.collect()
    }

    fn covered(&self, report: &Report, asked: &BTreeMap<String, f32>) -> f32 {
        let length = report.length as f32 / self.mean_length.max(1.0);
        let norm = SATURATION * (1.0 - LENGTH + LENGTH * length);
        let score = asked.iter().map(|(term, idf)| {
            let tf = report.terms.get(term).copied().unwrap_or_default() as f32;
            idf * tf * (SATURATION + 1.0) / (tf + norm)
        });
        let total: f32 = asked.values().sum();
        if total > 0.0 { score.sum::<f32>() / total } else { 0.0 }
    }
}

/// What a community says.
pub(crate) fn content(row: &CommunityRow) -> Content {
    Content { text: row.summary.clone(), summary: Some(row.summary.clone()), ..Content::default() }
}

/// Where a community comes from: its first entities.
pub(crate) fn sources(row: &CommunityRow) -> Sources {
    let entity_ids: Vec<EntityId> = row.members.iter().take(ENTITIES).cloned().collect();
    Sources { community_id: Some(row.id.clone()), entity_ids, ..Sources::default() }
}

/// What a person wants to see beside a community: its name as the title, the communities
/// around it as headings, its keywords as tags.
pub(crate) fn metadata(reports: &Reports, row: &CommunityRow) -> ItemMetadata {
    ItemMetadata {
        title: row.name.clone(),
        heading_path: reports.path(row),
        path: String::new(),
        lines: LineSpan { start: 1, end: 1 },
        language: language_of(&row.summary),
        date: None,
        tags: row.keywords.clone(),
    }
}

/// What is embedded for a report.
fn text(row: &CommunityRow) -> String {
    format!("{}\n{}", row.name, row.summary)
}

fn hash(text: &str) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(text) {
        // Writing into a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

fn analyze(analyzer: &dyn Analyzer, text: &str, mut push: impl FnMut(String)) {
    analyzer.analyze(text, Language::En, &mut |token| {
        if !token.stop {
            push(token.term.into_owned());
        }
    });
}
