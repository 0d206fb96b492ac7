use std::sync::Arc;

use tantivy::{
    DocId, Score,
    query::{BooleanQuery, BoostQuery, EnableScoring, Occur, Query, TermQuery},
    schema::IndexRecordOption,
};
use trefoil_core::{Allowed, Result, RowId, RowSet};

use crate::{
    bm25::LengthStatistics,
    index::backend,
    rescore::Rescorer,
    retriever::Snapshot,
    segment::{Segment, look_up_costs},
};

/// A document that may be among the best.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) segment: usize,
    pub(crate) doc: DocId,
    pub(crate) row: RowId,
    /// Its BM25 as tantivy computes it. The terms are added in an order that depends on how
    /// documents lie in segments, so the last bits do too.
    score: Score,
}

/// The best `limit` allowed documents by the weighted sum of BM25 over the question's terms,
/// equals by [`tie_break`](trefoil_core::tie_break), in no particular order.
pub(crate) fn candidates(
    snapshot: &Snapshot,
    question: &Rescorer<'_>,
    allowed: &Allowed,
    limit: usize,
) -> Result<Vec<Candidate>> {
    if let Allowed::Only(rows) = allowed {
        let costs = look_up_costs(rows, &snapshot.segments, question.terms());
        if costs < question.postings() {
            return of_rows(snapshot, question, rows, limit);
        }
    }
    of_postings(snapshot, question, allowed, limit)
}

/// Looks at each of `rows`.
pub(crate) fn of_rows(
    snapshot: &Snapshot,
    question: &Rescorer<'_>,
    rows: &RowSet,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let mut found = Vec::new();
    for (segment, reader) in snapshot.segments.iter().enumerate() {
        let documents = reader.documents_of(rows)?;
        let candidate = |(doc, row)| Candidate { segment, doc, row, score: 0.0 };
        found.extend(documents.into_iter().map(candidate));
    }
    let mut found = Best::new(question, &snapshot.segments, limit).in_order(found)?;
    found.truncate(limit);
    Ok(found)
}

/// Walks over the postings of the question's terms.
///
/// Sums of term scores are what tantivy prunes by block-max WAND. The filter acts in
/// the loop that collects, where it leaves pruning on; as a clause of the query it
/// would turn it off.
pub(crate) fn of_postings(
    snapshot: &Snapshot,
    question: &Rescorer<'_>,
    allowed: &Allowed,
    limit: usize,
) -> Result<Vec<Candidate>> {
    let Snapshot { searcher, segments, .. } = snapshot;
    let statistics =
        LengthStatistics::new(question.fields().map(|field| (field.field, field.statistics)));
    let idf = statistics.idf();
    let clauses = question.weighted().map(|(term, weight)| {
        let query: Box<dyn Query> = Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs));
        (Occur::Should, Box::new(BoostQuery::new(query, weight / idf)) as Box<dyn Query>)
    });
    let query = BooleanQuery::new(clauses.collect());
    let weight = query
        .weight(EnableScoring::enabled_from_statistics_provider(&statistics, searcher))
        .map_err(backend("prepare a search"))?;

    let mut best = Best::new(question, segments, limit);
    for (number, segment) in segments.iter().enumerate() {
        let rows = segment.rows()?;
        let mut slack = 1.0_f32;
        for field in question.fields() {
            let average = field.statistics.average_length();
            slack = slack.min(segment.pruning_slack(field.field, average)?);
        }
        let (threshold, mut failed) = (best.threshold(slack), None);
        let mut collect = |doc, score| {
            let row = RowId::new(rows.first(doc).unwrap_or(u64::MAX));
            if score >= best.least && segment.is_live(doc) && allowed.contains(row) {
                let offered = best.offer(Candidate { segment: number, doc, row, score });
                if let Err(error) = offered {
                    failed = Some(error);
                    return Score::MAX;
                }
            }
            best.threshold(slack)
        };
        weight
            .for_each_pruning(threshold, &segment.reader, &mut collect)
            .map_err(backend("search a segment"))?;
        if let Some(error) = failed {
            return Err(error);
        }
    }
    best.cut()?;
    Ok(best.found)
}

/// The best candidates so far, and more that may turn out to be among them.
struct Best<'q> {
    question: &'q Rescorer<'q>,
    segments: &'q [Arc<Segment>],
    limit: usize,
    found: Vec<Candidate>,
    /// A candidate of a lower score is not among the best.
    least: Score,
    /// How far two ways of adding up the terms may be apart, as a share of the sum.
    rounding: Score,
}

impl<'q> Best<'q> {
    fn new(question: &'q Rescorer<'q>, segments: &'q [Arc<Segment>], limit: usize) -> Self {
        // An addition rounds by half an epsilon at most, in each of the two sums; so do the
        // steps of a term's score, of which there are fewer than 16.
        let rounding = (question.terms() + 16) as f32 * f32::EPSILON;
        Self { question, segments, limit, found: Vec::new(), least: Score::MIN, rounding }
    }

    fn offer(&mut self, candidate: Candidate) -> Result<()> {
        self.found.push(candidate);
        // Dropping the worse half at once costs O(1) a candidate.
        if self.found.len() >= self.limit.saturating_mul(2) {
            self.cut()?;
        }
        Ok(())
    }

    /// Only a document with a score above this can change the best, if its block says that it
    /// has at most its score / `slack`.
    fn threshold(&self, slack: f32) -> Score {
        if self.least > 0.0 {
            (self.least * slack * (1.0 - self.rounding)).next_down()
        } else {
            Score::MIN
        }
    }

    /// Drops what is not among the best. Those that stand at the cut by tantivy's score are told
    /// apart by their exact ones.
    fn cut(&mut self) -> Result<()> {
        if self.found.len() <= self.limit {
            return Ok(());
        }
        let Some(last) = self.limit.checked_sub(1) else {
            self.found.clear();
            return Ok(());
        };
        let (_, &mut worst, _) =
            self.found.select_nth_unstable_by(last, |a, b| b.score.total_cmp(&a.score));
        self.least = self.least.max(worst.score * (1.0 - 3.0 * self.rounding));
        self.found.retain(|candidate| candidate.score >= self.least);
        if self.found.len() <= self.limit {
            return Ok(());
        }
        let surely = worst.score * (1.0 + 3.0 * self.rounding);
        let (mut best, at_the_cut): (Vec<_>, Vec<_>) =
            self.found.drain(..).partition(|candidate| candidate.score > surely);
        best.extend(self.in_order(at_the_cut)?);
        best.truncate(self.limit);
        self.found = best;
        Ok(())
    }

    /// The candidates that hold a term of the question, best first by exact score.
    fn in_order(&self, mut candidates: Vec<Candidate>) -> Result<Vec<Candidate>> {
        candidates.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
        let scores = self.question.bm25(self.segments, &candidates)?;
        let mut scored = Vec::with_capacity(candidates.len());
        for (candidate, score) in candidates.into_iter().zip(scores) {
            let (Some(score), Some(segment)) = (score, self.segments.get(candidate.segment)) else {
                continue;
            };
            let tie_break = segment.tie_breaks()?.first(candidate.doc).unwrap_or(u64::MAX);
            scored.push((score, tie_break, candidate));
        }
        scored.sort_unstable_by(|(a, a_tie, one), (b, b_tie, other)| {
            b.total_cmp(a).then(a_tie.cmp(b_tie)).then(one.row.cmp(&other.row))
        });
        Ok(scored.into_iter().map(|(.., candidate)| candidate).collect())
    }
}
