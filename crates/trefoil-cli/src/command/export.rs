use std::{ops::ControlFlow, path::Path};

use trefoil::{Engine, admin::Snapshot};

use super::{Outcome, fill::shown};
use crate::{
    console::Console,
    progress::{Progress, Unit, bytes},
    settings::Settings,
};

/// Writes the index into one file.
pub(super) fn run(file: &Path, settings: &Settings) -> anyhow::Result<Outcome> {
    let mut progress = Progress::start(settings.console, "writing", Unit::Bytes);
    let snapshot =
        Engine::export_with(settings.index(), file, |trefoil::Progress { done, total }| {
            progress.set(done, total);
            ControlFlow::Continue(())
        });
    progress.finish();
    tell(&snapshot?, file, settings.console)
}

/// Makes an index of such a file.
pub(super) fn import(file: &Path, settings: &Settings) -> anyhow::Result<Outcome> {
    let snapshot = Engine::import(file, settings.index())?;
    tell(&snapshot, settings.index(), settings.console)
}

fn tell(snapshot: &Snapshot, to: &Path, console: Console) -> anyhow::Result<Outcome> {
    console.show(snapshot, |Snapshot { id, bytes: length, .. }| {
        format!("snapshot {id}, {} → {}\n", bytes(*length), shown(to))
    })?;
    Ok(Outcome::Found)
}
