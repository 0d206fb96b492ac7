//! What HTTP and the Model Context Protocol add to a search, what a server bears, and how soon it
//! is ready: on the fixtures grown to so many chunks. Prints tables.
//!
//! ```sh
//! cargo run --release -p benches --bin wire -- added 10000 2000
//! cargo run --release -p benches --bin wire -- load default 10000 600
//! cargo run --release -p benches --bin wire -- load retrieval 10000 60
//! cargo run --release -p benches --bin wire -- ready 100000
//! ```
//!
//! The default models have to be there; one embeds the fixtures once. Questions are asked without
//! reranking, with their vectors at hand, but for `load default`: there they are asked as by
//! default, embedded by the model and their first passages read. What is compared is measured in
//! turns, in one run.

use std::{
    env, fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use benches::{EngineIndex, Fixtures, Outcome, StoredVectors, cpu_seconds, search_query};
use mimalloc::MiMalloc;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use trefoil::{Engine, EngineConfig, SearchQuery, SearchStrategy, admin::SystemClock};
use trefoil_server::{
    IndexSettings, Limits, McpSettings, Reload, Server, ServerSettings, Stop, ToolSet, serve_stdio,
};

/// That of the command.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Clients that ask at once.
const CLIENTS: usize = 64;
/// Connections on which nothing is asked.
const IDLE: usize = 1_000;

fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args.as_slice() {
        ["added", chunks, rounds] => added(&Place::of(chunks.parse()?)?, rounds.parse()?),
        ["load", asked, chunks, seconds] => {
            load(&Place::of(chunks.parse()?)?, Asked::of(asked)?, seconds.parse()?)
        }
        ["ready", chunks] => ready(&Place::of(chunks.parse()?)?),
        ["stdio", chunks] => Ok(Place::of(chunks.parse()?)?.stdio()?),
        _ => Err("usage: wire added CHUNKS ROUNDS, load default|retrieval CHUNKS SECONDS or \
                  ready CHUNKS"
            .into()),
    }
}

/// How questions are asked of a server under load, and of the library next to it.
#[derive(Clone, Copy)]
enum Asked {
    /// As by default.
    Default,
    /// Without reranking, with their vectors at hand.
    Retrieval,
}

impl Asked {
    fn of(name: &str) -> Outcome<Self> {
        match name {
            "default" => Ok(Self::Default),
            "retrieval" => Ok(Self::Retrieval),
            _ => Err(format!("`{name}` is neither `default` nor `retrieval`").into()),
        }
    }

    /// How long library and clients ask by turns: many times as long as 64 questions take.
    const fn round(self) -> Duration {
        Duration::from_secs(match self {
            Self::Default => 20,
            Self::Retrieval => 2,
        })
    }

    fn query(self, place: &Place, round: usize) -> Outcome<SearchQuery> {
        match self {
            Self::Default => Ok(SearchQuery::new(place.question(round))?),
            Self::Retrieval => place.query(round),
        }
    }

    /// What the index is opened with. Passages are read however long it takes: the library and the
    /// server are to do the same work.
    fn settings(self, place: &Place) -> IndexSettings {
        let settings = place.settings(false);
        match self {
            Self::Default => {
                let engine = EngineConfig { rerank_budget: None, ..EngineConfig::default() };
                IndexSettings { engine, ..settings }
            }
            Self::Retrieval => settings,
        }
    }
}

/// An index, and questions to ask of it.
struct Place {
    chunks: usize,
    index: EngineIndex,
    questions: Vec<String>,
}

impl Place {
    fn of(chunks: usize) -> Outcome<Self> {
        let fixtures = Fixtures::load()?;
        let vectors = Arc::new(StoredVectors::of(&fixtures)?);
        let index = EngineIndex::of(&fixtures, &vectors, chunks)?;
        let questions = fixtures.questions.into_iter().map(|question| question.text).collect();
        Ok(Self { chunks, index, questions })
    }

