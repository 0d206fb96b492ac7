use super::level::{Level, Parts};
use crate::{Node, column::Column, random::Random};

/// Divides each community into well-connected parts.
///
/// Every node begins as a part of its own. In random order, a node that is still alone
/// and well connected to its community joins a well-connected part of it from which it does
/// not lose, chosen with a chance ∝ exp(gain / θ). A set is well connected if the weight
/// of its edges to the rest of its community is at least γ · K · K′ / 2m, where K and K′ are
/// the strengths of the set and of the rest.
pub(super) fn refine(level: &Level<'_>, community: &Column<u32>, random: &mut Random) -> Parts {
    let mut order: Vec<Node> = (0..level.movable).collect();
    random.shuffle(&mut order);
    let mut refiner = Refiner::new(level, community);
    for node in order {
        if refiner.is_alone[node] && refiner.is_well_connected(node) {
            let choice = refiner.choose(node, random);
            refiner.join(node, choice);
        }
    }
    Parts::from_founders(&refiner.part)
}

/// The state of one refinement. A part goes by the number of the node that began it.
struct Refiner<'a> {
    level: &'a Level<'a>,
    community: &'a Column<u32>,
    community_strength: Column<f64>,
    part: Column<Node>,
    is_alone: Column<bool>,
    part_strength: Column<f64>,
    /// The weight of the edges from each part to the rest of its community.
    outward: Column<f64>,
    /// For the node in hand: its weight to each part, 0 but for those `tied`.
    weight_to: Column<f64>,
    tied: Vec<Node>,
    choices: Vec<Choice>,
}

/// A part that the node in hand may join.
#[derive(Clone, Copy)]
struct Choice {
    part: Node,
    weight: f64,
    gain: f64,
}

impl<'a> Refiner<'a> {
    fn new(level: &'a Level<'a>, community: &'a Column<u32>) -> Self {
        let nodes = level.nodes().end;
        let mut community_strength = Column::filled(nodes, 0.0);
        let mut outward = Column::filled(nodes, 0.0);
        for node in level.nodes() {
            let own = community[node];
            community_strength[own] += level.strength[node];
            let inside = level.graph.edges(node).filter(|&(other, _)| community[other] == own);
            outward[node] = inside.map(|(_, weight)| f64::from(weight)).sum();
        }
        Self {
            level,
            community,
            community_strength,
            part: level.nodes().collect(),
            is_alone: Column::filled(nodes, true),
            part_strength: level.strength.clone(),
            outward,
            weight_to: Column::filled(nodes, 0.0),
            tied: Vec::new(),
            choices: Vec::new(),
        }
    }

    fn is_well_connected(&self, part: Node) -> bool {
        let strength = self.part_strength[part];
        let rest = self.community_strength[self.community[part]] - strength;
        self.outward[part] >= self.level.pull * strength * rest
    }

    /// What a node that is alone does: join a part, or stay, which is joining itself.
    fn choose(&mut self, node: Node, random: &mut Random) -> Choice {
        let own = self.community[node];
        for (neighbour, weight) in self.level.graph.edges(node) {
            if self.community[neighbour] == own {
                let part = self.part[neighbour];
                if self.weight_to[part] == 0.0 {
                    self.tied.push(part);
                }
                self.weight_to[part] += f64::from(weight);
            }
        }
        let pull = self.level.pull * self.part_strength[node];
        let mut best = Choice { part: node, weight: 0.0, gain: 0.0 };
        self.choices.clear();
        self.choices.push(best);
        while let Some(part) = self.tied.pop() {
            let weight = std::mem::take(&mut self.weight_to[part]);
            let gain = weight - pull * self.part_strength[part];
            if part < self.level.movable && gain >= 0.0 && self.is_well_connected(part) {
                let choice = Choice { part, weight, gain };
                self.choices.push(choice);
                if gain > best.gain {
                    best = choice;
                }
            }
        }
        if self.level.randomness == 0.0 { best } else { self.draw(best, random) }
    }

    fn draw(&self, best: Choice, random: &mut Random) -> Choice {
        // Relative to the best, so that it cannot overflow.
        let chance = |choice: &Choice| ((choice.gain - best.gain) / self.level.randomness).exp();
        let mut left = random.unit() * self.choices.iter().map(chance).sum::<f64>();
        for choice in &self.choices {
            left -= chance(choice);
            if left < 0.0 {
                return *choice;
            }
        }
        best
    }

    fn join(&mut self, node: Node, choice: Choice) {
        let Choice { part, weight, .. } = choice;
        if part == node {
            return;
        }
        self.part[node] = part;
        self.is_alone[node] = false;
        self.is_alone[part] = false;
        self.part_strength[part] += self.part_strength[node];
        self.outward[part] += self.outward[node] - 2.0 * weight;
    }
}
