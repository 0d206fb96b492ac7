use std::{collections::BTreeSet, fmt};

use regex::{Regex, RegexBuilder};
use serde::{Serialize, Serializer};
use trefoil_core::{ByteSpan, Error, Result};

use super::{Redacted, Redaction, cut, find_sensitive};
use crate::normalize::Normalized;

/// A custom pattern that is cut out of texts: what a regular expression finds, under a
/// name.
#[derive(Clone, Debug, Serialize)]
pub struct RedactionPattern {
    name: String,
    #[serde(serialize_with = "as_text")]
    pattern: Regex,
}

impl RedactionPattern {
    /// Most bytes of a name.
    pub const MAX_NAME: usize = 32;
    /// Most bytes of a pattern.
    pub const MAX_PATTERN: usize = 1_024;

    /// What `pattern` finds, under `name`; the mark `[name]` takes its place.
    ///
    /// The pattern is one of the crate `regex`. Letters and digits of any width are one: it is
    /// held against the text in NFKC.
    ///
    /// ```
    /// use trefoil_text::{RedactionPattern, RedactionRules};
    ///
    /// let ticket = RedactionPattern::new("ticket", r"TICKET-\d+")?;
    /// let rules = RedactionRules::new([], [ticket])?;
    /// assert_eq!(rules.redact("ＴＩＣＫＥＴ－42を見て").text, "[ticket]を見て");
    /// # Ok::<(), trefoil_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidField`] for a name that is not of `a-z`, `0-9` and `_` with a letter
    /// first, or is that of a [`Redaction`]; for a pattern that cannot be read, is too large,
    /// or finds the empty text.
    pub fn new(name: &str, pattern: &str) -> Result<Self> {
        let known = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let is_name = name.len() <= Self::MAX_NAME
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.chars().all(known);
        let is_taken = Redaction::ALL.iter().any(|kind| kind.to_string() == name);
        if !is_name || is_taken {
            let allowed = "a-z, 0-9 and _, at most 32 bytes, a letter first; none of private, \
                           secret, email, card, phone";
            return Err(Error::invalid_field("name of a redaction", clipped(name), allowed));
        }
        let refused = |allowed: &'static str| {
            Error::invalid_field("pattern of a redaction", clipped(pattern), allowed)
        };
        if pattern.len() > Self::MAX_PATTERN {
            return Err(refused("at most 1,024 bytes"));
        }
        let compiled = RegexBuilder::new(pattern)
            .size_limit(1 << 20)
            .build()
            .map_err(|_| refused("a regular expression of the crate regex"))?;
        if compiled.is_match("") {
            return Err(refused("a regular expression that does not find the empty text"));
        }
        Ok(Self { name: name.to_owned(), pattern: compiled })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is put in the place of what it finds.
    pub fn mark(&self) -> String {
        format!("[{}]", self.name)
    }
}

impl PartialEq for RedactionPattern {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, self.pattern.as_str()) == (&other.name, other.pattern.as_str())
    }
}

impl Eq for RedactionPattern {}

/// What is cut out of texts: kinds that are known, and custom patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RedactionRules {
    kinds: BTreeSet<Redaction>,
    patterns: Vec<RedactionPattern>,
}

impl RedactionRules {
    /// Cuts out nothing but these kinds.
    pub const fn of(kinds: BTreeSet<Redaction>) -> Self {
        Self { kinds, patterns: Vec::new() }
    }

    /// Cuts out the kinds first and then what the patterns find, in their order.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for two patterns of one name.
    pub fn new(
        kinds: impl IntoIterator<Item = Redaction>,
        patterns: impl IntoIterator<Item = RedactionPattern>,
    ) -> Result<Self> {
        let mut rules = Self { kinds: kinds.into_iter().collect(), patterns: Vec::new() };
        for pattern in patterns {
            if rules.patterns.iter().any(|one| one.name == pattern.name) {
                let allowed = "a name that no other pattern has";
                return Err(Error::invalid_field("name of a redaction", pattern.name, allowed));
            }
            rules.patterns.push(pattern);
        }
        Ok(rules)
    }

    /// The kinds.
    pub const fn kinds(&self) -> &BTreeSet<Redaction> {
        &self.kinds
    }

    /// The patterns, in the order in which they are applied.
    pub fn patterns(&self) -> &[RedactionPattern] {
        &self.patterns
    }

