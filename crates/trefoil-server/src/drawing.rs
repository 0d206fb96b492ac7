//! A part of the graph as SVG: the same graph is always drawn the same.
//!
//! Places come from Fruchterman and Reingold (1991): entities repel each other, relations pull, and
//! a pull to the centre keeps together what is not related.

use std::fmt::Write;

use trefoil::graph::{Subgraph, SubgraphEdge};

use crate::markup::escaped;

/// The side of the drawing.
const SIDE: f64 = 1_000.0;
/// Room around it, for names.
const MARGIN: f64 = 120.0;
/// Steps times entities times entities, at most: bounds the time of a drawing.
const WORK: usize = 20_000_000;
const STEPS: usize = 200;
/// The pull to the centre, by the distance from it: what repels itself from 1 / √2 inwards.
const GRAVITY: f64 = 2.0;
/// Size of letters, and most of them of a name.
const LETTER: f64 = 22.0;
const NAME: usize = 24;
/// Colours of communities that can be told apart with red-green blindness: Okabe and Ito (2008).
const COLOURS: [&str; 7] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442"];
const WITHOUT_COMMUNITY: &str = "#767676";

/// The drawing: lines for relations, circles for entities, each with its name.
pub(crate) fn svg(graph: &Subgraph) -> String {
    let places = places(graph.nodes.len(), &graph.edges);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {SIDE} {SIDE}\" role=\"img\" \
         font-family=\"sans-serif\" font-size=\"{LETTER}\"><title>{} entities, {} relations</title>\n",
        graph.nodes.len(),
        graph.edges.len()
    );
    for edge in &graph.edges {
        let (Some(from), Some(to)) = (places.get(edge.source), places.get(edge.target)) else {
            continue;
        };
        let width = 1.0 + 4.0 * f64::from(edge.weight.get());
        _ = writeln!(
            svg,
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"#999\" \
             stroke-opacity=\".6\" stroke-width=\"{width:.1}\"/>",
            from.0, from.1, to.0, to.1
        );
    }
    for (node, (x, y)) in graph.nodes.iter().zip(&places) {
        let radius = 6.0 + 14.0 * f64::from(node.importance.get());
        let colour = node.community.and_then(|community| COLOURS.get(community % COLOURS.len()));
        let colour = colour.unwrap_or(&WITHOUT_COMMUNITY);
        let (whole, shown) = (escaped(&node.entity.name), escaped(&shortened(&node.entity.name)));
        let below = y + radius + LETTER;
        _ = writeln!(
            svg,
            "<g><title>{whole}</title>\
             <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{colour}\"/>\
             <text x=\"{x:.1}\" y=\"{below:.1}\" text-anchor=\"middle\">{shown}</text></g>"
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A name as long as there is room for it.
fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or(name)),
        None => name.to_owned(),
    }
}

/// Where each of so many nodes is.
fn places(count: usize, edges: &[SubgraphEdge]) -> Vec<(f64, f64)> {
    let turn = std::f64::consts::PI * (3.0 - 5.0_f64.sqrt());
    // A sunflower: everywhere as dense, and never two at one place.
    let start = |node: usize| {
        let (node, count) = (node as f64, count as f64);
        let from_centre = ((node + 0.5) / count).sqrt() / 2.0;
        (from_centre * (node * turn).cos(), from_centre * (node * turn).sin())
    };
    let mut places: Vec<(f64, f64)> = (0..count).map(start).collect();
    let near = (1.0 / count.max(1) as f64).sqrt();
    let steps = (WORK / (count * count).max(1)).min(STEPS);
    for step in 0..steps {
        let longest = 0.1 * (1.0 - step as f64 / steps as f64);
        let moves = moves(&places, edges, near);
        for (place, (x, y)) in places.iter_mut().zip(moves) {
            let length = x.hypot(y).max(1e-9);
            let scale = length.min(longest) / length;
            *place = (place.0 + x * scale, place.1 + y * scale);
        }
    }
    into_frame(&places)
}

/// Where nodes are drawn to, if all of them are this near to each other at rest.
fn moves(places: &[(f64, f64)], edges: &[SubgraphEdge], near: f64) -> Vec<(f64, f64)> {
    let mut moves: Vec<(f64, f64)> = places
        .iter()
        .map(|one| {
            let inwards = (-one.0 * GRAVITY, -one.1 * GRAVITY);
            places.iter().fold(inwards, |sum, other| {
                let (x, y) = (one.0 - other.0, one.1 - other.1);
                let square = (x * x + y * y).max(1e-9);
                (sum.0 + x / square * near * near, sum.1 + y / square * near * near)
            })
        })
        .collect();
    for edge in edges {
        let (Some(from), Some(to)) = (places.get(edge.source), places.get(edge.target)) else {
            continue;
        };
        let (x, y) = (to.0 - from.0, to.1 - from.1);
        let pull = x.hypot(y) / near;
        for (node, sign) in [(edge.source, 1.0), (edge.target, -1.0)] {
            if let Some(one) = moves.get_mut(node) {
                *one = (one.0 + sign * x * pull, one.1 + sign * y * pull);
            }
        }
    }
    moves
}

/// The same places, as large as the drawing.
fn into_frame(places: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let bounds = |of: fn(&(f64, f64)) -> f64| {
        let all = places.iter().map(of);
        all.fold((f64::MAX, f64::MIN), |(low, high), at| (low.min(at), high.max(at)))
    };
    let (across, down) = (bounds(|place| place.0), bounds(|place| place.1));
    let scaled = |at: f64, (low, high): (f64, f64)| {
        let part = if high - low > 1e-9 { (at - low) / (high - low) } else { 0.5 };
        MARGIN + part * (SIDE - 2.0 * MARGIN)
    };
    places.iter().map(|place| (scaled(place.0, across), scaled(place.1, down))).collect()
}

#[cfg(test)]
mod tests {
    use trefoil::Score;

    use super::*;

    fn edge(source: usize, target: usize) -> SubgraphEdge {
        SubgraphEdge { source, target, weight: Score::ONE }
    }

    #[test]
    fn what_is_related_is_nearer_and_everything_is_within_the_frame() {
        // Two triangles with one bridge.
        let edges = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)];
        let edges = edges.map(|(source, target)| edge(source, target));
        let found = places(6, &edges);
        assert_eq!(found, places(6, &edges));
        let far = |one: usize, other: usize| {
            (found[one].0 - found[other].0).hypot(found[one].1 - found[other].1)
        };
        assert!(far(0, 1) < far(0, 4) && far(4, 5) < far(1, 5), "{found:?}");
        for (x, y) in found {
            assert!((MARGIN..=SIDE - MARGIN).contains(&x) && (MARGIN..=SIDE - MARGIN).contains(&y));
        }
    }

    #[test]
    fn what_is_not_related_stays_near() {
        // Pairs: each is told apart, however many there are.
        let edges: Vec<SubgraphEdge> = (0..20).map(|pair| edge(2 * pair, 2 * pair + 1)).collect();
        let found = places(40, &edges);
        for pair in found.chunks(2) {
            let apart = (pair[0].0 - pair[1].0).hypot(pair[0].1 - pair[1].1);
            assert!(apart > 25.0, "{found:?}");
        }
    }

    #[test]
    fn few_and_many_are_drawn() {
        assert_eq!(places(0, &[]), []);
        assert_eq!(places(1, &[]), [(SIDE / 2.0, SIDE / 2.0)]);
        assert!(places(1_000, &[edge(0, 999)]).iter().all(|(x, y)| x.is_finite() && y.is_finite()));
        assert!(svg(&Subgraph::default()).contains("0 entities"));
    }
}
