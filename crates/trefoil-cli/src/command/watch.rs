use std::{
    path::{Path, PathBuf},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    time::Duration,
};

use anyhow::Context;
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use trefoil::{Engine, IngestOptions};

use super::{Outcome, fill::fill_until};
use crate::{console::Console, failure};

/// Editors and version control write in bursts: wait until one is over.
const QUIET: Duration = Duration::from_millis(300);

pub(super) type Events = Receiver<notify::Result<Event>>;

/// Indexes `paths` again whenever something below them changes, until the process ends.
/// Unchanged files cost a look at their time stamp, so that the ignore rules are
/// applied by the one place that knows them.
pub(super) fn watch(
    engine: &Engine,
    paths: &[PathBuf],
    allowed: IngestOptions,
    index: &Path,
    console: Console,
) -> anyhow::Result<Outcome> {
    let (_watch, events) = Watch::start(paths)?;
    console.status("watching for changes; Ctrl-C stops");
    follow(engine, paths, allowed, index, console, &events, &|| false);
    Ok(Outcome::Found)
}

/// Tells of changes below some paths until it is dropped.
pub(super) struct Watch(
    #[expect(dead_code, reason = "it works until it is dropped")] RecommendedWatcher,
);

impl Watch {
    pub(super) fn start(paths: &[PathBuf]) -> anyhow::Result<(Self, Events)> {
        let (sender, events) = mpsc::channel();
        let mut watcher =
            notify::recommended_watcher(sender).context("cannot watch for changes")?;
        for path in paths {
            let (target, mode) = watchable(path);
            watcher
                .watch(&target, mode)
                .with_context(|| format!("cannot watch `{}` for changes", path.display()))?;
        }
        Ok((Self(watcher), events))
    }
}

/// Indexes the paths again after each burst of changes, until there can be no more.
pub(super) fn follow(
    engine: &Engine,
    paths: &[PathBuf],
    allowed: IngestOptions,
    index: &Path,
    console: Console,
    events: &Events,
    is_stopped: &dyn Fn() -> bool,
) {
    let index = index.canonicalize().unwrap_or_else(|_| index.to_owned());
    while await_change(events, &index) && !is_stopped() {
        let filled = fill_until(engine, paths, allowed, console, is_stopped);
        let told = filled.and_then(|filled| match filled {
            filled if filled.changed() || !filled.ingested.kept.is_empty() => {
                filled.report_skipped(console);
                console.show(&filled, |_| format!("{}\n", filled.summary()))
            }
            _ => Ok(()),
        });
        // A file may vanish while it is read; the next change brings another try.
        if let Err(error) = told {
            failure::message(&error);
        }
    }
}

/// A folder with all below it; of a file its folder, because editors replace files.
fn watchable(path: &Path) -> (PathBuf, RecursiveMode) {
    let full = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match full.parent() {
        Some(folder) if full.is_file() => (folder.to_owned(), RecursiveMode::NonRecursive),
        _ => (full, RecursiveMode::Recursive),
    }
}

/// Waits for a burst of changes and for its end; false if there can be no more.
fn await_change(events: &Events, index: &Path) -> bool {
    let mut changed = false;
    loop {
        let event = if changed {
            match events.recv_timeout(QUIET) {
                Err(RecvTimeoutError::Timeout) => return true,
                Err(RecvTimeoutError::Disconnected) => return false,
                Ok(event) => event,
            }
        } else {
            let Ok(event) = events.recv() else { return false };
            event
        };
        // Where events were lost, anything may have changed.
        changed |= event.map_or(true, |event| concerns_documents(&event, index));
    }
}

/// Reading is no change, and the index is no document.
fn concerns_documents(event: &Event, index: &Path) -> bool {
    !event.kind.is_access() && !event.paths.iter().all(|path| path.starts_with(index))
        || event.need_rescan()
}

#[cfg(test)]
mod tests {
    use notify::{
        EventKind,
        event::{AccessKind, ModifyKind},
    };

    use super::*;

    #[test]
    fn what_the_index_writes_does_not_wake_the_indexer() {
        let check = |kind: EventKind, path: &str, expected: bool| {
            let event = Event::new(kind).add_path(path.into());
            assert_eq!(
                concerns_documents(&event, Path::new("/notes/.trefoil")),
                expected,
                "{event:?}"
            );
        };
        let modify = EventKind::Modify(ModifyKind::Any);
        check(modify, "/notes/a.md", true);
        check(modify, "/notes/.trefoil/store.db", false);
        check(EventKind::Access(AccessKind::Any), "/notes/a.md", false);
    }

    #[test]
    fn a_burst_is_one_change() {
        let (sender, events) = mpsc::channel();
        for name in ["/a", "/b", "/c"] {
            sender
                .send(Ok(Event::new(EventKind::Modify(ModifyKind::Any)).add_path(name.into())))
                .unwrap();
        }
        assert!(await_change(&events, Path::new("/index")));
        assert!(events.try_recv().is_err());
        drop(sender);
        assert!(!await_change(&events, Path::new("/index")));
    }
}
