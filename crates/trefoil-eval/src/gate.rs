//! A retrieval gate for tests: see [`assert_retrieval!`](crate::assert_retrieval).

mod assert;
mod report;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use trefoil::{Engine, Result, SearchOptions};

pub use self::{
    assert::assert_gate,
    report::{CaseReport, FloorReport, GateReport, Ranks},
};
use crate::{
    Metric, RetrievalCase, StageList,
    case::{Passage, Ranking},
    harness::passages_for,
    statistic::mean,
};

/// Least values of metrics over cases, for each retriever's list and for the fused one.
///
/// Ranks count documents, each by its best chunk, where a case names only paths, else
/// passages.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    cases: Vec<RetrievalCase>,
    floors: Vec<Floor>,
    baseline: Option<Ranks>,
}

#[derive(Clone, Debug, PartialEq)]
struct Floor {
    list: StageList,
    measure: Measure,
    least: f64,
}

/// What a floor is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Measure {
    /// Share of the cases that are found within their own `top`.
    Found,
    Metric(Metric),
}

/// Hits that are looked at.
const DEPTH: usize = 100;
/// Paths that a message shows of a list.
const SHOWN: usize = 3;

impl Gate {
    /// A gate over these cases, without floors.
    pub fn new(cases: impl IntoIterator<Item = RetrievalCase>) -> Self {
        Self { cases: cases.into_iter().collect(), ..Self::default() }
    }

    /// Asks that a metric of a list be at least `least`. `found` is the share of cases found within their own `top`; otherwise the name of a
    /// [`Metric`], each case counting as a question whose answers have gain 1.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`](trefoil::Error::InvalidConfig) if there is no such metric.
    pub fn floor(mut self, list: StageList, measure: &str, least: f64) -> Result<Self> {
        let measure = match measure {
            "found" => Measure::Found,
            name => Measure::Metric(name.parse()?),
        };
        self.floors.push(Floor { list, measure, least });
        Ok(self)
    }

    /// Sets the ranks of an earlier run, to tell which questions moved and in which retriever.
    #[must_use]
    pub fn baseline(mut self, ranks: Ranks) -> Self {
        self.baseline = Some(ranks);
        self
    }

    /// Asks every case: each retriever, all fused, and the cross-encoder where a floor is about its
    /// list. For that, let `rerank_budget` be `None`, or time decides.
    ///
    /// # Errors
    /// Those of the engine. What is below its floor is no error here, but in the report.
    pub fn run(&self, engine: &Engine) -> Result<GateReport> {
        let rerank = self.floors.iter().any(|floor| floor.list == StageList::Reranked);
        let mut degraded = BTreeSet::new();
        let mut rankings = Vec::new();
        for case in &self.cases {
            rankings.push(ask(case, engine, rerank, &mut degraded)?);
        }
        let floor = |floor: &Floor| FloorReport {
            list: floor.list,
            measure: floor.measure.to_string(),
            value: self.value(floor, &rankings),
            least: floor.least,
        };
        let report = |(case, ranking): (&RetrievalCase, &Rankings)| CaseReport {
            id: case.id.clone(),
            question: case.question.clone(),
            expected: case.answers.iter().map(ToString::to_string).collect(),
            top: case.top,
            ranks: ranking.lists.iter().map(|(&list, one)| (list, one.rank())).collect(),
            was: self.baseline.as_ref().and_then(|ranks| ranks.0.get(&case.id)).cloned(),
            found: ranking.first.clone(),
        };
        Ok(GateReport {
            floors: self.floors.iter().map(floor).collect(),
            cases: self.cases.iter().zip(&rankings).map(report).collect(),
            degraded: degraded.into_iter().collect(),
        })
    }

    fn value(&self, floor: &Floor, rankings: &[Rankings]) -> f64 {
        let one = |(case, rankings): (&RetrievalCase, &Rankings)| {
            let Some(ranking) = rankings.lists.get(&floor.list) else { return 0.0 };
            let metric = match floor.measure {
                Measure::Found => Metric::Hit(case.top),
                Measure::Metric(metric) => metric,
            };
            metric.of(ranking.ids().iter().map(String::as_str), &case.judgements())
        };
        mean(&self.cases.iter().zip(rankings).map(one).collect::<Vec<_>>())
    }
}

