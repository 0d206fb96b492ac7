//! Communities kept up to date while nodes come and go, against a new run each time.
//!
//! ```text
//! update [SHARE] [STEPS] < EDGES    .001 of the nodes a step and 20 steps by default
//! ```
//!
//! An edge is a line `a b`, nodes are numbers from 0. At first every fourth node is away. In each
//! step some nodes change: those that are away come, the others go.

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{collections::BTreeSet, error::Error, io::stdin, time::Instant};

use trefoil_graph::{Csr, LeidenConfig, Node, disconnected, leiden, modularity, update};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let share: f64 = arguments.next().map_or(Ok(0.001), |argument| argument.parse())?;
    let steps: u32 = arguments.next().map_or(Ok(20), |argument| argument.parse())?;
    let mut edges: Vec<(Node, Node)> = Vec::new();
    for line in stdin().lines() {
        let line = line?;
        let mut words = line.split_whitespace().map(str::parse);
        if let (Some(a), Some(b)) = (words.next(), words.next()) {
            edges.push((a?, b?));
        }
    }
    let nodes = edges.iter().map(|&(a, b)| a.max(b) + 1).max().unwrap_or(0);
    let graph_without = |away: &BTreeSet<Node>| {
        let here = edges.iter().filter(|(a, b)| !away.contains(a) && !away.contains(b));
        Csr::from_edges(nodes, here.map(|&(a, b)| (a, b, 1.0)))
    };

    let config = LeidenConfig::default();
    let mut away: BTreeSet<Node> = (0..nodes).filter(|node| node % 4 == 0).collect();
    let mut graph = graph_without(&away)?;
    let mut partition = leiden(&graph, &config)?;
    let mut looked_at = 0;
    for step in 0..steps {
        let turn = f64::from(step) * share..f64::from(step + 1) * share;
        let turned: BTreeSet<Node> =
            (0..nodes).filter(|&node| turn.contains(&place(node))).collect();
        away = &away ^ &turned;
        let before = std::mem::replace(&mut graph, graph_without(&away)?);
        let ends = turned.iter().flat_map(|&node| {
            [&before, &graph].into_iter().flat_map(move |graph| graph.neighbours(node))
        });
        let changed: BTreeSet<Node> = ends.copied().chain(turned.iter().copied()).collect();
        let changed: Vec<Node> = changed.into_iter().collect();

        let start = Instant::now();
        let updated = update(&graph, &partition, &changed, &config)?;
        let time = start.elapsed();
        let start = Instant::now();
        let new = leiden(&graph, &config)?;
        let new_time = start.elapsed();
        partition = updated.partition;
        looked_at += updated.visited;
        println!(
            "{} ends of edges changed: {} nodes looked at in {time:.1?}, Q {:.5}, {} not connected; \
             a new run takes {new_time:.0?}, Q {:.5}",
            changed.len(),
            updated.visited,
            modularity(&graph, &partition, 1.0),
            disconnected(&graph, &partition),
            modularity(&graph, &new, 1.0),
        );
    }
    println!("{} of {nodes} nodes looked at in a step", looked_at / steps.max(1));
    Ok(())
}

/// Where a node stands from 0 to 1, evenly and not in the order of the numbers.
fn place(node: Node) -> f64 {
    f64::from(node.wrapping_mul(0x9e37_79b9)) / (f64::from(u32::MAX) + 1.0)
}
