//! Search of a segment by its lists: those are left out that cannot reach what was found.

use trefoil_core::{Allowed, Result};

use crate::{
    candidates::Candidates,
    lists::{Lists, SignQuery},
    query::Query,
    snapshot::View,
};

/// How many standard deviations a vector of a list may be nearer to the query than its
/// centroid. Where vectors crowd, the distribution has a long tail.
const REACH: f32 = 6.0;
/// Lists that the standard deviation is measured on.
const SAMPLE: usize = 16;

/// Offers what may be among the nearest live and allowed vectors of a segment.
pub(crate) fn probe(
    view: &View,
    lists: &Lists<'_>,
    place: usize,
    query: &Query<'_>,
    allowed: &Allowed,
    candidates: &mut Candidates,
) -> Result<()> {
    let segment = &*view.segment;
    let rows = segment.rows()?;
    let languages = view.other_languages(query)?;
    let products = lists.products(&query.code);
    let signs = lists.sign_query(query.unit);
    let reach = REACH * deviation(lists, &signs, query.unit.len());
    let reaches = products.iter().zip(lists.spreads());
    let mut order: Vec<(f32, f32, usize)> = (0..)
        .zip(reaches)
        .map(|(list, (&product, spread))| (product + reach * spread, product, list))
        .collect();
    order.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.2.cmp(&b.2)));
    for (most, product, list) in order {
        if most < candidates.bar() {
            break;
        }
        for block in lists.blocks(list) {
            let mut reaching = signs.reaching(&block, product, candidates.bar());
            while reaching != 0 {
                let ordinal = block.ordinal(reaching.trailing_zeros());
                reaching &= reaching - 1;
                let there = ordinal.and_then(|ordinal| Some((ordinal, rows.get(ordinal)?)));
                let Some((ordinal, row)) = there else { continue };
                if !view.deleted.contains(ordinal)
                    && allowed.contains(row)
                    && languages.is_none_or(|all| query.is_for(all, ordinal))
                {
                    candidates.offer(query.candidate(segment, place, ordinal, row)?);
                }
            }
        }
    }
    Ok(())
}

/// The standard deviation of the product of the query with a residual of length 1: by
/// estimates, less what is due to their error, and no less than for residuals in any direction.
fn deviation(lists: &Lists<'_>, signs: &SignQuery, dimensions: usize) -> f32 {
    let step = (lists.len() / SAMPLE).max(1);
    let (mut squares, mut lengths) = (0.0_f32, 0.0_f32);
    for (list, spread) in lists.spreads().enumerate().step_by(step) {
        for (estimate, error) in
            lists.blocks(list).take(1).flat_map(|block| signs.estimates(&block))
        {
            squares += estimate * estimate - error * error;
            lengths += spread * spread;
        }
    }
    let measured = if lengths > 0.0 { squares / lengths } else { 0.0 };
    measured.max(signs.length().powi(2) / dimensions.max(1) as f32).sqrt()
}
