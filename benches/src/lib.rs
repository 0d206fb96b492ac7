//! What the benchmarks share: texts, vectors and indexes of any size, all grown from the
//! fixtures, and a place for figures of recall next to criterion's figures of time.
//!
//! What is costly to make is made once and kept in `target/benches`; its name holds a
//! hash of what it was made from. Delete the folder to start over.

mod chain;
mod fixtures;
mod index;
mod measure;
mod once;
mod process;
mod real_text;
mod real_vectors;
mod retriever;
mod vector_set;
mod vectors;

pub use fixtures::{Fixtures, Question};
pub use index::{EngineIndex, answered, with_vectors};
pub use measure::{SIZES, folder, label, must, record_recall, settings, target};
pub use once::EmbeddedOnce;
pub use process::{copy_files, cpu_seconds, peak_mb, search_query};
pub use real_text::RealText;
pub use real_vectors::RealVectors;
pub use retriever::measure_retriever;
pub use vector_set::{NEIGHBOURS, VectorSet, nearest, vector_file};
pub use vectors::{StoredVectors, model};

/// What may go wrong goes up to `main`, which prints it.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;
