//! How well an index does its work: what is no damage and still not as it should be.

use std::{collections::BTreeSet, fmt, sync::Arc};

use serde::Serialize;
use trefoil_core::{
    Collection, Contents, Digest, IndexInput, QueryText, Result, RetrieverId, Role, RowId, Score,
    SearchFilters, SearchOptions, SearchQuery, SearchResult, SearchResultType, StoredChunk,
};
use trefoil_text::{contextual_text, sentences, terms};

use crate::{
    admin::verify::Pages,
    index::{
        open::{self, IndexOnDisk},
        replay::changed_rows,
    },
    search::select::cosine,
    state::State,
};

/// What is wrong, as far as it is told one by one.
const EXAMPLES: usize = 5;
/// Texts of which the stored vector is compared with a new one.
const EMBEDDED_AGAIN: usize = 8;
/// Cosine below which two vectors of one text are not of the same model: rounding on another
/// processor costs less than .0001.
const SAME_VECTOR: f32 = 0.999;

/// Settings of the doctor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoctorOptions {
    /// How many chunks are sampled, 100 by default.
    pub sample: usize,
    /// A sampled chunk has to be among this many results for its own text, 10 by default.
    pub k: usize,
    /// Seed of the sample.
    pub seed: u64,
}

impl Default for DoctorOptions {
    fn default() -> Self {
        Self { sample: 100, k: 10, seed: 0 }
    }
}

/// A check of the doctor.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum Check {
    /// Chunks that are not found when asked with a sentence of their own.
    SelfRetrieval,
    /// Nearest vectors that the graph walk misses.
    Recall,
    /// Chunks that no question finds: without a term and without a vector.
    Unfindable,
    /// Chunks that say the same as another.
    Duplicates,
    /// The index was made with another model.
    Model,
    /// Vectors that the model makes otherwise today.
    VectorDrift,
    /// The keyword index cannot be read with this version's analyser, or is damaged.
    Analyzer,
    /// What chunks mention was found by another extractor.
    Extractor,
    /// Rows that an index is yet to be given.
    Lag(RetrieverId),
    /// Chunks that wait for their vectors.
    Waiting,
    /// Work in the background that was given up.
    FailedJobs,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(into = "CheckView")]
pub struct CheckResult {
    /// What.
    pub check: Check,
    /// How many are not as they should be.
    pub found: usize,
    /// Of how many.
    pub of: usize,
    /// Some of them.
    pub examples: Vec<String>,
}

/// The health of an index.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HealthReport {
    /// All results, in the order of the checks.
    pub results: Vec<CheckResult>,
}

/// The result of a check on the wire.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CheckResult"))]
#[derive(Serialize)]
pub(super) struct CheckView {
    check: Check,
    /// How many are not as they should be.
    found: usize,
    /// Of how many.
    of: usize,
    /// Some of them.
    examples: Vec<String>,
    /// Whether nothing needs to be done.
    healthy: bool,
    /// What to do, if something needs to be done.
    next: Option<&'static str>,
}

impl From<CheckResult> for CheckView {
    fn from(result: CheckResult) -> Self {
        let healthy = result.is_healthy();
        let next = (!healthy).then(|| result.next());
        let CheckResult { check, found, of, examples } = result;
        Self { check, found, of, examples, healthy, next }
    }
}

impl HealthReport {
    /// True if nothing needs to be done.
    pub fn is_healthy(&self) -> bool {
        self.results.iter().all(CheckResult::is_healthy)
    }
}

impl CheckResult {
    /// True if no more is found than is usual.
    pub fn is_healthy(&self) -> bool {
        // A sentence that many chunks hold, and boilerplate, are in every corpus.
        let usual = match self.check {
            Check::SelfRetrieval => self.of / 10,
            Check::Recall | Check::Duplicates => self.of / 20,
            Check::Unfindable
            | Check::Model
            | Check::VectorDrift
            | Check::Analyzer
            | Check::Extractor
            | Check::Lag(_)
            | Check::Waiting
            | Check::FailedJobs => 0,
        };
        self.found <= usual
    }

    /// What to do about it.
    pub const fn next(&self) -> &'static str {
        match self.check {
            Check::SelfRetrieval => "ask `trefoil why-not SENTENCE CHUNK` where it was lost",
            Check::Recall | Check::VectorDrift | Check::Extractor => "run `trefoil reindex`",
            Check::Unfindable => "pull a model (`trefoil models pull`) so that they have vectors",
            Check::Duplicates => "index one of the copies only (`trefoil remove PATH`)",
            Check::Model => "use the index's model, or run `trefoil reindex`",
            Check::Analyzer => "run `trefoil repair`",
            Check::Lag(_) | Check::Waiting => "run `trefoil index` and let it finish",
            Check::FailedJobs => "see the reasons with `--json`; `trefoil reindex` tries again",
        }
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SelfRetrieval => "not found by own sentence",
            Self::Recall => "missed by the graph walk",
            Self::Unfindable => "without term and vector",
            Self::Duplicates => "equal to another chunk",
            Self::Model => "another model",
            Self::VectorDrift => "other vector today",
            Self::Analyzer => "keyword index unreadable",
            Self::Extractor => "another extractor",
            Self::Lag(retriever) => return write!(f, "not yet in the {retriever} index"),
            Self::Waiting => "waiting for a vector",
            Self::FailedJobs => "failed in the background",
        })
    }
}

