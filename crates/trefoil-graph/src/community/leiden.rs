//! Communities by the Leiden algorithm.
//!
//! Traag, Waltman, van Eck 2019, "From Louvain to Leiden: guaranteeing well-connected
//! communities", Scientific Reports 9:5233. An iteration goes down a chain of graphs, each
//! smaller than the one before:
//!
//! 1. [`moving`]: nodes move to the neighbouring community that gains most, until none gains.
//! 2. [`refine`]: each community is split again into well-connected parts.
//! 3. [`aggregate`](Level::aggregate): the parts become the nodes of the next graph, which starts from the
//!    communities of step 1, until a community is a single node.
//!
//! A part is made by joining along edges, and a community ends as one part, so communities
//! are connected. The next iteration starts from the communities of the last.

mod config;
mod cut;
mod level;
mod moving;
mod refine;
mod regions;
#[cfg(test)]
mod tests;
mod update;

use trefoil_core::Result;

pub use self::{
    config::LeidenConfig,
    update::{Update, update},
};
use self::{
    level::Level,
    moving::{LEAST_GAIN, Mover},
    refine::refine,
};
use crate::{
    Csr, Partition, column::Column, community::components::split_disconnected,
    community::modularity::modularity, random::Random,
};

/// The communities of a graph, all of them connected. Nodes without edges stay alone.
///
/// # Errors
/// [`InvalidConfig`](trefoil_core::Error::InvalidConfig) if a setting is out of its range.
pub fn leiden(graph: &Csr, config: &LeidenConfig) -> Result<Partition> {
    improve(graph, &Partition::singletons(graph.node_count()), config)
}

/// The same from a partition to start with; its modularity does not fall.
///
/// # Errors
/// [`InvalidConfig`](trefoil_core::Error::InvalidConfig) if a setting is out of its range.
pub fn improve(graph: &Csr, start: &Partition, config: &LeidenConfig) -> Result<Partition> {
    config.validate()?;
    let mut random = Random::new(config.seed);
    let mut best = split_disconnected(graph, &start.resized(graph.node_count()));
    let mut quality = modularity(graph, &best, config.resolution);
    for _ in 0..config.iterations {
        let next = iterate(graph, &best, config, &mut random);
        let next = split_disconnected(graph, &next);
        let next_quality = modularity(graph, &next, config.resolution);
        if next_quality <= quality + LEAST_GAIN {
            break;
        }
        (best, quality) = (next, next_quality);
    }
    Ok(best)
}

/// One iteration: down the chain of graphs until each community is a single node.
fn iterate(
    graph: &Csr,
    start: &Partition,
    config: &LeidenConfig,
    random: &mut Random,
) -> Partition {
    let community = descend(Level::of(graph, config), start.column().clone(), random);
    Partition::from_column(&community)
}

/// The community of each node of a level, found by going down the chain from it.
fn descend(mut level: Level<'_>, mut community: Column<u32>, random: &mut Random) -> Column<u32> {
    // What each node has become part of: a node of the level.
    let mut part: Column<u32> = level.nodes().collect();
    loop {
        let mut order: Vec<_> = (0..level.movable).collect();
        random.shuffle(&mut order);
        Mover::new(&level, &mut community).settle(order);
        let parts = refine(&level, &community, random);
        if parts.count == level.nodes().end {
            return part.iter().map(|&node| community[node]).collect();
        }
        community = parts.communities(&community);
        level = level.aggregate(&parts);
        part = part.iter().map(|&node| parts.of[node]).collect();
    }
}
