//! Another model for an index that is there: refused by accident, done on purpose, and gone on
//! with after a crash.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use trefoil::{Document, Embedder, EmbeddingSpace, Engine, EngineConfig, Model, Result, Role};

use crate::{
    campaign::process_of,
    engine::letters::Letters,
    models::without_model,
    verify::{finds, letters},
};

const DOCUMENTS: usize = 500;
/// Set for the child only: the index that it makes anew.
const CHILD: &str = "TREFOIL_REINDEX_CHILD";

/// Another model, which counts what it reads and says when it begins.
#[derive(Debug)]
struct Counting {
    letters: Letters,
    read: Arc<AtomicUsize>,
    told: bool,
}

impl Embedder for Counting {
    fn space(&self) -> &EmbeddingSpace {
        self.letters.space()
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.letters.cosine_range()
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if self.told {
            println!("embedding {}", texts.len());
        }
        self.read.fetch_add(texts.len(), Ordering::Relaxed);
        self.letters.embed(role, texts)
    }
}

/// The configuration, and how many texts were embedded with it.
fn other(told: bool) -> (EngineConfig, Arc<AtomicUsize>) {
    let read = Arc::new(AtomicUsize::new(0));
    let letters = Letters::named("other letters");
    let counting = Counting { letters, read: Arc::clone(&read), told };
    (EngineConfig { model: Model::Custom(Arc::new(counting)), ..without_model() }, read)
}

#[test]
fn a_refusal_names_both_models_and_the_way_on() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    drop(Engine::open_with(&index, letters()).unwrap());
    let (config, _) = other(false);
    for refused in [
        Engine::open_with(&index, config.clone()).unwrap_err(),
        Engine::open_read_only(&index, config).unwrap_err(),
    ] {
        let message = refused.to_string();
        for part in ["`letters ", "`other letters ", "trefoil reindex"] {
            assert!(message.contains(part), "no {part} in {message}");
        }
    }
}

#[test]
fn a_reindex_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    let engine = Engine::open_with(&index, letters()).unwrap();
    let document = |n: usize| Document::new(format!("{n}"), format!("Walrus number {n}."));
    engine.ingest(&(0..DOCUMENTS).map(document).collect::<Vec<_>>()).unwrap();
    engine.drain().unwrap();
    drop(engine);

    let embedded = reindex_until_killed(&index);
    // What was there is found by keyword at any moment.
    let reader = Engine::open_read_only(&index, without_model()).unwrap();
    assert!(finds(&reader, "number 321", "321"));
    drop(reader);
    let (config, read) = other(false);
    let engine = Engine::open_with(&index, config).unwrap();
    let left = engine.drain().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert!(read.load(Ordering::Relaxed) + embedded <= DOCUMENTS, "embedded twice");
    drop(engine);
    let verification = Engine::verify(&index).unwrap();
    assert!(verification.is_sound() && verification.lagging.is_empty(), "{verification:?}");
    assert!(verification.rows.iter().any(|&(_, rows)| rows == DOCUMENTS));
}

/// Kills a reindex when it begins its third batch; how many texts it had embedded by then.
fn reindex_until_killed(index: &Path) -> usize {
    let mut child = process_of("reindex::child").env(CHILD, index).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let batches = lines.filter_map(|line| line.split("embedding ").nth(1)?.parse().ok());
    let batches: Vec<usize> = batches.take(3).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    batches[..2].iter().sum()
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(index) = std::env::var(CHILD) else { return };
    Engine::reindex(index, other(true).0).unwrap().drain().unwrap();
}
