use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::{RetrieverId, RowId, Score};

/// One row in one retriever's list.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The row.
    pub row: RowId,
    /// The retriever's own score, such as BM25 or cosine; comparable within one list only.
    pub raw_score: f32,
    /// The same on a scale that means the same for every question.
    pub relevance: Score,
}

/// One retriever's answer: best first, each row once, every score finite.
#[derive(Clone, Debug, PartialEq)]
pub struct RankedList {
    retriever: RetrieverId,
    hits: Vec<Hit>,
    floor: f32,
    confidence: f32,
}

impl RankedList {
    /// Sorts best first, and drops repeated rows and scores that are not finite. Hits of equal
    /// score stay in the order in which they were given: order them by
    /// [`tie_break`](crate::tie_break), so that two indexes of the same documents agree. The floor is the last
    /// score, the confidence 1.
    pub fn new(retriever: RetrieverId, mut hits: Vec<Hit>) -> Self {
        hits.retain(|hit| hit.raw_score.is_finite());
        // `+ 0.0` makes the two zeros one, so that they tie.
        for hit in &mut hits {
            hit.raw_score += 0.0;
        }
        hits.sort_by(|a, b| b.raw_score.total_cmp(&a.raw_score));
        let mut seen = HashSet::with_capacity(hits.len());
        hits.retain(|hit| seen.insert(hit.row));
        let floor = hits.last().map_or(0.0, |hit| hit.raw_score);
        Self { retriever, hits, floor, confidence: 1.0 }
    }

    /// Sets the raw score that counts as nothing in this list: that of a hit far
    /// below the ones worth having. Ignored unless finite.
    #[must_use]
    pub fn with_floor(mut self, floor: f32) -> Self {
        if floor.is_finite() {
            self.floor = floor;
        }
        self
    }

    /// Sets how much the retriever knows about this question: 0 nothing, 1 as much as it
    /// usually does. Ignored unless finite and not negative.
    #[must_use]
    pub fn with_confidence(mut self, confidence: f32) -> Self {
        if confidence.is_finite() && confidence >= 0.0 {
            self.confidence = confidence;
        }
        self
    }

    /// Keeps the hits of at least this relevance; floor and confidence stay.
    #[must_use]
    pub fn at_least(mut self, relevance: Score) -> Self {
        self.hits.retain(|hit| hit.relevance >= relevance);
        self
    }

    /// Keeps the first `depth` hits; floor and confidence stay.
    #[must_use]
    pub fn truncated(mut self, depth: usize) -> Self {
        self.hits.truncate(depth);
        self
    }

    /// Adds hits that are on the same scale, such as those of a second look with the same
    /// question. Of a row in both, the better raw score and the better relevance
    /// stay; of equal scores, those of this list come first. Floor and confidence stay; an empty
    /// list takes those of `more`.
    #[must_use]
    pub fn joined(mut self, more: &Self) -> Self {
        let (floor, confidence) = if self.hits.is_empty() {
            (more.floor, more.confidence)
        } else {
            (self.floor, self.confidence)
        };
        let mut again: HashMap<RowId, &Hit> = more.hits.iter().map(|hit| (hit.row, hit)).collect();
        for known in &mut self.hits {
            if let Some(hit) = again.remove(&known.row) {
                known.raw_score = known.raw_score.max(hit.raw_score);
                known.relevance = known.relevance.max(hit.relevance);
            }
        }
        self.hits.extend(more.hits.iter().filter(|hit| again.contains_key(&hit.row)));
        Self::new(self.retriever, self.hits).with_floor(floor).with_confidence(confidence)
    }

    /// Who ranked.
    pub const fn retriever(&self) -> RetrieverId {
        self.retriever
    }

    /// Best first.
    pub fn hits(&self) -> &[Hit] {
        &self.hits
    }

    /// What the list says of a row; nothing if it does not hold it.
    pub fn hit(&self, row: RowId) -> Option<RetrieverHit> {
        let (rank, hit) = (1..).zip(&self.hits).find(|(_, hit)| hit.row == row)?;
        let Hit { raw_score, relevance, .. } = *hit;
        Some(RetrieverHit { retriever: self.retriever, rank, raw_score, relevance })
    }

    /// The raw score that counts as nothing.
    pub const fn floor(&self) -> f32 {
        self.floor
    }

    /// How much the retriever knows about this question.
    pub const fn confidence(&self) -> f32 {
        self.confidence
    }
}

/// What one retriever says of a row.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RetrieverHit {
    /// Who found it.
    pub retriever: RetrieverId,
    /// At which rank of its list, from 1.
    pub rank: u32,
    /// The retriever's own score: BM25, or a cosine.
    pub raw_score: f32,
    /// The same on the scale that all retrievers share.
    pub relevance: Score,
}

/// A row after fusion, with what each retriever said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused {
    /// The row.
    pub row: RowId,
    /// The fused score, 0–1; 1 is first in every retriever that ran. Once a passage is read, less if
    /// it lacks words of a short question.
    pub combined: Score,
    /// Who found it, at most once a retriever.
    pub hits: Vec<RetrieverHit>,
}

