use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{
    Interval, Metric, PerQuery,
    statistic::{bootstrap_test, mean, randomisation_test},
};

/// Questions shown as having moved most.
const MOVED: usize = 10;
/// Values nearer than this are a tie.
const TIE: f64 = 1e-9;

/// Two systems, A and B, on the same questions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// What was compared.
    pub metric: Metric,
    /// Questions that both were asked.
    pub queries: usize,
    /// Questions that only one of them was asked; they are left out.
    pub unpaired: usize,
    /// Mean of A.
    pub mean_a: f64,
    /// Mean of B.
    pub mean_b: f64,
    /// Mean of B − A.
    pub difference: f64,
    /// Its 95 % bootstrap interval.
    pub interval: Interval,
    /// p-value of the paired randomisation test, two-sided.
    pub p_value: f64,
    /// p-value of the paired bootstrap test, two-sided.
    pub bootstrap_p_value: f64,
    /// Questions that B answers better.
    pub wins: usize,
    /// Questions that A answers better.
    pub losses: usize,
    /// Questions that both answer as well.
    pub ties: usize,
    /// The questions that moved most, at most ten, the largest move first.
    pub moved: Vec<Moved>,
}

/// A question that two systems answer differently.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Moved {
    /// The question's id.
    pub query: String,
    /// The metric with A.
    pub a: f64,
    /// The metric with B.
    pub b: f64,
}

impl Comparison {
    /// Compares two results of one metric, question by question.
    pub fn of(metric: Metric, a: &PerQuery, b: &PerQuery) -> Self {
        let mut pairs: Vec<Moved> = a
            .iter()
            .filter_map(|(query, &a)| Some(Moved { query: query.clone(), a, b: *b.get(query)? }))
            .collect();
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.b - pair.a).collect();
        let count = |wanted: fn(f64) -> bool| differences.iter().filter(|&&d| wanted(d)).count();
        let column = |value: fn(&Moved) -> f64| mean(&pairs.iter().map(value).collect::<Vec<_>>());
        let (mean_a, mean_b) = (column(|pair| pair.a), column(|pair| pair.b));
        // Ties stay in the order of their ids.
        pairs.sort_by(|x, y| (y.b - y.a).abs().total_cmp(&(x.b - x.a).abs()));
        pairs.retain(|pair| (pair.b - pair.a).abs() > TIE);
        pairs.truncate(MOVED);
        Self {
            metric,
            queries: differences.len(),
            unpaired: a.len() + b.len() - 2 * differences.len(),
            mean_a,
            mean_b,
            difference: mean(&differences),
            interval: Interval::bootstrap(&differences),
            p_value: randomisation_test(&differences),
            bootstrap_p_value: bootstrap_test(&differences),
            wins: count(|difference| difference > TIE),
            losses: count(|difference| difference < -TIE),
            ties: count(|difference| difference.abs() <= TIE),
            moved: pairs,
        }
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, queries, unpaired, mean_a, mean_b, difference, interval, .. } = self;
        writeln!(
            f,
            "{metric}  A {mean_a:.4}  B {mean_b:.4}  B − A {difference:+.4} \
             [{:+.4}, {:+.4}]  p {:.4}",
            interval.low, interval.high, self.p_value
        )?;
        write!(f, "of {queries} questions B wins {}, loses {}", self.wins, self.losses)?;
        writeln!(f, ", ties {}", self.ties)?;
        if *unpaired > 0 {
            writeln!(f, "left out, as only one of them was asked: {unpaired}")?;
        }
        for Moved { query, a, b } in &self.moved {
            writeln!(f, "  {a:.4} → {b:.4}  {query}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(values: &[(&str, f64)]) -> PerQuery {
        values.iter().map(|&(query, value)| (query.to_owned(), value)).collect()
    }

    #[test]
    fn pairs_are_counted_and_the_largest_moves_shown() {
        let a = results(&[("1", 0.5), ("2", 1.0), ("3", 0.0), ("4", 0.25), ("only a", 1.0)]);
        let b = results(&[("1", 0.5), ("2", 0.5), ("3", 1.0), ("4", 0.75)]);
        let compared = Comparison::of(Metric::Ndcg(10), &a, &b);
        assert_eq!((compared.wins, compared.losses, compared.ties), (2, 1, 1));
        assert_eq!((compared.queries, compared.unpaired), (4, 1));
        assert_eq!((compared.mean_a, compared.mean_b, compared.difference), (0.4375, 0.6875, 0.25));
        let moved: Vec<&str> = compared.moved.iter().map(|moved| moved.query.as_str()).collect();
        assert_eq!(moved, ["3", "2", "4"]);
        insta::assert_snapshot!(compared);
    }

    #[test]
    fn better_everywhere_is_significant_and_equal_is_not() {
        let all = |value: f64| (0..30).map(|i| (i.to_string(), value)).collect::<PerQuery>();
        assert!(Comparison::of(Metric::Map, &all(0.5), &all(0.6)).p_value < 0.001);
        assert!(Comparison::of(Metric::Map, &all(0.5), &all(0.5)).p_value > 0.999);
        assert_eq!(Comparison::of(Metric::Map, &all(0.5), &PerQuery::new()).queries, 0);
    }
}
