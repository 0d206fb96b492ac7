//! Embeddings, kept by what was embedded and by which model, so that the same text
//! is embedded once.

pub(crate) mod queue;
mod tokens;

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use trefoil_core::{Change, Collection, Error, Result, RowId};

use self::tokens::has_tokens;
pub use self::tokens::{EmbeddedTokens, KeptTokens};

use crate::{
    Store, WriteTx,
    change::log,
    codec::limit_of,
    fault::unreadable,
    graph::community::communities,
    id::{hex, sha256},
    job, meta,
};

/// The kind of job that makes the embedding of a leaf; its payload is
/// `{"hash": embedding hash, "row": row number}`.
pub(crate) const EMBED: &str = "embed";

/// What is embedded: leaves, and units of memory that are neither archived nor secret.
/// Memory is told apart by its collection, and has no language.
pub(crate) const EMBEDDED: &str = "
    SELECT unit_id, embedding_hash AS hash, 0 AS collection, language
        FROM payload_chunk WHERE ordinal >= 0
    UNION ALL
    SELECT id, embedding_hash, 1, NULL FROM units WHERE kind <> 8 AND embedding_hash IS NOT NULL";

/// The setting that names the vector space.
pub(crate) const FINGERPRINT: &str = "embedding_fingerprint";

/// What was made of a text: its vector and, where they are kept, the vectors of its tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmbeddedText {
    /// The vector of the whole.
    pub vector: Vec<f32>,
    /// Those of its tokens.
    pub tokens: Option<EmbeddedTokens>,
}

impl From<Vec<f32>> for EmbeddedText {
    /// Without token vectors.
    fn from(vector: Vec<f32>) -> Self {
        Self { vector, tokens: None }
    }
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
                put(tx, hash, &space, vector, None)?;
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
}

/// The error where no vector space is set.
pub(crate) fn no_space() -> Error {
    Error::InvalidConfig {
        field: FINGERPRINT,
        value: "unset".to_owned(),
        allowed: "the fingerprint of the model that made the embeddings",
    }
}

pub(crate) fn put(
    tx: &WriteTx<'_>,
    hash: &str,
    space: &str,
    vector: &[f32],
    tokens: Option<&EmbeddedTokens>,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        // Not OR REPLACE, which would not tell the counters that a row went.
        "INSERT INTO embedding_cache (text_hash, fingerprint, vector, token_space, tokens)
         VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT (text_hash, fingerprint) DO UPDATE SET vector = excluded.vector,
             token_space = excluded.token_space, tokens = excluded.tokens",
    )?
    .execute(params![
        hash,
        space,
        encode(vector),
        tokens.map(|tokens| &tokens.space),
        tokens.map(|tokens| tokens.codes.bytes()),
    ])?;
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
    collection: Collection,
    row: RowId,
    hash: &str,
) -> rusqlite::Result<()> {
    if is_cached(tx, space, row, hash)? {
        log(tx, Change::Vector(row))
    } else {
        job::enqueue(tx, now, collection, EMBED, &payload(row, hash)).map(|_| ())
    }
}

fn payload(row: RowId, hash: &str) -> String {
    payload_of(row.get().cast_signed(), hash)
}

/// The payload of the job that embeds the text with `hash` for a unit.
pub(crate) fn payload_of(unit: i64, hash: &str) -> String {
    serde_json::json!({ "hash": hash, "row": unit }).to_string()
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

/// True if the text of `row`, with this hash, has its embedding in a vector space, with the token
/// vectors that are wanted.
pub(crate) fn is_cached(
    tx: &Connection,
    space: Option<&str>,
    row: RowId,
    hash: &str,
) -> rusqlite::Result<bool> {
    let Some(space) = space else { return Ok(false) };
    let has_tokens = has_tokens("(SELECT language FROM payload_chunk WHERE unit_id = ?3)");
    tx.prepare_cached(&format!(
        "SELECT 1 FROM embedding_cache WHERE text_hash = ?1 AND fingerprint = ?2 AND {has_tokens}"
    ))?
    .exists(params![hash, space, row.get().cast_signed()])
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
    use super::*;
    use crate::{
        CommunityRow, community_id,
        fixture::{Fixture, file},
    };

    fn embedded() -> Fixture {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model a").unwrap();
        fixture
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
            chunks: Vec::new(),
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
    fn spaces_do_not_mix() {
        let fixture = embedded();
        let rows = fixture.put(&file("a", &["one", "two"]));
        let running = fixture.store.claim_embed_jobs(1, 60).unwrap().remove(0);
        fixture.store.set_fingerprint("model b").unwrap();
        fixture.store.finish_embed_jobs(&[(running.job, running.row, vec![1.0].into())]).unwrap();
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
    fn a_vector_comes_back_bit_for_bit() {
        let vector = [0.1, -0.0, f32::MIN_POSITIVE, f32::MAX];
        let back = decode(&encode(&vector)).unwrap();
        assert!(
            back.iter().map(|value| value.to_bits()).eq(vector.iter().map(|value| value.to_bits()))
        );
        assert!(decode(&[0; 7]).is_err());
    }
}