/// Looks at how well an index does its work. `other_model` says that it could not be opened with
/// the configured model.
pub(crate) fn examine(
    state: &State,
    search: Search<'_>,
    options: &DoctorOptions,
    other_model: Option<String>,
) -> Result<HealthReport> {
    let mut examination = Examination::of(state, search, options)?;
    examination.results.push(result(Check::Model, other_model.into_iter().collect(), 1));
    examination.retrieve()?;
    #[cfg(feature = "semantic")]
    examination.recall();
    examination.rows()?;
    examination.duplicates()?;
    examination.drift()?;
    examination.background()?;
    Ok(HealthReport { results: examination.results })
}

/// Answers a query as the engine does.
pub(crate) type Search<'s> = &'s dyn Fn(&SearchQuery) -> Result<SearchResult>;

fn result(check: Check, mut examples: Vec<String>, of: usize) -> CheckResult {
    let found = examples.len();
    examples.truncate(EXAMPLES);
    CheckResult { check, found, of, examples }
}

/// A look at one index.
struct Examination<'e> {
    state: &'e State,
    search: Search<'e>,
    options: &'e DoctorOptions,
    files: Vec<IndexOnDisk>,
    /// The sampled chunks, by row.
    sample: Vec<Arc<StoredChunk>>,
    results: Vec<CheckResult>,
}

impl<'e> Examination<'e> {
    fn of(state: &'e State, search: Search<'e>, options: &'e DoctorOptions) -> Result<Self> {
        let generation = state.store.vectors_generation()?;
        let mut files = open::files(&state.dir, generation, &state.config);
        files.retain(|on_disk| on_disk.collection == Collection::Documents);
        // The rows with the smallest digests: any rows, and the same ones every time.
        let mut smallest: BTreeSet<(u64, RowId)> = BTreeSet::new();
        for page in Pages::of(&state.store, Collection::Documents) {
            for row in page? {
                let digest = Digest::new().with(&options.seed.to_le_bytes());
                smallest.insert((digest.with(&row.get().to_le_bytes()).get(), row));
                if smallest.len() > options.sample {
                    smallest.pop_last();
                }
            }
        }
        let rows: BTreeSet<RowId> = smallest.into_iter().map(|(_, row)| row).collect();
        let sample = state.store.chunks(&rows.into_iter().collect::<Vec<_>>())?;
        Ok(Self { state, search, options, files, sample, results: Vec::new() })
    }

