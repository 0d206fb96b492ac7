//! Trefoil's side of a comparison with other libraries; `benches/peers/peers.py` runs it.
//!
//! ```sh
//! peers export DATA CHUNKS FOLDER   # passages, questions and their vectors, for all libraries
//! peers vectors FOLDER              # nearest neighbours of these vectors
//! peers index DATA CHUNKS INDEX     # the same passages as documents
//! peers ask DATA CHUNKS INDEX       # hybrid questions: three retrievers, highlights, no reranking
//! ```
//!
//! Each prints what it took as JSON.

use std::{
    env,
    fs::{self, File},
    io::{BufWriter, Write as _},
    path::Path,
    sync::Arc,
    time::Instant,
};

use benches::{
    NEIGHBOURS, Outcome, RealText, RealVectors, cpu_seconds, nearest, peak_mb, search_query,
    vector_file,
};
use serde_json::json;
use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, Model, SearchStrategy,
    index::{Allowed, Indexer as _, Role, RowId, Seq},
    model::Embedder as _,
};
use trefoil_semantic::{VectorConfig, VectorIndex, VectorIndexer};

/// Documents of one ingest.
const BATCH: usize = 2_000;
/// Rounds of questions of which the median counts.
const ROUNDS: usize = 3;

#[expect(clippy::print_stdout, reason = "what the script reads")]
fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let said = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["export", data, chunks, folder] => {
            export(Path::new(data), chunks.parse()?, Path::new(folder))?
        }
        ["vectors", folder] => vectors(Path::new(folder))?,
        ["index", data, chunks, to] => index(Path::new(data), chunks.parse()?, Path::new(to))?,
        ["ask", data, _, at] => ask(Path::new(data), Path::new(at))?,
        _ => return Err("usage: see benches/peers/peers.py".into()),
    };
    println!("{said}");
    Ok(())
}

/// What every library is given.
fn export(data: &Path, chunks: usize, folder: &Path) -> Outcome<serde_json::Value> {
    let text = RealText::read(data)?;
    RealVectors::make(&text.embedded(chunks))?;
    let model = RealVectors::open()?;
    fs::create_dir_all(folder)?;
    let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
    let (mut passages, mut stored) = (create("passages.jsonl")?, create("passages.f32")?);
    let mut count = 0;
    for document in text.documents(chunks) {
        let embedded = text.passages(&document);
        let embedded: Vec<&str> = embedded.iter().map(String::as_str).collect();
        for (chunk, vector) in
            text.chunks(&document).iter().zip(model.embed(Role::Passage, &embedded)?.rows())
        {
            writeln!(passages, "{}", json!({ "text": chunk.text, "path": document.path }))?;
            write_vector(&mut stored, vector.iter())?;
            count += 1;
        }
    }
    let (mut questions, mut asked) = (create("questions.jsonl")?, create("questions.f32")?);
    let texts: Vec<&str> = text.questions.iter().map(String::as_str).collect();
    for (question, vector) in texts.iter().zip(model.embed(Role::Query, &texts)?.rows()) {
        writeln!(questions, "{}", json!({ "text": question }))?;
        write_vector(&mut asked, vector.iter())?;
    }
    let about = json!({ "dimensions": model.space().dimensions, "passages": count });
    fs::write(folder.join("about.json"), about.to_string())?;
    for mut file in [passages, stored, questions, asked] {
        file.flush()?;
    }
    Ok(about)
}

/// Builds an index of the vectors and searches it with the default settings, on one thread.
fn vectors(folder: &Path) -> Outcome<serde_json::Value> {
    let about: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("about.json"))?)?;
    let dimensions = about.get("dimensions").and_then(serde_json::Value::as_u64);
    let dimensions = dimensions.ok_or("no dimensions")?.try_into()?;
    let base = vector_file(&folder.join("passages.f32"), dimensions)?;
    let queries = vector_file(&folder.join("questions.f32"), dimensions)?;
    let dir = TempDir::new()?;
    let config = VectorConfig::default();
    let (start, before) = (Instant::now(), cpu_seconds()?);
    let mut indexer = VectorIndexer::open(dir.path(), "peers", dimensions, &config)?;
    indexer.put((0..).map(RowId::new).zip(base.iter().map(Vec::as_slice)))?;
    indexer.commit(Seq::new(1))?;
    let build = json!({ "wall": start.elapsed().as_secs_f64(), "cpu": cpu_seconds()? - before });
    drop(indexer);
    let index = VectorIndex::open(dir.path(), "peers", dimensions, &config)?;
    let search = |query: &[f32]| index.search(query, NEIGHBOURS, &Allowed::All);
    let mut found = 0;
    for query in &queries {
        let nearest = nearest(&base, query, &Allowed::All);
        found += search(query)?.iter().filter(|(row, _)| nearest.contains(row)).count();
    }
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for query in &queries {
            search(query)?;
        }
        rates.push(queries.len() as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    Ok(json!({
        "build": build,
        "width": null,
        "recall": found as f64 / (NEIGHBOURS * queries.len()) as f64,
        "rate": rates.get(ROUNDS / 2),
        "peak": peak_mb()?,
    }))
}

/// Indexes the documents as an application does: chunked, with words, vectors and the graph.
fn index(data: &Path, chunks: usize, index: &Path) -> Outcome<serde_json::Value> {
    let text = RealText::read(data)?;
    let documents: Vec<Document> = text.documents(chunks).collect();
    let config = stored_vectors()?;
    let (start, before, held) = (Instant::now(), cpu_seconds()?, peak_mb()?);
    let engine = Engine::open_with(index, config)?;
    for batch in documents.chunks(BATCH) {
        engine.ingest(batch)?;
    }
    engine.wait_until_indexed()?;
    let chunks = engine.stats()?.store.chunks;
    drop(engine);
    let build = json!({ "wall": start.elapsed().as_secs_f64(), "cpu": cpu_seconds()? - before });
    Ok(json!({ "build": build, "peak": peak_mb()? - held, "chunks": chunks }))
}

/// Asks every question, its embedding at hand.
fn ask(data: &Path, index: &Path) -> Outcome<serde_json::Value> {
    let questions = RealText::read(data)?.questions;
    let engine = Engine::open_read_only(index, stored_vectors()?)?;
    let mut times = Vec::new();
    for round in 0..2 {
        for question in &questions {
            let query = search_query(question, SearchStrategy::Hybrid)?;
            let start = Instant::now();
            engine.search(&query)?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let at = |part: usize| times.get(times.len() * part / 100);
    Ok(json!({ "p50": at(50), "p95": at(95), "peak": peak_mb()? }))
}

fn stored_vectors() -> Outcome<EngineConfig> {
    let model = Model::Custom(Arc::new(RealVectors::open()?));
    Ok(EngineConfig { model, ..EngineConfig::default() })
}

fn write_vector<'v>(
    file: &mut impl std::io::Write,
    vector: impl Iterator<Item = &'v f32>,
) -> Outcome {
    for number in vector {
        file.write_all(&number.to_le_bytes())?;
    }
    Ok(())
}
