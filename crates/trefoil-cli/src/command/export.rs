use std::path::Path;

use serde::Serialize;
use trefoil::{Engine, admin::Snapshot};

use super::{Outcome, fill::shown};
use crate::{console::Console, progress::bytes, settings::Settings};

/// A snapshot, on the wire.
#[derive(Serialize)]
struct Exported {
    id: String,
    bytes: u64,
    change: u64,
    model: Option<String>,
}

/// Writes the index into one file.
pub(super) fn run(file: &Path, settings: &Settings) -> anyhow::Result<Outcome> {
    let snapshot = Engine::export(settings.index(), file)?;
    tell(snapshot, file, settings.console)
}

/// Makes an index of such a file.
pub(super) fn import(file: &Path, settings: &Settings) -> anyhow::Result<Outcome> {
    let snapshot = Engine::import(file, settings.index())?;
    tell(snapshot, settings.index(), settings.console)
}

fn tell(snapshot: Snapshot, to: &Path, console: Console) -> anyhow::Result<Outcome> {
    let Snapshot { id, bytes: length, manifest, .. } = snapshot;
    let exported =
        Exported { id, bytes: length, change: manifest.seq.get(), model: manifest.model };
    console.show(&exported, |Exported { id, .. }| {
        format!("snapshot {id}, {} → {}\n", bytes(length), shown(to))
    })?;
    Ok(Outcome::Found)
}
