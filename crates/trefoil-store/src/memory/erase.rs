//! Forgetting: which units go with one, and the cleaning of the file afterwards.
//!
//! A unit that goes takes along what was made from it: a summary as soon as one of its
//! sources goes, for nobody can tell which of its words came from there; another unit when
//! its last source goes. Of the text that goes, hashes are noted in the same transaction, so that
//! the files can be searched for it, also by another process and after a crash; the text itself
//! is kept nowhere.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension};
use trefoil_core::{Result, RowId, UnitKind};

use super::{ErasedRuns, MemoryRead, MemoryUnit, MemoryWrite, erased_runs::Ends, unit};
use crate::{
    Store, WriteTx,
    codec::{row_ids, texts},
    disk::pages,
    embedding,
    fault::fault,
    file::remove_path,
    meta,
    store::open_writer,
};

/// What a message says that rewriting does.
const CLEAN: &str = "clean the file";

/// What was erased.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Erased {
    /// How many rows of each kind: `episode`, `claim`, `chunk`…
    pub removed: BTreeMap<String, usize>,
}

/// Units that are to go together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErasedUnits {
    /// The units, by row.
    pub rows: Vec<RowId>,
}

impl MemoryRead<'_> {
    /// The units of `rows` with all that goes with them.
    pub fn with_derived(&self, rows: &[RowId]) -> Result<ErasedUnits> {
        self.sql("find what was made from units", |tx| {
            let mut going: BTreeSet<RowId> = rows.iter().copied().collect();
            let mut todo: Vec<RowId> = going.iter().copied().collect();
            while let Some(row) = todo.pop() {
                for made in made_from(tx, row)? {
                    if !going.contains(&made) && goes_too(tx, made, &going)? {
                        going.insert(made);
                        todo.push(made);
                    }
                }
            }
            Ok(ErasedUnits { rows: going.into_iter().collect() })
        })
    }

    /// The units that speak of `subject`, in whatever case: whose text names it, or which are
    /// claims about it; and the observations that such claims come from. A scan.
    pub fn units_about(&self, subject: &str) -> Result<Vec<RowId>> {
        let wanted = subject.trim().to_lowercase();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        self.sql("find what speaks of a subject", |tx| {
            let mut rows = tx.prepare_cached("SELECT id FROM units WHERE kind <> 8 ORDER BY id")?;
            let mut found = BTreeSet::new();
            for row in rows.query_map([], |columns| columns.get(0).map(RowId::new))? {
                let row = row?;
                let Some(unit) = unit::by_row(tx, row)? else { continue };
                if unit.payload.texts().iter().any(|text| text.to_lowercase().contains(&wanted)) {
                    found.insert(row);
                    if matches!(unit.payload.kind(), UnitKind::Claim | UnitKind::Fact) {
                        found.extend(sources_of(tx, row)?);
                    }
                }
            }
            Ok(found.into_iter().collect())
        })
    }
}

impl MemoryWrite<'_> {
    /// Erases units, which an event tells in numbers, with the events about them and the words that
    /// others keep of them: the notes of their evidence, and the summaries of their sessions. Until
    /// [`Store::clean`] has run, the file still holds their bytes; a note of that is kept in the
    /// same transaction.
    pub fn erase_units(&self, units: &ErasedUnits) -> Result<Erased> {
        let mut erased = Erased::default();
        let mut texts = Vec::new();
        for unit in self.units(&units.rows)? {
            *erased.removed.entry(unit.payload.kind().to_string()).or_default() += 1;
            texts.extend(unit.payload.texts());
            texts.extend(self.sql("erase what is said of a unit", |tx| words(tx, &unit))?);
        }
        self.remove_units(&units.rows)?;
        self.sql("erase the events about units", |tx| {
            let mut delete = tx.prepare_cached("DELETE FROM events WHERE unit_id = ?1")?;
            units
                .rows
                .iter()
                .try_for_each(|row| delete.execute([row.get().cast_signed()]).map(drop))
        })?;
        let counts = serde_json::json!(erased.removed).to_string();
        self.add_event("forgotten", None, &counts)?;
        self.sql("note that the files are to be cleaned", |tx| note(tx, &texts))?;
        Ok(erased)
    }
}

impl Store {
    /// Erases the file at `path` with its chunks, their embeddings and what the communities
    /// say; `None` if there is none. As [`MemoryWrite::erase_units`], it is followed by
    /// [`clean`](Self::clean).
    pub fn erase_file(&self, path: &str) -> Result<Option<Erased>> {
        self.write("erase a file", |tx, _| {
            let Some((erased, texts)) = file_texts(tx, path)? else { return Ok(None) };
            let hashes = file_hashes(tx, path)?;
            remove_path(tx, path)?;
            hashes.iter().try_for_each(|hash| embedding::drop_unused(tx, hash))?;
            // Reports quote; the worker rebuilds them from what is left.
            tx.execute("DELETE FROM communities", [])?;
            note(tx, &texts)?;
            Ok(Some(erased))
        })
    }

