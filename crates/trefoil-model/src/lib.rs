//! ONNX models by name: fetched once, checked, and run on the CPU.
//!
//! [`ModelHome`] is the folder they are kept in; its [`pull`](ModelHome::pull) is the
//! only thing here that touches a network. [`OnnxEmbedder`] turns texts into vectors,
//! and counts tokens, with a model of that folder or of one of your own.
//!
//! ```no_run
//! use trefoil_core::{Embedder, Role};
//! use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder, PullOptions};
//!
//! let home = ModelHome::platform()?;
//! home.pull(&[], &(), PullOptions::default())?;
//! let embedder = OnnxEmbedder::open(&home, &ModelSource::default(), 2)?;
//! let question = embedder.embed(Role::Query, &["東京の天気は？"])?;
//! let passages = embedder.embed(Role::Passage, &["It rains in Tokyo.", "Bread is baked."])?;
//! let cosines = passages.dot(&question.row(0));
//! assert!(cosines[0] > cosines[1]);
//! # Ok::<(), trefoil_core::Error>(())
//! ```
//!
//! Without models nothing panics: every call that needs one says which is missing and
//! where it was looked for ([`Error::ModelMissing`](trefoil_core::Error::ModelMissing)).

mod card;
mod convert;
mod cross_encoder;
mod embedder;
mod file;
mod home;
mod lending;
mod manifest;
mod mapped_file;
mod measured;
mod model;
mod optimized;
mod parallel;
mod progress;
mod pull;
mod session;
mod source;
mod token_reranker;
mod tokenizer;
mod vocabulary;
mod window;

pub use card::{Card, EmbeddingCard, ModelRole};
pub use cross_encoder::OnnxReranker;
pub use embedder::OnnxEmbedder;
pub use home::{ModelHome, ModelStatus};
pub use model::ModelSource;
pub use progress::PullProgress;
pub use pull::PullOptions;
#[cfg(feature = "hub")]
pub use source::hub::HubModel;
pub use token_reranker::TokenReranker;
