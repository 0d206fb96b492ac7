//! Words of Japanese and Korean with their parts of speech, by a dictionary.

use std::{fmt, path::Path};

use lindera::{
    dictionary::{Dictionary, load_fs_dictionary},
    mode::Mode,
    segmenter::Segmenter,
    worker::SegmentWorker,
};
use trefoil_core::{Error, Part, Result};

/// A dictionary and what cuts sentences with it.
#[derive(Clone)]
pub(crate) struct Tagger {
    segmenter: Segmenter,
}

/// A part of speech of one dictionary, read from the first fields of an entry.
pub(crate) trait PartOfSpeech: Sized {
    /// Reads the fields of an entry; `is_known` is false for a word that the dictionary
    /// does not have.
    fn read<'t>(fields: impl Iterator<Item = &'t str>, is_known: bool) -> Self;
}

/// A word and its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<P> {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) part: P,
}

impl Tagger {
    /// Maps the dictionary called `name` that was compiled into `folder`.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if there is none, or another one.
    pub(crate) fn open(folder: &Path, name: &str) -> Result<Self> {
        let missing = |found: String| Error::ModelMissing {
            name: name.to_owned(),
            reason: format!("{found}; run `trefoil models pull {name}`"),
        };
        let dictionary = load_fs_dictionary(folder)
            .map_err(|error| missing(format!("`{}`: {error}", folder.display())))?;
        let found = &dictionary.metadata.name;
        if found != name {
            return Err(missing(format!("`{}` holds `{found}`", folder.display())));
        }
        Ok(Self { segmenter: Segmenter::new(Mode::Normal, dictionary, None) })
    }

    /// One that keeps its memory from text to text.
    pub(crate) fn worker(&self) -> Worker {
        Worker { worker: self.segmenter.new_worker() }
    }
}

impl fmt::Debug for Tagger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tagger").field(&self.segmenter.dictionary.metadata.name).finish()
    }
}

/// A tagger at work.
pub(crate) struct Worker {
    worker: SegmentWorker,
}

impl Worker {
    /// The words of `text`, in order; white space is none.
    pub(crate) fn tag<P: PartOfSpeech>(&mut self, text: &str) -> Result<Vec<Word<P>>> {
        let tokens = self.worker.segment(text);
        let tokens =
            tokens.map_err(|error| Error::backend(Part::Text, "tag the words of a text", error))?;
        let part = |dictionary: &Dictionary, token: lindera::dictionary::WordId| {
            let id = token.id() as usize;
            if token.is_unknown() {
                P::read(dictionary.unknown_word_details_iter(id), false)
            } else {
                P::read(dictionary.word_details_iter(id), true)
            }
        };
        let words = tokens.iter().map(|token| Word {
            start: token.byte_start,
            end: token.byte_end,
            part: part(token.dictionary, token.word_id),
        });
        Ok(words.collect())
    }
}
