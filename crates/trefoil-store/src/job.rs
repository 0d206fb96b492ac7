//! Background work, kept with the data that it is for. A job is identified by
//! kind and payload: asking for it twice runs it once.

use rusqlite::{Connection, params};
use serde::Serialize;
use trefoil_core::{Collection, Result};

use crate::{
    Store, WriteTx,
    codec::limit_of,
    counter::{self, Counted},
};

/// Tries before a job is given up.
const MAX_TRIES: u32 = 5;

/// A job that the caller has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its number, to finish or fail it.
    pub id: i64,
    /// What is to be done.
    pub kind: String,
    /// To what: JSON.
    pub payload_json: String,
    /// How often it has failed.
    pub tries: u32,
}

/// How many jobs are in which state.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JobCounts {
    /// Waiting, also for their next try.
    #[serde(rename = "waiting")]
    pub queued: usize,
    /// Claimed.
    pub running: usize,
    /// Given up after the last try.
    pub failed: usize,
}

impl Store {
    /// Queues a job; false if the same one is queued or running. One that is done
    /// or failed is queued again.
    pub fn enqueue_job(&self, kind: &str, payload_json: &str) -> Result<bool> {
        self.write("queue a job", |tx, now| {
            enqueue(tx, now, Collection::Documents, kind, payload_json)
        })
    }

    /// Takes at most `limit` jobs of a kind that are due, earliest first; they return
    /// to the queue unless finished or failed within `lease_seconds`.
    pub fn claim_jobs(&self, kind: &str, limit: usize, lease_seconds: u32) -> Result<Vec<Job>> {
        self.write("claim jobs", |tx, now| {
            return_expired(tx, now)?;
            let jobs = tx
                .prepare_cached(
                    "SELECT id, kind, payload_json, tries FROM jobs
                     WHERE status = 0 AND run_after <= ?1 AND kind = ?2 ORDER BY run_after, id LIMIT ?3",
                )?
                .query_map(params![now, kind, limit_of(limit)], |row| {
                    Ok(Job { id: row.get(0)?, kind: row.get(1)?, payload_json: row.get(2)?, tries: row.get(3)? })
                })?
                .collect::<rusqlite::Result<Vec<_>>>()?;
            for job in &jobs {
                lease(tx, now, job.id, lease_seconds)?;
            }
            Ok(jobs)
        })
    }

    /// Marks claimed jobs as done.
    pub fn finish_jobs(&self, jobs: &[i64]) -> Result<()> {
        self.write("finish jobs", |tx, now| jobs.iter().try_for_each(|&job| done(tx, now, job)))
    }

    /// Puts claimed jobs back for another try after 5 s, doubling from the third
    /// failure on up to an hour; the fifth failure is the last.
    pub fn fail_jobs(&self, jobs: &[i64], error: &str) -> Result<()> {
        self.fail_after(jobs, error, MAX_TRIES)
    }

    /// Sets claimed jobs aside: they are not tried again unless they are requested.
    pub fn give_up_jobs(&self, jobs: &[i64], error: &str) -> Result<()> {
        self.fail_after(jobs, error, 0)
    }

