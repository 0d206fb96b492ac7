//! Choices by name, and values that have rules of their own.

use std::str::FromStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::de::{DeserializeOwned, IntoDeserializer, value::Error};
use trefoil::Score;

/// Names and what the help says of each.
type Choices = &'static [(&'static str, &'static str)];

pub(super) const STRATEGIES: Choices = &[
    ("keyword", "BM25 over words"),
    ("semantic", "Nearest meanings"),
    ("graph", "The graph of entities"),
    ("hybrid", "All of them"),
];
pub(super) const QUERY_TYPES: Choices = &[
    ("local", "A passage that states the answer"),
    ("global", "An overview of everything"),
    ("relationship", "How things hang together"),
    ("hybrid", "Undecided"),
];
pub(super) const LANGUAGES: Choices =
    &[("en", "English, and what is not one of the others"), ("ja", "Japanese"), ("ko", "Korean")];
pub(super) const RESULT_TYPES: Choices = &[
    ("chunk", "A passage of a document"),
    ("entity", "What the question names, with what the documents say of it"),
    ("community", "What a part of the documents is about, in short"),
];

pub(super) const ROLES: Choices = &[
    ("embedder", "texts to vectors"),
    ("reranker", "a question and a passage to a score"),
    ("late-interaction", "texts to a vector for each token"),
];
pub(super) const POOLINGS: Choices = &[
    ("mean", "the mean over the tokens"),
    ("cls", "the first token"),
    ("last-token", "the last token"),
    ("none", "the model pools itself"),
];
pub(super) const TOKEN_VECTORS: Choices = &[
    ("off", "of none"),
    ("auto", "of memory, and of Japanese and Korean documents"),
    ("all", "of English documents too, for questions in another language"),
];

/// Reads one of some names, as JSON has them.
pub(super) fn choice<T>(choices: Choices) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    let values = choices.iter().map(|&(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values)
        .try_map(|name| T::deserialize(IntoDeserializer::<Error>::into_deserializer(name)))
}

/// Reads one of several names, which the help lists.
pub(super) fn one_of<T>(names: &'static str) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = trefoil::Error> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names.split(", ")).try_map(|name| name.parse())
}

pub(super) fn score(text: &str) -> anyhow::Result<Score> {
    Ok(Score::new(text.parse()?)?)
}

#[cfg(test)]
mod tests {
    use trefoil::{
        Language, SearchStrategy, TokenVectors,
        search::{QueryType, SearchResultType},
    };

    use super::*;

    fn check<T: DeserializeOwned>(choices: Choices) {
        for (name, _) in choices {
            assert!(serde_json::from_value::<T>((*name).into()).is_ok(), "{name}");
        }
    }

    #[test]
    fn every_choice_is_one_of_the_library() {
        check::<SearchStrategy>(STRATEGIES);
        check::<QueryType>(QUERY_TYPES);
        check::<Language>(LANGUAGES);
        check::<TokenVectors>(TOKEN_VECTORS);
        check::<SearchResultType>(RESULT_TYPES);
    }
}
