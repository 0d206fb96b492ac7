use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Collection, Evaluation, Interval, Metric, statistic::percentile, table::Table};

/// What was measured on one collection with one configuration.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Name of the collection.
    pub dataset: String,
    /// Documents in it.
    pub documents: usize,
    /// Questions asked.
    pub queries: usize,
    /// What was measured: strategies, fuser, model and the like.
    pub configuration: BTreeMap<String, Value>,
    /// Means over the questions.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, f64>"))]
    pub metrics: BTreeMap<Metric, f64>,
    /// 95 % bootstrap intervals of the means.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, [f64; 2]>"))]
    pub intervals: BTreeMap<Metric, Interval>,
    /// The same for the questions of each language.
    pub languages: BTreeMap<String, Share>,
    /// The same for each kind of question that the collection tells apart.
    pub types: BTreeMap<String, Share>,
    /// How long a question takes.
    pub latency_ms: Option<Latency>,
    /// How long indexing took; absent where the index was there already, unmeasured.
    pub ingest: Option<Ingest>,
    /// Most memory that the process held, in MiB; absent where the system does not tell.
    pub peak_rss_mb: Option<f64>,
    /// The index on disk, in MiB.
    pub index_mb: Option<f64>,
}

/// Some of the questions.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// How many.
    pub queries: usize,
    /// Means over them.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, f64>"))]
    pub metrics: BTreeMap<Metric, f64>,
}

/// Percentiles of durations, by nearest rank, in milliseconds.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Percentiles {
    /// Half take no longer.
    pub p50: f64,
    /// 95 of 100 take no longer.
    pub p95: f64,
    /// 99 of 100 take no longer.
    pub p99: f64,
}

/// How long questions took, asked one at a time.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Latency {
    /// Half take no longer.
    pub p50: f64,
    /// 95 of 100 take no longer.
    pub p95: f64,
    /// 99 of 100 take no longer.
    pub p99: f64,
    /// How many questions were timed.
    pub queries: usize,
    /// Each stage of a search by its name.
    pub stages: BTreeMap<String, Percentiles>,
}

/// What indexing cost.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ingest {
    /// From the first document to the last vector.
    pub seconds: f64,
    /// Throughput.
    pub documents_per_second: f64,
}

impl Report {
    /// What did not run, such as a retriever without its model, or was not indexed; each once.
    pub fn degraded(&self) -> impl Iterator<Item = &str> {
        let reasons = self.configuration.get("degraded").and_then(Value::as_array);
        reasons.into_iter().flatten().filter_map(Value::as_str)
    }

    /// Quality: every mean with its interval, over all questions and over those of each
    /// language and kind. The rest is for the caller to fill in.
    pub fn of(collection: &Collection, evaluation: &Evaluation) -> Self {
        let mut languages: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let mut types: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for query in &collection.queries {
            languages.entry(query.language.to_string()).or_default().push(&query.id);
            if let Some(kind) = &query.kind {
                types.entry(kind.clone()).or_default().push(&query.id);
            }
        }
        Self {
            dataset: collection.name.clone(),
            documents: collection.documents.len(),
            queries: evaluation.queries(),
            metrics: evaluation.means(),
            intervals: evaluation
                .metrics()
                .map(|metric| (metric, evaluation.interval(metric)))
                .collect(),
            languages: shares(evaluation, languages),
            types: shares(evaluation, types),
            ..Self::default()
        }
    }
}

fn shares(evaluation: &Evaluation, groups: BTreeMap<String, Vec<&str>>) -> BTreeMap<String, Share> {
    let measured = groups.into_iter().map(|(name, mut queries)| {
        queries.sort_unstable();
        let part = evaluation.only(|query| queries.binary_search(&query).is_ok());
        (name, Share { queries: part.queries(), metrics: part.means() })
    });
    measured.filter(|(_, share)| share.queries > 0).collect()
}

impl Percentiles {
    /// Percentiles of durations in milliseconds, in any order.
    pub fn of(mut durations: Vec<f64>) -> Self {
        durations.sort_unstable_by(f64::total_cmp);
        let [p50, p95, p99] = [50.0, 95.0, 99.0].map(|percent| percentile(&durations, percent));
        Self { p50, p95, p99 }
    }
}

impl Latency {
    /// Percentiles of whole searches and of their stages, in milliseconds.
    pub fn of(totals: Vec<f64>, stages: BTreeMap<String, Vec<f64>>) -> Self {
        let queries = totals.len();
        let Percentiles { p50, p95, p99 } = Percentiles::of(totals);
        let stages = stages.into_iter().map(|(stage, times)| (stage, Percentiles::of(times)));
        Self { p50, p95, p99, queries, stages: stages.collect() }
    }
}

