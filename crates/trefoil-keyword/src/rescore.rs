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
    proximity::{closeness, occurs_literally},
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

/// What a passage scored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored {
    pub(crate) row: RowId,
    /// The score that ranks: all fields with their boosts, and closeness.
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
    pub(crate) query: &'q QueryTerms,
    pub(crate) passage: FieldQuery,
    pub(crate) others: Vec<FieldQuery>,
    pub(crate) phrase_boost: f32,
}

impl Rescorer<'_> {
    pub(crate) fn score(
        &self,
        searcher: &Searcher,
        mut candidates: Vec<Candidate>,
    ) -> Result<Vec<Scored>> {
        candidates.sort_unstable_by_key(|candidate| (candidate.segment, candidate.doc));
        let pairs = self.neighbours();
        let mut scored = Vec::with_capacity(candidates.len());
        for group in candidates.chunk_by(|a, b| a.segment == b.segment) {
            let Some(reader) =
                group.first().and_then(|first| searcher.segment_readers().get(first.segment))
            else {
                continue;
            };
            let mut passage = FieldCursor::open(
                reader,
                self.query,
                &self.passage,
                IndexRecordOption::WithFreqsAndPositions,
            )?;
            let mut others = Vec::with_capacity(self.others.len());
            for field in &self.others {
                others.push(FieldCursor::open(
                    reader,
                    self.query,
                    field,
                    IndexRecordOption::WithFreqs,
                )?);
            }
            for candidate in group {
                let bm25 = passage.score(candidate.doc);
                passage.read_positions(candidate.doc);
                let close: f32 = pairs
                    .iter()
                    .map(|pair| {
                        let frequency = passage.closeness(pair);
                        pair.information
                            * self.passage.statistics.saturation(frequency, passage.length)
                    })
                    .sum();
                let boosted: f32 = others
                    .iter_mut()
                    .map(|field| field.query.boost * field.score(candidate.doc))
                    .sum();
                scored.push(Scored {
                    row: candidate.row,
                    ranking: bm25 + boosted + self.phrase_boost * close,
                    passage: bm25,
                    literal: occurs_literally(&self.query.sequence, &passage.positions),
                });
            }
        }
        Ok(scored)
    }

    /// Query terms that stand next to each other, stop words left out; where several
    /// share a position, the rarest.
    fn neighbours(&self) -> Vec<Neighbours> {
        let information =
            |at: &Occurrence| self.passage.information.get(at.term).copied().unwrap_or(0.0);
        let mut chain: Vec<Occurrence> = Vec::new();
        let mut sequence: Vec<_> =
            self.query.sequence.iter().filter(|at| information(at) > 0.0).copied().collect();
        sequence.sort_by_key(|at| at.position);
        for at in sequence {
            match chain.last_mut() {
                Some(last) if last.position == at.position => {
                    if information(&at) > information(last) {
                        *last = at;
                    }
                }
                _ => chain.push(at),
            }
        }
        chain
            .iter()
            .zip(chain.iter().skip(1))
            .filter(|(first, second)| first.term != second.term)
            .map(|(first, second)| Neighbours {
                first: first.term,
                second: second.term,
                distance: second.position - first.position,
                information: information(first).min(information(second)),
            })
            .collect()
    }
}

#[derive(Debug)]
struct Neighbours {
    first: usize,
    second: usize,
    distance: u32,
    information: f32,
}

/// The postings of a question's terms in one field of one segment. Documents are
/// asked for in ascending order.
struct FieldCursor<'q> {
    query: &'q FieldQuery,
    norms: Option<FieldNormReader>,
    postings: Vec<Option<SegmentPostings>>,
    length: u32,
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
        Ok(Self { query, norms, postings, length: 0, positions })
    }

    /// BM25 of the question's terms in `doc`.
    fn score(&mut self, doc: DocId) -> f32 {
        self.length = self.norms.as_ref().map_or(0, |norms| norms.fieldnorm(doc));
        let (statistics, length) = (&self.query.statistics, self.length);
        self.postings
            .iter_mut()
            .zip(&self.query.information)
            .filter(|&(_, &information)| information > 0.0)
            .map(|(postings, information)| match at(postings, doc) {
                Some(postings) => {
                    information * statistics.saturation(postings.term_freq() as f32, length)
                }
                None => 0.0,
            })
            .sum()
    }

    fn read_positions(&mut self, doc: DocId) {
        for (postings, positions) in self.postings.iter_mut().zip(&mut self.positions) {
            positions.clear();
            if let Some(postings) = at(postings, doc) {
                postings.positions(positions);
            }
        }
    }

    fn closeness(&self, pair: &Neighbours) -> f32 {
        match (self.positions.get(pair.first), self.positions.get(pair.second)) {
            (Some(first), Some(second)) => closeness(first, second, pair.distance),
            _ => 0.0,
        }
    }
}

/// The postings moved to `doc`, if the term occurs there.
fn at(postings: &mut Option<SegmentPostings>, doc: DocId) -> Option<&mut SegmentPostings> {
    let postings = postings.as_mut()?;
    let here = if postings.doc() < doc { postings.seek(doc) } else { postings.doc() };
    (here == doc && doc != TERMINATED).then_some(postings)
}
