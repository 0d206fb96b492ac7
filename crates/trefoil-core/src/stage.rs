//! The stages. Every trait is object safe, synchronous and batch-sized, so that
//! the cost of dispatch is paid once a batch.

use std::{borrow::Cow, fmt::Debug, path::Path, sync::Arc, time::Instant};

use ndarray::Array2;
use serde::{Deserialize, Serialize};

use crate::{
    Allowed, ByteSpan, Chunk, Document, Error, Extraction, Fused, IndexFiles, IndexedUnit,
    Language, PlannedRetriever, QueryClassification, Question, RankedList, Result, RetrieverId,
    RowId, RowSet, Score, Seq, Summary, SummaryRequest, TermCoverage, TitledText,
};

/// A term and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The term, normalised: what is indexed, looked up and compared.
    pub term: Cow<'t, str>,
    /// Where it stands in the original text.
    pub span: ByteSpan,
    /// Place in the text for phrases; overlapping n-grams may share one.
    pub position: u32,
    /// True for a word that carries no meaning alone.
    pub stop: bool,
}

/// Text to terms. Indexing, querying and highlighting share one analyser.
pub trait Analyzer: Debug + Send + Sync {
    /// Pushes every term of `text` into `sink`, by position.
    fn analyze(&self, text: &str, language: Language, sink: &mut dyn FnMut(Token<'_>));
}

/// Documents to chunks.
pub trait Chunker: Debug + Send + Sync {
    /// One line that differs whenever two chunkers may cut otherwise: documents that another one
    /// cut are cut again when they are next ingested.
    fn fingerprint(&self) -> String;

    /// The chunks of a document: those that are ranked in order, each with the next ordinal from
    /// 0, then the larger ones that they are parts of, if there are any, numbered likewise.
    fn chunk(&self, document: &Document) -> Vec<Chunk>;
}

/// Files of one kind to documents.
pub trait Loader: Debug + Send + Sync {
    /// One line that differs whenever two loaders may read a file otherwise: files that another
    /// one read are read again when they are next ingested.
    fn fingerprint(&self) -> String;

    /// The document that is stored under `name`, made of the bytes of the file.
    ///
    /// # Errors
    /// [`Error::UnreadableDocument`](crate::Error::UnreadableDocument) for what cannot be read: the
    /// file is reported, and the index keeps what it has of it.
    fn load(&self, name: &str, bytes: &[u8]) -> Result<Document>;
}

/// A known name at the beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    /// How many bytes of the text it covers.
    pub len: usize,
    /// What else the same thing is called, as it is usually written.
    pub aliases: Vec<String>,
}

/// The names of things that a corpus is known to speak of.
pub trait NameLookup: Debug + Send + Sync {
    /// The known names that `text` begins with, longest first, whatever follows them:
    /// so names are found where no spaces are written. Names and `text` are compared in
    /// NFKC, in lower case, with single spaces.
    fn names_at(&self, text: &str) -> Vec<KnownName>;
}

/// Question to its kind, its names and other wordings. Pure.
pub trait QueryClassifier: Debug + Send + Sync {
    /// Classifies `question`, in which `names` finds what the corpus knows.
    ///
    /// # Errors
    /// Only a classifier that runs a model fails, as the model does.
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification>;
}

/// Texts to the entities in them and how they hang together: what the graph is built from.
pub trait EntityExtractor: Debug + Send + Sync {
    /// One line that differs whenever two extractors may find different things: a graph
    /// is built again when it changes.
    fn fingerprint(&self) -> String;

    /// One extraction a text, in order. What is found in a text does not depend on the
    /// other texts of the call.
    ///
    /// # Errors
    /// A model is missing or its answer cannot be read.
    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>>;
}

/// Passages to what they say, in short: what the report of a community is.
pub trait Summarizer: Debug + Send + Sync {
    /// One line that differs whenever two summarisers may write different things: a
    /// report is made again when it changes.
    fn fingerprint(&self) -> String;

