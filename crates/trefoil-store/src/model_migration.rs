//! The vectors of another model, made while those in use answer, until they replace them.

use rusqlite::{Connection, params};
use trefoil_core::{Collection, Result, RowId};

use crate::{
    EmbedSource, Store, WriteTx,
    chunk::Reader,
    codec::limit_of,
    embedding::{
        self, EMBED, EMBEDDED, EmbeddedText, FINGERPRINT,
        queue::{enqueue_missing, source},
    },
    job, meta,
};

/// The setting that numbers the vectors in use; 0 if absent.
const GENERATION: &str = "vectors_generation";
/// The settings of the vectors that are being made.
const NEXT_FINGERPRINT: &str = "next_embedding_fingerprint";
const NEXT_GENERATION: &str = "next_vectors_generation";

/// Vectors that are being made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelMigration {
    /// The vector space that they are made in.
    pub fingerprint: String,
    /// Their number, which none that were in use before have had.
    pub generation: u64,
}

/// A text that the migration has no embedding of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// The leaf or the unit of memory.
    pub row: RowId,
    /// The hash of what is embedded.
    pub hash: String,
    /// What to embed.
    pub source: EmbedSource,
}

impl Store {
    /// The number of the vectors in use: how often a migration took their place.
    pub fn vectors_generation(&self) -> Result<u64> {
        self.read("read the number of the vectors", |tx| number(tx, GENERATION))
    }

    /// What is being made to take the place of the vectors in use, if anything is.
    pub fn model_migration(&self) -> Result<Option<ModelMigration>> {
        self.read("read what vectors are being made", model_migration)
    }

    /// Begins to make vectors of another space, or goes on: the same space has the same
    /// number until it is in use or given up.
    pub fn begin_model_migration(&self, fingerprint: &str) -> Result<ModelMigration> {
        self.write("begin vectors of another model", |tx, _| {
            let earlier = model_migration(tx)?;
            if let Some(same) = earlier.as_ref().filter(|one| one.fingerprint == fingerprint) {
                return Ok(same.clone());
            }
            let last = earlier.map_or(number(tx, GENERATION)?, |earlier| earlier.generation);
            let next = ModelMigration { fingerprint: fingerprint.to_owned(), generation: last + 1 };
            meta::set(tx, NEXT_FINGERPRINT, fingerprint)?;
            meta::set(tx, NEXT_GENERATION, &next.generation.to_string())?;
            Ok(next)
        })
    }

    /// Puts the migration in the place of the vectors in use, and queues a job for every text
    /// that has no embedding in its space. Does nothing if it is not the one that is being made.
    pub fn finish_model_migration(&self, by: &ModelMigration) -> Result<()> {
        self.write("put vectors of another model in place", |tx, now| {
            if model_migration(tx)?.as_ref() != Some(by) {
                return Ok(());
            }
            meta::set(tx, FINGERPRINT, &by.fingerprint)?;
            meta::set(tx, GENERATION, &by.generation.to_string())?;
            forget(tx)?;
            job::release(tx, now, Some(EMBED))?;
            // Known to this model, and never embedded by the one before.
            tx.execute(
                &format!(
                    "INSERT OR REPLACE INTO change_log (unit_id, kind, collection)
                     SELECT unit_id, 1, collection FROM ({EMBEDDED}) e WHERE EXISTS (
                         SELECT 1 FROM embedding_cache WHERE text_hash = hash AND fingerprint = ?1)
                       AND NOT EXISTS (
                         SELECT 1 FROM change_log l WHERE l.unit_id = e.unit_id AND l.kind = 1)
                     ORDER BY unit_id"
                ),
                [embedding::key(&by.fingerprint)],
            )?;
            enqueue_missing(tx, now, Some(&embedding::key(&by.fingerprint)))?;
            Ok(())
        })
    }

    /// Gives up what is being made; its embeddings stay cached.
    pub fn abandon_model_migration(&self) -> Result<()> {
        self.write("give up vectors of another model", |tx, _| forget(tx))
    }

