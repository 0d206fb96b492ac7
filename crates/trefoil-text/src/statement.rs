use trefoil_core::{ByteSpan, Language};

use crate::{script::Script, sentences};

/// Lengths of a statement in characters, of which one of Chinese, Japanese or Korean counts
/// for [`WIDE`]: what is shorter says too little, what is longer is a list or a table.
const CHARACTERS: std::ops::RangeInclusive<usize> = 30..=400;
const WIDE: usize = 2;

/// One character in so many may be a sign of code or markup.
const SIGNS: usize = 25;

/// The sentences of a text that state something and can be read alone, in order: neither
/// headings, code, tables, menus and lists of links, nor questions and what only leads to
/// what follows it (`For example:`).
///
/// The mark of a list item or quotation is no part of a sentence.
pub fn statements(text: &str, language: Language) -> Vec<ByteSpan> {
    let blocks = code_blocks(text);
    let sentences = sentences(text, language).into_iter();
    let outside = sentences
        .filter(|one| !blocks.iter().any(|block| one.start < block.end && block.start < one.end));
    let unmarked = outside.map(|span| without_mark(text, span));
    unmarked.filter(|span| text.get(span.start..span.end).is_some_and(is_statement)).collect()
}

fn is_statement(sentence: &str) -> bool {
    let starts_well = sentence.starts_with(|c: char| c.is_alphanumeric() || OPENERS.contains(&c));
    starts_well && ends_well(sentence) && is_prose(sentence)
}

const OPENERS: [char; 11] = ['"', '\'', '“', '‘', '「', '『', '(', '（', '`', '*', '_'];

/// True for a full stop, which closing quotes may follow, or an end of Korean prose without
/// one.
fn ends_well(sentence: &str) -> bool {
    let end =
        sentence.trim_end_matches(['"', '\'', '”', '’', '」', '』', ')', '）', '`', '*', '_']);
    end.ends_with(['.', '。', '！', '!', '．', '｡']) && !end.ends_with("...")
        || end.len() == sentence.len() && sentence.ends_with("다")
}

fn is_prose(sentence: &str) -> bool {
    let (mut length, mut characters, mut signs) = (0, 0, 0);
    for c in sentence.chars() {
        characters += 1;
        length += if Script::of(c).is_cjk() { WIDE } else { 1 };
        signs += usize::from(is_sign(c));
    }
    CHARACTERS.contains(&length)
        && signs * SIGNS <= characters
        && ["](", "://", "</", "/>", "{/*"].iter().all(|markup| !sentence.contains(markup))
}

fn is_sign(c: char) -> bool {
    r"{}[]<>=;|\+$#^~→•·".contains(c)
}

/// A sentence without the mark of a list item or quotation that it begins with.
fn without_mark(text: &str, span: ByteSpan) -> ByteSpan {
    let sentence = text.get(span.start..span.end).unwrap_or_default();
    let bare = sentence.trim_start_matches(|c: char| {
        c.is_whitespace() || matches!(c, '-' | '+' | '>' | '•' | '・')
    });
    let bare = bare.strip_prefix("* ").unwrap_or(bare);
    let digits = bare.trim_start_matches(|c: char| c.is_ascii_digit());
    let item = digits.strip_prefix(['.', ')']).filter(|_| digits.len() < bare.len());
    let bare = item.filter(|item| item.starts_with(' ')).unwrap_or(bare).trim_start();
    ByteSpan { start: span.end - bare.len(), ..span }
}

/// Blocks between fences, with them; one without an end goes to the end of the text.
pub(crate) fn code_blocks(text: &str) -> Vec<ByteSpan> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        let inside = line.trim_start();
        let fence = ["```", "~~~"].into_iter().find(|fence| inside.starts_with(fence));
        match (open, fence) {
            (None, Some(fence)) => open = Some((fence, start)),
            (Some((opened, from)), Some(fence)) if opened == fence => {
                blocks.push(ByteSpan { start: from, end });
                open = None;
            }
            _ => {}
        }
        start = end;
    }
    blocks.extend(open.map(|(_, from)| ByteSpan { start: from, end: text.len() }));
    blocks
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::language_of;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found = statements(text, language_of(text)).into_iter();
        let found: Vec<&str> = found.map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn prose_states_something() {
        check(
            "# Owls\n\nThe barn owl hunts over rough grassland. It does not hoot.",
            &["The barn owl hunts over rough grassland."],
        );
        check(
            "## 銀泉\n\n銀泉は無色の炭酸泉やラドン泉である。近い。",
            &["銀泉は無色の炭酸泉やラドン泉である。"],
        );
        check(
            "## 부석사\n\n부석사 무량수전은 고려 시대의 목조 건물이다. 끝.",
            &["부석사 무량수전은 고려 시대의 목조 건물이다."],
        );
        check(
            "“Bah!” said Scrooge, who was a squeezing old sinner.",
            &["“Bah!” said Scrooge, who was a squeezing old sinner."],
        );
    }

    #[test]
    fn the_mark_of_an_item_is_left_out() {
        check(
            "- Effects only run on the client, never on a server.\n* Strict Mode runs one extra cycle of them.",
            &[
                "Effects only run on the client, never on a server.",
                "Strict Mode runs one extra cycle of them.",
            ],
        );
        check(
            "1. まず鍋に水と昆布を入れて一晩置いておく。",
            &["まず鍋に水と昆布を入れて一晩置いておく。"],
        );
        check(
            "> 한글은 세종대왕이 창제한 우리나라의 글자이다.",
            &["한글은 세종대왕이 창제한 우리나라의 글자이다."],
        );
        check(
            "**금천**은 철과 소금을 많이 머금은 온천이다.",
            &["**금천**은 철과 소금을 많이 머금은 온천이다."],
        );
    }

    #[test]
    fn what_is_no_prose_states_nothing() {
        for text in [
            "",
            "# Heading that is long enough to be a sentence.",
            "| a cell of a table | another cell of it. |",
            "```\nThis is a comment in the code of it.\n```",
            "~~~\nAn unclosed block of code goes to the end.",
            "const [count, setCount] = useState({ a: 1 });",
            "Home · Docs · Blog · Community · About us.",
            "[Installation](/learn/installation) is the next page.",
            "[前へ](/a) [次へ](/b) [目次](/c)",
            "You can call it like this, for example:",
            "Why does the effect of it run two times?",
            "どうして二回も実行されてしまうのでしょうか？",
            "A title without a full stop at the end",
            "See https://react.dev/learn for more of this.",
            "Wrap it in <Suspense> and </Suspense> to wait.",
            "Short one.",
        ] {
            check(text, &[]);
        }
        check(&format!("{}.", "Word ".repeat(100)), &[]);
    }

    proptest! {
        #[test]
        fn statements_are_parts_of_the_text_in_order(
            text in r"([-*>#|\[\]1. ]{0,3}[a-zA-Z東京は서울다。. `\n]{0,60}){0,8}"
        ) {
            let found = statements(&text, language_of(&text));
            prop_assert!(found.iter().all(|span| text.get(span.start..span.end).is_some()));
            prop_assert!(found.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
