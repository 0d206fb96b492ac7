//! The protocol over standard input and output, for the client that started this process.

use std::{
    collections::BTreeMap,
    io,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader},
    sync::mpsc,
    task::{AbortHandle, JoinSet},
};
use trefoil::{Error, Model, SearchQuery, memory::BoundaryClass};

use super::{
    client::{Client, Host},
    relay::{Relay, ServerOfIndex, asked_server, error, text_at},
    shared::SharedIndex,
    tool::ToolSet,
};
use crate::{auth::Caller, settings::IndexSettings};

/// How `trefoil mcp` works.
#[derive(Clone, Debug)]
pub struct McpSettings {
    /// The index.
    pub index: IndexSettings,
    /// The sets of tools that are given.
    pub tools: Vec<ToolSet>,
    /// Whether what writes is left out.
    pub read_only: bool,
    /// Whether to open the index here, even if a server has it open.
    pub alone: bool,
    /// The classes of memory that are seen; public and internal, if none is named.
    pub classes: Vec<BoundaryClass>,
}

/// The longest message that is read, in bytes.
const LONGEST: usize = 4 << 20;
/// Messages that are answered at the same time.
const AT_ONCE: usize = 32;
/// How long the handshake waits for an index that is being opened.
const OPENING: Duration = Duration::from_millis(80);
/// How long answers have that are under way when the input ends.
const LAST: Duration = Duration::from_millis(700);
/// How often it looks whether its parent is still there.
const PARENT: Duration = Duration::from_secs(2);

/// Answers until the input ends, the process is told to end, or its parent has gone. A server that
/// has the index open is asked in its place, unless it is to be left alone.
///
/// # Errors
/// [`Error::BoundaryDenied`] for a class of memory that is not seen by default, [`Error::Io`] if
/// there are no threads.
pub fn serve_stdio(settings: McpSettings) -> Result<(), Error> {
    let dir = settings.index.dir.clone();
    let server = (!settings.alone).then(|| server_of(&settings));
    let shared = Arc::new(SharedIndex::new(settings.index));
    let client = Client {
        host: Host::Own(Arc::clone(&shared)),
        caller: Caller::local(),
        index: None,
        sets: settings.tools.into_iter().collect(),
        read_only: settings.read_only,
    };
    let client = client
        .narrowed(&settings.classes)
        .map_err(|problem| Error::denied("the default boundary", problem.detail))?;
    let relay = Arc::new(Relay::new(client, server));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::io("start the threads for", &dir, error))?;
    // Closing an index may wait for a text that is being embedded; it ends with the process as well.
    std::mem::forget(Arc::clone(&shared));
    runtime.block_on(serve(relay, shared));
    runtime.shutdown_background();
    Ok(())
}

fn server_of(settings: &McpSettings) -> ServerOfIndex {
    let names = |names: Vec<&str>| names.join(",");
    let tools = names(settings.tools.iter().map(|set| set.name()).collect());
    let classes = names(settings.classes.iter().map(|class| class.as_str()).collect());
    let query = format!("tools={tools}&readOnly={}&classes={classes}", settings.read_only);
    ServerOfIndex { dir: settings.index.dir.clone(), query }
}

async fn serve(relay: Arc<Relay>, shared: Arc<SharedIndex>) {
    let (input, mut output) = rmcp::transport::stdio_pipes();
    let (answers, mut to_write) = mpsc::channel::<String>(AT_ONCE);
    let has_server = is_served(&relay, &shared.settings.dir);
    if !has_server {
        // Before it is asked for: the handshake tells what is there.
        let opening = Arc::clone(&shared);
        drop(tokio::task::spawn_blocking(move || opening.reader().map(drop)));
    }
    drop(tokio::spawn(read(input, relay, answers, (!has_server).then_some(shared))));
    let writing = async {
        // There are no more when all is read and answered.
        while let Some(mut line) = to_write.recv().await {
            line.push('\n');
            let written = output.write_all(line.as_bytes()).await;
            // Whoever does not read any more wants no answer.
            if written.is_err() || output.flush().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = writing => {}
        () = told_to_end() => {}
    }
}

fn is_served(relay: &Relay, dir: &Path) -> bool {
    relay.server.is_some() && asked_server(dir).is_some()
}

/// Reads messages until there are no more; each is answered on a task of its own.
async fn read(
    input: impl AsyncRead + Unpin,
    relay: Arc<Relay>,
    answers: mpsc::Sender<String>,
    mut to_warm: Option<Arc<SharedIndex>>,
) {
    let mut input = BufReader::new(input);
    let mut tasks = JoinSet::new();
    let running: Running = Arc::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        match read_line(&mut input, &mut line).await {
            Ok(true) => {}
            Ok(false) => break,
            Err(problem) => {
                tracing::warn!("the input cannot be read: {problem}");
                break;
            }
        }
        let message = match understood(&line) {
            Ok(Some(message)) => message,
            Ok(None) => continue,
            Err(answer) => {
                if answers.send(answer).await.is_err() {
                    break;
                }
                continue;
            }
        };
        match text_at(&message, "/method") {
            Some("notifications/cancelled") => {
                if let Some(id) = message.pointer("/params/requestId") {
                    running.cancel(id);
                }
                continue;
            }
            Some("initialize" | "server/discover") => wait_for(to_warm.as_deref()).await,
            _ => {}
        }
        while tasks.len() >= AT_ONCE {
            tasks.join_next().await;
        }
        while tasks.try_join_next().is_some() {}
        let warm = to_warm.take();
        let id = message.get("id").map(Value::to_string);
        let (relay, answers, done) = (Arc::clone(&relay), answers.clone(), Arc::clone(&running));
        let of = id.clone();
        let task = tasks.spawn(async move {
            if let Some(answer) = relay.answer(&message).await {
                // Nobody reads any more: the input ends too.
                _ = answers.send(answer).await;
            }
            if let Some(of) = of {
                done.remove(&of);
            }
            // After the handshake, so that it is not kept waiting.
            if let Some(shared) = warm {
                drop(thread::Builder::new().name("trefoil-warm".to_owned()).spawn(move || {
                    warm_up(&shared);
                }));
            }
        });
        if let Some(id) = id {
            running.add(id, task);
        }
    }
    drop(answers);
    let rest = async { while tasks.join_next().await.is_some() {} };
    _ = tokio::time::timeout(LAST, rest).await;
}

