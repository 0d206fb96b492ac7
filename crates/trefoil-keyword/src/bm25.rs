use std::sync::Arc;

use tantivy::{Term, query::Bm25StatisticsProvider, schema::Field};
use trefoil_core::Result;

use crate::segment::Segment;

/// How fast a repeated term stops counting: the constant of tantivy's BM25.
const K1: f32 = 1.2;
/// How much the length of a passage counts: the constant of tantivy's BM25.
const B: f32 = 0.75;

/// What BM25 needs to know of one field over all live documents.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldStatistics {
    documents: u64,
    tokens: u64,
    average_length: f32,
}

impl FieldStatistics {
    pub(crate) fn of(segments: &[Arc<Segment>], field: Field) -> Result<Self> {
        let documents = segments.iter().map(|segment| segment.documents()).sum();
        let tokens = segments.iter().map(|segment| segment.tokens(field)).sum::<Result<u64>>()?;
        Ok(Self::new(documents, tokens))
    }

    fn new(documents: u64, tokens: u64) -> Self {
        Self { documents, tokens, average_length: tokens as f32 / documents.max(1) as f32 }
    }

    /// Number of terms of a document of average length.
    pub(crate) fn average_length(&self) -> f32 {
        self.average_length
    }

    /// Inverse document frequency, ln(1 + (N − n + ½)/(n + ½)), above 0. A term that
    /// no document holds is taken for one that a single document holds.
    pub(crate) fn idf(&self, document_frequency: u64) -> f32 {
        let n = document_frequency.max(1);
        let others = self.documents.saturating_sub(n);
        ((others as f32 + 0.5) / (n as f32 + 0.5)).ln_1p()
    }

    /// What the occurrences of a term are worth in a passage of `length` terms, as a
    /// factor on its idf: 0 for none, 1 for one in a passage of average length, at
    /// most k1 + 1.
    pub(crate) fn saturation(&self, frequency: f32, length: u32) -> f32 {
        let relative =
            if self.average_length > 0.0 { length as f32 / self.average_length } else { 1.0 };
        frequency * (K1 + 1.0) / (frequency + K1 * (1.0 - B + B * relative))
    }
}

/// How many live documents hold a term.
pub(crate) fn document_frequency(segments: &[Arc<Segment>], term: &Term) -> Result<u64> {
    segments.iter().map(|segment| segment.document_frequency(term)).sum()
}

/// What tantivy is told of the live documents: how many there are and how long. Every term is
/// told to be in one of them, which gives all the same idf; what a term weighs more or less
/// than that is the boost that it is asked with, so that it is looked up once.
pub(crate) struct LengthStatistics(Vec<(Field, FieldStatistics)>);

impl LengthStatistics {
    pub(crate) fn new(fields: impl IntoIterator<Item = (Field, FieldStatistics)>) -> Self {
        Self(fields.into_iter().collect())
    }

    /// The idf that tantivy works with.
    pub(crate) fn idf(&self) -> f32 {
        let others = (self.documents() - 1) as f32;
        (1.0 + (others + 0.5) / 1.5).ln()
    }

    fn documents(&self) -> u64 {
        self.0.first().map_or(1, |(_, statistics)| statistics.documents.max(1))
    }
}

impl Bm25StatisticsProvider for LengthStatistics {
    fn total_num_tokens(&self, field: Field) -> tantivy::Result<u64> {
        let of_field = self.0.iter().find(|(one, _)| *one == field);
        Ok(of_field.map_or(0, |(_, statistics)| statistics.tokens))
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.documents())
    }

    fn doc_freq(&self, _: &Term) -> tantivy::Result<u64> {
        Ok(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: FieldStatistics =
        FieldStatistics { documents: 1_000, tokens: 50_000, average_length: 50.0 };

    #[test]
    fn once_in_an_average_passage_is_worth_one_idf() {
        assert!((FIELD.saturation(1.0, 50) - 1.0).abs() < 1e-6);
        assert!(FIELD.saturation(0.0, 50) == 0.0);
        assert!(FIELD.saturation(1.0, 500) < 1.0 && FIELD.saturation(1.0, 5) > 1.0);
        assert!(FIELD.saturation(1e6, 50) <= K1 + 1.0);
    }

    #[test]
    fn rare_terms_weigh_more_and_unknown_ones_as_much_as_the_rarest() {
        assert!(FIELD.idf(1) > FIELD.idf(2) && FIELD.idf(2) > FIELD.idf(999));
        assert!(FIELD.idf(1_000) > 0.0);
        assert!(FIELD.idf(0).to_bits() == FIELD.idf(1).to_bits());
    }
}
