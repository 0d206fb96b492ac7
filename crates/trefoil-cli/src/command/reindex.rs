use std::time::Instant;

use serde::Serialize;
use trefoil::{Engine, admin::EngineStats};

use super::{
    Outcome,
    fill::{drain, note_missing_model, plural, shown},
};
use crate::{interrupt::say_on_ctrl_c, progress::duration, settings::Settings};

#[derive(Serialize)]
struct Reindexed {
    files: usize,
    chunks: usize,
    embedded: usize,
    seconds: f64,
}

/// Rebuilds the indexes from the stored text.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    say_on_ctrl_c("stopped; the index is what it was, and the same command goes on from here")?;
    let engine = Engine::reindex(settings.index(), settings.node(None)?)?;
    let before = engine.stats()?.embedded;
    note_missing_model(&engine, settings.console)?;
    drain(&engine, settings.console)?;
    let EngineStats { store, embedded, .. } = engine.stats()?;
    let done = Reindexed {
        files: store.files,
        chunks: store.chunks,
        embedded: embedded - before,
        seconds: started.elapsed().as_secs_f64(),
    };
    settings.console.show(&done, |&Reindexed { files, chunks, embedded, .. }| {
        format!(
            "{chunks} {} of {files} {} indexed again, {embedded} embedded, {} → {}\n",
            plural(chunks, "chunk"),
            plural(files, "file"),
            duration(started.elapsed()),
            shown(settings.index()),
        )
    })?;
    Ok(Outcome::Found)
}
