//! A part of the graph as a drawing.

use std::fmt::Write;

use trefoil::graph::{
    Subgraph, SubgraphEdge, SubgraphNode,
    petgraph::{
        dot::{Config, Dot},
        graph::{EdgeReference, NodeIndex, UnGraph},
    },
};

/// Colours that are told apart by people with any sight of colours, also on a dark ground
/// (Okabe and Ito, 2008); communities beyond them share the last.
const COLOURS: [&str; 8] =
    ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a700", NO_COMMUNITY];
const NO_COMMUNITY: &str = "#888888";

/// The drawing in the language of Graphviz.
pub(crate) fn dot(drawn: &Subgraph) -> String {
    let mut graph = UnGraph::<&str, f32>::default();
    let names = drawn.nodes.iter().map(|node| node.entity.name.as_str());
    let places: Vec<NodeIndex> = names.map(|name| graph.add_node(name)).collect();
    for SubgraphEdge { source, target, weight } in &drawn.edges {
        if let (Some(&source), Some(&target)) = (places.get(*source), places.get(*target)) {
            graph.add_edge(source, target, weight.get());
        }
    }
    let node = |_, (place, _): (NodeIndex, _)| {
        let colour = drawn.nodes.get(place.index()).map_or(NO_COMMUNITY, colour);
        format!("color=\"{colour}\"")
    };
    let edge = |_, edge: EdgeReference<'_, f32>| format!("penwidth={:.2}", width(*edge.weight()));
    let config = [Config::GraphContentOnly, Config::EdgeNoLabel];
    let lines = Dot::with_attr_getters(&graph, &config, &edge, &node);
    format!("graph trefoil {{\n    node [shape=ellipse style=filled fontcolor=white];\n{lines}}}\n")
}

/// How wide a line is that stands for a relation of this weight.
fn width(weight: f32) -> f32 {
    0.5 + 3.0 * weight
}

