//! Tokenizers of the kinds that models have, over the words of the probe.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::PIECES;

/// Every text that the test has to know the words of.
const TEXTS: [&str; 2] = [
    include_str!("../../../../fixtures/parallel/corpus.jsonl"),
    include_str!("../../../../fixtures/parallel/queries.jsonl"),
];

/// Words of Latin letters, and characters of other scripts, the most frequent first.
fn pieces() -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for line in TEXTS.iter().flat_map(|text| text.lines()) {
        let line: Value = serde_json::from_str(line).unwrap();
        let mut of_line: BTreeSet<String> = BTreeSet::new();
        for key in ["title", "text"] {
            let text = line[key].as_str().unwrap_or_default().to_lowercase();
            for word in text.split(|c: char| !c.is_alphanumeric() && c != '-') {
                if word.is_ascii() {
                    of_line.insert(word.to_owned());
                }
                of_line.extend(word.chars().map(String::from));
            }
            of_line.extend(text.chars().filter(char::is_ascii_punctuation).map(String::from));
        }
        for piece in of_line.into_iter().filter(|piece| !piece.is_empty()) {
            *counts.entry(piece).or_default() += 1;
        }
    }
    for more in "query passage search result title none text instruct given".split(' ') {
        counts.insert(more.to_owned(), usize::MAX);
    }
    let mut pieces: Vec<(usize, String)> =
        counts.into_iter().map(|(piece, count)| (count, piece)).collect();
    pieces.sort_by(|(a, x), (b, y)| b.cmp(a).then(x.cmp(y)));
    pieces.into_iter().map(|(_, piece)| piece).collect()
}

/// A tokenizer like that of XLM-R: unigrams, `<s> text </s>`, and `</s></s>` between two.
pub(crate) fn xlm_roberta() -> Value {
    let marks = ["<s>", "<pad>", "</s>", "<unk>"];
    let marked = marks.iter().map(|mark| json!([mark, 0.0]));
    // A word is worth more than its letters.
    let piece = |piece: String| {
        let score = if piece.chars().count() > 1 { -2.0 } else { -6.0 };
        [json!([format!("▁{piece}"), score]), json!([piece, score - 1.0])]
    };
    let half = (PIECES - 64) / 2;
    let pieces = pieces().into_iter().take(half).flat_map(piece).collect::<Vec<_>>();
    let vocabulary: Vec<Value> = marked.chain([json!(["▁", -7.0])]).chain(pieces).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added(&marks),
        "normalizer": { "type": "Lowercase" },
        "pre_tokenizer": {
            "type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": true
        },
        "post_processor": template(
            &[("<s>", 0)], &[("</s>", 2)], &[("</s>", 2), ("</s>", 2)],
        ),
        "decoder": null,
        "model": { "type": "Unigram", "unk_id": 3, "vocab": vocabulary, "byte_fallback": false }
    })
}

/// A tokenizer like that of BERT: words and what they go on with, `[CLS] text [SEP]`.
pub(crate) fn bert(more_marks: &[&str]) -> Value {
    let mut marks = vec!["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
    marks.extend(more_marks);
    let mut vocabulary = serde_json::Map::new();
    for piece in marks.iter().map(|&mark| mark.to_owned()).chain(pieces()).take(PIECES) {
        let id = vocabulary.len();
        vocabulary.entry(piece).or_insert(json!(id));
    }
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added(&marks),
        "normalizer": {
            "type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true,
            "strip_accents": null, "lowercase": true
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": template(&[("[CLS]", 2)], &[("[SEP]", 3)], &[("[SEP]", 3)]),
        "decoder": null,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary
        }
    })
}

/// A tokenizer like those of Gemma and Qwen: bytes that are joined, and a mark before or after.
pub(crate) fn bytes(before: Option<&str>, after: Option<&str>) -> Value {
    let marks: Vec<&str> = before.into_iter().chain(after).collect();
    let mut vocabulary = serde_json::Map::new();
    for (id, mark) in marks.iter().enumerate() {
        vocabulary.insert((*mark).to_owned(), json!(id));
    }
    // The characters that stand for bytes.
    for character in (33..=126).chain(161..=172).chain(174..=255).chain(256..324) {
        let id = vocabulary.len();
        vocabulary.insert(char::from_u32(character).unwrap().to_string(), json!(id));
    }
    let mut merges = Vec::new();
    for (a, b) in [("t", "h"), ("i", "n"), ("e", "r"), ("ã", "ģ"), ("ì", "Ŀ")] {
        let id = vocabulary.len();
        vocabulary.insert(format!("{a}{b}"), json!(id));
        merges.push(json!([a, b]));
    }
    let start: Vec<(&str, usize)> = before.into_iter().map(|mark| (mark, 0)).collect();
    let end: Vec<(&str, usize)> = after.into_iter().map(|mark| (mark, marks.len() - 1)).collect();
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": added(&marks),
        "normalizer": { "type": "NFC" },
        "pre_tokenizer": {
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": true
        },
        "post_processor": template(&start, &end, &[]),
        "decoder": null,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false,
            "ignore_merges": false, "vocab": vocabulary, "merges": merges
        }
    })
}

fn added(marks: &[&str]) -> Vec<Value> {
    let mark = |(id, content): (usize, &&str)| {
        json!({
            "id": id, "content": content, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        })
    };
    marks.iter().enumerate().map(mark).collect()
}

/// Marks before a text, after it, and between two.
fn template(before: &[(&str, usize)], after: &[(&str, usize)], between: &[(&str, usize)]) -> Value {
    let mark = |kind: usize| move |(mark, _): &(&str, usize)| json!({ "SpecialToken": { "id": mark, "type_id": kind } });
    let text = |id: &str, kind: usize| json!({ "Sequence": { "id": id, "type_id": kind } });
    let start = || before.iter().map(mark(0));
    let single: Vec<Value> =
        start().chain([text("A", 0)]).chain(after.iter().map(mark(0))).collect();
    let pair: Vec<Value> = start()
        .chain([text("A", 0)])
        .chain(between.iter().map(mark(0)))
        .chain([text("B", 1)])
        .chain(after.iter().map(mark(1)))
        .collect();
    let mut tokens = serde_json::Map::new();
    for (mark, id) in before.iter().chain(after).chain(between) {
        let token = json!({ "id": mark, "ids": [id], "tokens": [mark] });
        tokens.insert((*mark).to_owned(), token);
    }
    json!({ "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens })
}