    /// True if something was erased and the files have not been rewritten since.
    pub fn is_unclean(&self) -> Result<bool> {
        Ok(self.meta(meta::UNCLEANED)?.is_some())
    }

    /// Rewrites the file from what is in it, and empties the write-ahead log: after this
    /// neither holds a byte of what was deleted.
    ///
    /// # Errors
    /// [`Error::Locked`](trefoil_core::Error::Locked) if another process reads and does not
    /// let go; then the note stays, and the next call tries again.
    pub fn clean(&self) -> Result<()> {
        self.write_alone_with(CLEAN, |connection| {
            let failed = |error| fault(self.path(), CLEAN, error);
            // The copy that VACUUM makes holds live rows only; it may be as large as the store. It
            // is told where to be on a connection of its own: one that is told so loses the
            // temporary tables that it has, by which a node that leads knows what was touched.
            let cleaner = open_writer(self.path())?;
            let vacuum = "PRAGMA secure_delete = ON; PRAGMA temp_store = FILE; VACUUM;";
            cleaner.execute_batch(vacuum).map_err(failed)?;
            drop(cleaner);
            pages::empty_log(connection).map_err(failed)
        })
    }

    /// Notes that every file was rewritten.
    pub fn set_clean(&self) -> Result<()> {
        self.write_here("note that the files are clean", |tx| meta::forget(tx, meta::UNCLEANED))?;
        self.write_alone("empty the write-ahead log", pages::empty_log)
    }

    /// What is to be looked for in the files: the runs of every text that was erased since the
    /// last [`set_nothing_left`](Self::set_nothing_left).
    pub fn erased_runs(&self) -> Result<ErasedRuns> {
        self.read("read what was erased", |tx| {
            let mut erased = ErasedRuns::new(key(tx)?.unwrap_or_default());
            let mut select = tx.prepare("SELECT run, head, tail FROM erased_runs")?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let column = |index| row.get(index).map(i64::cast_unsigned);
                erased.insert(column(0)?, Ends { head: column(1)?, tail: column(2)? });
            }
            Ok(erased)
        })
    }

    /// Notes that a search of all files has found nothing of what was erased.
    pub fn set_nothing_left(&self) -> Result<()> {
        self.write("note that nothing is left of what was erased", |tx, _| {
            tx.execute("DELETE FROM erased_runs", [])?;
            meta::forget(tx, meta::ERASURE_KEY)
        })?;
        self.write_alone("empty the write-ahead log", pages::empty_log)
    }

    /// Shows every text that is alive, one by one: of chunks and files, of units and all that
    /// hangs on them.
    pub fn each_live_text(&self, mut show: impl FnMut(&str)) -> Result<()> {
        self.read("read what is alive", |tx| {
            for sql in LIVE {
                let mut select = tx.prepare(sql)?;
                let mut rows = select.query([])?;
                while let Some(row) = rows.next()? {
                    if let Some(text) = row.get_ref(0)?.as_str_or_null()? {
                        show(text);
                    }
                }
            }
            Ok(())
        })
    }
}

/// Where text is that is alive. What says something in short of what may be gone (reports of
/// communities, summaries of sessions, events) is not among them: a byte there is a find.
const LIVE: [&str; 13] = [
    "SELECT text FROM payload_chunk",
    "SELECT heading_path FROM payload_chunk",
    "SELECT title FROM files",
    "SELECT metadata FROM files",
    "SELECT path FROM files",
    "SELECT concat_ws(char(10), input_text, reply_text, image_summary) FROM payload_episode",
    "SELECT concat_ws(char(10), context_note, reflection_json, content_compressed, source_id, actor)
     FROM payload_episode",
    "SELECT concat_ws(char(10), text, subject, predicate, object, provenance_json, sources_json, origin_json)
     FROM payload_claim",
    "SELECT concat_ws(char(10), summary_text, summary_json) FROM payload_summary",
    "SELECT loop_text FROM payload_loop",
    "SELECT yaml FROM policies",
    "SELECT sql FROM sqlite_schema",
    "SELECT concat_ws(char(10), key, value) FROM meta",
];

