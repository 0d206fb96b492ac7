mod patch;
mod whole;

use std::collections::{BTreeMap, HashMap};

use jiff::civil::Date;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{
    Change, Chunk, ChunkId, ChunkLevel, Collection, Extraction, FileId, Language, Metadata, Result,
    RowId,
};

use crate::{
    Store, WriteTx,
    change::log,
    chunk::stored_ordinal,
    codec::{language, parsed, to_json},
    embedding,
    graph::said,
    id::{chunk_id, file_id, hex, sha256},
};

pub(crate) use self::{
    patch::patch_metadata,
    whole::{Digests, digest_at, digests, whole_file},
};

/// `units.kind` of a chunk.
const CHUNK: i64 = 8;

/// Added to ordinals while they are exchanged: beyond any that a chunker gives.
const ASIDE: i64 = 1 << 40;

/// What tells whether a file has changed since it was stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// Hash of the path.
    pub id: FileId,
    /// Where it was read from, or the caller's key.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified, in the unit that the caller stored.
    pub mtime: i64,
    /// SHA-256 of the content as the caller stored it.
    pub sha256: String,
}

/// A file or document to store, cut into chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFile {
    /// Where it was read from, or the caller's key.
    pub path: String,
    /// Short name; may be empty.
    pub title: String,
    /// Labels; stored sorted, each once.
    pub tags: Vec<String>,
    /// The day it is about or from.
    pub date: Option<Date>,
    /// Fields of its caller's own.
    pub metadata: Metadata,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: i64,
    /// SHA-256 of the content, hexadecimal.
    pub sha256: String,
    /// Leaf and parent chunks; ordinals differ within a level.
    pub chunks: Vec<NewChunk>,
}

/// A file that was written without a change of content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TouchedFile {
    /// Where it was read from.
    pub path: String,
    /// Length in bytes.
    pub size: u64,
    /// When it was last modified.
    pub mtime: i64,
}

/// A chunk to store.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// SHA-256 of the text that is embedded for it, and of its vector if that is the caller's,
    /// hexadecimal; unused for parents.
    pub embedding_hash: String,
    /// Where its vector comes from.
    pub embedding: NewEmbedding,
    /// What it mentions; unused for parents.
    #[serde(with = "crate::graph::as_text")]
    pub extraction: Extraction,
}

/// Where the vector of a chunk comes from.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub enum NewEmbedding {
    /// The model makes it, unless it is cached. Until then the chunk keeps the one that it has.
    #[default]
    Model,
    /// The caller made it.
    Given(Vec<f32>),
    /// The caller makes vectors, and gives none for this chunk: it loses the one that it has.
    Absent,
}

/// What storing a file did to its leaves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The file.
    pub file: FileId,
    /// Leaf chunks that are new.
    pub added: usize,
    /// Leaf chunks that kept their row.
    pub kept: usize,
    /// Leaf chunks that are gone.
    pub removed: usize,
}

impl Store {
    /// What is known of the file at `path`.
    pub fn file(&self, path: &str) -> Result<Option<FileState>> {
        self.read("look up a file", |tx| by_path(tx, path))
    }

    /// A digest of the file at `path` with its chunks, but for when it was modified; the same for
    /// what is stored again from the same.
    pub fn file_digest(&self, path: &str) -> Result<Option<String>> {
        self.read("look up a file", |tx| digest_at(tx, path))
    }

    /// Every file, by path.
    pub fn files(&self) -> Result<Vec<FileState>> {
        self.read("list the files", |tx| {
            tx.prepare_cached(
                "SELECT public_id, path, size, mtime, sha256 FROM files ORDER BY path",
            )?
            .query_map([], state)?
            .collect()
        })
    }

    /// Notes in one transaction that files were written without a change of content. Tells how
    /// many of them are stored.
    pub fn touch_files(&self, files: &[TouchedFile]) -> Result<usize> {
        self.write("touch files", |tx, _| touch_files(tx, files))
    }

