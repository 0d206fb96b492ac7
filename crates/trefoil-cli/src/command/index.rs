use std::fs;

use trefoil::{Error, IngestOptions, Model, model::Rerankers};

use super::{
    Outcome,
    fill::{Filled, fill, note_missing_model, shown},
    models::pull,
    watch::watch,
};
use crate::{args::IndexArgs, interrupt::say_on_ctrl_c, settings::Settings};

/// Indexes files, and goes on doing so where asked to.
pub(super) fn run(args: &IndexArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    if !settings.index().exists() {
        // Before an index is made because of a slip of the finger.
        for path in &args.paths {
            fs::metadata(path).map_err(|error| Error::io("read", path, error))?;
        }
    }
    let console = settings.console;
    let allowed = IngestOptions { prune: args.prune };
    say_on_ctrl_c("stopped; the index is consistent, and the same command goes on from here")?;
    if args.pull {
        pull_missing(settings)?;
    }
    let engine = settings.open()?;
    note_missing_model(&engine, console)?;
    let filled = fill(&engine, &args.paths, allowed, console)?;
    filled.report_skipped(console);
    if filled.ingested.written + filled.ingested.unchanged == 0 && filled.ingested.kept.is_empty() {
        console.note("there is no document to index at or below the given paths");
    }
    let text = |filled: &Filled| format!("{} → {}\n", filled.summary(), shown(settings.index()));
    console.show(&filled, text)?;
    if args.watch {
        return watch(&engine, &args.paths, allowed, settings.index(), console);
    }
    Ok(Outcome::Found)
}

/// Fetches the models that the settings name, unless they are here.
pub(super) fn pull_missing(settings: &Settings) -> anyhow::Result<()> {
    let Settings { home, engine, console, .. } = settings;
    match &engine.model {
        Model::None | Model::Folder(_) | Model::Custom(_) | Model::External { .. } => Ok(()),
        Model::Default => pull(home, &[], false, *console),
        Model::Named(name) => {
            let is_read = engine.rerank.enabled && matches!(engine.rerankers, Rerankers::Default);
            let reranker = is_read.then_some(engine.rerank.model.as_str());
            let names = [Some(name.as_str()), reranker].into_iter().flatten();
            let absent: Vec<&str> = names.filter(|name| home.path(name).is_err()).collect();
            if absent.is_empty() { Ok(()) } else { pull(home, &absent, false, *console) }
        }
    }
}
