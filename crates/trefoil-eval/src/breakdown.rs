//! What each retriever is worth alone, and what fusion and reranking add to it.

use std::{collections::BTreeMap, fmt};

use crate::{
    Interval, Metric, RetrieverLists, StageList,
    lists::ranking,
    statistic::{mean, randomisation_test},
    table::Table,
};
use serde::Serialize;

/// A collection's questions, list by list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Breakdown {
    /// The collection.
    pub set: String,
    /// How many questions were asked.
    pub questions: usize,
    /// What was measured.
    pub metric: Metric,
    /// The mean of each list.
    pub lists: BTreeMap<StageList, ListMean>,
    /// The fused list against the better retriever.
    pub fusion: Gain,
    /// The reranked list against the fused one, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reranking: Option<Gain>,
}

/// A mean and how far chance may move it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ListMean {
    /// The mean over the questions.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// One list against another, question by question.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Gain {
    /// The list that it is compared with.
    pub over: StageList,
    /// The mean difference.
    pub mean: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// p-value of the paired randomisation test, two-sided.
    pub p_value: f64,
}

impl Breakdown {
    /// Measures the lists of one collection: those of the retrievers, and those that the engine
    /// returned.
    pub fn of(asked: &[RetrieverLists], metric: Metric) -> Self {
        let mut values: BTreeMap<StageList, Vec<f64>> = BTreeMap::new();
        for one in asked {
            let documents = one.documents();
            let lists = one.ranked_lists();
            let worth = |ranking: Vec<&str>| metric.of(ranking, &one.judgements);
            for list in &lists {
                let value = worth(ranking(list.hits().iter().map(|hit| hit.row), &documents));
                values.entry(list.retriever().into()).or_default().push(value);
            }
            let returned =
                [(StageList::Hybrid, Some(&one.fused)), (StageList::Reranked, one.read.as_ref())];
            for (list, documents) in returned {
                if let Some(documents) = documents {
                    let value = worth(documents.iter().map(String::as_str).collect());
                    values.entry(list).or_default().push(value);
                }
            }
        }
        let fused = values.get(&StageList::Hybrid).cloned().unwrap_or_default();
        let better = values
            .iter()
            .filter(|(list, _)| list.is_retriever())
            .max_by(|a, b| mean(a.1).total_cmp(&mean(b.1)))
            .map_or((StageList::Hybrid, Vec::new()), |(list, values)| (*list, values.clone()));
        Self {
            set: asked.first().map(|one| one.set.clone()).unwrap_or_default(),
            questions: asked.len(),
            metric,
            fusion: Gain::of(better.0, &better.1, &fused),
            reranking: values
                .get(&StageList::Reranked)
                .map(|reranked| Gain::of(StageList::Hybrid, &fused, reranked)),
            lists: values.iter().map(|(list, values)| (*list, ListMean::of(values))).collect(),
        }
    }
}

impl ListMean {
    fn of(values: &[f64]) -> Self {
        Self { mean: mean(values), interval: Interval::bootstrap(values) }
    }
}

impl Gain {
    fn of(over: StageList, before: &[f64], after: &[f64]) -> Self {
        let differences: Vec<f64> =
            after.iter().zip(before).map(|(after, before)| after - before).collect();
        Self {
            over,
            mean: mean(&differences),
            interval: Interval::bootstrap(&differences),
            p_value: randomisation_test(&differences),
        }
    }
}

/// Some collections, as Markdown.
#[derive(Clone, Copy, Debug)]
pub struct BreakdownTable<'a>(pub &'a [Breakdown]);

impl fmt::Display for BreakdownTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lists: Vec<StageList> = {
            let mut lists: Vec<StageList> =
                self.0.iter().flat_map(|one| one.lists.keys().copied()).collect();
            lists.sort_unstable();
            lists.dedup();
            lists
        };
        let reranked = self.0.iter().any(|one| one.reranking.is_some());
        let mut header = vec!["collection".to_owned(), "questions".to_owned()];
        header.extend(lists.iter().map(StageList::to_string));
        header.push("fused − better retriever (p)".to_owned());
        header.extend(reranked.then(|| "reranked − fused (p)".to_owned()));
        let mut table = Table::new(header.iter().map(String::as_str));
        for one in self.0 {
            let mut row = vec![one.set.clone(), one.questions.to_string()];
            row.extend(lists.iter().map(|list| one.lists.get(list).map_or(String::new(), shown)));
            row.push(one.fusion.to_string());
            if reranked {
                row.push(one.reranking.map_or(String::new(), |gain| gain.to_string()));
            }
            table.push(row);
        }
        table.markdown(f)
    }
}

fn shown(list: &ListMean) -> String {
    let Interval { low, high } = list.interval;
    format!("{:.4} ({low:.3}–{high:.3})", list.mean)
}

impl fmt::Display for Gain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.4} ({:.4})", self.mean, self.p_value)
    }
}

#[cfg(test)]
mod tests {
    use trefoil::{Language, RetrieverId, Score, SearchWeights, search::QueryType};

    use super::*;
    use crate::{StoredHit, StoredList};

    /// A question that the keyword retriever answers at its second place and the semantic one
    /// at its first.
    fn asked(query: &str, reranked: bool) -> RetrieverLists {
        let hit = |row, document: &str, raw_score| {
            StoredHit(row, document.to_owned(), raw_score, Score::clamped(raw_score))
        };
        let list = |hits| StoredList { floor: 0.0, confidence: 1.0, hits };
        let keyword = list(vec![hit(1, "wrong", 0.6), hit(2, "right", 0.5)]);
        let semantic = list(vec![hit(2, "right", 0.9), hit(3, "right", 0.8)]);
        RetrieverLists {
            set: "birds".to_owned(),
            query: query.to_owned(),
            language: Language::En,
            documents: Language::En,
            query_type: QueryType::Local,
            suited: SearchWeights::default(),
            judgements: BTreeMap::from([("right".to_owned(), 1)]),
            retrievers: BTreeMap::from([
                (RetrieverId::KEYWORD, keyword),
                (RetrieverId::SEMANTIC, semantic),
            ]),
            fused: vec!["right".to_owned(), "wrong".to_owned()],
            read: reranked.then(|| vec!["wrong".to_owned(), "right".to_owned()]),
            reranked: BTreeMap::new(),
            names: Vec::new(),
        }
    }

    #[test]
    fn each_list_is_worth_what_it_ranks() {
        let measure = |reranked| {
            let asked = [asked("a", reranked), asked("b", reranked)];
            Breakdown::of(&asked, Metric::Mrr(10))
        };
        let before = measure(false);
        let means = |one: &Breakdown| -> Vec<(StageList, f64)> {
            one.lists.iter().map(|(list, value)| (*list, value.mean)).collect()
        };
        let retrievers = [
            (StageList::Retriever(RetrieverId::KEYWORD), 0.5),
            (StageList::Retriever(RetrieverId::SEMANTIC), 1.0),
            (StageList::Hybrid, 1.0),
        ];
        assert_eq!(means(&before), retrievers);
        assert_eq!(
            (before.fusion.over, before.fusion.mean),
            (StageList::Retriever(RetrieverId::SEMANTIC), 0.0)
        );
        assert_eq!(before.reranking, None);
        // A reranker that believes the wrong one.
        let after = measure(true);
        assert_eq!(means(&after)[3], (StageList::Reranked, 0.5));
        assert_eq!(after.reranking.map(|gain| gain.mean), Some(-0.5));
        insta::assert_snapshot!(BreakdownTable(&[before, after]).to_string());
    }
}
