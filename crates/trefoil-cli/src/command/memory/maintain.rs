use std::fmt::Write;

use trefoil_memory::{ContentProbe, GitProbe, MaintainOptions, MaintenanceReport, SourceProbe};

use super::{Outcome, writable};
use crate::{args::MaintainArgs, command::fill::plural, settings::Settings, show::DIM};

/// Lets memory age, and says what was done.
pub(super) fn run(args: &MaintainArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let MaintainArgs { dry_run, with_personal_data, files, git } = args;
    let probe: Box<dyn SourceProbe> = match git {
        Some(repository) => Box::new(GitProbe::new(repository)),
        None => Box::new(ContentProbe::new(files)),
    };
    let options = MaintainOptions { dry_run: *dry_run, with_personal_data: *with_personal_data };
    let memory = writable(settings)?;
    let done = memory.maintain(probe.as_ref(), &options)?;
    settings.console.show(&done, text)?;
    Ok(if done.decayed == 0 && done.steps.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Found
    })
}

/// A line for each thing that was done, and why.
pub(in crate::command) fn text(done: &MaintenanceReport) -> String {
    let MaintenanceReport { dry_run, decayed, steps, .. } = done;
    let mut text = String::new();
    for step in steps {
        _ = writeln!(text, "{:<12} {}  {DIM}{}{DIM:#}", step.deed.as_str(), step.id, step.reason);
    }
    let claims = plural(*decayed, "claim");
    _ = writeln!(text, "{decayed} {claims} faded, {} {}", steps.len(), plural(steps.len(), "step"));
    if *dry_run {
        text += "nothing was changed: this only says what would be done\n";
    }
    text
}
