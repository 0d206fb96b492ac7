//! Times an index: opening, questions beyond their embedding, rebuilding with cached
//! embeddings, and ingest against the bare embedder on the same texts.
//!
//! ```sh
//! cargo run --release -p trefoil --example timing -- questions INDEX DATA/xreact-en/queries.jsonl
//! cargo run --release -p trefoil --example timing -- ingest DATA/scifact/corpus.jsonl 400
//! ```
#![allow(clippy::print_stdout, reason = "a program that prints its result")]

use std::{error::Error, fs, path::Path, time::Instant};

use serde::Deserialize;
use trefoil::{
    Document, Engine, EngineConfig, SearchOptions, SearchQuery,
    index::Role,
    model::{Embedder, ModelHome, ModelSource, OnnxEmbedder},
};

type Outcome = Result<(), Box<dyn Error>>;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "_id")]
    id: String,
    #[serde(default)]
    title: String,
    text: String,
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["questions", index, questions] => questions_beyond_embedding(index, questions),
        ["ingest", corpus, count] => ingest_against_bare(corpus, count.parse()?),
        _ => {
            Err("usage: timing questions INDEX QUERIES.jsonl | timing ingest CORPUS.jsonl COUNT"
                .into())
        }
    }
}

fn questions_beyond_embedding(index: &str, questions: &str) -> Outcome {
    let start = Instant::now();
    let engine = Engine::open_with(index, EngineConfig::default())?;
    println!("open: {:.1} ms", millis(start));
    println!("{} chunks", engine.stats()?.store.chunks);
    let queries: Vec<SearchQuery> = records(questions)?
        .iter()
        .take(500)
        .map(|record| {
            let options = SearchOptions { rerank_enabled: false, ..SearchOptions::default() };
            Ok(SearchQuery::new(&record.text)?.replace_options(options))
        })
        .collect::<trefoil::Result<_>>()?;
    for query in &queries {
        engine.search(query)?; // Embeds the question; the second time it is cached.
    }
    let mut times = Vec::new();
    let mut stages: Vec<(String, Vec<f64>)> = Vec::new();
    for query in &queries {
        let start = Instant::now();
        let found = engine.search(query)?;
        times.push(millis(start));
        for stage in found.stages {
            let name = stage.stage.to_string();
            match stages.iter_mut().find(|(known, _)| *known == name) {
                Some((_, times)) => times.push(stage.duration),
                None => stages.push((name, vec![stage.duration])),
            }
        }
    }
    println!("question: {}", percentiles(times));
    for (name, times) in stages {
        println!("  {name:<9} {}", percentiles(times));
    }
    drop(engine);
    let start = Instant::now();
    let engine = Engine::reindex(index, EngineConfig::default())?;
    let left = engine.wait_until_indexed()?;
    println!(
        "rebuild, embeddings cached: {:.1} s, {} left to embed",
        millis(start) / 1e3,
        left.queued
    );
    Ok(())
}

fn ingest_against_bare(corpus: &str, count: usize) -> Outcome {
    let documents: Vec<Document> = records(corpus)?
        .into_iter()
        .take(count)
        .map(|record| Document::new(record.id, record.text).title(record.title))
        .collect();
    let threads = std::thread::available_parallelism()?.get();
    let embedder = OnnxEmbedder::open(&ModelHome::platform()?, &ModelSource::default(), threads)?;
    embedder.embed(Role::Passage, &["warm", "up"])?;
    let dir = Path::new("target/timing");
    for round in 0..3 {
        if dir.exists() {
            fs::remove_dir_all(dir)?;
        }
        let engine = Engine::open_with(dir, EngineConfig::default())?;
        engine.ingest(&[Document::new("warm", "up")])?;
        engine.wait_until_indexed()?;
        let start = Instant::now();
        engine.ingest(&documents)?;
        engine.wait_until_indexed()?;
        let ingest = millis(start);
        let chunks = engine.stats()?.store.chunks - 1;
        let mut texts = Vec::new();
        for path in engine.paths()?.iter().filter(|path| *path != "warm") {
            for chunk in engine.document_chunks(path)? {
                texts.push(format!("{}\n\n{}", chunk.file.title, chunk.chunk.text));
            }
        }
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let start = Instant::now();
        embedder.embed(Role::Passage, &texts)?;
        let bare = millis(start);
        println!(
            "round {round}: {chunks} chunks, ingest {:.1} a second, embedder alone {:.1}, ratio {:.3}",
            chunks as f64 / ingest * 1e3,
            texts.len() as f64 / bare * 1e3,
            bare / ingest
        );
    }
    Ok(())
}

fn records(path: &str) -> Result<Vec<Record>, Box<dyn Error>> {
    fs::read_to_string(path)?.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn percentiles(mut times: Vec<f64>) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    format!("p50 {:.2} ms, p95 {:.2}, p99 {:.2}", at(50), at(95), at(99))
}
