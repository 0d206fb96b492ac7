//! Means, intervals, tests and percentiles. Random ones are seeded, so that the same values
//! give the same figures.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Resamples of an interval: its ends move by some .0005 between seeds on 300 questions.
const INTERVAL_RESAMPLES: usize = 2_000;
/// Resamples of a test: the least p-value is .0001.
const TEST_RESAMPLES: usize = 10_000;
const SEED: u64 = 0x7ef0_11ea;

/// A 95 % interval; `[low, high]` on the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    /// Where it begins.
    pub low: f64,
    /// Where it ends.
    pub high: f64,
}

impl Interval {
    /// The percentile bootstrap interval of the mean of `values`: the means of resamples
    /// with replacement, without the least and the largest 2.5 %.
    pub fn bootstrap(values: &[f64]) -> Self {
        let mut random = Random::seeded(SEED);
        let mut means: Vec<f64> =
            (0..INTERVAL_RESAMPLES).map(|_| resampled_mean(values, &mut random)).collect();
        means.sort_unstable_by(f64::total_cmp);
        Self { low: percentile(&means, 2.5), high: percentile(&means, 97.5) }
    }
}

impl From<[f64; 2]> for Interval {
    fn from([low, high]: [f64; 2]) -> Self {
        Self { low, high }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> Self {
        [interval.low, interval.high]
    }
}

/// The arithmetic mean; 0 of nothing.
pub fn mean(values: &[f64]) -> f64 {
    // The sum of nothing is −0.
    values.iter().sum::<f64>() / values.len().max(1) as f64 + 0.0
}

/// The nearest-rank percentile of ascending values: the least value that at least
/// `percent` % of them do not exceed. 0 of nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank in the list")]
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    let index = rank.clamp(1, sorted.len().max(1)) - 1;
    sorted.get(index).copied().unwrap_or_default()
}

/// The p-value of the paired randomisation test, two-sided: how often a difference in mean
/// as large as the one seen arises when each pair is swapped or not by the toss of a coin.
///
/// Source: Smucker, Allan, Carterette: A comparison of statistical significance tests for
/// information retrieval evaluation, CIKM 2007.
pub fn randomisation_test(differences: &[f64]) -> f64 {
    let seen = differences.iter().sum::<f64>().abs();
    let mut random = Random::seeded(SEED);
    p_value(|| {
        let blocks = differences.chunks(64).map(|block| {
            let coins = random.bits();
            let tossed = block.iter().zip(0..).map(|(&difference, coin)| {
                if coins >> coin & 1 == 0 { difference } else { -difference }
            });
            tossed.sum::<f64>()
        });
        reaches(blocks.sum::<f64>().abs(), seen)
    })
}

/// The p-value of the paired bootstrap test, two-sided: how often the mean difference of a
/// resample lies as far from the one seen as that lies from 0.
///
/// Source: Efron, Tibshirani: An Introduction to the Bootstrap, 1993, chapter 16.
pub fn bootstrap_test(differences: &[f64]) -> f64 {
    let seen = mean(differences);
    let mut random = Random::seeded(SEED);
    p_value(|| reaches((resampled_mean(differences, &mut random) - seen).abs(), seen.abs()))
}

/// p-values that hold for all of them together, in the order given: the step-down method of Holm
/// (1979), which bounds the chance that any of them is small by chance.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<(usize, f64)> = p_values.iter().copied().enumerate().collect();
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut least = 0.0_f64;
    for (rank, (_, p_value)) in order.iter_mut().enumerate() {
        least = least.max(*p_value * (p_values.len() - rank) as f64).min(1.0);
        *p_value = least;
    }
    order.sort_by_key(|&(place, _)| place);
    order.into_iter().map(|(_, p_value)| p_value).collect()
}

