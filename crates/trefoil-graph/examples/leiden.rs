//! Communities of an edge list: modularity, number, time, and how many are not connected.
//!
//! ```text
//! leiden [ITERATIONS] [SEEDS] < EDGES    one run for each seed from 0; 100 iterations, 5 seeds
//! leiden packages < PACKAGES > EDGES     the graph of Debian packages
//! ```
//!
//! An edge is a line `a b` or `a b weight`, nodes are numbers from 0. Packages are what
//! `apt-cache dumpavail` prints: each is a node, tied with weight 1 to every package that its
//! Depends, Pre-Depends or Recommends name, alternatives included; names that no package has
//! (virtual packages) and packages without ties are left out.
//!
//! The same with the reference, the Python package `leidenalg`:
//!
//! ```text
//! pip install leidenalg
//! python -c "
//! import sys, time, igraph, leidenalg
//! graph = igraph.Graph.Read_Edgelist(sys.stdin, directed=False)
//! for n in (2, -1):
//!     for seed in range(5):
//!         start = time.process_time()
//!         found = leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition,
//!                                          seed=seed, n_iterations=n)
//!         print(n, seed, found.modularity, len(found), time.process_time() - start)
//! " < EDGES
//! ```

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{
    collections::{BTreeMap, BTreeSet},
    error::Error,
    io::{Read, stdin},
    time::Instant,
};

use trefoil_graph::{Csr, LeidenConfig, disconnected, leiden, modularity};

fn main() -> Result<(), Box<dyn Error>> {
    let mut input = String::new();
    stdin().read_to_string(&mut input)?;
    let mut arguments = std::env::args().skip(1).peekable();
    if arguments.next_if(|argument| argument == "packages").is_some() {
        print_packages(&input);
        return Ok(());
    }
    let iterations = arguments.next().map_or(Ok(100), |argument| argument.parse())?;
    let seeds: u64 = arguments.next().map_or(Ok(5), |argument| argument.parse())?;

    let start = Instant::now();
    let graph = read(&input)?;
    let (nodes, edges) = (graph.node_count(), graph.edge_count());
    println!("{nodes} nodes, {edges} edges, read in {:.0?}", start.elapsed());
    let mut sum = 0.0;
    for seed in 0..seeds {
        let config = LeidenConfig { iterations, seed, ..LeidenConfig::default() };
        let start = Instant::now();
        let found = leiden(&graph, &config)?;
        let time = start.elapsed();
        let quality = modularity(&graph, &found, config.resolution);
        sum += quality;
        let (communities, broken) = (found.len(), disconnected(&graph, &found));
        println!(
            "seed {seed}: Q {quality:.5}, {communities} communities, \
             {broken} not connected, {time:.0?}"
        );
    }
    println!("mean Q {:.5}", sum / seeds as f64);
    Ok(())
}

fn read(input: &str) -> Result<Csr, Box<dyn Error>> {
    let mut edges = Vec::new();
    for line in input.lines() {
        let mut words = line.split_whitespace();
        let (Some(a), Some(b)) = (words.next(), words.next()) else { continue };
        let weight = words.next().map_or(Ok(1.0), str::parse)?;
        edges.push((a.parse::<u32>()?, b.parse()?, weight));
    }
    let nodes = edges.iter().map(|&(a, b, _)| a.max(b) + 1).max().unwrap_or(0);
    Ok(Csr::from_edges(nodes, edges)?)
}

fn print_packages(input: &str) {
    let mut needs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for paragraph in input.split("\n\n") {
        let field = |name: &str| {
            paragraph.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        };
        let Some(package) = field("Package") else { continue };
        let named = ["Depends", "Pre-Depends", "Recommends"].into_iter().filter_map(field);
        let named = named.flat_map(|list| list.split([',', '|']));
        // Without version, architecture and profile: `libc6:any (>= 2.36) [amd64]`.
        let named = named.filter_map(|one| one.trim().split([' ', ':', '(', '[', '<']).next());
        needs.entry(package).or_default().extend(named);
    }
    let mut edges = BTreeSet::new();
    for (&package, needed) in &needs {
        let known = needed.iter().filter(|&&one| one != package && needs.contains_key(one));
        edges.extend(known.map(|&one| (package.min(one), package.max(one))));
    }
    let packages: BTreeSet<&str> = edges.iter().flat_map(|&(a, b)| [a, b]).collect();
    let number: BTreeMap<&str, usize> = packages.into_iter().zip(0..).collect();
    for (a, b) in edges {
        if let (Some(a), Some(b)) = (number.get(a), number.get(b)) {
            println!("{a} {b}");
        }
    }
}
