mod model;

use std::{fs, path::PathBuf};

use tokenizers::{Encoding, PostProcessor, TruncationDirection};
use trefoil_core::{Error, Part, Result};

use self::model::{Pipeline, pipeline};
use crate::{
    file,
    mapped_file::MappedFile,
    rerank::window,
    vocabulary::{self, MappedVocabulary},
};

/// Bytes of a text that are looked at for each token that a model takes. No language
/// comes near it; runs of spaces do.
const BYTES_PER_TOKEN: usize = 64;

/// A `tokenizer.json`, and the file next to it with its vocabulary in a form that is mapped.
#[derive(Clone, Debug)]
pub(crate) struct TokenizerFile {
    json: PathBuf,
    mapped: PathBuf,
}

/// Text to tokens, as a `tokenizer.json` says.
#[derive(Debug)]
pub(crate) struct Tokenizer {
    inner: Pipeline,
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
    /// So many tokens at the end that the others do not see.
    pub(crate) unseen: usize,
}

/// Tokens of one text with a prefix, and where those of the text's own words stand:
/// neither the prefix, nor the model's marks, nor punctuation.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub(crate) tokens: Tokens,
    pub(crate) places: Vec<usize>,
}

/// What a model of late interaction puts into a text.
#[derive(Clone, Debug)]
pub(crate) struct Marking {
    /// The token after the first.
    pub(crate) marker: Option<i64>,
    /// What follows after the text.
    pub(crate) fill: Option<Fill>,
    /// Whether punctuation is compared.
    pub(crate) with_punctuation: bool,
}

/// What a text is filled with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    /// Tokens that it has then.
    pub(crate) length: usize,
    pub(crate) token: i64,
    /// Whether the tokens of the text see them.
    pub(crate) attends: bool,
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

impl TokenizerFile {
    /// The file with this SHA-256, which is computed where it is not known.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn of(json: PathBuf, sha256: Option<String>) -> Result<Self> {
        let sha256 = sha256.map_or_else(|| file::sha256_of_file(&json), Ok)?;
        let name = format!("tokenizer-{}.bin", sha256.get(..16).unwrap_or(&sha256));
        Ok(Self { mapped: json.with_file_name(name), json })
    }

    /// Writes the mapped form unless it is there and whole. A tokenizer of a kind that is not
    /// done has none.
    ///
    /// # Errors
    /// [`Error::Io`].
    pub(crate) fn write_mapped(&self) -> Result<()> {
        if self.mapped.exists() && self.check_mapped().is_ok() {
            return Ok(());
        }
        match vocabulary::write(&self.read()?) {
            Some(bytes) => file::write_whole(&self.mapped, &bytes),
            None => Ok(()),
        }
    }

    /// Compares the mapped form with its checksum, if it is there.
    ///
    /// # Errors
    /// [`Error::Corrupt`], [`Error::Io`].
    pub(crate) fn check_mapped(&self) -> Result<()> {
        if !self.mapped.exists() {
            return Ok(());
        }
        MappedVocabulary::read(MappedFile::open(&self.mapped)?).map(drop)
    }

    /// The tokenizer over the mapped form, which is made if need be; none for one of a kind that
    /// is not done.
    fn map(&self) -> Result<Option<Pipeline>> {
        self.write_mapped()?;
        if !self.mapped.exists() {
            return Ok(None);
        }
        let vocabulary = MappedVocabulary::read(MappedFile::open(&self.mapped)?)?;
        pipeline(vocabulary).map(Some).map_err(|error| self.damaged(&error))
    }

    /// The tokenizer with everything in memory.
    fn parse(&self) -> Result<Pipeline> {
        serde_json::from_slice(&self.read()?).map_err(|error| self.damaged(&error.into()))
    }

    fn read(&self) -> Result<Vec<u8>> {
        fs::read(&self.json).map_err(|error| Error::io("read", &self.json, error))
    }

    fn damaged(&self, error: &tokenizers::Error) -> Error {
        let reason = format!("tokenizer `{}`: {error}", self.json.display());
        Error::Corrupt { part: Part::Model, reason }
    }
}

impl Tokenizer {
    /// Loads the mapped file, which is made if need be; without one the `tokenizer.json`.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`].
    pub(crate) fn load(file: &TokenizerFile, max_tokens: usize) -> Result<Self> {
        let inner = match file.map() {
            Ok(Some(inner)) => inner,
            Ok(None) => file.parse()?,
            Err(error) => {
                let (json, error) = (file.json.display(), error.chain());
                tracing::warn!("`{json}` is read as it is, without a mapped form: {error}");
                file.parse()?
            }
        };
        Self::of(inner, max_tokens)
    }

