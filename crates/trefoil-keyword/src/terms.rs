use tantivy::tokenizer::{Token, TokenStream, Tokenizer};
use trefoil_core::{Analyzer, Language};

/// Name under which [`TermReader`] is registered.
pub(crate) const TERM_READER: &str = "terms";

/// The longest term that tantivy can index, in bytes; longer ones are left out.
const LONGEST: usize = u16::MAX as usize - 6;

/// The terms of a text with their positions, written as one string that a
/// [`TermReader`] reads back inside tantivy: for each term its step from the position
/// before, its length in bytes, and itself. (tantivy has pre-tokenised strings, but
/// sends them through JSON several times a document.)
#[derive(Clone, Debug, Default)]
pub(crate) struct Terms {
    encoded: String,
    last: u32,
    count: u64,
}

impl Terms {
    /// Analyses `text` after what is there already, `gap` positions later.
    pub(crate) fn append(
        &mut self,
        analyzer: &dyn Analyzer,
        text: &str,
        language: Language,
        gap: u32,
    ) {
        let start = if self.encoded.is_empty() { 0 } else { self.last.saturating_add(gap) };
        analyzer.analyze(text, language, &mut |token| {
            self.push(&token.term, start.saturating_add(token.position));
        });
    }

    fn push(&mut self, term: &str, position: u32) {
        if term.is_empty() || term.len() > LONGEST {
            return;
        }
        let step = position.saturating_sub(self.last);
        self.last += step;
        for number in [step as usize, term.len()] {
            self.encoded.push_str(&number.to_string());
            self.encoded.push(' ');
        }
        self.encoded.push_str(term);
        self.count += 1;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// The string for a [`TermReader`].
    pub(crate) fn encoded(&self) -> &str {
        &self.encoded
    }
}

/// Reads [`Terms`] as tantivy tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct TermReader(Token);

impl Tokenizer for TermReader {
    type TokenStream<'a> = TermStream<'a>;

    fn token_stream<'a>(&'a mut self, encoded: &'a str) -> TermStream<'a> {
        self.0.reset();
        self.0.position = 0;
        TermStream { rest: encoded, token: &mut self.0 }
    }
}

#[derive(Debug)]
pub(crate) struct TermStream<'a> {
    rest: &'a str,
    token: &'a mut Token,
}

impl TermStream<'_> {
    fn number(&mut self) -> Option<usize> {
        let (number, rest) = self.rest.split_once(' ')?;
        self.rest = rest;
        number.parse().ok()
    }

    fn next(&mut self) -> Option<()> {
        let (step, length) = (self.number()?, self.number()?);
        let (term, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        self.token.position += step;
        self.token.text.clear();
        self.token.text.push_str(term);
        Some(())
    }
}

impl TokenStream for TermStream<'_> {
    fn advance(&mut self) -> bool {
        self.next().is_some()
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(encoded: &str) -> Vec<(String, usize)> {
        let mut reader = TermReader::default();
        let mut stream = reader.token_stream(encoded);
        let mut terms = Vec::new();
        while stream.advance() {
            terms.push((stream.token().text.clone(), stream.token().position));
        }
        terms
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(steps in proptest::collection::vec(("\\PC{1,9}|[ 0-9]{1,9}", 0_u32..300), 0..30)) {
            let (mut terms, mut expected, mut position) = (Terms::default(), Vec::new(), 0);
            for (term, step) in steps {
                position += step;
                terms.push(&term, position);
                expected.push((term, position as usize));
            }
            prop_assert_eq!(read(terms.encoded()), expected);
        }

        #[test]
        fn any_other_string_reads_without_panic(text in "[ 0-9a-zé]{0,40}") {
            read(&text);
        }
    }

    #[test]
    fn empty_and_endless_terms_are_left_out() {
        let mut terms = Terms::default();
        terms.push("", 0);
        terms.push(&"x".repeat(70_000), 1);
        terms.push("kept", 2);
        assert_eq!(read(terms.encoded()), [("kept".to_owned(), 2)]);
    }
}
