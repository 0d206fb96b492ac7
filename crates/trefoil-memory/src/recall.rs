//! What a recall may find, and how what it finds is ranked. Pure: the searches are made
//! elsewhere.

mod alpha;
mod episodes;
mod query;
mod score;

pub(crate) use alpha::shared_alpha;
pub use alpha::{adapted_alpha, widened};
pub use episodes::{Episode, EpisodeProfile, episode_queries};
pub use query::{Admission, RecallProfile, RecallQuery};
pub use score::{
    Candidate, MIN_SCORE, Scoring, Utilities, hybrid_fusion, is_exact_match, normalize_text,
    normalize_vector, recency_decay,
};
