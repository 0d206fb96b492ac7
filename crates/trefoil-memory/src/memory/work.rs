//! What is done in the background: observations become claims, loops and mentions.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    admin::catch_panics,
    index::RowId,
    memory::{
        AffectRow, EpisodePayload, Job, LoopPayload, MemoryUnit, MemoryWrite, PatchReason, Payload,
        UnitRow,
    },
};
use trefoil_core::{BoundaryClass, Error, Result};

use super::{
    Memory,
    learn::Learning,
    roll::{Rolling, SUMMARIZE},
};
use crate::{Boundary, OpenLoop, reflect, rows};
use trefoil_memory_core::{extract::LoopDraft, integrate::IntegrateOptions};

/// The kinds of work, in the order in which they are done.
const KINDS: [&str; 5] =
    ["reflect", "extract_entities", "extract_facts", "extract_loops", SUMMARIZE];
/// Seconds after which work that nobody finished is taken up again.
const LEASE: u32 = 600;
/// Jobs that are taken at once.
const BATCH: usize = 64;
/// A job that panics so often, one time after the other, is set aside.
const PANICS: u32 = 3;

/// What background work has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WorkReport {
    /// Jobs that are done.
    pub done: usize,
    /// Jobs that failed, and are tried again later.
    pub failed: usize,
}

impl Memory {
    /// Does what observations ask for, as far as it is due: reflects, extracts mentions,
    /// claims and loops, and tells in short what happened in the last days. All but what is
    /// secret is learnt from, and what is learnt has the class of what it is from: a boundary
    /// limits what is shown. Each job is done wholly or not at all; one that is done again
    /// changes nothing. What the worker of the engine has taken up is left to it:
    /// [`Memory::wait_until_indexed`] waits for both.
    pub fn work(&self) -> Result<WorkReport> {
        let (mut worked, mut queue) = (WorkReport::default(), self.queue());
        while let Some(step) = queue.step(BATCH)? {
            worked.done += step.done;
            worked.failed += step.failed.len();
        }
        Ok(worked)
    }

    /// What waits to be learnt.
    pub(super) fn queue(&self) -> Queue<'_> {
        Queue { memory: self, boundary: learning(), rolling: BTreeMap::new() }
    }
}

/// Jobs of one kind that were taken up.
#[derive(Debug)]
pub(super) struct JobBatch {
    pub(super) kind: &'static str,
    /// How many are done.
    pub(super) done: usize,
    /// Why others are not: they are tried again later, unless what does them panicked.
    pub(super) failed: Vec<Error>,
}

/// The jobs of memory, and what is known while they are done.
pub(super) struct Queue<'m> {
    pub(super) memory: &'m Memory,
    boundary: Boundary,
    /// What rolling summaries there can be, without and with personal data.
    pub(super) rolling: BTreeMap<bool, BTreeMap<String, Rolling>>,
}

impl Queue<'_> {
    /// Takes up at most `most` jobs of the first kind of which some are due; nothing if none is.
    pub(super) fn step(&mut self, most: usize) -> Result<Option<JobBatch>> {
        let memory = self.memory.engine.memory();
        for kind in KINDS {
            let jobs = memory.claim_jobs(kind, most, LEASE)?;
            if jobs.is_empty() {
                continue;
            }
            let mut taken = JobBatch { kind, done: 0, failed: Vec::new() };
            for job in jobs {
                let mut outcome = self.run(&job);
                for _ in 1..PANICS {
                    if matches!(outcome, Err(Error::Panicked { .. })) {
                        outcome = self.run(&job);
                    }
                }
                let Err(error) = outcome else {
                    memory.finish_jobs(&[job.id])?;
                    taken.done += 1;
                    continue;
                };
                if matches!(error, Error::Panicked { .. }) {
                    memory.give_up_jobs(&[job.id], &error.chain())?;
                } else {
                    memory.fail_jobs(&[job.id], &error.chain())?;
                }
                taken.failed.push(error);
            }
            return Ok(Some(taken));
        }
        Ok(None)
    }

    fn run(&mut self, job: &Job) -> Result<()> {
        catch_panics("what learns from observations", || match job.kind.as_str() {
            SUMMARIZE => self.summarize(&job.payload_json).map(drop),
            _ => self.memory.learn_from(job, &self.boundary),
        })
    }
}