    fn of(mut inner: Pipeline, max_tokens: usize) -> Result<Self> {
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
        self.encoded(text).map(Into::into)
    }

    fn encoded(&self, text: &str) -> Result<Encoding> {
        let mut encoding = self.bare(text, self.max_tokens)?;
        cut(&mut encoding, self.max_tokens.saturating_sub(self.marks), TruncationDirection::Right);
        self.inner.post_process(encoding, None, true).map_err(failed)
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
        Ok(self.words(encoding, prefix_length))
    }

    /// The tokens of [`encode`](Self::encode) of `prefix` and `text`, and where the words of the
    /// text stand.
    pub(crate) fn encode_whole(&self, prefix: &str, text: &str) -> Result<Words> {
        let prefix_length = self.bare(prefix.trim_end(), self.max_tokens)?.len();
        Ok(self.words(self.encoded(&format!("{prefix}{text}"))?, prefix_length))
    }

    /// Tokens of the [`window`](Self::window) of a text that suits a question best, marked as a
    /// model of late interaction wants it, `length` in all; and the places of those that are
    /// compared: all, or all but punctuation.
    pub(crate) fn encode_marked(
        &self,
        marking: &Marking,
        question: &str,
        text: &str,
        length: usize,
    ) -> Result<Words> {
        let length = length.min(self.max_tokens);
        let marks = self.marks + usize::from(marking.marker.is_some());
        let asked = self.bare(question, length)?;
        let text = self.window(asked.get_ids(), text, length.saturating_sub(marks))?;
        let encoding = self.inner.post_process(text, None, true).map_err(failed)?;
        let special = encoding.get_special_tokens_mask();
        let compared = |(&token, &special): (&u32, &u32)| {
            special == 1 || marking.with_punctuation || self.is_word(token)
        };
        let mut compared: Vec<bool> =
            encoding.get_ids().iter().zip(special).map(compared).collect();
        let at = usize::from(special.first() == Some(&1));
        let mut tokens: Tokens = encoding.into();
        if let Some(marker) = marking.marker {
            tokens.ids.insert(at, marker);
            tokens.types.insert(at, 0);
            compared.insert(at, true);
        }
        if let Some(Fill { length, token, attends }) = marking.fill {
            let missing = length.min(self.max_tokens).saturating_sub(tokens.ids.len());
            tokens.ids.extend(std::iter::repeat_n(token, missing));
            tokens.types.extend(std::iter::repeat_n(0, missing));
            compared.extend(std::iter::repeat_n(true, missing));
            tokens.unseen = if attends { 0 } else { missing };
        }
        let places = (0..).zip(compared).filter_map(|(place, is)| is.then_some(place)).collect();
        Ok(Words { tokens, places })
    }

    /// The number of a token, if there is one with that text.
    pub(crate) fn id(&self, token: &str) -> Option<i64> {
        self.inner.token_to_id(token).map(i64::from)
    }

    /// Whether a token has a letter or a digit.
    fn is_word(&self, token: u32) -> bool {
        // By number: `encode_fast` leaves the texts of tokens out.
        let text = self.inner.id_to_token(token);
        text.is_some_and(|text| text.chars().any(char::is_alphanumeric))
    }

