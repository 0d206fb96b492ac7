use std::{fs, path::Path};

use tokenizers::{PostProcessor, Tokenizer as Inner, TruncationDirection};
use trefoil_core::{Error, Part, Result};

/// Bytes of a text that are looked at for each token that a model takes. No language
/// comes near it; runs of spaces do.
const BYTES_PER_TOKEN: usize = 64;

/// Text to tokens, as a `tokenizer.json` says.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    inner: Inner,
    /// Marks that the model puts around one text.
    marks: usize,
    max_tokens: usize,
}

/// Tokens of one text, at most as many as the model takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) ids: Vec<i64>,
    pub(crate) types: Vec<i64>,
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
        let marks = inner.get_post_processor().map_or(0, |processor| processor.added_tokens(false));
        Ok(Self { inner, marks, max_tokens })
    }

    /// Tokens of a text between the model's marks, cut to what it takes.
    pub(crate) fn encode(&self, text: &str) -> Result<Tokens> {
        let text = head(text, self.max_tokens.saturating_mul(BYTES_PER_TOKEN));
        let mut encoding = self.inner.encode_fast(text, false).map_err(failed)?;
        encoding.truncate(
            self.max_tokens.saturating_sub(self.marks),
            0,
            TruncationDirection::Right,
        );
        let encoding = self.inner.post_process(encoding, None, true).map_err(failed)?;
        Ok(Tokens {
            ids: encoding.get_ids().iter().copied().map(i64::from).collect(),
            types: encoding.get_type_ids().iter().copied().map(i64::from).collect(),
        })
    }

    /// Number of tokens of the whole text, without marks.
    pub(crate) fn count(&self, text: &str) -> Result<usize> {
        Ok(self.inner.encode_fast(text, false).map_err(failed)?.len())
    }
}

/// The longest start of `text` with at most `bytes` bytes.
fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

fn failed(error: tokenizers::Error) -> Error {
    Error::backend(Part::Model, "tokenise a text", error)
}
