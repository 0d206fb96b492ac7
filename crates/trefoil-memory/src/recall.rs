//! What a recall may find, and how what it finds is ranked. Pure: the searches are made
//! elsewhere.

mod alpha;
mod context;
mod episodes;
mod layer;
pub mod pack;
mod query;
mod score;

pub(crate) use alpha::shared_alpha;
pub use alpha::{adapted_alpha, widened};
pub use context::{ActiveContext, ContextItem, ScoreBreakdown, ScoredClaim};
pub use episodes::{Episode, EpisodeProfile, episode_queries};
pub(crate) use layer::beginning;
pub use layer::{FoundUnit, Layer, View, views};
pub use query::{Admission, RecallProfile, RecallQuery};
pub(crate) use score::combined;
pub use score::{
    Candidate, MIN_SCORE, Scoring, Utilities, hybrid_fusion, is_exact_match, normalize_text,
    normalize_vector,
};
