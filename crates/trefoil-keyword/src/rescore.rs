use std::{iter, sync::Arc};

use tantivy::{
    DocId, TERMINATED, Term,
    fieldnorm::FieldNormReader,
    postings::{Postings, SegmentPostings},
    schema::{Field, IndexRecordOption},
};
use trefoil_core::{Result, RowId};

use crate::{
    bm25::{FieldStatistics, document_frequency},
    candidates::Candidate,
    index::backend,
    phrase::{occurs_literally, pairs},
    query::{Occurrence, QueryTerms},
    segment::{Segment, seek},
};

/// One field as a question reads it.
#[derive(Debug)]
pub(crate) struct FieldQuery {
    pub(crate) field: Field,
    pub(crate) statistics: FieldStatistics,
    /// For each term of the question, its count there times its idf here.
    information: Vec<f32>,
    /// How many documents hold each term that counts, together.
    postings: u64,
    /// What the field's score counts for in the ranking.
    boost: f32,
}

impl FieldQuery {
    pub(crate) fn new(
        segments: &[Arc<Segment>],
        field: Field,
        query: &QueryTerms,
        boost: f32,
    ) -> Result<Self> {
        let statistics = FieldStatistics::of(segments, field)?;
        let mut information = Vec::with_capacity(query.terms.len());
        let mut postings = 0;
        for term in &query.terms {
            let frequency =
                document_frequency(segments, &Term::from_field_text(field, &term.text))?;
            information.push(term.weight * statistics.idf(frequency));
            postings += if term.weight > 0.0 { frequency } else { 0 };
        }
        Ok(Self { field, statistics, information, postings, boost })
    }

    /// The information of the whole question: Σ count · idf.
    pub(crate) fn total(&self) -> f32 {
        self.information.iter().sum()
    }

    fn of(&self, term: usize) -> f32 {
        self.information.get(term).copied().unwrap_or(0.0)
    }

    /// The terms that count, with what a saturated occurrence of them adds to the ranking.
    fn weighted<'q>(&'q self, query: &'q QueryTerms) -> impl Iterator<Item = (Term, f32)> + 'q {
        let terms = query.terms.iter().zip(&self.information);
        terms.filter(|&(_, &information)| information > 0.0).map(move |(term, information)| {
            (Term::from_field_text(self.field, &term.text), information * self.boost)
        })
    }
}

/// Weight of the question's whole information where it occurs word for word: enough to
/// lift 替え玉 above a passage that has 替え three times and no 玉.
const LITERAL_BOOST: f32 = 0.3;

/// What a passage scored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) row: RowId,
    /// The number that orders it among equals.
    pub(crate) tie_break: u64,
    /// The score that ranks: all fields with their boosts, and phrases.
    pub(crate) ranking: f32,
    /// BM25 over the passage alone.
    pub(crate) passage: f32,
    /// Whether the whole question occurs word for word.
    pub(crate) literal: bool,
}

/// Scores candidates in full. Terms are summed in the order of the question, so that
/// a score does not depend on how the documents lie in segments.
#[derive(Debug)]
pub(crate) struct Rescorer<'q> {
    query: &'q QueryTerms,
    passage: FieldQuery,
    others: Vec<FieldQuery>,
    phrase_boost: f32,
    neighbours: Vec<Neighbours>,
    /// The occurrences of terms that weigh something.
    weighted: Vec<Occurrence>,
}

impl<'q> Rescorer<'q> {
    pub(crate) fn new(
        query: &'q QueryTerms,
        passage: FieldQuery,
        others: Vec<FieldQuery>,
        phrase_boost: f32,
    ) -> Self {
        let mut weighted = query.sequence.clone();
        weighted.retain(|at| passage.of(at.term) > 0.0);
        weighted.sort_by_key(|at| at.position);
        let neighbours =
            if phrase_boost > 0.0 { neighbours(&weighted, &passage) } else { Vec::new() };
        Self { query, passage, others, phrase_boost, neighbours, weighted }
    }

    /// That of the whole question in the passage.
    pub(crate) fn information(&self) -> f32 {
        self.passage.total()
    }

