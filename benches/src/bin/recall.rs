//! How well and how fast memory recalls one claim among ten thousand: Recall@10 of the questions of
//! a collection, and how long a recall takes besides the embedding of its question. Prints Markdown.
//!
//! ```sh
//! cargo run --release -p benches --bin recall -- DATA locomo-dev hotpot-mh musique-mh
//! ```
//!
//! Each document of the first collection is a claim, and so is each sentence of the others, until
//! there are ten thousand. The first may be a file of claims with a question each, such as
//! `fixtures/recall/ja.toml`.

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use benches::{Outcome, folder};
use serde::Deserialize;
use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, TokenModel, TokenVectors,
    index::Role,
    memory::{BoundaryClass, ClaimId, MemoryUpkeep},
};
use trefoil_eval::{Collection, Qrels, Query};
use trefoil_memory::{Boundary, ClaimDraft, Memory, ObservationDraft, recall::RecallQuery};
use trefoil_text::{language_of, sentences};

/// How many claims there are.
const CLAIMS: usize = 10_000;
/// How many are stored at once.
const BATCH: usize = 500;
/// Characters of a claim.
const LENGTHS: std::ops::RangeInclusive<usize> = 15..=400;
/// How many questions are asked.
const QUESTIONS: usize = 200;
/// How many claims are shown.
const SHOWN: usize = 10;
/// The head of the table.
const HEAD: &str =
    "| claims of | claims | questions | token vectors | Recall@10 | p50 ms | p95 ms |
|---|--:|--:|---|--:|--:|--:|";

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let [data, name, others @ ..] = args.as_slice() else {
        return Err(
            "usage: recall DATA COLLECTION [COLLECTION...], the folder of the collections \
                    and those whose texts are claims"
                .into(),
        );
    };
    let read = |name: &String| Collection::read(Path::new(data).join(name), language_of);
    let is_pairs = Path::new(name).extension().is_some_and(|extension| extension == "toml");
    let asked = if is_pairs { pairs(Path::new(name))? } else { read(name)? };
    let others = others.iter().map(read).collect::<trefoil::Result<Vec<_>>>()?;
    let claims = claims(&asked, &others);
    println!("{HEAD}");
    for (token_vectors, token_model, said) in [
        (TokenVectors::Auto, TokenModel::Default, "of late interaction"),
        (TokenVectors::Auto, TokenModel::None, "of the embedder"),
        (TokenVectors::Off, TokenModel::None, "none"),
    ] {
        let place = TempDir::new_in(folder()?)?;
        let index = place.path().join("index");
        let config = EngineConfig {
            memory: MemoryUpkeep::ASKED_FOR,
            token_vectors,
            token_model,
            ..EngineConfig::default()
        };
        let engine = Arc::new(Engine::open_with(index, config)?);
        let memory = Memory::new(Arc::clone(&engine));
        let ids = told(&memory, &claims)?;
        let (questions, recall, times) = recalled(&engine, &memory, &ids, &asked)?;
        let at = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
        let [p50, p95] = [50, 95].map(|share| at(share).as_secs_f64() * 1000.0);
        let count = claims.len();
        println!("| {name} | {count} | {questions} | {said} | {recall:.3} | {p50:.1} | {p95:.1} |");
    }
    Ok(())
}

/// A file of claims and their questions as a collection.
fn pairs(path: &Path) -> Outcome<Collection> {
    #[derive(Deserialize)]
    struct Pairs {
        pairs: Vec<(String, String)>,
    }
    let Pairs { pairs } = toml::from_str(&fs::read_to_string(path)?)?;
    let mut collection = Collection {
        name: path.display().to_string(),
        documents: Vec::new(),
        queries: Vec::new(),
        qrels: Qrels::default(),
        languages: BTreeMap::new(),
    };
    for (at, (claim, question)) in pairs.into_iter().enumerate() {
        let (id, language) = (at.to_string(), language_of(&question));
        collection.qrels.insert(&id, &id, 1);
        collection.documents.push(Document::new(&id, claim));
        collection.queries.push(Query { id, text: question, language, kind: None });
    }
    Ok(collection)
}

/// The texts of claims, each once, with the document that one is.
fn claims(own: &Collection, others: &[Collection]) -> Vec<(Option<String>, String)> {
    let own = own.documents.iter().map(|one| {
        let text = one.body.chars().take(*LENGTHS.end()).collect();
        (Some(one.path.clone()), text)
    });
    let others = others.iter().flat_map(|one| &one.documents).flat_map(|document| {
        let body = &document.body;
        let spans = sentences(body, language_of(body)).into_iter();
        let texts = spans.filter_map(|span| body.get(span.start..span.end));
        texts.map(|text| (None, text.trim().to_owned())).collect::<Vec<_>>()
    });
    let mut seen = BTreeSet::new();
    let is_new = |(_, text): &(Option<String>, String)| {
        LENGTHS.contains(&text.chars().count()) && seen.insert(text.clone())
    };
    own.chain(others).filter(is_new).take(CLAIMS).collect()
}

/// Tells them to a memory; which documents its claims are.
fn told(
    memory: &Memory,
    claims: &[(Option<String>, String)],
) -> Outcome<BTreeMap<ClaimId, String>> {
    let seen = memory.observe(ObservationDraft::message("They were told."))?.id;
    let mut ids = BTreeMap::new();
    for some in claims.chunks(BATCH) {
        let draft = |(_, text): &(Option<String>, String)| ClaimDraft {
            boundary_class: BoundaryClass::Public,
            ..ClaimDraft::observed(text.as_str(), seen.clone())
        };
        let stored = memory.insert_claims(some.iter().map(draft).collect())?;
        let named = stored.into_iter().zip(some);
        ids.extend(named.filter_map(|(claim, (path, _))| Some((claim.id, path.clone()?))));
    }
    memory.wait_until_indexed()?;
    Ok(ids)
}

/// How many questions were asked, the mean share of what answers that is among the first, and the
/// times, ascending.
fn recalled(
    engine: &Engine,
    memory: &Memory,
    ids: &BTreeMap<ClaimId, String>,
    asked: &Collection,
) -> Outcome<(usize, f64, Vec<Duration>)> {
    let answerable: Vec<_> = asked.answerable().collect();
    let step = answerable.len().div_ceil(QUESTIONS).max(1);
    let (mut sum, mut times) = (0.0, Vec::new());
    for query in answerable.into_iter().step_by(step) {
        let question =
            RecallQuery { top_k: SHOWN, save: false, ..RecallQuery::new(query.text.as_str()) };
        let embedding = Instant::now();
        engine.memory().embed(Role::Query, &query.text)?;
        let embedding = embedding.elapsed();
        let began = Instant::now();
        let found = memory.recall(&question, &Boundary::default())?;
        times.push(began.elapsed().saturating_sub(embedding));
        let judged = asked.qrels.get(&query.id).into_iter().flatten();
        let right: Vec<&String> = judged.filter(|(_, gain)| **gain > 0).map(|one| one.0).collect();
        let shown: BTreeSet<&String> =
            found.claims.iter().filter_map(|one| ids.get(&one.claim.id)).collect();
        let hits = right.iter().filter(|path| shown.contains(*path)).count();
        sum += hits as f64 / right.len().clamp(1, SHOWN) as f64;
    }
    times.sort_unstable();
    Ok((times.len(), sum / times.len().max(1) as f64, times))
}
