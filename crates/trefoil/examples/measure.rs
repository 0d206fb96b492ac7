//! Measures each leg and the fused list on collections in BEIR layout:
//!
//! ```sh
//! cargo run --release --example measure -- [--indexes DIR] [--lists FILE] DATA/scifact DATA/xreact-ko …
//! ```
//!
//! An index is made once a corpus and kept in `--indexes` (`target/measure` by default).
//! A document's score is that of its best chunk. `--lists` writes every leg's list, one
//! query a line as JSON, for tuning fusion elsewhere.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints its result")]

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    error::Error,
    fs,
    hash::{DefaultHasher, Hasher},
    io::Write,
    path::{Path, PathBuf},
    time::Instant,
};

use rayon::prelude::*;
use serde::Deserialize;
use trefoil::{
    Document, Engine, EngineConfig, Score, SearchFilters, SearchOptions, SearchQuery,
    SearchStrategy,
};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

/// Graded judgements: query → document → gain.
type Judgements = BTreeMap<String, HashMap<String, f64>>;

fn main() -> Outcome<()> {
    let mut indexes = PathBuf::from("target/measure");
    let mut lists = None;
    let mut collections = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--indexes" => indexes = arguments.next().ok_or("--indexes needs a folder")?.into(),
            "--lists" => lists = Some(arguments.next().ok_or("--lists needs a file")?),
            _ => collections.push(PathBuf::from(argument)),
        }
    }
    let mut lists = lists.map(fs::File::create).transpose()?;
    println!(
        "{:<16} {:>6} {:>6} | {:>7} {:>7} {:>7} {:>7} | {:>6} {:>6} {:>6} | ms a query",
        "collection",
        "docs",
        "asked",
        "keyword",
        "semant.",
        "fused",
        "− best",
        "kw R5",
        "se R5",
        "fu R5"
    );
    for collection in &collections {
        measure(collection, &indexes, lists.as_mut())?;
    }
    Ok(())
}

fn measure(collection: &Path, indexes: &Path, lists: Option<&mut fs::File>) -> Outcome<()> {
    let name = collection.file_name().unwrap_or_default().to_string_lossy();
    let (engine, documents) = index(collection, indexes)?;
    let judged = judgements(&collection.join("qrels/test.tsv"))?;
    let queries: Vec<Record> = records(&collection.join("queries.jsonl"))?
        .into_iter()
        .filter(|query| judged.contains_key(&query.id))
        .collect();
    if let Some(file) = lists {
        write_lists(&engine, &name, &queries, &judged, file)?;
    }
    let start = Instant::now();
    let legs = [SearchStrategy::Keyword, SearchStrategy::Semantic, SearchStrategy::Hybrid];
    let scores: Vec<[[f64; 2]; 3]> = queries
        .par_iter()
        .map(|query| -> Outcome<[[f64; 2]; 3]> {
            let mut scores = [[0.0; 2]; 3];
            for (score, leg) in scores.iter_mut().zip(legs) {
                let ranked = ranked(&engine, &query.text, leg)?;
                let gains = judged.get(&query.id).ok_or("unjudged")?;
                *score = [ndcg(&ranked, gains, 10), recall(&ranked, gains, 5)];
            }
            Ok(scores)
        })
        .collect::<Outcome<_>>()?;
    let millis = start.elapsed().as_secs_f64() * 1e3 / (3 * queries.len()) as f64;
    let mean = |leg: usize, metric: usize| -> f64 {
        scores.iter().filter_map(|score| score.get(leg)?.get(metric)).sum::<f64>()
            / scores.len() as f64
    };
    let best = mean(0, 0).max(mean(1, 0));
    println!(
        "{name:<16} {documents:>6} {:>6} | {:>7.4} {:>7.4} {:>7.4} {:>+7.4} | {:>6.3} {:>6.3} {:>6.3} | {millis:.1}",
        queries.len(),
        mean(0, 0),
        mean(1, 0),
        mean(2, 0),
        mean(2, 0) - best,
        mean(0, 1),
        mean(1, 1),
        mean(2, 1),
    );
    Ok(())
}

