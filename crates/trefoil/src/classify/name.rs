use std::{collections::BTreeMap, ops::Bound};

use trefoil_core::{ByteSpan, KnownName, NameLookup};
use trefoil_text::{WordBounds, normalize};

/// Known names and aliases in a sorted table, for a corpus whose names fit in memory.
/// The empty table knows nothing.
#[derive(Clone, Debug, Default)]
pub struct NameTable {
    /// By folded name: what else the thing is called.
    names: BTreeMap<String, Vec<String>>,
}

impl NameTable {
    /// Adds the names of one thing, each of which becomes an alias of the others.
    pub fn insert<S: AsRef<str>>(&mut self, names: &[S]) {
        for (at, name) in names.iter().enumerate() {
            let others = names.iter().enumerate().filter(|&(other, _)| other != at);
            let aliases = self.names.entry(fold(&normalize(name.as_ref())).text).or_default();
            for (_, other) in others {
                if !aliases.iter().any(|alias| alias == other.as_ref()) {
                    aliases.push(other.as_ref().to_owned());
                }
            }
        }
        self.names.remove("");
    }
}

impl NameLookup for NameTable {
    fn names_at(&self, text: &str) -> Vec<KnownName> {
        let mut found = Vec::new();
        let mut longest = text;
        // The names that `text` begins with sort before it. From the greatest that does
        // not sort behind, each step goes to what both have in common.
        while !longest.is_empty() {
            let range = (Bound::Unbounded, Bound::Included(longest));
            let Some((name, aliases)) = self.names.range::<str, _>(range).next_back() else {
                break;
            };
            longest = common_prefix(name, longest);
            if longest.len() == name.len() {
                found.push(KnownName { len: name.len(), aliases: aliases.clone() });
                longest = longest
                    .char_indices()
                    .next_back()
                    .and_then(|(at, _)| longest.get(..at))
                    .unwrap_or_default();
            }
        }
        found
    }
}

/// A known name in a question.
#[derive(Debug)]
pub(super) struct Known {
    /// Where it stands.
    pub(super) span: ByteSpan,
    /// What else the thing is called.
    pub(super) aliases: Vec<String>,
}

/// Fewest characters of a known name.
const SHORTEST_NAME: usize = 2;

/// The known names in a text in normal form: whole words, in order and apart, the
/// longest at each place.
pub(super) fn known_names(text: &str, names: &dyn NameLookup) -> Vec<Known> {
    let folded = fold(text);
    let bounds = WordBounds::new(text);
    let mut found: Vec<Known> = Vec::new();
    for &(at, start) in &folded.origins {
        if found.last().is_some_and(|known| start < known.span.end) {
            continue;
        }
        let Some(rest) = folded.text.get(at..) else { continue };
        found.extend(names.names_at(rest).into_iter().find_map(|KnownName { len, aliases }| {
            let end = folded.origin(at + len)?;
            let long = text.get(start..end)?.chars().nth(SHORTEST_NAME - 1).is_some();
            (long && bounds.is_whole(start, end))
                .then_some(Known { span: ByteSpan { start, end }, aliases })
        }));
    }
    found
}

/// A text as names are compared: in lower case, with single spaces.
struct Folded {
    text: String,
    /// Byte offset here and in the original, of each character that begins one there.
    origins: Vec<(usize, usize)>,
    original_len: usize,
}

impl Folded {
    /// The original's offset of a boundary; absent within a character.
    fn origin(&self, at: usize) -> Option<usize> {
        if at == self.text.len() {
            return Some(self.original_len);
        }
        let found = self.origins.binary_search_by_key(&at, |&(folded, _)| folded).ok()?;
        self.origins.get(found).map(|&(_, original)| original)
    }
}

fn fold(text: &str) -> Folded {
    let mut folded = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if c.is_whitespace() {
            if folded.ends_with(' ') {
                continue;
            }
            origins.push((folded.len(), at));
            folded.push(' ');
        } else {
            origins.push((folded.len(), at));
            folded.extend(c.to_lowercase());
        }
    }
    Folded { text: folded, origins, original_len: text.len() }
}

fn common_prefix<'t>(one: &str, other: &'t str) -> &'t str {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b);
    let len = same.map(|(c, _)| c.len_utf8()).sum();
    other.get(..len).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(names: &[&[&str]]) -> NameTable {
        let mut table = NameTable::default();
        for names in names {
            table.insert(names);
        }
        table
    }

    #[track_caller]
    fn check(names: &[&str], text: &str, expected: &[&str]) {
        let names: Vec<&[&str]> = names.iter().map(std::slice::from_ref).collect();
        let found = known_names(text, &table(&names));
        let found: Vec<&str> =
            found.iter().map(|known| &text[known.span.start..known.span.end]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_table_gives_every_name_that_a_text_begins_with() {
        let table =
            table(&[&["東京"], &["東京都"], &["東"], &["東京都庁", "都庁"], &["東北"], &["西"]]);
        let lengths = |text| -> Vec<usize> {
            table.names_at(text).iter().map(|known| known.len / '東'.len_utf8()).collect()
        };
        assert_eq!(lengths("東京都の宿"), [3, 2, 1]);
        assert_eq!(lengths("東京都庁"), [4, 3, 2, 1]);
        assert_eq!(lengths("東海"), [1]);
        assert_eq!(lengths("南"), [0; 0]);
        assert_eq!(lengths(""), [0; 0]);
        assert_eq!(table.names_at("東京都庁へ")[0].aliases, ["都庁"]);
    }

    #[test]
    fn the_longest_whole_word_is_found() {
        check(&["York", "New York", "New Yorker"], "hotels in new  york", &["new  york"]);
        check(&["New York", "New Yorker"], "two New Yorkers", &[]);
        check(&["React", "React S"], "the React Server", &["React"]);
        check(&["東京", "京都"], "東京都と京都", &["東京", "京都"]);
        check(&["リスト"], "ポスティングリスト", &[]);
        check(&["해인사"], "해인사에 가는 길", &["해인사"]);
        check(&["서울"], "서울역 보관함", &[]);
        check(&["C"], "written in C", &[]);
        check(&["İstanbul"], "the bridges of İSTANBUL today", &["İSTANBUL"]);
    }

    #[test]
    fn names_of_one_thing_are_aliases_of_each_other() {
        let table =
            table(&[&["Scanned vectors", "exact scan", "brute force"], &["exact scan", "scan"]]);
        let known = known_names("is an Exact Scan slow", &table);
        assert_eq!(known[0].aliases, ["Scanned vectors", "brute force", "scan"]);
    }
}
