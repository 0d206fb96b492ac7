//! The rules of a language, and what they match in a clause.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde::Deserialize;
use trefoil_core::{ClaimKind, Language};

/// What a rule found.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimMatch {
    /// What kind of claim it is.
    pub kind: ClaimKind,
    /// Who or what it is about, if the clause names it.
    pub subject: Option<String>,
    /// What is said of the subject, if the rule has a word for it.
    pub predicate: Option<String>,
    /// The other end of the predicate.
    pub object: Option<String>,
    /// How often clauses that match the rule are such a claim, 0.5–0.95.
    pub confidence: f32,
}

/// The rules of a language, ready to be asked.
#[derive(Debug, Default)]
pub struct ClaimRules {
    cut: Option<Regex>,
    lead: Option<Regex>,
    skip: Option<Regex>,
    ready: Vec<(Regex, Option<Regex>, Written)>,
}

/// The rules of a language as they are written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// Where a sentence is cut into clauses.
    cut: String,
    /// What a clause is without at its beginning.
    lead: String,
    /// Sentences that state nothing.
    skip: String,
    /// What stands for `{…}` in the patterns.
    words: BTreeMap<String, String>,
    rule: Vec<Written>,
}

/// A rule as it is written. The groups `subject`, `object` and `topic` of its pattern are
/// what the claim says; `topic` is part of the predicate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    kind: ClaimKind,
    predicate: Option<String>,
    pattern: String,
    /// What the object, or a clause without one, must not look like.
    not: Option<String>,
    confidence: f32,
}

static ENGLISH: LazyLock<ClaimRules> = LazyLock::new(|| ClaimRules::read(include_str!("en.toml")));
static JAPANESE: LazyLock<ClaimRules> = LazyLock::new(|| ClaimRules::read(include_str!("ja.toml")));
static KOREAN: LazyLock<ClaimRules> = LazyLock::new(|| ClaimRules::read(include_str!("ko.toml")));

impl ClaimRules {
    /// Lengths of a clause that is looked at, in characters.
    pub const CHARACTERS: std::ops::RangeInclusive<usize> = 4..=400;

    /// The rules of a language.
    pub fn of(language: Language) -> &'static Self {
        match language {
            Language::Ja => &JAPANESE,
            Language::Ko => &KOREAN,
            Language::En | _ => &ENGLISH,
        }
    }

    fn read(file: &str) -> Self {
        let Ok(file) = toml::from_str::<File>(file) else { return Self::default() };
        let ready = |pattern: &str| Regex::new(&filled(pattern, &file.words)).ok();
        let rules = file.rule.iter().filter_map(|rule| {
            let not = rule.not.as_deref().and_then(|not| Regex::new(not).ok());
            Some((ready(&rule.pattern)?, not, rule.clone()))
        });
        Self {
            cut: ready(&file.cut),
            lead: ready(&file.lead),
            skip: ready(&file.skip),
            ready: rules.collect(),
        }
    }

    /// The clauses of a sentence that may state something, without what leads to them.
    pub fn clauses(&self, sentence: &str) -> Vec<String> {
        let sentence = sentence.trim().replace('’', "'");
        if self.skip.as_ref().is_some_and(|skip| skip.is_match(&sentence)) {
            return Vec::new();
        }
        let mut clauses = Vec::new();
        let mut start = 0;
        for hit in self.cut.iter().flat_map(|cut| cut.find_iter(&sentence)) {
            // A clause begins after the conjunction, with the word that shows it; an ending
            // belongs to what stands before it.
            let word = hit.as_str().rfind(' ').map(|at| hit.start() + at + 1);
            let end = if word.is_some_and(|at| at < hit.end()) { hit.start() } else { hit.end() };
            clauses.push(sentence.get(start..end).unwrap_or_default());
            start = word.unwrap_or(hit.end());
        }
        clauses.push(sentence.get(start..).unwrap_or_default());
        clauses
            .into_iter()
            .map(|clause| self.without_lead(clause).trim().trim_end_matches(['、', ',']).to_owned())
            .filter(|clause| Self::CHARACTERS.contains(&clause.chars().count()))
            .collect()
    }

    fn without_lead<'c>(&self, clause: &'c str) -> &'c str {
        let clause = clause.trim_start();
        let lead = self.lead.as_ref().and_then(|lead| lead.find(clause));
        lead.and_then(|lead| clause.get(lead.end()..)).unwrap_or(clause)
    }

    /// What the first rule that matches says.
    pub fn first_match(&self, clause: &str) -> Option<ClaimMatch> {
        self.ready.iter().find_map(|(pattern, not, rule)| {
            let groups = pattern.captures(clause)?;
            let object = group(&groups, "object").or_else(|| group(&groups, "object2"));
            let unwanted = object.as_deref().unwrap_or(clause);
            if not.as_ref().is_some_and(|not| not.is_match(unwanted)) {
                return None;
            }
            let topic = group(&groups, "topic");
            let predicate = rule.predicate.as_ref().map(|predicate| match topic {
                Some(topic) => format!("{predicate} {}", topic.to_lowercase()),
                None => predicate.clone(),
            });
            if rule.predicate.is_some() && object.is_none() {
                return None;
            }
            // What has no predicate is told by its text alone, but for whom it is about.
            let object = object.filter(|_| predicate.is_some());
            let subject = group(&groups, "subject");
            let confidence = rule.confidence;
            Some(ClaimMatch { kind: rule.kind, subject, predicate, object, confidence })
        })
    }
}

const DASHES: [&str; 5] = [" - ", " – ", " — ", "--", "- "];

/// A group without spaces and signs at its ends.
fn group(groups: &Captures<'_>, name: &str) -> Option<String> {
    let whole = groups.name(name)?.as_str();
    // After a dash something else is said.
    let end = DASHES.iter().filter_map(|dash| whole.find(dash)).min().unwrap_or(whole.len());
    let text = whole.get(..end).unwrap_or_default();
    let text = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, ',' | '.' | '!' | ':' | '、' | '。' | '！' | '"' | '-')
    });
    (!text.is_empty()).then(|| text.to_owned())
}

/// A pattern with words in the place of `{NAME}`; words may hold others.
fn filled(pattern: &str, words: &BTreeMap<String, String>) -> String {
    let mut filled = pattern.to_owned();
    for _ in 0..2 {
        for (name, word) in words {
            filled = filled.replace(&format!("{{{name}}}"), word);
        }
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_can_be_read() {
        for text in [include_str!("en.toml"), include_str!("ja.toml"), include_str!("ko.toml")] {
            let file: File = toml::from_str(text).unwrap();
            for pattern in [&file.cut, &file.lead, &file.skip] {
                Regex::new(&filled(pattern, &file.words)).unwrap();
            }
            for rule in &file.rule {
                Regex::new(&filled(&rule.pattern, &file.words)).unwrap();
                rule.not.iter().for_each(|not| drop(Regex::new(not).unwrap()));
                assert!((0.5..=0.95).contains(&rule.confidence), "{}", rule.pattern);
            }
        }
    }
}
