use serde::Serialize;
use trefoil_core::{Language, Result, Seq, as_map};

use crate::{
    JobCounts, Store, change,
    counter::{self, Counted},
    job,
};

/// What the store holds.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreStats {
    /// Files and documents.
    pub files: usize,
    /// Leaf chunks.
    pub chunks: usize,
    /// Parents.
    pub parents: usize,
    /// Length of the file in bytes, without the write-ahead log.
    #[serde(rename = "storeBytes")]
    pub bytes: u64,
    /// Cached embeddings, of every vector space.
    pub cached_embeddings: usize,
    /// The last change.
    #[serde(rename = "change")]
    pub seq: Seq,
    /// Background work.
    pub jobs: JobCounts,
    /// Leaf chunks in each language that there is, by language.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, u64>"))]
    pub languages: Vec<(Language, usize)>,
}

impl Store {
    /// Leaf chunks in each language that there is, by language.
    pub fn languages(&self) -> Result<Vec<(Language, usize)>> {
        self.read("count languages", counter::languages)
    }

    /// What the store holds, in time that does not depend on how much that is.
    pub fn stats(&self) -> Result<StoreStats> {
        self.read("count rows", |tx| {
            let count = |counted| counter::count(tx, counted);
            Ok(StoreStats {
                files: count(Counted::Files)?,
                chunks: count(Counted::Leaves)?,
                parents: count(Counted::Parents)?,
                bytes: tx.query_row(
                    "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
                    [],
                    |row| row.get(0),
                )?,
                cached_embeddings: count(Counted::Embeddings)?,
                seq: change::last(tx)?,
                jobs: job::all(tx)?,
                languages: counter::languages(tx)?,
            })
        })
    }
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
