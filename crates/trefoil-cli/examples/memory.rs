//! What memory finds, and what that costs.
//!
//! `cargo run --release -p trefoil-cli --example memory -- DATA/locomo-dev DATA/…`, where each
//! `DATA/<name>` is a collection in BEIR layout. The first holds conversations: the part of a
//! document's id before the first colon names its conversation, and its title is that of the
//! session, a comma and the date. The others are there to distract. The default model has to be there.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    sync::Arc,
    time::{Duration, Instant},
};

use trefoil::{
    Document, Engine, EngineConfig, Language,
    index::Role,
    memory::{BoundaryClass, MemoryUpkeep, ObservationId, UnitKind},
};
use trefoil_eval::{Collection, Interval, Judgements, Metric, Query, mean};
use trefoil_memory::{
    Boundary, ClaimDraft, FindOptions, Memory, ObservationDraft, recall::RecallQuery,
};

/// Claims that are looked for, and that they are among in the end.
const CLAIMS: [usize; 2] = [100, 10_000];
const SHOWN: usize = 10;

fn main() -> anyhow::Result<()> {
    let mut collections = std::env::args()
        .skip(1)
        .map(|folder| Collection::read(folder, |_| Language::En))
        .collect::<Result<Vec<_>, _>>()?;
    anyhow::ensure!(!collections.is_empty(), "name the folder of a collection of conversations");
    let conversations = collections.remove(0);
    observations(&conversations)?;
    for told in [false, true] {
        claims(&conversations, &collections, told)?;
    }
    Ok(())
}

/// An engine and its memory in a folder that is removed with it.
struct Place {
    engine: Arc<Engine>,
    memory: Memory,
    _folder: tempfile::TempDir,
}

impl Place {
    fn new() -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let memory = MemoryUpkeep::ASKED_FOR;
        let config = EngineConfig { memory, ..EngineConfig::default() };
        let engine = Arc::new(Engine::open_with(folder.path(), config)?);
        anyhow::ensure!(engine.stats()?.embedding.is_some(), "`trefoil models pull` first");
        Ok(Self { memory: Memory::new(Arc::clone(&engine)), engine, _folder: folder })
    }
}

impl Place {
    /// Observes turns of a conversation as messages of its sessions, in order.
    fn observe<'t>(
        &self,
        turns: &[&'t Document],
    ) -> anyhow::Result<Vec<(&'t Document, ObservationId)>> {
        let mut sessions = BTreeMap::new();
        let mut observed = Vec::new();
        for &turn in turns {
            let (title, date) = turn.title.split_once(", ").unwrap_or((&turn.title, ""));
            let session = match sessions.entry(title) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.memory.create_session(title)?.id),
            };
            let content = format!("{}\n({date})", turn.body);
            let observation = self.memory.observe(ObservationDraft {
                session: Some(session.clone()),
                ..ObservationDraft::message(content)
            })?;
            observed.push((turn, observation.id));
        }
        Ok(observed)
    }
}

/// Each turn is an observation of its session; a question looks for the turns that answer it,
/// in its own conversation.
fn observations(collection: &Collection) -> anyhow::Result<()> {
    let turns = conversations(collection);
    let mut values: BTreeMap<Metric, Vec<f64>> = BTreeMap::new();
    for (name, turns) in &turns {
        let place = Place::new()?;
        let mut ids = BTreeMap::new();
        for (turn, id) in place.observe(turns)? {
            ids.insert(id.to_string(), turn.path.as_str());
        }
        place.engine.memory().wait_until_indexed()?;
        let view = place.memory.view(
            RecallQuery::default(),
            Boundary {
                boundary_classes: BoundaryClass::ALL.iter().copied().collect(),
                ..Boundary::default()
            },
        );
        let options =
            FindOptions { limit: SHOWN, types: vec![UnitKind::Episode], ..FindOptions::default() };
        for query in collection.answerable().filter(|query| conversation(&query.id) == *name) {
            let found = view.search(&query.text, &options)?;
            let ranking: Vec<&str> =
                found.views.iter().filter_map(|view| ids.get(view.id.as_str()).copied()).collect();
            let judgements = judged(collection, query)?;
            for metric in [Metric::Ndcg(SHOWN), Metric::Recall(SHOWN)] {
                values
                    .entry(metric)
                    .or_default()
                    .push(metric.of(ranking.iter().copied(), judgements));
            }
        }
    }
    println!("{} turns of {} conversations\n", collection.documents.len(), turns.len());
    println!("| measure | questions | value |\n|---|---:|---:|");
    for (metric, values) in &values {
        let (mean, Interval { low, high }) = (mean(values), Interval::bootstrap(values));
        println!("| {metric} | {} | {mean:.4} ({low:.3}–{high:.3}) |", values.len());
    }
    Ok(())
}