    fn fail_after(&self, jobs: &[i64], error: &str, most: u32) -> Result<()> {
        self.write("note failed jobs", |tx, now| {
            let mut tries_of = tx.prepare_cached("SELECT tries FROM jobs WHERE id = ?1 AND status = 1")?;
            let mut fail = tx.prepare_cached(
                "UPDATE jobs SET status = ?2, tries = ?3, run_after = ?4, last_error = ?5, lease_until = NULL,
                        updated_at = ?6
                 WHERE id = ?1",
            )?;
            for &job in jobs {
                let tries: Vec<u32> =
                    tries_of.query_map([job], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
                for tries in tries {
                    let tries = tries.saturating_add(1);
                    let status = if tries < most { 0 } else { 3 };
                    fail.execute(params![job, status, tries, now + backoff(tries), error, now])?;
                }
            }
            Ok(())
        })
    }

    /// Returns every running job to the queue and tells how many: for a process that
    /// has just become the only writer, where none can be running.
    pub fn release_jobs(&self) -> Result<usize> {
        self.write("release jobs", |tx, now| release(tx, now, None))
    }

    /// When the first of the jobs is due that were not due yet at `looked_at`, which may be by now;
    /// none if no job waits for a later time than that. In seconds since 1970.
    pub fn next_job_at(&self, looked_at: i64) -> Result<Option<i64>> {
        self.read("look up the next job", |tx| {
            tx.prepare_cached(
                "SELECT min(run_after) FROM jobs WHERE status = 0 AND run_after > ?1",
            )?
            .query_row([looked_at], |row| row.get(0))
        })
    }

    /// How many jobs of a kind wait, run, and have failed.
    pub fn pending_jobs_of(&self, kind: &str) -> Result<JobCounts> {
        self.read("count jobs of a kind", |tx| counts(tx, Some(kind)))
    }

    /// How many jobs wait, run, and have failed.
    pub fn pending_jobs(&self) -> Result<JobCounts> {
        self.read("count jobs", all)
    }

    /// Forgets the jobs that are done, once they are `at_least` so many, and tells how many.
    pub fn forget_done_jobs(&self, at_least: usize) -> Result<usize> {
        self.write("forget done jobs", |tx, _| {
            let done = Counted::Jobs { kind: None, collection: None, status: 2 };
            if counter::count(tx, done)? < at_least {
                return Ok(0);
            }
            tx.execute("DELETE FROM jobs WHERE status = 2", [])
        })
    }
}

pub(crate) fn enqueue(
    tx: &WriteTx<'_>,
    now: i64,
    collection: Collection,
    kind: &str,
    payload_json: &str,
) -> rusqlite::Result<bool> {
    enqueue_at(tx, now, now, collection, kind, payload_json)
}

/// The same, not to be run before a second.
pub(crate) fn enqueue_at(
    tx: &WriteTx<'_>,
    now: i64,
    run_after: i64,
    collection: Collection,
    kind: &str,
    payload_json: &str,
) -> rusqlite::Result<bool> {
    let queued = tx
        .prepare_cached(
            "INSERT INTO jobs (kind, payload_json, run_after, created_at, updated_at, collection)
             VALUES (?1, ?2, ?4, ?3, ?3, ?5)
             ON CONFLICT (kind, payload_json) DO UPDATE SET
                 status = 0, run_after = excluded.run_after, tries = 0, last_error = NULL,
                 updated_at = excluded.updated_at
             WHERE status IN (2, 3)",
        )?
        .execute(params![kind, payload_json, now, run_after, collection.code()])?;
    Ok(queued > 0)
}

pub(crate) fn lease(tx: &WriteTx<'_>, now: i64, job: i64, seconds: u32) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE jobs SET status = 1, lease_until = ?2, updated_at = ?3 WHERE id = ?1",
    )?
    .execute([job, now + i64::from(seconds), now])?;
    Ok(())
}

pub(crate) fn done(tx: &WriteTx<'_>, now: i64, job: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE jobs SET status = 2, lease_until = NULL, updated_at = ?2 WHERE id = ?1 AND status IN (0, 1)",
    )?
    .execute([job, now])?;
    Ok(())
}

pub(crate) fn return_expired(tx: &WriteTx<'_>, now: i64) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE jobs SET status = 0, lease_until = NULL, updated_at = ?1 WHERE status = 1 AND lease_until <= ?1",
    )?
    .execute([now])?;
    Ok(())
}

/// Returns running jobs to the queue; of every kind if none is named.
pub(crate) fn release(tx: &WriteTx<'_>, now: i64, kind: Option<&str>) -> rusqlite::Result<usize> {
    tx.prepare_cached(
        "UPDATE jobs SET status = 0, lease_until = NULL, updated_at = ?1 WHERE status = 1 AND kind = ifnull(?2, kind)",
    )?
    .execute(params![now, kind])
}

/// Jobs of all kinds.
pub(crate) fn all(tx: &Connection) -> rusqlite::Result<JobCounts> {
    counts(tx, None)
}

/// Jobs of a kind; of all kinds if none is named.
fn counts(tx: &Connection, kind: Option<&str>) -> rusqlite::Result<JobCounts> {
    let of = |status| counter::count(tx, Counted::Jobs { kind, collection: None, status });
    Ok(JobCounts { queued: of(0)?, running: of(1)?, failed: of(3)? })
}