    /// The fields that rank.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &FieldQuery> {
        iter::once(&self.passage).chain(&self.others)
    }

    /// The terms that count in each field, with what a saturated occurrence of them adds.
    pub(crate) fn weighted(&self) -> impl Iterator<Item = (Term, f32)> {
        self.fields().flat_map(|field| field.weighted(self.query))
    }

    /// How many terms count, in all fields together.
    pub(crate) fn terms(&self) -> usize {
        self.fields().map(|field| field.information.iter().filter(|&&one| one > 0.0).count()).sum()
    }

    /// How many documents hold them, together.
    pub(crate) fn postings(&self) -> u64 {
        self.fields().map(|field| field.postings).sum()
    }

    /// The weighted sum of BM25 over the fields of each candidate; none for one without any term
    /// that counts. They stand in the order of segments and documents.
    pub(crate) fn bm25(
        &self,
        segments: &[Arc<Segment>],
        candidates: &[Candidate],
    ) -> Result<Vec<Option<f32>>> {
        let mut scores = Vec::with_capacity(candidates.len());
        for group in candidates.chunk_by(|a, b| a.segment == b.segment) {
            let mut fields = self.open(segments, group, IndexRecordOption::WithFreqs)?;
            scores.extend(group.iter().map(|candidate| {
                let (passage, others) = fields.as_mut()?.score(candidate.doc)?;
                Some(self.passage.boost * passage + others)
            }));
        }
        Ok(scores)
    }

    pub(crate) fn score(
        &self,
        segments: &[Arc<Segment>],
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Scored>> {
        candidates.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
        let mut scored = Vec::with_capacity(candidates.len());
        for group in candidates.chunk_by(|a, b| a.segment == b.segment) {
            let fields = self.open(segments, group, IndexRecordOption::WithFreqsAndPositions)?;
            let Some(mut fields) = fields else { continue };
            let tie_breaks = fields.segment.tie_breaks()?;
            for &Candidate { doc, row, .. } in group {
                let (bm25, boosted) = fields.score(doc).unwrap_or_default();
                let passage = &mut fields.passage;
                if passage.complete || !self.neighbours.is_empty() {
                    passage.read_positions(doc, |information| information > 0.0);
                }
                let phrases = self.phrase_boost * self.phrases(passage);
                let literal = self.is_literal(passage, doc);
                let verbatim = if literal { LITERAL_BOOST * self.information() } else { 0.0 };
                scored.push(Scored {
                    row,
                    tie_break: tie_breaks.first(doc).unwrap_or(u64::MAX),
                    ranking: self.passage.boost * bm25 + boosted + phrases + verbatim,
                    passage: bm25,
                    literal,
                });
            }
        }
        Ok(scored)
    }

    /// The postings in the segment of a group of candidates; `record` is of the passage.
    fn open<'s>(
        &'s self,
        segments: &'s [Arc<Segment>],
        group: &[Candidate],
        record: IndexRecordOption,
    ) -> Result<Option<FieldCursors<'s>>> {
        let segment = group.first().and_then(|candidate| segments.get(candidate.segment));
        let Some(segment) = segment else { return Ok(None) };
        let open = |field, record| FieldCursor::open(segment, self.query, field, record);
        let passage = open(&self.passage, record)?;
        let others = self.others.iter().map(|field| open(field, IndexRecordOption::WithFreqs));
        Ok(Some(FieldCursors { segment, passage, others: others.collect::<Result<_>>()? }))
    }

    /// BM25 of neighbours in the question that are neighbours in the passage too.
    fn phrases(&self, passage: &FieldCursor<'_>) -> f32 {
        let score = |pair: &Neighbours| {
            let (first, second) =
                (passage.positions.get(pair.first)?, passage.positions.get(pair.second)?);
            let frequency = pairs(first, second, pair.distance) as f32;
            Some(pair.information * self.passage.statistics.saturation(frequency, passage.length))
        };
        self.neighbours.iter().filter_map(score).sum()
    }

    /// Stop words are long lists: they are read only where the rest occurs literally.
    fn is_literal(&self, passage: &mut FieldCursor<'_>, doc: DocId) -> bool {
        if !passage.complete || !occurs_literally(&self.weighted, &passage.positions) {
            return false;
        }
        if self.weighted.len() == self.query.sequence.len() {
            return true;
        }
        passage.read_positions(doc, |information| information == 0.0);
        occurs_literally(&self.query.sequence, &passage.positions)
    }
}

/// Two terms that stand next to each other in the question.
#[derive(Debug)]
struct Neighbours {
    first: usize,
    second: usize,
    distance: u32,
    /// That of the commoner of the two.
    information: f32,
}

