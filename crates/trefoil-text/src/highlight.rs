use std::collections::HashMap;

use trefoil_core::{Analyzer, ByteSpan, Highlight, Language, Offsets};

use crate::{script::Script, sentence::sentences_near};

/// Length of a fragment unless the caller says otherwise, in characters.
pub const FRAGMENT_CHARS: usize = 150;

/// Longest fragment, in characters; what a caller asks beyond it is cut to it.
pub const MAX_FRAGMENT_CHARS: usize = 500;

/// What a term is worth in a fragment.
const FULL_WEIGHT: u32 = 10;

/// The same of a term that is part of another term of the question, as a bigram is of
/// a Katakana word.
const INNER_WEIGHT: u32 = 5;

/// The same of a part of one character, which may well stand in an unrelated word.
const FAINT_WEIGHT: u32 = 1;

/// A sentence with this many terms says something by itself.
const TELLING_TERMS: usize = 4;

/// Finds what a question shares with a text, and the part of the text that shows most
/// of it. Made once a question.
///
/// Terms are compared as the analyser makes them, so a match is marked in the original
/// however it was normalised. Stop words are marked only if the question has nothing
/// else, single Kanji of a longer word only if nothing longer matches.
#[derive(Debug)]
pub struct Highlighter<'a> {
    analyzer: &'a dyn Analyzer,
    /// Each term of the question and its place in `weights`.
    ids: HashMap<String, usize>,
    /// What a term is worth; 0 for one that is not to be marked. The last is the whole
    /// question's: more than all its terms together.
    weights: Vec<u32>,
    /// The whole question: its terms and their positions, from 0.
    phrase: Vec<(usize, u32)>,
}

/// A term of the question in a text.
#[derive(Clone, Copy, Debug)]
struct Match {
    id: usize,
    span: ByteSpan,
}

impl<'a> Highlighter<'a> {
    /// A highlighter for one question.
    pub fn new(analyzer: &'a dyn Analyzer, question: &str, language: Language) -> Self {
        let mut tokens = Vec::new();
        analyzer.analyze(question, language, &mut |token| {
            tokens.push((token.term.into_owned(), token.span, token.position, token.stop));
        });
        let only_stops = tokens.iter().all(|&(.., stop)| stop);
        let first_position = tokens.first().map_or(0, |&(_, _, position, _)| position);
        let mut ids = HashMap::new();
        let mut weights: Vec<u32> = Vec::new();
        let mut phrase = Vec::new();
        for (term, span, position, stop) in &tokens {
            let is_inner = tokens.iter().any(|(_, outer, ..)| {
                outer.start <= span.start
                    && span.end <= outer.end
                    && outer.end - outer.start > span.end - span.start
            });
            let weight = match (stop, is_inner) {
                (true, _) if !only_stops => 0,
                (_, true) if term.chars().nth(1).is_none() => FAINT_WEIGHT,
                (_, true) => INNER_WEIGHT,
                (_, false) => FULL_WEIGHT,
            };
            let next = weights.len();
            let id = *ids.entry(term.clone()).or_insert(next);
            match weights.get_mut(id) {
                Some(known) => *known = (*known).max(weight),
                None => weights.push(weight),
            }
            phrase.push((id, position.saturating_sub(first_position)));
        }
        weights.push(weights.iter().sum::<u32>() + 1);
        Self { analyzer, ids, weights, phrase }
    }

    /// The part of `text`, at most `max_chars` characters, that shows most of the
    /// question, with what matched marked; `None` if nothing matches.
    ///
    /// The part is the text's own, from the start of a sentence if possible. A place
    /// that has the whole question, up to case, width and inflection, is preferred.
    pub fn highlight(
        &self,
        field: &str,
        text: &str,
        language: Language,
        max_chars: usize,
    ) -> Option<Highlight> {
        let matches = self.matches(text, language);
        let ruler = Ruler::new(text);
        let max_chars = max_chars.clamp(1, MAX_FRAGMENT_CHARS);
        let core = self.best_window(&matches, &ruler, max_chars)?;
        let fragment = widen(text, language, &ruler, core, max_chars);
        marked(field, text, fragment, matches.iter().map(|found| found.span))
    }

