//! The jobs that make embeddings: of leaves, and of units of memory.

use std::{collections::BTreeSet, sync::Arc};

use rusqlite::{Connection, OptionalExtension};
use trefoil_core::{Change, Collection, Result, RowId, Seq, StoredChunk};

use super::{
    EMBED, EMBEDDED, EmbeddedText, has_tokens, is_cached, no_space, payload_of, put, space,
};
use crate::{
    JobCounts, Store, WriteTx,
    change::{self, log},
    chunk::Reader,
    codec::limit_of,
    counter::{self, Counted},
    job, memory,
};

/// A leaf, or a unit of memory, that waits for its embedding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedJob {
    /// The job, to finish or fail.
    pub job: i64,
    /// The leaf or the unit of memory.
    pub row: RowId,
    /// The hash of what to embed, by which its vector is kept.
    pub hash: String,
    /// What to embed.
    pub source: EmbedSource,
}

/// What an embedding is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmbedSource {
    /// A leaf, with the title and the headings that it stands under.
    Chunk(Arc<StoredChunk>),
    /// The text of a unit of memory, as it is.
    Text(String),
}

/// How many texts wait for their embedding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitingEmbeddings {
    /// Leaf chunks of documents.
    pub documents: usize,
    /// Units of memory.
    pub memory: usize,
}

impl Store {
    /// Takes at most `limit` leaves and units of memory that wait for an embedding; they return to the
    /// queue unless finished or failed within `lease_seconds`. A job whose leaf is
    /// gone or changed is done; one whose embedding is cached by now is done and logged.
    pub fn claim_embed_jobs(&self, limit: usize, lease_seconds: u32) -> Result<Vec<EmbedJob>> {
        self.write("claim embed jobs", |tx, now| {
            let space = space(tx)?;
            job::return_expired(tx, now)?;
            let mut reader = Reader::new(tx)?;
            let mut claimed = Vec::new();
            while claimed.len() < limit {
                let waiting = waiting(tx, now, limit - claimed.len())?;
                if waiting.is_empty() {
                    break;
                }
                for Waiting { job, row, hash } in waiting {
                    if current_hash(tx, row)?.as_deref() != Some(hash.as_str()) {
                        job::done(tx, now, job)?;
                    } else if is_cached(tx, space.as_deref(), row, &hash)? {
                        job::done(tx, now, job)?;
                        log(tx, Change::Vector(row))?;
                    } else if let Some(source) = source(tx, &mut reader, row)? {
                        job::lease(tx, now, job, lease_seconds)?;
                        claimed.push(EmbedJob { job, row, hash, source });
                    }
                }
            }
            Ok(claimed)
        })
    }

    /// Caches the embeddings that claimed jobs made and logs them, in one
    /// transaction; tells the last change. A job that is no longer running, because
    /// its lease ran out or the vector space changed, is passed over.
    ///
    /// # Errors
    /// [`InvalidConfig`](trefoil_core::Error::InvalidConfig) if no vector space is set.
    pub fn finish_embed_jobs(&self, done: &[(i64, RowId, EmbeddedText)]) -> Result<Seq> {
        let finished = self.write("store embeddings", |tx, now| {
            let Some(space) = space(tx)? else { return Ok(None) };
            for (job, row, EmbeddedText { vector, tokens }) in done {
                let hash: Option<String> = tx
                    .prepare_cached(
                        "SELECT payload_json ->> 'hash' FROM jobs
                         WHERE id = ?1 AND kind = 'embed' AND status = 1 AND payload_json ->> 'row' = ?2",
                    )?
                    .query_row([*job, row.get().cast_signed()], |columns| columns.get(0))
                    .optional()?;
                let Some(hash) = hash else { continue };
                job::done(tx, now, *job)?;
                put(tx, &hash, &space, vector, tokens.as_ref())?;
                if current_hash(tx, *row)?.as_deref() == Some(hash.as_str()) {
                    log(tx, Change::Vector(*row))?;
                }
            }
            change::last(tx).map(Some)
        })?;
        finished.ok_or_else(no_space)
    }

    /// Of these jobs those that run, and whose leaf or unit of memory still is what they are to
    /// embed. The others that run are done: nobody needs their vector.
    pub fn needed_embed_jobs(&self, jobs: &[i64]) -> Result<BTreeSet<i64>> {
        self.write("look which embed jobs are needed", |tx, now| {
            let mut running = tx.prepare_cached(
                "SELECT payload_json ->> 'row', payload_json ->> 'hash' FROM jobs
                 WHERE id = ?1 AND kind = 'embed' AND status = 1",
            )?;
            let mut needed = BTreeSet::new();
            for &job in jobs {
                let of = |columns: &rusqlite::Row<'_>| Ok((columns.get(0)?, columns.get(1)?));
                let found: Option<(u64, String)> = running.query_row([job], of).optional()?;
                let Some((row, hash)) = found else { continue };
                if current_hash(tx, RowId::new(row))?.as_deref() == Some(hash.as_str()) {
                    needed.insert(job);
                } else {
                    job::done(tx, now, job)?;
                }
            }
            Ok(needed)
        })
    }

