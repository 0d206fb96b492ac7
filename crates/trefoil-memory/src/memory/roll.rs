//! Rolling summaries: of the last week, of persons and of topics.

use std::collections::{BTreeMap, BTreeSet};

use trefoil::{
    RowId,
    memory::{MemoryRead, MemoryUnit},
};
use trefoil_core::{Error, Result, SummaryId};

use super::{
    digest::NewSummary,
    maintain::{Deed, Pass, Step},
};
use crate::{MemoryJob, RollingKey, SummaryBody, Unit, hash::sha256_hex, rolling_input, rows};

/// Seconds of the week that [`RollingKey::Week`] is of.
const WEEK: i64 = 7 * 86_400;
/// The fewest episodes that persons and topics have a summary of: one is its own summary.
const EPISODES: usize = 2;
/// Jobs that are taken at once, and seconds after which one that nobody finished is taken up
/// again.
const BATCH: usize = 64;
const LEASE: u32 = 600;

/// A summary that can be made, and of what.
type Rolling = (RollingKey, Vec<MemoryUnit>);

impl Pass<'_> {
    /// Makes the rolling summaries that are due, through the queue: one that fails is tried
    /// again later.
    pub(super) fn roll(&self) -> Result<Vec<Step>> {
        let memory = self.memory.engine.memory();
        let kind = MemoryJob::Summarize.as_str();
        let mut rolling = BTreeMap::new();
        for (key, units) in self.rolling()? {
            let payload = payload(&key);
            if self.is_due(&key, &units)? && !self.options.dry_run {
                memory.enqueue_job(kind, &payload)?;
            }
            rolling.insert(payload, (key, units));
        }
        let mut steps = Vec::new();
        if self.options.dry_run {
            for (key, units) in rolling.values() {
                steps.extend(if self.is_due(key, units)? { self.make(key, units)? } else { None });
            }
            return Ok(steps);
        }
        loop {
            let jobs = memory.claim_jobs(kind, BATCH, LEASE)?;
            if jobs.is_empty() {
                return Ok(steps);
            }
            for job in jobs {
                let made = rolling.get(&job.payload_json).map(|(key, units)| {
                    if self.is_due(key, units)? { self.make(key, units) } else { Ok(None) }
                });
                match made.unwrap_or(Ok(None)) {
                    Ok(step) => {
                        steps.extend(step);
                        memory.finish_jobs(&[job.id])?;
                    }
                    Err(error) => memory.fail_jobs(&[job.id], &error.chain())?,
                }
            }
        }
    }

    /// What rolling summaries there can be.
    fn rolling(&self) -> Result<Vec<Rolling>> {
        let since = self.now.as_second().saturating_sub(WEEK);
        self.memory.engine.memory().read("read what rolling summaries are of", |read| {
            let mut rolling = Vec::new();
            let week = self.input(read, &read.episodes_since(since)?)?;
            if !week.is_empty() {
                rolling.push((RollingKey::Week, week));
            }
            let mut groups: BTreeMap<RollingKey, BTreeSet<RowId>> = BTreeMap::new();
            for ((id, _), rows) in read.episodes_by_entity("PERSON")? {
                groups.entry(RollingKey::Person(id.parse()?)).or_default().extend(rows);
            }
            let named = read.episodes_by_entity("TOPIC")?.into_iter();
            let topics = named.map(|((_, name), rows)| (name, rows));
            for (name, rows) in topics.chain(read.episodes_by_tag()?) {
                groups.entry(RollingKey::topic(&name)).or_default().extend(rows);
            }
            for (key, rows) in groups {
                let units = self.input(read, &rows.into_iter().collect::<Vec<_>>())?;
                if units.len() >= EPISODES {
                    rolling.push((key, units));
                }
            }
            Ok(rolling)
        })
    }

    /// The episodes of which a rolling summary may be made, oldest first.
    fn input(&self, read: &MemoryRead<'_>, rows: &[RowId]) -> Result<Vec<MemoryUnit>> {
        let stored = read.units(rows)?;
        let units: Vec<Unit> = stored.iter().map(rows::to_unit).collect::<Result<_>>()?;
        let mut by_id: BTreeMap<&str, &MemoryUnit> =
            stored.iter().map(|unit| (unit.unit.id.as_str(), unit)).collect();
        let input = rolling_input(&units, self.options.with_personal_data);
        Ok(input.iter().filter_map(|unit| by_id.remove(unit.id.as_str())).cloned().collect())
    }

    fn is_due(&self, key: &RollingKey, units: &[MemoryUnit]) -> Result<bool> {
        let (label, name) = label_and_key(key);
        let last = self
            .memory
            .engine
            .memory()
            .read("look up a summary", |read| read.summary(label, &name))?
            .map(|last| rows::time(last.unit.created_at))
            .transpose()?;
        // When it was written: what is told late is new as well.
        let newest = units.iter().map(|unit| unit.unit.created_at).max();
        Ok(key.is_due(last, newest.map(rows::time).transpose()?, false, self.now))
    }

    fn make(&self, key: &RollingKey, units: &[MemoryUnit]) -> Result<Option<Step>> {
        let (label, name) = label_and_key(key);
        let text = self.memory.digest().of("", units)?;
        if text.is_empty() {
            return Ok(None);
        }
        let id: SummaryId = self.memory.id()?;
        let body = SummaryBody::of(&text, units, self.now)?;
        let summary =
            NewSummary { id: id.clone(), label, key: &name, body, sources: units, replaces: true };
        if !self.write("make a rolling summary", |write| summary.put(write))? {
            return Err(Error::InvalidState {
                state: "changed meanwhile".to_owned(),
                call: "summarise what happened",
            });
        }
        let reason = match key {
            RollingKey::Week => format!("{} episodes of the last seven days", units.len()),
            RollingKey::Person(_) => format!("{} episodes with this person", units.len()),
            RollingKey::Topic(_) => format!("{} episodes of this topic", units.len()),
        };
        Ok(Some(Step::new(&id, Deed::Summarized, reason)))
    }
}

/// A key as the store has it.
pub(super) fn label_and_key(key: &RollingKey) -> (&'static str, String) {
    match key {
        RollingKey::Week => ("rolling", "7d".to_owned()),
        RollingKey::Person(id) => ("person", id.to_string()),
        RollingKey::Topic(name) => ("topic", name.clone()),
    }
}

/// What a job is told: the hash of the key, for a queue holds no words of a unit.
fn payload(key: &RollingKey) -> String {
    serde_json::json!({ "summary": sha256_hex(key.to_string().as_bytes()) }).to_string()
}