/// The drawing as SVG, with what is related near each other.
pub(crate) fn svg(drawn: &Subgraph) -> String {
    let places = layout(drawn);
    let at = |node: usize| places.get(node).copied().unwrap_or_default();
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <style>text {{ fill: #111; paint-order: stroke; stroke: #fff; stroke-width: 3px }} \
         line {{ stroke: #999 }} @media (prefers-color-scheme: dark) \
         {{ svg {{ background: #111 }} text {{ fill: #eee; stroke: #111 }} line {{ stroke: #666 }} }}\
         </style>\n"
    );
    for SubgraphEdge { source, target, weight } in &drawn.edges {
        let ([x1, y1], [x2, y2]) = (at(*source), at(*target));
        let width = width(weight.get());
        _ = writeln!(
            text,
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke-width=\"{width:.2}\"/>"
        );
    }
    for (place, node) in drawn.nodes.iter().enumerate() {
        let ([x, y], radius) = (at(place), 4.0 + 8.0 * node.importance.get());
        let name = escaped(&node.entity.name);
        _ = writeln!(
            text,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" fill=\"{}\"><title>{name}, {}, {} chunks</title></circle>",
            colour(node),
            escaped(node.entity.entity_type.as_str()),
            node.chunks,
        );
        let above = y - radius - 3.0;
        _ = writeln!(
            text,
            "<text x=\"{x:.1}\" y=\"{above:.1}\" text-anchor=\"middle\">{name}</text>"
        );
    }
    text.push_str("</svg>\n");
    text
}

fn colour(node: &SubgraphNode) -> &'static str {
    let number = node.community.unwrap_or(COLOURS.len()).min(COLOURS.len() - 1);
    COLOURS.get(number).copied().unwrap_or(NO_COMMUNITY)
}

fn escaped(text: &str) -> String {
    // XML has no control characters.
    let text = text.replace(char::is_control, " ");
    [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")]
        .into_iter()
        .fold(text, |text, (mark, entity)| text.replace(mark, entity))
}

const WIDTH: f32 = 1200.0;
const HEIGHT: f32 = 800.0;
/// Room for names at the edge.
const MARGIN: f32 = 70.0;
const ROUNDS: u16 = 300;

/// Places, from forces that push all apart and pull together what is related.
///
/// Fruchterman and Reingold, "Graph drawing by force-directed placement", 1991; begun on a
/// circle, so that one graph is drawn alike each time.
fn layout(drawn: &Subgraph) -> Vec<[f32; 2]> {
    let count = drawn.nodes.len().max(1) as f32;
    let angle = |place: usize| place as f32 / count * std::f32::consts::TAU;
    let mut places: Vec<[f32; 2]> = (0..drawn.nodes.len())
        .map(|place| [angle(place).cos() * 0.4, angle(place).sin() * 0.4])
        .collect();
    let ideal = (1.0 / count).sqrt();
    for round in 0..ROUNDS {
        let mut forces = vec![[0.0_f32; 2]; places.len()];
        for (one, force) in forces.iter_mut().enumerate() {
            let Some(&here) = places.get(one) else { continue };
            for (_, &there) in places.iter().enumerate().filter(|&(other, _)| other != one) {
                let (away, distance) = between(there, here);
                pull(force, away, ideal * ideal / distance);
            }
            // Parts without a relation to the rest stay in the picture.
            let (home, distance) = between(here, [0.0, 0.0]);
            pull(force, home, distance * ideal);
        }
        for &SubgraphEdge { source, target, weight } in &drawn.edges {
            let (Some(&from), Some(&to)) = (places.get(source), places.get(target)) else {
                continue;
            };
            let (along, distance) = between(from, to);
            let strength = distance * distance / ideal * (0.3 + weight.get());
            if let Some(force) = forces.get_mut(source) {
                pull(force, along, strength);
            }
            if let Some(force) = forces.get_mut(target) {
                pull(force, along, -strength);
            }
        }
        let step = 0.1 * (1.0 - f32::from(round) / f32::from(ROUNDS));
        for (place, force) in places.iter_mut().zip(forces) {
            let length = force[0].hypot(force[1]).max(1e-6);
            let scale = length.min(step) / length;
            *place = [place[0] + force[0] * scale, place[1] + force[1] * scale];
        }
    }
    fitted(places)
}

/// The direction from one place to another, and how far it is.
fn between(from: [f32; 2], to: [f32; 2]) -> ([f32; 2], f32) {
    let (x, y) = (to[0] - from[0], to[1] - from[1]);
    let distance = x.hypot(y).max(1e-3);
    ([x / distance, y / distance], distance)
}

fn pull(force: &mut [f32; 2], direction: [f32; 2], strength: f32) {
    force[0] += direction[0] * strength;
    force[1] += direction[1] * strength;
}

/// The same within the picture.
fn fitted(mut places: Vec<[f32; 2]>) -> Vec<[f32; 2]> {
    for (axis, size) in [WIDTH, HEIGHT].into_iter().enumerate() {
        let along = |place: &[f32; 2]| place.get(axis).copied().unwrap_or_default();
        let low = places.iter().map(along).fold(f32::INFINITY, f32::min);
        let high = places.iter().map(along).fold(f32::NEG_INFINITY, f32::max);
        for place in &mut places {
            if let Some(value) = place.get_mut(axis) {
                let share = if high > low { (*value - low) / (high - low) } else { 0.5 };
                *value = MARGIN + share * (size - 2.0 * MARGIN);
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use trefoil::{
        Score,
        graph::{EntityId, EntityType, NamedEntity},
    };

    use super::*;

    fn drawn(names: &[&str], edges: &[(usize, usize)]) -> Subgraph {
        let node = |(place, name): (usize, &&str)| SubgraphNode {
            entity: NamedEntity {
                id: EntityId::new(format!("ent_{place}")).unwrap(),
                name: (*name).to_owned(),
                entity_type: EntityType::NAME,
            },
            chunks: 2,
            importance: Score::HALF,
            community: Some(place % 20),
        };
        let edge = |&(source, target)| SubgraphEdge { source, target, weight: Score::HALF };
        Subgraph {
            nodes: names.iter().enumerate().map(node).collect(),
            edges: edges.iter().map(edge).collect(),
        }
    }

    #[test]
    fn any_name_is_drawn_as_text() {
        let drawn = drawn(&["a \"quoted\" \\ name", "<b> & 東京\u{7}"], &[(0, 1)]);
        let dot = dot(&drawn);
        assert!(dot.contains(r##"0 [ label = "a \"quoted\" \\ name" color="#0072b2"]"##), "{dot}");
        assert!(dot.contains("0 -- 1 [ penwidth=2.00]"), "{dot}");
        let svg = svg(&drawn);
        assert!(svg.contains("&lt;b&gt; &amp; 東京 </text>") && svg.contains("&quot;quoted&quot;"));
        assert_eq!(svg.matches("<circle").count(), 2);
    }

    #[test]
    fn what_is_related_is_drawn_nearer_and_all_within_the_picture() {
        let drawn = drawn(
            &["a", "b", "c", "d", "e", "f"],
            &[(0, 3), (3, 1), (0, 1), (2, 4), (4, 5), (2, 5)],
        );
        let places = layout(&drawn);
        let distance = |one: usize, other: usize| between(places[one], places[other]).1;
        assert!(distance(0, 3) < distance(0, 4) && distance(2, 5) < distance(1, 5));
        for [x, y] in &places {
            assert!(
                (MARGIN..=WIDTH - MARGIN).contains(x) && (MARGIN..=HEIGHT - MARGIN).contains(y)
            );
        }
        assert_eq!(layout(&drawn), places);
        assert_eq!(layout(&Subgraph::default()), [] as [[f32; 2]; 0]);
    }
}
