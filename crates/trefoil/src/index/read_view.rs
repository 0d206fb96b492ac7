//! What a search sees, from its beginning to its end: one commit of all indexes. It never changes;
//! the next one takes its place for the searches that start after that.

use std::{
    sync::Arc,
    time::{Instant, SystemTime},
};

use trefoil_core::{
    Collection, Degraded, Embedder, Embedding, Error, IndexInput, Language, NameLookup, Result,
    Retriever, RetrieverId, Seq, Stage,
};

use trefoil_store::truth::Place;

use crate::index::open::{self, OpenIndexes};

/// What the searches see that start now.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReadView {
    /// The store's last change when it was made.
    pub(crate) seq: Seq,
    pub(crate) documents: CollectionView,
    pub(crate) memory: CollectionView,
    /// What embeds questions for the vectors; none without a model, and none where the index has
    /// another one by now.
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    /// The number of the vectors.
    pub(crate) generation: u64,
    /// Chunks in each language.
    pub(crate) languages: Vec<(Language, usize)>,
    /// How far the node is; nothing in a directory of its own.
    pub(crate) place: Place,
    /// When each index was last committed, as of before they were read.
    pub(crate) commits: Vec<Option<SystemTime>>,
    /// When it was made.
    pub(crate) at: Option<Instant>,
}

/// What is asked of a collection.
#[derive(Clone, Debug, Default)]
pub(crate) struct CollectionView {
    /// One commit of each index.
    pub(crate) retrievers: Vec<Arc<dyn Retriever>>,
    /// Retrievers that cannot run, and why.
    pub(crate) absent: Vec<Degraded>,
    /// Indexes that held more than the store: it has lost what was written last.
    pub(crate) lost: Vec<Degraded>,
    /// Retrievers that are behind the store.
    pub(crate) lagging: Vec<Degraded>,
}

impl ReadView {
    /// Refuses a vector of another length than the model's, whether or not there is anything that
    /// it could be compared with.
    pub(crate) fn check_embedding(&self, given: Option<&Embedding>) -> Result<()> {
        let dimensions = self.embedder.as_ref().map(|embedder| embedder.space().dimensions);
        match (dimensions, given.map(|given| given.as_slice().len())) {
            (Some(expected), Some(provided)) if expected != provided => {
                Err(Error::DimensionMismatch { expected, provided })
            }
            _ => Ok(()),
        }
    }

    /// The names that the corpus is known to speak of.
    pub(crate) fn names(&self) -> &dyn NameLookup {
        open::names(&self.documents.retrievers)
    }

    /// What is asked of a collection.
    pub(crate) const fn collection_mut(&mut self, collection: Collection) -> &mut CollectionView {
        match collection {
            Collection::Documents => &mut self.documents,
            Collection::Memory => &mut self.memory,
        }
    }

    /// The graph among the retrievers, to be asked for more than chunks.
    #[cfg(feature = "graph")]
    pub(crate) fn graph(&self) -> Option<&trefoil_graph::GraphRetriever> {
        open::graph(&self.documents.retrievers)
    }
}

impl CollectionView {
    /// What every search is told: the retrievers that cannot run, what the store has lost, and what
    /// the indexes lag behind.
    pub(crate) fn troubles(&self) -> impl Iterator<Item = Degraded> {
        self.absent.iter().chain(&self.lost).chain(&self.lagging).cloned()
    }

    /// The retriever with this name.
    pub(crate) fn retriever(&self, id: RetrieverId) -> Option<&Arc<dyn Retriever>> {
        self.retrievers.iter().find(|one| one.id() == id)
    }

    /// The first retriever whose index feeds on this.
    pub(crate) fn fed_by(&self, input: IndexInput) -> Option<&Arc<dyn Retriever>> {
        self.retrievers.iter().find(|one| one.inputs().contains(&input))
    }

    /// Puts retrievers in the place of those with the same names.
    pub(crate) fn replace(&mut self, by: &OpenIndexes) {
        let given = |stage| by.retrievers.iter().any(|one| Stage::from(one.id()) == stage);
        self.retrievers.retain(|one| !given(one.id().into()));
        self.absent.retain(|one| !given(one.stage));
        self.retrievers.extend(by.retrievers.iter().cloned());
        self.retrievers.sort_by_key(|one| one.id());
        self.absent.extend(by.absent.iter().cloned());
    }
}
