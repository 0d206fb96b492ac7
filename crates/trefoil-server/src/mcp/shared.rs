//! An index that several processes have open: each reads at any time, and they write in turns.

use std::{
    fs,
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use trefoil::{Engine, Error, Result};

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

    /// The index to read, which sees what others commit.
    ///
    /// # Errors
    /// Those of [`Engine::open_read_only`]; it is tried again with each call.
    pub(crate) fn reader(&self) -> Result<Opened> {
        let mut reader = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = &*reader {
            return Ok(opened.clone());
        }
        let IndexSettings { dir, engine, .. } = &self.settings;
        let opened = Opened::from(Engine::open_read_only(dir, engine.clone())?);
        Ok(reader.insert(opened).clone())
    }

    /// The index to read, if it is open already.
    pub(crate) fn opened(&self) -> Option<Opened> {
        self.reader.try_lock().ok()?.clone()
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
            let opened = Opened::from(self.open_in_turn()?);
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
            writer.opened.insert(opened).clone()
        };
        writer.calls += 1;
        writer.busy = Instant::now();
        Ok(Writable { opened, shared: Some(Arc::clone(self)) })
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
            if writer.busy.elapsed() >= KEEP {
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
