use std::fmt::Debug;

use crate::{Deadline, Fused, PlannedRetriever, RankedList, Result, Score};

/// Lists to one list. Pure.
///
/// ```
/// use trefoil_core::{
///     Error, Fused, Fuser, Hit, PlannedRetriever, RankedList, Result, RetrieverId, RowId, Score,
/// };
///
/// /// Alternates between the lists, first come first served.
/// #[derive(Debug)]
/// struct Interleave;
///
/// impl Fuser for Interleave {
///     fn fuse(&self, _: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
///         if lists.is_empty() {
///             return Err(Error::EmptyRankedLists);
///         }
///         Ok(Fused::by(lists, |hits| {
///             let best = hits.iter().map(|hit| hit.rank).min().unwrap_or(u32::MAX);
///             1.0 / best as f32
///         }))
///     }
/// }
///
/// let list = |id, rows: &[u64]| {
///     let hit = |(at, &row)| Hit { row: RowId::new(row), raw_score: -(at as f32), relevance: Score::ONE };
///     RankedList::new(id, rows.iter().enumerate().map(hit).collect())
/// };
/// let lists = [list(RetrieverId::KEYWORD, &[1, 2]), list(RetrieverId::SEMANTIC, &[3, 1])];
/// let fused = Interleave.fuse(&[], &lists)?;
/// assert_eq!(fused.iter().map(|row| row.row.get()).collect::<Vec<_>>(), [1, 3, 2]);
/// # Ok::<(), Error>(())
/// ```
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
///
/// ```
/// use trefoil_core::{Reranker, Result, Score};
///
/// /// The share of the question's words that a passage has.
/// #[derive(Debug)]
/// struct Overlap;
///
/// impl Reranker for Overlap {
///     fn model(&self) -> &str {
///         "overlap"
///     }
///     fn reads(&self, text: &str) -> bool {
///         text.is_ascii()
///     }
///     fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>> {
///         let words: Vec<&str> = question.split(' ').collect();
///         let share = |passage: &&str| {
///             let found = words.iter().filter(|word| passage.contains(**word)).count();
///             Score::clamped(found as f32 / words.len() as f32)
///         };
///         Ok(passages.iter().map(share).collect())
///     }
/// }
///
/// let scores = Overlap.score("rain tomorrow", &["rain in Tokyo", "sun"])?;
/// assert_eq!(scores, [Score::new(0.5)?, Score::ZERO]);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
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

    /// How many of `passages`, from the top, a search reads that is not
    /// [`thorough`](crate::SearchOptions::thorough), given the scores that it has `read` so far. It
    /// asks before it reads any, and again after each reading, until the answer is no more than it
    /// has read. All by default. What is left out keeps the order of fusion.
    fn enough(&self, question: &str, passages: &[&str], read: &[Score]) -> usize {
        let _ = (question, read);
        passages.len()
    }

    /// Whether the scores of all that a search has `read` tell which passage is better; they do by
    /// default. A model that finds nothing about the question in any of them says no: then the
    /// order of fusion stays. What is graded is ordered by its scores all the same.
    fn orders(&self, read: &[Score]) -> bool {
        let _ = read;
        true
    }

    /// Loads the model, if it is not loaded: once a process, and not part of any time budget.
    ///
    /// # Errors
    /// The model is missing or damaged.
    fn load(&self) -> Result<()> {
        Ok(())
    }

    /// How well each passage answers the question, in order. A passage's score does
    /// not depend on the other passages of the call, so that a list may be scored in
    /// parts.
    ///
    /// # Errors
    /// The model is missing, or what it says is not a finite number.
    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>>;

    /// The same until `deadline`: the scores of the first passages, as many as were begun by then.
    /// Waiting for a model that is loaded counts. By default one passage after the other is
    /// scored, and `deadline` looked at before each.
    ///
    /// # Errors
    /// As [`score`](Self::score).
    fn score_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<Score>> {
        let mut scores = Vec::with_capacity(passages.len());
        for passage in passages {
            if deadline.has_passed() {
                break;
            }
            scores.extend(self.score(question, std::slice::from_ref(passage))?);
        }
        Ok(scores)
    }
}
