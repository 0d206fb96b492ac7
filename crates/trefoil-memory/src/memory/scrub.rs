//! Observations whose time is over: told in a summary first, then scrubbed; loops, contexts
//! and what was discarded, removed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use trefoil::{
    index::RowId,
    memory::{EpisodePayload, MemoryUnit, MemoryWrite, PatchReason, Payload, UnitRow},
};
use trefoil_core::{BoundaryClass, Extraction, Result, SummaryId, UnitState};

use super::{
    Memory,
    digest::{NewSummary, happened_at},
    maintain::{MaintenanceAction, MaintenancePass, MaintenanceStep},
};
use crate::{ContentProbe, MaintainOptions, RollingKey, SummaryBody};
use trefoil_memory_core::sha256_hex;

/// The kind of summary that stays of observations.
const EXPIRED: &str = "expired";
/// Seconds of a day.
const DAY: i64 = 86_400;

impl Memory {
    /// Scrubs the observations whose time was over by `before`, each after a summary of it
    /// was stored; what has still to live is not touched. What was done.
    ///
    /// # Errors
    /// Those of the store and of the summariser; without a summary nothing is scrubbed.
    pub fn summarize_and_delete(&self, before: Timestamp) -> Result<Vec<MaintenanceStep>> {
        let (probe, now) = (ContentProbe::new(""), self.now()?);
        let options = MaintainOptions::default();
        let pass = MaintenancePass { memory: self, probe: &probe, options: &options, now };
        pass.scrub_observations(before.min(now))
    }
}

impl MaintenancePass<'_> {
    /// One summary for what belongs together: a session, or a day, of one class.
    pub(super) fn scrub_observations(&self, before: Timestamp) -> Result<Vec<MaintenanceStep>> {
        let expired = self.memory.read("read what has expired", |read| {
            read.units(&read.expired_episodes(before.as_second(), usize::MAX)?)
        })?;
        let mut steps = Vec::new();
        let mut groups: BTreeMap<(String, BoundaryClass), Vec<MemoryUnit>> = BTreeMap::new();
        for unit in expired {
            if unit.unit.boundary == BoundaryClass::Secret {
                let reason = "a secret is not summarised, and nothing goes without a summary";
                steps.push(MaintenanceStep::new(&unit.unit.id, MaintenanceAction::Kept, reason));
            } else {
                groups.entry((together(&unit), unit.unit.boundary)).or_default().push(unit);
            }
        }
        for ((key, _), units) in groups {
            for units in units.chunks(RollingKey::MAX_UNITS) {
                self.scrub(&key, units, &mut steps)?;
            }
        }
        Ok(steps)
    }

    fn scrub(
        &self,
        key: &str,
        units: &[MemoryUnit],
        steps: &mut Vec<MaintenanceStep>,
    ) -> Result<()> {
        let text = self.memory.digest().of("", units)?;
        let id: SummaryId = self.memory.id()?;
        let (label, replaces) = (EXPIRED, false);
        let is_told = !text.is_empty();
        let body = SummaryBody::of(&text, units, self.now)?;
        let summary = NewSummary { id: id.clone(), label, key, body, sources: units, replaces };
        let done = is_told
            && self.write("scrub observations", |write| {
                if !summary.put(write)? {
                    return Ok(false);
                }
                units.iter().try_for_each(|unit| scrubbed(write, unit))?;
                Ok(true)
            })?;
        if done {
            let reason = format!("{} observations expired", units.len());
            steps.push(MaintenanceStep::new(&id, MaintenanceAction::Summarized, reason));
        }
        let (deed, reason) = if done {
            (MaintenanceAction::Scrubbed, format!("expired; {id} tells it"))
        } else {
            (MaintenanceAction::Kept, "expired, but there is no summary of it".to_owned())
        };
        steps.extend(units.iter().map(|unit| MaintenanceStep::new(&unit.unit.id, deed, &*reason)));
        Ok(())
    }

    /// Removes what is left to do no longer.
    pub(super) fn remove_loops(&self) -> Result<Vec<MaintenanceStep>> {
        let now = self.now.as_second();
        self.write("remove expired loops", |write| {
            let rows = write.expired_loops(now, usize::MAX)?;
            remove(write, &rows, "its time is over")
        })
    }

    /// Removes for good what was given up long enough ago.
    pub(super) fn purge(&self) -> Result<Vec<MaintenanceStep>> {
        let now = self.now.as_second();
        self.write("remove what was given up", |write| {
            let mut steps = Vec::new();
            for tombstone in write.purgeable(now, usize::MAX)? {
                let reason = format!("{} long enough ago", tombstone.reason);
                steps.extend(remove(write, &[tombstone.row], &reason)?);
            }
            Ok(steps)
        })
    }

    pub(super) fn remove_contexts(&self) -> Result<Vec<MaintenanceStep>> {
        let now = self.now.as_second();
        let removed =
            self.write("remove expired contexts", |write| write.remove_expired_contexts(now))?;
        let step = |id: &String| {
            MaintenanceStep::new(id, MaintenanceAction::Removed, "the context has expired")
        };
        Ok(removed.iter().map(step).collect())
    }
}

fn remove(write: &MemoryWrite<'_>, rows: &[RowId], reason: &str) -> Result<Vec<MaintenanceStep>> {
    let units = write.units(rows)?;
    write.remove_units(rows)?;
    units.iter().try_for_each(|unit| write.add_event("removed", Some(unit.row), "{}"))?;
    Ok(units
        .iter()
        .map(|unit| MaintenanceStep::new(&unit.unit.id, MaintenanceAction::Removed, reason))
        .collect())
}

/// The session of an observation, else its day.
fn together(unit: &MemoryUnit) -> String {
    if let Payload::Episode(EpisodePayload { session: Some(session), .. }) = &unit.payload {
        session.clone()
    } else {
        format!("day:{}", happened_at(unit).div_euclid(DAY))
    }
}

/// Erases what an observation said: its text, who said it, and what it mentions. What it was,
/// when, and the hash of its text stay.
fn scrubbed(write: &MemoryWrite<'_>, unit: &MemoryUnit) -> Result<()> {
    let Payload::Episode(episode) = &unit.payload else { return Ok(()) };
    let kept = EpisodePayload {
        observation_kind: episode.observation_kind.clone(),
        source_type: episode.source_type.clone(),
        session: episode.session.clone(),
        expires_at: episode.expires_at,
        token_count: episode.token_count,
        digest: Some(sha256_hex(episode.text().as_bytes())),
        scrubbed_at: Some(write.now()),
        ..EpisodePayload::default()
    };
    let state = UnitState::Consolidated;
    let row = UnitRow { state, updated_at: write.now(), ..unit.unit.clone() };
    let row = write.put_unit(&row, &Payload::Episode(kept), PatchReason::Summarize)?;
    write.put_mentions(row, &Extraction::default())?;
    write.add_event("scrubbed", Some(row), "{}")
}
