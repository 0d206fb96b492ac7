use std::{cmp::Ordering, collections::BinaryHeap};

use crate::Node;

/// The nodes with the highest scores above 0, best first, at most `count`; equals by
/// lower number.
pub(crate) fn top(scores: impl Iterator<Item = (Node, f32)>, count: usize) -> Vec<(Node, f32)> {
    let mut best: BinaryHeap<Worst> = BinaryHeap::new();
    for (node, score) in scores.filter(|&(_, score)| score > 0.0) {
        let candidate = Worst { node, score };
        if best.len() < count {
            best.push(candidate);
        } else if let Some(mut worst) = best.peek_mut()
            && candidate < *worst
        {
            *worst = candidate;
        }
    }
    best.into_sorted_vec().into_iter().map(|Worst { node, score }| (node, score)).collect()
}

/// A scored node that is the greater the worse it is.
#[derive(Clone, Copy, Debug)]
struct Worst {
    node: Node,
    score: f32,
}

impl Ord for Worst {
    fn cmp(&self, other: &Self) -> Ordering {
        other.score.total_cmp(&self.score).then(self.node.cmp(&other.node))
    }
}

impl PartialOrd for Worst {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Worst {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Worst {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_come_first_and_equals_by_number() {
        let scores = [(4, 0.5), (1, 0.2), (3, 0.5), (0, 0.0), (2, 0.9), (5, f32::NAN)];
        for (count, expected) in
            [(0, vec![]), (1, vec![2]), (2, vec![2, 3]), (3, vec![2, 3, 4]), (9, vec![2, 3, 4, 1])]
        {
            let found: Vec<_> =
                top(scores.into_iter(), count).into_iter().map(|hit| hit.0).collect();
            assert_eq!(found, expected, "{count}");
        }
    }
}
