//! Nouns of Japanese by their parts of speech.

use trefoil_core::{MentionKind, Result};

use super::{
    found::Found,
    japanese::{self, NAME_DOTS},
    tagger::{PartOfSpeech, Word, Worker},
};
use crate::script::{Script, runs};

/// What a word of `ipadic` is to a noun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Noun,
    /// A noun that `する` makes a verb of: 参加.
    Verbal,
    Surname,
    GivenName,
    /// Any other name.
    Name,
    /// 重要, 安全.
    Adjectival,
    /// 家, 市, さん.
    Suffix,
    /// 的.
    AdjectivalSuffix,
    /// 新, 各.
    Prefix,
    /// When or where, used like an adverb: 現在, 後.
    Temporal,
    /// 第.
    Ordinal,
    Number,
    Counter,
    Verb,
    Other,
}

impl PartOfSpeech for Part {
    fn read<'t>(mut fields: impl Iterator<Item = &'t str>, is_known: bool) -> Self {
        let mut next = || fields.next().unwrap_or_default();
        match (next(), next(), next(), next()) {
            ("名詞", "固有名詞", _, _) if !is_known => Self::Noun,
            ("名詞", "固有名詞", "人名", "姓") => Self::Surname,
            ("名詞", "固有名詞", "人名", "名") => Self::GivenName,
            ("名詞", "固有名詞", _, _) => Self::Name,
            ("名詞", "一般" | "ナイ形容詞語幹", _, _) => Self::Noun,
            ("名詞", "サ変接続", _, _) => Self::Verbal,
            ("名詞", "形容動詞語幹", _, _) => Self::Adjectival,
            ("名詞", "副詞可能", _, _) | ("名詞", "接尾", "副詞可能", _) => {
                Self::Temporal
            }
            ("名詞", "数", _, _) => Self::Number,
            ("名詞", "接尾", "助数詞", _) => Self::Counter,
            ("名詞", "接尾", "形容動詞語幹", _) => Self::AdjectivalSuffix,
            ("名詞", "接尾", "一般" | "地域" | "人名" | "サ変接続" | "特殊", _) => {
                Self::Suffix
            }
            ("接頭詞", "名詞接続", _, _) => Self::Prefix,
            ("接頭詞", "数接続", _, _) => Self::Ordinal,
            ("動詞", ..) => Self::Verb,
            _ => Self::Other,
        }
    }
}

impl Part {
    const fn is_name(self) -> bool {
        matches!(self, Self::Surname | Self::GivenName | Self::Name)
    }
}

/// Pushes the nouns of `part`, which starts at `offset` of the text.
pub(crate) fn extract(
    part: &str,
    offset: usize,
    worker: &mut Worker,
    found: &mut Found<'_>,
) -> Result<()> {
    let words: Vec<Word<Part>> = worker.tag(part)?;
    let mut at = 0;
    while at < words.len() {
        let end = chunk_end(part, &words, at);
        if let Some(chunk) = words.get(at..end).filter(|chunk| !chunk.is_empty()) {
            push_chunk(part, offset, chunk, words.get(end), found);
        }
        at = end.max(at + 1);
    }
    Ok(())
}

/// One past the last of the words from `first` on that are written together and may
/// stand in one noun.
fn chunk_end(part: &str, words: &[Word<Part>], first: usize) -> usize {
    let mut end = first;
    while let Some(word) = words.get(end) {
        let is_adjacent = end == first || words.get(end - 1).is_some_and(|w| w.end == word.start);
        let stands =
            !matches!(word.part, Part::Verb | Part::Other) && is_japanese(text(part, word));
        if !(is_adjacent && (stands || end > first && joins_names(part, words, end))) {
            break;
        }
        end += 1;
    }
    end
}

/// True for the `・` or `＝` between the parts of a foreign name.
fn joins_names(part: &str, words: &[Word<Part>], at: usize) -> bool {
    let is_katakana = |at: usize| {
        words
            .get(at)
            .is_some_and(|word| runs(text(part, word)).all(|run| run.script == Script::Katakana))
    };
    words.get(at).is_some_and(|word| japanese::is_name_dot(text(part, word)))
        && is_katakana(at - 1)
        && is_katakana(at + 1)
}