impl Memory {
    fn learn_from(&self, job: &Job, boundary: &Boundary) -> Result<()> {
        let row = rows::job_row(&job.payload_json)?;
        let unit = self.read("read an observation", |read| Ok(read.units(&[row])?.pop()))?;
        // What is gone, or was scrubbed, asks for nothing any more.
        let observation = rows::body(unit.as_ref(), rows::to_observation)?;
        let Some(observation) = observation else { return Ok(()) };
        if job.kind == "reflect" {
            let found = reflect(&observation);
            return self.write("reflect", |write| {
                let Some(unit) = still_present(write, row)? else { return Ok(()) };
                let Payload::Episode(episode) = unit.payload else { return Ok(()) };
                let episode =
                    EpisodePayload { reflection_json: Some(rows::to_json(&found)?), ..episode };
                let reflected = UnitRow {
                    salience: f64::from(found.salience.get()),
                    confidence: f64::from(found.confidence.get()),
                    affect: Some(AffectRow {
                        label: found.affect.label.to_string(),
                        intensity: f64::from(found.affect.intensity.get()),
                    }),
                    ..unit.unit
                };
                write.put_unit(&reflected, &Payload::Episode(episode), PatchReason::Reflect)?;
                write.add_event("reflected", Some(row), "{}")
            });
        }
        let found = self.services.extractor.extract(&observation, boundary)?;
        let (policy, now) = (self.policy()?, self.now()?);
        self.write("learn from an observation", |write| match job.kind.as_str() {
            _ if still_present(write, row)?.is_none() => Ok(()),
            "extract_entities" => write.put_mentions(row, &found.extraction).map(drop),
            "extract_facts" => {
                let options = &IntegrateOptions {
                    requester: observation.requester(),
                    ..IntegrateOptions::default()
                };
                let learning =
                    Learning { memory: self, write, boundary, policy: &policy, options, now };
                found.claims.into_iter().try_for_each(|draft| {
                    match learning.claim(draft, found.method) {
                        // One that breaks a rule is refused, which an event tells.
                        Err(Error::BoundaryDenied { .. }) => {
                            write.add_event("refused", Some(row), "{}")
                        }
                        learnt => learnt.map(drop),
                    }
                })
            }
            _ => found.loops.iter().try_for_each(|open| self.keep_loop(write, open, row, now)),
        })
    }

    /// Keeps what is left to do; told again, the loop that is there is brought up to date.
    fn keep_loop(
        &self,
        write: &MemoryWrite<'_>,
        draft: &LoopDraft,
        observation: RowId,
        now: Timestamp,
    ) -> Result<()> {
        let told = OpenLoop::new(self.id()?, &draft.text, draft.due_at, draft.boundary_class, now)?;
        let known = write.loop_by_text(&told.text)?;
        let open = match &known {
            Some(unit) => {
                rows::to_loop(unit)?.map_or_else(|| told.clone(), |old| old.told_again(&told))
            }
            None => told,
        };
        let unit = UnitRow {
            boundary: open.boundary_class,
            updated_at: now.as_second(),
            source: Some("extract_loops".to_owned()),
            ..UnitRow::new(open.id.as_str(), open.created_at.as_second())
        };
        let payload = LoopPayload {
            text: open.text,
            expires_at: open.expires_at.as_second(),
            due_at: open.due_at.map(Timestamp::as_second),
        };
        let row = write.put_unit(&unit, &Payload::Loop(payload), PatchReason::ExtractUpdate)?;
        write.add_source(row, observation)?;
        write.add_event("loop", Some(row), "{}")
    }
}

/// An observation that has its text: it may have been forgotten or scrubbed since it was read,
/// and what is learnt from it would bring the text back.
fn still_present(write: &MemoryWrite<'_>, row: RowId) -> Result<Option<MemoryUnit>> {
    let Some(unit) = write.units(&[row])?.pop() else { return Ok(None) };
    Ok(rows::to_observation(&unit)?.map(|_| unit))
}

/// What may be learnt from: all scopes, all classes but secret.
fn learning() -> Boundary {
    let classes = BoundaryClass::ALL.iter().copied();
    let boundary_classes = classes.filter(|&class| class < BoundaryClass::Secret).collect();
    Boundary { boundary_classes, ..Boundary::default() }
}