    /// At most `request.max_chars` characters, and the passages, or parts of them, that
    /// they rest on.
    ///
    /// # Errors
    /// A model is missing or its answer cannot be read.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary>;
}

/// Counts tokens as a model would, to size chunks and contexts.
pub trait TokenCounter: Debug + Send + Sync {
    /// Number of tokens of `text`, without the model's own marks.
    fn count(&self, text: &str) -> usize;
}

/// Which side of the match a text is on; asymmetric models prefix them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A question.
    Query,
    /// A passage.
    Passage,
}

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean over the tokens.
    Mean,
    /// The vector of the first token.
    Cls,
}

/// Arithmetic of the model's matrix products.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantization {
    /// 32-bit floating point.
    F32,
    /// 8-bit integers, activations scaled for each run.
    Int8,
    /// 4-bit weights in blocks.
    Int4,
}

/// Identity of a vector space: vectors compare only within one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmbeddingSpace {
    /// Name of the model.
    pub model: String,
    /// SHA-256 of the model file, hexadecimal.
    pub sha256: String,
    /// Length of a vector.
    pub dimensions: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// What is put before a question.
    pub query_prefix: String,
    /// What is put before a passage.
    pub passage_prefix: String,
    /// Arithmetic of the model.
    pub quantization: Quantization,
    /// Most tokens that a text may have; the rest is cut.
    pub max_tokens: usize,
}

impl EmbeddingSpace {
    /// One line that differs whenever vectors are not comparable: what an index
    /// stores, and what keys the embedding cache.
    pub fn fingerprint(&self) -> String {
        let Self {
            model,
            sha256,
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            max_tokens,
        } = self;
        format!(
            "{model} sha256:{sha256} {dimensions}d {pooling:?} {quantization:?} max:{max_tokens} \
             query:{query_prefix:?} passage:{passage_prefix:?}"
        )
    }
}

/// Texts to unit vectors.
pub trait Embedder: Debug + Send + Sync {
    /// The space that the vectors are in.
    fn space(&self) -> &EmbeddingSpace;

    /// The cosines that count as unrelated and as a perfect match: `relevance` maps
    /// the first to 0 and the second to 1. Measured, from the model's card.
    fn cosine_range(&self) -> (f32, f32);

    /// The same for sentences and turns of a conversation: that of passages unless the model's
    /// card says otherwise.
    fn short_cosine_range(&self) -> (f32, f32) {
        self.cosine_range()
    }

    /// Where a cosine stands on the [range](Self::cosine_range), 0–1. Those of a question and a
    /// passage in another language (`cross_lingual`) are lower.
    fn relevance(&self, cosine: f32, cross_lingual: bool) -> Score {
        on_range(self.cosine_range(), cosine, cross_lingual)
    }

    /// Where the cosine of a question and a sentence stands on the [range of
    /// those](Self::short_cosine_range).
    fn short_relevance(&self, cosine: f32, cross_lingual: bool) -> Score {
        on_range(self.short_cosine_range(), cosine, cross_lingual)
    }

    /// One unit vector a text: row `i` is that of `texts[i]`, and a row has as many columns as
    /// the [space](Self::space) has dimensions. A text's vector does not depend on the
    /// other texts of the call.
    ///
    /// # Errors
    /// The model is missing, or a vector is not finite, of another length, or zero.
    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>>;

    /// [`embed`](Self::embed), with the shape of the matrix checked: what the engine calls, for
    /// an embedder of the caller's own may be wrong.
    ///
    /// # Errors
    /// As [`embed`](Self::embed); [`Error::EmbeddingShape`] unless there is one row a text and one
    /// column a dimension.
    fn embed_checked(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let vectors = self.embed(role, texts)?;
        let (expected, found) = ((texts.len(), self.space().dimensions), vectors.dim());
        // Without texts there is nothing that could be too short.
        if found == expected || (texts.is_empty() && found.0 == 0) {
            return Ok(vectors);
        }
        Err(Error::EmbeddingShape { model: self.space().model.clone(), expected, found })
    }
}

