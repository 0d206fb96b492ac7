use tantivy::{
    DocSet, Searcher, TERMINATED, Term,
    columnar::Column,
    schema::{Field, IndexRecordOption},
};
use trefoil_core::{Result, RowId, RowSet, TermCoverage};

use crate::{
    bm25::{FieldStatistics, document_frequency},
    index::backend,
    query::QueryTerms,
};

/// Which of the question's terms `rows` hold in `field`: its postings, filtered. Terms that
/// no document holds, and stop words together with other terms, are left out.
pub(crate) fn term_coverage(
    searcher: &Searcher,
    row_columns: &[Column<u64>],
    field: Field,
    query: &QueryTerms,
    rows: &RowSet,
) -> Result<TermCoverage> {
    let statistics = FieldStatistics::of(searcher, field)?;
    let mut terms: Vec<(f32, Term)> = Vec::with_capacity(query.terms.len());
    for term in query.terms.iter().filter(|term| term.weight > 0.0) {
        let term = Term::from_field_text(field, &term.text);
        let frequency = document_frequency(searcher, &term)?;
        if frequency > 0 {
            terms.push((statistics.idf(frequency), term));
        }
    }
    // The sort is stable: of equals the first in the question.
    terms.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut held = TermCoverage::new(terms.iter().map(|&(idf, _)| idf));
    for (place, (_, term)) in terms.iter().enumerate().take(TermCoverage::MOST) {
        for (reader, column) in searcher.segment_readers().iter().zip(row_columns) {
            let inverted = reader.inverted_index(field).map_err(backend("open the postings"))?;
            let postings = inverted
                .read_postings(term, IndexRecordOption::Basic)
                .map_err(|error| backend("read the postings of a term")(error.into()))?;
            let Some(mut postings) = postings else { continue };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                let row = RowId::new(column.first(doc).unwrap_or(u64::MAX));
                if rows.contains(row)
                    && reader.alive_bitset().is_none_or(|alive| alive.is_alive(doc))
                {
                    held.insert(row, place);
                }
                doc = postings.advance();
            }
        }
    }
    Ok(held)
}
