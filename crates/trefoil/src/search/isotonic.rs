use serde::{Deserialize, Serialize};

/// A non-decreasing function through points, straight between them and level beyond.
///
/// Fitted by pooling adjacent violators. Source: Ayer, Brunk, Ewing, Reid, Silverman: An
/// empirical distribution function for sampling with incomplete information, 1955.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Isotonic {
    points: Vec<(f64, f64)>,
}

/// Neighbours that share one value.
struct Pool {
    first: f64,
    last: f64,
    sum: f64,
    count: f64,
}

impl Isotonic {
    /// The non-decreasing function nearest to `pairs` of x and y in least squares.
    pub fn fit(pairs: &[(f64, f64)]) -> Self {
        let mut sorted = pairs.to_vec();
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut pools: Vec<Pool> = Vec::new();
        for (x, y) in sorted {
            match pools.last_mut() {
                Some(pool) if pool.first == x => {
                    pool.sum += y;
                    pool.count += 1.0;
                }
                _ => {
                    settle(&mut pools);
                    pools.push(Pool { first: x, last: x, sum: y, count: 1.0 });
                }
            }
        }
        settle(&mut pools);
        let mut points = Vec::new();
        for pool in pools {
            points.push((pool.first, pool.mean()));
            if pool.last > pool.first {
                points.push((pool.last, pool.mean()));
            }
        }
        Self { points }
    }

    /// Its value; 0 where it was fitted to nothing.
    pub fn at(&self, x: f64) -> f64 {
        let next = self.points.partition_point(|point| point.0 <= x);
        let before = next.checked_sub(1).and_then(|index| self.points.get(index));
        match (before, self.points.get(next)) {
            (Some(&(x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
            (Some(&(_, y)), None) | (None, Some(&(_, y))) => y,
            (None, None) => 0.0,
        }
    }
}

impl Pool {
    fn mean(&self) -> f64 {
        self.sum / self.count
    }
}

/// Pools the last two as long as they are not in order.
fn settle(pools: &mut Vec<Pool>) {
    while let [.., before, last] = pools.as_mut_slice() {
        if before.mean() < last.mean() {
            break;
        }
        before.last = last.last;
        before.sum += last.sum;
        before.count += last.count;
        pools.pop();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    #[track_caller]
    fn check(pairs: &[(f64, f64)], expected: &[(f64, f64)]) {
        assert_eq!(Isotonic::fit(pairs).points, expected);
    }

    #[test]
    fn violators_are_pooled() {
        check(&[(1.0, 0.0), (2.0, 1.0)], &[(1.0, 0.0), (2.0, 1.0)]);
        check(&[(1.0, 1.0), (2.0, 0.0)], &[(1.0, 0.5), (2.0, 0.5)]);
        check(
            &[(3.0, 1.0), (1.0, 0.0), (2.0, 1.0), (4.0, 0.0), (5.0, 1.0)],
            &[(1.0, 0.0), (2.0, 2.0 / 3.0), (4.0, 2.0 / 3.0), (5.0, 1.0)],
        );
        check(&[(1.0, 0.0), (1.0, 1.0), (1.0, 1.0)], &[(1.0, 2.0 / 3.0)]);
        check(&[], &[]);
    }

    #[test]
    fn it_is_straight_between_points_and_level_beyond() {
        let line = Isotonic::fit(&[(1.0, 0.0), (3.0, 1.0)]);
        for (x, expected) in [(0.0, 0.0), (1.0, 0.0), (2.0, 0.5), (3.0, 1.0), (9.0, 1.0)] {
            assert_eq!(line.at(x), expected, "{x}");
        }
        assert_eq!(Isotonic::default().at(0.5), 0.0);
    }

    proptest! {
        #[test]
        fn it_never_falls_and_keeps_the_mean(
            pairs in proptest::collection::vec((0_u8..20, 0_u8..2), 1..60)
        ) {
            let pairs: Vec<(f64, f64)> =
                pairs.iter().map(|&(x, y)| (f64::from(x), f64::from(y))).collect();
            let fitted = Isotonic::fit(&pairs);
            let at: Vec<f64> = (-2..45).map(|x| fitted.at(f64::from(x) / 2.0)).collect();
            prop_assert!(at.is_sorted());
            let sum = |value: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(value).sum::<f64>();
            prop_assert!((sum(&|pair| fitted.at(pair.0)) - sum(&|pair| pair.1)).abs() < 1e-9);
        }
    }
}