/// The turns that answer a hundred questions are claims; ever more others join them. If they are
/// `told`, each turn is observed as a message of its session, which tells its claim.
fn claims(collection: &Collection, others: &[Collection], told: bool) -> anyhow::Result<()> {
    let mut asked: Vec<(&Query, String)> = Vec::new();
    let mut texts = BTreeSet::new();
    for query in collection.answerable() {
        let judgements = judged(collection, query)?;
        let mut right = judgements.iter().filter(|&(_, &gain)| gain > 0).map(|(id, _)| id.as_str());
        let (Some(id), None) = (right.next(), right.next()) else { continue };
        let turn = collection.documents.iter().find(|turn| turn.path == id);
        let text = turn.map(claim).unwrap_or_default();
        if asked.len() < CLAIMS[0] && !text.is_empty() && texts.insert(text.clone()) {
            asked.push((query, text));
        }
    }
    let mut known: BTreeSet<String> = texts;
    let others = others.iter().flat_map(|other| &other.documents).map(claim);
    let mut distractors = collection.documents.iter().map(claim).chain(others);
    let place = Place::new()?;
    let source = place.memory.observe(ObservationDraft::message("what was said"))?.id;
    let mut messages: BTreeMap<String, ObservationId> = BTreeMap::new();
    for turns in conversations(collection).values().filter(|_| told) {
        for (turn, id) in place.observe(turns)? {
            messages.entry(claim(turn)).or_insert(id);
        }
    }
    let insert = |texts: Vec<String>| {
        let draft = |text| {
            let source = messages.get(&text).unwrap_or(&source).clone();
            ClaimDraft::observed(text, source)
        };
        place.memory.insert_claims(texts.into_iter().map(draft).collect())
    };
    insert(asked.iter().map(|(_, text)| text.clone()).collect())?;
    println!("\nClaims {} the messages that tell them", if told { "with" } else { "without" });
    println!("\n| claims | Recall@{SHOWN} | recall, median | of which embedding |");
    println!("|---:|---:|---:|---:|");
    for &wanted in &CLAIMS {
        let missing = wanted.saturating_sub(known.len());
        let fresh = distractors.by_ref().filter(|text| !text.is_empty());
        let fresh = fresh.filter(|text| known.insert(text.clone()));
        let fresh: Vec<String> = fresh.take(missing).collect();
        for some in fresh.chunks(500) {
            insert(some.to_vec())?;
        }
        place.engine.memory().wait_until_indexed()?;
        let mut found = 0;
        let (mut whole, mut embedding) = (Vec::new(), Vec::new());
        for (query, right) in &asked {
            let begun = Instant::now();
            place.engine.memory().embed(Role::Query, &query.text)?;
            embedding.push(begun.elapsed());
            let recall = RecallQuery { top_k: SHOWN, save: false, ..RecallQuery::new(&query.text) };
            let begun = Instant::now();
            let recalled = place.memory.recall(&recall, &Boundary::default())?;
            whole.push(begun.elapsed());
            found += usize::from(recalled.claims.iter().any(|one| one.claim.text == *right));
        }
        let recall = found as f64 / asked.len() as f64;
        let [whole, embedding] = [whole, embedding].map(median);
        println!("| {} | {recall:.3} | {whole:.1} ms | {embedding:.1} ms |", known.len());
    }
    Ok(())
}

/// The turns of each conversation, in order.
fn conversations(collection: &Collection) -> BTreeMap<&str, Vec<&Document>> {
    let mut turns: BTreeMap<&str, Vec<&Document>> = BTreeMap::new();
    for turn in &collection.documents {
        turns.entry(conversation(&turn.path)).or_default().push(turn);
    }
    turns
}

fn conversation(id: &str) -> &str {
    id.split(':').next().unwrap_or_default()
}

fn claim(turn: &Document) -> String {
    let words = turn.body.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(1_000).collect::<String>().trim_end().to_owned()
}

fn judged<'c>(collection: &'c Collection, query: &Query) -> anyhow::Result<&'c Judgements> {
    let judgements = collection.qrels.get(&query.id);
    judgements.ok_or_else(|| anyhow::anyhow!("question {} is not judged", query.id))
}

/// In milliseconds.
fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, Duration::as_secs_f64) * 1_000.0
}