    /// The question of a round; they are asked by turns.
    fn question(&self, round: usize) -> &str {
        self.questions.get(round % self.questions.len()).map_or("", String::as_str)
    }

    fn query(&self, round: usize) -> Outcome<SearchQuery> {
        search_query(self.question(round), SearchStrategy::Hybrid)
    }

    /// What the index is opened with. Where it does not rerank, the tool `search` does not either.
    fn settings(&self, reranks: bool) -> IndexSettings {
        let (dir, engine) = self.index.opened_by();
        let mut engine = engine.clone();
        engine.rerank.enabled = reranks;
        IndexSettings { name: "main".to_owned(), dir: dir.to_owned(), engine }
    }

    fn stdio(&self) -> trefoil::Result<()> {
        serve_stdio(McpSettings {
            index: self.settings(false),
            tools: ToolSet::DEFAULT.to_vec(),
            read_only: true,
            alone: true,
            classes: Vec::new(),
        })
    }
}

/// A server of the index.
fn serve(folder: &Path, index: IndexSettings) -> Outcome<Served> {
    // Nobody is told to wait: that is measured by tests.
    let limits = Limits {
        burst: u32::MAX,
        requests_per_minute: u32::MAX,
        connections: 4_096,
        connections_per_address: 4_096,
        idle_seconds: 600,
        ..Limits::default()
    };
    let server = Server::bind(ServerSettings {
        addr: ([127, 0, 0, 1], 0).into(),
        indexes: vec![index],
        read_only: true,
        no_auth: true,
        no_mcp: false,
        tokens: folder.join("tokens.toml"),
        hosts: Vec::new(),
        roots: Vec::new(),
        limits,
        clock: Arc::new(SystemClock),
        reload: Reload::default(),
    })?;
    let address = server.address();
    let engine = server.engine("main").ok_or("the index cannot be opened")?;
    let stop = Stop::default();
    let thread = thread::spawn({
        let stop = stop.clone();
        move || server.run(&stop).map_err(Into::into)
    });
    Ok(Served { address, engine, stop, thread })
}

/// A server that runs in this process.
struct Served {
    address: SocketAddr,
    engine: Arc<Engine>,
    stop: Stop,
    thread: JoinHandle<Outcome>,
}

impl Served {
    fn end(self) -> Outcome {
        self.stop.stop();
        self.thread.join().map_err(|_| "the server has panicked")?
    }
}

/// A connection that is kept.
struct Connection {
    stream: BufReader<TcpStream>,
    /// The last answer.
    answer: Vec<u8>,
}

impl Connection {
    fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream: BufReader::new(stream), answer: Vec::new() })
    }

    /// Asks, and reads the whole answer: its status.
    fn ask(&mut self, method: &str, path: &str, body: &str) -> Outcome<u16> {
        self.stream.get_mut().write_all(request(method, path, body).as_bytes())?;
        self.answer.clear();
        let mut line = Vec::new();
        let head = loop {
            line.clear();
            if self.stream.read_until(b'\n', &mut line)? == 0 {
                return Err("the server has closed".into());
            }
            self.answer.extend_from_slice(&line);
            if let Some(head) = Head::of(&self.answer)? {
                break head;
            }
        };
        self.answer.resize(head.length, 0);
        self.stream.read_exact(&mut self.answer)?;
        Ok(head.status)
    }

    /// Asks for events, and waits for the first of a name.
    fn first_event(&mut self, body: &str, name: &str) -> Outcome<Duration> {
        let began = Instant::now();
        let request = format!(
            "POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: text/event-stream\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut told = String::new();
        loop {
            let before = told.len();
            if self.stream.read_line(&mut told)? == 0 {
                return Err(format!("`{name}` did not come for {body}: {told}").into());
            }
            if told.get(before..).is_some_and(|line| line.trim_end() == format!("event: {name}")) {
                let took = began.elapsed();
                // The next one has the server to itself.
                self.stream.read_to_string(&mut told)?;
                return Ok(took);
            }
        }
    }
}

