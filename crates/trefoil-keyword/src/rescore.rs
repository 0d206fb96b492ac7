use tantivy::{
    DocId, DocSet, Searcher, SegmentReader, TERMINATED, Term,
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
};

/// One field as a question reads it.
#[derive(Debug)]
pub(crate) struct FieldQuery {
    field: Field,
    statistics: FieldStatistics,
    /// For each term of the question, its count there times its idf here.
    information: Vec<f32>,
    /// What the field's score counts for in the ranking.
    boost: f32,
}

impl FieldQuery {
    pub(crate) fn new(
        searcher: &Searcher,
        field: Field,
        query: &QueryTerms,
        boost: f32,
    ) -> Result<Self> {
        let statistics = FieldStatistics::of(searcher, field)?;
        let mut information = Vec::with_capacity(query.terms.len());
        for term in &query.terms {
            let frequency =
                document_frequency(searcher, &Term::from_field_text(field, &term.text))?;
            information.push(term.weight * statistics.idf(frequency));
        }
        Ok(Self { field, statistics, information, boost })
    }

    /// The information of the whole question: Σ count · idf.
    pub(crate) fn total(&self) -> f32 {
        self.information.iter().sum()
    }

    fn of(&self, term: usize) -> f32 {
        self.information.get(term).copied().unwrap_or(0.0)
    }

    /// The terms that count, with what their BM25 score is multiplied by.
    pub(crate) fn weighted<'q>(
        &self,
        query: &'q QueryTerms,
    ) -> impl Iterator<Item = (Term, f32)> + use<'q> {
        let (field, boost) = (self.field, self.boost);
        query
            .terms
            .iter()
            .filter(|term| term.weight > 0.0)
            .map(move |term| (Term::from_field_text(field, &term.text), term.weight * boost))
    }
}

/// Weight of the question's whole information where it occurs word for word: enough to
/// lift 替え玉 above a passage that has 替え three times and no 玉.
const LITERAL_BOOST: f32 = 0.3;

/// What a passage scored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) row: RowId,
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

    pub(crate) fn score(
        &self,
        searcher: &Searcher,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Scored>> {
        candidates.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
        let mut scored = Vec::with_capacity(candidates.len());
        for group in candidates.chunk_by(|a, b| a.segment == b.segment) {
            let segment = group.first().and_then(|it| searcher.segment_readers().get(it.segment));
            let Some(segment) = segment else { continue };
            let open = |field, record| FieldCursor::open(segment, self.query, field, record);
            let mut passage = open(&self.passage, IndexRecordOption::WithFreqsAndPositions)?;
            let mut others = Vec::with_capacity(self.others.len());
            for field in &self.others {
                others.push(open(field, IndexRecordOption::WithFreqs)?);
            }
            for &Candidate { doc, row, .. } in group {
                let bm25 = passage.score(doc);
                let boosted: f32 =
                    others.iter_mut().map(|field| field.query.boost * field.score(doc)).sum();
                if passage.complete || !self.neighbours.is_empty() {
                    passage.read_positions(doc, |information| information > 0.0);
                }
                let phrases = self.phrase_boost * self.phrases(&passage);
                let literal = self.is_literal(&mut passage, doc);
                let verbatim = if literal { LITERAL_BOOST * self.passage.total() } else { 0.0 };
                scored.push(Scored {
                    row,
                    ranking: self.passage.boost * bm25 + boosted + phrases + verbatim,
                    passage: bm25,
                    literal,
                });
            }
        }
        Ok(scored)
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

/// The postings of a question's terms in one field of one segment. Documents are
/// asked for in ascending order.
struct FieldCursor<'q> {
    query: &'q FieldQuery,
    norms: Option<FieldNormReader>,
    postings: Vec<Option<SegmentPostings>>,
    /// Of the document scored last: its number of terms, whether it holds all the terms
    /// that weigh something, and the positions read.
    length: u32,
    complete: bool,
    positions: Vec<Vec<u32>>,
}

impl<'q> FieldCursor<'q> {
    fn open(
        reader: &SegmentReader,
        terms: &QueryTerms,
        query: &'q FieldQuery,
        record: IndexRecordOption,
    ) -> Result<Self> {
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
        Ok(Self { query, norms, postings, length: 0, complete: false, positions })
    }

    /// BM25 of the question's terms in `doc`.
    fn score(&mut self, doc: DocId) -> f32 {
        self.length = self.norms.as_ref().map_or(0, |norms| norms.fieldnorm(doc));
        self.complete = true;
        let mut score = 0.0;
        for (postings, &information) in self.postings.iter_mut().zip(&self.query.information) {
            if information > 0.0 {
                let frequency = at(postings, doc).map_or(0, |postings| postings.term_freq());
                score +=
                    information * self.query.statistics.saturation(frequency as f32, self.length);
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
    let here = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
    (here == doc && doc != TERMINATED).then_some(postings)
}
