//! Looking after memory: what has aged, what may go, and what is told in short before it does.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::memory::MemoryWrite;
use trefoil_core::{Result, string_enum};

use super::Memory;
use crate::SourceProbe;

/// Units that are looked at, and written, at a time.
pub(super) const PAGE: usize = 256;

/// How memory is looked after.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MaintainOptions {
    /// Only tells what would be done.
    #[serde(alias = "dry_run")]
    pub dry_run: bool,
    /// Whether rolling summaries may be made of personal data; they are personal then.
    #[serde(alias = "with_personal_data")]
    pub with_personal_data: bool,
}

string_enum!(
    /// What was done to a unit.
    MaintenanceAction, "deed" {
        /// Less is known of it than before.
        Downgraded = "downgraded",
        /// It was made from others, to say in short what they say.
        Summarized = "summarized",
        /// It is told in a summary now, and is still found.
        Consolidated = "consolidated",
        /// It was taken out of the indexes, to be removed later.
        Discarded = "discarded",
        /// Its text was erased; what it said in short is kept.
        Scrubbed = "scrubbed",
        /// It is gone for good.
        Removed = "removed",
        /// It was to go and stays.
        Kept = "kept",
    }
);

/// One thing that was done, and why.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct MaintenanceStep {
    /// The unit, or the saved context.
    pub id: String,
    /// What was done to it.
    pub deed: MaintenanceAction,
    /// Why: times, numbers and ids, never what a unit says.
    pub reason: String,
}

impl MaintenanceStep {
    pub(super) fn new(
        id: &impl ToString,
        deed: MaintenanceAction,
        reason: impl Into<String>,
    ) -> Self {
        Self { id: id.to_string(), deed, reason: reason.into() }
    }
}

/// What looking after memory did.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MaintenanceReport {
    /// Whether all this was only told.
    pub dry_run: bool,
    /// When it was done.
    pub at: Timestamp,
    /// How many claims have faded.
    pub decayed: usize,
    /// Everything else that was done, in its order.
    pub steps: Vec<MaintenanceStep>,
}

impl Memory {
    /// Looks after memory once, at the time of the engine's clock: claims fade, age and are
    /// kept, summarised or discarded; observations whose time is over are summarised and
    /// scrubbed; loops and contexts that have expired go; rolling summaries that are due are
    /// made; and what was discarded long ago is removed. `probe` tells which sources have
    /// changed since they were last looked at.
    ///
    /// Done again at the same time, it does nothing more. Each step is done wholly or not at
    /// all.
    ///
    /// # Errors
    /// Those of the store, of the probe and of the summariser; what was done before stays.
    pub fn maintain(
        &self,
        probe: &dyn SourceProbe,
        options: &MaintainOptions,
    ) -> Result<MaintenanceReport> {
        let now = self.now()?;
        let pass = MaintenancePass { memory: self, probe, options, now };
        let mut done =
            MaintenanceReport { dry_run: options.dry_run, at: now, decayed: 0, steps: Vec::new() };
        let stale = pass.age_claims(&mut done)?;
        done.steps.extend(pass.fold_claims(&stale)?);
        done.steps.extend(pass.scrub_observations(now)?);
        done.steps.extend(pass.remove_loops()?);
        done.steps.extend(pass.roll()?);
        done.steps.extend(pass.purge()?);
        done.steps.extend(pass.remove_contexts()?);
        Ok(done)
    }
}

/// One pass of looking after memory.
pub(super) struct MaintenancePass<'a> {
    pub(super) memory: &'a Memory,
    pub(super) probe: &'a dyn SourceProbe,
    pub(super) options: &'a MaintainOptions,
    pub(super) now: Timestamp,
}

impl MaintenancePass<'_> {
    /// Runs `work` in one transaction, which a dry run undoes.
    pub(super) fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        if self.options.dry_run {
            self.memory.engine.memory().rehearse(doing, work)
        } else {
            self.memory.write(doing, work)
        }
    }
}