/// Opens the index of a collection's corpus, made on first use.
fn index(collection: &Path, indexes: &Path) -> Outcome<(Engine, usize)> {
    let path = collection.join("corpus.jsonl");
    let bytes = fs::read(&path)?;
    let mut hasher = DefaultHasher::new();
    hasher.write(&bytes);
    let dir = indexes.join(format!("{:016x}", hasher.finish()));
    let engine = Engine::open_with(dir, EngineConfig::default())?;
    let documents: Vec<Document> = records(&path)?
        .into_iter()
        .map(|record| Document::new(record.id, record.text).title(record.title))
        .collect();
    let start = Instant::now();
    let report = engine.ingest(&documents)?;
    let left = engine.drain()?;
    if report.written > 0 {
        eprintln!(
            "{}: {} documents, {} chunks in {:.1} s, {} without a vector",
            path.display(),
            documents.len(),
            report.chunks_added,
            start.elapsed().as_secs_f64(),
            left.queued + left.running + left.failed
        );
    }
    Ok((engine, documents.len()))
}

/// Documents by their best chunk, best first.
fn ranked(engine: &Engine, text: &str, leg: SearchStrategy) -> Outcome<Vec<String>> {
    let query = SearchQuery::new(text)?
        .filters(SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() })
        .options(SearchOptions {
            limit: 100,
            include_highlights: false,
            strategies: vec![leg],
            rerank_enabled: false,
            ..SearchOptions::default()
        });
    let mut seen = BTreeSet::new();
    let found = engine.search(&query)?;
    let paths = found.results.into_iter().filter_map(|hit| Some(hit.metadata?.path));
    Ok(paths.filter(|path| seen.insert(path.clone())).collect())
}

fn write_lists(
    engine: &Engine,
    name: &str,
    queries: &[Record],
    judged: &Judgements,
    file: &mut fs::File,
) -> Outcome<()> {
    let lines: Vec<String> = queries
        .par_iter()
        .map(|query| -> Outcome<String> {
            let asked = SearchQuery::new(&query.text)?.limit(100);
            let mut legs = BTreeMap::new();
            for list in engine.ranked_lists(&asked)? {
                let rows: Vec<_> = list.hits().iter().map(|hit| hit.row).collect();
                let chunks = engine.chunks(&rows)?;
                let hits: Vec<_> = list
                    .hits()
                    .iter()
                    .zip(&chunks)
                    .map(|(hit, chunk)| (&chunk.file.path, hit.native, hit.relevance.get()))
                    .collect();
                let line = serde_json::json!({
                    "floor": list.floor(), "confidence": list.confidence(), "hits": hits,
                });
                legs.insert(list.strategy().name(), line);
            }
            let gains = judged.get(&query.id);
            Ok(serde_json::json!({
                "set": name, "query": query.id, "text": query.text, "qrels": gains, "legs": legs,
            })
            .to_string())
        })
        .collect::<Outcome<_>>()?;
    for line in lines {
        writeln!(file, "{line}")?;
    }
    Ok(())
}

fn records(path: &Path) -> Outcome<Vec<Record>> {
    let text = fs::read_to_string(path)?;
    text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn judgements(path: &Path) -> Outcome<Judgements> {
    let mut judged = Judgements::new();
    for line in fs::read_to_string(path)?.lines().skip(1) {
        let mut cells = line.split('\t');
        let (Some(query), Some(document), Some(gain)) = (cells.next(), cells.next(), cells.next())
        else {
            return Err(format!("not a judgement: {line}").into());
        };
        let gain: f64 = gain.trim().parse()?;
        if gain > 0.0 {
            judged.entry(query.to_owned()).or_default().insert(document.to_owned(), gain);
        }
    }
    Ok(judged)
}

/// Normalised discounted cumulative gain (Järvelin, Kekäläinen 2002) with linear gains.
fn ndcg(ranked: &[String], gains: &HashMap<String, f64>, k: usize) -> f64 {
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(k).zip(2_u32..).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
    };
    let actual = discounted(&mut ranked.iter().map(|id| gains.get(id).copied().unwrap_or(0.0)));
    let mut ideal: Vec<f64> = gains.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    actual / discounted(&mut ideal.into_iter())
}

fn recall(ranked: &[String], gains: &HashMap<String, f64>, k: usize) -> f64 {
    let found = ranked.iter().take(k).filter(|id| gains.contains_key(*id)).count();
    found as f64 / gains.len() as f64
}