    /// Stores files in one transaction, each in the place of what was stored under
    /// its path.
    ///
    /// A chunk whose id is the same keeps its row, and is logged only if title,
    /// tags, date, metadata or language changed. A leaf whose embedding is cached is logged
    /// as [`Change::Vector`] too; for others an embed job is queued. One that mentions
    /// something else than before is logged as [`Change::Extraction`]. Parents are stored, but
    /// neither logged nor embedded.
    ///
    /// # Errors
    /// Two chunks of a file with one level and ordinal, or a full disk; then
    /// nothing was stored.
    pub fn put_files(&self, files: &[NewFile]) -> Result<Vec<Stored>> {
        let ids = files.iter().map(identify).collect::<Result<Vec<_>>>()?;
        self.write("store files", |tx, now| put_files(tx, now, files, ids))
    }

    /// Removes the file at `path` with its chunks; true if it was there.
    pub fn remove_file(&self, path: &str) -> Result<bool> {
        Ok(self.remove_files([path])? > 0)
    }

    /// Removes the files at `paths` with their chunks in one transaction. Tells how many were
    /// there.
    pub fn remove_files<'p>(&self, paths: impl IntoIterator<Item = &'p str>) -> Result<usize> {
        self.write("remove files", |tx, _| remove_paths(tx, paths))
    }

    /// Removes the file at `prefix` and all below `prefix/`; tells how many files.
    pub fn remove_under(&self, prefix: &str) -> Result<usize> {
        self.write("remove files", |tx, _| remove_under(tx, prefix))
    }
}

/// [`Store::put_files`] within a transaction.
pub(crate) fn put_files(
    tx: &WriteTx<'_>,
    now: i64,
    files: &[NewFile],
    ids: Vec<Ids>,
) -> rusqlite::Result<Vec<Stored>> {
    let space = embedding::space(tx)?;
    let each = files.iter().zip(ids);
    each.map(|(file, ids)| Put { tx, now, space: space.as_deref(), file, ids }.run()).collect()
}

/// [`Store::touch_files`] within a transaction.
pub(crate) fn touch_files(tx: &WriteTx<'_>, files: &[TouchedFile]) -> rusqlite::Result<usize> {
    let mut touch = tx.prepare_cached("UPDATE files SET size = ?2, mtime = ?3 WHERE path = ?1")?;
    let touched = files
        .iter()
        .map(|TouchedFile { path, size, mtime }| touch.execute(params![path, size, mtime]));
    touched.sum()
}

/// [`Store::remove_files`] within a transaction.
pub(crate) fn remove_paths<'p>(
    tx: &WriteTx<'_>,
    paths: impl IntoIterator<Item = &'p str>,
) -> rusqlite::Result<usize> {
    paths.into_iter().map(|path| remove_path(tx, path).map(usize::from)).sum()
}

/// [`Store::remove_under`] within a transaction.
pub(crate) fn remove_under(tx: &WriteTx<'_>, prefix: &str) -> rusqlite::Result<usize> {
    let folder = prefix.trim_end_matches('/');
    // '0' is the character after '/': the range is what starts with `folder/`.
    let select = tx.prepare_cached(
        "SELECT id FROM files
         WHERE path = ?1 OR path = ?2 OR (path >= ?1 || '/' AND path < ?1 || '0') ORDER BY path",
    )?;
    remove(tx, select, [folder, prefix])
}

/// Ids of a file and of its chunks.
pub(crate) type Ids = (FileId, Vec<ChunkId>);

pub(crate) fn identify(file: &NewFile) -> Result<Ids> {
    let id = file_id(&file.path)?;
    let mut seen: HashMap<ChunkId, u32> = HashMap::new();
    let chunks = file.chunks.iter().map(|NewChunk { chunk, .. }| {
        let of =
            |occurrence| chunk_id(&id, chunk.level, &chunk.heading_path, &chunk.text, occurrence);
        let first = of(0)?;
        let occurrence = seen.entry(first.clone()).or_insert(0);
        let chunk_id = if *occurrence == 0 { first } else { of(*occurrence)? };
        *occurrence += 1;
        Ok(chunk_id)
    });
    let chunks = chunks.collect::<Result<Vec<_>>>()?;
    Ok((id, chunks))
}

/// One file on its way into the store.
struct Put<'a> {
    tx: &'a WriteTx<'a>,
    now: i64,
    space: Option<&'a str>,
    file: &'a NewFile,
    ids: Ids,
}

