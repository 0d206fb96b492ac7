//! The mapped form gives the tokens of the `tokenizers` crate.

use std::{path::Path, sync::LazyLock};

use proptest::prelude::{Just, Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;
use crate::{ModelHome, PullOptions};

/// Both forms of a `tokenizer.json`.
struct Both {
    _folder: Option<tempfile::TempDir>,
    mapped: Pipeline,
    parsed: tokenizers::Tokenizer,
}

impl Both {
    fn of(json: &Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        fs::write(&path, json.to_string()).unwrap();
        Self { _folder: Some(folder), ..Self::open(path) }
    }

    fn of_model(name: &str) -> Self {
        let home = ModelHome::platform().unwrap();
        home.pull(&[name], &(), PullOptions::default()).unwrap();
        Self::open(home.path(name).unwrap().join("tokenizer.json"))
    }

    fn open(path: PathBuf) -> Self {
        let mut parsed = tokenizers::Tokenizer::from_file(&path).unwrap();
        parsed.with_padding(None).with_truncation(None).unwrap();
        let mapped = TokenizerFile::of(path, None).unwrap().map().unwrap();
        Self { _folder: None, mapped: mapped.expect("a kind that is done"), parsed }
    }

    /// Number, start and end of each token by both.
    fn encode(&self, text: &str) -> [Vec<(u32, usize, usize)>; 2] {
        let of = |encoding: Encoding| -> Vec<(u32, usize, usize)> {
            let offsets = encoding.get_offsets().iter();
            encoding.get_ids().iter().zip(offsets).map(|(id, of)| (*id, of.0, of.1)).collect()
        };
        [of(self.mapped.encode(text, true).unwrap()), of(self.parsed.encode(text, true).unwrap())]
    }

    #[track_caller]
    fn check(&self, text: &str) {
        let [mapped, parsed] = self.encode(text);
        assert_eq!(mapped, parsed, "{text:?}");
    }
}

fn special(id: usize, content: &str) -> Value {
    json!({"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true})
}

/// Of the shape that the converter writes.
fn unigram(pieces: &[(String, f64)]) -> Value {
    let mut vocabulary = vec![json!(["<s>", 0.0]), json!(["<unk>", 0.0])];
    vocabulary.extend(pieces.iter().map(|piece| json!(piece)));
    json!({"version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(0, "<s>"), special(1, "<unk>"), special(99, "<added>")],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}, {"type": "NFKC"},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false},
        "post_processor": null, "decoder": null,
        "model": {"type": "Unigram", "unk_id": 1, "vocab": vocabulary, "byte_fallback": false}})
}

fn word_piece(pieces: &[String]) -> Value {
    let pieces: std::collections::BTreeSet<&String> = pieces.iter().collect();
    let mut vocabulary = serde_json::Map::from_iter([("[UNK]".to_owned(), json!(0))]);
    for (id, piece) in (1..).zip(pieces) {
        vocabulary.insert(piece.clone(), json!(id));
    }
    json!({"version": "1.0", "truncation": null, "padding": null, "added_tokens": [special(0, "[UNK]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 6, "vocab": vocabulary}})
}

/// Text in three languages, with marks, spaces and characters that are in no vocabulary.
fn text() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[abcＡé ]{0,6}",
        "[東京都のカﾊﾞ]{0,5}",
        "[가각한국어]{0,5}",
        Just("<s>".to_owned()),
        Just("<unk>".to_owned()),
        Just("<added>".to_owned()),
        Just("[UNK]".to_owned()),
        Just("  ▁ \u{200b}\n".to_owned()),
        any::<char>().prop_map(String::from),
        "\\PC{0,8}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

static E5: LazyLock<Both> = LazyLock::new(|| Both::of_model("multilingual-e5-small"));
static BERT: LazyLock<Both> = LazyLock::new(|| Both::of_model("ms-marco-MiniLM-L-12-v2"));

proptest! {
    #[test]
    fn of_any_unigram_model(
        pieces in proptest::collection::vec(("[▁abc東京가]{1,4}", -9.0..1.0_f64), 0..60),
        texts in proptest::collection::vec(text(), 8),
    ) {
        let both = Both::of(&unigram(&pieces));
        for text in texts {
            let [mapped, parsed] = both.encode(&text);
            prop_assert_eq!(mapped, parsed, "{:?}", text);
        }
    }

    #[test]
    fn of_any_word_piece_model(
        pieces in proptest::collection::vec("(##)?[abce東京가]{0,3}", 0..60),
        texts in proptest::collection::vec(text(), 8),
    ) {
        let both = Both::of(&word_piece(&pieces));
        for text in texts {
            let [mapped, parsed] = both.encode(&text);
            prop_assert_eq!(mapped, parsed, "{:?}", text);
        }
    }

    #[test]
    fn of_the_default_models(text in text()) {
        for both in [&*E5, &*BERT] {
            let [mapped, parsed] = both.encode(&text);
            prop_assert_eq!(mapped, parsed, "{:?}", text);
        }
    }
}

#[test]
fn of_the_default_models_for_real_text() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
    let mut folders = vec![fixtures];
    let mut read = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let text: String = text.chars().take(50_000).collect();
                E5.check(&text);
                BERT.check(&text);
                read += 1;
            }
        }
    }
    assert!(read > 20, "{read} fixtures");
}

#[test]
fn a_tokenizer_of_another_kind_is_read_as_it_is() {
    let mut byte_fallback = unigram(&[]);
    byte_fallback["model"]["byte_fallback"] = json!(true);
    let mut sparse = word_piece(&["a".to_owned()]);
    sparse["model"]["vocab"]["a"] = json!(7);
    let mut open = unigram(&[]);
    open["model"]["unk_id"] = json!(null);
    for json in [byte_fallback, sparse, open] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokenizer.json");
        fs::write(&path, json.to_string()).unwrap();
        let file = TokenizerFile::of(path, None).unwrap();
        assert!(file.map().unwrap().is_none(), "{json}");
        let parsed = tokenizers::Tokenizer::from_bytes(json.to_string()).unwrap();
        let tokenizer = Tokenizer::load(&file, 512).unwrap();
        let Ok(expected) = parsed.encode("a b", false) else { continue };
        assert_eq!(tokenizer.count("a b").unwrap(), expected.len());
    }
}

#[test]
fn a_damaged_file_is_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokenizer.json");
    fs::write(&path, unigram(&[("▁a".to_owned(), -1.0)]).to_string()).unwrap();
    let file = TokenizerFile::of(path, None).unwrap();
    file.write_mapped().unwrap();
    let whole = fs::read(&file.mapped).unwrap();
    for at in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        fs::write(&file.mapped, &damaged).unwrap();
        assert!(file.check_mapped().is_err(), "byte {at}");
        assert!(
            vocabulary::MappedVocabulary::read(MappedFile::open(&file.mapped).unwrap()).is_err()
        );
    }
    for length in [0, 1, 20, whole.len() / 2, whole.len() - 1] {
        fs::write(&file.mapped, &whole[..length]).unwrap();
        assert!(file.check_mapped().is_err(), "{length} bytes");
    }
    assert_eq!(Tokenizer::load(&file, 512).unwrap().count("a a").unwrap(), 2);
    assert_eq!(fs::read(&file.mapped).unwrap(), whole);
}