    /// The first telling sentence of `text`, marked whole and cut to `max_chars`
    /// characters: for a text that was found by its meaning alone. `None` for a blank
    /// text.
    pub fn best_sentence(
        &self,
        field: &str,
        text: &str,
        language: Language,
        max_chars: usize,
    ) -> Option<Highlight> {
        let mut best: Option<(usize, ByteSpan)> = None;
        let whole = ByteSpan { start: 0, end: text.len() };
        for sentence in sentences_near(text, language, whole) {
            let mut terms = 0;
            self.analyzer.analyze(
                text.get(sentence.start..sentence.end)?,
                language,
                &mut |token| {
                    terms += usize::from(!token.stop);
                },
            );
            if best.is_none_or(|(most, _)| terms > most) {
                best = Some((terms, sentence));
            }
            if terms >= TELLING_TERMS {
                break;
            }
        }
        let (_, sentence) = best?;
        let ruler = Ruler::new(text);
        let start = ruler.chars_before(sentence.start);
        let end =
            ruler.chars_before(sentence.end).min(start + max_chars.clamp(1, MAX_FRAGMENT_CHARS));
        let end = ruler.last_boundary(text, start + 1, end);
        let fragment = ByteSpan { start: sentence.start, end: ruler.byte(end) };
        marked(field, text, fragment, std::iter::once(fragment))
    }

    /// What is to be marked in `text`, by place. The whole question is a match of its
    /// own, with the id after the last term's.
    fn matches(&self, text: &str, language: Language) -> Vec<Match> {
        let mut found = Vec::new();
        let mut places = HashMap::new();
        self.analyzer.analyze(text, language, &mut |token| {
            if let Some(&id) = self.ids.get(&*token.term) {
                found.push((Match { id, span: token.span }, token.position));
                places.insert((id, token.position), token.span);
            }
        });
        let mut matches: Vec<Match> = Vec::new();
        let first = self.phrase.first().map(|&(id, _)| id);
        for &(found, position) in found.iter().filter(|(found, _)| Some(found.id) == first) {
            // Places that overlap are one match; looking at each would be quadratic.
            if matches.last().is_some_and(|whole| found.span.start < whole.span.end) {
                continue;
            }
            let last = self.phrase.iter().rev().try_fold(found.span.end, |end, &(id, offset)| {
                Some(end.max(places.get(&(id, position.checked_add(offset)?))?.end))
            });
            if let Some(end) = last {
                matches.push(Match {
                    id: self.ids.len(),
                    span: ByteSpan { start: found.span.start, end },
                });
            }
        }
        matches.extend(
            found.iter().map(|&(found, _)| found).filter(|found| self.weight(found.id) > 0),
        );
        if matches.iter().any(|found| self.weight(found.id) > FAINT_WEIGHT) {
            matches.retain(|found| self.weight(found.id) > FAINT_WEIGHT);
        }
        matches.sort_by_key(|found| (found.span.start, found.span.end));
        matches
    }

    fn weight(&self, id: usize) -> u32 {
        self.weights.get(id).copied().unwrap_or(0)
    }

    /// The characters, from the first to after the last, of the matches that are worth
    /// most, each term counted once, among those that fit; the earliest of equals.
    fn best_window(
        &self,
        matches: &[Match],
        ruler: &Ruler,
        max_chars: usize,
    ) -> Option<(usize, usize)> {
        let mut best: Option<(u32, (usize, usize))> = None;
        let mut counts = vec![0_u32; self.weights.len()];
        let mut worth = 0;
        let mut end = 0;
        let mut ahead = matches.iter().enumerate().peekable();
        for (index, first) in matches.iter().enumerate() {
            let start = ruler.chars_before(first.span.start);
            let fits = |found: &Match| ruler.chars_before(found.span.end) <= start + max_chars;
            while let Some((_, found)) =
                ahead.next_if(|&(next, found)| next == index || fits(found))
            {
                if let Some(count) = counts.get_mut(found.id) {
                    worth += if *count == 0 { self.weight(found.id) } else { 0 };
                    *count += 1;
                }
                end = end.max(ruler.chars_before(found.span.end));
            }
            if best.is_none_or(|(most, _)| worth > most) {
                best = Some((worth, (start, end.min(start + max_chars))));
            }
            if let Some(count) = counts.get_mut(first.id) {
                *count -= 1;
                worth -= if *count == 0 { self.weight(first.id) } else { 0 };
            }
        }
        best.map(|(_, window)| window)
    }
}

