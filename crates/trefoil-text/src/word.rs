mod few;

use icu_segmenter::{WordSegmenter, options::WordBreakInvariantOptions};

pub use self::few::FewWords;
use crate::{
    particle::{is_nominal_ending, may_go_on},
    script::Script,
};

/// A name of this many characters is hardly ever part of another word by chance, where
/// a text is written without spaces.
const TELLING_CHARS: usize = 4;

/// Where the words of a text begin and end, to tell a word from a part of one.
///
/// | script | a stretch is whole if |
/// |---|---|
/// | Latin and others with spaces | no letter or digit stands before or after it |
/// | Hangul | it begins a word, and only particles follow it in the word |
/// | Katakana | no Katakana stands before or after it |
/// | Kanji, Hiragana | it begins and ends at a change of script or at a break of the dictionary, or has four characters |
#[derive(Debug)]
pub struct WordBounds<'t> {
    text: &'t str,
    /// Byte offsets at which a dictionary word begins or ends, in order; if no dictionary is asked,
    /// one may begin or end anywhere.
    breaks: Option<Vec<usize>>,
}

impl<'t> WordBounds<'t> {
    /// The words of `text`.
    pub fn new(text: &'t str) -> Self {
        let segmenter = WordSegmenter::new_auto(WordBreakInvariantOptions::default());
        Self { text, breaks: Some(segmenter.segment_str(text).collect()) }
    }

    /// The same by the scripts alone, which takes no dictionary: Kanji and Hiragana are whole words
    /// wherever they stand, and in Korean an ending that other nouns begin with is none.
    pub(crate) fn by_script(text: &'t str) -> Self {
        Self { text, breaks: None }
    }

    /// The dictionary's words in order, spaces and punctuation included: all of the text.
    pub fn words(&self) -> impl Iterator<Item = &'t str> {
        let breaks = self.breaks.as_deref().unwrap_or_default();
        breaks
            .iter()
            .zip(breaks.iter().skip(1))
            .filter_map(|(&start, &end)| self.text.get(start..end))
    }

    /// True if the bytes `start..end` are one or more whole words.
    pub fn is_whole(&self, start: usize, end: usize) -> bool {
        let (Some(before), Some(stretch), Some(after)) =
            (self.text.get(..start), self.text.get(start..end), self.text.get(end..))
        else {
            return false;
        };
        let long = stretch.chars().nth(TELLING_CHARS - 1).is_some();
        self.begins(before, stretch, start, long) && self.ends(stretch, after, end, long)
    }

    fn begins(&self, before: &str, stretch: &str, start: usize, long: bool) -> bool {
        let first = first_script(stretch.chars());
        if first_script(before.chars().rev()) != first {
            return true;
        }
        match first {
            Script::Han | Script::Hiragana => long || self.is_break(start),
            Script::Spaced | Script::Hangul | Script::Katakana => false,
            Script::Mark | Script::Other => true,
        }
    }

    fn ends(&self, stretch: &str, after: &str, end: usize, long: bool) -> bool {
        let last = first_script(stretch.chars().rev());
        let next = after.chars().next().map_or(Script::Other, Script::of);
        // A mark after the last letter belongs to it: the word goes on.
        if next == Script::Mark {
            return false;
        }
        if next != last {
            return true;
        }
        match last {
            Script::Han | Script::Hiragana => long || self.is_break(end),
            Script::Hangul => {
                let rest = after.find(|c| Script::of(c) != Script::Hangul).unwrap_or(after.len());
                let tail = after.get(..rest).unwrap_or_default();
                is_nominal_ending(tail) && !(self.breaks.is_none() && may_go_on(tail))
            }
            Script::Spaced | Script::Katakana => false,
            Script::Mark | Script::Other => true,
        }
    }

    fn is_break(&self, at: usize) -> bool {
        self.breaks.as_ref().is_none_or(|breaks| breaks.binary_search(&at).is_ok())
    }
}

/// The script of the first character that is no mark.
fn first_script(mut chars: impl Iterator<Item = char>) -> Script {
    chars
        .find_map(|c| Some(Script::of(c)).filter(|&script| script != Script::Mark))
        .unwrap_or(Script::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, part: &str, whole: bool) {
        let start = text.find(part).unwrap();
        let bounds = WordBounds::new(text);
        assert_eq!(bounds.is_whole(start, start + part.len()), whole, "{part} in {text}");
    }

    #[test]
    fn latin_words_end_at_letters_and_digits() {
        check("the art of war", "art", true);
        check("start here", "art", false);
        check("artist", "art", false);
        check("React's hooks", "React", true);
        check("useEffectが", "useEffect", true);
        check("React를", "React", true);
        check("naïve café", "caf", false);
    }

    #[test]
    fn japanese_names_end_where_the_script_or_the_dictionary_says() {
        check("東京の宿", "東京", true);
        check("東京都の宿", "京都", false);
        check("伊能忠敬はどこで", "伊能忠敬", true);
        check("ポスティングリスト", "リスト", false);
        check("リストの長さ", "リスト", true);
        check("サーバーの名前", "サーバ", false);
        check("昨日京都で買った", "京都", true);
    }

    #[test]
    fn a_korean_name_may_carry_particles_only() {
        check("서울에서 부산까지", "서울", true);
        check("서울역에서", "서울", false);
        check("북서울에서", "서울", false);
        check("세종대왕은 언제", "세종대왕", true);
    }

    #[test]
    fn what_is_no_range_of_the_text_is_not_whole() {
        assert!(!WordBounds::new("日本").is_whole(1, 3));
        assert!(!WordBounds::new("a").is_whole(0, 9));
    }
}
