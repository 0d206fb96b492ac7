//! Another model for an index that is there: refused by accident, made while the one in use answers
//! on purpose, and gone on with after a crash.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
        mpsc::{self, Receiver},
    },
};

use trefoil::{
    Degraded, Document, Engine, EngineConfig, Error, Model, Part, Result, RetrieverId,
    SearchOptions, SearchStrategy,
    index::{Collection, Role},
    model::{Array2, Embedder, EmbeddingSpace, ndarray::Axis},
    search::Stage,
};

use crate::{
    campaign::{any_relevance, process_of},
    crash::FAILPOINTS,
    engine::letters::Letters,
    files::copy,
    models::without_model,
    verify::{finds, letters},
};

/// Of three batches.
const DOCUMENTS: usize = 500;
/// Of two.
const FEW: usize = 200;
/// Set for the child only: where it ends, after how many passes, and the index.
const CHILD: &str = "TREFOIL_REINDEX_CHILD";

/// Another model, of shorter vectors, which counts the passages that it reads and says when it
/// begins.
#[derive(Debug)]
struct Other {
    space: EmbeddingSpace,
    read: AtomicUsize,
    manner: Manner,
}

#[derive(Debug)]
enum Manner {
    Quiet,
    Told,
    /// Waits for a ticket before each batch; none are left when the sender is gone.
    Ticketed(Mutex<Receiver<()>>),
    Broken,
}

impl Other {
    fn new(manner: Manner) -> Arc<Self> {
        let letters = Letters::named("other letters");
        let space = EmbeddingSpace { dimensions: 13, ..letters.space().clone() };
        Arc::new(Self { space, read: AtomicUsize::new(0), manner })
    }

    fn config(self: &Arc<Self>) -> EngineConfig {
        EngineConfig { model: Model::Custom(Arc::clone(self) as _), ..without_model() }
    }
}

impl Embedder for Other {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        match &self.manner {
            Manner::Told if role == Role::Passage => println!("embedding {}", texts.len()),
            Manner::Ticketed(tickets) if role == Role::Passage => {
                let _ = tickets.lock().unwrap().recv();
            }
            Manner::Broken => {
                return Err(Error::ModelMissing {
                    name: "other letters".to_owned(),
                    reason: "it is broken".to_owned(),
                });
            }
            Manner::Quiet | Manner::Told | Manner::Ticketed(_) => {}
        }
        if role == Role::Passage {
            self.read.fetch_add(texts.len(), Ordering::Relaxed);
        }
        let letters = Letters::default().embed(role, texts)?;
        let (a, b) = letters.view().split_at(Axis(1), 13);
        Ok(&a - &b)
    }
}

/// An index of the first model, where one document is like no other.
fn index_of_letters(index: &Path, documents: usize) {
    let engine = Engine::open_with(index, letters()).unwrap();
    let document = |n: usize| {
        let body = if n == 7 { "zzz zzz zz".to_owned() } else { format!("Walrus number {n}.") };
        Document::new(format!("{n}"), body)
    };
    engine.ingest(&(0..documents).map(document).collect::<Vec<_>>()).unwrap();
    engine.wait_until_indexed().unwrap();
}

/// The best document by meaning alone, and what the search says of itself.
fn by_meaning(engine: &Engine, question: &str) -> (Option<String>, Vec<Degraded>) {
    let strategies = vec![SearchStrategy::SEMANTIC];
    let options = SearchOptions { strategies, ..SearchOptions::default() };
    let found = engine.search(&any_relevance(question).replace_options(options)).unwrap();
    let first = found.results.into_iter().next();
    (first.map(|one| one.metadata.unwrap().path), found.degraded)
}

/// What finds the document that is like no other, with nothing to say.
#[track_caller]
fn serves(engine: &Engine) {
    assert_eq!(by_meaning(engine, "zz zzzz"), (Some("7".to_owned()), Vec::new()));
}

