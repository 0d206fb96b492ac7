//! An index that several processes have open: each reads at any time, and they write in turns. The
//! cache of a node is followed by one of them at a time.

use std::{
    fs,
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use trefoil::{Engine, Error, Result, cluster::StoreAt};

use crate::{indexes::Opened, settings::IndexSettings};

/// How long a write waits while nobody else gets the lock either, and how long at most.
const WAIT: Duration = Duration::from_secs(3);
const LONGEST_WAIT: Duration = Duration::from_secs(30);
/// How often it looks whether it is its turn.
const LOOK: Duration = Duration::from_millis(30);
/// How long the writer's lock is kept without work.
const KEEP: Duration = Duration::from_secs(5);
/// The file that is touched by who waits for the lock.
const WANTED: &str = "WANTED";
/// The file that is touched by who has got it.
const TURN: &str = "TURN";

/// An index of this process.
#[derive(Debug)]
pub(crate) struct SharedIndex {
    pub(crate) settings: IndexSettings,
    reader: Mutex<Option<Opened>>,
    writer: Mutex<Writer>,
}

/// The engine that writes, while there is one.
#[derive(Debug)]
struct Writer {
    opened: Option<Opened>,
    /// When another process last asked for the lock, at the time this one took it.
    asked: Option<SystemTime>,
    /// When it last had work.
    busy: Instant,
    /// Texts that it had embedded by then.
    embedded: usize,
    /// Whether a thread looks when to give the lock back.
    watched: bool,
    /// Calls that use it.
    calls: usize,
}

/// An index to write to, for one call.
#[derive(Debug)]
pub(crate) struct Writable {
    opened: Opened,
    shared: Option<Arc<SharedIndex>>,
}

impl From<Opened> for Writable {
    /// One that this process writes to for as long as it lives.
    fn from(opened: Opened) -> Self {
        Self { opened, shared: None }
    }
}

impl Deref for Writable {
    type Target = Opened;
    fn deref(&self) -> &Opened {
        &self.opened
    }
}

impl Drop for Writable {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            let mut writer = shared.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.calls -= 1;
            writer.busy = Instant::now();
        }
    }
}

impl SharedIndex {
    /// Opens nothing yet.
    pub(crate) fn new(settings: IndexSettings) -> Self {
        let writer = Writer {
            opened: None,
            asked: None,
            busy: Instant::now(),
            embedded: 0,
            watched: false,
            calls: 0,
        };
        Self { settings, reader: Mutex::default(), writer: Mutex::new(writer) }
    }

    /// The index to read, which sees what others commit. The cache of a node is followed, unless
    /// another process does that.
    ///
    /// # Errors
    /// Those of [`Engine::open_read_only`], or of [`Engine::open_with`]; it is tried again with
    /// each call.
    pub(crate) fn reader(self: &Arc<Self>) -> Result<Opened> {
        if self.is_node() {
            match self.follower() {
                Err(Error::Locked { .. }) => {}
                opened => return opened,
            }
        }
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*reader {
            return Ok(opened.clone());
        }
        let IndexSettings { dir, engine, .. } = &self.settings;
        let opened = Opened::from(Engine::open_read_only(dir, engine.clone())?);
        Ok(reader.insert(opened).clone())
    }

    /// Whether the index is the cache of a node.
    fn is_node(&self) -> bool {
        matches!(self.settings.engine.store, StoreAt::Shared(_))
    }