/// What the store holds of a chunk, besides its text.
#[derive(PartialEq, Eq)]
struct Place {
    ordinal: i64,
    bytes: (usize, usize),
    lines: (u32, u32),
    language: Language,
    embedding_hash: String,
}

impl Put<'_> {
    fn run(self) -> rusqlite::Result<Stored> {
        let (file, relabelled) = self.upsert_file()?;
        let mut before = self.chunks_before(file)?;
        let mut after = Vec::with_capacity(self.file.chunks.len());
        for (id, new) in self.ids.1.iter().zip(&self.file.chunks) {
            // An index takes a vector back with its row only.
            let loses = |(_, place): &(RowId, Place)| {
                new.embedding == NewEmbedding::Absent && place.embedding_hash != new.embedding_hash
            };
            let old = before.get(id.as_str());
            let kept = old.is_some_and(|old| !loses(old));
            after.push((id, new, if kept { before.remove(id.as_str()) } else { None }));
        }
        let mut stored = Stored { file: self.ids.0.clone(), added: 0, kept: 0, removed: 0 };
        let mut gone: Vec<_> = before.into_values().collect();
        gone.sort_unstable_by_key(|(row, _)| *row);
        for (row, place) in gone {
            stored.removed += remove_chunk(self.tx, row, place.ordinal)?;
        }
        let moved = |(_, new, old): &(_, &NewChunk, Option<(RowId, Place)>)| {
            old.as_ref().is_some_and(|(_, place)| place.ordinal != stored_ordinal(&new.chunk))
        };
        let exchange = after.iter().any(moved);
        if exchange {
            self.set_aside(file)?;
        }
        for (id, new, old) in after {
            let leaf = usize::from(new.chunk.level == ChunkLevel::Leaf);
            if let Some((row, place)) = old {
                stored.kept += leaf;
                self.keep(row, &place, new, exchange, relabelled)?;
            } else {
                stored.added += leaf;
                self.add(file, id, new)?;
            }
        }
        Ok(stored)
    }

    /// The file's row, and whether what is indexed of every chunk has changed.
    fn upsert_file(&self) -> rusqlite::Result<(i64, bool)> {
        let file = self.file;
        let mut tags = file.tags.clone();
        tags.sort();
        tags.dedup();
        let tags = to_json(&tags)?;
        let dates = to_json(&file.date.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        let metadata = file.metadata.to_json();
        let before: Option<[String; 4]> = self
            .tx
            .prepare_cached("SELECT title, tags, dates, metadata FROM files WHERE path = ?1")?
            .query_row([&file.path], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))
            .optional()?;
        let relabelled = before
            .is_some_and(|before| before.each_ref() != [&file.title, &tags, &dates, &metadata]);
        let row = self
            .tx
            .prepare_cached(
                "INSERT INTO files
                     (public_id, path, size, mtime, sha256, title, tags, dates, metadata)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT (path) DO UPDATE SET
                     size = excluded.size, mtime = excluded.mtime, sha256 = excluded.sha256,
                     title = excluded.title, tags = excluded.tags, dates = excluded.dates,
                     metadata = excluded.metadata
                 RETURNING id",
            )?
            .query_row(
                params![
                    self.ids.0.as_str(),
                    file.path,
                    file.size,
                    file.mtime,
                    file.sha256,
                    file.title,
                    tags,
                    dates,
                    metadata
                ],
                |row| row.get(0),
            )?;
        Ok((row, relabelled))
    }

    fn chunks_before(&self, file: i64) -> rusqlite::Result<BTreeMap<String, (RowId, Place)>> {
        let mut select = self.tx.prepare_cached(
            "SELECT u.public_id, c.unit_id, c.ordinal, c.byte_start, c.byte_end, c.line_start, c.line_end,
                    c.language, c.embedding_hash
             FROM payload_chunk c JOIN units u ON u.id = c.unit_id WHERE c.file_id = ?1",
        )?;
        let chunks = select.query_map([file], |row| {
            let place = Place {
                ordinal: row.get(2)?,
                bytes: (row.get(3)?, row.get(4)?),
                lines: (row.get(5)?, row.get(6)?),
                language: language(row, 7)?,
                embedding_hash: row.get(8)?,
            };
            Ok((row.get(0)?, (RowId::new(row.get(1)?), place)))
        })?;
        chunks.collect()
    }

    /// Moves every ordinal of the file out of the way, so that none is taken twice
    /// while they are exchanged one by one.
    fn set_aside(&self, file: i64) -> rusqlite::Result<()> {
        self.tx
            .prepare_cached(
                "UPDATE payload_chunk SET ordinal = ordinal + iif(ordinal < 0, -?2, ?2) WHERE file_id = ?1",
            )?
            .execute([file, ASIDE])?;
        Ok(())
    }

    fn keep(
        &self,
        row: RowId,
        old: &Place,
        new: &NewChunk,
        set_aside: bool,
        relabelled: bool,
    ) -> rusqlite::Result<()> {
        let place = Place::of(new);
        let unit = row.get().cast_signed();
        if set_aside || place != *old {
            self.tx
                .prepare_cached(
                    "UPDATE payload_chunk SET ordinal = ?2, byte_start = ?3, byte_end = ?4, line_start = ?5,
                            line_end = ?6, language = ?7, embedding_hash = ?8
                     WHERE unit_id = ?1",
                )?
                .execute(params![
                    unit,
                    place.ordinal,
                    place.bytes.0,
                    place.bytes.1,
                    place.lines.0,
                    place.lines.1,
                    place.language.code(),
                    place.embedding_hash
                ])?;
        }
        let reindex = relabelled || place.language != old.language;
        if reindex {
            self.tx
                .prepare_cached("UPDATE units SET occurred_at = ?2, updated_at = ?3 WHERE id = ?1")?
                .execute(params![unit, self.file.date.map(midnight), self.now])?;
        }
        if new.chunk.level == ChunkLevel::Leaf {
            if reindex {
                log(self.tx, Change::Text(row))?;
            }
            // Vectors are indexed with the language of their texts.
            if place.embedding_hash != old.embedding_hash || place.language != old.language {
                self.want_embedding(row, &place, new)?;
            }
            said::put(self.tx, row, &new.extraction)?;
        }
        Ok(())
    }

    fn add(&self, file: i64, id: &ChunkId, new: &NewChunk) -> rusqlite::Result<()> {
        let place = Place::of(new);
        let unit = self
            .tx
            .prepare_cached(
                "INSERT INTO units (public_id, kind, occurred_at, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?4)",
            )?
            .insert(params![id.as_str(), CHUNK, self.file.date.map(midnight), self.now])?;
        self.tx
            .prepare_cached(
                "INSERT INTO payload_chunk (unit_id, file_id, ordinal, byte_start, byte_end, line_start,
                        line_end, language, hash, embedding_hash, heading_path, text)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
            )?
            .execute(params![
                unit,
                file,
                place.ordinal,
                place.bytes.0,
                place.bytes.1,
                place.lines.0,
                place.lines.1,
                place.language.code(),
                hex(&sha256(new.chunk.text.as_bytes())),
                place.embedding_hash,
                to_json(&new.chunk.heading_path)?,
                new.chunk.text,
            ])?;
        let row = RowId::new(unit.cast_unsigned());
        if new.chunk.level == ChunkLevel::Leaf {
            log(self.tx, Change::Text(row))?;
            self.want_embedding(row, &place, new)?;
            said::put_first(self.tx, row, &new.extraction)?;
        }
        Ok(())
    }

    fn want_embedding(&self, row: RowId, place: &Place, new: &NewChunk) -> rusqlite::Result<()> {
        let (space, hash) = (self.space, &place.embedding_hash);
        if let (Some(space), NewEmbedding::Given(vector)) = (space, &new.embedding) {
            embedding::put(self.tx, hash, space, vector, None)?;
        }
        embedding::want(self.tx, self.now, space, Collection::Documents, row, hash)
    }
}