    /// At most `limit` texts, of rows after `after` and in their order, that have no embedding
    /// in a vector space.
    pub fn unembedded(
        &self,
        fingerprint: &str,
        after: RowId,
        limit: usize,
    ) -> Result<Vec<Unembedded>> {
        self.read("read what is to be embedded", |tx| {
            let mut select = tx.prepare_cached(&format!(
                "SELECT unit_id, hash FROM ({EMBEDDED}) e WHERE unit_id > ?1 AND NOT EXISTS (
                     SELECT 1 FROM embedding_cache WHERE text_hash = hash AND fingerprint = ?2)
                 ORDER BY unit_id LIMIT ?3"
            ))?;
            let key = embedding::key(fingerprint);
            let given = params![after.get().cast_signed(), key, limit_of(limit)];
            let mut rows = select.query(given)?;
            let mut reader = Reader::new(tx)?;
            let mut found = Vec::new();
            while let Some(columns) = rows.next()? {
                let (row, hash) = (RowId::new(columns.get(0)?), columns.get(1)?);
                if let Some(source) = source(tx, &mut reader, row)? {
                    found.push(Unembedded { row, hash, source });
                }
            }
            Ok(found)
        })
    }

    /// How many rows have no embedding in a vector space.
    pub fn count_unembedded(&self, fingerprint: &str) -> Result<usize> {
        self.read("count what is to be embedded", |tx| {
            tx.query_row(
                &format!(
                    "SELECT count(*) FROM ({EMBEDDED}) e WHERE NOT EXISTS (
                         SELECT 1 FROM embedding_cache WHERE text_hash = hash AND fingerprint = ?1)"
                ),
                [embedding::key(fingerprint)],
                |row| row.get(0),
            )
        })
    }

    /// Caches embeddings in a vector space, by the hashes of what was embedded.
    pub fn put_embeddings_in(
        &self,
        fingerprint: &str,
        embeddings: &[(String, EmbeddedText)],
    ) -> Result<()> {
        self.write("store embeddings of another model", |tx, _| {
            let key = embedding::key(fingerprint);
            embeddings.iter().try_for_each(|(hash, EmbeddedText { vector, tokens })| {
                embedding::put(tx, hash, &key, vector, tokens.as_ref())
            })
        })
    }

    /// At most `limit` rows of a collection after `after`, in their order, with their cached
    /// embeddings in a vector space.
    pub fn embeddings_in(
        &self,
        fingerprint: &str,
        collection: Collection,
        after: RowId,
        limit: usize,
    ) -> Result<Vec<(RowId, Vec<f32>)>> {
        self.read("read embeddings of another model", |tx| {
            let mut select = tx.prepare_cached(&format!(
                "SELECT e.unit_id, c.vector FROM ({EMBEDDED}) e
                 JOIN embedding_cache c ON c.text_hash = e.hash AND c.fingerprint = ?2
                 WHERE e.unit_id > ?1 AND e.collection = ?3 ORDER BY e.unit_id LIMIT ?4"
            ))?;
            let key = embedding::key(fingerprint);
            let given = params![after.get().cast_signed(), key, collection.code(), limit_of(limit)];
            let vector = |row: &rusqlite::Row<'_>| embedding::decode(row.get_ref(1)?.as_blob()?);
            select.query_map(given, |row| Ok((RowId::new(row.get(0)?), vector(row)?)))?.collect()
        })
    }
}

fn model_migration(tx: &Connection) -> rusqlite::Result<Option<ModelMigration>> {
    let fingerprint = meta::get(tx, NEXT_FINGERPRINT)?;
    fingerprint
        .map(|fingerprint| {
            Ok(ModelMigration { fingerprint, generation: number(tx, NEXT_GENERATION)? })
        })
        .transpose()
}

fn forget(tx: &WriteTx<'_>) -> rusqlite::Result<()> {
    tx.execute("DELETE FROM meta WHERE key IN (?1, ?2)", [NEXT_FINGERPRINT, NEXT_GENERATION])
        .map(drop)
}