    /// How many embeddings wait, are made, and have failed, of both collections.
    pub fn pending_embeddings(&self) -> Result<JobCounts> {
        self.pending_jobs_of(EMBED)
    }

    /// How many embeddings wait or are made in each collection.
    pub fn waiting_embeddings(&self) -> Result<WaitingEmbeddings> {
        self.read("count embed jobs", |tx| {
            let of = |collection| {
                let of = |status| {
                    let (kind, collection) = (Some(EMBED), Some(collection));
                    counter::count(tx, Counted::Jobs { kind, collection, status })
                };
                Ok::<usize, rusqlite::Error>(of(0)? + of(1)?)
            };
            Ok(WaitingEmbeddings {
                documents: of(Collection::Documents)?,
                memory: of(Collection::Memory)?,
            })
        })
    }

    /// Returns the embed jobs that run to the queue and tells how many.
    pub fn release_embed_jobs(&self) -> Result<usize> {
        self.write("release embed jobs", |tx, now| job::release(tx, now, Some(EMBED)))
    }

    /// For a change of model or a rebuild of the vector index: logs every leaf and unit of memory whose
    /// embedding is cached, queues a job for every other, and tells how many.
    pub fn requeue_embeddings(&self) -> Result<usize> {
        self.write("queue embed jobs", |tx, now| {
            let space = space(tx)?;
            tx.execute(
                &format!(
                    "INSERT OR REPLACE INTO change_log (unit_id, kind, collection)
                     SELECT unit_id, 1, collection FROM ({EMBEDDED}) e WHERE EXISTS (
                         SELECT 1 FROM embedding_cache WHERE text_hash = hash AND fingerprint = ?1)
                     ORDER BY unit_id"
                ),
                [&space],
            )?;
            enqueue_missing(tx, now, space.as_deref())
        })
    }
}

struct Waiting {
    job: i64,
    row: RowId,
    hash: String,
}

fn waiting(tx: &Connection, now: i64, limit: usize) -> rusqlite::Result<Vec<Waiting>> {
    tx.prepare_cached(
        "SELECT id, payload_json ->> 'row', payload_json ->> 'hash' FROM jobs
         WHERE status = 0 AND run_after <= ?1 AND kind = 'embed' ORDER BY run_after, id LIMIT ?2",
    )?
    .query_map([now, limit_of(limit)], |row| {
        Ok(Waiting { job: row.get(0)?, row: RowId::new(row.get(1)?), hash: row.get(2)? })
    })?
    .collect()
}

fn current_hash(tx: &Connection, row: RowId) -> rusqlite::Result<Option<String>> {
    let hash = tx
        .prepare_cached(
            "SELECT ifnull(c.embedding_hash, u.embedding_hash)
             FROM units u LEFT JOIN payload_chunk c ON c.unit_id = u.id WHERE u.id = ?1",
        )?
        .query_row([row.get().cast_signed()], |columns| columns.get(0))
        .optional()?;
    Ok(hash.flatten())
}

/// What is embedded for a row.
pub(crate) fn source(
    tx: &Connection,
    reader: &mut Reader<'_>,
    row: RowId,
) -> rusqlite::Result<Option<EmbedSource>> {
    if let Some(chunk) = reader.chunk(row)? {
        return Ok(Some(EmbedSource::Chunk(chunk)));
    }
    Ok(memory::text_of(tx, row)?.map(EmbedSource::Text))
}

/// Queues a job for every leaf and unit of memory without a cached embedding, or without the token
/// vectors that are wanted; how many.
pub(crate) fn enqueue_missing(
    tx: &WriteTx<'_>,
    now: i64,
    space: Option<&str>,
) -> rusqlite::Result<usize> {
    let has_tokens = has_tokens("e.language");
    let mut missing = tx.prepare(&format!(
        "SELECT unit_id, hash, collection FROM ({EMBEDDED}) e WHERE NOT EXISTS (
             SELECT 1 FROM embedding_cache
             WHERE text_hash = hash AND fingerprint = ?1 AND {has_tokens})
         ORDER BY unit_id"
    ))?;
    let mut missing = missing.query([space])?;
    let mut queued = 0;
    while let Some(row) = missing.next()? {
        let payload = payload_of(row.get(0)?, &row.get::<_, String>(1)?);
        let is_memory: bool = row.get(2)?;
        let collection = if is_memory { Collection::Memory } else { Collection::Documents };
        job::enqueue(tx, now, collection, EMBED, &payload)?;
        queued += 1;
    }
    Ok(queued)
}

#[cfg(test)]
mod tests {
    use trefoil_core::Error;

    use super::*;
    use crate::{
        embedding::FINGERPRINT,
        fixture::{Fixture, file, vector},
    };

    fn embedded() -> Fixture {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model a").unwrap();
        fixture
    }