impl Place {
    fn of(new: &NewChunk) -> Self {
        let Chunk { bytes, lines, language, .. } = new.chunk;
        Self {
            ordinal: stored_ordinal(&new.chunk),
            bytes: (bytes.start, bytes.end),
            lines: (lines.start, lines.end),
            language,
            embedding_hash: new.embedding_hash.clone(),
        }
    }
}

/// Removes the file at `path` with its chunks; true if it was there.
pub(crate) fn remove_path(tx: &WriteTx<'_>, path: &str) -> rusqlite::Result<bool> {
    let select = tx.prepare_cached("SELECT id FROM files WHERE path = ?1")?;
    Ok(remove(tx, select, [path])? > 0)
}

fn remove(
    tx: &WriteTx<'_>,
    mut files: rusqlite::CachedStatement<'_>,
    paths: impl rusqlite::Params,
) -> rusqlite::Result<usize> {
    let files =
        files.query_map(paths, |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    for file in &files {
        let chunks = tx
            .prepare_cached(
                "SELECT unit_id, ordinal FROM payload_chunk WHERE file_id = ?1 ORDER BY unit_id",
            )?
            .query_map([file], |row| Ok((RowId::new(row.get(0)?), row.get(1)?)))?
            .collect::<rusqlite::Result<Vec<(RowId, i64)>>>()?;
        for (row, ordinal) in chunks {
            remove_chunk(tx, row, ordinal)?;
        }
        tx.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file])?;
    }
    Ok(files.len())
}

