use std::{fs, path::Path};

use tokenizers::{Encoding, PostProcessor, Tokenizer as Inner, TruncationDirection};
use trefoil_core::{Error, Part, Result};

use crate::window;

/// Bytes of a text that are looked at for each token that a model takes. No language
/// comes near it; runs of spaces do.
const BYTES_PER_TOKEN: usize = 64;

/// Text to tokens, as a `tokenizer.json` says.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    inner: Inner,
    /// Marks that the model puts around one text.
    marks: usize,
    /// Marks that it puts around and between two.
    pair_marks: usize,
    max_tokens: usize,
}

/// Tokens of one text, at most as many as the model takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) ids: Vec<i64>,
    pub(crate) types: Vec<i64>,
}

/// Tokens of one text with a prefix, and where those of the text's own words stand:
/// neither the prefix, nor the model's marks, nor punctuation.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) tokens: Tokens,
    pub(crate) places: Vec<usize>,
}

impl AsRef<Tokens> for Tokens {
    fn as_ref(&self) -> &Tokens {
        self
    }
}

impl AsRef<Tokens> for Words {
    fn as_ref(&self) -> &Tokens {
        &self.tokens
    }
}

impl Tokenizer {
    /// Loads the file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub(crate) fn load(path: &Path, max_tokens: usize) -> Result<Self> {
        let bytes = fs::read(path).map_err(|error| Error::io("read", path, error))?;
        let mut inner = Inner::from_bytes(bytes).map_err(|error| Error::Corrupt {
            part: Part::Model,
            reason: format!("tokenizer `{}`: {error}", path.display()),
        })?;
        // Padding and cutting are ours: one text a run, and `count` needs the whole.
        inner.with_padding(None);
        inner.with_truncation(None).map_err(failed)?;
        let marks =
            |pair| inner.get_post_processor().map_or(0, |processor| processor.added_tokens(pair));
        let (marks, pair_marks) = (marks(false), marks(true));
        Ok(Self { inner, marks, pair_marks, max_tokens })
    }

    /// Tokens of a text between the model's marks, cut to what it takes.
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens> {
        let mut encoding = self.bare(text, self.max_tokens)?;
        cut(&mut encoding, self.max_tokens.saturating_sub(self.marks), TruncationDirection::Right);
        let encoding = self.inner.post_process(encoding, None, true).map_err(failed)?;
        Ok(encoding.into())
    }

    /// Tokens of a question and of the [`window`](Self::window) of a passage, between the
    /// model's marks, `length` in all. The question takes half of them at most.
    pub(crate) fn encode_pair(
        &self,
        question: &str,
        passage: &str,
        length: usize,
    ) -> Result<Tokens> {
        let length = length.min(self.max_tokens);
        let mut question = self.bare(question, length)?;
        cut(&mut question, length / 2, TruncationDirection::Right);
        let room = length.saturating_sub(self.pair_marks + question.len());
        let passage = self.window(question.get_ids(), passage, room)?;
        let pair = self.inner.post_process(question, Some(passage), true).map_err(failed)?;
        Ok(pair.into())
    }

    /// Tokens of a prefix and of the [`window`](Self::window) of a text that suits a
    /// question best, between the model's marks, `length` in all.
    pub(crate) fn encode_words(
        &self,
        prefix: &str,
        question: &str,
        text: &str,
        length: usize,
    ) -> Result<Words> {
        let length = length.min(self.max_tokens);
        let question = self.bare(question, length)?;
        let prefix = self.bare(prefix.trim_end(), length)?;
        let prefix_length = prefix.len();
        let room = length.saturating_sub(self.marks + prefix_length);
        let text = self.window(question.get_ids(), text, room)?;
        let encoding = Encoding::merge([prefix, text], false);
        let encoding = self.inner.post_process(encoding, None, true).map_err(failed)?;
        let is_word = |token: &String| token.chars().any(char::is_alphanumeric);
        let places = (0..)
            .zip(encoding.get_special_tokens_mask())
            .zip(encoding.get_tokens())
            .filter(|((_, special), _)| **special == 0)
            .skip(prefix_length)
            .filter_map(|((place, _), token)| is_word(token).then_some(place))
            .collect();
        Ok(Words { tokens: encoding.into(), places })
    }

    /// Tokens of the part of a passage that suits a question best, `room` at most.
    ///
    /// What stands above its first empty line, as a rule its headings, is kept unless it
    /// would take more than a third; of the rest [`window::best_start`] chooses.
    fn window(&self, question: &[u32], passage: &str, room: usize) -> Result<Encoding> {
        let (header, body) = passage.split_once("\n\n").unwrap_or(("", passage));
        let (header, body) =
            (self.bare(header, self.max_tokens)?, self.bare(body, self.max_tokens)?);
        let whole = |header, body| Encoding::merge([header, body], false);
        let (header, mut body) = if header.len() + body.len() <= room {
            return Ok(whole(header, body));
        } else if header.len() <= room / 3 {
            (header, body)
        } else {
            (Encoding::default(), whole(header, body))
        };
        let room = room - header.len();
        let start = window::best_start(question, body.get_ids(), room);
        // Tokens `start..start + room`.
        cut(&mut body, start + room, TruncationDirection::Right);
        cut(&mut body, room, TruncationDirection::Left);
        Ok(whole(header, body))
    }

    /// Tokens of a text, without marks; of a text far longer than `tokens`, the start.
    fn bare(&self, text: &str, tokens: usize) -> Result<Encoding> {
        let text = head(text, tokens.saturating_mul(BYTES_PER_TOKEN));
        self.inner.encode_fast(text, false).map_err(failed)
    }

    /// Number of tokens of the whole text, without marks.
    pub(crate) fn count(&self, text: &str) -> Result<usize> {
        Ok(self.inner.encode_fast(text, false).map_err(failed)?.len())
    }
}

impl From<Encoding> for Tokens {
    fn from(encoding: Encoding) -> Self {
        Self {
            ids: encoding.get_ids().iter().copied().map(i64::from).collect(),
            types: encoding.get_type_ids().iter().copied().map(i64::from).collect(),
        }
    }
}

/// Keeps the first (`Right`) or the last (`Left`) `length` tokens.
fn cut(encoding: &mut Encoding, length: usize, direction: TruncationDirection) {
    encoding.truncate(length, 0, direction);
    // What was cut off would be marked and paired along with the rest.
    encoding.take_overflowing();
}

/// The longest start of `text` with at most `bytes` bytes.
fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

fn failed(error: tokenizers::Error) -> Error {
    Error::backend(Part::Model, "tokenise a text", error)
}
