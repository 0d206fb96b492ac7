//! Embeddings, kept by what was embedded and by which model, so that the same text
//! is embedded once.

use std::{collections::BTreeMap, sync::Arc};

use rusqlite::{Connection, OptionalExtension, params};
use trefoil_core::{Change, Error, Result, RowId, Seq, StoredChunk};

use crate::{
    JobCounts, Store, WriteTx,
    change::{self, limit_of, log},
    chunk::Reader,
    community::communities,
    fault::unreadable,
    id::{hex, sha256},
    job, memory, meta,
};

/// The kind of job that makes the embedding of a leaf; its payload is
/// `{"hash": embedding hash, "row": row number}`.
pub(crate) const EMBED: &str = "embed";

/// What is embedded: leaves, and units of memory that are neither archived nor secret.
pub(crate) const EMBEDDED: &str = "
    SELECT unit_id, embedding_hash AS hash, 0 AS collection FROM payload_chunk WHERE ordinal >= 0
    UNION ALL
    SELECT id, embedding_hash, 1 FROM units WHERE kind <> 8 AND embedding_hash IS NOT NULL";

/// The setting that names the vector space.
pub(crate) const FINGERPRINT: &str = "embedding_fingerprint";

/// A leaf, or a unit of memory, that waits for its embedding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbedJob {
    /// The job, to finish or fail.
    pub job: i64,
    /// The leaf or the unit of memory.
    pub row: RowId,
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
    /// open indexes of documents.
    pub documents: usize,
    /// Units of memory.
    pub memory: usize,
}

impl Store {
    /// The vector space that embeddings are made in, if one was set; see
    /// [`EmbeddingSpace::fingerprint`](trefoil_core::EmbeddingSpace::fingerprint).
    pub fn fingerprint(&self) -> Result<Option<String>> {
        self.meta(FINGERPRINT)
    }

    /// Sets the vector space. Embeddings of others stay cached but are not used;
    /// embed jobs that run go back to the queue, for what they make is of the old one.
    pub fn set_fingerprint(&self, fingerprint: &str) -> Result<()> {
        self.write("set the embedding fingerprint", |tx, now| {
            if meta::get(tx, FINGERPRINT)?.as_deref() != Some(fingerprint) {
                meta::set(tx, FINGERPRINT, fingerprint)?;
                job::release(tx, now, Some(EMBED))?;
            }
            Ok(())
        })
    }

    /// The cached embeddings of `rows`, in their order; rows without one are left out.
    pub fn cached_embeddings(&self, rows: &[RowId]) -> Result<Vec<(RowId, Vec<f32>)>> {
        self.read("read embeddings", |tx| {
            let Some(space) = space(tx)? else { return Ok(Vec::new()) };
            let mut select = tx.prepare_cached(
                "SELECT e.vector FROM units u LEFT JOIN payload_chunk c ON c.unit_id = u.id
                 JOIN embedding_cache e
                     ON e.text_hash = ifnull(c.embedding_hash, u.embedding_hash) AND e.fingerprint = ?2
                 WHERE u.id = ?1",
            )?;
            let cached = rows.iter().filter_map(|&row| {
                let vector = select
                    .query_row(params![row.get().cast_signed(), space], |columns| {
                        decode(columns.get_ref(0)?.as_blob()?)
                    })
                    .optional();
                vector.map(|vector| Some((row, vector?))).transpose()
            });
            cached.collect()
        })
    }

