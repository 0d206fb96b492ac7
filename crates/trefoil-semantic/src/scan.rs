//! Exact search of one segment: every allowed code is compared.

use trefoil_core::{Allowed, Result, RowId};

use crate::{
    candidates::{Candidate, Candidates},
    code::{inner_product, inner_products},
    segment::Segment,
    snapshot::View,
};

/// Codes that are compared at a time; their products stay in the first-level cache.
const BATCH: usize = 256;
/// A filter that allows fewer than one in this many vectors is walked row by row, each
/// a binary search, instead of passing over the whole segment.
const SPARSE: usize = 16;

/// Offers every live and allowed vector of a segment.
pub(crate) fn scan(
    view: &View,
    place: usize,
    query: &[u8],
    allowed: &Allowed,
    candidates: &mut Candidates,
) -> Result<()> {
    let segment = &*view.segment;
    let mut offer = |product: i32, scale: f32, row: RowId, ordinal: usize| {
        let score = product as f32 * scale;
        if score >= candidates.bar() && !view.deleted.contains(ordinal) {
            candidates.offer(Candidate { score, row, segment: place, ordinal });
        }
    };
    match allowed {
        Allowed::All => {
            let mut products = [0; BATCH];
            let mut rows = segment.rows()?.from(0);
            for first in (0..segment.len()).step_by(BATCH) {
                let count = BATCH.min(segment.len() - first);
                inner_products(query, segment.codes(first, count)?, &mut products);
                let scales = segment.scales(first, count)?;
                for (((ordinal, &product), scale), row) in
                    (first..).zip(&products).zip(scales).zip(&mut rows)
                {
                    offer(product, scale, row, ordinal);
                }
            }
        }
        Allowed::Only(only) if only.len() < segment.len() / SPARSE => {
            let rows = segment.rows()?;
            let mut from = 0;
            for row in only.iter() {
                match rows.find(row, from) {
                    Ok(ordinal) => {
                        let (product, scale) = compare(segment, query, ordinal)?;
                        offer(product, scale, row, ordinal);
                        from = ordinal + 1;
                    }
                    Err(next) => from = next,
                }
                if from == segment.len() {
                    break;
                }
            }
        }
        Allowed::Only(only) => {
            for (ordinal, row) in segment.rows()?.from(0).enumerate() {
                if only.contains(row) {
                    let (product, scale) = compare(segment, query, ordinal)?;
                    offer(product, scale, row, ordinal);
                }
            }
        }
    }
    Ok(())
}

fn compare(segment: &Segment, query: &[u8], ordinal: usize) -> Result<(i32, f32)> {
    Ok((inner_product(query, segment.codes(ordinal, 1)?), segment.scale(ordinal)?))
}
