use rusqlite::Connection;
use trefoil_core::{Language, Result, Seq};

use crate::{JobCounts, Store, change, codec::language, job};

/// What the store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Files and documents.
    pub files: usize,
    /// Leaf chunks.
    pub chunks: usize,
    /// Parents.
    pub parents: usize,
    /// Length of the file in bytes, without the write-ahead log.
    pub bytes: u64,
    /// Cached embeddings, of every vector space.
    pub cached_embeddings: usize,
    /// The last change.
    pub seq: Seq,
    /// Background work.
    pub jobs: JobCounts,
    /// Leaf chunks in each language that there is, by language.
    pub languages: Vec<(Language, usize)>,
}

impl Store {
    /// Leaf chunks in each language that there is, by language: a scan of one index.
    pub fn languages(&self) -> Result<Vec<(Language, usize)>> {
        self.read("count languages", languages)
    }

    /// Counts what the store holds, in time proportional to it.
    pub fn stats(&self) -> Result<StoreStats> {
        self.read("count rows", |tx| {
            let count = |sql: &str| tx.prepare_cached(sql)?.query_row([], |row| row.get(0));
            let languages = languages(tx)?;
            Ok(StoreStats {
                files: count("SELECT count(*) FROM files")?,
                chunks: languages.iter().map(|(_, chunks)| chunks).sum(),
                parents: count("SELECT count(*) FROM payload_chunk WHERE ordinal < 0")?,
                bytes: tx.query_row(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                    [],
                    |row| row.get(0),
                )?,
                cached_embeddings: count("SELECT count(*) FROM embedding_cache")?,
                seq: change::last(tx)?,
                jobs: job::counts(tx)?,
                languages,
            })
        })
    }
}

fn languages(tx: &Connection) -> rusqlite::Result<Vec<(Language, usize)>> {
    let mut languages = tx
        .prepare_cached(
            "SELECT language, count(*) FROM payload_chunk WHERE ordinal >= 0 GROUP BY language",
        )?
        .query_map([], |row| Ok((language(row, 0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<Vec<(Language, usize)>>>()?;
    languages.sort_unstable();
    Ok(languages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, file, parent};

    #[test]
    fn everything_is_counted() {
        let fixture = Fixture::new();
        let empty = fixture.store.stats().unwrap();
        assert_eq!(empty, StoreStats { bytes: empty.bytes, ..StoreStats::default() });
        fixture.store.set_fingerprint("model").unwrap();
        let mut doc = file("a", &["one", "two", "three"]);
        doc.chunks[1].chunk.language = Language::Ko;
        doc.chunks.push(parent(0, "all", 0, 300));
        fixture.put(&doc);
        fixture.store.claim_embed_jobs(1, 60).unwrap();
        fixture.embed_all();
        assert_eq!(
            fixture.store.stats().unwrap(),
            StoreStats {
                files: 1,
                chunks: 3,
                parents: 1,
                bytes: empty.bytes,
                cached_embeddings: 2,
                seq: fixture.store.seq().unwrap(),
                jobs: JobCounts { queued: 0, running: 1, failed: 0 },
                languages: vec![(Language::En, 2), (Language::Ko, 1)],
            }
        );
        assert!(empty.bytes > 4096);
    }
}
