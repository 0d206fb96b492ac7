#[cfg(test)]
mod reference;

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use trefoil::{Error, Result};

use crate::Judgements;

/// A measure of one ranking, 0–1; larger is better.
///
/// Each equals the measure of `trec_eval` that is named with it. A cutoff of 0 looks at
/// nothing and gives 0. On the wire a metric is its name, such as `ndcg@10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Metric {
    /// Normalised discounted cumulative gain with linear gains, `Σ gain / log₂(rank + 1)`
    /// over that of the best ranking (`ndcg_cut`; Järvelin, Kekäläinen, TOIS 2002).
    Ndcg(usize),
    /// Share of the relevant documents that are among the first (`recall`).
    Recall(usize),
    /// One over the rank of the first relevant document, 0 beyond the cutoff (`recip_rank`
    /// of a run cut there).
    Mrr(usize),
    /// Precision at each relevant document, averaged over all of them (`map`).
    Map,
    /// Share of the first places that are taken by relevant documents (`P`).
    Precision(usize),
    /// 1 if a relevant document is among the first (`success`).
    Hit(usize),
}

impl Metric {
    /// What a report holds.
    pub const STANDARD: [Self; 6] = [
        Self::Ndcg(10),
        Self::Recall(5),
        Self::Recall(10),
        Self::Recall(100),
        Self::Mrr(10),
        Self::Map,
    ];

    /// Measures a ranking, best first, without repetitions, against what is known of its
    /// question. Documents that are not judged are not relevant.
    pub fn of<'a>(
        self,
        ranking: impl IntoIterator<Item = &'a str>,
        judgements: &Judgements,
    ) -> f64 {
        let gains = ranking.into_iter().map(|id| judgements.get(id).copied().unwrap_or(0));
        let relevant = judgements.values().filter(|&&gain| gain > 0).count();
        if relevant == 0 {
            return 0.0;
        }
        let value = match self {
            Self::Ndcg(cutoff) => ndcg(gains, judgements, cutoff),
            Self::Recall(cutoff) => count_relevant(gains, cutoff) / relevant as f64,
            Self::Mrr(cutoff) => gains
                .take(cutoff)
                .position(|gain| gain > 0)
                .map_or(0.0, |before| 1.0 / (before + 1) as f64),
            Self::Map => summed_precision(gains) / relevant as f64,
            Self::Precision(cutoff) => count_relevant(gains, cutoff) / cutoff.max(1) as f64,
            Self::Hit(cutoff) => count_relevant(gains, cutoff).min(1.0),
        };
        // The sum of nothing is −0.
        value + 0.0
    }
}

fn count_relevant(gains: impl Iterator<Item = i32>, cutoff: usize) -> f64 {
    gains.take(cutoff).filter(|&gain| gain > 0).count() as f64
}

fn ndcg(gains: impl Iterator<Item = i32>, judgements: &Judgements, cutoff: usize) -> f64 {
    let mut best: Vec<i32> = judgements.values().copied().collect();
    best.sort_unstable_by(|a, b| b.cmp(a));
    let ideal = discounted(best.into_iter(), cutoff);
    if ideal > 0.0 { discounted(gains, cutoff) / ideal } else { 0.0 }
}

fn discounted(gains: impl Iterator<Item = i32>, cutoff: usize) -> f64 {
    let gains = gains.take(cutoff).zip(2_u32..).filter(|&(gain, _)| gain > 0);
    gains.map(|(gain, rank_plus_1)| f64::from(gain) / f64::from(rank_plus_1).log2()).sum()
}

fn summed_precision(gains: impl Iterator<Item = i32>) -> f64 {
    let relevant = gains.zip(1_u32..).filter(|&(gain, _)| gain > 0);
    relevant.zip(1_u32..).map(|((_, rank), found)| f64::from(found) / f64::from(rank)).sum()
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, cutoff) = match self {
            Self::Ndcg(cutoff) => ("ndcg", cutoff),
            Self::Recall(cutoff) => ("recall", cutoff),
            Self::Mrr(cutoff) => ("mrr", cutoff),
            Self::Map => return f.pad("map"),
            Self::Precision(cutoff) => ("precision", cutoff),
            Self::Hit(cutoff) => ("hit", cutoff),
        };
        f.pad(&format!("{name}@{cutoff}"))
    }
}