/// The bytes of the fragment around the characters `core`: from the start of their
/// sentence where there is room, else from a word a little before; to the end of a
/// sentence, else of a word.
fn widen(
    text: &str,
    language: Language,
    ruler: &Ruler,
    (core_start, core_end): (usize, usize),
    max_chars: usize,
) -> ByteSpan {
    let room = max_chars.saturating_sub(core_end - core_start);
    let core_byte = ruler.byte(core_start);
    let reach = ByteSpan {
        start: ruler.byte(core_start.saturating_sub(room)),
        end: ruler.byte(core_start + max_chars),
    };
    let sentences: Vec<ByteSpan> = sentences_near(text, language, reach).collect();
    let sentence = sentences.partition_point(|sentence| sentence.start <= core_byte).checked_sub(1);
    let sentence_start = sentence
        .and_then(|index| sentences.get(index))
        .map(|sentence| ruler.chars_before(sentence.start))
        .filter(|start| core_start - start <= room);
    let start = sentence_start.unwrap_or_else(|| {
        let lead = core_start.saturating_sub(room / 3);
        (lead..core_start).find(|&at| ruler.is_boundary(text, at)).unwrap_or(core_start)
    });
    let limit = (start + max_chars).min(ruler.len());
    let limit_byte = ruler.byte(limit);
    let last = sentences.partition_point(|sentence| sentence.end <= limit_byte).checked_sub(1);
    let sentence_end = last
        .and_then(|index| sentences.get(index))
        .map(|sentence| ruler.chars_before(sentence.end))
        .filter(|&end| end >= core_end);
    let end = sentence_end.unwrap_or_else(|| ruler.last_boundary(text, core_end, limit));
    ByteSpan { start: ruler.byte(start), end: ruler.byte(end) }
}

/// `fragment` of `text`, trimmed, with what of `spans` lies in it: united where they
/// touch or overlap. `spans` are sorted by their start.
fn marked(
    field: &str,
    text: &str,
    fragment: ByteSpan,
    spans: impl Iterator<Item = ByteSpan>,
) -> Option<Highlight> {
    let untrimmed = text.get(fragment.start..fragment.end)?;
    let start = fragment.start + (untrimmed.len() - untrimmed.trim_start().len());
    let trimmed = untrimmed.trim();
    let mut offsets: Vec<Offsets> = Vec::new();
    for span in spans {
        let from = span.start.saturating_sub(start);
        let to = span.end.saturating_sub(start).min(trimmed.len());
        match offsets.last_mut() {
            _ if from >= to => {}
            Some(last) if from <= last.end => last.end = last.end.max(to),
            _ => offsets.push(Offsets { start: from, end: to }),
        }
    }
    (!offsets.is_empty()).then(|| Highlight {
        field: field.to_owned(),
        fragment: trimmed.to_owned(),
        offsets,
    })
}

/// Characters to bytes and back.
struct Ruler {
    /// Byte offset of each character, and of the end.
    starts: Vec<usize>,
}

impl Ruler {
    fn new(text: &str) -> Self {
        Self { starts: text.char_indices().map(|(at, _)| at).chain([text.len()]).collect() }
    }

    /// Number of characters.
    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    fn byte(&self, character: usize) -> usize {
        self.starts.get(character).or(self.starts.last()).copied().unwrap_or(0)
    }

