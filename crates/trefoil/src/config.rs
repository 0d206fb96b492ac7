use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use trefoil_core::{
    Analyzer, Chunker, Embedder, Language, Loader, Reranker, Retriever, RetrieverId, TokenCounter,
    WebSearch, Weight,
};
#[cfg(feature = "graph")]
use trefoil_core::{EntityExtractor, Summarizer};
use trefoil_core::{Error, Fusion, QueryClassifier, RerankConfig, Result, RrfConfig};
use trefoil_store::Clock;
use trefoil_text::{ChunkSizes, ScriptAnalyzer, StructuralChunker};
use validator::Validate;

use crate::{
    classify::RuleClassifier,
    crag::{config::CragConfig, grade::GradeThresholds},
    layout,
    profile::Profile,
    store_at::StoreAt,
};

/// How an engine works. The defaults suit documents in English, Japanese and Korean.
#[derive(Clone, Debug)]
pub struct EngineConfig {
    /// Where the rows are kept; in the directory of the index by default.
    pub store: StoreAt,
    /// The clock; a test sets its own.
    pub clock: Arc<dyn Clock>,
    /// The embedding model.
    pub model: Model,
    /// The model of the index until now, by which it is searched while [`Engine::reindex`]
    /// makes vectors of `model`; nothing by default.
    ///
    /// [`Engine::reindex`]: crate::engine::Engine::reindex
    pub model_before: Model,
    /// Where fetched models are kept; the platform's cache folder by default.
    pub model_home: Option<PathBuf>,
    /// Of which texts the vectors of their tokens are kept next to their own, where the model gives
    /// them. After a change texts are embedded once more in the background, or what was kept is
    /// forgotten.
    pub token_vectors: TokenVectors,
    /// The model of late interaction whose token vectors are kept of texts in its languages, in
    /// place of the embedder's.
    pub token_model: TokenModel,
    /// Threads for embedding; all cores by default.
    pub threads: Option<usize>,
    /// The analyser: splits texts into terms, for indexing, for questions and for highlights.
    pub analyzer: Arc<dyn Analyzer>,
    /// The chunker: cuts documents into chunks.
    pub chunker: Chunking,
    /// Loaders by file extension in lower case. One replaces the built-in loader of its extension.
    pub loaders: BTreeMap<String, Arc<dyn Loader>>,
    /// Retrievers in addition to the default set.
    pub retrievers: Vec<CustomRetriever>,
    /// Weights of the fields in BM25. They count when a question is
    /// asked, so that a change needs no new index.
    #[cfg(feature = "keyword")]
    pub keyword: trefoil_keyword::KeywordConfig,
    /// How vectors are kept and searched. The semantic index takes its changes with the segments
    /// that are written from then on.
    #[cfg(feature = "semantic")]
    pub vectors: trefoil_semantic::VectorConfig,
    /// The entity extractor; the graph is made of what it finds.
    #[cfg(feature = "graph")]
    pub extractor: EntityExtraction,
    /// How the graph is built and walked.
    #[cfg(feature = "graph")]
    pub graph: trefoil_graph::GraphConfig,
    /// How its communities are found.
    #[cfg(feature = "graph")]
    pub communities: trefoil_graph::HierarchyConfig,
    /// What says in a few sentences what a community is about; sentences of its passages by
    /// default.
    #[cfg(feature = "graph")]
    pub summarizer: Arc<dyn Summarizer>,
    /// The query classifier; [`RuleClassifier`] by default.
    pub classifier: Arc<dyn QueryClassifier>,
    /// The fuser of the retrievers' lists.
    pub fusion: Fusion,
    /// Whether weights that the caller left alone are adapted to each question.
    pub adaptive_weights: bool,
    /// Reciprocal rank fusion, where [`Fusion::Rrf`] is chosen.
    pub rrf: RrfConfig,
    /// Settings chosen by evidence, in place of `fusion`, `rrf` and of whether to rerank; none
    /// by default.
    pub profile: Option<Profile>,
    /// Reranking of the first passages.
    pub rerank: RerankConfig,
    /// The rerankers.
    pub rerankers: Rerankers,
    /// How long reading may take before it stops where it is; 500 ms by default, `None`
    /// for as long as it takes. Where a search reads only the first few passages, because it is
    /// not [`thorough`](trefoil_core::SearchOptions::thorough), it takes no more than 150 ms of it.
    pub rerank_budget: Option<Duration>,
    /// Where the grades of evidence begin; if absent, where `profile` says for the reranker that
    /// read it, or else [`GradeThresholds::default`].
    pub grade: Option<GradeThresholds>,
    /// What a graded search does about weak evidence; it may take `rerank_budget` once more.
    pub crag: CragConfig,
    /// What the worker does for memory by itself.
    pub memory: MemoryUpkeep,
    /// The web search that is asked where the corpus has no answer; none by default. The question as it
    /// was asked leaves the machine, and nothing else.
    pub web: Option<Arc<dyn WebSearch>>,
    /// Files above this size are reported and skipped; 16 MiB by default.
    pub max_file_bytes: u64,
    /// Files that match one of these are not read: keys, secrets and the like.
    pub privacy_globs: Vec<String>,
    /// Whether e-mail addresses, telephone and card numbers, credentials and what stands between
    /// `<private>` and `</private>` are cut out of the text, the title and the tags of a
    /// document before any of it is stored, embedded or indexed; not by default.
    ///
    /// A mark such as `[email]` takes their place. Line numbers stay those of the file; byte
    /// offsets are those of the redacted text. After a change of this setting a document is
    /// read again when it is next ingested; until then it stays as it was stored. In HTML, where
    /// `<private>` is markup that the loader leaves out, it has no effect.
    pub redact_documents: bool,
    /// Characters of the neighbouring chunks shown before and after a result; 0 for none.
    pub context_chars: usize,
    /// Characters of a highlighted fragment, 20–500; 150 by default.
    pub highlight_chars: usize,
}

