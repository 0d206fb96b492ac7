//! Questions about the whole to the reports that are nearest to them.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trefoil_core::{
    Analyzer, CommunityId, Content, Embedder, EntityId, ItemMetadata, Language, LineSpan, Metadata,
    QueryVectors, Question, Result, Role, Score, Sources,
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

/// The reports that searches see, and what they were made from.
#[derive(Debug, Default)]
pub(crate) struct ReportView {
    pub(crate) made_from: Option<String>,
    pub(crate) reports: Arc<Reports>,
}

/// Every report, held in memory to be searched.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    all: Vec<Report>,
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
    /// Of its summary.
    language: Language,
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
        rows.iter().map(|row| (row.report_hash(), row.report())).collect();
    let known = store.text_embeddings(texts.keys().map(String::as_str))?;
    let new: Vec<(&String, &String)> =
        texts.iter().filter(|(hash, _)| !known.contains_key(*hash)).collect();
    for batch in new.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|(_, text)| text.as_str()).collect();
        let vectors = embedder.embed_checked(Role::Passage, &texts)?;
        let vectors = vectors.rows().into_iter().map(|vector| vector.to_vec());
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
        let hashes: Vec<String> = rows.iter().map(CommunityRow::report_hash).collect();
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
            let text = format!("{}\n{}", row.report(), row.keywords.join("\n"));
            analyze(analyzer, &text, |term| *terms.entry(term).or_default() += 1);
            let length = terms.values().sum();
            let language = language_of(&row.summary);
            Report { row, vector, language, terms, length }
        });
        let reports: Vec<Report> = reports.collect();
        let mut df: BTreeMap<String, usize> = BTreeMap::new();
        for term in reports.iter().flat_map(|report| report.terms.keys()) {
            *df.entry(term.clone()).or_default() += 1;
        }
        let total: usize = reports.iter().map(|report| report.length).sum();
        let mean_length = total as f32 / reports.len().max(1) as f32;
        Self { all: reports, df, mean_length }
    }

    /// The `count` reports that are nearest to a question, best first, equals by level and
    /// size, then by id; none below a relevance of .4.
    ///
    /// A report is as relevant as its cosine with the question's vector on the embedder's
    /// `range`, as a chunk is, where both are embedded; or as the share of the question's
    /// information that it covers, as in the keyword retriever (BM25 ÷ Σ idf), if that is more: a
    /// report on many things is near to the vector of none.
    pub(crate) fn nearest(
        &self,
        question: &Question,
        embedded: Option<(&QueryVectors, (f32, f32))>,
        analyzer: &dyn Analyzer,
        count: usize,
    ) -> Vec<NearCommunity<'_>> {
        let asked = self.asked(question, analyzer);
        let near = self.all.iter().map(|report| {
            let near = match (embedded, &report.vector) {
                (Some((vectors, (unrelated, perfect))), Some(own)) => {
                    let vector = vectors.for_language(Some(report.language));
                    let cosine: f32 = vector.iter().zip(own).map(|(a, b)| a * b).sum();
                    (cosine - unrelated) / (perfect - unrelated)
                }
                _ => 0.0,
            };
            let relevance = near.max(self.covered(report, &asked));
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
        let whole = self.all.iter().map(|report| &report.row).filter(|row| row.level == 0);
        let mut whole: Vec<&CommunityRow> = whole.collect();
        whole.sort_by(|a, b| b.members.len().cmp(&a.members.len()).then_with(|| a.id.cmp(&b.id)));
        whole.truncate(count);
        whole
    }

    /// Every community.
    pub(crate) fn rows(&self) -> impl Iterator<Item = &CommunityRow> {
        self.all.iter().map(|report| &report.row)
    }

    /// The communities that one is a part of, outermost first.
    fn path(&self, row: &CommunityRow) -> Vec<&CommunityRow> {
        let mut path = Vec::new();
        let mut parent = row.parent.as_ref();
        while let Some(above) = parent.and_then(|id| self.get(id)) {
            path.insert(0, above);
            // A part lies one level deeper, so that this ends.
            parent = above.parent.as_ref().filter(|_| path.len() < usize::from(row.level));
        }
        path
    }

    /// A community by its id.
    pub(crate) fn get(&self, id: &CommunityId) -> Option<&CommunityRow> {
        self.all.iter().map(|report| &report.row).find(|row| row.id == *id)
    }

    /// The terms of a question with their idf; those that no report holds tell least, for
    /// the words that ask for an overview are among them.
    fn asked(&self, question: &Question, analyzer: &dyn Analyzer) -> BTreeMap<String, f32> {
        let mut terms = BTreeSet::new();
        analyze(analyzer, &question.text, |term| {
            terms.insert(term);
        });
        let all = self.all.len() as f32;
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

/// Where a community comes from: those of its entities that most chunks mention.
pub(crate) fn sources(row: &CommunityRow) -> Sources {
    let mut entities: Vec<(&EntityId, u32)> =
        row.members.iter().zip(row.chunks.iter().copied()).collect();
    // The sort is stable, and the members are in the order of their ids.
    entities.sort_by_key(|&(_, chunks)| Reverse(chunks));
    let entity_ids = entities.into_iter().take(ENTITIES).map(|(id, _)| id.clone()).collect();
    Sources { community_id: Some(row.id.clone()), entity_ids, ..Sources::default() }
}

/// What a person wants to see with a community: its name as the title, the communities
/// around it that may be shown as headings, its keywords as tags.
pub(crate) fn metadata(
    reports: &Reports,
    row: &CommunityRow,
    may_show: impl Fn(&CommunityId) -> bool,
) -> ItemMetadata {
    let around = reports.path(row).into_iter().filter(|above| may_show(&above.id));
    ItemMetadata {
        title: row.name.clone(),
        heading_path: around.map(|above| above.name.clone()).collect(),
        path: String::new(),
        lines: LineSpan { start: 1, end: 1 },
        language: language_of(&row.summary),
        date: None,
        tags: row.keywords.clone(),
        metadata: Metadata::default(),
    }
}

fn analyze(analyzer: &dyn Analyzer, text: &str, mut push: impl FnMut(String)) {
    analyzer.analyze(text, Language::En, &mut |token| {
        if !token.stop {
            push(token.term.into_owned());
        }
    });
}

#[cfg(test)]
mod tests {
    use trefoil_core::EntityId;
    use trefoil_store::{community_id, entity_id};
    use trefoil_text::ScriptAnalyzer;

    use super::*;

    fn row(parent: Option<&CommunityRow>, members: &[&str], summary: &str) -> CommunityRow {
        let level = parent.map_or(0, |parent| parent.level + 1);
        let ids: Vec<EntityId> = members.iter().map(|name| entity_id(name).unwrap()).collect();
        CommunityRow {
            id: community_id(level, &ids).unwrap(),
            level,
            parent: parent.map(|parent| parent.id.clone()),
            name: members.join(" & "),
            ties: vec![0; ids.len()],
            chunks: vec![1; ids.len()],
            members: ids,
            internal_edges: 1,
            external_edges: 0,
            modularity: 0.5,
            summary: summary.to_owned(),
            sources: Vec::new(),
            keywords: members.iter().map(|&name| name.to_owned()).collect(),
            content_hash: String::new(),
        }
    }

    fn reports(rows: &[(CommunityRow, Option<Vec<f32>>)]) -> Reports {
        Reports::new(rows.to_vec(), &ScriptAnalyzer::new())
    }

    fn three() -> Vec<(CommunityRow, Option<Vec<f32>>)> {
        let owls = row(None, &["barn owl", "vole", "pellet"], "The barn owl hunts the vole.");
        let voles = row(Some(&owls), &["vole", "pellet"], "The vole lives in rough meadows.");
        let springs = row(None, &["金泉", "銀泉"], "金泉は鉄と塩を多く含む赤い湯である。");
        let tides = row(None, &["한사리", "보름달"], "한사리는 보름달 뒤에 찾아온다.");
        [owls, voles, springs, tides].map(|row| (row, None)).into()
    }

    #[test]
    fn without_a_model_reports_are_found_by_their_terms() {
        let reports = reports(&three());
        let check = |text: &str, expected: &[&str]| {
            let question = Question { text: text.to_owned(), ..Question::default() };
            let near = reports.nearest(&question, None, &ScriptAnalyzer::new(), 9);
            let names: Vec<&str> = near.iter().map(|one| &*one.row.name).collect();
            assert_eq!(names, expected, "{text}");
            assert!(near.iter().all(|one| one.relevance.get() >= LEAST_RELEVANCE));
            assert!(near.is_sorted_by(|a, b| a.relevance >= b.relevance));
        };
        check("Summarise what is said about the barn owl", &["barn owl & vole & pellet"]);
        check("金泉の概要", &["金泉 & 銀泉"]);
        check("한사리 요약", &["한사리 & 보름달"]);
        check("What are the main themes?", &[]);
        check("", &[]);
    }

    #[test]
    fn with_a_model_they_are_found_by_their_vectors() {
        let mut rows = three();
        for ((_, vector), own) in rows.iter_mut().zip([[0.0, 1.0], [0.8, 0.6], [1.0, 0.0]]) {
            *vector = Some(own.to_vec());
        }
        let reports = reports(&rows);
        let question = Question { text: "한사리".to_owned(), ..Question::default() };
        let vectors = QueryVectors::from(&[1.0, 0.0][..]);
        let embedded = Some((&vectors, (0.5, 1.0)));
        let near = reports.nearest(&question, embedded, &ScriptAnalyzer::new(), 9);
        let found: Vec<_> = near.iter().map(|one| (&*one.row.name, one.relevance.get())).collect();
        // One that waits for its vector is found by its terms.
        let names: BTreeSet<&str> = found.iter().map(|one| one.0).collect();
        assert_eq!(names, BTreeSet::from(["金泉 & 銀泉", "vole & pellet", "한사리 & 보름달"]));
        assert!(found.contains(&("金泉 & 銀泉", 1.0)));
        assert_eq!(reports.nearest(&question, embedded, &ScriptAnalyzer::new(), 1), near[..1]);
    }

    #[test]
    fn a_community_is_shown_with_what_it_is_a_part_of() {
        let rows = three();
        let reports = reports(&rows);
        let [(owls, _), (voles, _), ..] = &rows[..] else { panic!() };
        let shown = metadata(&reports, voles, |_| true);
        assert_eq!(
            (&*shown.title, &shown.heading_path[..]),
            ("vole & pellet", &[owls.name.clone()][..])
        );
        assert_eq!(shown.tags, ["vole", "pellet"]);
        assert!(metadata(&reports, voles, |id| *id != owls.id).heading_path.is_empty());
        assert_eq!(content(voles).text, voles.summary);
        assert_eq!(metadata(&reports, &rows[2].0, |_| true).language, Language::Ja);
        assert_eq!(reports.largest(1), [owls]);
        assert_eq!(reports.get(&voles.id), Some(voles));
    }
}
