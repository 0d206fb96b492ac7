//! Texts a second of the embedder and of the reranker, against the bare runtime on the
//! same tokens with as many one-thread sessions:
//!
//! ```text
//! throughput bare|embedder [threads] [texts]
//! throughput rerank [threads] [passages]
//! ```

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{
    io::{BufRead, BufReader, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Instant,
};

use ort::{session::Session, value::TensorRef};
use trefoil_core::{Embedder, Reranker, Role, TokenCounter};
use trefoil_model::{
    ModelHome, ModelSource, OnnxEmbedder, OnnxReranker, PullOptions, PullProgress,
};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const RERANKER: &str = "ms-marco-MiniLM-L-12-v2";
const QUESTION: &str = "how does the pressure of the river change the winter harvest";

struct Steps;

impl PullProgress for Steps {
    fn begin(&self, step: &str, bytes: u64) {
        println!("{step} ({bytes} bytes)");
    }
    fn advance(&self, _: u64) {}
}

fn main() -> Outcome {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let mut numbers = arguments.map(|argument| argument.parse::<usize>());
    let threads = numbers.next().transpose()?.unwrap_or(2);
    let count = numbers.next().transpose()?;

    let home = ModelHome::platform()?;
    let texts = |count: usize, words: usize| -> Vec<String> {
        (0..count).map(|i| passage(i, words + i % 60)).collect()
    };
    // A process has one environment of the runtime, so each side is a process of its own.
    match mode.as_str() {
        "rerank" => compare_rerankers(&home, threads, count.unwrap_or(10)),
        "rerank-side" => rerank_side(&home, threads, &texts(count.unwrap_or(10), 200)),
        "rerank-bare-side" => rerank_bare_side(&home, threads, &texts(count.unwrap_or(10), 200)),
        side => {
            home.pull(&[], &Steps, PullOptions::default())?;
            let texts = texts(count.unwrap_or(64), 150);
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            if side == "bare" {
                run_bare(&home, &texts, threads)
            } else {
                run_embedder(&home, &texts, threads)
            }
        }
    }
}

/// One of the two processes whose rounds take turns, so that what else the machine does
/// hits both alike.
struct Side {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Side {
    fn start(mode: &str, threads: usize, passages: usize) -> Outcome<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([mode, &threads.to_string(), &passages.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        Ok(Self { child, input, output })
    }

    /// Milliseconds of one round.
    fn round(&mut self) -> Outcome<f64> {
        writeln!(self.input)?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(line.trim().parse()?)
    }
}

/// Rounds of the reranker and of the bare runtime in turn; the middle of their ratios.
fn compare_rerankers(home: &ModelHome, threads: usize, passages: usize) -> Outcome {
    const ROUNDS: usize = 15;
    home.pull(&[RERANKER], &Steps, PullOptions::default())?;
    let mut bare = Side::start("rerank-bare-side", threads, passages)?;
    let mut ours = Side::start("rerank-side", threads, passages)?;
    // The first round loads the model.
    bare.round()?;
    ours.round()?;
    let (mut bare_times, mut times, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (bare, ours) = (bare.round()?, ours.round()?);
        bare_times.push(bare);
        times.push(ours);
        ratios.push(ours / bare);
    }
    for mut side in [bare, ours] {
        drop(side.input);
        side.child.wait()?;
    }
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    println!("{passages} passages, {threads} threads, median of {ROUNDS} rounds");
    println!("bare     {:.1} ms", median(bare_times));
    println!("reranker {:.1} ms", median(times));
    println!("ratio    {:.3}", median(ratios));
    Ok(())
}

fn rerank_side(home: &ModelHome, threads: usize, texts: &[String]) -> Outcome {
    let reranker = OnnxReranker::open(home, &ModelSource::Name(RERANKER.to_owned()), threads)?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    answer_rounds(|| {
        reranker.score(QUESTION, &texts)?;
        Ok(())
    })
}

/// The model on the first 128 tokens of each pair, which were made beforehand.
fn rerank_bare_side(home: &ModelHome, threads: usize, texts: &[String]) -> Outcome {
    let folder = home.path(RERANKER)?;
    let mut tokenizer = tokenizers::Tokenizer::from_file(folder.join("tokenizer.json"))
        .map_err(|e| e.to_string())?;
    let truncation = tokenizers::TruncationParams { max_length: 128, ..Default::default() };
    tokenizer.with_truncation(Some(truncation)).map_err(|e| e.to_string())?;
    tokenizer.with_padding(None);
    let mut pairs = Vec::new();
    for text in texts {
        let pair = tokenizer.encode((QUESTION, text.as_str()), true).map_err(|e| e.to_string())?;
        let wide = |numbers: &[u32]| numbers.iter().copied().map(i64::from).collect::<Vec<_>>();
        pairs.push([
            wide(pair.get_ids()),
            wide(pair.get_attention_mask()),
            wide(pair.get_type_ids()),
        ]);
    }
    let mut sessions = sessions(home, RERANKER, threads)?;
    answer_rounds(|| {
        in_parallel(&mut sessions, &pairs, |session, [ids, mask, types]| {
            let tensor = |data| TensorRef::from_array_view(([1, ids.len()], data));
            session.run(ort::inputs![
                "input_ids" => tensor(ids.as_slice())?,
                "attention_mask" => tensor(mask.as_slice())?,
                "token_type_ids" => tensor(types.as_slice())?,
            ])?;
            Ok(())
        });
        Ok(())
    })
}

/// Runs a round for each line of the input, and writes how many milliseconds it took.
fn answer_rounds(mut round: impl FnMut() -> Outcome) -> Outcome {
    for line in std::io::stdin().lines() {
        line?;
        let start = Instant::now();
        round()?;
        println!("{}", start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

fn run_embedder(home: &ModelHome, texts: &[&str], threads: usize) -> Outcome {
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

fn run_bare(home: &ModelHome, texts: &[&str], threads: usize) -> Outcome {
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

    let mut sessions = sessions(home, "multilingual-e5-small", threads)?;
    for round in 0..4 {
        let start = Instant::now();
        in_parallel(&mut sessions, &tokens, |session, ids| {
            let tensor = TensorRef::from_array_view(([1, ids.len()], ids.as_slice()))?;
            session.run(ort::inputs!["input_ids" => tensor])?;
            Ok(())
        });
        if round > 0 {
            println!("bare {:.2} texts/s", tokens.len() as f64 / start.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

/// Sessions of one thread each.
fn sessions(home: &ModelHome, model: &str, threads: usize) -> Outcome<Vec<Session>> {
    let library = std::fs::read_dir(home.path("onnxruntime")?)?.next().ok_or("no library")??.path();
    let environment = ort::init_from(library)?.build()?;
    let file = home.path(model)?.join("model.onnx");
    let mut sessions = Vec::new();
    for _ in 0..threads {
        let mut builder = Session::builder(&environment)?
            .with_intra_threads(1)
            .map_err(ort::Error::<()>::from)?;
        sessions.push(builder.commit_from_file(&file)?);
    }
    Ok(sessions)
}

/// Every item once, each session on a thread that takes the next item that is free.
fn in_parallel<T: Sync>(
    sessions: &mut [Session],
    items: &[T],
    run: impl Fn(&mut Session, &T) -> ort::Result<()> + Sync,
) {
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for session in sessions {
            let (next, run) = (&next, &run);
            scope.spawn(move || -> ort::Result<()> {
                while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(session, item)?;
                }
                Ok(())
            });
        }
    });
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
