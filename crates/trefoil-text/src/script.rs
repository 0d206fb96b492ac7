/// How a character is analysed, told from its code point. Widths and compatibility
/// forms of one character are in one class, so that text can be classed before it is
/// normalised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Letters and digits of scripts that put spaces between words: Latin, Greek,
    /// Cyrillic, Arabic and the others.
    Spaced,
    /// Chinese characters, in Japanese called Kanji.
    Han,
    /// Hiragana.
    Hiragana,
    /// Katakana.
    Katakana,
    /// Korean syllables and their letters.
    Hangul,
    /// Marks that belong to the character before them, and the Japanese long vowel sign.
    Mark,
    /// Spaces, punctuation, symbols, emoji.
    Other,
}

impl Script {
    pub(crate) fn of(c: char) -> Self {
        match c {
            '0'..='9' | 'A'..='Z' | 'a'..='z' => Self::Spaced,
            '\0'..='\x7f' => Self::Other,
            '々'
            | '〆'
            | '〇'
            | '\u{3400}'..='\u{4dbf}'
            | '\u{4e00}'..='\u{9fff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}' => Self::Han,
            'ー' | '\u{ff70}' | '\u{3099}' | '\u{309a}' | '\u{ff9e}' | '\u{ff9f}' => Self::Mark,
            '\u{3041}'..='\u{3096}' | 'ゝ' | 'ゞ' | 'ゟ' | '\u{1b001}'..='\u{1b11f}' => {
                Self::Hiragana
            }
            '\u{30a1}'..='\u{30fa}'
            | 'ヽ'..='ヿ'
            | '\u{31f0}'..='\u{31ff}'
            | '\u{ff66}'..='\u{ff9d}' => Self::Katakana,
            '\u{ac00}'..='\u{d7a3}'
            | '\u{1100}'..='\u{11ff}'
            | '\u{3131}'..='\u{318e}'
            | '\u{a960}'..='\u{a97c}'
            | '\u{d7b0}'..='\u{d7fb}'
            | '\u{ffa0}'..='\u{ffdc}' => Self::Hangul,
            _ if unicode_normalization::char::is_combining_mark(c) => Self::Mark,
            _ if c.is_alphanumeric() => Self::Spaced,
            _ => Self::Other,
        }
    }

    /// True for the scripts that one Japanese word may mix.
    pub(crate) const fn is_japanese(self) -> bool {
        matches!(self, Self::Han | Self::Hiragana | Self::Katakana)
    }

    /// True for the scripts that are read without spaces, or analysed as if they were.
    pub(crate) const fn is_cjk(self) -> bool {
        self.is_japanese() || matches!(self, Self::Hangul)
    }
}

/// Consecutive characters of one script; a mark goes with what it stands after.
pub(crate) struct Run<'t> {
    pub(crate) script: Script,
    /// Byte offset of the run.
    pub(crate) start: usize,
    pub(crate) text: &'t str,
}

/// The runs of a text, in order; they cover it whole.
pub(crate) fn runs(text: &str) -> impl Iterator<Item = Run<'_>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = text.get(start..)?;
        if let Some((script, end)) = ascii_run(rest) {
            let run = Run { script, start, text: rest.get(..end)? };
            start += end;
            return Some(run);
        }
        let mut scripts = rest.char_indices().map(|(at, c)| (at, Script::of(c)));
        let (_, first) = scripts.next()?;
        // A mark with nothing before it: the long vowel sign alone is Katakana.
        let script = if first != Script::Mark {
            first
        } else if rest.starts_with('ー') {
            Script::Katakana
        } else {
            Script::Other
        };
        let end = scripts
            .find(|&(_, s)| s != script && s != Script::Mark)
            .map_or(rest.len(), |(at, _)| at);
        let run = Run { script, start, text: rest.get(..end)? };
        start += end;
        Some(run)
    })
}

/// The run at the start of `text` if it ends before another ASCII character: the usual
/// case, at a look a byte.
fn ascii_run(text: &str) -> Option<(Script, usize)> {
    let bytes = text.as_bytes();
    let is_word = bytes.first()?.is_ascii_alphanumeric();
    let end = bytes
        .iter()
        .position(|b| !b.is_ascii() || b.is_ascii_alphanumeric() != is_word)
        .unwrap_or(bytes.len());
    let is_whole = end > 0 && bytes.get(end).is_none_or(u8::is_ascii);
    is_whole.then_some((if is_word { Script::Spaced } else { Script::Other }, end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[(Script, &str)]) {
        let runs: Vec<_> = runs(text).map(|run| (run.script, run.text)).collect();
        assert_eq!(runs, expected, "{text}");
    }

    #[test]
    fn a_run_ends_where_the_script_changes() {
        use Script::{Han, Hangul, Hiragana, Katakana, Other, Spaced};
        check("", &[]);
        check("a1 б", &[(Spaced, "a1"), (Other, " "), (Spaced, "б")]);
        check("東京の天気", &[(Han, "東京"), (Hiragana, "の"), (Han, "天気")]);
        check("データ時々らーめん", &[(Katakana, "データ"), (Han, "時々"), (Hiragana, "らーめん")]);
        check(
            "リアクト・ネイティブ",
            &[(Katakana, "リアクト"), (Other, "・"), (Katakana, "ネイティブ")],
        );
        check("React를", &[(Spaced, "React"), (Hangul, "를")]);
        check("ーa\u{301}", &[(Katakana, "ー"), (Spaced, "a\u{301}")]);
        check("\u{301}😀", &[(Other, "\u{301}😀")]);
    }

    #[test]
    fn widths_and_letters_of_a_script_are_one_class() {
        for c in ['ｱ', 'ア', 'ｦ', 'ヷ'] {
            assert_eq!(Script::of(c), Script::Katakana, "{c}");
        }
        for c in ['한', 'ᄒ', 'ㅎ', '\u{ffbe}'] {
            assert_eq!(Script::of(c), Script::Hangul, "{c}");
        }
        for c in ['Ａ', '９', 'ﬁ', 'ß', 'λ', 'ж', 'ש', 'ع', 'न'] {
            assert_eq!(Script::of(c), Script::Spaced, "{c}");
        }
    }

    proptest! {
        #[test]
        fn runs_cover_the_text(text in any::<String>()) {
            let mut end = 0;
            for run in runs(&text) {
                prop_assert_eq!(run.start, end);
                prop_assert!(!run.text.is_empty());
                end += run.text.len();
            }
            prop_assert_eq!(end, text.len());
        }
    }
}
