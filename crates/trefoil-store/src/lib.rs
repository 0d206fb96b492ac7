//! One SQLite file that is the truth: files, chunks, embeddings, jobs, the change
//! log that every index replays, and the tables of the graph and of memory.
//!
//! A write is one transaction, durable when the call returns (write-ahead log,
//! `synchronous = FULL`); one that fails changes nothing. A read sees one snapshot.
//! One [`Store`] writes; any number of threads and processes read at the same time.
//!
//! ```
//! # fn main() -> trefoil_core::Result<()> {
//! # let folder = tempfile::tempdir().unwrap();
//! # let dir = folder.path();
//! use std::sync::Arc;
//!
//! use trefoil_core::{ByteSpan, Change, Chunk, ChunkLevel, Extraction, Language, LineSpan, Seq};
//! use trefoil_store::{Access, NewChunk, NewEmbedding, NewFile, Store, SystemClock};
//!
//! let store = Store::open(dir, Access::ReadWrite, Arc::new(SystemClock))?;
//! store.put_files(&[NewFile {
//!     path: "notes/clover.md".into(),
//!     title: "Clover".into(),
//!     tags: vec!["plant".into()],
//!     date: None,
//!     metadata: trefoil_core::Metadata::default(),
//!     size: 14,
//!     mtime: 1_767_225_600,
//!     sha256: "0f".repeat(32),
//!     chunks: vec![NewChunk {
//!         chunk: Chunk {
//!             level: ChunkLevel::Leaf,
//!             ordinal: 0,
//!             heading_path: vec!["Leaves".into()],
//!             text: "It has three.".into(),
//!             bytes: ByteSpan { start: 0, end: 13 },
//!             lines: LineSpan { start: 1, end: 1 },
//!             language: Language::En,
//!         },
//!         embedding_hash: "1e".repeat(32),
//!         embedding: NewEmbedding::Model,
//!         extraction: Extraction::default(),
//!     }],
//! }])?;
//!
//! let (seq, change) = store.changes(Seq::ZERO, 10)?[0];
//! let Change::Text(row) = change else { panic!("a new leaf is a change of text") };
//! assert_eq!(seq, store.seq()?);
//! assert_eq!(store.chunks(&[row])?[0].chunk.text, "It has three.");
//! # Ok(())
//! # }
//! ```

mod change;
mod chunk;
mod clock;
mod codec;
mod counter;
mod disk;
mod embedding;
mod fault;
mod file;
mod filter;
#[cfg(test)]
mod fixture;
mod graph;
mod health;
mod id;
mod job;
pub mod memory;
mod meta;
mod model_migration;
mod stats;
mod store;
pub mod truth;
mod verify;
mod write;

pub use clock::{Clock, SystemClock};
pub use disk::{
    copy::{copy, is_older},
    folder::{is_of_salvage, is_salvaged, replace_with_salvaged, salvage, set_aside},
    fork::{after_fork, before_fork},
    salvage::{Salvaged, TableSaved},
};
pub use embedding::{
    EmbeddedText, EmbeddedTokens, KeptTokens,
    queue::{EmbedJob, EmbedSource, WaitingEmbeddings},
};
pub use file::{FileState, NewChunk, NewEmbedding, NewFile, Stored, TouchedFile};
pub use graph::{
    EntityRow, GraphRows, RelationRow,
    coding::EntityMention,
    community::{CommunityRow, ReportSource},
};
pub use health::{Duplicates, FailedJob};
pub use id::{chunk_id, community_id, entity_id, file_id, memory_entity_id, relation_id};
pub use job::{Job, JobCounts};
pub use model_migration::{ModelMigration, Unembedded};
pub use stats::StoreStats;
pub use store::{Access, Store};
pub use verify::{StoreCheck, StoreFault};

use write::WriteTx;
