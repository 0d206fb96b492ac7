use std::{collections::HashMap, sync::Arc};

use jiff::civil::Date;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Row};
use trefoil_core::{
    Allowed, ByteSpan, Chunk, ChunkId, ChunkLevel, FileId, FileInfo, LineSpan, Result, RowId,
    StoredChunk,
};

use crate::{
    Store,
    codec::{language, limit_of, metadata, parsed, row_ids, texts},
    fault::unreadable,
};

/// The leaves before and after one of the same file.
type Neighbours = (Option<Arc<StoredChunk>>, Option<Arc<StoredChunk>>);

impl Store {
    /// The chunks of `rows`, in their order; unknown rows are left out. Chunks of
    /// one file share its [`FileInfo`].
    pub fn chunks(&self, rows: &[RowId]) -> Result<Vec<Arc<StoredChunk>>> {
        self.read("read chunks", |tx| {
            let mut reader = Reader::new(tx)?;
            let chunks = rows.iter().filter_map(|&row| reader.chunk(row).transpose());
            chunks.collect()
        })
    }

    /// At most `limit` rows of leaves above `after`, ascending.
    pub fn leaf_rows(&self, after: RowId, limit: usize) -> Result<Vec<RowId>> {
        self.read("list chunks", |tx| {
            let sql = "SELECT unit_id FROM payload_chunk
                       WHERE unit_id > ?1 AND ordinal >= 0 ORDER BY unit_id LIMIT ?2";
            row_ids(tx, sql, [after.get().cast_signed(), limit_of(limit)])
        })
    }

    /// The public ids of `rows`, in their order, without their texts; unknown rows are left out.
    pub fn chunk_ids(&self, rows: &[RowId]) -> Result<Vec<(RowId, ChunkId)>> {
        self.read("read the ids of chunks", |tx| {
            let mut select = tx.prepare_cached("SELECT public_id FROM units WHERE id = ?1")?;
            let mut found = Vec::with_capacity(rows.len());
            for &row in rows {
                let id = select
                    .query_row([row.get().cast_signed()], |columns| {
                        parsed(columns, 0, ChunkId::new)
                    })
                    .optional()?;
                found.extend(id.map(|id| (row, id)));
            }
            Ok(found)
        })
    }

    /// The chunk with this public id.
    pub fn chunk_by_id(&self, id: &ChunkId) -> Result<Option<Arc<StoredChunk>>> {
        self.read("look up a chunk", |tx| {
            let row: Option<u64> = tx
                .prepare_cached("SELECT id FROM units WHERE public_id = ?1")?
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            row.map_or(Ok(None), |row| Reader::new(tx)?.chunk(RowId::new(row)))
        })
    }

    /// The leaves of the file at `path`, in order.
    pub fn chunks_of(&self, path: &str) -> Result<Vec<Arc<StoredChunk>>> {
        self.read("read the chunks of a file", |tx| {
            let sql = "SELECT c.unit_id FROM payload_chunk c JOIN files f ON f.id = c.file_id
                       WHERE f.path = ?1 AND c.ordinal >= 0 ORDER BY c.ordinal";
            let rows = row_ids(tx, sql, [path])?;
            let mut reader = Reader::new(tx)?;
            rows.into_iter().filter_map(|row| reader.chunk(row).transpose()).collect()
        })
    }

    /// What is known of the file at `path`.
    pub fn file_info(&self, path: &str) -> Result<Option<FileInfo>> {
        self.read("look up a document", |tx| {
            tx.prepare_cached(&format!("{SELECT_FILES} WHERE path = ?1"))?
                .query_row([path], file_info)
                .optional()
        })
    }

    /// What is known of the file with this id.
    pub fn file_info_by_id(&self, id: &FileId) -> Result<Option<FileInfo>> {
        self.read("look up a document", |tx| {
            tx.prepare_cached(&format!("{SELECT_FILES} WHERE public_id = ?1"))?
                .query_row([id.as_str()], file_info)
                .optional()
        })
    }