    #[test]
    fn a_leaf_is_embedded_once() {
        let fixture = embedded();
        let rows = fixture.put(&file("a", &["one", "two"]));
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
        let before = fixture.store.seq().unwrap();
        let jobs = fixture.store.claim_embed_jobs(10, 60).unwrap();
        assert_eq!(jobs.iter().map(|job| job.row).collect::<Vec<_>>(), rows);
        assert!(
            matches!(&jobs[0].source, EmbedSource::Chunk(chunk) if chunk.chunk.text == "one"),
            "{jobs:?}"
        );
        assert_eq!(fixture.store.claim_embed_jobs(10, 60).unwrap(), []);
        let done: Vec<_> =
            jobs.iter().map(|job| (job.job, job.row, vector(job.row).into())).collect();
        let seq = fixture.store.finish_embed_jobs(&done).unwrap();
        assert_eq!(seq, fixture.store.seq().unwrap());
        assert_eq!(fixture.changes(before), [Change::Vector(rows[0]), Change::Vector(rows[1])]);
        let unknown = RowId::new(99);
        assert_eq!(
            fixture.store.cached_embeddings(&[rows[1], unknown, rows[0]]).unwrap(),
            [(rows[1], vector(rows[1])), (rows[0], vector(rows[0]))]
        );
        assert_eq!(fixture.store.finish_embed_jobs(&done).unwrap(), seq, "finished twice");
    }

    #[test]
    fn a_text_that_became_known_while_waiting_is_not_embedded_again() {
        let fixture = embedded();
        fixture.put(&file("a", &["one"]));
        let rows = fixture.put(&file("b", &["one"]));
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0].into())]).unwrap();
        assert_eq!(fixture.store.claim_embed_jobs(1, 60).unwrap(), []);
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), [(rows[0], vec![1.0])]);
        assert_eq!(fixture.changes(Seq::ZERO).last(), Some(&Change::Vector(rows[0])));
        assert_eq!(fixture.store.pending_jobs().unwrap(), crate::JobCounts::default());
    }

    #[test]
    fn jobs_of_leaves_that_are_gone_or_changed_are_dropped() {
        let fixture = embedded();
        fixture.put(&file("a", &["one"]));
        let mut doc = file("b", &["two"]);
        fixture.put(&doc);
        fixture.store.remove_file("a").unwrap();
        doc.chunks[0].embedding_hash = "another".into();
        fixture.put(&doc);
        let jobs = fixture.store.claim_embed_jobs(10, 60).unwrap();
        assert_eq!(jobs.len(), 1);
        assert_eq!(fixture.store.pending_jobs().unwrap().queued, 0);
    }

    #[test]
    fn jobs_that_run_are_needed_until_their_leaf_is_gone_or_changed() {
        let fixture = embedded();
        let mut doc = file("a", &["one"]);
        fixture.put(&doc);
        fixture.put(&file("b", &["two"]));
        fixture.put(&file("c", &["three"]));
        let jobs = fixture.store.claim_embed_jobs(10, 60).unwrap();
        let jobs: Vec<i64> = jobs.iter().map(|job| job.job).collect();
        let needed = || fixture.store.needed_embed_jobs(&jobs).unwrap();
        assert_eq!(needed(), jobs.iter().copied().collect());
        doc.chunks[0].embedding_hash = "another".into();
        fixture.put(&doc);
        fixture.store.remove_file("b").unwrap();
        assert_eq!(needed(), [jobs[2]].into());
        let counts = fixture.store.pending_embeddings().unwrap();
        assert_eq!((counts.queued, counts.running), (1, 1), "the others are done");
        fixture.store.release_jobs().unwrap();
        assert_eq!(needed(), [].into(), "none runs");
    }

    /// The vector is of the old text: it may be cached for that, but not shown as the row's.
    #[test]
    fn a_leaf_that_changes_while_it_is_embedded_is_not_given_the_old_vector() {
        let fixture = embedded();
        let mut doc = file("a", &["one"]);
        let rows = fixture.put(&doc);
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        doc.chunks[0].embedding_hash = "another".into();
        fixture.put(&doc);
        fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0].into())]).unwrap();
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
        assert_eq!(fixture.changes(Seq::ZERO), [Change::Text(rows[0])]);
        assert_eq!(fixture.embed_all(), 1);
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), [(rows[0], vector(rows[0]))]);
    }

    #[test]
    fn a_lease_that_ran_out_makes_the_late_result_void() {
        let fixture = embedded();
        fixture.put(&file("a", &["one"]));
        let late = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        fixture.clock.advance(60);
        assert_eq!(fixture.store.claim_embed_jobs(1, 60).unwrap(), std::slice::from_ref(&late));
        fixture.store.release_jobs().unwrap();
        fixture.store.finish_embed_jobs(&[(late.job, late.row, vec![1.0].into())]).unwrap();
        assert_eq!(fixture.store.cached_embeddings(&[late.row]).unwrap(), []);
        assert_eq!(fixture.embed_all(), 1);
    }

    #[test]
    fn without_a_space_nothing_is_cached() {
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one"]));
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        let error =
            fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0].into())]).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { field: FINGERPRINT, .. }), "{error}");
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
    }
}
