use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

use crate::Node;

/// The names and aliases of entities, to find them in a question.
#[derive(Debug)]
pub(crate) struct Gazetteer(Vec<(Arc<str>, Node)>);

impl Gazetteer {
    /// Takes normalised names, each of one entity, and aliases. An alias of several
    /// entities, and one that is a name, stands for none.
    pub(crate) fn new(
        names: impl Iterator<Item = (Arc<str>, Node)>,
        aliases: impl Iterator<Item = (Arc<str>, Node)>,
    ) -> Self {
        let names: BTreeMap<Arc<str>, Node> = names.collect();
        let mut owners: BTreeMap<Arc<str>, BTreeSet<Node>> = BTreeMap::new();
        for (alias, node) in aliases {
            if !alias.is_empty() && !names.contains_key(&alias) {
                owners.entry(alias).or_default().insert(node);
            }
        }
        let aliases = owners.into_iter().filter(|(_, nodes)| nodes.len() == 1);
        let aliases = aliases.filter_map(|(alias, nodes)| Some((alias, *nodes.first()?)));
        let mut spellings: Vec<_> = names.into_iter().chain(aliases).collect();
        spellings.sort();
        Self(spellings)
    }

    /// The entity that a normalised name or alias stands for.
    pub(crate) fn get(&self, spelling: &str) -> Option<Node> {
        let place = self.0.binary_search_by(|(known, _)| (**known).cmp(spelling)).ok()?;
        self.0.get(place).map(|&(_, node)| node)
    }

    /// The spellings that a normalised text begins with, the longest first, whatever follows.
    pub(crate) fn starts(&self, text: &str) -> Vec<(usize, Node)> {
        let mut found = Vec::new();
        let mut alike = self.0.as_slice();
        for (at, c) in text.char_indices() {
            let Some(prefix) = text.get(..at + c.len_utf8()) else { break };
            alike = beginning_with(alike, prefix);
            let Some((shortest, node)) = alike.first() else { break };
            if shortest.len() == prefix.len() {
                found.push((prefix.len(), *node));
            }
        }
        found.reverse();
        found
    }

    /// The spellings in a normalised text and what they stand for, from left to right, the
    /// longest first where they overlap. Between letters of a script with spaces no spelling
    /// begins or ends.
    pub(crate) fn find(&self, text: &str) -> Vec<(Range<usize>, Node)> {
        let mut found = Vec::new();
        let mut end = 0;
        for (start, _) in text.char_indices() {
            if start >= end
                && is_boundary(text, start)
                && let Some((stop, node)) = self.longest(text, start)
            {
                found.push((start..stop, node));
                end = stop;
            }
        }
        found
    }

    /// The longest spelling that stands at `start`: its end and what it stands for.
    fn longest(&self, text: &str, start: usize) -> Option<(usize, Node)> {
        let rest = text.get(start..)?;
        // What begins like the text so far, which gets less with each character.
        let mut alike = self.0.as_slice();
        let mut longest = None;
        for (at, c) in rest.char_indices() {
            let prefix = rest.get(..at + c.len_utf8())?;
            alike = beginning_with(alike, prefix);
            let Some((shortest, node)) = alike.first() else { break };
            if shortest.len() == prefix.len() && is_boundary(text, start + prefix.len()) {
                longest = Some((start + prefix.len(), *node));
            }
            if alike.len() == 1 && shortest.len() == prefix.len() {
                break;
            }
        }
        longest
    }
}

/// Of sorted spellings, those that begin with `prefix`.
fn beginning_with<'s>(sorted: &'s [(Arc<str>, Node)], prefix: &str) -> &'s [(Arc<str>, Node)] {
    let (_, from) = sorted.split_at(sorted.partition_point(|(known, _)| **known < *prefix));
    from.split_at(from.partition_point(|(known, _)| known.starts_with(prefix))).0
}

fn is_boundary(text: &str, at: usize) -> bool {
    let Some((before, after)) = text.split_at_checked(at) else { return false };
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() && !is_cjk(c));
    !(is_letter(before.chars().next_back()) && is_letter(after.chars().next()))
}

/// Scripts in which a name stands against other words without a space: Kana, Kanji, and
/// Hangul with its particles.
const fn is_cjk(c: char) -> bool {
    matches!(c, '\u{3005}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3134f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spellings(names: &[&str], aliases: &[(&str, Node)]) -> Gazetteer {
        let names = names.iter().zip(0..).map(|(&name, node)| (Arc::from(name), node));
        let aliases = aliases.iter().map(|&(alias, node)| (Arc::from(alias), node));
        Gazetteer::new(names, aliases)
    }

    fn check(text: &str, expected: &[&str]) {
        let names =
            ["new york", "new york city", "york", "ai", "東京", "東京都", "서울", "ada lovelace"];
        let known = spellings(
            &names,
            &[("lovelace", 7), ("york", 7), ("big apple", 0), ("apple", 0), ("apple", 1)],
        );
        let found: Vec<&str> = known.find(text).into_iter().map(|(span, _)| &text[span]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_longest_names_are_found() {
        check("is new york city larger than york", &["new york city", "york"]);
        check("new york cities", &["new york"]);
        check("new yorker", &[]);
        check("the lovelace engine in the big apple", &["lovelace", "big apple"]);
        check("an apple", &[]);
        check("does she paint with ai", &["ai"]);
        check("", &[]);
    }

    #[test]
    fn names_without_spaces_around_them_are_found() {
        check("東京の天気と東京都知事", &["東京", "東京都"]);
        check("서울의 날씨", &["서울"]);
        check("aiと東京", &["ai", "東京"]);
    }

    #[test]
    fn every_spelling_that_a_text_begins_with_is_told() {
        let known = spellings(&["東", "東京", "東京都", "京都", "new york"], &[("new", 4)]);
        assert_eq!(known.starts("東京都庁"), [(9, 2), (6, 1), (3, 0)]);
        assert_eq!(known.starts("new york city"), [(8, 4), (3, 4)]);
        assert_eq!(known.starts("北"), []);
        assert_eq!(known.starts(""), []);
    }

    #[test]
    fn an_alias_stands_for_one_entity() {
        let known = spellings(&["a b", "c"], &[("b", 0), ("c", 0), ("d", 0), ("d", 1), ("", 1)]);
        assert_eq!(
            ["a b", "b", "c", "d", ""].map(|spelling| known.get(spelling)),
            [Some(0), Some(0), Some(1), None, None]
        );
    }

    proptest! {
        #[test]
        fn what_is_found_is_known_and_apart(
            names in prop::collection::btree_set("[ab 東]{1,4}", 1..12), text in "[ab 東]{0,30}"
        ) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let known = spellings(&names, &[]);
            let mut last = 0;
            for (span, node) in known.find(&text) {
                prop_assert!(span.start >= last);
                last = span.end;
                prop_assert_eq!(names[node as usize], &text[span]);
            }
            // A name between spaces is found, or a longer one from before it.
            let padded = format!(" {} ", names[0].trim());
            if padded.trim() == names[0] {
                prop_assert!(!known.find(&padded).is_empty());
            }
        }
    }
}
