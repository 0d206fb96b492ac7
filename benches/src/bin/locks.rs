//! How long questions take while something else is done with the index, and with how many of them
//! at once, on text that people wrote. Prints tables.
//!
//! ```sh
//! cargo run --release -p benches --bin locks -- DATA 10000
//! ```
//!
//! The default model has to be there; it embeds each real text once. The index is made once and
//! kept in the build folder; everything is done to a copy of it.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use benches::{Outcome, RealText, RealVectors, copy_files, folder, search_query};
use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, Model, SearchQuery, SearchStrategy, index::VectorConfig,
};

/// Documents of one ingest.
const BATCH: usize = 500;
/// Documents that are forgotten, one after the other.
const FORGOTTEN: usize = 8;
/// How long questions are asked where nothing else ends first.
const ASKED: Duration = Duration::from_secs(10);
/// Threads that ask.
const THREADS: [usize; 4] = [1, 8, 64, 256];
/// Above so many vectors a graph is built, so that there is one at every size.
const EXACT_LIMIT: usize = 1_000;

/// What is done while questions are asked; the round is that of keyword, then of hybrid questions.
type Work<'w> = &'w dyn Fn(usize) -> trefoil::Result<()>;

fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let [data, size] = args.as_slice() else {
        return Err("usage: locks DATA SIZE, the folder of the collections and chunks".into());
    };
    let text = RealText::read(Path::new(data))?;
    let documents: Vec<Document> = text.documents(size.parse()?).collect();
    let kept = indexed(&text, &documents, size)?;
    let copy = TempDir::new_in(folder()?)?;
    copy_files(&kept, copy.path())?;
    let engine = Engine::open_with(copy.path(), config()?)?;
    engine.wait_until_indexed()?;
    next_to_writes(&engine, &text, &documents)?;
    many_at_once(&engine, &text)
}

/// The index of the documents, which is made if it is not there.
fn indexed(text: &RealText, documents: &[Document], size: &str) -> Outcome<PathBuf> {
    RealVectors::make(&text.embedded(size.parse()?))?;
    let (kept, new) = (folder()?.join(format!("locks-{size}")), TempDir::new_in(folder()?)?);
    if !kept.exists() {
        let engine = Engine::open_with(new.path(), config()?)?;
        for batch in documents.chunks(BATCH) {
            engine.ingest(batch)?;
        }
        engine.wait_until_indexed()?;
        drop(engine);
        fs::rename(new.path(), &kept)?;
    }
    Ok(kept)
}

fn config() -> Outcome<EngineConfig> {
    let model = Model::Custom(Arc::new(RealVectors::open()?));
    let vectors = VectorConfig { exact_limit: EXACT_LIMIT, ..VectorConfig::default() };
    Ok(EngineConfig { model, vectors, ..EngineConfig::default() })
}

/// Questions of one thread: alone, and while the index is written.
#[expect(clippy::print_stdout, reason = "the result of the program")]
fn next_to_writes(engine: &Engine, text: &RealText, documents: &[Document]) -> Outcome {
    println!("| one thread of questions | keyword p50, p99 | hybrid p50, p99 |\n|---|--:|--:|");
    let edited = |round: usize| {
        documents.iter().map(move |document| Document {
            body: format!("{}\n\nEdited {round} times.", document.body),
            ..document.clone()
        })
    };
    let ingest = |round: usize| {
        let documents: Vec<Document> = edited(round).collect();
        documents.chunks(BATCH).try_for_each(|batch| engine.ingest(batch).map(drop))
    };
    let rows: [(&str, Work<'_>); 4] = [
        ("alone", &|_| {
            thread::sleep(ASKED);
            Ok(())
        }),
        ("next to a full ingest", &ingest),
        ("next to embedding and merging", &|_| engine.wait_until_indexed().map(drop)),
        ("next to forgetting", &|round| {
            let paths = documents.iter().map(|document| document.path.as_str());
            let paths = paths.skip(round * FORGOTTEN).take(FORGOTTEN);
            paths.into_iter().try_for_each(|path| engine.forget_document(path).map(drop))
        }),
    ];
    for (title, work) in rows {
        let mut cells = Vec::new();
        for (round, strategy) in
            [SearchStrategy::KEYWORD, SearchStrategy::Hybrid].iter().enumerate()
        {
            if title.contains("merging") {
                ingest(round + 2)?;
            }
            let queries = queries(text, strategy)?;
            let done = AtomicBool::new(false);
            let mut times = thread::scope(|scope| {
                let asking = scope.spawn({
                    let (done, queries) = (&done, &queries);
                    move || ask(engine, queries, 0, &|| done.load(Ordering::Relaxed))
                });
                let worked = work(round);
                done.store(true, Ordering::Relaxed);
                worked.map_err(Into::into).and_then(|()| joined(asking.join()))
            })?;
            cells.push(percentiles(&mut times));
        }
        println!("| {title} | {} |", cells.join(" | "));
    }
    Ok(())
}

/// Questions of many threads.
#[expect(clippy::print_stdout, reason = "the result of the program")]
fn many_at_once(engine: &Engine, text: &RealText) -> Outcome {
    for (name, strategy) in
        [("keyword", SearchStrategy::KEYWORD), ("hybrid", SearchStrategy::Hybrid)]
    {
        println!("\n| threads, {name} | questions a second | p50, p99 | threads started |");
        println!("|--:|--:|--:|--:|");
        let queries = queries(text, &strategy)?;
        for threads in THREADS {
            let start = Instant::now();
            let until = || start.elapsed() >= ASKED;
            let (before, mut most) = (threads_now(), 0);
            let mut times = thread::scope(|scope| {
                let (queries, until) = (&queries, &until);
                let asking: Vec<_> = (0..threads)
                    .map(|place| scope.spawn(move || ask(engine, queries, place, until)))
                    .collect();
                while !until() {
                    most = most.max(threads_now());
                    thread::sleep(Duration::from_millis(50));
                }
                let mut times = Vec::new();
                for one in asking {
                    times.extend(joined(one.join())?);
                }
                Outcome::Ok(times)
            })?;
            let a_second = times.len() as f64 / start.elapsed().as_secs_f64();
            let started = most.saturating_sub(before + threads);
            let percentiles = percentiles(&mut times);
            println!("| {threads} | {a_second:.0} | {percentiles} | {started} |");
        }
    }
    Ok(())
}

/// Asks one question after the other, beginning with that at `first`, and says how long each took.
fn ask(
    engine: &Engine,
    queries: &[SearchQuery],
    first: usize,
    is_done: &dyn Fn() -> bool,
) -> Outcome<Vec<f64>> {
    let mut times = Vec::new();
    for query in queries.iter().cycle().skip(first) {
        if is_done() && !times.is_empty() {
            break;
        }
        let start = Instant::now();
        engine.search(query)?;
        times.push(start.elapsed().as_secs_f64());
    }
    Ok(times)
}

fn joined<T>(outcome: thread::Result<Outcome<T>>) -> Outcome<T> {
    outcome.unwrap_or_else(|_| Err("a thread of questions has panicked".into()))
}

fn queries(text: &RealText, strategy: &SearchStrategy) -> Outcome<Vec<SearchQuery>> {
    let query = |question: &String| search_query(question, strategy.clone());
    text.questions.iter().map(query).collect()
}

fn percentiles(times: &mut [f64]) -> String {
    times.sort_by(f64::total_cmp);
    let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default() * 1e3;
    format!("{:.2} ms, {:.2} ms", at(50), at(99))
}

/// Threads of this process, as proc(5) counts them; 0 where it does not.
fn threads_now() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}
