//! Weights of relations from how often their ends occur together.

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

use crate::{Csr, Node};

/// How often entities occur, alone and together, in units of text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// How many units there are.
    pub units: u64,
    /// Of each entity, how many units it occurs in.
    pub entities: Vec<u64>,
    /// Of two entities, in any order, how many units both occur in; counts of a pair that
    /// comes several times are added up.
    pub pairs: Vec<(Node, Node, u64)>,
    /// Relations that the structure of the text states, such as links and definitions,
    /// with weights above 0 up to 1.
    pub stated: Vec<(Node, Node, f32)>,
}

/// What is left out of the graph.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PruneConfig {
    /// Entities in fewer units have no relations from occurring together; 2 by default.
    pub min_count: u64,
    /// This share of the relations from occurring together, those with the least weights,
    /// is left out; 0–1, .4 by default.
    pub percentile: f64,
}

impl Default for PruneConfig {
    fn default() -> Self {
        Self { min_count: 2, percentile: 0.4 }
    }
}

impl PruneConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if the percentile is not from 0 to 1.
    pub fn validate(&self) -> Result<()> {
        if (0.0..=1.0).contains(&self.percentile) {
            return Ok(());
        }
        let value = self.percentile.to_string();
        Err(Error::InvalidConfig { field: "prune.percentile", value, allowed: "0–1" })
    }
}

/// The graph of what occurs together more often than chance has it, and of what is stated.
///
/// An edge weighs max(0, [`npmi`]); one that is also stated, the more of the two. Entities
/// that lose all relations stay as nodes without edges, so that the numbers of the others
/// do not change. Pairs with an entity that has no count are left out.
///
/// # Errors
/// [`Error::InvalidConfig`] if a setting is out of its range; [`Error::InvalidEdge`] if a
/// relation has one entity at both ends, or a stated one names an entity that has no count
/// or a weight that is not finite and above 0.
pub fn weigh(counts: &Counts, config: &PruneConfig) -> Result<Csr> {
    config.validate()?;
    let nodes = Node::try_from(counts.entities.len()).unwrap_or(Node::MAX);
    let mut edges = prune(occurring_together(counts, config.min_count), config.percentile);
    edges.extend(counts.stated.iter().map(|&(a, b, weight)| (a.min(b), a.max(b), weight)));
    // Of an edge that comes twice, the heavier is kept.
    edges.sort_unstable_by(|x, y| (x.0, x.1).cmp(&(y.0, y.1)).then(y.2.total_cmp(&x.2)));
    edges.dedup_by_key(|edge| (edge.0, edge.1));
    Csr::from_edges(nodes, edges)
}

/// Normalised pointwise mutual information, from −1 (never together) by 0 (as often as chance
/// has it) to 1 (only together).
///
/// ln( p(xy) / (p(x) · p(y)) ) / −ln p(xy) (Bouma 2009, "Normalized (pointwise) mutual
/// information in collocation extraction"), with p = count ÷ units.
pub fn npmi(together: u64, x: u64, y: u64, units: u64) -> f64 {
    if together == 0 || x == 0 || y == 0 || units == 0 {
        return -1.0;
    }
    let [together, x, y, units] = [together, x, y, units].map(|count| count as f64);
    let surprise = (units / together).ln();
    if surprise <= 0.0 {
        return 1.0;
    }
    ((together * units / (x * y)).ln() / surprise).clamp(-1.0, 1.0)
}

/// Pairs with a < b, each once, and their weights, all above 0.
fn occurring_together(counts: &Counts, min_count: u64) -> Vec<(Node, Node, f32)> {
    let count = |node: Node| counts.entities.get(node as usize).copied().unwrap_or(0);
    let mut pairs: Vec<_> =
        counts.pairs.iter().map(|&(a, b, together)| (a.min(b), a.max(b), together)).collect();
    pairs.retain(|&(a, b, _)| count(a).min(count(b)) >= min_count);
    pairs.sort_unstable();
    let weight = |same: &[(Node, Node, u64)]| {
        let &(a, b, _) = same.first()?;
        let together = same.iter().map(|pair| pair.2).fold(0, u64::saturating_add);
        #[expect(clippy::cast_possible_truncation, reason = "graphs are in f32")]
        let weight = npmi(together, count(a), count(b), counts.units) as f32;
        (weight > 0.0).then_some((a, b, weight))
    };
    pairs.chunk_by(|x, y| (x.0, x.1) == (y.0, y.1)).filter_map(weight).collect()
}

