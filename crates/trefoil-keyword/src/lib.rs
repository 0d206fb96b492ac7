//! The keyword retriever: BM25 over analysed terms, on tantivy.
//!
//! One [`KeywordIndexer`] writes a directory, any number of [`KeywordRetriever`]s
//! read it, in the same process or another. The index is a cache of the store: it
//! holds no text, and records the change that it reaches.
//!
//! ```
//! # use std::sync::Arc;
//! # use trefoil_core::*;
//! # use trefoil_keyword::{KeywordConfig, KeywordIndexer};
//! # #[derive(Debug)]
//! # struct Words;
//! # impl Analyzer for Words {
//! #     fn analyze(&self, text: &str, _: Language, sink: &mut dyn FnMut(Token<'_>)) {
//! #         for (position, word) in (0..).zip(text.split_whitespace()) {
//! #             let term = word.to_lowercase().into();
//! #             sink(Token { term, span: ByteSpan::default(), position, stop: false });
//! #         }
//! #     }
//! # }
//! # fn entry(row: u64, text: &str) -> IndexEntry {
//! #     let file = FileInfo {
//! #         id: FileId::new("fil_1").unwrap(), path: "a".into(), title: String::new(), tags: vec![], date: None,
//! #         metadata: trefoil_core::Metadata::default(),
//! #     };
//! #     let chunk = Chunk {
//! #         level: ChunkLevel::Leaf, ordinal: 0, heading_path: vec![], text: text.into(),
//! #         bytes: ByteSpan::default(), lines: LineSpan { start: 1, end: 1 }, language: Language::En,
//! #     };
//! #     let id = ChunkId::new(format!("chk_{row}")).unwrap();
//! #     let chunk = StoredChunk { row: RowId::new(row), id, file: Arc::new(file), chunk };
//! #     IndexEntry { unit: IndexedUnit::Chunk(Arc::new(chunk)), vector: vec![], extraction: Default::default() }
//! # }
//! # let dir = tempfile::tempdir().unwrap();
//! # let analyzer = Arc::new(Words);
//! let mut indexer = KeywordIndexer::open(dir.path(), analyzer, &KeywordConfig::default())?;
//! indexer.add(&[entry(1, "the tide turns"), entry(2, "a turn of phrase")])?;
//! indexer.commit(Seq::new(2))?;
//!
//! let retriever = indexer.retriever()?;
//! let question = Question { text: "Tide".into(), ..Question::default() };
//! let list = retriever.retrieve(&question, 10, &Allowed::All)?;
//! assert_eq!(list.hits()[0].row, RowId::new(1));
//! # Ok::<(), trefoil_core::Error>(())
//! ```

mod bm25;
mod candidates;
mod checked_file;
mod commit_metadata;
mod confidence;
mod config;
mod directory;
mod document;
mod files;
mod held;
mod index;
mod indexer;
mod phrase;
mod query;
mod rescore;
mod retriever;
mod segment;
mod terms;
#[cfg(test)]
mod tests;
mod vocabulary;
mod writer;

pub use config::KeywordConfig;
pub use files::KeywordFiles;
pub use indexer::KeywordIndexer;
pub use retriever::KeywordRetriever;