/// How much lower the cosines of a question and a text in another language are: with the
/// multilingual default, .853 for right pairs across languages against .916 within.
const CROSS_LINGUAL_SHIFT: f32 = 0.05;

fn on_range((unrelated, perfect): (f32, f32), cosine: f32, cross_lingual: bool) -> Score {
    let shift = if cross_lingual { CROSS_LINGUAL_SHIFT } else { 0.0 };
    Score::clamped((cosine + shift - unrelated) / (perfect - unrelated))
}

/// Which kind of change an index feeds on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IndexInput {
    /// The text of a chunk.
    Text,
    /// The embedding of a chunk.
    Vector,
    /// What a chunk mentions.
    Extraction,
}

/// One line of the store's change log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A row's text is new or changed.
    Text(RowId),
    /// A row's embedding is new or changed.
    Vector(RowId),
    /// What a row mentions is new or changed.
    Extraction(RowId),
    /// A row is gone.
    Removed(RowId),
}

/// What an index is given for one row.
#[derive(Clone, Debug)]
pub struct IndexEntry {
    /// The row and what is searched of it.
    pub unit: IndexedUnit,
    /// Its unit vector; empty unless the index feeds on vectors.
    pub vector: Vec<f32>,
    /// What it mentions; empty unless the index feeds on that.
    pub extraction: Extraction,
}

/// The write half of an index. Nothing is visible before `commit`.
pub trait Indexer: Debug + Send {
    /// The retriever that reads the index.
    fn id(&self) -> RetrieverId;
    /// What it feeds on, as [`Retriever::inputs`] says.
    fn inputs(&self) -> &[IndexInput];
    /// The last change that is durable here.
    fn committed(&self) -> Seq;
    /// Adds or replaces rows.
    fn add(&mut self, entries: &[IndexEntry]) -> Result<()>;
    /// Removes rows; unknown ones are ignored.
    fn remove(&mut self, rows: &[RowId]) -> Result<()>;
    /// Makes the writes durable as of `seq`; readers see them at their next refresh.
    fn commit(&mut self, seq: Seq) -> Result<()>;
    /// Forgets everything, durably, as if new: the first step of a rebuild.
    fn clear(&mut self) -> Result<()>;
    /// Writes what is committed anew, so that no file holds anything that was removed.
    /// Files that a reader still shows go with the first call after its refresh.
    fn compact(&mut self) -> Result<()>;
}

/// Which retrievers a retriever goes on from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum After {
    /// None: it searches by itself, at the same time as others.
    #[default]
    Nothing,
    /// All that search by themselves.
    Others,
    /// Those of these that search by themselves.
    These(Vec<RetrieverId>),
}

/// What a retriever goes on from.
#[derive(Clone, Copy)]
pub struct SeedContext<'a> {
    /// The question.
    pub question: &'a Question,
    /// How many hits the list may have.
    pub depth: usize,
    /// The rows that may be found.
    pub allowed: &'a Allowed,
    /// What the retrievers before found, as one list, best first.
    pub seeds: &'a [Fused],
    /// Which of the question's terms some rows hold ([`Retriever::term_coverage`]).
    pub coverage: &'a dyn Fn(&RowSet) -> Result<TermCoverage>,
}

impl Debug for SeedContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SeedContext")
            .field("question", &self.question)
            .field("depth", &self.depth)
            .field("seeds", &self.seeds.len())
            .finish_non_exhaustive()
    }
}