/// Reports as a table, one row a report, and below it one a language and a type where there
/// are several.
#[derive(Clone, Copy, Debug)]
pub struct ReportTable<'r>(pub &'r [Report]);

impl fmt::Display for ReportTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metrics: Vec<Metric> = self
            .0
            .first()
            .map(|report| report.metrics.keys().copied().collect())
            .unwrap_or_default();
        let names: Vec<String> = metrics.iter().map(Metric::to_string).collect();
        let before = ["dataset", "docs", "asked"];
        let after = ["95 %", "p50 ms", "p95 ms", "docs/s", "index MB", "peak MB"];
        let header = before.into_iter().chain(names.iter().map(String::as_str)).chain(after);
        let mut table = Table::new(header);
        for report in self.0 {
            table.push(row(report, &metrics));
            for groups in [&report.languages, &report.types].into_iter().filter(|one| one.len() > 1)
            {
                for (name, share) in groups {
                    let head = [format!("  {name}"), String::new(), share.queries.to_string()];
                    table.push(head.into_iter().chain(values(&share.metrics, &metrics)).collect());
                }
            }
        }
        table.fmt(f)
    }
}

fn row(report: &Report, metrics: &[Metric]) -> Vec<String> {
    let interval = metrics.first().and_then(|first| report.intervals.get(first));
    let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.1}"));
    let latency = report.latency_ms.as_ref();
    let head = [&report.dataset, &report.documents.to_string(), &report.queries.to_string()];
    let mut row: Vec<String> = head.into_iter().cloned().collect();
    row.extend(values(&report.metrics, metrics));
    row.extend([
        interval.map_or("–".to_owned(), |one| format!("{:.4}–{:.4}", one.low, one.high)),
        number(latency.map(|latency| latency.p50)),
        number(latency.map(|latency| latency.p95)),
        number(report.ingest.map(|ingest| ingest.documents_per_second)),
        number(report.index_mb),
        number(report.peak_rss_mb),
    ]);
    row
}

fn values(means: &BTreeMap<Metric, f64>, metrics: &[Metric]) -> Vec<String> {
    let value = |metric| means.get(metric).map_or("–".to_owned(), |value| format!("{value:.4}"));
    metrics.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use trefoil::{Document, Language};

    use super::*;
    use crate::{Qrels, Query, Run, Scored};

    fn report() -> Report {
        let query = |id: &str, language, kind: Option<&str>| Query {
            id: id.to_owned(),
            text: id.to_owned(),
            language,
            kind: kind.map(str::to_owned),
        };
        let mut qrels = Qrels::default();
        let mut run = Run::new("t");
        for (query, document) in [("q1", "a"), ("q2", "b"), ("q3", "b")] {
            qrels.insert(query, document, 1);
            let found = Scored { document: "a".to_owned(), score: 1.0 };
            let next = Scored { document: "b".to_owned(), score: 0.5 };
            run.insert_ranked(query, vec![found, next]);
        }
        let collection = Collection {
            name: "birds".to_owned(),
            documents: vec![Document::new("a", "owl"), Document::new("b", "梟")],
            queries: vec![
                query("q1", Language::En, Some("animal")),
                query("q2", Language::Ja, Some("animal")),
                query("q3", Language::Ja, None),
                query("never asked", Language::Ko, Some("time")),
            ],
            qrels: qrels.clone(),
            languages: BTreeMap::new(),
        };
        let evaluation = Evaluation::of(&run, &qrels, &Metric::STANDARD);
        let times = vec![3.0, 1.0, 2.0];
        Report {
            latency_ms: Some(Latency::of(
                times.clone(),
                BTreeMap::from([("keyword".to_owned(), times)]),
            )),
            ingest: Some(Ingest { seconds: 0.5, documents_per_second: 4.0 }),
            index_mb: Some(1.25),
            ..Report::of(&collection, &evaluation)
        }
    }

    #[test]
    fn it_is_json_and_a_table() {
        insta::assert_json_snapshot!(report());
        let other = Report { dataset: "longer name".to_owned(), documents: 5183, ..report() };
        insta::assert_snapshot!(ReportTable(&[report(), other]));
        assert_eq!(ReportTable(&[]).to_string().lines().count(), 1);
    }

    #[test]
    fn what_is_printed_parses_back() {
        let json = serde_json::to_string(&report()).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), report());
    }
}