    /// Finds the words behind a prefix of so many tokens.
    fn words(&self, encoding: Encoding, prefix_length: usize) -> Words {
        let places = (0..)
            .zip(encoding.get_special_tokens_mask())
            .zip(encoding.get_ids())
            .filter(|((_, special), _)| **special == 0)
            .skip(prefix_length)
            .filter_map(|((place, _), token)| self.is_word(*token).then_some(place))
            .collect();
        Words { tokens: encoding.into(), places }
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
            unseen: 0,
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

#[cfg(test)]
mod same_tokens;

#[cfg(test)]
mod tests {
    use super::*;

    /// One token a word, numbered from 20,000 in the order of this text; 1 begins and 2 ends.
    const WORDS: &str = "query passage title where is the gold buried under old oak . :";

    fn tokenizer() -> Tokenizer {
        let words = WORDS.split(' ').zip(20_000..).map(|(word, id)| format!(r#""{word}":{id}"#));
        let vocabulary: Vec<String> = words.collect();
        let json = format!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[],
            "normalizer":null,"pre_tokenizer":{{"type":"WhitespaceSplit"}},"decoder":null,
            "post_processor":{{"type":"TemplateProcessing",
              "single":[{{"SpecialToken":{{"id":"<","type_id":0}}}},{{"Sequence":{{"id":"A","type_id":0}}}},
                {{"SpecialToken":{{"id":">","type_id":0}}}}],
              "pair":[{{"SpecialToken":{{"id":"<","type_id":0}}}},{{"Sequence":{{"id":"A","type_id":0}}}},
                {{"SpecialToken":{{"id":">","type_id":0}}}},{{"Sequence":{{"id":"B","type_id":1}}}},
                {{"SpecialToken":{{"id":">","type_id":1}}}}],
              "special_tokens":{{"<":{{"id":"<","ids":[1],"tokens":["<"]}},
                ">":{{"id":">","ids":[2],"tokens":[">"]}}}}}},
            "model":{{"type":"WordLevel","vocab":{{"?":0,"<":1,">":2,{}}},"unk_token":"?"}}}}"#,
            vocabulary.join(",")
        );
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        fs::write(&path, json).unwrap();
        Tokenizer::load(&TokenizerFile::of(path, None).unwrap(), 512).unwrap()
    }

    /// A token of [`WORDS`] as text, so that expectations can be read.
    fn shown(tokens: &Tokens) -> String {
        let word = |&id: &i64| match id {
            1 => "<",
            2 => ">",
            _ => WORDS.split(' ').nth(usize::try_from(id - 20_000).unwrap_or(99)).unwrap_or("?"),
        };
        tokens.ids.iter().map(word).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_pair_holds_the_question_the_headings_and_the_best_part() {
        let tokenizer = tokenizer();
        let check = |passage: &str, length: usize, expected: &str| {
            let pair = tokenizer.encode_pair("where is gold", passage, length).unwrap();
            assert_eq!(shown(&pair), expected, "{passage:?} in {length}");
            assert!(pair.ids.len() <= length);
            let second = pair.types.iter().filter(|&&kind| kind == 1).count();
            assert_eq!(second, pair.ids.len() - 5, "{:?}", pair.types);
        };
        let deep = "title\n\nunder the old oak . under the gold is buried . under";
        check("the gold is buried", 12, "< where is gold > the gold is buried >");
        check(deep, 12, "< where is gold > title . under the gold is >");
        check(deep, 64, &format!("< where is gold > {} >", deep.replace("\n\n", " ")));
        // Headings that take too much room are text like the rest.
        let headings = "title title title title\n\nthe gold is buried under the old oak";
        check(headings, 12, "< where is gold > title title title the gold is >");
        // A long question leaves half of the room.
        let long = tokenizer.encode_pair(&"oak ".repeat(40), "the gold", 12).unwrap();
        assert_eq!(shown(&long), "< oak oak oak oak oak oak > the gold >");
    }

    #[test]
    fn words_are_neither_marks_nor_prefix_nor_punctuation() {
        let tokenizer = tokenizer();
        let words = tokenizer.encode_words("passage : ", "gold", "the gold . oak", 64).unwrap();
        assert_eq!(shown(&words.tokens), "< passage : the gold . oak >");
        assert_eq!(words.places, [3, 4, 6]);
        let words = tokenizer.encode_words("", "gold", ". .", 64).unwrap();
        assert!(words.places.is_empty());
        let whole = tokenizer.encode_whole("passage : ", "the gold . oak").unwrap();
        assert_eq!(
            (whole.tokens, whole.places),
            (tokenizer.encode("passage : the gold . oak").unwrap(), vec![3, 4, 6])
        );
        let cut = tokenizer.encode_words("query : ", "gold", &"oak ".repeat(9), 6).unwrap();
        assert_eq!((shown(&cut.tokens).as_str(), cut.places), ("< query : oak oak >", vec![3, 4]));
    }

    #[test]
    fn a_text_of_late_interaction_is_marked_and_filled() {
        let tokenizer = tokenizer();
        let id = |token: &str| tokenizer.id(token).unwrap();
        let fill = |attends| Some(Fill { length: 7, token: id("oak"), attends });
        let encode = |marker: Option<&str>, fill, with_punctuation, text: &str| {
            let marking = Marking { marker: marker.map(id), fill, with_punctuation };
            tokenizer.encode_marked(&marking, "gold", text, 64)
        };
        let asked = encode(Some("query"), fill(false), true, "gold .").unwrap();
        assert_eq!(shown(&asked.tokens), "< query gold . > oak oak");
        assert_eq!((asked.places.len(), asked.tokens.unseen), (7, 2));
        assert_eq!(asked.tokens.types.len(), 7);
        assert_eq!(encode(Some("query"), fill(true), true, "gold").unwrap().tokens.unseen, 0);
        let read = encode(Some("passage"), None, false, "the . gold").unwrap();
        assert_eq!(shown(&read.tokens), "< passage the . gold >");
        assert_eq!((read.places, read.tokens.unseen), (vec![0, 1, 2, 4, 5], 0));
        assert_eq!(shown(&encode(None, None, true, "gold").unwrap().tokens), "< gold >");
        assert_eq!(tokenizer.id("[Q]"), None);
    }
}