/// A search strategy: a question in, one ranked list out.
///
/// Only [`id`](Self::id) and [`retrieve`](Self::retrieve) are to be written. A retriever with an
/// index of its own also says what the index feeds on, where its files are and what it shows. Its
/// list says how much it knows about the question ([`RankedList::with_confidence`]), from which
/// adaptive fusion tells its share.
///
/// ```
/// use std::collections::BTreeMap;
/// use trefoil_core::{Allowed, Hit, Question, RankedList, Result, Retriever, RetrieverId, RowId, Score};
///
/// /// Rows that an editor has chosen for certain questions.
/// #[derive(Debug)]
/// struct Editorial {
///     id: RetrieverId,
///     chosen: BTreeMap<String, Vec<RowId>>,
/// }
///
/// impl Retriever for Editorial {
///     fn id(&self) -> RetrieverId {
///         self.id
///     }
///     fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
///         let chosen = self.chosen.get(&question.text).into_iter().flatten();
///         let hits = chosen.filter(|row| allowed.contains(**row)).take(depth).map(|&row| Hit {
///             row,
///             raw score: 1.0,
///             relevance: Score::ONE,
///         });
///         Ok(RankedList::new(self.id(), hits.collect()))
///     }
/// }
///
/// let chosen = BTreeMap::from([("opening hours".to_owned(), vec![RowId::new(7)])]);
/// let question = Question { text: "opening hours".to_owned(), ..Question::default() };
/// let editorial = Editorial { id: RetrieverId::new("editorial")?, chosen };
/// let list = editorial.retrieve(&question, 10, &Allowed::All)?;
/// assert_eq!(list.hits().len(), 1);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait Retriever: Debug + Send + Sync {
    /// Its name, which is always the same.
    fn id(&self) -> RetrieverId;

    /// At most `depth` hits, all of them in `allowed`.
    ///
    /// # Errors
    /// What keeps it from answering. The search goes on without it and names it in `degraded`.
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList>;

    /// The retrievers whose fused list it goes on from, if any of them run.
    fn after(&self) -> After {
        After::Nothing
    }

    /// The list of a retriever that goes on from what others found. One that does not is asked by
    /// itself.
    ///
    /// # Errors
    /// As [`retrieve`](Self::retrieve).
    fn expand(&self, context: &SeedContext<'_>) -> Result<RankedList> {
        self.retrieve(context.question, context.depth, context.allowed)
    }

    /// What the index behind it feeds on; nothing without an index. A row is given to the index
    /// as soon as all that it feeds on is there.
    fn inputs(&self) -> &[IndexInput] {
        &[]
    }

    /// The index of a retriever that brings its own, in the folder `dir` that is the retriever's
    /// alone, for whoever writes, checks, copies or repairs it; none without an index. Changes
    /// nothing about what the retriever reads.
    fn index(&self, _dir: &Path) -> Option<Box<dyn IndexFiles>> {
        None
    }

    /// Lets the retriever read the index in `dir` from its next refresh on. Called when an engine
    /// is opened, before anything else; not without an index.
    ///
    /// # Errors
    /// The folder cannot be used.
    fn attach(&self, _dir: &Path) -> Result<()> {
        Ok(())
    }

    /// Shows the newest commit to the searches that start from now on, and says which change it
    /// reaches. Not called without an index.
    ///
    /// # Errors
    /// The commit cannot be read; the one before goes on answering.
    fn refresh(&self) -> Result<Seq> {
        Ok(Seq::ZERO)
    }

    /// How many rows can be found; 0 without an index.
    fn rows(&self) -> u64 {
        0
    }

    /// Whether it takes [`Question::rewrite`] into account.
    fn rewrites(&self) -> bool {
        false
    }

    /// Whether it finds passages in other languages than the question's.
    fn crosses_languages(&self) -> bool {
        false
    }

    /// Which of the question's terms `rows` hold, and what each is worth; none are known to
    /// a retriever that has no terms.
    ///
    /// # Errors
    /// The index cannot be read.
    fn term_coverage(&self, _question: &Question, _rows: &RowSet) -> Result<TermCoverage> {
        Ok(TermCoverage::default())
    }

    /// The vector that stands for a question, the question's own if it brings one; none for a
    /// retriever that compares no vectors.
    ///
    /// # Errors
    /// The model is missing or failed.
    fn embedding(&self, _question: &Question) -> Result<Option<Arc<[f32]>>> {
        Ok(None)
    }

    /// How strongly the passage of `from` mentions the subject of that of `to`, 0–1; 0 from a
    /// retriever that knows no names.
    fn mention_strength(&self, _from: RowId, _to: RowId) -> f32 {
        0.0
    }
}

