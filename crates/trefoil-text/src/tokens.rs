use std::ops::Range;

use trefoil_core::TokenCounter;

/// A piece ends at the first word that starts this many bytes in …
const PIECE_BYTES: usize = 96;
/// … or here, where there is no white space to end at.
const PIECE_BYTES_MAX: usize = 384;

/// Counts tokens without a tokenizer: a Latin letter is a quarter of a token, a
/// Chinese, Japanese or Korean character two thirds, a run of white space one letter.
///
/// ```
/// use trefoil_core::TokenCounter;
/// use trefoil_text::ApproximateTokens;
///
/// assert_eq!(ApproximateTokens.count("tokenizer"), 3);
/// assert_eq!(ApproximateTokens.count("東京都"), 2);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ApproximateTokens;

impl TokenCounter for ApproximateTokens {
    fn count(&self, text: &str) -> usize {
        // In twelfths of a token: 1/4 = 3/12, 1/1.5 = 8/12.
        let mut twelfths = 0;
        let mut after_space = false;
        for c in text.chars() {
            let space = c.is_whitespace();
            if !(space && after_space) {
                twelfths += if is_cjk(c) { 8 } else { 3 };
            }
            after_space = space;
        }
        usize::div_ceil(twelfths, 12)
    }
}

/// Radicals to ideographs with kana between, Hangul, compatibility and full-width forms.
fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11FF}'
            | '\u{2E80}'..='\u{9FFF}'
            | '\u{A960}'..='\u{A97F}'
            | '\u{AC00}'..='\u{D7FF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{FE30}'..='\u{FE4F}'
            | '\u{FF00}'..='\u{FFEF}'
            | '\u{1B000}'..='\u{1B16F}'
            | '\u{20000}'..='\u{3FFFF}'
    )
}

/// The tokens of every part of a text, each byte of which is counted once.
///
/// The text is counted in pieces of about a line, so that a span costs a look-up
/// and at most two partial pieces. The sum of the pieces is an upper bound for the
/// whole: tokenizers seldom join what white space separates, and a cut adds tokens.
#[derive(Debug)]
pub(crate) struct Measure<'t> {
    text: &'t str,
    counter: &'t dyn TokenCounter,
    /// Where each piece ends, and the tokens up to there.
    pieces: Vec<(usize, usize)>,
}

impl<'t> Measure<'t> {
    pub(crate) fn new(text: &'t str, counter: &'t dyn TokenCounter) -> Self {
        let mut measure = Self { text, counter, pieces: Vec::new() };
        let mut start = 0;
        let mut total = 0;
        let mut after_space = false;
        for (at, c) in text.char_indices() {
            let length = at - start;
            let word_starts = after_space && !c.is_whitespace();
            if length >= PIECE_BYTES_MAX || (length >= PIECE_BYTES && word_starts) {
                total += measure.count(start..at);
                measure.pieces.push((at, total));
                start = at;
            }
            after_space = c.is_whitespace();
        }
        total += measure.count(start..text.len());
        measure.pieces.push((text.len(), total));
        measure
    }

    /// The text that is measured.
    pub(crate) fn text(&self) -> &'t str {
        self.text
    }

    /// Tokens of a span of the text.
    pub(crate) fn tokens(&self, span: Range<usize>) -> usize {
        let first = self.pieces.partition_point(|&(end, _)| end <= span.start);
        let last = self.pieces.partition_point(|&(end, _)| end <= span.end);
        // `first` is the piece that holds the start; pieces before `last` end within the span.
        match (self.pieces.get(first), last.checked_sub(1).and_then(|i| self.pieces.get(i))) {
            (Some(&(head_end, head_total)), Some(&(tail_start, tail_total))) if first < last => {
                self.count(span.start..head_end)
                    + (tail_total - head_total)
                    + self.count(tail_start..span.end)
            }
            _ => self.count(span),
        }
    }

    /// Tokens of a part of the text that is given as a slice of it.
    pub(crate) fn tokens_of(&self, part: &str) -> usize {
        let offset = part.as_ptr().addr().checked_sub(self.text.as_ptr().addr());
        match offset.map(|start| start..start + part.len()) {
            Some(span) if self.text.get(span.clone()) == Some(part) => self.tokens(span),
            _ => self.counter.count(part),
        }
    }

    fn count(&self, span: Range<usize>) -> usize {
        self.text
            .get(span)
            .filter(|part| !part.is_empty())
            .map_or(0, |part| self.counter.count(part))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_are_quarters_and_cjk_two_thirds() {
        let check =
            |text: &str, tokens| assert_eq!(ApproximateTokens.count(text), tokens, "{text:?}");
        check("", 0);
        check("a", 1);
        check("abcd", 1);
        check("abcde", 2);
        check("a                  b", 1);
        check("東京の天気は晴れ", 6);
        check("서울 날씨", 3);
        check("ｶﾀｶﾅ", 3);
    }

    proptest! {
        #[test]
        fn a_span_measures_about_what_it_counts(text in "([a-z東한]{1,9}[ \n]{0,2}){0,120}", a in 0..2000usize, b in 0..2000usize) {
            let floor = |i: usize| (0..=i.min(text.len())).rev().find(|&i| text.is_char_boundary(i)).unwrap();
            let (start, end) = (floor(a.min(b)), floor(a.max(b)));
            let measure = Measure::new(&text, &ApproximateTokens);
            let counted = ApproximateTokens.count(&text[start..end]);
            let measured = measure.tokens(start..end);
            prop_assert!(counted <= measured);
            // Rounding costs less than one token a piece.
            prop_assert!(measured <= counted + 2 + (end - start) / PIECE_BYTES);
            prop_assert_eq!(measure.tokens_of(&text[start..end]), measured);
        }
    }
}
