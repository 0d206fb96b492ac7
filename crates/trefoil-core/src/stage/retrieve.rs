use std::{any::Any, fmt::Debug, path::Path, sync::Arc};

use crate::{
    Allowed, Fused, IndexFiles, IndexInput, Question, RankedList, Result, RetrieverId, RowId,
    RowSet, Seq, TermCoverage,
};

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
/// Only [`id`](Self::id) and [`retrieve`](Self::retrieve) are to be written. Its list says how much
/// it knows about the question ([`RankedList::with_confidence`]), from which adaptive fusion tells
/// its share.
///
/// A retriever with an index of its own shows one commit of it and never changes: [`open`](Self::open)
/// makes the first, over the folder of an engine, and [`newest`](Self::newest) another one after each
/// commit. A search keeps the retrievers that it began with, so no commit waits for a search, and no
/// search for a commit.
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
///             raw_score: 1.0,
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
pub trait Retriever: Any + Debug + Send + Sync {
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

    /// The retriever that shows the newest commit of the index in `dir`, or an empty index where
    /// nothing was committed; none without an index. It takes the place of this one in an engine
    /// over `dir`; one configuration may serve several engines.
    ///
    /// # Errors
    /// The index cannot be read.
    fn open(&self, _dir: &Path) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(None)
    }

    /// The retriever that shows the newest commit of the same index; none if that is the commit
    /// that this one shows. Called after each commit, and where another process writes, before a
    /// search: it should cost little if nothing is new. What does not change with a commit, such as
    /// a cache, the two may share.
    ///
    /// # Errors
    /// The commit cannot be read; this one goes on answering.
    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(None)
    }

    /// The change up to which its index was fed when the commit was made that it shows. Not asked
    /// without an index.
    fn seq(&self) -> Seq {
        Seq::ZERO
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