/// Lists to one list. Pure.
pub trait Fuser: Debug + Send + Sync {
    /// Best first. A list weighs what its retriever in `retrievers` says; weights are scaled
    /// over the lists that are there.
    ///
    /// # Errors
    /// [`Error::EmptyRankedLists`](crate::Error::EmptyRankedLists) without lists,
    /// [`Error::InvalidConfig`](crate::Error::InvalidConfig) if a weight is not 0–1.
    fn fuse(&self, retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>>;
}

/// Reads the question together with a passage, which no index can. Only scores; the
/// engine sorts.
pub trait Reranker: Debug + Send + Sync {
    /// Name of the model.
    fn model(&self) -> &str;

    /// Whether the model can read a text. Scores of two models do not compare, and those
    /// of a text that the model cannot read are noise: a list is scored by one reranker
    /// that reads the question and all of the passages, or not at all.
    fn reads(&self, text: &str) -> bool;

    /// How many passages of a list, from the top, are worth its time; all by default.
    fn top_k(&self) -> usize {
        usize::MAX
    }

    /// Loads the model, if it is not loaded: once a process, and not part of any time budget.
    ///
    /// # Errors
    /// The model is missing or damaged.
    fn load(&self) -> Result<()> {
        Ok(())
    }

    /// How surely each passage answers the question, in order. A passage's score does
    /// not depend on the other passages of the call, so that a list may be scored in
    /// parts.
    ///
    /// # Errors
    /// The model is missing, or what it says is not a finite number.
    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>>;

    /// The same until `deadline`, if there is one: the scores of the first passages, as many as
    /// were begun by then. Waiting for a model that is loaded counts. By default one passage after the other
    /// is scored, and the clock looked at before each.
    ///
    /// # Errors
    /// As [`score`](Self::score).
    fn score_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: Option<Instant>,
    ) -> Result<Vec<Score>> {
        let Some(deadline) = deadline else { return self.score(question, passages) };
        let mut scores = Vec::with_capacity(passages.len());
        for passage in passages {
            if Instant::now() >= deadline {
                break;
            }
            scores.extend(self.score(question, std::slice::from_ref(passage))?);
        }
        Ok(scores)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a matrix of zeros of its own shape.
    #[derive(Debug)]
    struct Shaped(EmbeddingSpace, (usize, usize));

    impl Embedder for Shaped {
        fn space(&self) -> &EmbeddingSpace {
            &self.0
        }

        fn cosine_range(&self) -> (f32, f32) {
            (0.0, 1.0)
        }

        fn embed(&self, _: Role, _: &[&str]) -> Result<Array2<f32>> {
            Ok(Array2::zeros(self.1))
        }
    }

    #[test]
    fn a_matrix_of_another_shape_is_an_error_that_names_both() {
        let space = EmbeddingSpace {
            model: "mine".to_owned(),
            sha256: String::new(),
            dimensions: 3,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        };
        let embed = |shape, texts: &[&str]| {
            Shaped(space.clone(), shape).embed_checked(Role::Passage, texts).map(|one| one.dim())
        };
        assert_eq!(embed((2, 3), &["a", "b"]).unwrap(), (2, 3));
        assert_eq!(embed((0, 3), &[]).unwrap(), (0, 3));
        assert_eq!(embed((0, 0), &[]).unwrap(), (0, 0));
        for (shape, texts) in
            [((1, 3), &["a", "b"][..]), ((2, 3), &["a"]), ((1, 4), &["a"]), ((0, 0), &["a"])]
        {
            let error = embed(shape, texts).unwrap_err();
            assert!(
                matches!(&error, Error::EmbeddingShape { expected, found, .. }
                    if *expected == (texts.len(), 3) && *found == shape),
                "{error}"
            );
        }
        let message = embed((1, 4), &["a", "b"]).unwrap_err().to_string();
        assert!(message.contains("1 vectors of 4 numbers for 2 texts of 3"), "{message}");
    }
}