    fn chars_before(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start < byte)
    }

    /// True if the text may be cut before this character: not inside a word of a script
    /// with spaces, nor before a mark or next to a joiner.
    fn is_boundary(&self, text: &str, character: usize) -> bool {
        let (before, after) = text.split_at(self.byte(character));
        let (Some(before), Some(after)) = (before.chars().next_back(), after.chars().next()) else {
            return true;
        };
        let joined =
            |c| matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
        let (left, right) = (Script::of(before), Script::of(after));
        let in_word = left != Script::Other && !left.is_cjk() && right == Script::Spaced;
        !in_word && right != Script::Mark && !joined(after) && before != '\u{200d}'
    }

    /// The last place from `least` to `most` where the text may be cut; `most` if there
    /// is none.
    fn last_boundary(&self, text: &str, least: usize, most: usize) -> usize {
        (least..=most).rev().find(|&at| self.is_boundary(text, at)).unwrap_or(most)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{ScriptAnalyzer, language_of};

    fn highlight(question: &str, text: &str, max_chars: usize) -> Option<Highlight> {
        let analyzer = ScriptAnalyzer::new();
        let highlighter = Highlighter::new(&analyzer, question, language_of(question));
        highlighter.highlight("text", text, language_of(text), max_chars)
    }

    /// The fragment with its marks in braces.
    fn braced(highlight: &Highlight) -> String {
        let mut out = String::new();
        let mut done = 0;
        for offsets in &highlight.offsets {
            out += &highlight.fragment[done..offsets.start];
            out += &["{", &highlight.fragment[offsets.start..offsets.end], "}"].concat();
            done = offsets.end;
        }
        out + &highlight.fragment[done..]
    }

    #[track_caller]
    fn check(question: &str, text: &str, expected: &str) {
        let highlight = highlight(question, text, FRAGMENT_CHARS);
        assert_eq!(highlight.as_ref().map(braced).as_deref().unwrap_or("nothing"), expected);
    }

    #[track_caller]
    fn check_short(question: &str, text: &str, max_chars: usize, expected: &str) {
        let highlight = highlight(question, text, max_chars).unwrap();
        assert_eq!(braced(&highlight), expected);
    }

    #[test]
    fn what_matched_is_marked_in_the_original() {
        check("running", "She runs daily.", "She {runs} daily.");
        check("react", "ＲＥＡＣＴ と Vue", "{ＲＥＡＣＴ} と Vue");
        check("ガイド", "旅の ｶﾞｲﾄﾞ です", "旅の {ｶﾞｲﾄﾞ} です");
        check("東京の天気", "明日の東京の天気は晴れ", "明日の{東京の天気}は晴れ");
        check("東京の天気", "天気は東京で", "{天気}は{東京}で");
        check("한국어 문법", "한국어를 배우는 문법책", "{한국어}를 배우는 {문법}책");
        check("first", "the \u{fb01}rst", "the {\u{fb01}rst}");
        check("rust", "Go and Zig", "nothing");
        check("rust", "", "nothing");
        check("", "text", "nothing");
    }

    #[test]
    fn stop_words_are_marked_only_alone() {
        check("what is the cat", "The cat is what it is.", "The {cat} is what it is.");
        check("what is it", "It matters.", "{It} matters.");
    }

    #[test]
    fn a_single_kanji_of_a_word_is_marked_only_if_nothing_longer_is() {
        check("東京", "東京と京都", "{東京}と京都");
        check("東京", "京都", "{京}都");
    }

    #[test]
    fn the_whole_question_wins() {
        let text = "Memory costs. Leaks cost. A leak of memory, as some say. How to find a memory leak fast.";
        check_short("memory leak", text, 40, "How to find a {memory leak} fast.");
    }

    #[test]
    fn the_fragment_shows_most_of_the_question() {
        let text = "A cat sat on a mat for the whole day. Nothing happened at all to it. The cat met a dog.";
        check_short("cat dog", text, 30, "The {cat} met a {dog}.");
        check_short("day", text, 24, "whole {day}.");
        check_short("東京", "これはとても長い前置きの文章です東京です", 6, "す{東京}です");
        check_short("abcdefghij", "xx abcdefghij", 4, "{abcd}");
    }

    #[test]
    fn the_best_sentence_is_marked_whole() {
        let analyzer = ScriptAnalyzer::new();
        let highlighter = Highlighter::new(&analyzer, "花見", Language::Ja);
        let best = |text, max| {
            highlighter.best_sentence("text", text, Language::En, max).map(|h| braced(&h))
        };
        assert_eq!(
            best("Spring.\nCherry blossoms open in early April. More.", 150).unwrap(),
            "{Cherry blossoms open in early April.}"
        );
        assert_eq!(best("Cherry blossoms open", 10).unwrap(), "{Cherry}");
        assert_eq!(best(" \n", 10), None);
    }

    proptest! {
        #[test]
        fn fragments_are_short_parts_of_the_text_and_marks_are_valid(
            question in "(東京|データ|한국|run|[a-c]|\\PC| ){1,6}",
            text in "(東京|データ|ﾃﾞｰﾀ|한국|running|[a-c]|\\PC|[\u{300}-\u{310}ｦ-ﾟᄀ-ᇿ\u{200b}-\u{200f}😀]|\n|。|\\. ){0,60}",
            max_chars in 0_usize..80,
        ) {
            let analyzer = ScriptAnalyzer::new();
            let highlighter = Highlighter::new(&analyzer, &question, Language::En);
            let limit = max_chars.max(1);
            for found in [
                highlighter.highlight("text", &text, Language::Ja, max_chars),
                highlighter.best_sentence("text", &text, Language::Ko, max_chars),
            ].into_iter().flatten() {
                prop_assert!(text.contains(&found.fragment));
                prop_assert!(found.fragment.chars().count() <= limit);
                prop_assert!(!found.offsets.is_empty());
                let mut end = None;
                for offsets in &found.offsets {
                    prop_assert!(offsets.start < offsets.end);
                    prop_assert!(end.is_none_or(|end| end < offsets.start));
                    prop_assert!(found.fragment.get(offsets.start..offsets.end).is_some());
                    end = Some(offsets.end);
                }
            }
        }
    }
}