/// A request of HTTP/1.1 with a body of JSON.
fn request(method: &str, path: &str, body: &str) -> String {
    let accept = if path == "/mcp" {
        "application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-11-25"
    } else {
        "application/json"
    };
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: {accept}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What the head of an answer says.
struct Head {
    status: u16,
    /// Its own bytes, and those of what follows it.
    bytes: usize,
    length: usize,
}

impl Head {
    /// Reads it; none while it is not whole.
    fn of(answer: &[u8]) -> Outcome<Option<Self>> {
        let Some(end) = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n") else {
            return Ok(None);
        };
        let text = std::str::from_utf8(answer.get(..end).unwrap_or_default())?;
        let mut lines = text.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
        let mut head = Self { status: status.parse()?, bytes: end + 4, length: 0 };
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse()?;
            }
        }
        Ok(Some(head))
    }
}

fn timed<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let began = Instant::now();
    work()?;
    Ok(began.elapsed().as_secs_f64() * 1_000.0)
}

fn answered(status: u16) -> Outcome {
    if status == 200 { Ok(()) } else { Err(format!("an answer with status {status}").into()) }
}

/// The value below which so many per cent of them are.
fn percentile(times: &mut [f64], percent: usize) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() * percent / 100).copied().unwrap_or_default()
}

/// The call of the tool `search`, as a message.
fn call(question: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"query": question, "limit": 10}},
    })
    .to_string()
}

/// What each way adds to the same question asked of the library.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn added(place: &Place, rounds: usize) -> Outcome {
    let folder = tempfile::tempdir()?;
    let served = serve(folder.path(), place.settings(false))?;
    let mut child = Command::new(env::current_exe()?)
        .args(["stdio", &place.chunks.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no input")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut say = |message: &str| -> Outcome {
        writeln!(input, "{message}")?;
        let mut line = String::new();
        output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        if answer.get("result").is_some() { Ok(()) } else { Err(line.into()) }
    };
    say(&json!({
        "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {},
                   "clientInfo": {"name": "wire", "version": "1"}},
    })
    .to_string())?;
    let mut connection = Connection::open(served.address)?;
    let mut library = Vec::new();
    let mut ways: [(&str, Vec<f64>); 3] =
        [("HTTP", Vec::new()), ("MCP over HTTP", Vec::new()), ("MCP over stdio", Vec::new())];
    let warm = place.questions.len();
    for round in 0..warm + rounds {
        let query = place.query(round)?;
        let body = serde_json::to_string(&query)?;
        let message = call(place.question(round));
        let alone = timed(|| Ok(served.engine.search(&query)?))?;
        let times = [
            timed(|| answered(connection.ask("POST", "/v1/search", &body)?))?,
            timed(|| answered(connection.ask("POST", "/mcp", &message)?))?,
            timed(|| say(&message))?,
        ];
        // Each question was asked once before it counts.
        if round >= warm {
            library.push(alone);
            for ((_, all), time) in ways.iter_mut().zip(times) {
                all.push(time - alone);
            }
        }
    }
    println!("{} chunks, {rounds} questions; milliseconds", place.chunks);
    println!(
        "library: p50 {:.2}, p99 {:.2}",
        percentile(&mut library, 50),
        percentile(&mut library, 99)
    );
    println!("beyond it, question by question:");
    for (way, mut times) in ways {
        println!(
            "{way}: p50 {:.2}, p99 {:.2}",
            percentile(&mut times, 50),
            percentile(&mut times, 99)
        );
    }
    drop(input);
    child.wait()?;
    served.end()
}

/// How many questions were answered in how many seconds, and how long the process ran for them.
#[derive(Default)]
struct Answered {
    questions: usize,
    seconds: f64,
    cpu_seconds: f64,
}

