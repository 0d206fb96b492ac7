//! What is done in the background: observations become claims, loops and mentions.

use jiff::Timestamp;
use serde::Serialize;
use trefoil::{
    RowId,
    memory::{
        AffectRow, EpisodePayload, Job, LoopPayload, MemoryWrite, PatchReason, Payload, UnitRow,
    },
};
use trefoil_core::{BoundaryClass, Error, Result};

use super::{Memory, learn::Learning};
use crate::{Boundary, OpenLoop, extract::LoopDraft, integrate::IntegrateOptions, reflect, rows};

/// The kinds of work, in the order in which they are done.
const KINDS: [&str; 4] = ["reflect", "extract_entities", "extract_facts", "extract_loops"];
/// Seconds after which work that nobody finished is taken up again.
const LEASE: u32 = 600;
/// Jobs that are taken at once.
const BATCH: usize = 64;

/// What background work has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Worked {
    /// Jobs that are done.
    pub done: usize,
    /// Jobs that failed, and are tried again later.
    pub failed: usize,
}

impl Memory {
    /// Does what observations ask for, as far as it is due: reflects, and extracts mentions,
    /// claims and loops. All but what is secret is learnt from, and what is learnt has the class
    /// of what it is from: a boundary limits what is shown. Each job is done wholly or not at
    /// all; one that is done again changes nothing.
    pub fn work(&self) -> Result<Worked> {
        let boundary = &learning();
        let memory = self.engine.memory();
        let mut worked = Worked::default();
        for kind in KINDS {
            loop {
                let jobs = memory.claim_jobs(kind, BATCH, LEASE)?;
                if jobs.is_empty() {
                    break;
                }
                for job in jobs {
                    match self.do_job(&job, boundary) {
                        Ok(()) => {
                            memory.finish_jobs(&[job.id])?;
                            worked.done += 1;
                        }
                        Err(error) => {
                            memory.fail_jobs(&[job.id], &error.chain())?;
                            worked.failed += 1;
                        }
                    }
                }
            }
        }
        Ok(worked)
    }

    fn do_job(&self, job: &Job, boundary: &Boundary) -> Result<()> {
        let memory = self.engine.memory();
        let row = rows::job_row(&job.payload_json)?;
        let unit = memory.read("read an observation", |read| Ok(read.units(&[row])?.pop()))?;
        // What is gone, or was scrubbed, asks for nothing any more.
        let observation = unit.as_ref().map(rows::to_observation).transpose()?.flatten();
        let (Some(unit), Some(observation)) = (unit, observation) else { return Ok(()) };
        if job.kind == "reflect" {
            let found = reflect(&observation);
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
            return self.write("reflect", |write| {
                if !is_there(write, row)? {
                    return Ok(());
                }
                write.put_unit(&reflected, &Payload::Episode(episode), PatchReason::Reflect)?;
                write.add_event("reflected", Some(row), "{}")
            });
        }
        let found = self.extractor.extract(&observation, boundary)?;
        let (policy, now) = (self.policy()?, self.now()?);
        self.write("learn from an observation", |write| match job.kind.as_str() {
            _ if !is_there(write, row)? => Ok(()),
            "extract_entities" => write.put_mentions(row, &found.extraction).map(drop),
            "extract_facts" => {
                let options = &IntegrateOptions::default();
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

/// Whether an observation has its text: it may have been forgotten or scrubbed since it was read,
/// and what is learnt from it would bring the text back.
fn is_there(write: &MemoryWrite<'_>, row: RowId) -> Result<bool> {
    let unit = write.units(&[row])?.pop();
    Ok(unit.as_ref().map(rows::to_observation).transpose()?.flatten().is_some())
}

/// What may be learnt from: all scopes, all classes but secret.
fn learning() -> Boundary {
    let classes = BoundaryClass::ALL.iter().copied();
    let boundary_classes = classes.filter(|&class| class < BoundaryClass::Secret).collect();
    Boundary { boundary_classes, ..Boundary::default() }
}
