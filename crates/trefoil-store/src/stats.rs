use trefoil_core::{Language, Result, Seq};

use crate::{JobCounts, Store, change, file::language, job};

/// What the store holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreStats {
    /// Files and documents.
    pub files: usize,
    /// Leaves.
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
    /// Leaves in each language that there is, by language.
    pub languages: Vec<(Language, usize)>,
}

impl Store {
    /// Counts what the store holds, in time proportional to it.
    pub fn stats(&self) -> Result<StoreStats> {
        self.read("count rows", |tx| {
            let count = |sql: &str| tx.prepare_cached(sql)?.query_row([], |row| row.get(0));
            let mut languages = tx
                .prepare_cached(
                    "SELECT language, count(*) FROM payload_chunk WHERE ordinal >= 0 GROUP BY language",
                )?
                .query_map([], |row| Ok((language(row, 0)?, row.get(1)?)))?
                .collect::<rusqlite::Result<Vec<(Language, usize)>>>()?;
            languages.sort_unstable();
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