/// Removes a chunk with all that hangs on it; 1 for a leaf, 0 for a parent.
fn remove_chunk(tx: &WriteTx<'_>, row: RowId, ordinal: i64) -> rusqlite::Result<usize> {
    tx.prepare_cached("DELETE FROM units WHERE id = ?1")?.execute([row.get().cast_signed()])?;
    if ordinal < 0 {
        return Ok(0);
    }
    log(tx, Change::Removed(row))?;
    Ok(1)
}

/// What is known of the file at `path`.
pub(crate) fn by_path(tx: &Connection, path: &str) -> rusqlite::Result<Option<FileState>> {
    tx.prepare_cached("SELECT public_id, path, size, mtime, sha256 FROM files WHERE path = ?1")?
        .query_row([path], state)
        .optional()
}

fn state(row: &Row<'_>) -> rusqlite::Result<FileState> {
    Ok(FileState {
        id: parsed(row, 0, FileId::new)?,
        path: row.get(1)?,
        size: row.get(2)?,
        mtime: row.get(3)?,
        sha256: row.get(4)?,
    })
}

/// The start of a day, UTC, in epoch seconds.
pub(crate) fn midnight(date: Date) -> i64 {
    const EPOCH: Date = jiff::civil::date(1970, 1, 1);
    date.duration_since(EPOCH).as_secs()
}

#[cfg(test)]
mod tests {
    use trefoil_core::{ByteSpan, Seq};

    use super::*;
    use crate::fixture::{Fixture, extraction, file, leaf, parent};

    fn put(fixture: &Fixture, file: &NewFile) -> (usize, usize, usize) {
        let stored = fixture.store.put_files(std::slice::from_ref(file)).unwrap().remove(0);
        assert_eq!(stored.file, file_id(&file.path).unwrap());
        (stored.added, stored.kept, stored.removed)
    }

    #[test]
    fn a_file_is_told_back() {
        let fixture = Fixture::new();
        assert_eq!(fixture.store.file("a").unwrap(), None);
        let doc = file("a", &["one"]);
        fixture.put(&doc);
        let mut expected = FileState {
            id: file_id("a").unwrap(),
            path: "a".into(),
            size: 7,
            mtime: 70,
            sha256: doc.sha256.clone(),
        };
        assert_eq!(fixture.store.file("a").unwrap().as_ref(), Some(&expected));
        let touched = ["a", "b"].map(|path| TouchedFile { path: path.into(), size: 7, mtime: 71 });
        assert_eq!(fixture.store.touch_files(&touched).unwrap(), 1);
        expected.mtime = 71;
        assert_eq!(fixture.store.files().unwrap(), [expected]);
    }

    #[test]
    fn storing_the_same_again_changes_nothing() {
        let fixture = Fixture::new();
        let doc = file("a", &["one", "two"]);
        assert_eq!(put(&fixture, &doc), (2, 0, 0));
        let (rows, seq) = (fixture.rows("a"), fixture.store.seq().unwrap());
        assert_eq!(put(&fixture, &doc), (0, 2, 0));
        assert_eq!((fixture.rows("a"), fixture.store.seq().unwrap()), (rows, seq));
    }