impl Fused {
    /// Every row of `lists`, best first by `score` of what the retrievers say of it; scores are
    /// clamped to 0–1.
    pub fn by(lists: &[RankedList], score: impl Fn(&[RetrieverHit]) -> f32) -> Vec<Self> {
        let mut rows: BTreeMap<RowId, Vec<RetrieverHit>> = BTreeMap::new();
        for list in lists {
            for (&Hit { row, raw_score, relevance }, rank) in list.hits.iter().zip(1..) {
                let hit = RetrieverHit { retriever: list.retriever, rank, raw_score, relevance };
                rows.entry(row).or_default().push(hit);
            }
        }
        let fused = |(row, hits): (RowId, Vec<RetrieverHit>)| {
            let combined = Score::clamped(score(&hits));
            Self { row, combined, hits }
        };
        let mut fused: Vec<Self> = rows.into_iter().map(fused).collect();
        Self::sort(&mut fused);
        fused
    }

    /// Best first: by `combined`. Of equals, the one comes first that the first retriever by name
    /// ranks higher, then the next one, and so on: ranks do not depend on how rows are numbered.
    pub fn sort(fused: &mut [Self]) {
        let ranks = |fused: &Self| -> Vec<(RetrieverId, u32)> {
            let mut ranks: Vec<_> =
                fused.hits.iter().map(|hit| (hit.retriever, hit.rank)).collect();
            ranks.sort_unstable();
            ranks
        };
        fused.sort_by(|a, b| {
            b.combined
                .cmp(&a.combined)
                .then_with(|| ranks(a).cmp(&ranks(b)))
                .then(a.row.cmp(&b.row))
        });
    }

    /// What one retriever says of this row.
    pub fn hit(&self, retriever: RetrieverId) -> Option<&RetrieverHit> {
        self.hits.iter().find(|hit| hit.retriever == retriever)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn joining_keeps_the_scale_and_the_better_of_two_scores() {
        let list = |hits: &[(u64, f32)]| {
            let hit = |&(row, raw_score): &(u64, f32)| Hit {
                row: RowId::new(row),
                raw_score,
                relevance: Score::clamped(raw_score / 10.0),
            };
            RankedList::new(RetrieverId::KEYWORD, hits.iter().map(hit).collect())
        };
        let first = list(&[(1, 8.0), (2, 4.0)]).with_floor(1.0).with_confidence(0.5);
        let joined = first.clone().joined(&list(&[(2, 6.0), (3, 5.0), (1, 7.0)]));
        let natives: Vec<(u64, f32)> =
            joined.hits().iter().map(|hit| (hit.row.get(), hit.raw_score)).collect();
        assert_eq!(natives, [(1, 8.0), (2, 6.0), (3, 5.0)]);
        assert_eq!((joined.floor(), joined.confidence()), (1.0, 0.5));
        assert_eq!(list(&[]).joined(&first), first);
    }

    #[test]
    fn equals_are_ordered_by_rank_and_not_by_row() {
        let list = |retriever, rows: &[u64]| {
            let hit =
                |&row: &u64| Hit { row: RowId::new(row), raw_score: 1.0, relevance: Score::ONE };
            RankedList::new(retriever, rows.iter().map(hit).collect())
        };
        let first = list(RetrieverId::KEYWORD, &[9, 3, 5]);
        let second = list(RetrieverId::SEMANTIC, &[7, 5, 2]);
        let rows = |lists: &[RankedList]| {
            Fused::by(lists, |_| 0.5).iter().map(|one| one.row.get()).collect::<Vec<_>>()
        };
        assert_eq!(rows(std::slice::from_ref(&first)), [9, 3, 5]);
        assert_eq!(rows(&[first.clone(), second.clone()]), [9, 3, 5, 7, 2]);
        let joined = first.joined(&second);
        assert_eq!(
            joined.hits().iter().map(|hit| hit.row.get()).collect::<Vec<_>>(),
            [9, 3, 5, 7, 2]
        );
    }

    proptest! {
        #[test]
        fn a_ranked_list_is_sorted_unique_and_finite(
            raw in proptest::collection::vec((0_u64..20, proptest::num::f32::ANY), 0..60)
        ) {
            let hits = raw.iter().map(|&(row, raw_score)| Hit {
                row: RowId::new(row), raw_score, relevance: Score::clamped(raw_score),
            });
            let list = RankedList::new(RetrieverId::KEYWORD, hits.collect());
            let order: Vec<_> = list.hits().iter().map(|hit| (hit.raw_score, hit.row)).collect();
            prop_assert!(order.iter().all(|(raw_score, _)| raw_score.is_finite()));
            let given = |row: RowId, score: f32| {
                raw.iter().position(|&(one, raw)| row == RowId::new(one) && raw == score)
            };
            let sorted = order.windows(2).all(|w| {
                w[0].0 > w[1].0
                    || (w[0].0 == w[1].0 && given(w[0].1, w[0].0) < given(w[1].1, w[1].0))
            });
            prop_assert!(sorted, "not sorted: {:?}", order);
            let rows: HashSet<_> = order.iter().map(|(_, row)| row).collect();
            prop_assert_eq!(rows.len(), order.len());
        }
    }
}
