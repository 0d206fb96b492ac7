//! Reading files into an engine and waiting for their vectors, in sight of a person.

use std::{
    fmt::Write,
    ops::ControlFlow,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::Context;
use serde::Serialize;
use trefoil::{
    Engine, IngestOptions, Ingested, RetrieverId,
    admin::EngineStats,
    ingest::{Kept, Skipped},
    search::Stage,
};

use crate::{
    console::Console,
    progress::{Progress, Unit, duration},
    show::printable,
};

/// Skipped files that are listed unless all are wanted.
const LISTED: usize = 10;

/// What filling an index did.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Filled {
    #[serde(flatten)]
    pub(super) ingested: Ingested,
    /// Texts that the model read; equal texts are read once.
    pub(super) embedded: usize,
    /// Chunks that wait for a vector.
    pub(super) waiting: usize,
    /// Chunks that no vector could be made for.
    pub(super) failed: usize,
    pub(super) seconds: f64,
}

impl Filled {
    /// True if the index is not what it was.
    pub(super) fn changed(&self) -> bool {
        self.ingested.written + self.ingested.removed + self.embedded > 0
    }

    /// One line without its end.
    pub(super) fn summary(&self) -> String {
        let Self { ingested, embedded, .. } = self;
        let Ingested { written, unchanged, removed, chunks_added, .. } = ingested;
        let mut text = format!("{written} {} indexed", plural(*written, "file"));
        if *unchanged > 0 {
            _ = write!(text, ", {unchanged} unchanged");
        }
        if *removed > 0 {
            _ = write!(text, ", {removed} removed");
        }
        let chunks = plural(*chunks_added, "chunk");
        let time = duration(Duration::try_from_secs_f64(self.seconds).unwrap_or_default());
        _ = write!(text, ": {chunks_added} new {chunks}, {embedded} embedded, {time}");
        if *embedded > 0 && self.seconds > 0.0 {
            _ = write!(text, " ({:.1} chunks/s)", *embedded as f64 / self.seconds);
        }
        text
    }

    /// Lists what was passed over, and what was kept though it was not found.
    pub(super) fn report_skipped(&self, console: Console) {
        for Kept { root, missing, indexed } in &self.ingested.kept {
            console.note(format_args!(
                "{missing} of the {indexed} indexed {} of `{}` are not there; nothing of it was \
                 removed: `--prune` removes them",
                plural(*indexed, "file"),
                root.display(),
            ));
        }
        let count = self.ingested.skipped.len();
        if count == 0 {
            return;
        }
        console.note(format_args!("{count} {} skipped:", plural(count, "file")));
        let listed = if console.verbose { count } else { LISTED };
        for Skipped { path, reason } in self.ingested.skipped.iter().take(listed) {
            console.status(format_args!("  {} — {}", printable(path), printable(reason)));
        }
        if count > listed {
            console.status(format_args!("  and {} more; --verbose lists all", count - listed));
        }
    }
}

/// Indexes `paths` and waits for the vectors.
pub(super) fn fill(
    engine: &Engine,
    paths: &[PathBuf],
    allowed: IngestOptions,
    console: Console,
) -> anyhow::Result<Filled> {
    fill_until(engine, paths, allowed, console, &|| false)
}

/// The same, until somebody wants it to stop: what was read by then is indexed.
pub(super) fn fill_until(
    engine: &Engine,
    paths: &[PathBuf],
    allowed: IngestOptions,
    console: Console,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Filled> {
    let started = Instant::now();
    let before = engine.stats()?.embedded;
    let ingested = read(engine, paths, allowed, console, is_stopped)?;
    drain_until(engine, console, is_stopped)?;
    let EngineStats { store, embedded, .. } = engine.stats()?;
    Ok(Filled {
        ingested,
        embedded: embedded - before,
        waiting: store.jobs.queued + store.jobs.running,
        failed: store.jobs.failed,
        seconds: started.elapsed().as_secs_f64(),
    })
}

fn read(
    engine: &Engine,
    paths: &[PathBuf],
    allowed: IngestOptions,
    console: Console,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<Ingested> {
    let mut progress = Progress::start(console, "reading", Unit::Items("files"));
    let ingested = engine.ingest_paths(paths, allowed, |trefoil::Progress { done, total }| {
        progress.set(done, total);
        goes_on(is_stopped)
    });
    progress.finish();
    Ok(ingested?)
}

/// Waits until every chunk that can have a vector has one.
pub(super) fn drain(engine: &Engine, console: Console) -> anyhow::Result<()> {
    drain_until(engine, console, &|| false)
}

fn drain_until(
    engine: &Engine,
    console: Console,
    is_stopped: &dyn Fn() -> bool,
) -> anyhow::Result<()> {
    let mut progress = Progress::start(console, "embedding", Unit::Items("chunks"));
    let mut total = 0;
    let drained = engine.wait_until_indexed_with(|jobs| {
        let left = jobs.queued + jobs.running;
        total = total.max(left);
        progress.set((total - left) as u64, total as u64);
        goes_on(is_stopped)
    });
    progress.finish();
    drained.context(
        "the text can be searched by keyword, but embedding it failed; \
         the same command tries again",
    )?;
    Ok(())
}

fn goes_on(is_stopped: &dyn Fn() -> bool) -> ControlFlow<()> {
    if is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// Says so if there is no model to search by meaning with. Whether there is one.
pub(super) fn note_missing_model(engine: &Engine, console: Console) -> anyhow::Result<bool> {
    let absent = engine.stats()?.absent;
    let semantic =
        absent.iter().find(|degraded| degraded.stage == Stage::Retriever(RetrieverId::SEMANTIC));
    if let Some(degraded) = semantic {
        console.note(format_args!("keywords only: {}", degraded.reason));
    }
    Ok(semantic.is_none())
}

/// `folder` as it is best written in a command: relative, if it is below this one.
pub(super) fn shown(folder: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let folder = folder.strip_prefix(here).unwrap_or(folder).display().to_string();
    if folder.contains(char::is_whitespace) { format!("'{folder}'") } else { folder }
}

/// `noun` for one, `nouns` for any other count.
pub(super) fn plural(count: usize, noun: &str) -> String {
    match noun.strip_suffix('y') {
        _ if count == 1 => noun.to_owned(),
        Some(stem) => format!("{stem}ies"),
        None => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_says_what_there_is_to_say() {
        let check = |filled: &Filled, expected: &str| assert_eq!(filled.summary(), expected);
        check(&Filled::default(), "0 files indexed: 0 new chunks, 0 embedded, 0.0 s");
        check(
            &Filled {
                ingested: Ingested {
                    written: 1,
                    unchanged: 2,
                    removed: 3,
                    chunks_added: 1,
                    ..Ingested::default()
                },
                embedded: 4,
                seconds: 2.0,
                ..Filled::default()
            },
            "1 file indexed, 2 unchanged, 3 removed: 1 new chunk, 4 embedded, 2.0 s (2.0 chunks/s)",
        );
    }
}
