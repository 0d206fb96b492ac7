//! A stored file as it was given to the store, and a digest by which two of them are compared.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, Row};
use trefoil_core::RowId;

use super::{NewChunk, NewEmbedding, NewFile};
use crate::{
    chunk::Reader,
    codec::{metadata, texts},
    embedding::{decode, space},
    fault::unreadable,
    graph::said,
    id::{hex, sha256},
};

/// The row number of each file and a digest of it with its chunks, by path.
pub(crate) type Digests = BTreeMap<String, (i64, String)>;

/// The digests of all files.
pub(crate) fn digests(tx: &Connection) -> rusqlite::Result<Digests> {
    let mut select = tx.prepare_cached(&format!("{SELECT_LABELS} ORDER BY path"))?;
    let mut files = select.query([])?;
    let mut found = BTreeMap::new();
    while let Some(file) = files.next()? {
        let (row, digest) = digest(tx, file)?;
        found.insert(file.get(1)?, (row, digest));
    }
    Ok(found)
}

/// The same of one file; none if there is no such file.
pub(crate) fn digest_at(tx: &Connection, path: &str) -> rusqlite::Result<Option<String>> {
    let mut select = tx.prepare_cached(&format!("{SELECT_LABELS} WHERE path = ?1"))?;
    select.query_row([path], |file| Ok(digest(tx, file)?.1)).optional()
}

/// What a digest is made of, besides chunks: not when the file was modified, which tells nothing of
/// what is in it.
const SELECT_LABELS: &str =
    "SELECT id, path, title, tags, dates, metadata, sha256, size FROM files";

fn digest(tx: &Connection, file: &Row<'_>) -> rusqlite::Result<(i64, String)> {
    let row: i64 = file.get(0)?;
    let mut parts: Vec<String> = (2..7).map(|at| file.get(at)).collect::<rusqlite::Result<_>>()?;
    parts.push(file.get::<_, u64>(7)?.to_string());
    let mut select = tx.prepare_cached(
        // The id of a chunk is a hash of its headings and its text.
        "SELECT u.public_id, c.language, c.embedding_hash, c.ordinal, c.byte_start, c.byte_end,
                c.line_start, c.line_end
         FROM payload_chunk c JOIN units u ON u.id = c.unit_id WHERE c.file_id = ?1
         ORDER BY c.ordinal",
    )?;
    let mut chunks = select.query([row])?;
    while let Some(chunk) = chunks.next()? {
        for at in 0..3 {
            parts.push(chunk.get(at)?);
        }
        for at in 3..8 {
            parts.push(chunk.get::<_, i64>(at)?.to_string());
        }
    }
    // Texts are always JSON, which tells where each ends.
    let parts = serde_json::to_vec(&parts).unwrap_or_default();
    Ok((row, hex(&sha256(&parts))))
}

/// The file at `path` with its chunks, and with those of its vectors that are there as if its
/// caller had given them; none if there is no such file.
pub(crate) fn whole_file(tx: &Connection, path: &str) -> rusqlite::Result<Option<NewFile>> {
    let mut select = tx.prepare_cached(
        "SELECT id, title, tags, dates, metadata, size, mtime, sha256 FROM files WHERE path = ?1",
    )?;
    let found = select.query_row([path], |row| {
        let date = texts(row, 3)?.first().map(|date| date.parse()).transpose();
        let file = NewFile {
            path: path.to_owned(),
            title: row.get(1)?,
            tags: texts(row, 2)?,
            date: date.map_err(|error: jiff::Error| unreadable(3, error))?,
            metadata: metadata(row, 4)?,
            size: row.get(5)?,
            mtime: row.get(6)?,
            sha256: row.get(7)?,
            chunks: Vec::new(),
        };
        Ok((row.get::<_, i64>(0)?, file))
    });
    let Some((row, mut file)) = found.optional()? else { return Ok(None) };
    let space = space(tx)?.unwrap_or_default();
    let (mut reader, mut mentions) = (Reader::new(tx)?, said::Reader::new(tx)?);
    let mut select = tx.prepare_cached(
        "SELECT c.unit_id, c.embedding_hash, e.vector FROM payload_chunk c
         LEFT JOIN embedding_cache e ON e.text_hash = c.embedding_hash AND e.fingerprint = ?2
         WHERE c.file_id = ?1 ORDER BY c.ordinal",
    )?;
    let mut chunks = select.query((row, space))?;
    while let Some(found) = chunks.next()? {
        let row = RowId::new(found.get(0)?);
        let Some(chunk) = reader.chunk(row)? else { continue };
        let vector = found.get_ref(2)?.as_blob_or_null()?.map(decode).transpose()?;
        file.chunks.push(NewChunk {
            chunk: chunk.chunk.clone(),
            embedding_hash: found.get(1)?,
            embedding: vector.map_or(NewEmbedding::Model, NewEmbedding::Given),
            extraction: mentions.extraction(row)?.unwrap_or_default(),
        });
    }
    Ok(Some(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        chunk::stored_ordinal,
        fixture::{Fixture, extraction, file, parent},
    };

    #[test]
    fn a_file_comes_back_as_it_was_given_and_has_the_same_digest_everywhere() {
        let fixture = Fixture::new();
        let mut given = file("a", &["one", "two"]);
        given.title = "Clover".into();
        given.tags = vec!["green".into(), "plant".into()];
        given.date = Some(jiff::civil::date(2026, 1, 2));
        given.chunks[0].extraction = extraction(&["Ada", "Babbage"]);
        fixture.store.set_fingerprint("model").unwrap();
        given.chunks[1].embedding = NewEmbedding::Given(vec![0.25, f32::MIN_POSITIVE]);
        given.chunks.push(parent(0, "one two", 0, 200));
        fixture.put(&file("b", &["other rows before"]));
        fixture.put(&given);
        let whole = |fixture: &Fixture| fixture.store.read("read", |tx| whole_file(tx, "a"));
        let mut back = whole(&fixture).unwrap().unwrap();
        let by_place = |file: &mut NewFile| {
            file.chunks.sort_by_key(|new| stored_ordinal(&new.chunk));
        };
        by_place(&mut back);
        by_place(&mut given);
        assert_eq!(back, given);
        let digest = |fixture: &Fixture| fixture.store.file_digest("a").unwrap();
        let other = Fixture::new();
        other.put(&given);
        assert_eq!(digest(&fixture), digest(&other));
        let all = other.store.read("read", digests).unwrap();
        assert_eq!(all.get("a").map(|(_, digest)| digest.clone()), digest(&other));
        assert_eq!(other.store.file_digest("b").unwrap(), None);
    }

    #[test]
    fn a_digest_changes_with_whatever_is_in_a_file() {
        let check = |change: fn(&mut NewFile), is_other: bool| {
            let fixture = Fixture::new();
            let mut doc = file("a", &["one", "two"]);
            fixture.put(&doc);
            let before = fixture.store.file_digest("a").unwrap();
            change(&mut doc);
            fixture.put(&doc);
            assert_eq!(fixture.store.file_digest("a").unwrap() != before, is_other, "{doc:?}");
        };
        check(|doc| doc.title = "T".into(), true);
        check(|doc| doc.tags = vec!["t".into()], true);
        check(|doc| doc.date = Some(jiff::civil::date(2026, 1, 2)), true);
        check(|doc| doc.chunks[1].chunk.text = "three".into(), true);
        check(|doc| doc.chunks[1].chunk.lines.start += 1, true);
        check(|doc| drop(doc.chunks.pop()), true);
        check(|doc| doc.sha256 = "1f".repeat(32), true);
        check(|doc| doc.mtime += 1, false);
    }
}
