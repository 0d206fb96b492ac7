//! A store in a temporary folder, and short ways to say what goes into it.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use tempfile::TempDir;
use trefoil_core::{
    ByteSpan, Change, Chunk, ChunkLevel, EntityType, Extraction, Language, LineSpan, Mention,
    MentionKind, Metadata, Relation, RelationType, RowId, Score, Seq,
};

use crate::{
    Access, Clock, NewChunk, NewEmbedding, NewFile, Store,
    id::{hex, sha256},
    store::file_in,
};

/// A clock that stands still until it is told otherwise.
#[derive(Debug, Default)]
pub(crate) struct ManualClock(AtomicI64);

impl ManualClock {
    pub(crate) fn advance(&self, seconds: i64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

pub(crate) struct Fixture {
    pub(crate) store: Store,
    pub(crate) clock: Arc<ManualClock>,
    folder: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock(AtomicI64::new(1_000_000)));
        let store = Store::open(folder.path(), Access::ReadWrite, Arc::clone(&clock) as _).unwrap();
        Self { store, clock, folder }
    }

    /// The directory of the index.
    pub(crate) fn dir(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self) -> PathBuf {
        file_in(self.dir())
    }

    /// Another store on the same file, as another process would open it.
    pub(crate) fn open(&self, access: Access) -> Store {
        Store::open(self.dir(), access, Arc::clone(&self.clock) as _).unwrap()
    }

    /// Closes and opens again.
    pub(crate) fn reopen(self) -> Self {
        let Self { store, clock, folder } = self;
        drop(store);
        Self {
            store: Store::open(folder.path(), Access::ReadWrite, Arc::clone(&clock) as _).unwrap(),
            clock,
            folder,
        }
    }

    /// Stores one file and tells the rows of its leaves, by ordinal.
    pub(crate) fn put(&self, file: &NewFile) -> Vec<RowId> {
        self.store.put_files(std::slice::from_ref(file)).unwrap();
        self.rows(&file.path)
    }

    /// Rows of the leaves of a file, by ordinal.
    pub(crate) fn rows(&self, path: &str) -> Vec<RowId> {
        self.store
            .read("list rows", |tx| {
                tx.prepare(
                    "SELECT unit_id FROM payload_chunk c JOIN files f ON f.id = file_id
                     WHERE path = ?1 AND ordinal >= 0 ORDER BY ordinal",
                )?
                .query_map([path], |row| row.get(0).map(RowId::new))?
                .collect()
            })
            .unwrap()
    }

    /// The changes after `seq`.
    pub(crate) fn changes(&self, after: Seq) -> Vec<Change> {
        self.store
            .changes(after, usize::MAX)
            .unwrap()
            .into_iter()
            .map(|(_, change)| change)
            .collect()
    }

    /// Finishes every embed job that is due with a vector that tells the row.
    pub(crate) fn embed_all(&self) -> usize {
        let jobs = self.store.claim_embed_jobs(usize::MAX, 60).unwrap();
        let done: Vec<_> =
            jobs.iter().map(|job| (job.job, job.row, vector(job.row).into())).collect();
        self.store.finish_embed_jobs(&done).unwrap();
        done.len()
    }
}

/// A vector that no other row has.
pub(crate) fn vector(row: RowId) -> Vec<f32> {
    vec![row.get() as f32, 0.5, -1.0]
}

/// A file with one leaf a text.
pub(crate) fn file(path: &str, texts: &[&str]) -> NewFile {
    let chunks = texts.iter().zip(0..).map(|(text, ordinal)| leaf(ordinal, text)).collect();
    NewFile {
        path: path.to_owned(),
        title: String::new(),
        tags: Vec::new(),
        date: None,
        metadata: Metadata::default(),
        size: 7,
        mtime: 70,
        sha256: hex(&sha256(texts.concat().as_bytes())),
        chunks,
    }
}

pub(crate) fn leaf(ordinal: u32, text: &str) -> NewChunk {
    let start = 100 * ordinal as usize;
    NewChunk {
        chunk: Chunk {
            level: ChunkLevel::Leaf,
            ordinal,
            heading_path: Vec::new(),
            text: text.to_owned(),
            bytes: ByteSpan { start, end: start + text.len() },
            lines: LineSpan { start: ordinal + 1, end: ordinal + 1 },
            language: Language::En,
        },
        embedding_hash: hex(&sha256(text.as_bytes())),
        embedding: NewEmbedding::Model,
        extraction: Extraction::default(),
    }
}

/// A chunk that names these, in this order, with a space between, each related to the next.
/// What is in capitals is the same name in another writing.
pub(crate) fn extraction(names: &[&str]) -> Extraction {
    let mut start = 0;
    let spans: Vec<ByteSpan> = names
        .iter()
        .map(|name| {
            let span = ByteSpan { start, end: start + name.len() };
            start = span.end + 1;
            span
        })
        .collect();
    let mentions = names.iter().zip(&spans).map(|(name, &span)| Mention {
        name: (*name).to_owned(),
        normalized_name: name.to_lowercase(),
        aliases: vec![format!("the {}", name.to_lowercase())],
        entity_type: if *name == name.to_uppercase() { EntityType::CODE } else { EntityType::NAME },
        kind: MentionKind::ProperNoun,
        confidence: Score::clamped(0.7),
        spans: vec![span],
        target: None,
    });
    let relations = names.windows(2).zip(spans.windows(2)).map(|(pair, spans)| Relation {
        source: pair[0].to_lowercase(),
        target: pair[1].to_lowercase(),
        relation_type: RelationType::CO_OCCURS,
        evidence: vec![ByteSpan { start: spans[0].start, end: spans[1].end }],
    });
    Extraction::new(mentions.collect()).with_relations(relations.collect())
}

/// A parent over the bytes `start..end`.
pub(crate) fn parent(ordinal: u32, text: &str, start: usize, end: usize) -> NewChunk {
    let mut parent = leaf(ordinal, text);
    parent.chunk.level = ChunkLevel::Parent;
    parent.chunk.bytes = ByteSpan { start, end };
    parent
}