    /// The first `limit` files of those whose path is behind `after`, by path; of which a leaf
    /// is allowed, unless all are.
    pub fn file_infos(
        &self,
        allowed: &Allowed,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<FileInfo>> {
        self.read("list documents", |tx| {
            let sql = format!("{SELECT_FILES} WHERE path > ?1 ORDER BY path");
            let mut select = tx.prepare_cached(&sql)?;
            let mut leaves = tx.prepare_cached(
                "SELECT c.unit_id FROM payload_chunk c JOIN files f ON f.id = c.file_id
                 WHERE f.path = ?1 AND c.ordinal >= 0",
            )?;
            let mut files = select.query([after.unwrap_or_default()])?;
            let mut found = Vec::new();
            if matches!(allowed, Allowed::Only(rows) if rows.iter().next().is_none()) {
                return Ok(found);
            }
            while found.len() < limit
                && let Some(file) = files.next()?
            {
                let is_allowed = match allowed {
                    Allowed::All => true,
                    Allowed::Only(rows) => {
                        let mut leaves = leaves.query([file.get_ref(1)?.as_str()?])?;
                        loop {
                            let Some(leaf) = leaves.next()? else { break false };
                            if rows.contains(RowId::new(leaf.get(0)?)) {
                                break true;
                            }
                        }
                    }
                };
                if is_allowed {
                    found.push(file_info(file)?);
                }
            }
            Ok(found)
        })
    }

    /// The leaves before and after `row` in its file.
    pub fn neighbours(&self, row: RowId) -> Result<Neighbours> {
        Ok(self.neighbours_of(&[row])?.pop().unwrap_or_default())
    }

    /// The leaves before and after each of `rows`, in their order; a parent and an
    /// unknown row have none.
    pub fn neighbours_of(&self, rows: &[RowId]) -> Result<Vec<Neighbours>> {
        self.read("read neighbouring chunks", |tx| {
            let mut reader = Reader::new(tx)?;
            let mut before = tx.prepare_cached(
                "SELECT n.unit_id FROM payload_chunk c
                 JOIN payload_chunk n ON n.file_id = c.file_id AND n.ordinal < c.ordinal AND n.ordinal >= 0
                 WHERE c.unit_id = ?1 AND c.ordinal >= 0 ORDER BY n.ordinal DESC LIMIT 1",
            )?;
            let mut after = tx.prepare_cached(
                "SELECT n.unit_id FROM payload_chunk c
                 JOIN payload_chunk n ON n.file_id = c.file_id AND n.ordinal > c.ordinal
                 WHERE c.unit_id = ?1 AND c.ordinal >= 0 ORDER BY n.ordinal LIMIT 1",
            )?;
            let neighbours = rows.iter().map(|row| {
                Ok((reader.related(&mut before, *row)?, reader.related(&mut after, *row)?))
            });
            neighbours.collect()
        })
    }

    /// The smallest parent that spans the leaf `row`.
    pub fn parent(&self, row: RowId) -> Result<Option<Arc<StoredChunk>>> {
        Ok(self.parents_of(&[row])?.pop().flatten())
    }

    /// The smallest parent that spans each of the leaves `rows`, in their order.
    pub fn parents_of(&self, rows: &[RowId]) -> Result<Vec<Option<Arc<StoredChunk>>>> {
        self.read("read parent chunks", |tx| {
            let mut reader = Reader::new(tx)?;
            let mut parent = tx.prepare_cached(
                "SELECT p.unit_id FROM payload_chunk c
                 JOIN payload_chunk p ON p.file_id = c.file_id AND p.ordinal < 0
                      AND p.byte_start <= c.byte_start AND p.byte_end >= c.byte_end
                 WHERE c.unit_id = ?1 AND c.ordinal >= 0
                 ORDER BY p.byte_end - p.byte_start, p.ordinal DESC LIMIT 1",
            )?;
            rows.iter().map(|row| reader.related(&mut parent, *row)).collect()
        })
    }
}

/// The ordinal as the column holds it: leaves count up from 0, parents down from −1.
pub(crate) fn stored_ordinal(chunk: &Chunk) -> i64 {
    match chunk.level {
        ChunkLevel::Leaf => i64::from(chunk.ordinal),
        ChunkLevel::Parent => -1 - i64::from(chunk.ordinal),
    }
}

/// The columns that [`file_info`] reads.
const SELECT_FILES: &str = "SELECT public_id, path, title, tags, dates, metadata FROM files";

/// Reads chunks, and each file once.
pub(crate) struct Reader<'c> {
    select_chunk: CachedStatement<'c>,
    select_file: CachedStatement<'c>,
    files: HashMap<i64, Arc<FileInfo>>,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(tx: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            select_chunk: tx.prepare_cached(
                "SELECT u.public_id, c.file_id, c.ordinal, c.byte_start, c.byte_end, c.line_start,
                        c.line_end, c.language, c.heading_path, c.text
                 FROM payload_chunk c JOIN units u ON u.id = c.unit_id WHERE c.unit_id = ?1",
            )?,
            select_file: tx.prepare_cached(&format!("{SELECT_FILES} WHERE id = ?1"))?,
            files: HashMap::new(),
        })
    }

    pub(crate) fn chunk(&mut self, row: RowId) -> rusqlite::Result<Option<Arc<StoredChunk>>> {
        let found = self
            .select_chunk
            .query_row([row.get().cast_signed()], |columns| {
                let id = parsed(columns, 0, ChunkId::new)?;
                Ok((id, columns.get(1)?, chunk(columns)?))
            })
            .optional()?;
        let Some((id, file, chunk)) = found else { return Ok(None) };
        Ok(Some(Arc::new(StoredChunk { row, id, file: self.file(file)?, chunk })))
    }

    /// The chunk whose row `select` tells for `row`.
    fn related(
        &mut self,
        select: &mut CachedStatement<'_>,
        row: RowId,
    ) -> rusqlite::Result<Option<Arc<StoredChunk>>> {
        let related: Option<u64> =
            select.query_row([row.get().cast_signed()], |columns| columns.get(0)).optional()?;
        related.map_or(Ok(None), |related| self.chunk(RowId::new(related)))
    }

    /// What is known of the file with this row number.
    pub(crate) fn file(&mut self, id: i64) -> rusqlite::Result<Arc<FileInfo>> {
        if let Some(file) = self.files.get(&id) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.select_file.query_row([id], file_info)?);
        self.files.insert(id, Arc::clone(&file));
        Ok(file)
    }
}

