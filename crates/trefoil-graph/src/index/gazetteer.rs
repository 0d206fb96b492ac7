//! The names and aliases of entities, to find them in a question.

use std::{ops::Range, sync::Arc};

use trefoil_core::Result;

use super::entity_cache::{Beginning, Kept};
use crate::{Node, index::snapshot::View};

/// Beginnings of so many characters are kept: they are searched for in all spellings, and each
/// further character in those that are left.
const KEPT_CHARS: usize = 3;

/// The spellings in some segments, and what each stands for; one that stands for nothing is
/// none.
pub(super) struct Gazetteer<'v, F> {
    pub(crate) views: &'v [View],
    /// What short texts are the beginning of.
    pub(crate) beginnings: &'v Kept<String, Arc<Beginning>>,
    pub(crate) resolve: F,
}

impl<F: Fn(&str) -> Result<Option<Node>>> Gazetteer<'_, F> {
    /// The spellings that a normalised text begins with, the longest first, whatever follows.
    pub(crate) fn starts(&self, text: &str) -> Result<Vec<(usize, Node)>> {
        let mut found = Vec::new();
        self.each_beginning(text, |end, node| found.push((end, node)))?;
        found.reverse();
        Ok(found)
    }

    /// The spellings in a normalised text and what they stand for, from left to right, the
    /// longest first where they overlap. Between letters of a script with spaces no spelling
    /// begins or ends.
    pub(crate) fn find(&self, text: &str) -> Result<Vec<(Range<usize>, Node)>> {
        let mut found = Vec::new();
        let mut end = 0;
        for (start, _) in text.char_indices() {
            if start >= end
                && is_boundary(text, start)
                && let Some((stop, node)) = self.longest(text, start)?
            {
                found.push((start..stop, node));
                end = stop;
            }
        }
        Ok(found)
    }

    /// The longest spelling that stands at `start`: its end and what it stands for.
    fn longest(&self, text: &str, start: usize) -> Result<Option<(usize, Node)>> {
        let mut longest = None;
        let rest = text.get(start..).unwrap_or_default();
        self.each_beginning(rest, |len, node| {
            if is_boundary(text, start + len) {
                longest = Some((start + len, node));
            }
        })?;
        Ok(longest)
    }

    /// Tells the spellings that a text begins with, from the shortest.
    fn each_beginning(&self, text: &str, mut tell: impl FnMut(usize, Node)) -> Result<()> {
        let all = (0..self.views.len()).map(|place| (place, 0)).collect();
        let mut last = Arc::new(Beginning { places: all, is_known: false });
        for (count, (at, c)) in text.char_indices().enumerate() {
            let Some(prefix) = text.get(..at + c.len_utf8()) else { break };
            let go_on = || self.beginning(prefix, &last).map(Arc::new);
            let next = if count < KEPT_CHARS {
                self.beginnings.get(prefix.to_owned(), go_on)?
            } else {
                go_on()?
            };
            if next.is_known
                && let Some(node) = (self.resolve)(prefix)?
            {
                tell(prefix.len(), node);
            }
            if next.places.is_empty() {
                break;
            }
            last = next;
        }
        Ok(())
    }

    /// What a text is the beginning of, where that of the text without its last character is
    /// known.
    fn beginning(&self, prefix: &str, shorter: &Beginning) -> Result<Beginning> {
        let mut beginning = Beginning::default();
        for &(place, first) in &shorter.places {
            let Some(view) = self.views.get(place) else { continue };
            let first = view.segment.spelling_from(first, prefix)?;
            let spelling = view.segment.spelling(first)?;
            beginning.is_known |= spelling == Some(prefix.as_bytes());
            if spelling.is_some_and(|spelling| spelling.starts_with(prefix.as_bytes())) {
                beginning.places.push((place, first));
            }
        }
        Ok(beginning)
    }
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
    use crate::{GraphIndex, fixture::named};

    /// What some names are called, each mentioned by a chunk of its own, in two segments.
    struct Known {
        names: Vec<String>,
        index: GraphIndex,
    }

    impl Known {
        fn place(&self, node: Node) -> Node {
            let name = self.index.normalized_name(node).unwrap();
            (0..).zip(&self.names).find(|(_, one)| *one == name).unwrap().0
        }

        fn find(&self, text: &str) -> Vec<(Range<usize>, Node)> {
            let found = self.index.link(text).into_iter();
            found.map(|(span, entity)| (span, self.place(entity.node))).collect()
        }

        fn starts(&self, text: &str) -> Vec<(usize, Node)> {
            let found = self.index.starts(text).into_iter();
            found.map(|(len, entity)| (len, self.place(entity.node))).collect()
        }

        fn get(&self, spelling: &str) -> Option<Node> {
            self.index.find(spelling).map(|entity| self.place(entity.node))
        }
    }

    fn spellings(names: &[&str], aliases: &[(&str, Node)]) -> Known {
        let said = (0..).zip(names).map(|(node, &name)| {
            let called = aliases.iter().filter(|(_, of)| *of == node);
            (name.to_owned(), called.map(|(alias, _)| (*alias).to_owned()).collect())
        });
        let said: Vec<(String, Vec<String>)> = said.collect();
        let index = named(&said, 2);
        Known { names: names.iter().map(|&name| name.to_owned()).collect(), index }
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
