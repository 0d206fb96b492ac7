use std::path::{MAIN_SEPARATOR, Path};

use trefoil::Engine;

use super::{Outcome, fill::plural};
use crate::{args::RemoveArgs, settings::Settings};

/// Forgets files and all that is below folders.
pub(super) fn run(args: &RemoveArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let console = settings.console;
    let engine = settings.open_existing()?;
    let mut removed = 0;
    for path in &args.paths {
        let below = forget(&engine, path)?;
        if below == 0 {
            console.note(format_args!("nothing is indexed at or below `{}`", path.display()));
        }
        removed += below;
    }
    console.show(&serde_json::json!({ "removed": removed }), |_| {
        format!("{removed} {} removed\n", plural(removed, "file"))
    })?;
    Ok(if removed > 0 { Outcome::Found } else { Outcome::NothingFound })
}

/// Forgets what is at or below `path`, which need not exist any more. How many files.
fn forget(engine: &Engine, path: &Path) -> anyhow::Result<usize> {
    let name = stored_name(path);
    if !name.is_empty() {
        return Ok(engine.remove(&name)?);
    }
    // The current folder: all that is stored relative to it.
    let mut removed = 0;
    for path in engine.paths()?.into_iter().filter(|path| !path.starts_with('/')) {
        removed += engine.remove(&path)?;
    }
    Ok(removed)
}

/// The name that a file is stored under: relative if it is below the current folder.
pub(super) fn stored_name(path: &Path) -> String {
    let full = path.canonicalize().or_else(|_| std::path::absolute(path));
    let full = full.unwrap_or_else(|_| path.to_owned());
    let here = std::env::current_dir().unwrap_or_default();
    let name = full.strip_prefix(here).unwrap_or(&full).to_string_lossy();
    name.replace(MAIN_SEPARATOR, "/")
}
