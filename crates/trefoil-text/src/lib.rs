//! Text in any of our languages to terms, sentences, chunks and highlights, and
//! files to documents.
//!
//! ```
//! use trefoil_core::Language;
//! use trefoil_text::{Highlighter, ScriptAnalyzer, language_of, terms};
//!
//! let analyzer = ScriptAnalyzer::new();
//! assert_eq!(terms(&analyzer, "Running shoes", Language::En), ["run", "shoe"]);
//! assert_eq!(terms(&analyzer, "東京", Language::Ja), ["東", "東京", "京"]);
//! assert_eq!(language_of("서울의 날씨"), Language::Ko);
//!
//! let highlighter = Highlighter::new(&analyzer, "running", Language::En);
//! let highlight = highlighter.highlight("text", "She runs.", Language::En, 150).unwrap();
//! assert_eq!(&highlight.fragment[highlight.offsets[0].start..highlight.offsets[0].end], "runs");
//! ```

mod analyze;
mod chunk;
pub mod claims;
mod entity;
mod front_matter;
mod highlight;
mod language;
mod load;
mod normalize;
mod number;
pub mod paraphrase;
mod particle;
mod redact;
mod script;
mod sentence;
mod statement;
mod stem;
mod stop;
mod tokens;
mod variant;
mod walk;
mod word;
mod word_list;

pub use analyze::{ScriptAnalyzer, terms};
pub use chunk::{CONTEXT_FORM, ChunkSizes, StructuralChunker, contextual_text};
#[cfg(feature = "lindera")]
pub use entity::MorphologicalExtractor;
pub use entity::{ScriptExtractor, defines, normalize_name, resolve_names};
pub use highlight::{FRAGMENT_CHARS, Highlighter, MAX_FRAGMENT_CHARS};
pub use language::language_of;
pub use load::load;
pub use normalize::{canonical_text, normalize};
pub use particle::split_particle;
pub use redact::{
    Redacted, Redaction, RedactionPattern, RedactionRules, find_sensitive, is_credential_file,
    redact,
};
pub use sentence::sentences;
pub use statement::statements;
pub use tokens::ApproximateTokens;
pub use variant::variants;
pub use walk::{Skipped, SourceFile, Walk, WalkOptions, is_within, stored_name, walk};
pub use word::{FewWords, WordBounds};