    #[test]
    fn an_edit_touches_only_what_it_changed() {
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one", "two", "three"]));
        let before = fixture.store.seq().unwrap();
        assert_eq!(put(&fixture, &file("a", &["zero", "one", "three"])), (1, 2, 1));
        let after = fixture.rows("a");
        assert_eq!(after[1..], [rows[0], rows[2]]);
        assert!(!rows.contains(&after[0]), "row numbers are not reused");
        assert_eq!(fixture.changes(before), [Change::Removed(rows[1]), Change::Text(after[0])]);
        let moved = fixture.store.chunks(&[rows[0]]).unwrap().remove(0);
        assert_eq!(
            (moved.chunk.ordinal, moved.chunk.bytes),
            (1, ByteSpan { start: 100, end: 103 })
        );
    }

    #[test]
    fn chunks_that_trade_places_keep_their_rows() {
        let fixture = Fixture::new();
        let rows = fixture.put(&file("a", &["one", "two", "same", "same"]));
        let seq = fixture.store.seq().unwrap();
        assert_eq!(put(&fixture, &file("a", &["same", "two", "one", "same"])), (0, 4, 0));
        assert_eq!(fixture.rows("a"), [rows[2], rows[1], rows[0], rows[3]]);
        assert_eq!(fixture.store.seq().unwrap(), seq);
    }

    #[test]
    fn what_is_indexed_with_the_text_is_logged() {
        let check = |change: fn(&mut NewFile), logged: bool| {
            let fixture = Fixture::new();
            let mut doc = file("a", &["one"]);
            doc.title = "Title".into();
            doc.tags = vec!["b".into(), "a".into()];
            doc.date = Some(jiff::civil::date(2026, 1, 2));
            let row = fixture.put(&doc)[0];
            let before = fixture.store.seq().unwrap();
            change(&mut doc);
            assert_eq!(put(&fixture, &doc), (0, 1, 0));
            let expected = if logged { vec![Change::Text(row)] } else { vec![] };
            assert_eq!(fixture.changes(before), expected, "{doc:?}");
        };
        check(|doc| doc.title = "Another".into(), true);
        check(|doc| doc.tags = vec!["a".into()], true);
        check(|doc| doc.date = None, true);
        check(|doc| doc.chunks[0].chunk.language = Language::Ko, true);
        check(|doc| doc.tags = vec!["a".into(), "b".into(), "a".into()], false);
        check(|doc| doc.chunks[0].chunk.bytes.start += 10, false);
        check(|doc| doc.mtime += 1, false);
    }

    #[test]
    fn a_vector_follows_the_language_of_its_text() {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let mut doc = file("a", &["one"]);
        let row = fixture.put(&doc)[0];
        assert_eq!(fixture.embed_all(), 1);
        let before = fixture.store.seq().unwrap();
        doc.chunks[0].chunk.language = Language::Ko;
        assert_eq!(put(&fixture, &doc), (0, 1, 0));
        assert_eq!(fixture.changes(before), [Change::Text(row), Change::Vector(row)]);
    }

