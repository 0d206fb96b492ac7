//! Exact search of one segment: every allowed code is compared.

use trefoil_core::{Allowed, Result, RowId};

use crate::{
    candidates::{Candidate, Candidates},
    quantize::{inner_product, inner_products},
    query::Query,
    snapshot::View,
};

/// Codes that are compared at a time; their products stay in the first-level cache.
const BATCH: usize = 256;
/// A filter that allows fewer than one in this many vectors is followed row by row. To
/// compare a code out of line and look for its row costs about as much as 5 in line.
const SPARSE: usize = 5;

/// Offers every live and allowed vector of a segment.
pub(crate) fn scan(
    view: &View,
    place: usize,
    query: &Query<'_>,
    allowed: &Allowed,
    candidates: &mut Candidates,
) -> Result<()> {
    let segment = &*view.segment;
    let code = &query.code.bytes;
    let languages = view.other_languages(query)?;
    let mut offer = |product: i32, scale: f32, row: RowId, ordinal: usize| {
        let (score, error) = query.cosine(product, scale);
        // Few pass the bar, so that a filter costs next to nothing behind it.
        if score + error >= candidates.bar()
            && !view.deleted.contains(ordinal)
            && allowed.contains(row)
            && languages.is_none_or(|all| query.is_for(all, ordinal))
        {
            candidates.offer(Candidate { score, error, row, segment: place, ordinal });
        }
    };
    match allowed {
        Allowed::Only(only) if only.len() < segment.len() / SPARSE => {
            let rows = segment.rows()?;
            let mut from = 0;
            for row in only.iter() {
                match rows.find(row, from) {
                    Ok(ordinal) => {
                        let product = inner_product(code, segment.codes(ordinal, 1)?);
                        offer(product, segment.scale(ordinal)?, row, ordinal);
                        from = ordinal + 1;
                    }
                    Err(next) => from = next,
                }
                if from == segment.len() {
                    break;
                }
            }
        }
        Allowed::All | Allowed::Only(_) => {
            let mut products = [0; BATCH];
            let mut rows = segment.rows()?.iter();
            for first in (0..segment.len()).step_by(BATCH) {
                let count = BATCH.min(segment.len() - first);
                inner_products(code, segment.codes(first, count)?, &mut products);
                let compared = products.iter().zip(segment.scales(first, count)?).zip(&mut rows);
                for (ordinal, ((&product, scale), row)) in (first..).zip(compared) {
                    offer(product, scale, row, ordinal);
                }
            }
        }
    }
    Ok(())
}
