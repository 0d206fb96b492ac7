//! What words of a language mean the same, as data.

use std::sync::LazyLock;

use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use trefoil_core::Language;

/// The words of a language, ready to be asked.
#[derive(Debug)]
pub(super) struct Lexicon {
    pub(super) rewrite: Vec<(Regex, String)>,
    pub(super) past: Option<Regex>,
    pub(super) state: Option<Regex>,
    pub(super) people: Option<Regex>,
    pub(super) split: Regex,
    pub(super) denial: Regex,
    pub(super) light: Regex,
    pub(super) background: Vec<String>,
    pub(super) roles: Vec<(String, Regex)>,
    pub(super) concepts: Vec<Concept>,
}

/// Words for one thing, and words for its contrary.
#[derive(Debug)]
pub(super) struct Concept {
    /// Its name; of several things at once, their names.
    pub(super) name: String,
    pub(super) yes: Option<Regex>,
    /// Phrases for it in which a word of denial denies nothing.
    pub(super) phrase: Option<Regex>,
    pub(super) no: Option<Regex>,
}

/// A lexicon as it is written; what the fields mean stands in the files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    frame: String,
    rewrite: Vec<(String, String)>,
    past: Option<String>,
    state: Option<String>,
    people: Option<String>,
    split: String,
    denial: String,
    light: String,
    background: Vec<String>,
    role: Vec<WrittenRole>,
    concept: Vec<WrittenConcept>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenRole {
    name: String,
    pattern: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenConcept {
    name: String,
    yes: Option<String>,
    phrase: Option<String>,
    no: Option<String>,
}

static ENGLISH: LazyLock<Option<Lexicon>> = LazyLock::new(|| read(include_str!("en.toml")).ok());
static JAPANESE: LazyLock<Option<Lexicon>> = LazyLock::new(|| read(include_str!("ja.toml")).ok());
static KOREAN: LazyLock<Option<Lexicon>> = LazyLock::new(|| read(include_str!("ko.toml")).ok());

impl Lexicon {
    /// The words of a language; none of one that there is no lexicon of.
    pub(super) fn of(language: Language) -> Option<&'static Self> {
        match language {
            Language::En => ENGLISH.as_ref(),
            Language::Ja => JAPANESE.as_ref(),
            Language::Ko => KOREAN.as_ref(),
            _ => None,
        }
    }
}

fn read(text: &str) -> Result<Lexicon, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let plain = |pattern: &str| {
        let regex = RegexBuilder::new(pattern).case_insensitive(true).build();
        regex.map_err(|error| format!("{pattern}: {error}"))
    };
    let framed = |pattern: &str| plain(&file.frame.replace("{}", pattern));
    let role = |role: &WrittenRole| {
        let regex = Regex::new(&role.pattern).map_err(|error| format!("{}: {error}", role.name));
        Ok((role.name.clone(), regex?))
    };
    let concept = |concept: &WrittenConcept| {
        Ok(Concept {
            name: concept.name.clone(),
            yes: concept.yes.as_deref().map(framed).transpose()?,
            phrase: concept.phrase.as_deref().map(framed).transpose()?,
            no: concept.no.as_deref().map(framed).transpose()?,
        })
    };
    let rewrite = file.rewrite.iter().map(|(from, to)| Ok((plain(from)?, to.clone())));
    // A capital marks a name.
    let people = file.people.as_deref().map(Regex::new).transpose();
    let people = people.map_err(|error| error.to_string())?;
    Ok(Lexicon {
        people,
        rewrite: rewrite.collect::<Result<_, String>>()?,
        past: file.past.as_deref().map(plain).transpose()?,
        state: file.state.as_deref().map(plain).transpose()?,
        split: plain(&file.split)?,
        denial: framed(&file.denial)?,
        light: framed(&file.light)?,
        background: file.background,
        roles: file.role.iter().map(role).collect::<Result<_, String>>()?,
        concepts: file.concept.iter().map(concept).collect::<Result<_, String>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lexicon_can_be_read() {
        for text in [include_str!("en.toml"), include_str!("ja.toml"), include_str!("ko.toml")] {
            read(text).unwrap();
        }
    }
}
