use std::collections::BTreeMap;

use crate::{Interval, Metric, Qrels, Run, statistic};

/// A metric's value for each question.
pub type PerQuery = BTreeMap<String, f64>;

/// What a run is worth, question by question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    scores: BTreeMap<Metric, PerQuery>,
}

impl Evaluation {
    /// Measures a run. Every judged question counts; one that was not answered has 0, as
    /// with `trec_eval -c`.
    pub fn of(run: &Run, qrels: &Qrels, metrics: &[Metric]) -> Self {
        let measure = |metric: Metric| -> PerQuery {
            let one = |(query, judgements): (&str, _)| {
                let ranking = run.get(query).iter().map(|scored| scored.document.as_str());
                (query.to_owned(), metric.of(ranking, judgements))
            };
            qrels.iter().map(one).collect()
        };
        Self { scores: metrics.iter().map(|&metric| (metric, measure(metric))).collect() }
    }

    /// The metrics that were measured, in order.
    pub fn metrics(&self) -> impl Iterator<Item = Metric> {
        self.scores.keys().copied()
    }

    /// How many questions were measured.
    pub fn queries(&self) -> usize {
        self.scores.values().next().map_or(0, BTreeMap::len)
    }

    /// A metric's value for each question; none if it was not measured.
    pub fn scores(&self, metric: Metric) -> Option<&PerQuery> {
        self.scores.get(&metric)
    }

    /// A metric's mean over the questions; 0 if there are none.
    pub fn mean(&self, metric: Metric) -> f64 {
        statistic::mean(&self.values(metric))
    }

    /// The 95 % bootstrap interval of that mean.
    pub fn interval(&self, metric: Metric) -> Interval {
        Interval::bootstrap(&self.values(metric))
    }

    /// The means of all metrics.
    pub fn means(&self) -> BTreeMap<Metric, f64> {
        self.metrics().map(|metric| (metric, self.mean(metric))).collect()
    }

    /// The questions that `keep` wants.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        let mut kept = |scores: &PerQuery| -> PerQuery {
            let wanted = scores.iter().filter(|(query, _)| keep(query));
            wanted.map(|(query, &score)| (query.clone(), score)).collect()
        };
        Self { scores: self.scores.iter().map(|(&metric, all)| (metric, kept(all))).collect() }
    }

    fn values(&self, metric: Metric) -> Vec<f64> {
        self.scores(metric).into_iter().flat_map(BTreeMap::values).copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scored;

    #[test]
    fn a_question_without_an_answer_counts_as_zero() {
        let mut qrels = Qrels::default();
        qrels.insert("q", "a", 1);
        qrels.insert("r", "b", 1);
        let mut run = Run::new("t");
        run.insert("q", vec![Scored { document: "a".to_owned(), score: 1.0 }]);
        run.insert("not judged", vec![Scored { document: "a".to_owned(), score: 1.0 }]);
        let metric = Metric::Ndcg(10);
        let evaluation = Evaluation::of(&run, &qrels, &[metric]);
        assert_eq!((evaluation.queries(), evaluation.mean(metric)), (2, 0.5));
        assert_eq!(evaluation.only(|query| query == "q").mean(metric), 1.0);
        assert_eq!(evaluation.mean(Metric::Map), 0.0);
    }
}