/// The chunker of an engine.
#[derive(Clone, Debug)]
pub enum Chunking {
    /// [`StructuralChunker`] with these sizes, in tokens of the model.
    Sizes(ChunkSizes),
    /// The caller's own.
    Custom(Arc<dyn Chunker>),
}

impl Chunking {
    /// What cuts, where `counter` counts tokens.
    pub(crate) fn chunker(&self, counter: &Arc<dyn TokenCounter>) -> Arc<dyn Chunker> {
        match self {
            Self::Sizes(sizes) => {
                Arc::new(StructuralChunker::new(Arc::clone(counter), sizes.clone()))
            }
            Self::Custom(chunker) => Arc::clone(chunker),
        }
    }

    /// The fingerprint of a chunker; none of the default one.
    pub(crate) fn own_fingerprint(&self) -> Option<String> {
        match self {
            Self::Sizes(sizes) if *sizes == ChunkSizes::default() => None,
            Self::Sizes(sizes) => Some(format!("{sizes:?}")),
            Self::Custom(chunker) => Some(chunker.fingerprint()),
        }
    }
}

impl Default for Chunking {
    fn default() -> Self {
        Self::Sizes(ChunkSizes::default())
    }
}

impl From<ChunkSizes> for Chunking {
    fn from(sizes: ChunkSizes) -> Self {
        Self::Sizes(sizes)
    }
}

impl From<Arc<dyn Chunker>> for Chunking {
    fn from(chunker: Arc<dyn Chunker>) -> Self {
        Self::Custom(chunker)
    }
}

/// A retriever in addition to the default set.
#[derive(Clone, Debug)]
pub struct CustomRetriever {
    /// The retriever, of one engine alone.
    pub retriever: Arc<dyn Retriever>,
    /// Its share in fusion where a query names no weights; the default set has the rest.
    pub weight: Weight,
}

/// The embedding model of an engine.
#[derive(Clone, Debug, Default)]
pub enum Model {
    /// Nothing: keyword search only.
    None,
    /// The default model, `multilingual-e5-small`, once it has been pulled.
    #[default]
    Default,
    /// A model of the manifest, or one that was added, by name.
    Named(String),
    /// A folder with `model.onnx`, `tokenizer.json` and `card.toml`.
    Folder(PathBuf),
    /// The caller's own.
    Custom(Arc<dyn Embedder>),
    /// None: each document brings its vector ([`Document::embedding`]), and each question
    /// ([`SearchQuery::embedding`]). A document without one is found by its words only; a question
    /// without one is not asked of the vectors, and `degraded` says so.
    ///
    /// [`Document::embedding`]: trefoil_core::Document::embedding
    /// [`SearchQuery::embedding`]: trefoil_core::SearchQuery::embedding
    External {
        /// What made the vectors; those of another name do not compare.
        name: String,
        /// Numbers of a vector.
        dimensions: usize,
    },
}

/// Of which texts the vectors of their tokens are kept. They are compared with those of a question
/// (late interaction): of each that is asked of memory, and of one in another language than the
/// documents, or in that of the [`TokenModel`]. They take half a byte a number and token: with 384
/// numbers 192 bytes a token, some 30 kB a chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TokenVectors {
    /// Of none.
    Off,
    /// Of memory, and of Japanese and Korean documents.
    #[default]
    Auto,
    /// Of English documents too: for questions in another language, or in English with a model of
    /// late interaction ([`TokenModel`]).
    All,
}

impl TokenVectors {
    /// The languages of documents of which they are kept; none where memory has none either.
    pub(crate) fn languages(self) -> Option<Vec<Language>> {
        let kept = |&language: &Language| self == Self::All || language != Language::En;
        (self != Self::Off).then(|| Language::ALL.into_iter().filter(kept).collect())
    }
}