/// Never 0: the sample itself is one of the outcomes (Davison, Hinkley 1997, section 4.2).
fn p_value(mut extreme: impl FnMut() -> bool) -> f64 {
    let count = (0..TEST_RESAMPLES).filter(|_| extreme()).count();
    (count + 1) as f64 / (TEST_RESAMPLES + 1) as f64
}

/// True if `value` is at least `bound`, give or take the rounding of sums in another order.
fn reaches(value: f64, bound: f64) -> bool {
    value >= bound - 1e-12 * bound.max(1.0)
}

fn resampled_mean(values: &[f64], random: &mut Random) -> f64 {
    let pick = |_| values.get(random.below(values.len())).copied().unwrap_or_default();
    (0..values.len()).map(pick).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let sorted = [1.0, 2.0, 3.0, 4.0];
        for (percent, expected) in
            [(0.0, 1.0), (25.0, 1.0), (25.1, 2.0), (50.0, 2.0), (95.0, 4.0), (100.0, 4.0)]
        {
            assert_eq!(percentile(&sorted, percent), expected, "{percent}");
        }
        assert_eq!(percentile(&[], 50.0), 0.0);
    }

    #[test]
    fn the_interval_is_that_of_the_normal_distribution_where_that_holds() {
        // 400 coin tosses: mean .5, standard error .025.
        let values: Vec<f64> = (0..400).map(|i| f64::from(i % 2)).collect();
        let Interval { low, high } = Interval::bootstrap(&values);
        assert!((low - 0.451).abs() < 0.006 && (high - 0.549).abs() < 0.006, "{low} {high}");
    }

    #[test]
    fn no_values_and_equal_values_have_no_width() {
        assert_eq!(Interval::bootstrap(&[]), Interval::default());
        assert_eq!(Interval::bootstrap(&[0.25; 9]), Interval { low: 0.25, high: 0.25 });
    }

    #[test]
    fn the_randomisation_test_counts_the_swaps() {
        // Of the 2⁵ sums of ±1, only 5 and −5 are as large as 5: p = 2 / 32.
        let p = randomisation_test(&[1.0; 5]);
        assert!((p - 0.0625).abs() < 0.01, "{p}");
        assert!(randomisation_test(&[0.0; 40]) > 0.999);
        assert!(randomisation_test(&[]) > 0.999);
        assert!(randomisation_test(&[0.1; 40]) < 0.001);
    }

    #[test]
    fn holm_multiplies_the_least_p_value_most_and_keeps_the_order() {
        let close = |actual: &[f64], expected: &[f64]| {
            assert_eq!(actual.len(), expected.len());
            for (actual, expected) in actual.iter().zip(expected) {
                assert!((actual - expected).abs() < 1e-12, "{actual} is not {expected}");
            }
        };
        // 3 × .01, 2 × .04, and no less than that.
        close(&holm(&[0.04, 0.01, 0.06]), &[0.08, 0.03, 0.08]);
        close(&holm(&[0.9, 0.8]), &[1.0, 1.0]);
        close(&holm(&[]), &[]);
    }

    #[test]
    fn the_bootstrap_test_agrees_with_the_normal_distribution() {
        // Mean .1, standard error .05: z = 2, p = .0455.
        let differences: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 0.6 } else { -0.4 }).collect();
        let p = bootstrap_test(&differences);
        assert!((p - 0.0455).abs() < 0.012, "{p}");
        assert!(bootstrap_test(&[0.0; 10]) > 0.999);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
        #[test]
        fn the_sign_of_a_difference_does_not_change_its_p_value(
            differences in proptest::collection::vec(-1.0_f64..1.0, 0..80)
        ) {
            let turned: Vec<f64> = differences.iter().map(|difference| -difference).collect();
            prop_assert_eq!(randomisation_test(&differences), randomisation_test(&turned));
            let interval = Interval::bootstrap(&differences);
            prop_assert!(interval.low <= mean(&differences) + 1e-12);
            prop_assert!(interval.high >= mean(&differences) - 1e-12);
        }
    }
}