impl FromStr for Metric {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let parsed = match name.split_once('@') {
            None => (name == "map").then_some(Self::Map),
            Some((measure, cutoff)) => cutoff.parse().ok().and_then(|cutoff| match measure {
                "ndcg" => Some(Self::Ndcg(cutoff)),
                "recall" => Some(Self::Recall(cutoff)),
                "mrr" => Some(Self::Mrr(cutoff)),
                "precision" => Some(Self::Precision(cutoff)),
                "hit" => Some(Self::Hit(cutoff)),
                _ => None,
            }),
        };
        parsed.ok_or_else(|| Error::InvalidConfig {
            field: "metric",
            value: format!("`{name}`"),
            allowed: "ndcg@K, recall@K, mrr@K, map, precision@K or hit@K",
        })
    }
}

trefoil::string_conversions!(Metric);

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn judged(pairs: &[(&str, i32)]) -> Judgements {
        pairs.iter().map(|&(id, gain)| (id.to_owned(), gain)).collect()
    }

    #[track_caller]
    fn check(metric: Metric, ranking: &[&str], expected: f64) {
        let judgements = judged(&[("a", 3), ("b", 1), ("c", 0), ("d", -1)]);
        let actual = metric.of(ranking.iter().copied(), &judgements);
        assert!((actual - expected).abs() < 1e-12, "{metric} of {ranking:?}: {actual}");
    }

    #[test]
    fn known_values() {
        let third = 4.0_f64.log2();
        let best = 3.0 + 1.0 / 3.0_f64.log2();
        check(Metric::Ndcg(10), &["a", "b"], 1.0);
        check(Metric::Ndcg(10), &["b", "x", "a"], (1.0 + 3.0 / third) / best);
        check(Metric::Ndcg(2), &["b", "x", "a"], 1.0 / best);
        check(Metric::Recall(2), &["b", "x", "a"], 0.5);
        check(Metric::Recall(3), &["b", "x", "a"], 1.0);
        check(Metric::Mrr(10), &["x", "d", "a"], 1.0 / 3.0);
        check(Metric::Mrr(2), &["x", "d", "a"], 0.0);
        check(Metric::Map, &["b", "x", "a"], 5.0 / 6.0);
        check(Metric::Precision(5), &["b", "a"], 0.4);
        check(Metric::Hit(1), &["c", "a"], 0.0);
        check(Metric::Hit(2), &["c", "a"], 1.0);
    }

    #[test]
    fn nothing_found_and_nothing_to_find_are_zero() {
        for metric in Metric::STANDARD {
            check(metric, &[], 0.0);
            check(metric, &["x", "c", "d"], 0.0);
            assert!(metric.of(["x"], &judged(&[("a", 1)])).is_sign_positive(), "{metric}");
            assert_eq!(metric.of(["c"], &judged(&[("c", 0), ("d", -2)])), 0.0);
        }
        check(Metric::Ndcg(0), &["a"], 0.0);
        check(Metric::Precision(0), &["a"], 0.0);
    }

    #[test]
    fn names_are_read_back_and_sort_as_a_report_shows_them() {
        let mut all = Metric::STANDARD.to_vec();
        all.extend([Metric::Precision(5), Metric::Hit(1)]);
        for metric in &all {
            assert_eq!(metric.to_string().parse::<Metric>().unwrap(), *metric);
        }
        assert!(all.is_sorted());
        for bad in ["", "ndcg", "map@3", "ndcg@", "ndcg@x", "ndcg@-1", "recall@1.5"] {
            assert!(bad.parse::<Metric>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn each_is_from_0_to_1_and_best_for_the_best_ranking(
            gains in proptest::collection::btree_map("[a-h]", -1_i32..4, 1..8),
            order in proptest::sample::subsequence(vec!["a", "b", "c", "d", "e", "f", "g", "h"], 0..8),
            cutoff in 1_usize..10,
        ) {
            let mut best: Vec<(&str, i32)> =
                gains.iter().map(|(id, &gain)| (id.as_str(), gain)).collect();
            best.sort_by_key(|&(_, gain)| -gain);
            let best = || best.iter().map(|&(id, _)| id);
            let any = [Metric::Ndcg(cutoff), Metric::Recall(cutoff), Metric::Mrr(cutoff), Metric::Map,
                Metric::Precision(cutoff), Metric::Hit(cutoff)];
            for metric in any {
                let value = metric.of(order.iter().copied(), &gains);
                prop_assert!((0.0..=1.0 + 1e-12).contains(&value), "{metric}: {value}");
                prop_assert!(value <= metric.of(best(), &gains) + 1e-12, "{}", metric);
            }
            if gains.values().any(|&gain| gain > 0) {
                prop_assert!((Metric::Ndcg(cutoff).of(best(), &gains) - 1.0).abs() < 1e-12);
                prop_assert_eq!(Metric::Map.of(best(), &gains), 1.0);
            }
        }
    }
}
