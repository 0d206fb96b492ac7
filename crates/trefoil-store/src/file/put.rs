//! One file on its way into the store.

use std::collections::{BTreeMap, HashMap};

use rusqlite::{OptionalExtension, params};
use trefoil_core::{
    Change, Chunk, ChunkId, ChunkLevel, Collection, FileId, Language, Result, RowId,
};

use super::{NewChunk, NewEmbedding, NewFile, Stored, midnight, remove::remove_chunk};
use crate::{
    WriteTx,
    change::log,
    chunk::stored_ordinal,
    codec::{language, to_json},
    embedding,
    graph::said,
    id::{chunk_id, file_id, hex, sha256},
};

/// `units.kind` of a chunk.
const CHUNK: i64 = 8;

/// Added to ordinals while they are exchanged: beyond any that a chunker gives.
const ASIDE: i64 = 1 << 40;

/// Ids of a file and of its chunks.
pub(crate) type Ids = (FileId, Vec<ChunkId>);

/// Finds the ids: a text that a file has several times has one for each.
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

/// One file, its ids and what they are stored with.
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
