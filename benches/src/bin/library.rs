//! What the library does of itself, next to which a binding of it is measured: `make` writes an
//! index of so many passages with vectors of the caller, its documents and its questions into a
//! folder; `answer` then reads commands from its input and prints a figure for each.
//!
//! ```sh
//! cargo run --release -p benches --bin library -- make target/benches/library 10000
//! echo search 0 | cargo run --release -p benches --bin library -- answer target/benches/library
//! ```
//!
//! The default model has to be there; it embeds the fixtures once.

use std::{
    env, fs,
    io::{BufRead, stdin},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use benches::{Fixtures, Outcome, StoredVectors, search_query};
use serde::{Deserialize, Serialize};
use trefoil::{
    Document, DocumentFormat, Engine, EngineConfig, Model, SearchFilters, SearchQuery,
    SearchStrategy, index::Role, model::Embedder, search::Embedding,
};

fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["make", folder, passages] => make(&Folder(folder.into()), passages.parse()?),
        ["answer", folder] => answer(&Folder(folder.into())),
        _ => Err("usage: library make FOLDER PASSAGES, or answer FOLDER".into()),
    }
}

/// Where the index is, with its documents and its questions.
struct Folder(PathBuf);

#[derive(Serialize, Deserialize)]
struct Asked {
    text: String,
    embedding: Vec<f32>,
}

impl Folder {
    fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    fn documents(&self) -> Outcome<Vec<Document>> {
        Ok(serde_json::from_slice(&fs::read(self.0.join("documents.json"))?)?)
    }

    fn questions(&self) -> Outcome<Vec<Asked>> {
        Ok(serde_json::from_slice(&fs::read(self.0.join("questions.json"))?)?)
    }

    fn config(&self) -> Outcome<EngineConfig> {
        let dimensions = self.questions()?.first().map_or(0, |asked| asked.embedding.len());
        let model = Model::External { name: "fixtures".to_owned(), dimensions };
        Ok(EngineConfig { model, ..EngineConfig::default() })
    }
}

fn make(folder: &Folder, passages: usize) -> Outcome {
    let fixtures = Fixtures::load()?;
    let vectors = StoredVectors::of(&fixtures)?;
    fs::create_dir_all(&folder.0)?;
    let questions = fixtures.questions.iter().map(|question| {
        let embedding = vectors.embed(Role::Query, &[&question.text])?;
        Ok(Asked { text: question.text.clone(), embedding: embedding.into_iter().collect() })
    });
    let questions = questions.collect::<Outcome<Vec<_>>>()?;
    fs::write(folder.0.join("questions.json"), serde_json::to_vec(&questions)?)?;
    let own = fixtures.passages().into_iter().enumerate();
    let own = own.map(|(number, text)| Document::new(format!("own/{number}"), text));
    let grown = fixtures.grown(passages).into_iter().filter(|one| one.path.starts_with("grown/"));
    let documents = own.chain(grown).map(|document| {
        let embedding = vectors.embed(Role::Passage, &[&document.body])?;
        let mut document = document.format(DocumentFormat::Whole);
        document.embedding = Some(Embedding::new(embedding.into_iter().collect())?);
        Ok(document)
    });
    let documents = documents.collect::<Outcome<Vec<_>>>()?;
    fs::write(folder.0.join("documents.json"), serde_json::to_vec(&documents)?)?;
    let engine = Engine::open_with(folder.index(), folder.config()?)?;
    engine.ingest(&documents)?;
    engine.wait_until_indexed()?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the figures are what it is for")]
fn answer(folder: &Folder) -> Outcome {
    let engine = Engine::open_read_only(folder.index(), folder.config()?)?;
    let questions = folder.questions()?;
    let asked = |number: usize| questions.get(number % questions.len()).ok_or("no questions");
    let query = |number: usize| -> Outcome<SearchQuery> {
        let one = asked(number)?;
        let embedding = Embedding::new(one.embedding.clone())?;
        Ok(SearchQuery {
            embedding: Some(embedding),
            ..search_query(&one.text, SearchStrategy::Hybrid)?
        })
    };
    for line in stdin().lock().lines() {
        let line = line?;
        let figure = match line.split(' ').collect::<Vec<_>>().as_slice() {
            ["search", number] => {
                let query = query(number.parse()?)?;
                seconds(|| Ok(engine.search(&query)?))?
            }
            ["vector", number] => {
                let vector = &asked(number.parse()?)?.embedding;
                let options = query(0)?.options;
                let filters = SearchFilters::default();
                seconds(|| Ok(engine.search_by_embedding(vector, filters, options)?))?
            }
            ["many", threads, seconds] => {
                let queries = (0..questions.len()).map(query).collect::<Outcome<Vec<_>>>()?;
                many(&engine, &queries, threads.parse()?, seconds.parse()?)?
            }
            ["ingest"] => {
                let documents = folder.documents()?;
                let place = tempfile::tempdir()?;
                let engine = Engine::open_with(place.path(), folder.config()?)?;
                seconds(|| {
                    engine.ingest(&documents)?;
                    Ok(engine.wait_until_indexed()?)
                })?
            }
            _ => return Err(format!("no such command: {line}").into()),
        };
        println!("{figure}");
    }
    Ok(())
}

fn seconds<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64())
}

/// Searches a second of so many threads that ask at once.
fn many(engine: &Engine, queries: &[SearchQuery], threads: usize, seconds: u64) -> Outcome<f64> {
    let began = Instant::now();
    let until = began + Duration::from_secs(seconds);
    let ask = |first: usize| -> Outcome<usize> {
        let mut done = 0;
        for query in queries.iter().cycle().skip(first * 7) {
            if Instant::now() >= until {
                break;
            }
            engine.search(query)?;
            done += 1;
        }
        Ok(done)
    };
    let done = thread::scope(|scope| {
        let asking: Vec<_> = (0..threads).map(|first| scope.spawn(move || ask(first))).collect();
        asking
            .into_iter()
            .map(|one| one.join().map_err(|_| "a thread has panicked")?)
            .sum::<Outcome<usize>>()
    })?;
    Ok(done as f64 / began.elapsed().as_secs_f64())
}
