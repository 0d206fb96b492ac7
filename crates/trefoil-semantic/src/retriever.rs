use std::{
    num::NonZeroUsize,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use lru::LruCache;
use trefoil_core::{
    Allowed, Embedder, Hit, IndexInput, QueryVectors, Question, RankedList, Result, Retriever,
    RetrieverId, Role, RowId, Seq,
};

use crate::{VectorConfig, VectorIndex};

/// Questions whose embeddings are kept: 1.5 MB at 384 dimensions.
const CACHED_QUESTIONS: NonZeroUsize = NonZeroUsize::new(1024).unwrap();
/// The rank of a hit that is there only because something has to be.
const FLOOR_RANK: usize = 200;
/// The rank whose distance from the first says how sure the list is.
const TENTH: usize = 9;
/// The margin of the usual question that a corpus answers, in ranges of the model (decision 023).
const USUAL: f32 = 0.2;

/// The read half of the semantic retriever: embeds a question and ranks the nearest chunks of one
/// commit.
#[derive(Clone, Debug)]
pub struct SemanticRetriever {
    index: VectorIndex,
    embedder: Arc<dyn Embedder>,
    /// Of one space, whatever the commit.
    embedded: Arc<Mutex<LruCache<String, Arc<[f32]>>>>,
}

impl SemanticRetriever {
    /// Opens the newest commit in `dir`, which must be of the embedder's space.
    ///
    /// # Errors
    /// As [`VectorIndex::open`].
    pub fn open(dir: &Path, embedder: Arc<dyn Embedder>, config: &VectorConfig) -> Result<Self> {
        let space = embedder.space();
        let index = VectorIndex::open(dir, &space.fingerprint(), space.dimensions, config)?;
        let embedded = Arc::new(Mutex::new(LruCache::new(CACHED_QUESTIONS)));
        Ok(Self { index, embedder, embedded })
    }

    /// The same as of the newest commit; none if that is this one.
    ///
    /// # Errors
    /// As [`VectorIndex::open`].
    pub fn newest(&self) -> Result<Option<Self>> {
        let index = self.index.newest()?;
        let with = |index| Self {
            index,
            embedder: Arc::clone(&self.embedder),
            embedded: Arc::clone(&self.embedded),
        };
        Ok(index.map(with))
    }

    /// The vectors that are searched.
    pub fn index(&self) -> &VectorIndex {
        &self.index
    }

    /// As [`VectorIndex::search`].
    ///
    /// # Errors
    /// As [`VectorIndex::search`].
    pub fn search(&self, vector: &[f32], k: usize, allowed: &Allowed) -> Result<Vec<(RowId, f32)>> {
        self.index.search(vector, k, allowed)
    }

    /// Rows that can be found.
    pub fn len(&self) -> usize {
        self.index.len()
    }

    /// True if there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.index.is_empty()
    }

    /// The embedding of a question. White space is normalised, which makes the key of
    /// the cache; the cache lives as long as the embedder, so it is of one space.
    fn embed(&self, text: &str) -> Result<Arc<[f32]>> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(vector) = self.cache().get(&text) {
            return Ok(vector.clone());
        }
        let vector: Arc<[f32]> =
            self.embedder.embed_checked(Role::Query, &[&text])?.iter().copied().collect();
        self.cache().put(text, vector.clone());
        Ok(vector)
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, LruCache<String, Arc<[f32]>>> {
        self.embedded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Retriever for SemanticRetriever {
    fn id(&self) -> RetrieverId {
        RetrieverId::SEMANTIC
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Vector]
    }

    fn crosses_languages(&self) -> bool {
        true
    }

    fn rows(&self) -> u64 {
        self.len() as u64
    }

    /// The question is compared with passages in each of its [other
    /// languages](Question::other_languages) as if it were asked in theirs
    /// ([`Embedder::language_means`]). Native scores are cosines; relevance is [`Embedder::relevance`]. The floor is the cosine
    /// at rank 200, or the last.
    /// [`Question::min_similarity`] leaves out hits, and changes nothing for those that stay.
    /// A question without text and embedding, or an empty index, gives an empty list
    /// without asking the embedder.
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let nothing = matches!(allowed, Allowed::Only(rows) if rows.is_empty()) || self.is_empty();
        let vector = if nothing { None } else { self.embedding(question)? };
        let nearest = match vector {
            Some(vector) => {
                let vectors = QueryVectors::of(question, &vector, self.embedder.language_means());
                self.index.search_by_language(&vectors, depth.max(FLOOR_RANK), allowed)?
            }
            None => Vec::new(),
        };
        let hits = nearest.iter().map(|&(row, cosine)| Hit {
            row,
            raw_score: cosine,
            relevance: self.embedder.relevance(cosine),
        });
        let mut list = RankedList::new(RetrieverId::SEMANTIC, hits.collect());
        if let Some(&(_, floor)) = nearest.get(FLOOR_RANK - 1) {
            list = list.with_floor(floor);
        }
        let least = question.min_similarity.unwrap_or_default();
        Ok(list
            .with_confidence(confidence(&nearest, self.embedder.cosine_range()))
            .at_least(least)
            .truncated(depth))
    }

    fn embedding(&self, question: &Question) -> Result<Option<Arc<[f32]>>> {
        match &question.embedding {
            Some(embedding) => Ok(Some(embedding.as_slice().into())),
            None if question.text.trim().is_empty() => Ok(None),
            None => self.embed(&question.text).map(Some),
        }
    }

    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(Self::newest(self)?.map(|newest| Arc::new(newest) as _))
    }

    fn seq(&self) -> Seq {
        self.index.seq()
    }
}

/// How much the retriever knows about a question: 0 nothing, 1 as much as it usually does. That is
/// how far the first hit stands out from the tenth, as a share of the model's own range from
/// unrelated to a perfect match, so that it has no unit; as a multiple of what is usual. Where there
/// are fewer than ten, the tenth is unrelated.
fn confidence(nearest: &[(RowId, f32)], (unrelated, perfect): (f32, f32)) -> f32 {
    let at = |rank: usize| nearest.get(rank).map_or(unrelated, |&(_, cosine)| cosine);
    let range = perfect - unrelated;
    if range > 0.0 { ((at(0) - at(TENTH)) / range / USUAL).max(0.0) } else { 0.0 }
}