impl Answered {
    /// Counts what `ask` says, until the last question that it asked is answered.
    fn add(&mut self, ask: impl FnOnce() -> Outcome<usize>) -> Outcome {
        let (began, cpu) = (Instant::now(), cpu_seconds()?);
        self.questions += ask()?;
        self.seconds += began.elapsed().as_secs_f64();
        self.cpu_seconds += cpu_seconds()? - cpu;
        Ok(())
    }

    fn per_second(&self) -> f64 {
        self.questions as f64 / self.seconds
    }

    fn cpu_milliseconds(&self) -> f64 {
        1_000.0 * self.cpu_seconds / self.questions as f64
    }
}

/// So many threads ask the library for a while, each the next question.
fn ask_library(
    engine: &Engine,
    queries: &[SearchQuery],
    threads: usize,
    round: Duration,
) -> Outcome<usize> {
    let (until, next) = (Instant::now() + round, AtomicUsize::new(0));
    thread::scope(|scope| {
        let ask = || -> Outcome<usize> {
            let mut asked = 0;
            while Instant::now() < until {
                let number = next.fetch_add(1, Ordering::Relaxed) % queries.len();
                engine.search(queries.get(number).ok_or("no question")?)?;
                asked += 1;
            }
            Ok(asked)
        };
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(ask)).collect();
        running.into_iter().map(|one| one.join().map_err(|_| "a thread has panicked")?).sum()
    })
}

/// What the server said to clients.
#[derive(Default)]
struct Said {
    answers: usize,
    /// Statuses 429 and 503.
    come_again: usize,
    otherwise: usize,
}

/// Many clients ask for a while, each the next question when it has the answer to the one before.
/// They share one thread, so that little of the machine goes to them.
fn ask_server(
    address: SocketAddr,
    requests: &Arc<[String]>,
    round: Duration,
    said: &mut Said,
) -> Outcome<usize> {
    let (until, next) = (Instant::now() + round, Arc::new(AtomicUsize::new(0)));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let statuses = runtime.block_on(async {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| {
                tokio::spawn(ask_until(until, address, Arc::clone(requests), Arc::clone(&next)))
            })
            .collect();
        let mut statuses = Vec::new();
        for client in clients {
            statuses.extend(client.await??);
        }
        Outcome::Ok(statuses)
    })?;
    let count = |wanted: &[u16]| statuses.iter().filter(|status| wanted.contains(status)).count();
    let (answers, come_again) = (count(&[200]), count(&[429, 503]));
    said.answers += answers;
    said.come_again += come_again;
    said.otherwise += statuses.len() - answers - come_again;
    Ok(answers)
}

/// One client: the statuses of its answers.
async fn ask_until(
    until: Instant,
    address: SocketAddr,
    requests: Arc<[String]>,
    next: Arc<AtomicUsize>,
) -> Outcome<Vec<u16>> {
    let mut stream = tokio::net::TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let (mut statuses, mut answer) = (Vec::new(), Vec::with_capacity(64 << 10));
    while Instant::now() < until {
        let next = next.fetch_add(1, Ordering::Relaxed);
        let request = requests.get(next % requests.len()).ok_or("no question")?;
        stream.write_all(request.as_bytes()).await?;
        answer.clear();
        let mut head = None;
        while head.as_ref().is_none_or(|head: &Head| answer.len() < head.bytes + head.length) {
            if stream.read_buf(&mut answer).await? == 0 {
                return Err("the server has closed".into());
            }
            if head.is_none() {
                head = Head::of(&answer)?;
            }
        }
        statuses.extend(head.map(|head| head.status));
    }
    Ok(statuses)
}

