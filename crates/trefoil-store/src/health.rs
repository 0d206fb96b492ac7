//! What is no damage and still not as one would wish.

use rusqlite::params;
use trefoil_core::Result;

use crate::{Store, codec::limit_of};

/// Chunks that say the same as another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Duplicates {
    /// How many could go without a loss.
    pub chunks: usize,
    /// Some of them: how often a text is there, and the paths of two files that hold it.
    pub examples: Vec<(usize, String, String)>,
}

/// A job that was given up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedJob {
    /// What was to be done.
    pub kind: String,
    /// To what: JSON.
    pub payload_json: String,
    /// What the last try reported.
    pub error: String,
}

impl Store {
    /// Ranked chunks whose text is that of another, with at most `limit` examples, the most
    /// frequent first.
    pub fn duplicates(&self, limit: usize) -> Result<Duplicates> {
        self.read("count equal chunks", |tx| {
            let chunks = tx.query_row(
                "SELECT count(*) - count(DISTINCT hash) FROM payload_chunk WHERE ordinal >= 0",
                [],
                |row| row.get(0),
            )?;
            let examples = tx
                .prepare_cached(
                    "SELECT count(*) n, min(f.path), max(f.path)
                     FROM payload_chunk c JOIN files f ON f.id = c.file_id WHERE ordinal >= 0
                     GROUP BY hash HAVING n > 1 ORDER BY n DESC, hash LIMIT ?1",
                )?
                .query_map([limit_of(limit)], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect::<rusqlite::Result<_>>()?;
            Ok(Duplicates { chunks, examples })
        })
    }

    /// At most `limit` of the jobs that were given up, the last first.
    pub fn failed_jobs(&self, limit: usize) -> Result<Vec<FailedJob>> {
        self.read("list failed jobs", |tx| {
            tx.prepare_cached(
                "SELECT kind, payload_json, ifnull(last_error, '') FROM jobs
                 WHERE status = 3 ORDER BY updated_at DESC, id DESC LIMIT ?1",
            )?
            .query_map(params![limit_of(limit)], |row| {
                Ok(FailedJob { kind: row.get(0)?, payload_json: row.get(1)?, error: row.get(2)? })
            })?
            .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, file};

    #[test]
    fn equal_texts_are_counted_and_located() {
        let fixture = Fixture::new();
        assert_eq!(fixture.store.duplicates(9).unwrap(), Duplicates::default());
        fixture.put(&file("a", &["one", "two"]));
        fixture.put(&file("b", &["one", "three", "one"]));
        fixture.put(&file("c", &["three"]));
        let found = fixture.store.duplicates(9).unwrap();
        assert_eq!(found.chunks, 3);
        let example = |n, first: &str, last: &str| (n, first.to_owned(), last.to_owned());
        assert_eq!(found.examples, [example(3, "a", "b"), example(2, "b", "c")]);
    }

    #[test]
    fn a_failed_job_tells_why() {
        let fixture = Fixture::new();
        fixture.store.enqueue_job("embed", "{}").unwrap();
        for _ in 0..5 {
            let jobs = fixture.store.claim_jobs("embed", 1, 60).unwrap();
            assert_eq!(fixture.store.failed_jobs(9).unwrap(), []);
            fixture.store.fail_jobs(&[jobs[0].id], "no memory").unwrap();
            fixture.clock.advance(3600);
        }
        let failed = fixture.store.failed_jobs(9).unwrap();
        assert_eq!((failed[0].kind.as_str(), failed[0].error.as_str()), ("embed", "no memory"));
    }
}
