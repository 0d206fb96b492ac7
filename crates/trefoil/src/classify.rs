//! Question to what kind it is, the names in it and other wordings. Pure.

mod capital;
mod english;
mod expand;
mod grammar;
mod identifier;
mod japanese;
mod korean;
mod name;
mod quote;

pub use expand::expand;
pub use name::NameTable;

use std::sync::LazyLock;

use crate::default_set::{suited_to, suited_to_literal};
use trefoil_core::{
    ByteSpan, Language, NameLookup, QueryClassification, QueryClassifier, QueryType, Question,
    Result, Score, SearchWeights,
};
use trefoil_text::normalize;

use capital::capitalised;
use expand::expand_known;
use grammar::Grammar;
use identifier::identifiers;
use name::known_names;
use quote::{quotations, unquoted};

/// Classifies by patterns of English, Japanese and Korean.
///
/// | kind | asked like | confidence |
/// |---|---|---|
/// | global | overview, summary, main theme, what is this about | .8 |
/// | relationship | difference between A and B, how does A affect B, why | .8 |
/// | local | everything else with a known name, an identifier or quoted text | .7 |
/// | hybrid | the rest | .6 |
///
/// Patterns are not looked for in quoted text and identifiers. Weights are those that
/// suit the kind ([`suited_to`](crate::default_set::suited_to)); a question that is mostly identifiers
/// leans on the keyword retriever. The first question in a language compiles the patterns of
/// that language, once a process.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleClassifier;

/// A question is the name of something if identifiers are this share of its letters.
const LITERAL_SHARE: f32 = 0.5;

impl QueryClassifier for RuleClassifier {
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification> {
        let text = normalize(&question.text);
        let quotations = quotations(&text);
        let identifiers = outside(identifiers(&text), &quotations);
        let literal: Vec<ByteSpan> = quotations.iter().chain(&identifiers).copied().collect();
        let names = known_names(&text, names);
        let known: Vec<ByteSpan> = names.iter().map(|known| known.span).collect();
        let finding = grammar(question.language).read(&masked(&text, &literal));
        let (query_type, confidence) = match &finding {
            Some(finding) => (finding.kind, 0.8),
            None if literal.is_empty() && known.is_empty() => (QueryType::Hybrid, 0.6),
            None => (QueryType::Local, 0.7),
        };
        let capitalised = outside(capitalised(&text, question.language), &literal);
        let sides = finding.map(|finding| finding.sides).unwrap_or_default();
        let entities = [sides, literal, known, capitalised].concat();
        Ok(QueryClassification {
            original_query: question.text.clone(),
            query_type,
            confidence: Score::clamped(confidence),
            extracted_entities: distinct(&text, entities),
            suggested_weights: weights(query_type, share(&text, &identifiers)),
            expanded_queries: expand_known(question, &text, &names, &[]),
        })
    }
}

fn grammar(language: Language) -> &'static Grammar {
    static ENGLISH: LazyLock<Grammar> = LazyLock::new(|| Grammar::new(&english::SOURCE));
    static JAPANESE: LazyLock<Grammar> = LazyLock::new(|| Grammar::new(&japanese::SOURCE));
    static KOREAN: LazyLock<Grammar> = LazyLock::new(|| Grammar::new(&korean::SOURCE));
    match language {
        Language::Ja => &JAPANESE,
        Language::Ko => &KOREAN,
        Language::En | _ => &ENGLISH,
    }
}

fn weights(query_type: QueryType, literal: f32) -> SearchWeights {
    if query_type == QueryType::Local && literal >= LITERAL_SHARE {
        suited_to_literal()
    } else {
        suited_to(query_type)
    }
}

/// The spans that overlap none of `taken`.
fn outside(mut spans: Vec<ByteSpan>, taken: &[ByteSpan]) -> Vec<ByteSpan> {
    spans.retain(|span| {
        taken.iter().all(|other| span.end <= other.start || other.end <= span.start)
    });
    spans
}

/// The text with every byte of `spans` a small x, so that patterns see a word there.
fn masked(text: &str, spans: &[ByteSpan]) -> String {
    let mut masked = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if spans.iter().any(|span| span.start <= at && at < span.end) {
            masked.extend(std::iter::repeat_n('x', c.len_utf8()));
        } else {
            masked.push(c);
        }
    }
    masked
}

/// Which share of the letters and digits stands in `spans`.
fn share(text: &str, spans: &[ByteSpan]) -> f32 {
    let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() as f32;
    let inside: f32 =
        spans.iter().filter_map(|span| text.get(span.start..span.end)).map(letters).sum();
    inside / letters(text).max(1.0)
}

/// The parts of the text at `spans`, by place, each once.
fn distinct(text: &str, mut spans: Vec<ByteSpan>) -> Vec<String> {
    spans.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut entities: Vec<String> = Vec::new();
    for span in spans {
        let entity = unquoted(text.get(span.start..span.end).unwrap_or_default());
        if !entity.is_empty() && !entities.iter().any(|known| known == entity) {
            entities.push(entity.to_owned());
        }
    }
    entities
}

#[cfg(test)]
mod tests;
