//! What texts say, by rules in English, Japanese and Korean.

pub mod extract;
pub(crate) mod same;
mod trigram_similarity;

pub(crate) use trigram_similarity::Trigrams;