#[test]
fn a_refusal_names_both_models_and_the_way_on() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    drop(Engine::open_with(&index, letters()).unwrap());
    let config = Other::new(Manner::Quiet).config();
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
fn the_old_index_serves_until_the_new_one_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    index_of_letters(&index, FEW);
    let reader = Engine::open_read_only(&index, letters()).unwrap();
    let (tickets, ticketed) = mpsc::channel();
    let other = Other::new(Manner::Ticketed(Mutex::new(ticketed)));
    let config = EngineConfig { model_before: letters().model, ..other.config() };
    let engine = Engine::reindex(&index, config).unwrap();
    for active_model in [&engine, &reader] {
        serves(active_model);
    }
    // What comes in meanwhile is found by the model before.
    let late = Document::new("late", "qqq qqq qqq");
    engine.ingest(&[late]).unwrap();
    tickets.send(()).unwrap();
    while by_meaning(&engine, "qq qq").0.as_deref() != Some("late") {
        std::thread::yield_now();
    }
    assert_eq!(by_meaning(&reader, "qq qq").0.as_deref(), Some("late"));
    assert!(Engine::verify(&index).unwrap().is_sound());

    drop(tickets);
    engine.wait_until_indexed().unwrap();
    serves(&engine);
    assert_eq!(by_meaning(&engine, "qq qq").0.as_deref(), Some("late"));
    assert_eq!(engine.stats().unwrap().embedding.unwrap().split(' ').next(), Some("other"));
    // Who reads by the model before keeps what there was, and says so.
    let (found, degraded) = by_meaning(&reader, "zz zzzz");
    assert_eq!(found.as_deref(), Some("7"));
    let [Degraded { stage: Stage::Retriever(RetrieverId::SEMANTIC), reason }] = degraded.as_slice()
    else {
        panic!("{degraded:?}")
    };
    assert!(reason.contains("`other letters "), "{reason}");
    assert!(finds(&reader, "number 3", "3"));
    let refused = Engine::open_read_only(&index, letters()).unwrap_err();
    assert!(matches!(refused, Error::ModelMismatch { .. }), "{refused}");
    serves(&Engine::open_read_only(&index, other.config()).unwrap());
    // Nothing of the model before is left.
    let left = |name: &str| index.join("documents").join(name).exists();
    assert_eq!((left("semantic"), left("semantic-1")), (false, true));
    sound(&index, FEW + 1);
    let snapshot = folder.path().join("snapshot");
    Engine::export(&index, &snapshot).unwrap();
    serves(&Engine::open_read_only(&snapshot, other.config()).unwrap());
    // And back, with what is cached.
    drop(engine);
    let engine = Engine::reindex(&index, letters()).unwrap();
    engine.wait_until_indexed().unwrap();
    serves(&engine);
    sound(&index, FEW + 1);
}

#[test]
fn without_the_model_before_nothing_is_found_by_meaning_yet() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    index_of_letters(&index, 9);
    let other = Other::new(Manner::Broken);
    let engine = Engine::reindex(&index, other.config()).unwrap();
    let found = engine.search(&any_relevance("number 3")).unwrap();
    assert_eq!(found.results[0].metadata.as_ref().unwrap().path, "3");
    assert!(found.degraded.iter().any(|one| one.reason.contains("model before")), "{found:?}");
    assert!(matches!(engine.wait_until_indexed().unwrap_err(), Error::ModelMissing { .. }));
    drop(engine);
    // A model that is neither is refused.
    let neither = Letters::named("neither");
    let model_before = Model::Custom(Arc::new(neither));
    let config = EngineConfig { model_before, ..other.config() };
    let refused = Engine::reindex(&index, config).unwrap_err();
    assert!(matches!(refused, Error::ModelMismatch { .. }), "{refused}");
    // The model before has all that it had.
    let engine = Engine::open_with(&index, letters()).unwrap();
    serves(&engine);
}