/// What a case's question found.
#[derive(Default)]
struct Rankings {
    lists: BTreeMap<StageList, Ranking>,
    /// What the final list begins with.
    first: Vec<String>,
}

/// Asks a case's question of every retriever and of all together.
fn ask(
    case: &RetrievalCase,
    engine: &Engine,
    rerank: bool,
    degraded: &mut BTreeSet<String>,
) -> Result<Rankings> {
    let options = SearchOptions { limit: DEPTH, rerank_enabled: false, ..SearchOptions::default() };
    let mut query = passages_for(&case.question, case.filters.clone(), options)?;
    let mut rankings = Rankings::default();
    for list in engine.ranked_lists(&query)? {
        let rows: Vec<_> = list.hits().iter().map(|hit| hit.row).collect();
        let ranking = rankings.lists.entry(list.retriever().into()).or_default();
        for chunk in engine.chunks(&rows)? {
            let headings = &chunk.chunk.heading_path;
            let (path, chunk) = (&chunk.file.path, chunk.id.as_str());
            ranking.push(case, &Passage { path, headings, chunk });
        }
    }
    for (list, wanted) in [(StageList::Hybrid, true), (StageList::Reranked, rerank)] {
        if !wanted {
            continue;
        }
        query.options.rerank_enabled = list == StageList::Reranked;
        let found = engine.search(&query)?;
        degraded.extend(found.degraded.iter().map(|one| format!("{}: {}", one.stage, one.reason)));
        let ranking = rankings.lists.entry(list).or_default();
        rankings.first.clear();
        for item in &found.results {
            let Some(metadata) = &item.metadata else { continue };
            if rankings.first.len() < SHOWN && !rankings.first.contains(&metadata.path) {
                rankings.first.push(metadata.path.clone());
            }
            let headings = &metadata.heading_path;
            ranking.push(case, &Passage { path: &metadata.path, headings, chunk: &item.id });
        }
    }
    Ok(rankings)
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Found => f.write_str("found"),
            Self::Metric(metric) => metric.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{path::Path, sync::Arc};

    use trefoil::{
        Document, DocumentFormat, EngineConfig, Model, RetrieverId,
        index::Role,
        model::{Array2, Embedder, EmbeddingSpace, Pooling, Quantization},
    };

    use super::*;
    use crate::Expected;

    /// Embeds by letter trigrams; or, shuffled, so that every text has a vector of its own
    /// that has nothing to do with what it says.
    #[derive(Debug)]
    struct Trigrams {
        space: EmbeddingSpace,
        shuffled: bool,
    }

    impl Embedder for Trigrams {
        fn space(&self) -> &EmbeddingSpace {
            &self.space
        }

        fn cosine_range(&self) -> (f32, f32) {
            (0.0, 1.0)
        }

        fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
            let hash = |bytes: &[u8]| {
                bytes.iter().fold(7_usize, |hash, &byte| hash.wrapping_mul(31) ^ usize::from(byte))
            };
            let one = |text: &&str| {
                let seed = if self.shuffled { hash(text.as_bytes()) } else { 0 };
                let mut vector = vec![0.01_f32; self.space.dimensions];
                for (place, trigram) in text.to_lowercase().as_bytes().windows(3).enumerate() {
                    let noise = if self.shuffled { place.wrapping_mul(seed | 1) } else { 0 };
                    vector[(hash(trigram) ^ noise) % self.space.dimensions] += 1.0;
                }
                let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
                vector.into_iter().map(move |x| x / length)
            };
            let shape = (texts.len(), self.space.dimensions);
            Ok(Array2::from_shape_vec(shape, texts.iter().flat_map(one).collect()).unwrap())
        }
    }

    const FACTS: [(&str, &str); 6] = [
        ("owl", "Barn owls hunt voles over rough grassland at dusk."),
        ("bath", "The Roman baths are fed by a spring of hot water."),
        ("bread", "Sourdough starter rises within six hours of feeding."),
        ("clock", "Harrison built chronometers to determine longitude at sea."),
        ("tide", "Spring tides follow the new moon and the full moon."),
        ("index", "An inverted index maps every term to its postings."),
    ];

    fn engine(dir: &Path, shuffled: bool) -> Engine {
        let space = EmbeddingSpace {
            model: "trigrams".to_owned(),
            sha256: shuffled.to_string(),
            dimensions: 256,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        };
        let model = Model::Custom(Arc::new(Trigrams { space, shuffled }));
        let engine = Engine::open_with(dir, EngineConfig { model, ..EngineConfig::default() });
        let engine = engine.unwrap();
        let documents = FACTS.map(|(name, fact)| {
            let body = format!("# Facts\n\n## {name}\n\n{fact}\n\n## sources\n\nWritten here.\n");
            Document::new(format!("facts/{name}.md"), body).format(DocumentFormat::Markdown)
        });
        engine.ingest(&documents).unwrap();
        engine.wait_until_indexed().unwrap();
        engine
    }

    fn cases() -> Vec<RetrievalCase> {
        let case = |(name, fact): (&str, &str)| {
            let question = fact.split_once(' ').map_or(fact, |(_, rest)| rest).to_owned();
            let answer =
                Expected { heading: Some(name.to_owned()), ..format!("{name}.md").as_str().into() };
            RetrievalCase { top: 2, ..RetrievalCase::new(name, question, [answer]) }
        };
        FACTS.map(case).to_vec()
    }

    fn gate() -> Gate {
        let floor = |gate: Gate, retriever, measure| gate.floor(retriever, measure, 0.9).unwrap();
        let gate = floor(Gate::new(cases()), StageList::Hybrid, "found");
        floor(
            floor(gate, StageList::Retriever(RetrieverId::KEYWORD), "mrr@10"),
            StageList::Retriever(RetrieverId::SEMANTIC),
            "hit@2",
        )
    }

    #[test]
    fn it_holds_where_every_retriever_finds_its_answers() {
        let dir = tempfile::tempdir().unwrap();
        let engine = engine(dir.path(), false);
        let report = gate().run(&engine).unwrap();
        assert!(report.passed(), "{report}");
        crate::assert_retrieval!(engine, cases(), hybrid "found" >= 0.9, semantic "found" >= 0.9);
    }

    #[test]
    fn a_broken_retriever_is_named() {
        let (good, bad) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let baseline = gate().run(&engine(good.path(), false)).unwrap().ranks();
        let file = good.path().join("ranks.json");
        baseline.write(&file).unwrap();
        let gate = gate().baseline(Ranks::read(&file).unwrap());
        let report = gate.run(&engine(bad.path(), true)).unwrap();
        assert!(!report.passed());
        assert_eq!(report.broken_retrievers(), [StageList::Retriever(RetrieverId::SEMANTIC)]);
        let message = report.to_string();
        for part in [
            "retrieval gate failed: 6 questions",
            "The semantic retriever is broken",
            "moved  by semantic",
            "(was 1)",
            "within 2",
        ] {
            assert!(message.contains(part), "no `{part}` in:\n{message}");
        }
    }

    #[test]
    #[should_panic(expected = "hybrid   found")]
    fn the_macro_panics_with_the_report() {
        let dir = tempfile::tempdir().unwrap();
        let nowhere = cases()
            .into_iter()
            .map(|case| RetrievalCase { answers: vec!["nowhere.md".into()], ..case });
        crate::assert_retrieval!(engine(dir.path(), false), nowhere, hybrid "found" >= 0.5);
    }

    #[test]
    fn a_metric_that_does_not_exist_is_an_error() {
        assert!(Gate::default().floor(StageList::Hybrid, "best", 0.5).is_err());
    }
}