/// Seconds before the next try: 2^tries, at least 5, at most 3,600.
fn backoff(tries: u32) -> i64 {
    2_i64.saturating_pow(tries).clamp(5, 3600)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock as _;
    use crate::fixture::Fixture;

    fn claim(fixture: &Fixture, limit: usize) -> Vec<String> {
        let jobs = fixture.store.claim_jobs("k", limit, 30).unwrap();
        jobs.into_iter().map(|job| job.payload_json).collect()
    }

    #[test]
    fn asking_twice_runs_once() {
        let fixture = Fixture::new();
        let store = &fixture.store;
        assert!(store.enqueue_job("k", "1").unwrap());
        assert!(!store.enqueue_job("k", "1").unwrap());
        assert!(store.enqueue_job("other", "1").unwrap());
        let job = store.claim_jobs("k", 9, 30).unwrap().remove(0);
        assert!(!store.enqueue_job("k", "1").unwrap(), "running");
        store.finish_jobs(&[job.id]).unwrap();
        assert_eq!(claim(&fixture, 9), [""; 0]);
        assert!(store.enqueue_job("k", "1").unwrap(), "done");
        assert_eq!(claim(&fixture, 9), ["1"]);
    }

    #[test]
    fn jobs_are_claimed_once_by_time_then_number() {
        let fixture = Fixture::new();
        for payload in ["1", "2", "3"] {
            fixture.store.enqueue_job("k", payload).unwrap();
        }
        let first = fixture.store.claim_jobs("k", 1, 30).unwrap();
        assert_eq!(first[0].payload_json, "1");
        fixture.store.fail_jobs(&[first[0].id], "broke").unwrap();
        fixture.store.enqueue_job("k", "4").unwrap();
        fixture.clock.advance(5);
        assert_eq!(claim(&fixture, 2), ["2", "3"]);
        assert_eq!(claim(&fixture, 9), ["4", "1"]);
        assert_eq!(
            fixture.store.pending_jobs().unwrap(),
            JobCounts { queued: 0, running: 4, failed: 0 }
        );
    }

    #[test]
    fn a_lease_that_runs_out_returns_the_job() {
        let fixture = Fixture::new();
        fixture.store.enqueue_job("k", "1").unwrap();
        assert_eq!(claim(&fixture, 9), ["1"]);
        fixture.clock.advance(29);
        assert_eq!(claim(&fixture, 9), [""; 0]);
        fixture.clock.advance(1);
        assert_eq!(claim(&fixture, 9), ["1"]);
        assert_eq!(fixture.store.release_jobs().unwrap(), 1);
        assert_eq!(claim(&fixture, 9), ["1"]);
    }

    #[test]
    fn a_job_is_tried_five_times_with_growing_waits() {
        let fixture = Fixture::new();
        fixture.store.enqueue_job("k", "1").unwrap();
        for wait in [5, 5, 8, 16] {
            let job = fixture.store.claim_jobs("k", 1, 30).unwrap().remove(0);
            fixture.store.fail_jobs(&[job.id], "broke").unwrap();
            fixture.clock.advance(wait - 1);
            assert_eq!(claim(&fixture, 1), [""; 0], "{wait}");
            fixture.clock.advance(1);
        }
        let job = fixture.store.claim_jobs("k", 1, 30).unwrap().remove(0);
        assert_eq!(job.tries, 4);
        fixture.store.fail_jobs(&[job.id], "broke").unwrap();
        fixture.clock.advance(100_000);
        assert_eq!(claim(&fixture, 1), [""; 0]);
        assert_eq!(
            fixture.store.pending_jobs().unwrap(),
            JobCounts { queued: 0, running: 0, failed: 1 }
        );
        assert!(fixture.store.enqueue_job("k", "1").unwrap(), "requested again");
        assert_eq!(fixture.store.claim_jobs("k", 1, 30).unwrap()[0].tries, 0);
    }

    #[test]
    fn a_job_that_is_given_up_is_not_tried_again() {
        let fixture = Fixture::new();
        fixture.store.enqueue_job("k", "1").unwrap();
        let job = fixture.store.claim_jobs("k", 1, 30).unwrap().remove(0);
        fixture.store.give_up_jobs(&[job.id], "broke").unwrap();
        fixture.clock.advance(100_000);
        assert_eq!(claim(&fixture, 1), [""; 0]);
        assert_eq!(fixture.store.pending_jobs().unwrap().failed, 1);
        assert!(fixture.store.enqueue_job("k", "1").unwrap(), "requested again");
    }

    #[test]
    fn a_job_that_is_due_by_now_is_told_to_whoever_looked_before() {
        let fixture = Fixture::new();
        let due = |looked_at| fixture.store.next_job_at(looked_at).unwrap();
        fixture.store.enqueue_job("k", "1").unwrap();
        let looked_at = fixture.clock.now();
        assert_eq!(due(looked_at), None, "it is due already");
        let job = fixture.store.claim_jobs("k", 1, 30).unwrap().remove(0);
        fixture.store.fail_jobs(&[job.id], "broke").unwrap();
        fixture.clock.advance(100);
        assert_eq!(due(looked_at), Some(looked_at + 5));
        assert_eq!(due(fixture.clock.now()), None);
    }

    #[test]
    fn the_wait_doubles_up_to_an_hour() {
        assert_eq!([1, 2, 3, 11, 12, 64].map(backoff), [5, 5, 8, 2048, 3600, 3600]);
    }

    #[test]
    fn done_jobs_are_forgotten_when_there_are_enough() {
        let fixture = Fixture::new();
        for payload in ["1", "2"] {
            fixture.store.enqueue_job("k", payload).unwrap();
        }
        let job = fixture.store.claim_jobs("k", 1, 30).unwrap().remove(0);
        fixture.store.finish_jobs(&[job.id]).unwrap();
        fixture.store.fail_jobs(&[job.id], "too late").unwrap();
        assert_eq!(fixture.store.forget_done_jobs(2).unwrap(), 0);
        assert_eq!(fixture.store.forget_done_jobs(1).unwrap(), 1);
        assert_eq!(claim(&fixture, 9), ["2"]);
    }
}