/// The model of late interaction of an engine. Its vectors have as many numbers as those of the
/// embedder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TokenModel {
    /// None: token vectors are the embedder's.
    None,
    /// [`NAME`](Self::NAME), which reads English, once it has been pulled.
    #[default]
    Default,
    /// A model that was pulled or added under this name.
    Named(String),
    /// A folder with `model.onnx`, `tokenizer.json` and `card.toml`.
    Folder(PathBuf),
}

impl TokenModel {
    /// The default model.
    pub const NAME: &'static str = "answerai-colbert-small-v1";
}

/// The entity extractor of an engine.
#[cfg(feature = "graph")]
#[derive(Clone, Debug, Default)]
pub enum EntityExtraction {
    /// Nothing: there is no graph.
    None,
    /// [`ScriptExtractor`](trefoil_text::ScriptExtractor), which needs no model; with the
    /// feature `lindera` nouns of Japanese and Korean are found by the dictionaries `ipadic`
    /// and `ko-dic`, once they have been pulled.
    #[default]
    Default,
    /// The caller's own.
    Custom(Arc<dyn EntityExtractor>),
}

/// The rerankers of an engine.
#[derive(Clone, Debug, Default)]
pub enum Rerankers {
    /// The model that [`RerankConfig`] names, once it has been pulled.
    #[default]
    Default,
    /// The cross-encoder, or the model of late interaction, in a folder with `model.onnx`,
    /// `tokenizer.json` and `card.toml`.
    Folder(PathBuf),
    /// The caller's own: the first that reads the question and all of the passages.
    Custom(Vec<Arc<dyn Reranker>>),
}

/// What the worker of an engine that is open to write does for the memory in use on it. Without
/// it, whoever uses memory asks for each pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryUpkeep {
    /// Whether claims, open loops and mentions are extracted from an observation as soon as it is
    /// stored, and the rolling summary of the last seven days is made. True by default.
    pub learn: bool,
    /// How often `Memory::maintain` runs: claims decay and age, rolling summaries are made, and
    /// what has expired is removed. Each hour by default, by the engine's clock; `None` for never.
    pub maintain_every: Option<Duration>,
}

impl MemoryUpkeep {
    /// Nothing is done unless it is asked for.
    pub const ASKED_FOR: Self = Self { learn: false, maintain_every: None };
}

impl Default for MemoryUpkeep {
    fn default() -> Self {
        Self { learn: true, maintain_every: Some(Duration::from_hours(1)) }
    }
}

impl Default for EngineConfig {
    fn default() -> Self {
        Self {
            store: StoreAt::default(),
            clock: Arc::new(trefoil_store::SystemClock),
            model: Model::default(),
            model_before: Model::None,
            model_home: None,
            token_vectors: TokenVectors::default(),
            token_model: TokenModel::default(),
            threads: None,
            analyzer: Arc::new(ScriptAnalyzer::default()),
            chunker: Chunking::default(),
            loaders: BTreeMap::new(),
            retrievers: Vec::new(),
            #[cfg(feature = "keyword")]
            keyword: trefoil_keyword::KeywordConfig::default(),
            #[cfg(feature = "semantic")]
            vectors: trefoil_semantic::VectorConfig::default(),
            #[cfg(feature = "graph")]
            extractor: EntityExtraction::default(),
            #[cfg(feature = "graph")]
            graph: trefoil_graph::GraphConfig::default(),
            #[cfg(feature = "graph")]
            communities: trefoil_graph::HierarchyConfig::default(),
            #[cfg(feature = "graph")]
            summarizer: Arc::new(crate::graph::summarize::CentralSentences::default()),
            classifier: Arc::new(RuleClassifier),
            fusion: Fusion::default(),
            adaptive_weights: true,
            rrf: RrfConfig::default(),
            profile: None,
            rerank: RerankConfig::default(),
            rerankers: Rerankers::default(),
            rerank_budget: Some(Duration::from_millis(500)),
            grade: None,
            crag: CragConfig::default(),
            memory: MemoryUpkeep::default(),
            web: None,
            max_file_bytes: 16 << 20,
            privacy_globs: ["*.env", "*.key", "*secret*", "*password*"].map(str::to_owned).to_vec(),
            redact_documents: false,
            context_chars: 200,
            highlight_chars: 150,
        }
    }
}

impl EngineConfig {
    /// What is to read a file, if it is not what is built in.
    pub(crate) fn loader(&self, path: &Path) -> Option<&dyn Loader> {
        let extension = path.extension()?.to_string_lossy().to_ascii_lowercase();
        self.loaders.get(&extension).map(Arc::as_ref)
    }

