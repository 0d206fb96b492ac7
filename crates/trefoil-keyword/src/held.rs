use std::sync::Arc;

use tantivy::{
    DocSet, TERMINATED, Term,
    schema::{Field, IndexRecordOption},
};
use trefoil_core::{Result, RowId, RowSet, TermCoverage};

use crate::{
    bm25::{FieldStatistics, document_frequency},
    index::backend,
    query::QueryTerms,
    segment::{Segment, look_up_costs, seek},
};

/// Which of the question's terms `rows` hold in `field`. Terms that no document holds, and stop
/// words together with other terms, are left out.
pub(crate) fn term_coverage(
    segments: &[Arc<Segment>],
    field: Field,
    query: &QueryTerms,
    rows: &RowSet,
) -> Result<TermCoverage> {
    let statistics = FieldStatistics::of(segments, field)?;
    let mut terms: Vec<(f32, Term)> = Vec::with_capacity(query.terms.len());
    let mut postings = 0;
    for term in query.terms.iter().filter(|term| term.weight > 0.0) {
        let term = Term::from_field_text(field, &term.text);
        let frequency = document_frequency(segments, &term)?;
        if frequency > 0 {
            postings += frequency;
            terms.push((statistics.idf(frequency), term));
        }
    }
    // The sort is stable: of equals the first in the question.
    terms.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut held = TermCoverage::new(terms.iter().map(|&(idf, _)| idf));
    let few = look_up_costs(rows, segments, terms.len()) < postings;
    let terms = terms.iter().enumerate().take(TermCoverage::MOST);
    for segment in segments {
        let documents = if few { Some(segment.documents_of(rows)?) } else { None };
        let inverted =
            segment.reader.inverted_index(field).map_err(backend("open the postings"))?;
        for (place, (_, term)) in terms.clone() {
            let postings = inverted
                .read_postings(term, IndexRecordOption::Basic)
                .map_err(|error| backend("read the postings of a term")(error.into()))?;
            let Some(mut postings) = postings else { continue };
            if let Some(documents) = &documents {
                for &(doc, row) in documents {
                    if seek(&mut postings, doc) == doc {
                        held.insert(row, place);
                    }
                }
                continue;
            }
            let column = segment.rows()?;
            while postings.doc() != TERMINATED {
                let doc = postings.doc();
                let row = RowId::new(column.first(doc).unwrap_or(u64::MAX));
                if rows.contains(row) && segment.is_live(doc) {
                    held.insert(row, place);
                }
                postings.advance();
            }
        }
    }
    Ok(held)
}