    /// The engine that follows, for as long as no other process wants its turn.
    fn follower(self: &Arc<Self>) -> Result<Opened> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &writer.opened {
            return Ok(opened.clone());
        }
        let IndexSettings { dir, engine, .. } = &self.settings;
        let opened = self.keep(&mut writer, Engine::open_with(dir, engine.clone())?)?;
        // What was read is as of then.
        *self.reader.lock().unwrap_or_else(PoisonError::into_inner) = None;
        Ok(opened)
    }

    /// The index to read, if it is open already.
    pub(crate) fn opened(&self) -> Option<Opened> {
        let opened = self.reader.try_lock().ok()?.clone();
        opened.or_else(|| self.writer.try_lock().ok()?.opened.clone())
    }

    /// The index to write to. The lock is given back when there was no work for a while, or as
    /// soon as another process waits for it.
    ///
    /// # Errors
    /// [`Error::Locked`] if another process kept the lock all the time, or too many others wait
    /// too, and those of [`Engine::open_with`].
    pub(crate) fn writer(self: &Arc<Self>) -> Result<Writable> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if writer.calls == 0 && self.is_wanted(&writer) {
            writer.opened = None;
            // The other one looks at least once.
            thread::sleep(LOOK * 2);
        }
        let opened = if let Some(opened) = &writer.opened {
            opened.clone()
        } else {
            let engine = self.open_in_turn()?;
            self.keep(&mut writer, engine)?
        };
        writer.calls += 1;
        writer.busy = Instant::now();
        Ok(Writable { opened, shared: Some(Arc::clone(self)) })
    }

    /// Keeps an engine that has the lock until it is time to give that back.
    fn keep(self: &Arc<Self>, writer: &mut Writer, engine: Engine) -> Result<Opened> {
        let opened = Opened::from(engine);
        writer.asked = self.asked();
        writer.embedded = 0;
        if !writer.watched {
            let shared = Arc::clone(self);
            thread::Builder::new()
                .name("trefoil-lock".to_owned())
                .spawn(move || shared.give_back())
                .map_err(|error| Error::io("start a thread for", &self.settings.dir, error))?;
            writer.watched = true;
        }
        Ok(writer.opened.insert(opened).clone())
    }

    fn open_in_turn(&self) -> Result<Engine> {
        let IndexSettings { dir, engine, .. } = &self.settings;
        let (began, mut moved, mut turn) = (Instant::now(), Instant::now(), self.turn());
        loop {
            match Engine::open_with(dir, engine.clone()) {
                Err(Error::Locked { .. })
                    if moved.elapsed() < WAIT && began.elapsed() < LONGEST_WAIT =>
                {
                    let now = self.turn();
                    if now != turn {
                        (turn, moved) = (now, Instant::now());
                    }
                    // Without it the other gives the lock back a little later.
                    _ = fs::write(self.wanted(), b"");
                    thread::sleep(LOOK);
                }
                Ok(engine) => {
                    _ = fs::write(self.settings.dir.join(TURN), b"");
                    return Ok(engine);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// When the lock last went to another process.
    fn turn(&self) -> Option<SystemTime> {
        fs::metadata(self.settings.dir.join(TURN)).and_then(|file| file.modified()).ok()
    }

    fn wanted(&self) -> PathBuf {
        self.settings.dir.join(WANTED)
    }

    /// Whether another process waits for the lock.
    fn is_wanted(&self, writer: &Writer) -> bool {
        writer.opened.is_some() && self.asked() != writer.asked
    }

    /// When a process last asked for the lock.
    fn asked(&self) -> Option<SystemTime> {
        fs::metadata(self.wanted()).and_then(|file| file.modified()).ok()
    }

    /// Gives the lock back when it is time.
    fn give_back(&self) {
        loop {
            thread::sleep(LOOK);
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(opened) = &writer.opened else {
                writer.watched = false;
                return;
            };
            if writer.calls > 0 {
                continue;
            }
            let mut is_over = self.is_wanted(&writer);
            if writer.busy.elapsed() >= KEEP && !self.is_node() {
                let embedded = opened.engine.stats().map_or(0, |stats| stats.embedded);
                is_over |= embedded == writer.embedded;
                writer.embedded = embedded;
                writer.busy = Instant::now();
            }
            if is_over {
                writer.opened = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use trefoil::{
        Document, EngineConfig, Model, SearchQuery,
        cluster::{MemoryTruth, NodeTimes, SharedStore},
    };

    use super::*;

    fn config(truth: MemoryTruth) -> EngineConfig {
        let mut shared = SharedStore::new(Arc::new(truth));
        shared.times = NodeTimes { poll: Duration::from_millis(5), ..shared.times };
        EngineConfig {
            model: Model::None,
            store: StoreAt::Shared(shared),
            ..EngineConfig::default()
        }
    }

    fn finds(shared: &Arc<SharedIndex>, word: &str) -> bool {
        let query = SearchQuery::new(word).unwrap();
        let opened = shared.reader().unwrap();
        !opened.engine.search(&query).unwrap().results.is_empty()
    }

    #[test]
    fn the_cache_of_a_node_is_followed_by_one_process_and_read_by_the_others() {
        let (truth, dirs) = (MemoryTruth::new("a"), [(); 2].map(|()| tempfile::tempdir().unwrap()));
        let leads = Engine::open_with(dirs[0].path(), config(truth.clone())).unwrap();
        let open = |name: &str| {
            let (name, dir) = (name.to_owned(), dirs[1].path().to_owned());
            let engine = config(truth.node(&name));
            Arc::new(SharedIndex::new(IndexSettings { name, dir, engine }))
        };
        let (first, second) = (open("b"), open("c"));
        for (number, word) in ["walrus", "seal", "tern"].into_iter().enumerate() {
            let text = format!("The {word} sleeps on the ice.");
            leads.ingest(&[Document::new(word, text)]).unwrap();
            let until = Instant::now() + Duration::from_secs(20);
            while !(finds(&first, word) && finds(&second, word)) {
                assert!(Instant::now() < until, "{word}");
                thread::sleep(Duration::from_millis(5));
            }
            // Whoever writes has the node from then on, and the other one reads.
            let writer = if number % 2 == 0 { &second } else { &first };
            let note = Document::new(format!("{word}.md"), format!("A note on {word}{number}."));
            assert_eq!(writer.writer().unwrap().engine.ingest(&[note]).unwrap().written, 1);
        }
        assert_eq!(leads.paths().unwrap().len(), 6);
    }
}