    /// The share of an added retriever.
    pub(crate) fn weight_of(&self, id: RetrieverId) -> Option<Weight> {
        self.retrievers.iter().find(|own| own.retriever.id() == id).map(|own| own.weight)
    }

    /// Where the grades begin of what this reranker read, or of what none did.
    pub(crate) fn thresholds(&self, reranker: Option<&str>) -> GradeThresholds {
        let profile = self.profile.as_ref();
        let of_it = || reranker.and_then(|name| profile?.thresholds(name).copied());
        self.grade.or_else(of_it).unwrap_or_default()
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] or [`Error::InvalidK`] for the first that is violated.
    pub fn check(&self) -> Result<()> {
        if self.rrf.validate().is_err() {
            return Err(Error::InvalidK { k: self.rrf.k });
        }
        if let Err(errors) = self.rerank.validate() {
            let RerankConfig { model, top_k, batch_size, .. } = &self.rerank;
            let holds = |field| !errors.errors().contains_key(field);
            Error::check_config(holds("top_k"), "rerank.topK", top_k, "1–100")?;
            Error::check_config(holds("batch_size"), "rerank.batchSize", batch_size, "1–32")?;
            return Err(Error::invalid_config("rerank.model", format_args!("`{model}`"), "a name"));
        }
        let mut shares = 0.0;
        for (place, own) in self.retrievers.iter().enumerate() {
            let id = own.retriever.id();
            let (named, twice) = (format!("`{id}`"), format!("`{id}` twice"));
            let allowed = "no name that begins with `semantic-`";
            Error::check_config(layout::is_own_folder(id.name()), "retrievers", named, allowed)?;
            let mut others = self.retrievers.iter().skip(place + 1);
            let is_new = !RetrieverId::DEFAULT_SET.contains(&id)
                && others.all(|other| other.retriever.id() != id);
            Error::check_config(is_new, "retrievers", twice, "each name once")?;
            shares += own.weight.get();
        }
        let (in_all, allowed) = (format!("{shares} in all"), "shares that sum to at most 1");
        Error::check_config(shares <= 1.0, "retrievers", in_all, allowed)?;
        #[cfg(feature = "semantic")]
        self.vectors.validate()?;
        #[cfg(feature = "keyword")]
        self.keyword.validate()?;
        self.grade.as_ref().map_or(Ok(()), GradeThresholds::check)?;
        self.crag.check()?;
        if let StoreAt::Shared(shared) = &self.store {
            shared.check()?;
        }
        self.profile.as_ref().map_or(Ok(()), Profile::check)?;
        if let Model::External { name, dimensions } = &self.model {
            let named = (1..=256).contains(&name.len());
            Error::check_config(named, "model.name", format_args!("`{name}`"), "1–256 bytes")?;
            Error::check_range(*dimensions, 1..=65_536, "model.dimensions", "1–65,536")?;
        }
        Error::check_range(self.highlight_chars, 20..=500, "highlight_chars", "20–500")?;
        Error::check_range(self.context_chars, ..=10_000, "context_chars", "0–10,000")?;
        Error::check_range(self.threads.unwrap_or(1), 1.., "threads", "1 or more")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_at_its_edge_and_fails_beyond() {
        let check = |change: &dyn Fn(&mut EngineConfig), valid: bool| {
            let mut config = EngineConfig::default();
            change(&mut config);
            assert_eq!(config.check().is_ok(), valid, "{config:?}");
        };
        check(&|_| (), true);
        for (k, valid) in [(0, false), (1, true), (1000, true), (1001, false)] {
            check(&|config| config.rrf.k = k, valid);
        }
        for (top_k, valid) in [(0, false), (1, true), (100, true), (101, false)] {
            check(&|config| config.rerank.top_k = top_k, valid);
        }
        for (batch, valid) in [(0, false), (1, true), (32, true), (33, false)] {
            check(&|config| config.rerank.batch_size = batch, valid);
        }
        for (chars, valid) in [(19, false), (20, true), (500, true), (501, false)] {
            check(&|config| config.highlight_chars = chars, valid);
        }
        check(&|config| config.rerank.model = String::new(), false);
        check(&|config| config.threads = Some(0), false);
        for (renew, valid) in [(4, true), (5, false)] {
            let truth = Arc::new(trefoil_store::truth::MemoryTruth::new("a"));
            let mut shared = crate::store_at::SharedStore::new(truth);
            shared.times.renew = Duration::from_secs(renew);
            check(&|config| config.store = StoreAt::Shared(shared.clone()), valid);
        }
        #[cfg(feature = "keyword")]
        for (boost, valid) in [(-0.1, false), (0.0, true), (10.0, true), (f32::NAN, false)] {
            check(&|config| config.keyword.title_boost = boost, valid);
            check(&|config| config.keyword.heading_boost = boost, valid);
            check(&|config| config.keyword.body_boost = boost, valid);
        }
    }
}
