//! A random rotation that is the same everywhere.
//!
//! Signs are flipped at random, then a Hadamard transform mixes as many components as a
//! power of two allows, the first and the last ones in turn. Four such rounds spread any
//! direction evenly over the components, in O(d log d).

/// Rounds: each component takes part in at least two transforms.
const ROUNDS: usize = 4;
/// Where the signs come from. Another seed would be another format.
const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

/// A rotation of vectors of some length.
#[derive(Clone, Debug)]
pub(crate) struct Rotation {
    /// The sign of each component, 1 or -1, in each round.
    signs: Vec<Vec<f32>>,
    /// Components that a transform mixes: the largest power of two that there are.
    mixed: usize,
}

impl Rotation {
    /// Of vectors of so many dimensions, at least one.
    pub(crate) fn of(dimensions: usize) -> Self {
        let mut state = SEED;
        let mut sign = || {
            // Marsaglia's xorshift.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            if state >> 63 == 0 { 1.0 } else { -1.0 }
        };
        let signs = (0..ROUNDS).map(|_| (0..dimensions).map(|_| sign()).collect()).collect();
        Self { signs, mixed: 1 << dimensions.max(1).ilog2() }
    }

    /// Rotates a vector.
    pub(crate) fn apply(&self, vector: &mut [f32]) {
        let last = vector.len().saturating_sub(self.mixed);
        for (signs, start) in self.signs.iter().zip([0, last].into_iter().cycle()) {
            for (x, sign) in vector.iter_mut().zip(signs) {
                *x *= sign;
            }
            if let Some(part) = vector.get_mut(start..).and_then(|rest| rest.get_mut(..self.mixed))
            {
                transform(part);
            }
        }
    }
}

/// The Hadamard transform, scaled so that lengths stay.
fn transform(vector: &mut [f32]) {
    let mut half = 1;
    while half < vector.len() {
        for both in vector.chunks_exact_mut(half * 2) {
            let (left, right) = both.split_at_mut(half);
            for (a, b) in left.iter_mut().zip(right) {
                (*a, *b) = (*a + *b, *a - *b);
            }
        }
        half *= 2;
    }
    let scale = (vector.len() as f32).sqrt().recip();
    for x in vector {
        *x *= scale;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn product(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(x, y)| x * y).sum()
    }

    proptest! {
        #[test]
        fn products_stay(pairs in prop::collection::vec((-1.0..1.0_f32, -1.0..1.0_f32), 1..300)) {
            let (mut a, mut b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let rotation = Rotation::of(a.len());
            let (before, length) = (product(&a, &b), product(&a, &a));
            rotation.apply(&mut a);
            rotation.apply(&mut b);
            prop_assert!((product(&a, &b) - before).abs() < 1e-3);
            prop_assert!((product(&a, &a) - length).abs() < 1e-3);
        }
    }

    #[test]
    fn an_axis_is_spread_over_all_components() {
        for dimensions in [64, 100, 384, 1000] {
            for axis in [0, dimensions / 2, dimensions - 1] {
                let mut vector = vec![0.0; dimensions];
                vector[axis] = 1.0;
                Rotation::of(dimensions).apply(&mut vector);
                let sum: f32 = vector.iter().map(|x| x.abs()).sum();
                // 1 if all are equal, .8 for a direction at random.
                let spread = sum / (dimensions as f32).sqrt();
                assert!(spread > 0.6, "{dimensions} {axis} {spread}");
            }
        }
    }
}