    #[test]
    fn parents_are_stored_silently() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two"]);
        doc.chunks.push(parent(0, "one two", 0, 200));
        assert_eq!(put(&fixture, &doc), (2, 0, 0));
        assert_eq!(fixture.changes(Seq::ZERO).len(), 2);
        assert_eq!(fixture.store.pending_jobs().unwrap().queued, 2);
        let before = fixture.store.seq().unwrap();
        doc.chunks.pop();
        assert_eq!(put(&fixture, &doc), (0, 2, 0));
        assert_eq!(fixture.store.stats().unwrap().parents, 0);
        assert_eq!(fixture.store.seq().unwrap(), before);
    }

    #[test]
    fn removal_takes_everything_with_it() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two"]);
        doc.chunks.push(parent(0, "one two", 0, 200));
        doc.chunks[0].extraction = extraction(&["Ada", "Babbage"]);
        let rows = fixture.put(&doc);
        assert!(fixture.store.remove_file("a").unwrap());
        assert!(!fixture.store.remove_file("a").unwrap());
        for table in
            ["units", "payload_chunk", "files", "unit_entities", "unit_edges", "entities", "edges"]
        {
            let count = fixture.store.read("count", |tx| {
                tx.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| {
                    row.get::<_, i64>(0)
                })
            });
            assert_eq!(count.unwrap(), 0, "{table}");
        }
        assert_eq!(
            fixture.changes(Seq::ZERO),
            [Change::Removed(rows[0]), Change::Removed(rows[1])]
        );
        assert!(fixture.put(&doc).iter().all(|row| !rows.contains(row)));
    }

    #[test]
    fn removal_under_a_folder_stops_at_its_edge() {
        let check = |prefix: &str, left: &[&str]| {
            let fixture = Fixture::new();
            for path in ["a", "a/b", "a/b/c", "a-b", "a0", "A/b", "/r/x", "日本/東京", "日本語"]
            {
                fixture.put(&file(path, &["text"]));
            }
            let removed = fixture.store.remove_under(prefix).unwrap();
            let paths: Vec<String> =
                fixture.store.files().unwrap().into_iter().map(|file| file.path).collect();
            assert_eq!(paths, left);
            assert_eq!(removed, 9 - left.len());
        };
        check("a", &["/r/x", "A/b", "a-b", "a0", "日本/東京", "日本語"]);
        check("a/", &["/r/x", "A/b", "a-b", "a0", "日本/東京", "日本語"]);
        check("a/b", &["/r/x", "A/b", "a", "a-b", "a0", "日本/東京", "日本語"]);
        check("日本", &["/r/x", "A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本語"]);
        check("/", &["A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本/東京", "日本語"]);
        check("%", &["/r/x", "A/b", "a", "a-b", "a/b", "a/b/c", "a0", "日本/東京", "日本語"]);
    }

    #[test]
    fn the_same_path_twice_in_one_call_leaves_the_last() {
        let fixture = Fixture::new();
        fixture.store.put_files(&[file("a", &["one"]), file("a", &["two"])]).unwrap();
        let rows = fixture.rows("a");
        assert_eq!(fixture.store.chunks(&rows).unwrap()[0].chunk.text, "two");
        assert_eq!(fixture.store.files().unwrap().len(), 1);
        fixture.store.put_files(&[]).unwrap();
    }

    #[test]
    fn odd_texts_are_kept_as_they_are() {
        let fixture = Fixture::new();
        let texts = ["", "nul \0 inside", "e\u{301}\u{200d}👩‍👩‍👧", "'; DROP TABLE units; --"];
        let mut doc = file("päth '\" \\ 日本", &texts);
        doc.chunks[0].chunk.heading_path = vec!["\"".into(), String::new(), "見出し".into()];
        let rows = fixture.put(&doc);
        let chunks = fixture.store.chunks(&rows).unwrap();
        assert!(
            chunks.iter().map(|chunk| &chunk.chunk).eq(doc.chunks.iter().map(|new| &new.chunk))
        );
        assert_eq!(chunks[0].file.path, doc.path);
    }

    #[test]
    fn many_files_at_once() {
        let fixture = Fixture::new();
        let files: Vec<NewFile> = (0..64)
            .map(|n| {
                let mut doc = file(&format!("{n}"), &[]);
                doc.chunks =
                    (0..20).map(|ordinal| leaf(ordinal, &format!("{n} {ordinal}"))).collect();
                doc
            })
            .collect();
        assert_eq!(
            fixture
                .store
                .put_files(&files)
                .unwrap()
                .iter()
                .map(|stored| stored.added)
                .sum::<usize>(),
            1280
        );
    }

    #[test]
    fn midnight_is_in_epoch_seconds() {
        use jiff::civil::date;
        assert_eq!(midnight(date(1970, 1, 1)), 0);
        assert_eq!(midnight(date(1969, 12, 31)), -86_400);
        assert_eq!(midnight(date(2026, 1, 1)), 1_767_225_600);
        assert!(midnight(Date::MIN) < midnight(Date::MAX));
    }
}