fn push_chunk(
    part: &str,
    offset: usize,
    chunk: &[Word<Part>],
    next: Option<&Word<Part>>,
    found: &mut Found<'_>,
) {
    let next = next.filter(|next| chunk.last().is_some_and(|last| last.end == next.start));
    let chunk = trim_end(part, trim_start(part, chunk), next);
    let (Some(first), Some(last)) = (chunk.first(), chunk.last()) else { return };
    let Some(noun) = part.get(first.start..last.end) else { return };
    if let [word] = chunk
        && !stands_alone(noun, word.part, next)
    {
        return;
    }
    let before = part.get(..first.start).unwrap_or_default();
    japanese::push_joined(before, noun, offset, found);
    let is_person = matches!(chunk, [a, b] if (a.part, b.part) == (Part::Surname, Part::GivenName));
    let is_name = chunk.iter().any(|word| word.part.is_name())
        && chunk.iter().all(|word| word.part.is_name() || word.part == Part::Suffix);
    let kind = if is_name { MentionKind::ProperNoun } else { MentionKind::NounPhrase };
    if let Some(entry) = japanese::push(noun, offset + first.start, kind, found) {
        entry.is_person |= is_person;
    }
}

/// Leaves out what counts, points or says when: 10人, 各社, 現在.
fn trim_start<'w>(part: &str, chunk: &'w [Word<Part>]) -> &'w [Word<Part>] {
    let mut chunk = chunk;
    while let [first, rest @ ..] = chunk {
        let goes = match (first.part, text(part, first)) {
            // 第二次世界大戦, but 第二章.
            (Part::Ordinal, _) => {
                let counted =
                    |word: &&Word<Part>| matches!(word.part, Part::Number | Part::Counter);
                let counted = rest.iter().take_while(counted).count();
                !rest.get(counted).is_some_and(|word| word.part == Part::Noun)
            }
            (Part::Number | Part::Counter | Part::Suffix | Part::AdjectivalSuffix, _) => true,
            (Part::Temporal, word) => rest.is_empty() || japanese::is_common(word),
            (Part::Prefix, word) => "各本同当諸毎約某".contains(word),
            (_, word) => word.starts_with(NAME_DOTS),
        };
        if !goes {
            break;
        }
        chunk = rest;
    }
    chunk
}

/// Leaves out what counts, addresses or says where and when: 先生たち, 室内, 戦後. What `的` or `な` makes
/// an adjective is left out as a whole.
fn trim_end<'w>(
    part: &str,
    chunk: &'w [Word<Part>],
    next: Option<&Word<Part>>,
) -> &'w [Word<Part>] {
    let mut chunk = chunk;
    while let [rest @ .., last] = chunk {
        let goes = match (last.part, text(part, last)) {
            (Part::AdjectivalSuffix, _) => return &[],
            (Part::Suffix, word) => {
                "氏君様達等内間中後前上下毎済".contains(word) || is_hiragana(word)
            }
            (Part::Adjectival, _) => next.is_some_and(|next| text(part, next) == "な"),
            (part, _) => matches!(
                part,
                Part::Temporal | Part::Number | Part::Counter | Part::Prefix | Part::Ordinal
            ),
        };
        if !goes {
            break;
        }
        chunk = rest;
    }
    chunk
}

/// True for a word that names something without another.
fn stands_alone(noun: &str, part: Part, next: Option<&Word<Part>>) -> bool {
    let is_katakana = || runs(noun).all(|run| run.script == Script::Katakana);
    // 参加する: what happens, and to whom, is said by the others.
    let is_done = next.is_some_and(|next| next.part == Part::Verb);
    part == Part::Noun
        || part == Part::Verbal && !is_done
        || part.is_name() && !is_hiragana(noun)
        || matches!(part, Part::Verbal | Part::Adjectival) && is_katakana()
}

fn text<'t>(part: &'t str, word: &Word<Part>) -> &'t str {
    part.get(word.start..word.end).unwrap_or_default()
}

fn is_japanese(word: &str) -> bool {
    runs(word).all(|run| run.script.is_japanese())
}

fn is_hiragana(word: &str) -> bool {
    runs(word).all(|run| run.script == Script::Hiragana)
}