fn number(tx: &Connection, key: &str) -> rusqlite::Result<u64> {
    let number = meta::get(tx, key)?;
    Ok(number.and_then(|number| number.parse().ok()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use trefoil_core::Seq;

    use super::*;
    use crate::fixture::{Fixture, file, vector};

    const NEW: &str = "model b";

    fn put(fixture: &Fixture, texts: &[Unembedded]) {
        let embedded: Vec<_> =
            texts.iter().map(|text| (text.hash.clone(), vector(text.row).into())).collect();
        fixture.store.put_embeddings_in(NEW, &embedded).unwrap();
    }

    #[test]
    fn a_successor_takes_its_place_at_once_and_wants_what_it_lacks() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model a").unwrap();
        let rows = fixture.put(&file("a", &["one", "two"]));
        fixture.embed_all();
        let model_migration = fixture.store.begin_model_migration(NEW).unwrap();
        assert_eq!(model_migration.generation, 1);
        let first = fixture.store.unembedded(NEW, RowId::new(0), 1).unwrap();
        put(&fixture, &first);
        // What is cached is not told again, whoever asks.
        let fixture = fixture.reopen();
        assert_eq!(fixture.store.begin_model_migration(NEW).unwrap(), model_migration);
        assert_eq!(fixture.store.count_unembedded(NEW).unwrap(), 1);
        let second = fixture.store.unembedded(NEW, RowId::new(0), 9).unwrap();
        assert_eq!((first[0].row, second[0].row, second.len()), (rows[0], rows[1], 1));
        put(&fixture, &second);
        let held = |after| {
            let found = fixture.store.embeddings_in(NEW, Collection::Documents, after, 9).unwrap();
            found.into_iter().map(|(row, _)| row).collect::<Vec<_>>()
        };
        assert_eq!((held(RowId::new(0)), held(rows[0])), (rows.clone(), vec![rows[1]]));
        // The model before is asked until the end.
        assert_eq!(fixture.store.fingerprint().unwrap().as_deref(), Some("model a"));
        let late = fixture.put(&file("b", &["one", "three"]));
        let before = fixture.store.seq().unwrap();
        fixture.store.finish_model_migration(&model_migration).unwrap();
        assert_eq!(fixture.store.fingerprint().unwrap().as_deref(), Some(NEW));
        assert_eq!(fixture.store.vectors_generation().unwrap(), 1);
        assert_eq!(fixture.store.model_migration().unwrap(), None);
        assert_eq!(fixture.changes(before), []);
        let waiting = fixture.store.claim_embed_jobs(9, 60).unwrap();
        assert_eq!(waiting.iter().map(|job| job.row).collect::<Vec<_>>(), [late[1]]);
        assert_eq!(fixture.store.verify().unwrap(), []);
    }

    #[test]
    fn what_only_the_successor_knows_is_logged_for_its_index() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model a").unwrap();
        let rows = fixture.put(&file("a", &["one"]));
        let model_migration = fixture.store.begin_model_migration(NEW).unwrap();
        put(&fixture, &fixture.store.unembedded(NEW, RowId::new(0), 9).unwrap());
        fixture.store.finish_model_migration(&model_migration).unwrap();
        assert_eq!(fixture.changes(Seq::ZERO).last(), Some(&trefoil_core::Change::Vector(rows[0])));
    }

    #[test]
    fn a_number_is_given_once() {
        let fixture = Fixture::new();
        let store = &fixture.store;
        let number = |name| store.begin_model_migration(name).unwrap();
        let (first, second) = (number("model b"), number("model c"));
        assert_eq!((first.generation, second.generation), (1, 2));
        // One that was given up takes no place.
        store.finish_model_migration(&first).unwrap();
        assert_eq!(store.vectors_generation().unwrap(), 0);
        store.finish_model_migration(&second).unwrap();
        assert_eq!((store.vectors_generation().unwrap(), number("model b").generation), (2, 3));
        store.abandon_model_migration().unwrap();
        assert_eq!(store.model_migration().unwrap(), None);
    }
}
