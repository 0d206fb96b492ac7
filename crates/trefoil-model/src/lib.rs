//! ONNX models by name: fetched once, checked, and run on the CPU.
//!
//! [`ModelHome`] is the folder they are kept in; its [`pull`](ModelHome::pull) and
//! [`add`](ModelHome::add) are the only things here that touch a network. [`OnnxEmbedder`] turns texts into vectors,
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

mod add;
mod card;
mod convert;
mod dense;
mod draft;
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
mod rerank;
mod session;
mod source;
mod tokenizer;
mod vocabulary;
mod weights;

pub use add::{AddSource, AddedModel, LanguageCheck, ModelCheck, TranslationCheck};
pub use card::{
    Card, DecoderCard, DenseCard, EmbeddingCard, FileCard, LateInteractionCard, ModelRole,
    RerankerScores, RerankingCard,
};
pub use dense::Activation;
pub use draft::{AddOptions, Draft, DraftFile};
pub use embedder::{OnnxEmbedder, late_interaction::LateInteractionEmbedder};
pub use home::{ModelHome, ModelStatus};
pub use model::ModelSource;
pub use progress::PullProgress;
pub use pull::PullOptions;
pub use rerank::{
    cross_encoder::OnnxReranker, late_interaction::LateInteractionReranker, open_reranker,
    token_reranker::TokenReranker,
};