/// The neighbours in a sequence by position; where several terms share a position, the
/// rarest of them.
fn neighbours(sequence: &[Occurrence], passage: &FieldQuery) -> Vec<Neighbours> {
    let rarest: Vec<_> = sequence
        .chunk_by(|a, b| a.position == b.position)
        .filter_map(|here| {
            here.iter().max_by(|a, b| passage.of(a.term).total_cmp(&passage.of(b.term)))
        })
        .collect();
    rarest
        .iter()
        .zip(rarest.iter().skip(1))
        .filter(|(first, second)| first.term != second.term)
        .map(|(first, second)| Neighbours {
            first: first.term,
            second: second.term,
            distance: second.position - first.position,
            information: passage.of(first.term).min(passage.of(second.term)),
        })
        .collect()
}

/// The postings of a question's terms in all fields of one segment. Documents are asked for in
/// ascending order.
struct FieldCursors<'q> {
    segment: &'q Segment,
    passage: FieldCursor<'q>,
    others: Vec<FieldCursor<'q>>,
}

impl FieldCursors<'_> {
    /// BM25 of the passage, and of the other fields with their boosts; none if no field of the
    /// document holds any of the terms.
    fn score(&mut self, doc: DocId) -> Option<(f32, f32)> {
        let passage = self.passage.score(doc);
        let others: f32 =
            self.others.iter_mut().map(|field| field.query.boost * field.score(doc)).sum();
        let holds = |field: &FieldCursor<'_>| field.holds;
        (holds(&self.passage) || self.others.iter().any(holds)).then_some((passage, others))
    }
}

/// The postings of a question's terms in one field of one segment.
struct FieldCursor<'q> {
    query: &'q FieldQuery,
    norms: Option<FieldNormReader>,
    postings: Vec<Option<SegmentPostings>>,
    /// Of the document scored last: its number of terms, whether it holds any or all of the
    /// terms that weigh something, and the positions read.
    length: u32,
    holds: bool,
    complete: bool,
    positions: Vec<Vec<u32>>,
}

impl<'q> FieldCursor<'q> {
    fn open(
        segment: &Segment,
        terms: &QueryTerms,
        query: &'q FieldQuery,
        record: IndexRecordOption,
    ) -> Result<Self> {
        let reader = &segment.reader;
        let norms =
            reader.fieldnorms_readers().get_field(query.field).map_err(backend("read lengths"))?;
        let index = reader.inverted_index(query.field).map_err(backend("open a field"))?;
        let mut postings = Vec::with_capacity(terms.terms.len());
        for term in &terms.terms {
            let term = Term::from_field_text(query.field, &term.text);
            postings.push(
                index
                    .read_postings(&term, record)
                    .map_err(|error| backend("read a term")(error.into()))?,
            );
        }
        let positions = vec![Vec::new(); postings.len()];
        Ok(Self { query, norms, postings, length: 0, holds: false, complete: false, positions })
    }

    /// BM25 of the question's terms in `doc`.
    fn score(&mut self, doc: DocId) -> f32 {
        self.length = self.norms.as_ref().map_or(0, |norms| norms.fieldnorm(doc));
        (self.holds, self.complete) = (false, true);
        let mut score = 0.0;
        for (postings, &information) in self.postings.iter_mut().zip(&self.query.information) {
            if information > 0.0 {
                let frequency = at(postings, doc).map_or(0, |postings| postings.term_freq());
                score +=
                    information * self.query.statistics.saturation(frequency as f32, self.length);
                self.holds |= frequency > 0;
                self.complete &= frequency > 0;
            }
        }
        score
    }

    /// Reads where the terms whose information is `wanted` stand in `doc`.
    fn read_positions(&mut self, doc: DocId, wanted: impl Fn(f32) -> bool) {
        let terms = self.postings.iter_mut().zip(&self.query.information).zip(&mut self.positions);
        for ((postings, &information), positions) in terms {
            if wanted(information) {
                positions.clear();
                if let Some(postings) = at(postings, doc) {
                    postings.positions(positions);
                }
            }
        }
    }
}

/// The postings moved to `doc`, if the term occurs there.
fn at(postings: &mut Option<SegmentPostings>, doc: DocId) -> Option<&mut SegmentPostings> {
    let postings = postings.as_mut()?;
    (seek(postings, doc) == doc && doc != TERMINATED).then_some(postings)
}
