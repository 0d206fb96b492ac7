//! Rolling summaries: of the last week, of persons and of topics.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use serde::{Deserialize, Serialize};
use trefoil::{
    index::RowId,
    memory::{MemoryRead, MemoryUnit, MemoryWrite},
};
use trefoil_core::{BoundaryClass, Error, Result, SummaryId};

use super::{
    digest::NewSummary,
    maintain::{MaintainOptions, MaintenanceAction, MaintenancePass, MaintenanceStep},
    work::Queue,
};
use crate::{NoProbe, Observation, RollingKey, SummaryBody, Unit, rolling_input, rows};
use trefoil_memory_core::sha256_hex;

/// Seconds of the week that [`RollingKey::Week`] is of.
const WEEK: i64 = 7 * 86_400;
/// The fewest episodes that persons and topics have a summary of: one is its own summary.
const EPISODES: usize = 2;
/// Jobs that are taken at once, and seconds after which one that nobody finished is taken up
/// again.
const BATCH: usize = 64;
const LEASE: u32 = 600;

/// The kind of job that makes a rolling summary.
pub(super) const SUMMARIZE: &str = "summarize";

/// What a job is told: the hash of the key, for a queue holds no words of a unit.
#[derive(Debug, Serialize, Deserialize)]
struct SummaryJob {
    summary: String,
    /// Whether it may be made of personal data.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    personal: bool,
}

impl SummaryJob {
    fn is_personal(payload_json: &str) -> bool {
        rows::from_json(payload_json).is_ok_and(|Self { personal, .. }| personal)
    }

    fn new(key: &RollingKey, personal: bool) -> Self {
        Self { summary: sha256_hex(key.to_string().as_bytes()), personal }
    }
}

/// Asks for the narrative of the last days, which a new observation is part of: now, or when
/// the last one is old enough.
pub(super) fn ask_for_narrative(write: &MemoryWrite<'_>, told: &Observation) -> Result<()> {
    if told.proactive || told.boundary_class > BoundaryClass::Internal {
        return Ok(());
    }
    let week = RollingKey::Week;
    let (label, name) = label_and_key(&week);
    let last = write.summary(label, &name)?.map(|last| last.unit.created_at);
    let rested = last.map(|last| last.saturating_add(week.cooldown_hours() * 3_600));
    let asked = rows::to_json(&SummaryJob::new(&week, false))?;
    write.enqueue(SUMMARIZE, &asked, rested.unwrap_or(i64::MIN).max(write.now()))
}

impl Queue<'_> {
    /// Makes the rolling summary that a job asks for, if it is due and there is something to
    /// tell.
    pub(super) fn summarize(&mut self, payload_json: &str) -> Result<Option<MaintenanceStep>> {
        let SummaryJob { summary, personal } = rows::from_json(payload_json)?;
        let options = MaintainOptions { with_personal_data: personal, dry_run: false };
        let memory = self.memory;
        let pass =
            MaintenancePass { memory, probe: &NoProbe, options: &options, now: memory.now()? };
        let known = match self.rolling.entry(personal) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(pass.rolling_by_job()?),
        };
        let Some((key, units)) = known.get(&summary) else { return Ok(None) };
        if pass.is_due(key, units)? { pass.make(key, units) } else { Ok(None) }
    }
}

/// A summary that can be made, and of what.
pub(super) type Rolling = (RollingKey, Vec<MemoryUnit>);

impl MaintenancePass<'_> {
    /// Makes the rolling summaries that are due, through the queue: one that fails is tried
    /// again later.
    pub(super) fn roll(&self) -> Result<Vec<MaintenanceStep>> {
        let memory = self.memory.engine.memory();
        let personal = self.options.with_personal_data;
        let mut rolling = BTreeMap::new();
        for (key, units) in self.rolling()? {
            let asked = SummaryJob::new(&key, personal);
            if self.is_due(&key, &units)? && !self.options.dry_run {
                memory.enqueue_job(SUMMARIZE, &rows::to_json(&asked)?)?;
            }
            rolling.insert(asked.summary, (key, units));
        }
        let mut steps = Vec::new();
        if self.options.dry_run {
            for (key, units) in rolling.values() {
                steps.extend(if self.is_due(key, units)? { self.make(key, units)? } else { None });
            }
            return Ok(steps);
        }
        let mut queue = self.memory.queue();
        queue.rolling.insert(personal, rolling);
        loop {
            let mut jobs = memory.claim_jobs(SUMMARIZE, BATCH, LEASE)?;
            if jobs.is_empty() {
                return Ok(steps);
            }
            // Who asks for personal data gets it: the same without it is not due any more.
            jobs.sort_by_cached_key(|job| !SummaryJob::is_personal(&job.payload_json));
            for job in jobs {
                match queue.summarize(&job.payload_json) {
                    Ok(step) => {
                        steps.extend(step);
                        memory.finish_jobs(&[job.id])?;
                    }
                    Err(error) => memory.fail_jobs(&[job.id], &error.chain())?,
                }
            }
        }
    }

    /// What rolling summaries there can be, by what jobs call them.
    fn rolling_by_job(&self) -> Result<BTreeMap<String, Rolling>> {
        let of_job = |(key, units)| (SummaryJob::new(&key, false).summary, (key, units));
        Ok(self.rolling()?.into_iter().map(of_job).collect())
    }

    /// What rolling summaries there can be.
    fn rolling(&self) -> Result<Vec<Rolling>> {
        let since = self.now.as_second().saturating_sub(WEEK);
        self.memory.read("read what rolling summaries are of", |read| {
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
        let last = self.memory.read("look up a summary", |read| read.summary(label, &name))?;
        let last = last.map(|last| rows::time(last.unit.created_at)).transpose()?;
        // When it was written: what is told late is new as well.
        let newest = units.iter().map(|unit| unit.unit.created_at).max();
        Ok(key.is_due(last, newest.map(rows::time).transpose()?, false, self.now))
    }

    fn make(&self, key: &RollingKey, units: &[MemoryUnit]) -> Result<Option<MaintenanceStep>> {
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
        Ok(Some(MaintenanceStep::new(&id, MaintenanceAction::Summarized, reason)))
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
