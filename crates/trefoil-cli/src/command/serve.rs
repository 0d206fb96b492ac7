use std::{
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
};

use trefoil::{
    Engine, EngineConfig, Error, IngestOptions, admin::SystemClock, cluster::StoreAt,
    memory::MemoryUpkeep,
};
use trefoil_server::{IndexSettings, Reload, Server, ServerSettings, Stop};

use super::{
    Outcome,
    fill::{fill_until, note_missing_model},
    watch::{Watch, follow},
};
use crate::{
    args::ServeArgs,
    browser,
    console::{Console, print},
    failure,
    settings::Settings,
};

/// Where nobody says where to listen.
const PORT: u16 = 8_733;

/// Answers requests, and keeps the index of the paths up to date, until it is told to stop.
/// `read_again` reads the settings as they are by then.
pub(super) fn run(
    args: ServeArgs,
    settings: &Settings,
    read_again: impl Fn() -> anyhow::Result<Settings> + Send + Sync + 'static,
) -> anyhow::Result<Outcome> {
    let console = settings.console;
    let again = args.clone();
    let reload = Reload::by(move || Ok(of_server(&again, &read_again()?)?));
    let server = Server::bind(ServerSettings { reload, ..of_server(&args, settings)? })?;
    // The part behind `#` is sent to nobody: the page takes the token from there.
    let token = server.token().map(|token| format!("#token={token}")).unwrap_or_default();
    let address = format!("http://{}/{token}", server.address());
    print(format_args!("{address}\n"))?;
    let _way_in = args.open.then(|| browser::open(&address, console)).transpose()?;
    if args.no_auth {
        console.note("every program on this machine may ask, and change, everything");
    } else if server.token().is_some() {
        console.status("`trefoil token show` prints the token alone; Ctrl-C stops");
    }
    let main = server.engine(settings.main_index());
    let filling = match main {
        Some(engine) if !args.paths.is_empty() => {
            Some(Filling::start(engine, args.paths, args.no_watch, settings, console)?)
        }
        _ => None,
    };
    let served = server.run(&Stop::default());
    if let Some(filling) = filling {
        filling.stop();
    }
    served?;
    Ok(Outcome::Found)
}

/// What the command and the settings say together.
fn of_server(args: &ServeArgs, settings: &Settings) -> anyhow::Result<ServerSettings> {
    let default = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let roots = settings.server.roots.iter().chain(&args.paths);
    Ok(ServerSettings {
        addr: args.addr.or(settings.server.addr).unwrap_or(default),
        indexes: indexes(args, settings)?,
        read_only: args.read_only,
        no_auth: args.no_auth,
        #[cfg(feature = "mcp")]
        no_mcp: args.no_mcp,
        #[cfg(not(feature = "mcp"))]
        no_mcp: true,
        tokens: settings.tokens(),
        hosts: settings.server.hosts.clone(),
        roots: roots.map(absolute).collect(),
        limits: settings.server.limits,
        clock: Arc::new(SystemClock),
        reload: Reload::default(),
    })
}

/// The indexes of the settings; without any, the one that every command has.
fn indexes(args: &ServeArgs, settings: &Settings) -> anyhow::Result<Vec<IndexSettings>> {
    let named = settings.indexes.iter().map(|(name, dir)| (name.clone(), dir.clone()));
    let mut indexes: Vec<(String, PathBuf)> = named.collect();
    if indexes.is_empty() {
        indexes.push((settings.main_index().to_owned(), settings.index().to_owned()));
    }
    let node = settings.node(args.role)?;
    if matches!(node.store, StoreAt::Shared(_)) {
        let allowed = "one directory, the cache of the index that the store holds";
        Error::check_field(indexes.len() == 1, "--index", indexes.len(), allowed)?;
    }
    // Unlike a command, it lives long enough to learn what it is told.
    let engine = EngineConfig { memory: MemoryUpkeep::default(), ..node };
    let of = |(name, dir)| IndexSettings { name, dir, engine: engine.clone() };
    Ok(indexes.into_iter().map(of).collect())
}

/// The thread that reads files while the server runs.
struct Filling {
    stopped: Arc<AtomicBool>,
    watch: Option<Watch>,
    thread: JoinHandle<()>,
}

impl Filling {
    fn start(
        engine: Arc<Engine>,
        paths: Vec<PathBuf>,
        no_watch: bool,
        settings: &Settings,
        console: Console,
    ) -> anyhow::Result<Self> {
        let stopped = Arc::new(AtomicBool::new(false));
        let (watch, events) = if no_watch {
            (None, None)
        } else {
            let (watch, events) = Watch::start(&paths)?;
            (Some(watch), Some(events))
        };
        let index = settings.index().to_owned();
        let is_stopped = Arc::clone(&stopped);
        let work = move || {
            let is_stopped = || is_stopped.load(Ordering::Relaxed);
            let allowed = IngestOptions::default();
            let filled = note_missing_model(&engine, console)
                .and_then(|_| fill_until(&engine, &paths, allowed, console, &is_stopped));
            match filled {
                Ok(filled) => {
                    filled.report_skipped(console);
                    console.status(filled.summary());
                }
                Err(error) => failure::message(&error),
            }
            if let Some(events) = events {
                follow(&engine, &paths, allowed, &index, console, &events, &is_stopped);
            }
        };
        let thread = thread::Builder::new().name("trefoil-files".to_owned()).spawn(work)?;
        Ok(Self { stopped, watch, thread })
    }

    /// Lets it end at the next group of files, and waits for it.
    fn stop(self) {
        self.stopped.store(true, Ordering::Relaxed);
        // Without a watcher there are no more changes.
        drop(self.watch);
        drop(self.thread.join());
    }
}