/// Leaves out the edges that weigh less than the one at the percentile.
fn prune(mut edges: Vec<(Node, Node, f32)>, percentile: f64) -> Vec<(Node, Node, f32)> {
    let mut weights: Vec<f32> = edges.iter().map(|edge| edge.2).collect();
    weights.sort_unstable_by(f32::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a percentile is from 0 to 1, checked"
    )]
    let place = (percentile * weights.len().saturating_sub(1) as f64) as usize;
    if let Some(&least) = weights.get(place) {
        edges.retain(|edge| edge.2 >= least);
    }
    edges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn npmi_is_that_of_the_formula() {
        for (together, x, y, units, expected) in [
            (10, 10, 10, 100, 1.0),
            (1, 1, 1, 1, 1.0),
            (10, 50, 20, 100, 0.0),
            (0, 50, 20, 100, -1.0),
            (0, 0, 0, 0, -1.0),
            (10, 20, 10, 100, (5.0_f64).ln() / (10.0_f64).ln()),
            (5, 50, 20, 100, (0.5_f64).ln() / (20.0_f64).ln()),
            // More often together than alone, which counts of true texts are not.
            (9, 1, 1, 10, 1.0),
        ] {
            let found = npmi(together, x, y, units);
            assert!((found - expected).abs() < 1e-12, "{together} {x} {y} {units}: {found}");
        }
    }

    fn counts() -> Counts {
        Counts {
            units: 100,
            entities: vec![10, 10, 20, 50, 1, 2],
            pairs: vec![(0, 1, 4), (1, 0, 6), (0, 2, 5), (2, 3, 10), (0, 4, 1), (3, 5, 2)],
            stated: vec![(4, 5, 0.5), (2, 0, 0.1)],
        }
    }

    fn check(config: &PruneConfig, expected: &[(Node, Node)]) {
        let graph = weigh(&counts(), config).unwrap();
        let edges: Vec<_> = graph.all_edges().map(|(a, b, _)| (a, b)).collect();
        assert_eq!(edges, expected, "{config:?}");
        assert_eq!(graph.node_count(), 6);
    }

    #[test]
    fn rare_entities_chance_and_the_lightest_edges_are_left_out() {
        let all = PruneConfig { min_count: 1, percentile: 0.0 };
        check(&all, &[(0, 1), (0, 2), (0, 4), (3, 5), (4, 5)]);
        check(&PruneConfig { min_count: 2, ..all.clone() }, &[(0, 1), (0, 2), (3, 5), (4, 5)]);
        // Of .18 (3–5), .31 (0–2), .5 (0–4) and 1 (0–1); the stated 0–2 stays.
        check(&PruneConfig { percentile: 0.4, ..all.clone() }, &[(0, 1), (0, 2), (0, 4), (4, 5)]);
        check(&PruneConfig { percentile: 1.0, ..all }, &[(0, 1), (0, 2), (4, 5)]);
        assert!(weigh(&counts(), &PruneConfig { min_count: 1, percentile: 1.1 }).is_err());
    }

    #[test]
    fn a_stated_relation_weighs_at_least_what_is_stated() {
        let graph = weigh(&counts(), &PruneConfig { min_count: 1, percentile: 0.0 }).unwrap();
        assert_eq!(graph.weight(4, 5), Some(0.5));
        assert_eq!(graph.weight(0, 1), Some(1.0));
        assert!(graph.weight(0, 2).unwrap() > 0.3);
        let bad = Counts { stated: vec![(0, 9, 1.0)], ..counts() };
        assert!(matches!(weigh(&bad, &PruneConfig::default()), Err(Error::InvalidEdge { .. })));
        let unknown = Counts { pairs: vec![(0, 9, 1)], ..counts() };
        assert!(weigh(&unknown, &PruneConfig::default()).is_ok());
    }

    proptest! {
        #[test]
        fn weights_are_scores_and_do_not_depend_on_order(
            entities in prop::collection::vec(1..9_u64, 8),
            pairs in prop::collection::vec((0..8_u32, 0..8_u32, 1..9_u64), 0..30),
            percentile in 0.0..=1.0,
        ) {
            let pairs: Vec<_> = pairs.into_iter().filter(|pair| pair.0 != pair.1).collect();
            let counts = Counts { units: 20, entities, pairs, stated: vec![] };
            let config = PruneConfig { min_count: 1, percentile };
            let graph = weigh(&counts, &config)?;
            prop_assert!(graph.all_edges().all(|(_, _, weight)| weight > 0.0 && weight <= 1.0));
            let mut turned = counts.clone();
            turned.pairs = counts.pairs.iter().rev().map(|&(a, b, n)| (b, a, n)).collect();
            prop_assert_eq!(weigh(&turned, &config)?, graph);
        }
    }
}
