use std::{fs, path::Path, sync::Arc};

use serde::Serialize;
use trefoil::Error;
use trefoil_memory::{Memory, PolicyVersion};

use super::{Outcome, readable};
use crate::{
    console::{print, print_json},
    settings::Settings,
};

/// A policy that was read, on the wire.
#[derive(Serialize)]
struct Applied {
    policy_version: PolicyVersion,
    applied: bool,
}

/// Prints a policy as it was written.
pub(super) fn show(
    version: Option<&PolicyVersion>,
    settings: &Settings,
) -> anyhow::Result<Outcome> {
    let memory = readable(settings)?;
    if settings.console.json {
        let policy = match version {
            Some(version) => memory.policy_of(version)?,
            None => memory.policy()?,
        };
        print_json(&policy)?;
    } else {
        print(memory.policy_text(version)?)?;
    }
    Ok(Outcome::Found)
}

/// Checks a policy, and makes it the one that holds.
pub(super) fn apply(file: &Path, dry_run: bool, settings: &Settings) -> anyhow::Result<Outcome> {
    let yaml = fs::read_to_string(file).map_err(|error| Error::io("read", file, error))?;
    let engine = settings.open()?;
    let version = Memory::new(Arc::new(engine)).apply_policy(&yaml, dry_run)?;
    let done = if dry_run { "is valid; it was not applied" } else { "holds from now on" };
    let applied = Applied { policy_version: version, applied: !dry_run };
    settings.console.show(&applied, |one| format!("policy {} {done}\n", one.policy_version))?;
    Ok(Outcome::Found)
}