fn chunk(columns: &Row<'_>) -> rusqlite::Result<Chunk> {
    let (level, ordinal) = level_and_ordinal(columns.get(2)?);
    Ok(Chunk {
        level,
        ordinal: u32::try_from(ordinal).map_err(|error| unreadable(2, error))?,
        heading_path: texts(columns, 8)?,
        text: columns.get(9)?,
        bytes: ByteSpan { start: columns.get(3)?, end: columns.get(4)? },
        lines: LineSpan { start: columns.get(5)?, end: columns.get(6)? },
        language: language(columns, 7)?,
    })
}

fn file_info(columns: &Row<'_>) -> rusqlite::Result<FileInfo> {
    let date = texts(columns, 4)?.first().map(|date| date.parse::<Date>()).transpose();
    Ok(FileInfo {
        id: parsed(columns, 0, FileId::new)?,
        path: columns.get(1)?,
        title: columns.get(2)?,
        tags: texts(columns, 3)?,
        date: date.map_err(|error| unreadable(4, error))?,
        metadata: metadata(columns, 5)?,
    })
}

fn level_and_ordinal(stored: i64) -> (ChunkLevel, i64) {
    if stored < 0 { (ChunkLevel::Parent, -1 - stored) } else { (ChunkLevel::Leaf, stored) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, file, parent};

    #[test]
    fn chunks_come_in_the_order_asked_and_share_their_file() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two"]);
        doc.title = "Title".into();
        doc.tags = vec!["b".into(), "a".into(), "b".into()];
        doc.date = Some(jiff::civil::date(2026, 1, 2));
        let a = fixture.put(&doc);
        let b = fixture.put(&file("b", &["three"]));
        let chunks = fixture
            .store
            .chunks(&[a[1], RowId::new(999), b[0], a[0], a[1], RowId::new(u64::MAX)])
            .unwrap();
        let texts: Vec<&str> = chunks.iter().map(|chunk| chunk.chunk.text.as_str()).collect();
        assert_eq!(texts, ["two", "three", "one", "two"]);
        assert!(Arc::ptr_eq(&chunks[0].file, &chunks[2].file));
        let info = &chunks[0].file;
        assert_eq!((info.title.as_str(), info.date), ("Title", doc.date));
        assert_eq!(info.tags, ["a", "b"]);
        assert_eq!(fixture.store.chunks(&[]).unwrap(), []);
    }

    #[test]
    fn a_chunk_is_found_by_its_public_id() {
        let fixture = Fixture::new();
        let row = fixture.put(&file("a", &["one"]))[0];
        let id = crate::chunk_id(&crate::file_id("a").unwrap(), ChunkLevel::Leaf, &[], "one", 0)
            .unwrap();
        assert_eq!(fixture.store.chunk_by_id(&id).unwrap().unwrap().row, row);
        assert_eq!(fixture.store.chunk_by_id(&ChunkId::new("chk_none").unwrap()).unwrap(), None);
    }

    #[test]
    fn neighbours_are_leaves_of_the_same_file() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two", "three"]);
        doc.chunks.push(parent(0, "all", 0, 300));
        let rows = fixture.put(&doc);
        fixture.put(&file("b", &["four"]));
        let row = |chunk: &Option<Arc<StoredChunk>>| chunk.as_ref().map(|chunk| chunk.row);
        let of = |asked| {
            let (before, after) = fixture.store.neighbours(asked).unwrap();
            (row(&before), row(&after))
        };
        assert_eq!(of(rows[0]), (None, Some(rows[1])));
        assert_eq!(of(rows[1]), (Some(rows[0]), Some(rows[2])));
        assert_eq!(of(rows[2]), (Some(rows[1]), None));
        let parent = fixture.store.parent(rows[0]).unwrap().unwrap();
        assert_eq!(of(parent.row), (None, None));
        assert_eq!(of(RowId::new(999)), (None, None));
        assert_eq!(fixture.store.neighbours_of(&[rows[1], RowId::new(999)]).unwrap().len(), 2);
    }

    #[test]
    fn the_parent_is_the_smallest_span_around_the_leaf() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two", "three"]);
        doc.chunks.push(parent(0, "all", 0, 300));
        doc.chunks.push(parent(1, "one two", 0, 200));
        let rows = fixture.put(&doc);
        let parents = fixture.store.parents_of(&rows).unwrap();
        let found: Vec<_> = parents
            .iter()
            .flatten()
            .map(|parent| (parent.chunk.text.as_str(), parent.chunk.ordinal))
            .collect();
        assert_eq!(found, [("one two", 1), ("one two", 1), ("all", 0)]);
        let parent = parents[0].as_ref().unwrap();
        assert_eq!(parent.chunk.level, ChunkLevel::Parent);
        assert_eq!(fixture.store.parent(parent.row).unwrap(), None);
        let alone = fixture.put(&file("b", &["x"]))[0];
        assert_eq!(fixture.store.parent(alone).unwrap(), None);
    }
}