/// Notes that files are to be rewritten, and what is to be looked for in them.
fn note(tx: &WriteTx<'_>, texts: &[String]) -> rusqlite::Result<()> {
    let key = key(tx)?.unwrap_or_else(|| [fastrand::u64(..), fastrand::u64(..)]);
    meta::set(tx, meta::ERASURE_KEY, &key.map(|half| half.to_string()).join(" "))?;
    let mut erased = ErasedRuns::new(key);
    for text in texts {
        erased.add(text);
    }
    let mut insert = tx.prepare_cached("INSERT OR REPLACE INTO erased_runs VALUES (?1, ?2, ?3)")?;
    for (run, Ends { head, tail }) in erased.stored() {
        insert.execute([run, head, tail].map(u64::cast_signed))?;
    }
    meta::set(tx, meta::UNCLEANED, "1")
}

fn key(tx: &Connection) -> rusqlite::Result<Option<[u64; 2]>> {
    let stored = meta::get(tx, meta::ERASURE_KEY)?;
    let halves = stored.as_deref().and_then(|stored| stored.split_once(' '));
    Ok(halves.and_then(|(first, second)| Some([first.parse().ok()?, second.parse().ok()?])))
}

fn made_from(tx: &Connection, row: RowId) -> rusqlite::Result<Vec<RowId>> {
    let sql = "SELECT unit_id FROM unit_sources WHERE source_unit_id = ?1 ORDER BY 1";
    row_ids(tx, sql, [row.get().cast_signed()])
}

fn sources_of(tx: &Connection, row: RowId) -> rusqlite::Result<Vec<RowId>> {
    let sql = "SELECT source_unit_id FROM unit_sources WHERE unit_id = ?1 ORDER BY 1";
    row_ids(tx, sql, [row.get().cast_signed()])
}

fn goes_too(tx: &Connection, row: RowId, going: &BTreeSet<RowId>) -> rusqlite::Result<bool> {
    let kind: Option<u8> = tx
        .prepare_cached("SELECT kind FROM units WHERE id = ?1")?
        .query_row([row.get().cast_signed()], |columns| columns.get(0))
        .optional()?;
    let is_summary = kind == Some(UnitKind::Summary.code());
    Ok(is_summary || sources_of(tx, row)?.iter().all(|source| going.contains(source)))
}

/// Takes away, and tells, what others say in the words of a unit.
fn words(tx: &WriteTx<'_>, unit: &MemoryUnit) -> rusqlite::Result<Vec<String>> {
    let row = unit.row.get().cast_signed();
    let mut words: Vec<String> = tx
        .prepare_cached(
            "SELECT note FROM evidences
             WHERE (claim_unit_id = ?1 OR observation_unit_id = ?1) AND note IS NOT NULL
             UNION ALL
             SELECT s.summary FROM sessions s JOIN payload_episode e ON e.session_id = s.id
             WHERE e.unit_id = ?1 AND s.summary IS NOT NULL",
        )?
        .query_map([row], |columns| columns.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    words.sort();
    words.dedup();
    tx.prepare_cached("DELETE FROM evidences WHERE observation_unit_id = ?1")?.execute([row])?;
    tx.prepare_cached(
        "UPDATE sessions SET summary = NULL
         WHERE id = (SELECT session_id FROM payload_episode WHERE unit_id = ?1)",
    )?
    .execute([row])?;
    Ok(words)
}

fn file_texts(tx: &Connection, path: &str) -> rusqlite::Result<Option<(Erased, Vec<String>)>> {
    let labels: Option<[String; 2]> = tx
        .prepare_cached("SELECT title, metadata FROM files WHERE path = ?1")?
        .query_row([path], |row| Ok([row.get(0)?, row.get(1)?]))
        .optional()?;
    let Some(labels) = labels else { return Ok(None) };
    let (mut erased, mut texts_gone) = (Erased::default(), Vec::from(labels));
    let mut chunks = tx.prepare_cached(
        "SELECT c.text, c.heading_path FROM payload_chunk c JOIN files f ON f.id = c.file_id
         WHERE f.path = ?1 ORDER BY c.unit_id",
    )?;
    let mut rows = chunks.query([path])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        texts_gone.push(row.get(0)?);
        texts_gone.extend(texts(row, 1)?);
    }
    erased.removed.insert("file".to_owned(), 1);
    erased.removed.insert(UnitKind::Chunk.to_string(), count);
    Ok(Some((erased, texts_gone)))
}

fn file_hashes(tx: &Connection, path: &str) -> rusqlite::Result<Vec<String>> {
    tx.prepare_cached(
        "SELECT DISTINCT c.embedding_hash FROM payload_chunk c JOIN files f ON f.id = c.file_id
         WHERE f.path = ?1",
    )?
    .query_map([path], |row| row.get(0))?
    .collect()
}
