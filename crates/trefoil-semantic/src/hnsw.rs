//! Building of the neighbour graph with `hnsw_rs`: the only file that names it.
//!
//! The crate is used for what it does well, and kept away from the rest: it is given
//! ordinals instead of vectors, so that it holds no copy of them; its distance cannot
//! be NaN or negative, on which it would panic; its parameters are in range, or it
//! would end the process; and its ground layer is read out, so that neither its dump,
//! its loader nor its search and filter are used.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hnsw_rs::prelude::{Distance, Hnsw};
use trefoil_core::{Error, Part, Result, RetrieverId, map_in_parallel};

use crate::{VectorConfig, quantize::inner_product};

const LAYERS: usize = 16;

/// Vectors to connect, as codes.
#[derive(Debug)]
pub(crate) struct Codes<'a> {
    /// Codes back to back.
    pub(crate) bytes: &'a [u8],
    /// Bytes of a code.
    pub(crate) stride: usize,
    /// What an integer of each code is worth; as many as there are codes.
    pub(crate) scales: Vec<f32>,
}

/// The links of every code, nearest first, about `2 m` at most; none if it was stopped, which it
/// asks for each of them. Uses all cores; the result depends on how they take turns.
pub(crate) fn links(
    codes: &Codes<'_>,
    config: &VectorConfig,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Vec<Vec<u32>>>> {
    config.validate()?;
    // hnsw_rs holds panics for states that it believes impossible. They must not
    // reach the caller: without a graph a search is slower, not wrong.
    catch_unwind(AssertUnwindSafe(|| build(codes, config, is_stopped))).map_err(|_| {
        Error::backend(Part::Index(RetrieverId::SEMANTIC), "build its graph", "hnsw_rs panicked")
    })
}

fn build(
    codes: &Codes<'_>,
    config: &VectorConfig,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Option<Vec<Vec<u32>>> {
    let count = codes.scales.len();
    let hnsw = Hnsw::new(config.m, count, LAYERS, config.ef_construction, codes);
    let insert = |ordinal: &u32| {
        if !is_stopped() {
            hnsw.insert((&[*ordinal], *ordinal as usize));
        }
    };
    let all: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    // The first point becomes the entry; two at once would not be connected.
    if let Some((first, others)) = all.split_first() {
        insert(first);
        let _: Vec<()> = map_in_parallel(others, insert);
    }
    if is_stopped() {
        return None;
    }

    let mut links: Vec<Vec<u32>> = vec![Vec::new(); count];
    let points = hnsw.get_point_indexation();
    for layer in 0..=usize::from(hnsw.get_max_level_observed()) {
        for point in points.get_layer_iterator(layer) {
            let origin = point.get_origin_id();
            let ground = point.get_neighborhood_id().into_iter().next().unwrap_or_default();
            let others = ground.iter().map(|n| n.d_id).filter(|&id| id != origin && id < count);
            if let Some(links) = links.get_mut(origin) {
                links.extend(others.filter_map(|id| u32::try_from(id).ok()));
            }
        }
    }
    Some(links)
}

impl Distance<u32> for &Codes<'_> {
    /// 1 - cosine, from 0.
    fn eval(&self, a: &[u32], b: &[u32]) -> f32 {
        let code = |ordinal: &[u32]| {
            let ordinal = *ordinal.first()? as usize;
            let code = self.bytes.get(ordinal * self.stride..(ordinal + 1) * self.stride)?;
            Some((code, *self.scales.get(ordinal)?))
        };
        match (code(a), code(b)) {
            (Some((a, a_scale)), Some((b, b_scale))) => {
                let distance = 1.0 - inner_product(a, b) as f32 * a_scale * b_scale;
                // `max` also turns NaN into 0.
                distance.max(0.0)
            }
            _ => 2.0,
        }
    }
}