/// What a server bears, next to what the library does by itself.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn load(place: &Place, asked: Asked, seconds: u64) -> Outcome {
    let folder = tempfile::tempdir()?;
    let served = serve(folder.path(), asked.settings(place))?;
    let (cores, round) = (thread::available_parallelism()?.get(), asked.round());
    let queries: Vec<SearchQuery> = (0..place.questions.len())
        .map(|number| asked.query(place, number))
        .collect::<Outcome<_>>()?;
    let requests: Arc<[String]> = queries
        .iter()
        .map(|query| Ok(request("POST", "/v1/search", &serde_json::to_string(query)?)))
        .collect::<Outcome<_>>()?;
    let (mut library, mut over_http) = (Answered::default(), Answered::default());
    let (mut said, mut health) = (Said::default(), Vec::new());
    // By turns: what else the machine does falls upon both.
    for _ in 0..seconds / round.as_secs() {
        library.add(|| ask_library(&served.engine, &queries, cores, round))?;
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| -> Outcome {
            let health = scope.spawn(|| -> Outcome<()> {
                let mut connection = Connection::open(served.address)?;
                while !is_over.load(Ordering::Relaxed) {
                    health.push(timed(|| answered(connection.ask("GET", "/healthz", "")?))?);
                    thread::sleep(Duration::from_millis(20));
                }
                Ok(())
            });
            let asked = over_http.add(|| ask_server(served.address, &requests, round, &mut said));
            is_over.store(true, Ordering::Relaxed);
            health.join().map_err(|_| "a thread has panicked")??;
            asked
        })?;
    }
    println!("{} chunks, {seconds} s each", place.chunks);
    println!(
        "library, {cores} threads: {:.0} questions a second, {:.2} ms of processor each",
        library.per_second(),
        library.cpu_milliseconds()
    );
    println!(
        "HTTP, {CLIENTS} clients: {:.0} a second, {:.3} of the library; {:.2} ms of processor \
         each, clients among them; {} answered, {} told to come again, {} otherwise",
        over_http.per_second(),
        over_http.per_second() / library.per_second(),
        over_http.cpu_milliseconds(),
        said.answers,
        said.come_again,
        said.otherwise,
    );
    println!(
        "/healthz meanwhile: p50 {:.1} ms, p99 {:.1} ms",
        percentile(&mut health, 50),
        percentile(&mut health, 99)
    );
    let before = resident_mb()?;
    let idle: Vec<TcpStream> =
        (0..IDLE).map(|_| TcpStream::connect(served.address)).collect::<Result<_, _>>()?;
    // They are accepted when one that came after them is answered.
    Connection::open(served.address)?.ask("GET", "/healthz", "")?;
    println!("{} idle connections: {:.1} MB", idle.len(), resident_mb()? - before);
    drop(idle);
    served.end()
}

/// Resident memory of the process in MB.
fn resident_mb() -> Outcome<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix("kB"));
    Ok(kilobytes.ok_or("the system names no memory")?.trim().parse::<f64>()? / 1024.0)
}

/// How soon a server answers, and how soon something is shown of a question.
#[expect(clippy::print_stdout, reason = "the table is what it is for")]
fn ready(place: &Place) -> Outcome {
    let (mut starts, mut shown) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let folder = tempfile::tempdir()?;
        let began = Instant::now();
        let served = serve(folder.path(), place.settings(true))?;
        answered(Connection::open(served.address)?.ask("GET", "/readyz", "")?)?;
        starts.push(began.elapsed().as_secs_f64() * 1_000.0);
        for round in 0..100 {
            // What is read anew has an order before that, which is told at once.
            let mut query = place.query(round)?;
            query.options.rerank_enabled = true;
            let body = serde_json::to_string(&query)?;
            let first = Connection::open(served.address)?.first_event(&body, "provisional")?;
            shown.push(first.as_secs_f64() * 1_000.0);
        }
        served.end()?;
    }
    println!("{} chunks; milliseconds", place.chunks);
    println!("start to ready: p50 {:.0}", percentile(&mut starts, 50));
    println!(
        "to `provisional`: p50 {:.1}, p99 {:.1}",
        percentile(&mut shown, 50),
        percentile(&mut shown, 99)
    );
    Ok(())
}
