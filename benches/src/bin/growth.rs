//! What grows with an index: each operation at several sizes, on text that people wrote, in CPU
//! time and memory of a process of its own. `table` puts the figures into `docs/BENCHMARKS.md`.
//!
//! ```sh
//! cargo run --release -p benches --bin growth -- DATA 1000 10000 100000
//! ```
//!
//! The default model has to be there; it embeds the first 10,000 real texts once. An index of each
//! size is made once and kept in the build folder with what it cost; what changes it works on a copy.

use std::{
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
    time::Instant,
};

use benches::{
    Outcome, RealText, RealVectors, copy_files, cpu_seconds, folder, label, peak_mb, search_query,
};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use trefoil::{Document, Engine, EngineConfig, Model, SearchQuery, SearchStrategy};

/// Documents of one ingest.
const BATCH: usize = 2_000;
/// The document that is there at every size.
const ONE: (&str, &str) =
    ("one.md", "The lighthouse keeper Ada Brenner wrote to Tokyo about the storm.");

/// What is measured at each size.
struct Operation {
    name: &'static str,
    /// As the table names it.
    title: &'static str,
    run: fn(&Place) -> Outcome<Cost>,
    on: On,
}

/// Which index an operation works on.
#[derive(Clone, Copy, PartialEq)]
enum On {
    /// It makes it, once.
    New,
    /// It leaves it as it is.
    Kept,
    /// It changes a copy.
    Copy,
}

const OPERATIONS: [Operation; 10] = [
    Operation { name: "ingest", title: "ingest all, no vectors", run: ingest, on: On::New },
    Operation { name: "reports", title: "communities and reports", run: reports, on: On::New },
    Operation { name: "embed", title: "index all stored vectors", run: embed, on: On::New },
    Operation { name: "add", title: "add a document of one line", run: add, on: On::Copy },
    Operation { name: "unchanged", title: "ingest it unchanged", run: unchanged, on: On::Copy },
    Operation { name: "forget", title: "forget it", run: forget, on: On::Copy },
    Operation { name: "first", title: "open, first keyword answer", run: first, on: On::Kept },
    Operation { name: "keyword", title: "keyword question, median", run: keyword, on: On::Kept },
    Operation { name: "hybrid", title: "hybrid question, median", run: hybrid, on: On::Kept },
    Operation { name: "bytes", title: "bytes on disk a chunk", run: bytes, on: On::Kept },
];

/// Where an operation finds what it needs.
struct Place {
    data: PathBuf,
    size: usize,
    index: PathBuf,
}

/// What an operation took.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Cost {
    /// Seconds of all cores; bytes where bytes are counted.
    amount: f64,
    /// Peak resident memory of the process in MB.
    peak: f64,
}

#[expect(clippy::print_stdout, reason = "what a measuring process says to the one that started it")]
fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["measure", name, data, size, index] => {
            let place = Place { data: data.into(), size: size.parse()?, index: index.into() };
            let operation = OPERATIONS.iter().find(|operation| operation.name == *name);
            let cost = (operation.ok_or("no such operation")?.run)(&place)?;
            println!("{}", serde_json::to_string(&cost)?);
            Ok(())
        }
        [data, sizes @ ..] if !sizes.is_empty() => {
            let sizes = sizes.iter().map(|size| size.parse()).collect::<Result<Vec<_>, _>>()?;
            compare(Path::new(data), &sizes)
        }
        _ => Err("usage: growth DATA SIZE…, the folder of the collections and chunks".into()),
    }
}

/// Measures every operation at every size.
fn compare(data: &Path, sizes: &[usize]) -> Outcome {
    embed_real_texts(data, sizes.iter().copied().max().unwrap_or_default())?;
    let mut rows: Vec<Vec<Cost>> = Vec::new();
    for operation in &OPERATIONS {
        let at = |size: &usize| in_own_process(operation, data, *size);
        rows.push(sizes.iter().map(at).collect::<Outcome<_>>()?);
    }
    fs::write(folder()?.join("growth.md"), table(sizes, &rows)?)?;
    Ok(())
}

/// Has the model embed the real texts of the largest index, and the questions.
fn embed_real_texts(data: &Path, size: usize) -> Outcome {
    let text = RealText::read(data)?;
    fs::write(questions_file()?, serde_json::to_vec(&text.questions)?)?;
    RealVectors::make(&text.embedded(size))
}

fn in_own_process(operation: &Operation, data: &Path, size: usize) -> Outcome<Cost> {
    let kept = folder()?.join(format!("growth-{}", label(size)));
    let cost_of_making = kept.with_extension(format!("{}.json", operation.name));
    if operation.on == On::New && cost_of_making.exists() {
        return Ok(serde_json::from_slice(&fs::read(cost_of_making)?)?);
    }
    let copy = TempDir::new_in(folder()?)?;
    let index = if operation.on == On::Copy {
        copy_files(&kept, copy.path())?;
        copy.path()
    } else {
        &kept
    };
    let mut command = Command::new(env::current_exe()?);
    command.args(["measure", operation.name]).arg(data).arg(size.to_string()).arg(index);
    let output = command.output()?;
    if !output.status.success() {
        let reason = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{} at {size} chunks: {reason}", operation.name).into());
    }
    if operation.on == On::New {
        fs::write(cost_of_making, &output.stdout)?;
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

fn ingest(place: &Place) -> Outcome<Cost> {
    let text = RealText::read(&place.data)?;
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, without_vectors())?;
    engine.ingest(&[Document::new(ONE.0, ONE.1)])?;
    let mut documents = text.documents(place.size);
    loop {
        let batch: Vec<Document> = documents.by_ref().take(BATCH).collect();
        if batch.is_empty() {
            break;
        }
        engine.ingest(&batch)?;
    }
    drop(engine);
    since(before)
}

fn reports(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, without_vectors())?;
    engine.wait_until_indexed()?;
    drop(engine);
    since(before)
}