    /// The cached embeddings of texts that are no chunks, by the hashes of what is embedded;
    /// those without one are left out.
    pub fn text_embeddings<'h>(
        &self,
        hashes: impl IntoIterator<Item = &'h str>,
    ) -> Result<BTreeMap<String, Vec<f32>>> {
        self.read("read embeddings of texts", |tx| {
            let Some(space) = space(tx)? else { return Ok(BTreeMap::new()) };
            let mut select = tx.prepare_cached(
                "SELECT vector FROM embedding_cache WHERE text_hash = ?1 AND fingerprint = ?2",
            )?;
            let mut found = BTreeMap::new();
            for hash in hashes {
                let vector = select
                    .query_row([hash, &space], |columns| decode(columns.get_ref(0)?.as_blob()?))
                    .optional()?;
                found.extend(vector.map(|vector| (hash.to_owned(), vector)));
            }
            Ok(found)
        })
    }

    /// Caches embeddings of texts that are no chunks, by the hashes of what was embedded.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if no vector space is set.
    pub fn put_text_embeddings(&self, embeddings: &[(String, Vec<f32>)]) -> Result<()> {
        let stored = self.write("store embeddings of texts", |tx, _| {
            let Some(space) = space(tx)? else { return Ok(None) };
            for (hash, vector) in embeddings {
                put(tx, hash, &space, vector)?;
            }
            Ok(Some(()))
        })?;
        stored.ok_or_else(no_space)
    }

    /// Forgets the embeddings of texts that no leaf, unit of memory or report has, once they are
    /// `at_least` so many and more than the others, and tells how many. Until then they spare
    /// the work if a text comes back.
    pub fn forget_unused_embeddings(&self, at_least: usize) -> Result<usize> {
        self.write("forget embeddings that nothing uses", |tx, _| {
            tx.execute_batch("CREATE TEMP TABLE used (hash TEXT PRIMARY KEY) WITHOUT ROWID")?;
            tx.execute(&format!("INSERT OR IGNORE INTO used SELECT hash FROM ({EMBEDDED})"), [])?;
            let mut insert = tx.prepare("INSERT OR IGNORE INTO used VALUES (?1)")?;
            for community in communities(tx)? {
                insert.execute([community.report_hash()])?;
            }
            let forgotten = tx.execute(
                "DELETE FROM embedding_cache WHERE text_hash NOT IN used AND (
                     SELECT count(*) FILTER (WHERE text_hash NOT IN used)
                         >= max(?1, count(*) FILTER (WHERE text_hash IN used))
                     FROM embedding_cache)",
                [limit_of(at_least)],
            )?;
            drop(insert);
            tx.execute_batch("DROP TABLE used")?;
            Ok(forgotten)
        })
    }

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
                    } else if is_cached(tx, space.as_deref(), &hash)? {
                        job::done(tx, now, job)?;
                        log(tx, Change::Vector(row))?;
                    } else if let Some(source) = source(tx, &mut reader, row)? {
                        job::lease(tx, now, job, lease_seconds)?;
                        claimed.push(EmbedJob { job, row, source });
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
    /// [`Error::InvalidConfig`] if no vector space is set.
    pub fn finish_embed_jobs(&self, done: &[(i64, RowId, Vec<f32>)]) -> Result<Seq> {
        let finished = self.write("store embeddings", |tx, now| {
            let Some(space) = space(tx)? else { return Ok(None) };
            for (job, row, vector) in done {
                let hash: Option<String> = tx
                    .prepare_cached(
                        "SELECT payload_json ->> 'hash' FROM jobs
                         WHERE id = ?1 AND kind = 'embed' AND status = 1 AND payload_json ->> 'row' = ?2",
                    )?
                    .query_row([*job, row.get().cast_signed()], |columns| columns.get(0))
                    .optional()?;
                let Some(hash) = hash else { continue };
                job::done(tx, now, *job)?;
                put(tx, &hash, &space, vector)?;
                if current_hash(tx, *row)?.as_deref() == Some(hash.as_str()) {
                    log(tx, Change::Vector(*row))?;
                }
            }
            change::last(tx).map(Some)
        })?;
        finished.ok_or_else(no_space)
    }

    /// How many embeddings wait, are made, and have failed, of both collections.
    pub fn pending_embeddings(&self) -> Result<JobCounts> {
        self.pending_jobs_of(EMBED)
    }

    /// How many embeddings wait or are made in each collection.
    pub fn waiting_embeddings(&self) -> Result<WaitingEmbeddings> {
        self.read("count embed jobs", |tx| {
            let counts = job::counts_of(tx, EMBED)?;
            let all = counts.queued + counts.running;
            let remembers = "SELECT EXISTS (SELECT 1 FROM units WHERE kind < 8)
                OR EXISTS (SELECT 1 FROM units WHERE kind > 8)";
            // The collection of a job is known by its unit only: not looked up where all are one.
            if all == 0 || !tx.prepare_cached(remembers)?.query_row([], |row| row.get(0))? {
                return Ok(WaitingEmbeddings { documents: all, memory: 0 });
            }
            let memory: usize = tx
                .prepare_cached(
                    "SELECT count(*) FROM jobs j JOIN units u ON u.id = j.payload_json ->> 'row'
                     WHERE j.kind = 'embed' AND j.status IN (0, 1) AND u.kind <> 8",
                )?
                .query_row([], |row| row.get(0))?;
            Ok(WaitingEmbeddings { documents: all - memory.min(all), memory })
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

fn no_space() -> Error {
    Error::InvalidConfig {
        field: FINGERPRINT,
        value: "unset".to_owned(),
        allowed: "the fingerprint of the model that made the embeddings",
    }
}

/// Queues a job for every leaf and unit of memory without a cached embedding; how many.
pub(crate) fn enqueue_missing(
    tx: &WriteTx<'_>,
    now: i64,
    space: Option<&str>,
) -> rusqlite::Result<usize> {
    let mut missing = tx.prepare(&format!(
        "SELECT unit_id, hash FROM ({EMBEDDED}) e WHERE NOT EXISTS (
             SELECT 1 FROM embedding_cache WHERE text_hash = hash AND fingerprint = ?1)
         ORDER BY unit_id"
    ))?;
    let mut missing = missing.query([space])?;
    let mut queued = 0;
    while let Some(row) = missing.next()? {
        job::enqueue(tx, now, EMBED, &payload_of(row.get(0)?, &row.get::<_, String>(1)?))?;
        queued += 1;
    }
    Ok(queued)
}

pub(crate) fn put(
    tx: &WriteTx<'_>,
    hash: &str,
    space: &str,
    vector: &[f32],
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO embedding_cache (text_hash, fingerprint, vector) VALUES (?1, ?2, ?3)",
    )?
    .execute(params![hash, space, encode(vector)])?;
    Ok(())
}

/// The key of the vector space in use: the fingerprint's hash, as it is long.
pub(crate) fn space(tx: &Connection) -> rusqlite::Result<Option<String>> {
    Ok(meta::get(tx, FINGERPRINT)?.map(|fingerprint| key(&fingerprint)))
}

/// The key of a vector space in the cache.
pub(crate) fn key(fingerprint: &str) -> String {
    let digest = sha256(fingerprint.as_bytes());
    hex(digest.get(..16).unwrap_or(&digest))
}

/// Sees to it that `row` gets the embedding of the text with `hash`.
pub(crate) fn want(
    tx: &WriteTx<'_>,
    now: i64,
    space: Option<&str>,
    row: RowId,
    hash: &str,
) -> rusqlite::Result<()> {
    if is_cached(tx, space, hash)? {
        log(tx, Change::Vector(row))
    } else {
        job::enqueue(tx, now, EMBED, &payload(row, hash)).map(|_| ())
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

fn payload(row: RowId, hash: &str) -> String {
    payload_of(row.get().cast_signed(), hash)
}

/// The payload of the job that embeds the text with `hash` for a unit.
pub(crate) fn payload_of(unit: i64, hash: &str) -> String {
    serde_json::json!({ "hash": hash, "row": unit }).to_string()
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

/// Removes the embeddings of a text, in every vector space, unless a unit has it.
pub(crate) fn drop_unused(tx: &WriteTx<'_>, hash: &str) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "DELETE FROM embedding_cache WHERE text_hash = ?1
           AND NOT EXISTS (SELECT 1 FROM units WHERE embedding_hash = ?1)
           AND NOT EXISTS (SELECT 1 FROM payload_chunk WHERE embedding_hash = ?1)",
    )?
    .execute([hash])?;
    Ok(())
}

fn is_cached(tx: &Connection, space: Option<&str>, hash: &str) -> rusqlite::Result<bool> {
    let Some(space) = space else { return Ok(false) };
    tx.prepare_cached("SELECT 1 FROM embedding_cache WHERE text_hash = ?1 AND fingerprint = ?2")?
        .exists([hash, space])
}

fn encode(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|value| value.to_le_bytes()).collect()
}

pub(crate) fn decode(blob: &[u8]) -> rusqlite::Result<Vec<f32>> {
    match blob.as_chunks() {
        (values, []) => Ok(values.iter().map(|&value| f32::from_le_bytes(value)).collect()),
        _ => Err(unreadable(0, "a vector of a broken length")),
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::Seq;

    use super::*;
    use crate::{
        CommunityRow, community_id,
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
        let done: Vec<_> = jobs.iter().map(|job| (job.job, job.row, vector(job.row))).collect();
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
    fn a_text_that_is_no_chunk_is_kept_for_its_vector_space() {
        let fixture = Fixture::new();
        let given = [("1e".to_owned(), vec![1.0, -0.5])];
        assert!(fixture.store.put_text_embeddings(&given).is_err(), "no vector space");
        fixture.store.set_fingerprint("model a").unwrap();
        fixture.store.put_text_embeddings(&given).unwrap();
        let read = || fixture.store.text_embeddings(["1e", "2f"]).unwrap();
        assert_eq!(read(), given.into());
        fixture.store.set_fingerprint("model b").unwrap();
        assert!(read().is_empty());
    }

    #[test]
    fn a_known_text_needs_no_job() {
        let fixture = embedded();
        fixture.put(&file("a", &["one", "two"]));
        fixture.embed_all();
        let before = fixture.store.seq().unwrap();
        let rows = fixture.put(&file("b", &["two", "three"]));
        assert_eq!(
            fixture.changes(before),
            [Change::Text(rows[0]), Change::Vector(rows[0]), Change::Text(rows[1])]
        );
        assert_eq!(fixture.embed_all(), 1);
        fixture.store.remove_file("b").unwrap();
        fixture.put(&file("b", &["two", "three"]));
        assert_eq!(fixture.embed_all(), 0);
    }

    #[test]
    fn embeddings_that_nothing_uses_are_forgotten_when_there_are_enough() {
        let fixture = embedded();
        fixture.put(&file("a", &["one", "two"]));
        fixture.put(&file("b", &["two", "three", "four"]));
        fixture.embed_all();
        let report = CommunityRow {
            id: community_id(0, &[]).unwrap(),
            level: 0,
            parent: None,
            name: "Numbers".to_owned(),
            members: Vec::new(),
            ties: Vec::new(),
            internal_edges: 0,
            external_edges: 0,
            modularity: 0.0,
            summary: "One and two.".to_owned(),
            sources: Vec::new(),
            keywords: Vec::new(),
            content_hash: String::new(),
        };
        fixture.store.put_communities(std::slice::from_ref(&report)).unwrap();
        let hash = report.report_hash();
        let texts = [(hash.clone(), vec![1.0]), ("5e".to_owned(), vec![2.0])];
        fixture.store.put_text_embeddings(&texts).unwrap();
        // Used are one, two and the report.
        fixture.store.remove_file("b").unwrap();
        assert_eq!(fixture.store.forget_unused_embeddings(4).unwrap(), 0, "too few");
        assert_eq!(fixture.store.forget_unused_embeddings(3).unwrap(), 3);
        assert_eq!(
            fixture.store.text_embeddings(["5e", &hash]).unwrap(),
            [(hash, vec![1.0])].into()
        );
        fixture.put(&file("b", &["two", "three"]));
        assert_eq!(fixture.embed_all(), 1, "three");
        fixture.store.remove_file("b").unwrap();
        assert_eq!(fixture.store.forget_unused_embeddings(1).unwrap(), 0, "fewer than used");
    }

    #[test]
    fn a_text_that_became_known_while_waiting_is_not_embedded_again() {
        let fixture = embedded();
        fixture.put(&file("a", &["one"]));
        let rows = fixture.put(&file("b", &["one"]));
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0])]).unwrap();
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

    /// The vector is of the old text: it may be cached for that, but not shown as the row's.
    #[test]
    fn a_leaf_that_changes_while_it_is_embedded_is_not_given_the_old_vector() {
        let fixture = embedded();
        let mut doc = file("a", &["one"]);
        let rows = fixture.put(&doc);
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        doc.chunks[0].embedding_hash = "another".into();
        fixture.put(&doc);
        fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0])]).unwrap();
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
        fixture.store.finish_embed_jobs(&[(late.job, late.row, vec![1.0])]).unwrap();
        assert_eq!(fixture.store.cached_embeddings(&[late.row]).unwrap(), []);
        assert_eq!(fixture.embed_all(), 1);
    }

    #[test]
    fn spaces_do_not_mix() {
        let fixture = embedded();
        let rows = fixture.put(&file("a", &["one", "two"]));
        let running = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        fixture.store.set_fingerprint("model b").unwrap();
        fixture.store.finish_embed_jobs(&[(running.job, running.row, vec![1.0])]).unwrap();
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
        assert_eq!(fixture.embed_all(), 2);
        fixture.store.set_fingerprint("model a").unwrap();
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
        assert_eq!(fixture.store.requeue_embeddings().unwrap(), 2);
        assert_eq!(fixture.embed_all(), 2);
        fixture.store.set_fingerprint("model b").unwrap();
        let before = fixture.store.seq().unwrap();
        assert_eq!(fixture.store.requeue_embeddings().unwrap(), 0);
        assert_eq!(fixture.changes(before), [Change::Vector(rows[0]), Change::Vector(rows[1])]);
        assert_eq!(fixture.reopen().store.fingerprint().unwrap().as_deref(), Some("model b"));
    }

    #[test]
    fn without_a_space_nothing_is_cached() {
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one"]));
        let job = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        let error = fixture.store.finish_embed_jobs(&[(job.job, job.row, vec![1.0])]).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { field: FINGERPRINT, .. }), "{error}");
        assert_eq!(fixture.store.cached_embeddings(&rows).unwrap(), []);
    }

    #[test]
    fn a_vector_comes_back_bit_for_bit() {
        let vector = [0.1, -0.0, f32::MIN_POSITIVE, f32::MAX];
        let back = decode(&encode(&vector)).unwrap();
        assert!(
            back.iter().map(|value| value.to_bits()).eq(vector.iter().map(|value| value.to_bits()))
        );
        assert!(decode(&[0; 7]).is_err());
    }
}
