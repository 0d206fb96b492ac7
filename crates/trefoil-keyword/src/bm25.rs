use tantivy::{Searcher, Term, query::Bm25StatisticsProvider, schema::Field};
use trefoil_core::Result;

use crate::index::backend;

/// How fast a repeated term stops counting: the constant of tantivy's BM25.
const K1: f32 = 1.2;
/// How much the length of a passage counts: the constant of tantivy's BM25.
const B: f32 = 0.75;

/// What BM25 needs to know of one field over all segments. Deleted documents count
/// until a merge drops them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FieldStatistics {
    documents: u64,
    average_length: f32,
}

impl FieldStatistics {
    pub(crate) fn of(searcher: &Searcher, field: Field) -> Result<Self> {
        let documents = searcher.total_num_docs().map_err(backend("count documents"))?;
        let tokens = searcher.total_num_tokens(field).map_err(backend("count terms"))?;
        Ok(Self { documents, average_length: tokens as f32 / documents.max(1) as f32 })
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

/// How many documents hold a term.
pub(crate) fn document_frequency(searcher: &Searcher, term: &Term) -> Result<u64> {
    searcher.doc_freq(term).map_err(backend("look up a term"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIELD: FieldStatistics = FieldStatistics { documents: 1_000, average_length: 50.0 };

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