/// Requests that are being answered, by id.
#[derive(Debug, Default)]
struct RunningTasks(Mutex<BTreeMap<String, AbortHandle>>);
type Running = Arc<RunningTasks>;

impl RunningTasks {
    fn add(&self, id: String, task: AbortHandle) {
        if !task.is_finished() {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id, task);
        }
    }

    fn remove(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Gives a request up: it is not answered any more.
    fn cancel(&self, id: &Value) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&id.to_string());
        if let Some(task) = task {
            task.abort();
        }
    }
}

/// Reads a line; false at the end. One that is too long is read and left out.
async fn read_line(
    input: &mut (impl AsyncBufReadExt + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<bool> {
    let mut too_long = false;
    loop {
        let part = input.fill_buf().await?;
        if part.is_empty() {
            return Ok(!line.is_empty());
        }
        let end = part.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(part.len());
        if line.len() + taken > LONGEST {
            too_long = true;
            line.clear();
        }
        if !too_long {
            line.extend(part.iter().take(taken));
        }
        input.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            if too_long {
                // What it says is told to be too much.
                line.extend(b"{\"too\": \"long");
            }
            return Ok(true);
        }
    }
}

/// The message of a line, nothing of a blank one, or what is answered to what is none.
fn understood(line: &[u8]) -> Result<Option<Value>, String> {
    if line.iter().all(u8::is_ascii_whitespace) {
        return Ok(None);
    }
    match serde_json::from_slice::<Value>(line) {
        Ok(message @ Value::Object(_)) => Ok(Some(message)),
        Ok(_) => Err(error(&Value::Null, -32_600, "a message is one JSON object")),
        Err(_) => {
            let detail = "a message is JSON on one line of at most 4 MiB";
            Err(error(&Value::Null, -32_700, detail))
        }
    }
}

/// Waits a moment for an index that is being opened.
async fn wait_for(shared: Option<&SharedIndex>) {
    let Some(shared) = shared else { return };
    let opened = async {
        while shared.opened().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    _ = tokio::time::timeout(OPENING, opened).await;
}

/// Asks a question, so that the models are loaded when a person asks one.
fn warm_up(shared: &Arc<SharedIndex>) {
    let has_model = !matches!(shared.settings.engine.model, Model::None);
    let asked = SearchQuery::new("What is this about?").map(|query| query.limit(1));
    if let (true, Ok(opened), Ok(query)) = (has_model, shared.reader(), asked) {
        // What is missing is told to who asks.
        drop(opened.engine.search(&query));
    }
}

/// Waits for a signal to end, or until the parent of this process has gone.
async fn told_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let parent = std::os::unix::process::parent_id();
        let mut terminate = signal(SignalKind::terminate()).ok();
        let terminated = async {
            match &mut terminate {
                Some(terminate) => {
                    terminate.recv().await;
                }
                None => std::future::pending().await,
            }
        };
        let left = async {
            while std::os::unix::process::parent_id() == parent {
                tokio::time::sleep(PARENT).await;
            }
        };
        tokio::select! {
            () = terminated => {}
            () = left => {}
            _ = tokio::signal::ctrl_c() => {}
        }
    }
    #[cfg(not(unix))]
    {
        _ = tokio::signal::ctrl_c().await;
    }
}
