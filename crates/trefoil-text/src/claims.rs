//! What a text says that can be a claim: by rules of each language, which are data, and by
//! patterns of what tools and commands print.

mod due_date;
mod outcome;
mod rules;
mod sources;
mod utterance;

pub use due_date::due_date;
pub use outcome::{Outcome, outcomes};
pub use rules::{ClaimMatch, ClaimRules};
pub use sources::{ToolOutput, source_tags};
pub use utterance::Utterance;