    /// True if nothing is cut out.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty() && self.patterns.is_empty()
    }

    /// Cuts out of a text whatever the rules find, until that changes nothing: what a pattern cuts
    /// out may have hidden what began in it.
    pub fn redact(&self, text: &str) -> Redacted {
        let mut redacted =
            Redacted { text: text.to_owned(), found: BTreeSet::new(), named: BTreeSet::new() };
        while self.cut_out(&mut redacted) {}
        redacted
    }

    /// Cuts out what is found at once; whether that changed anything.
    fn cut_out(&self, redacted: &mut Redacted) -> bool {
        let kinds: Vec<Redaction> = self.kinds.iter().copied().collect();
        let known = find_sensitive(&redacted.text, &kinds);
        redacted.found.extend(known.iter().map(|&(kind, _)| kind));
        let marked = known.into_iter().map(|(kind, span)| (kind.mark().to_owned(), span));
        let mut text = cut(&redacted.text, marked);
        for pattern in &self.patterns {
            let spans = self.find(pattern, &text);
            if !spans.is_empty() {
                text = cut(&text, spans.into_iter().map(|span| (pattern.mark(), span)));
                redacted.named.insert(pattern.name.clone());
            }
        }
        let is_changed = text != redacted.text;
        redacted.text = text;
        is_changed
    }

    /// Where a pattern finds something. Marks are gaps to it: it finds nothing in them alone, and
    /// cuts none in two.
    fn find(&self, pattern: &RedactionPattern, text: &str) -> Vec<ByteSpan> {
        let normalized = Normalized::new(text);
        let mut left = normalized.text.to_string();
        let own = self.patterns.iter().map(RedactionPattern::mark);
        for mark in Redaction::ALL.map(|kind| kind.mark().to_owned()).into_iter().chain(own) {
            left = left.replace(&mark, &GAP.repeat(mark.len()));
        }
        let hits = pattern.pattern.find_iter(&left);
        let mut spans: Vec<ByteSpan> = Vec::new();
        for hit in hits {
            let start = hit.start() + leading_gap(hit.as_str());
            let found = hit.as_str().trim_matches(GAP_CHAR);
            if found.is_empty() {
                continue;
            }
            let span = normalized.original(start, start + found.len());
            match spans.last_mut() {
                Some(last) if span.start < last.end => last.end = last.end.max(span.end),
                _ => spans.push(span),
            }
        }
        spans
    }
}

/// What stands for each byte of a mark while a pattern looks for something.
const GAP_CHAR: char = '[';
const GAP: &str = "[";

/// How many bytes of it are gap before anything else.
fn leading_gap(text: &str) -> usize {
    text.len() - text.trim_start_matches(GAP_CHAR).len()
}

impl Serialize for RedactionRules {
    /// A list of names and of patterns with theirs, as policies have it.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Rule<'r> {
            Known(Redaction),
            Own(&'r RedactionPattern),
        }
        let kinds = self.kinds.iter().copied().map(Rule::Known);
        serializer.collect_seq(kinds.chain(self.patterns.iter().map(Rule::Own)))
    }
}

fn as_text<S: Serializer>(pattern: &Regex, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(pattern.as_str())
}

fn clipped(text: &str) -> impl fmt::Display {
    format!("`{}`", text.chars().take(80).collect::<String>())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(patterns: &[(&str, &str)]) -> RedactionRules {
        let patterns =
            patterns.iter().map(|(name, pattern)| RedactionPattern::new(name, pattern).unwrap());
        RedactionRules::new(Redaction::ALL, patterns).unwrap()
    }

    #[test]
    fn patterns_are_cut_out_besides_what_is_known() {
        let rules = rules(&[("ticket", r"TICKET-\d+"), ("staff", r"社員番号\s*\d+|사번\s*\d+")]);
        let redacted = rules.redact("TICKET-7 von mika@example.org, 社員番号 12３, 사번 45.");
        assert_eq!(redacted.text, "[ticket] von [email], [staff], [staff].");
        assert_eq!(redacted.found, [Redaction::Email].into());
        assert_eq!(redacted.named.iter().collect::<Vec<_>>(), ["staff", "ticket"]);
        assert!(!redacted.is_clean() && rules.redact("nothing").is_clean());
    }

    #[test]
    fn what_a_known_kind_leaves_is_no_find_of_a_pattern() {
        let rules = rules(&[("word", "email|word")]);
        assert_eq!(rules.redact("a@b.org word email").text, "[email] [word] [word]");
        // What lies about a mark goes with it, and once is enough.
        let greedy = self::rules(&[("all", "a.*z")]);
        let once = greedy.redact("a a@b.org z").text;
        assert_eq!((once.as_str(), greedy.redact(&once).text.as_str()), ("[all]", "[all]"));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (name, pattern) in [
            ("", "x"),
            ("Ticket", "x"),
            ("9a", "x"),
            ("email", "x"),
            ("a b", "x"),
            ("a", "("),
            ("a", ""),
            ("a", "x*"),
            ("a", &"x".repeat(1_025)),
        ] {
            let refused = RedactionPattern::new(name, pattern);
            assert!(matches!(refused, Err(Error::InvalidField { .. })), "{name:?} {pattern:?}");
        }
        let one = || RedactionPattern::new("a", "x").unwrap();
        assert!(RedactionRules::new([], [one(), one()]).is_err());
    }

    proptest! {
        #[test]
        fn done_again_it_changes_nothing(
            text in "[a-d0-9@.\\[\\] ｔ１-]{0,40}",
            first in "[a-d]{1,2}|[a-c.]\\+?|\\[a|[0-9]{1,2}|..",
            second in "[a-d]{1,2}|\\\\d\\+?|a.*b|\\]",
        ) {
            let named = |name, pattern: &str| RedactionPattern::new(name, pattern);
            if let (Ok(one), Ok(two)) = (named("a", &first), named("b", &second)) {
                let rules = RedactionRules::new(Redaction::ALL, [one, two])?;
                let once = rules.redact(&text).text;
                prop_assert_eq!(&rules.redact(&once).text, &once, "{:?} {:?}", first, second);
            }
        }
    }
}
