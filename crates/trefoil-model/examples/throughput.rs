//! Texts a second of the embedder, against the bare runtime on the same tokens with as
//! many one-thread sessions: `throughput bare|embedder [threads] [texts]`.

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use ort::{session::Session, value::TensorRef};
use trefoil_core::{Embedder, Role, TokenCounter};
use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder, PullOptions, PullProgress};

struct Steps;

impl PullProgress for Steps {
    fn begin(&self, step: &str, bytes: u64) {
        println!("{step} ({bytes} bytes)");
    }
    fn advance(&self, _: u64) {}
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let bare = arguments.next().as_deref() == Some("bare");
    let mut numbers = arguments.map(|argument| argument.parse::<usize>());
    let threads = numbers.next().transpose()?.unwrap_or(2);
    let count = numbers.next().transpose()?.unwrap_or(64);

    let home = ModelHome::platform()?;
    home.pull(&[], &Steps, PullOptions::default())?;
    let texts: Vec<String> = (0..count).map(|i| passage(i, 150 + i % 60)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    // A process has one environment of the runtime, so each is a process of its own.
    if bare { run_bare(&home, &texts, threads) } else { run_embedder(&home, &texts, threads) }
}

fn run_embedder(
    home: &ModelHome,
    texts: &[&str],
    threads: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let start = Instant::now();
    let embedder = OnnxEmbedder::open(home, &ModelSource::default(), threads)?;
    println!("open {:.1?}", start.elapsed());
    let start = Instant::now();
    println!("load tokenizer, {} tokens in {:.0?}", embedder.count("warm"), start.elapsed());
    let start = Instant::now();
    embedder.embed(Role::Query, &["warm"])?;
    println!("first text {:.0?}", start.elapsed());
    embedder.embed(Role::Passage, texts.get(..threads * 2).unwrap_or(texts))?;
    for _ in 0..3 {
        let start = Instant::now();
        embedder.embed(Role::Passage, texts)?;
        println!("embedder {:.2} texts/s", texts.len() as f64 / start.elapsed().as_secs_f64());
    }
    Ok(())
}

fn run_bare(
    home: &ModelHome,
    texts: &[&str],
    threads: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let folder = home.path("multilingual-e5-small")?;
    let tokenizer = tokenizers::Tokenizer::from_file(folder.join("tokenizer.json"))
        .map_err(|e| e.to_string())?;
    let mut tokens = Vec::new();
    for text in texts {
        let encoding =
            tokenizer.encode(format!("passage: {text}"), true).map_err(|e| e.to_string())?;
        tokens
            .push(encoding.get_ids().iter().take(512).map(|id| i64::from(*id)).collect::<Vec<_>>());
    }
    tokens.sort_by_key(|ids| std::cmp::Reverse(ids.len()));
    println!("mean tokens {}", tokens.iter().map(Vec::len).sum::<usize>() / tokens.len().max(1));

    let library = std::fs::read_dir(home.path("onnxruntime")?)?.next().ok_or("no library")??.path();
    let environment = ort::init_from(library)?.build()?;
    let mut sessions = Vec::new();
    for _ in 0..threads {
        let mut builder = Session::builder(&environment)?
            .with_intra_threads(1)
            .map_err(ort::Error::<()>::from)?;
        sessions.push(builder.commit_from_file(folder.join("model.onnx"))?);
    }
    for round in 0..4 {
        let start = Instant::now();
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for session in &mut sessions {
                let (next, tokens) = (&next, &tokens);
                scope.spawn(move || -> ort::Result<()> {
                    while let Some(ids) = tokens.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let tensor = TensorRef::from_array_view(([1, ids.len()], ids.as_slice()))?;
                        session.run(ort::inputs!["input_ids" => tensor])?;
                    }
                    Ok(())
                });
            }
        });
        if round > 0 {
            println!("bare {:.2} texts/s", tokens.len() as f64 / start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// Words that do not repeat, so that a text is about as long in tokens as asked for.
fn passage(seed: usize, words: usize) -> String {
    const WORDS: [&str; 12] = [
        "river", "engine", "index", "granite", "harvest", "signal", "library", "pressure",
        "island", "protein", "market", "winter",
    ];
    let word =
        |i: usize| WORDS.get((seed * 7 + i * i + i / 3) % WORDS.len()).copied().unwrap_or("word");
    (0..words).map(word).collect::<Vec<_>>().join(" ")
}
