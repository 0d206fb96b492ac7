use std::{
    cmp::{Ordering, Reverse},
    collections::BinaryHeap,
};

use tantivy::{
    DocId, Score, Searcher, Term,
    columnar::Column,
    query::{BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery},
    schema::IndexRecordOption,
};
use trefoil_core::{Allowed, Result, RowId};

use crate::index::backend;

/// A document that may be among the best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) segment: usize,
    pub(crate) doc: DocId,
    pub(crate) row: RowId,
    score: Score,
}

/// The best `limit` allowed documents by the weighted sum of BM25 over `terms`, ties
/// by row, in no particular order.
///
/// Sums of term scores are what tantivy prunes by block-max WAND. The filter acts in
/// the loop that collects, where it leaves pruning on; as a clause of the query it
/// would turn it off.
pub(crate) fn candidates(
    searcher: &Searcher,
    rows: &[Column<u64>],
    terms: impl Iterator<Item = (Term, f32)>,
    allowed: &Allowed,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let clauses = terms.map(|(term, weight)| {
        let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        (Occur::Should, Box::new(BoostQuery::new(query, weight)) as Box<dyn Query>)
    });
    let query = BooleanQuery::new(clauses.collect());
    let weight = query
        .weight(EnableScoring::enabled_from_searcher(searcher))
        .map_err(backend("prepare a search"))?;

    let mut best = Best { worst_first: BinaryHeap::with_capacity(limit + 1), limit };
    for ((segment, reader), rows) in searcher.segment_readers().iter().enumerate().zip(rows) {
        let alive = reader.alive_bitset();
        let threshold = best.threshold();
        let mut collect = |doc, score| {
            let row = RowId::new(rows.first(doc).unwrap_or(u64::MAX));
            if alive.is_none_or(|alive| alive.is_alive(doc)) && allowed.contains(row) {
                best.offer(Candidate { segment, doc, row, score });
            }
            best.threshold()
        };
        weight
            .for_each_pruning(threshold, reader, &mut collect)
            .map_err(backend("search a segment"))?;
    }
    Ok(best.worst_first.into_iter().map(|Reverse(candidate)| candidate).collect())
}

/// The best candidates so far.
struct Best {
    worst_first: BinaryHeap<Reverse<Candidate>>,
    limit: usize,
}

impl Best {
    fn offer(&mut self, candidate: Candidate) {
        self.worst_first.push(Reverse(candidate));
        if self.worst_first.len() > self.limit {
            self.worst_first.pop();
        }
    }

    /// Only a score above this can change the best; just below the worst of them, so
    /// that ties are still decided by row.
    fn threshold(&self) -> Score {
        match self.worst_first.peek() {
            Some(Reverse(worst)) if self.worst_first.len() >= self.limit => worst.score.next_down(),
            _ => Score::MIN,
        }
    }
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.row.cmp(&self.row))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}