#[test]
fn a_reindex_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let index = folder.path().join("index");
    index_of_letters(&index, DOCUMENTS);
    let embedded = reindex_until_killed(&index);
    let reader = Engine::open_read_only(&index, letters()).unwrap();
    serves(&reader);
    drop(reader);
    let other = Other::new(Manner::Quiet);
    let engine = Engine::open_with(&index, other.config()).unwrap();
    let left = engine.wait_until_indexed().unwrap();
    assert_eq!((left.queued, left.running, left.failed), (0, 0, 0));
    assert!(other.read.load(Ordering::Relaxed) + embedded <= DOCUMENTS, "embedded twice");
    serves(&engine);
    drop(engine);
    sound(&index, DOCUMENTS);
}

/// Kills a reindex when it begins its third batch; how many texts it had embedded by then.
fn reindex_until_killed(index: &Path) -> usize {
    let task = format!("none:0:{}", index.display());
    let mut child = process_of("reindex::child").env(CHILD, task).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(|line| line.unwrap());
    let batches = lines.filter_map(|line| line.split("embedding ").nth(1)?.parse().ok());
    let batches: Vec<usize> = batches.take(3).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    batches[..2].iter().sum()
}

#[test]
fn a_crash_at_any_step_leaves_the_old_index_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    index_of_letters(&whole, FEW);
    let (mut old, mut new) = (0, 0);
    for failpoint in FAILPOINTS {
        for passes in 0.. {
            let index = folder.path().join("index");
            copy(&whole, &index);
            let task = format!("{failpoint}:{passes}:{}", index.display());
            let mut child = process_of("reindex::child");
            child.env(CHILD, task).stderr(std::process::Stdio::null());
            if child.output().unwrap().status.success() {
                std::fs::remove_dir_all(&index).unwrap();
                break;
            }
            let case = format!("{failpoint} after {passes}");
            println!("{case}");
            match Engine::open_read_only(&index, letters()) {
                Ok(reader) => {
                    serves(&reader);
                    old += 1;
                }
                Err(Error::ModelMismatch { .. }) => {
                    drop(
                        Engine::open_read_only(&index, Other::new(Manner::Quiet).config()).unwrap(),
                    );
                    new += 1;
                }
                Err(error) => panic!("{case}: {}", error.chain()),
            }
            assert!(Engine::verify(&index).unwrap().is_sound(), "{case}");
            let engine = Engine::reindex(&index, Other::new(Manner::Quiet).config()).unwrap();
            engine.wait_until_indexed().unwrap();
            serves(&engine);
            drop(engine);
            sound(&index, FEW);
            std::fs::remove_dir_all(&index).unwrap();
        }
    }
    assert!(old > 0 && new > 0, "{old} old, {new} new");
}

/// Nothing is wrong, nothing is left to do, and every document has its vector.
#[track_caller]
fn sound(index: &Path, documents: usize) {
    let verification = Engine::verify(index).unwrap();
    assert!(verification.is_sound() && verification.lagging.is_empty(), "{verification:?}");
    assert!(verification.rows.contains(&(Part::Index(RetrieverId::SEMANTIC), documents)));
    let folders = std::fs::read_dir(index.join(Collection::Documents.name())).unwrap();
    let names = folders.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.starts_with("semantic")).count(), 1);
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(task) = std::env::var(CHILD) else { return };
    let [failpoint, passes, index] = task.splitn(3, ':').collect::<Vec<_>>().try_into().unwrap();
    let (passed, passes) = (AtomicU32::new(0), passes.parse::<u32>().unwrap());
    fail::cfg_callback(failpoint, move || {
        if passed.fetch_add(1, Ordering::Relaxed) == passes {
            std::process::abort();
        }
    })
    .unwrap();
    Engine::reindex(index, Other::new(Manner::Told).config())
        .unwrap()
        .wait_until_indexed()
        .unwrap();
}
