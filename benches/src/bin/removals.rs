//! Whether an index from which documents were removed answers as one rebuilt of those that are
//! left, for every question of collections that people wrote. Prints Markdown.
//!
//! ```sh
//! cargo run --release -p benches --bin removals -- DATA scifact cranfield hotpot-mh xreact-ko
//! ```
//!
//! `growth` has to have run on DATA: its stored vectors take the place of the model's.

use std::{env, path::Path, sync::Arc};

use benches::{Outcome, RealVectors, folder, search_query};
use tempfile::TempDir;
use trefoil::{Engine, EngineConfig, Model, SearchQuery, SearchStrategy};
use trefoil_eval::Collection;
use trefoil_text::language_of;

/// Of so many documents one is removed: 14 %.
const REMOVED: usize = 7;
/// Documents of one ingest of the index that removals follow.
const BATCH: usize = 500;
/// Results of a question that are compared.
const COMPARED: usize = 100;
/// The head of the table.
const HEAD: &str =
    "| collection | documents | removed | questions | keyword | semantic | graph | hybrid |
|---|--:|--:|--:|--:|--:|--:|--:|";
/// Whose lists are compared, in the order of the table.
const STRATEGIES: [SearchStrategy; 4] = [
    SearchStrategy::KEYWORD,
    SearchStrategy::SEMANTIC,
    SearchStrategy::GRAPH,
    SearchStrategy::Hybrid,
];

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let [data, names @ ..] = args.as_slice() else {
        return Err("usage: removals DATA COLLECTION..., the folder of the collections".into());
    };
    println!("{HEAD}");
    for name in names {
        println!("{}", row(name, &Collection::read(Path::new(data).join(name), language_of)?)?);
    }
    Ok(())
}

/// How many questions of a collection have the same list in both indexes.
fn row(name: &str, collection: &Collection) -> Outcome<String> {
    let place = TempDir::new_in(folder()?)?;
    let grown = empty(&place.path().join("grown"))?;
    for some in collection.documents.chunks(BATCH) {
        grown.ingest(some)?;
    }
    grown.wait_until_indexed()?;
    let mut kept = Vec::new();
    for (number, document) in collection.documents.iter().enumerate() {
        if number % REMOVED == 0 {
            grown.remove(&document.path)?;
        } else {
            kept.push(document.clone());
        }
    }
    grown.wait_until_indexed()?;
    let rebuilt = empty(&place.path().join("rebuilt"))?;
    rebuilt.ingest(&kept)?;
    rebuilt.wait_until_indexed()?;

    let mut equal = [0; STRATEGIES.len()];
    for question in &collection.queries {
        for (strategy, equal) in STRATEGIES.iter().zip(&mut equal) {
            let query = query(&question.text, strategy)?;
            *equal += usize::from(list(&grown, &query)? == list(&rebuilt, &query)?);
        }
    }
    let [documents, questions] = [collection.documents.len(), collection.queries.len()];
    let removed = documents - kept.len();
    let equal = equal.map(|equal| equal.to_string()).join(" | ");
    Ok(format!("| {name} | {documents} | {removed} | {questions} | {equal} |"))
}

fn empty(place: &Path) -> Outcome<Engine> {
    let model = Model::Custom(Arc::new(RealVectors::open()?));
    Ok(Engine::open_with(place, EngineConfig { model, ..EngineConfig::default() })?)
}

fn query(question: &str, strategy: &SearchStrategy) -> Outcome<SearchQuery> {
    let mut query = search_query(question, strategy.clone())?;
    query.options.limit = COMPARED;
    Ok(query)
}

/// The ids of the results with the bits of their scores.
fn list(engine: &Engine, query: &SearchQuery) -> Outcome<Vec<(String, u32)>> {
    let found = engine.search(query)?;
    Ok(found.results.into_iter().map(|one| (one.id, one.score.get().to_bits())).collect())
}
