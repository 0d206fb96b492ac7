use std::path::Path;

use serde::Serialize;
use trefoil::{Engine, admin::Snapshot};

use super::{Outcome, fill::shown};
use crate::{
    console::{Console, print, print_json},
    progress::bytes,
    settings::Settings,
};

/// A snapshot, on the wire.
#[derive(Serialize)]
struct Exported {
    id: String,
    bytes: u64,
    change: u64,
    model: Option<String>,
}

/// Writes the index into one file.
pub(super) fn run(file: &Path, settings: &Settings, console: Console) -> anyhow::Result<Outcome> {
    let snapshot = Engine::export(settings.index(), file)?;
    tell(snapshot, file, console)
}

/// Makes an index of such a file.
pub(super) fn import(
    file: &Path,
    settings: &Settings,
    console: Console,
) -> anyhow::Result<Outcome> {
    let snapshot = Engine::import(file, settings.index())?;
    tell(snapshot, settings.index(), console)
}

fn tell(snapshot: Snapshot, to: &Path, console: Console) -> anyhow::Result<Outcome> {
    let Snapshot { id, bytes: length, manifest, .. } = snapshot;
    if console.json {
        let change = manifest.seq.get();
        print_json(&Exported { id, bytes: length, change, model: manifest.model })?;
    } else {
        print(format_args!("snapshot {id}, {} → {}\n", bytes(length), shown(to)))?;
    }
    Ok(Outcome::Found)
}