fn embed(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, with_vectors()?)?;
    let waiting = engine.wait_until_indexed()?;
    if waiting.queued + waiting.running + waiting.failed > 0 {
        return Err(format!("not all is embedded: {waiting:?}").into());
    }
    drop(engine);
    since(before)
}

fn add(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, without_vectors())?;
    engine.ingest(&[Document::new("new.md", "Mira Okafor repaired the tide clock of Otaru.")])?;
    drop(engine);
    since(before)
}

fn unchanged(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, without_vectors())?;
    engine.ingest(&[Document::new(ONE.0, ONE.1)])?;
    drop(engine);
    since(before)
}

fn forget(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_with(&place.index, without_vectors())?;
    engine.forget_document(ONE.0)?;
    drop(engine);
    since(before)
}

fn first(place: &Place) -> Outcome<Cost> {
    let before = cpu_seconds()?;
    let engine = Engine::open_read_only(&place.index, without_vectors())?;
    let questions = questions()?;
    engine.search(&search_query(
        questions.first().ok_or("no questions")?,
        SearchStrategy::KEYWORD,
    )?)?;
    since(before)
}

fn keyword(place: &Place) -> Outcome<Cost> {
    median(&Engine::open_read_only(&place.index, without_vectors())?, &SearchStrategy::KEYWORD)
}

fn hybrid(place: &Place) -> Outcome<Cost> {
    median(&Engine::open_read_only(&place.index, with_vectors()?)?, &SearchStrategy::Hybrid)
}

/// The median of all questions, asked one after the other after a round that warms caches.
fn median(engine: &Engine, strategy: &SearchStrategy) -> Outcome<Cost> {
    let questions = questions()?.into_iter();
    let queries: Vec<SearchQuery> = questions
        .map(|question| search_query(&question, strategy.clone()))
        .collect::<Outcome<_>>()?;
    let mut times = Vec::new();
    for round in 0..2 {
        for query in &queries {
            let start = Instant::now();
            engine.search(query)?;
            if round > 0 {
                times.push(start.elapsed().as_secs_f64());
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let amount = times.get(times.len() / 2).copied().ok_or("no questions")?;
    Ok(Cost { amount, peak: peak_mb()? })
}

fn bytes(place: &Place) -> Outcome<Cost> {
    let engine = Engine::open_read_only(&place.index, without_vectors())?;
    let stats = engine.stats()?;
    Ok(Cost { amount: stats.bytes as f64 / stats.store.chunks as f64, peak: peak_mb()? })
}

fn without_vectors() -> EngineConfig {
    EngineConfig { model: Model::None, ..EngineConfig::default() }
}

fn with_vectors() -> Outcome<EngineConfig> {
    let model = Model::Custom(Arc::new(RealVectors::open()?));
    Ok(EngineConfig { model, ..EngineConfig::default() })
}

fn questions_file() -> Outcome<PathBuf> {
    Ok(folder()?.join("growth-questions.json"))
}

fn questions() -> Outcome<Vec<String>> {
    Ok(serde_json::from_slice(&fs::read(questions_file()?)?)?)
}

fn since(before: f64) -> Outcome<Cost> {
    Ok(Cost { amount: cpu_seconds()? - before, peak: peak_mb()? })
}

/// A row an operation, a column a size; the last is the growth from the first size to the last.
fn table(sizes: &[usize], rows: &[Vec<Cost>]) -> Outcome<String> {
    let mut table = String::from("| operation |");
    for size in sizes {
        write!(table, " {} |", label(*size))?;
    }
    table.push_str(" growth |\n|---|");
    table.push_str(&"--:|".repeat(sizes.len() + 1));
    table.push('\n');
    for (operation, costs) in OPERATIONS.iter().zip(rows) {
        write!(table, "| {} |", operation.title)?;
        for Cost { amount, peak } in costs {
            match operation.name {
                "bytes" => write!(table, " {amount:.0} |")?,
                "keyword" | "hybrid" => {
                    write!(table, " {:.2} ms, {peak:.0} MB |", amount * 1e3)?;
                }
                _ => write!(table, " {amount:.2} s, {peak:.0} MB |")?,
            }
        }
        // CPU time is counted in hundredths of a second.
        let is_cpu = !matches!(operation.name, "keyword" | "hybrid" | "bytes");
        let least = if is_cpu { 0.01 } else { f64::MIN_POSITIVE };
        if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
            writeln!(table, " {:.1} × |", last.amount / first.amount.max(least))?;
        }
    }
    Ok(table)
}