    /// Asks each sampled chunk's fullest sentence.
    fn retrieve(&mut self) -> Result<()> {
        let (mut lost, mut asked) = (Vec::new(), 0);
        for chunk in &self.sample {
            let Some(sentence) = self.fullest_sentence(chunk) else { continue };
            let Ok(text) = QueryText::new(&sentence) else { continue };
            let query = SearchQuery {
                text,
                query_type: None,
                embedding: None,
                filters: SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() },
                options: SearchOptions {
                    limit: self.options.k,
                    adjoining: true,
                    rerank_enabled: false,
                    include_highlights: false,
                    result_types: vec![SearchResultType::Chunk],
                    ..SearchOptions::default()
                },
            };
            asked += 1;
            let found = (self.search)(&query)?;
            // A copy of it is as good.
            if !found.results.iter().any(|one| one.content.text == chunk.chunk.text) {
                lost.push(format!("{} of {}: {sentence}", chunk.id, chunk.file.path));
            }
        }
        self.results.push(result(Check::SelfRetrieval, lost, asked));
        Ok(())
    }

    /// The sentence with the most different terms, cut to what a question may be.
    fn fullest_sentence(&self, chunk: &StoredChunk) -> Option<String> {
        let text = &chunk.chunk.text;
        let language = chunk.chunk.language;
        let analyzer = self.state.analyzer();
        let longest = sentences(text, language).into_iter().filter_map(|span| {
            let sentence = text.get(span.start..span.end)?;
            let terms: BTreeSet<String> = terms(analyzer, sentence, language).into_iter().collect();
            Some((terms.len(), std::cmp::Reverse(span.start), sentence))
        });
        let (terms, _, sentence) = longest.max()?;
        (terms > 0).then(|| sentence.chars().take(1_000).collect())
    }

    /// How many of the nearest vectors the graph walk finds; damage is for `verify` to tell.
    #[cfg(feature = "semantic")]
    fn recall(&mut self) {
        let state = self.state;
        let Ok(generation) = state.store.vectors_generation() else { return };
        let dir = state.dir.join(crate::layout::vector_folder(Collection::Documents, generation));
        let DoctorOptions { sample, k, .. } = *self.options;
        if let Ok(Some(recall)) = trefoil_semantic::VectorFiles::new(&dir).recall(sample, k) {
            let of = sample * k;
            let missed = ((1.0 - recall) * of as f32).round();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of a count"
            )]
            let found = missed as usize;
            let check = Check::Recall;
            self.results.push(CheckResult { check, found, of, examples: Vec::new() });
        }
    }

    /// What each index of documents holds: how far it lags, and what is in none.
    fn rows(&mut self) -> Result<()> {
        let store = &self.state.store;
        let mut held: Vec<(&[IndexInput], BTreeSet<RowId>)> = Vec::new();
        for IndexOnDisk { collection, index, .. } in &self.files {
            let retriever = index.id();
            let Contents { seq, rows } = match index.contents() {
                Ok(contents) => contents.unwrap_or_default(),
                Err(error) if index.inputs().contains(&IndexInput::Text) => {
                    self.results.push(result(Check::Analyzer, vec![error.chain()], 1));
                    Contents::default()
                }
                Err(_) => Contents::default(),
            };
            let of = rows.len();
            let lagging = changed_rows(store, *collection, index.inputs(), seq)?;
            held.push((index.inputs(), rows.into_iter().map(|(row, _)| row).collect()));
            let lagging = lagging.iter().map(|row| format!("row {}", row.get())).collect();
            self.results.push(result(Check::Lag(retriever), lagging, of));
        }
        let holds =
            |input, row| held.iter().any(|(fed, rows)| fed.contains(&input) && rows.contains(&row));
        let (mut unfindable, mut of) = (Vec::new(), 0);
        for page in Pages::of(store, Collection::Documents) {
            for chunk in store.chunks(&page?)? {
                of += 1;
                let by_term = || holds(IndexInput::Text, chunk.row) && self.has_terms(&chunk);
                if !holds(IndexInput::Vector, chunk.row) && !by_term() {
                    unfindable.push(format!("{} of {}", chunk.id, chunk.file.path));
                }
            }
        }
        self.results.push(result(Check::Unfindable, unfindable, of));
        Ok(())
    }

    fn has_terms(&self, chunk: &StoredChunk) -> bool {
        let texts = [&chunk.file.title, &chunk.chunk.text];
        let mut texts = texts.into_iter().chain(&chunk.chunk.heading_path);
        texts.any(|text| {
            let mut any = false;
            let analyzer = self.state.analyzer();
            analyzer.analyze(text, chunk.chunk.language, &mut |token| {
                any |= !token.stop;
            });
            any
        })
    }

    fn duplicates(&mut self) -> Result<()> {
        let store = &self.state.store;
        let found = store.duplicates(EXAMPLES)?;
        let of = store.stats()?.chunks;
        let example = |(count, first, last): (usize, String, String)| {
            if first == last {
                format!("{count} times in {first}")
            } else {
                format!("{count} times, as in {first} and {last}")
            }
        };
        self.results.push(CheckResult {
            check: Check::Duplicates,
            found: found.chunks,
            of,
            examples: found.examples.into_iter().map(example).collect(),
        });
        Ok(())
    }

    /// What would be made otherwise today.
    fn drift(&mut self) -> Result<()> {
        let state = self.state;
        if let Some(embedder) = state.embedder() {
            let rows: Vec<RowId> = self.sample.iter().map(|chunk| chunk.row).collect();
            let mut stored = state.store.cached_embeddings(&rows)?;
            stored.truncate(EMBEDDED_AGAIN);
            let chunk_of = |row| self.sample.iter().find(|chunk| chunk.row == row);
            let mut other = Vec::new();
            for (row, vector) in &stored {
                let Some(chunk) = chunk_of(*row) else { continue };
                let StoredChunk { file, chunk: text, id, .. } = chunk.as_ref();
                let text = contextual_text(&file.title, &text.heading_path, &text.text);
                let again = embedder.embed_checked(Role::Passage, &[&text])?.row(0).to_vec();
                let cosine = cosine(&[vector, &again])(0, 1);
                if cosine < SAME_VECTOR {
                    other.push(format!("{id} of {}: cosine {cosine:.4}", file.path));
                }
            }
            let of = stored.len();
            self.results.push(result(Check::VectorDrift, other, of));
        }
        let stale = state.stale_extractions()?.map(|degraded| degraded.reason);
        self.results.push(result(Check::Extractor, stale.into_iter().collect(), 1));
        Ok(())
    }

    fn background(&mut self) -> Result<()> {
        let store = &self.state.store;
        let jobs = store.pending_jobs()?;
        let of = store.stats()?.chunks;
        let waiting = jobs.queued + jobs.running;
        self.results.push(CheckResult {
            check: Check::Waiting,
            found: waiting,
            of,
            examples: Vec::new(),
        });
        let failed = store.failed_jobs(EXAMPLES)?;
        self.results.push(CheckResult {
            check: Check::FailedJobs,
            found: jobs.failed,
            of,
            examples: failed
                .into_iter()
                .map(|job| format!("{} {}: {}", job.kind, job.payload_json, job.error))
                .collect(),
        });
        Ok(())
    }
}
