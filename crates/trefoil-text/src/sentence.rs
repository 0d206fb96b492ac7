//! Own rules, not a segmentation crate: Unicode's (UAX #29) break after `Dr.` and
//! inside 「」, and no crate tried knows Korean quotation or wrapped lines.

use trefoil_core::{ByteSpan, Language};

use crate::{script::Script, stop::is_stop, word_list::WordList};

/// Lines at least this long, in characters, are taken for wrapped prose: such a line
/// goes on in the next one.
const WRAPPED_LINE: usize = 50;

/// Longest bracketed or quoted stretch, in bytes, that may not be cut: 200 ideographs.
/// What is longer is an unbalanced bracket, or a speech of many sentences.
const LONGEST_QUOTE: usize = 600;

/// The sentences of a text: trimmed, in order, apart, and together all of it that is
/// not blank.
///
/// A line ends a sentence unless it is wrapped prose. There is no break in `3. 14`,
/// after abbreviations and initials, before a small letter, inside brackets and
/// Japanese or Korean quotes, between a quote and its と or 라고, and before 「.
pub fn sentences(text: &str, language: Language) -> Vec<ByteSpan> {
    sentences_near(text, language, ByteSpan { start: 0, end: text.len() }).collect()
}

/// Of the sentences of a text, at least those that touch `range`, one after the other:
/// lines that lie wholly outside of it are not looked into.
pub(crate) fn sentences_near(
    text: &str,
    language: Language,
    range: ByteSpan,
) -> impl Iterator<Item = ByteSpan> {
    let near = move |block: &ByteSpan| range.start <= block.end && block.start <= range.end;
    blocks(text).into_iter().filter(near).flat_map(move |block| {
        let inside = text.get(block.start..block.end).unwrap_or_default();
        let mut spans = Vec::new();
        let mut start = 0;
        for end in breaks(inside, language) {
            push_trimmed(inside, start, end, block.start, &mut spans);
            start = end;
        }
        push_trimmed(inside, start, inside.len(), block.start, &mut spans);
        spans
    })
}

fn push_trimmed(text: &str, start: usize, end: usize, offset: usize, spans: &mut Vec<ByteSpan>) {
    let sentence = text.get(start..end).unwrap_or_default();
    let trimmed = sentence.trim();
    if !trimmed.is_empty() {
        let start = offset + start + (sentence.len() - sentence.trim_start().len());
        spans.push(ByteSpan { start, end: start + trimmed.len() });
    }
}

/// Stretches that no sentence crosses: lines, those of wrapped prose united.
fn blocks(text: &str) -> Vec<ByteSpan> {
    let mut blocks = Vec::new();
    let mut start = 0;
    let mut at = 0;
    let mut lines = text.split_inclusive(['\n', '\r', '\u{2028}', '\u{2029}']).peekable();
    while let Some(line) = lines.next() {
        at += line.len();
        if line.ends_with('\r') && lines.next_if_eq(&"\n").is_some() {
            at += 1;
        }
        if !lines.peek().is_some_and(|next| is_wrapped(line, next)) {
            blocks.push(ByteSpan { start, end: at });
            start = at;
        }
    }
    blocks
}

/// True if a sentence may go on from `line` to `next`.
fn is_wrapped(line: &str, next: &str) -> bool {
    let (line, next) = (line.trim(), next.trim_start());
    let goes_on =
        line.chars().next_back().is_some_and(|c| !Script::of(c).is_cjk() && !is_cjk_end(c));
    let is_prose = !line.starts_with(['#', '|']);
    let next_is_prose =
        next.chars().next().is_some_and(|c| Script::of(c) == Script::Spaced || is_opener(c))
            && !next.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')']);
    goes_on && is_prose && next_is_prose && line.chars().nth(WRAPPED_LINE - 1).is_some()
}

/// Where the sentences of a block end, in order.
fn breaks(text: &str, language: Language) -> Vec<usize> {
    let mut pairs = quotes(text, language).into_iter().peekable();
    let mut breaks = Vec::new();
    // End of the quotes that were opened.
    let mut quoted = 0;
    let mut at = 0;
    while let Some(next) = text.get(at..).and_then(|rest| rest.find(is_end)) {
        let before = at + next;
        while let Some(quote) = pairs.next_if(|quote| quote.start <= before) {
            quoted = quoted.max(quote.end);
        }
        at = before + prefix_len(text, before, is_end);
        let marks = text.get(before..at).unwrap_or_default();
        let closers = closers_len(text, at);
        let end = at + closers;
        if end < quoted {
            continue;
        }
        let (head, rest) =
            (text.get(..before).unwrap_or_default(), text.get(end..).unwrap_or_default());
        let was_quoted = closers > 0;
        at = end;
        if ends_sentence(head, marks, rest, was_quoted) {
            breaks.push(end);
        }
    }
    breaks
}

/// Whether `marks` after `head` end a sentence, given what follows the marks and the
/// quotes closed after them.
fn ends_sentence(head: &str, marks: &str, rest: &str, was_quoted: bool) -> bool {
    let following = rest.trim_start();
    let Some(next) = following.chars().next() else { return true };
    let previous = head.chars().next_back();
    let adjacent = following.len() == rest.len();
    if matches!(next, '「' | '『') || (was_quoted && is_quotative(rest)) {
        return false;
    }
    if marks.contains(is_cjk_end) {
        let is_decimal =
            marks == "．" && previous.is_some_and(char::is_numeric) && next.is_numeric();
        return !is_decimal;
    }
    if marks.chars().all(|c| matches!(c, '…' | '‥'))
        || (marks.starts_with("..") && !marks.contains(['!', '?']))
    {
        return !adjacent && next.is_uppercase();
    }
    let is_cjk = |c: char| Script::of(c).is_cjk();
    if adjacent {
        return is_cjk(next) && previous.is_some_and(|c| is_cjk(c) || marks.contains(['!', '?']));
    }
    if next.is_lowercase() {
        return false;
    }
    marks != "." || was_quoted || period_ends_sentence(head, following)
}

/// Whether a lone period between `head` and `following`, which a space sets apart, is
/// a full stop.
fn period_ends_sentence(head: &str, following: &str) -> bool {
    let word = head.rsplit(|c: char| c.is_whitespace() || is_opener(c)).next().unwrap_or_default();
    let is_number = !word.is_empty() && word.chars().all(char::is_numeric);
    let starts_block = head.trim().len() == word.len();
    if is_number && (starts_block || following.starts_with(char::is_numeric)) {
        return false;
    }
    let lower = word.to_lowercase();
    if NEVER_LAST.contains(&lower) {
        return false;
    }
    // `J. Smith`, `the U.S. Government`, `Acme Co. Ltd`: the end of a sentence only if
    // a function word with a capital letter follows.
    let is_initial =
        word != "I" && word.chars().count() == 1 && word.starts_with(char::is_uppercase);
    if is_initial || lower.contains('.') || SELDOM_LAST.contains(&lower) {
        let next = following.split(|c: char| !c.is_alphabetic()).next().unwrap_or_default();
        return next.chars().next().is_some_and(|c| Script::of(c).is_cjk())
            || is_stop(Script::Spaced, &next.to_lowercase());
    }
    true
}

/// Abbreviations that stand before a name or a number.
static NEVER_LAST: WordList = WordList::new(
    "adm approx art ca capt cf ch chap cmdr col dr e.g eq eqn esp fig figs gen gov hon i.e lt messrs
     mr mrs ms mt no nos p pp prof ref refs rep rev sec sen sgt st supt tab v viz vol vols vs",
);

/// Abbreviations that may end a sentence.
static SELDOM_LAST: WordList = WordList::new(
    "al apr assn aug ave blvd bros co corp dec dept ed eds est etc feb inc jan jr jul jun ltd mar
     nov oct rd sep sept sr univ",
);

fn is_end(c: char) -> bool {
    is_cjk_end(c) || matches!(c, '.' | '!' | '?' | '…' | '‥' | '‼' | '⁇' | '⁈' | '⁉' | '؟' | '।')
}

/// Marks that end a sentence whatever follows.
const fn is_cjk_end(c: char) -> bool {
    matches!(c, '。' | '｡' | '．' | '！' | '？')
}

fn is_opener(c: char) -> bool {
    BRACKETS.iter().any(|&(open, _)| open == c) || matches!(c, '"' | '\'' | '‘' | '«')
}

fn is_closer(c: char) -> bool {
    BRACKETS.iter().any(|&(_, close)| close == c) || matches!(c, '"' | '\'' | '’' | '»' | '*' | '_')
}

const BRACKETS: [(char, char); 12] = [
    ('「', '」'),
    ('『', '』'),
    ('｢', '｣'),
    ('（', '）'),
    ('(', ')'),
    ('[', ']'),
    ('［', '］'),
    ('【', '】'),
    ('〈', '〉'),
    ('《', '》'),
    ('〔', '〕'),
    ('“', '”'),
];

/// Bytes of `text` from `at` on whose characters satisfy `matches`.
fn prefix_len(text: &str, at: usize, matches: impl Fn(char) -> bool) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    rest.len() - rest.trim_start_matches(matches).len()
}

/// Length of the closing quotes, brackets and `[1]` notes at `at`.
fn closers_len(text: &str, at: usize) -> usize {
    let mut end = at;
    loop {
        let closers = prefix_len(text, end, |c| is_closer(c) || is_cjk_end(c));
        let note = text.get(end..).and_then(|rest| rest.strip_prefix('[')).map_or(0, |inside| {
            let digits = prefix_len(inside, 0, |c| c.is_ascii_digit());
            let closes = inside.get(digits..).is_some_and(|rest| rest.starts_with(']'));
            if digits > 0 && closes { digits + 2 } else { 0 }
        });
        if closers + note == 0 {
            return end - at;
        }
        end += closers.max(note);
    }
}

/// True if a quote goes on into the clause that reports it.
fn is_quotative(rest: &str) -> bool {
    const PARTICLES: [&str; 19] = [
        "と", "って", "の", "を", "が", "は", "に", "など", "라고", "라는", "라며", "라면", "라던",
        "이라", "란", "하고", "고", "며", "는",
    ];
    PARTICLES.iter().any(|particle| rest.starts_with(particle))
}

/// Balanced brackets and quotes that are not too long, outermost first at a place.
/// English quotes hold whole sentences and are cut.
fn quotes(text: &str, language: Language) -> Vec<ByteSpan> {
    let mut open: [Vec<usize>; BRACKETS.len()] = Default::default();
    let mut quotes = Vec::new();
    for (at, c) in text.char_indices().filter(|&(_, c)| may_be_bracket(c)) {
        for (stack, (opening, closing)) in open.iter_mut().zip(BRACKETS) {
            if opening == '“' && language == Language::En {
                continue;
            }
            if c == opening {
                stack.push(at);
            } else if c == closing {
                let end = at + c.len_utf8();
                quotes.extend(
                    stack
                        .pop()
                        .filter(|start| end - start <= LONGEST_QUOTE)
                        .map(|start| ByteSpan { start, end }),
                );
            }
        }
    }
    quotes.sort_unstable_by_key(|quote| quote.start);
    quotes
}

/// False for most characters that are none of [`BRACKETS`], at the cost of a look.
const fn may_be_bracket(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '“' | '”' | '\u{3008}'..='\u{3015}' | '\u{ff08}'..='\u{ff63}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::language_of;

    /// `text` is `expected`, whose sentences are set apart by ` | `.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found: Vec<_> = sentences(text, language_of(text))
            .into_iter()
            .map(|span| &text[span.start..span.end])
            .collect();
        assert_eq!(found.join(" | "), expected);
    }

    #[track_caller]
    fn check_whole(text: &str) {
        check(text, text);
    }

    #[test]
    fn english() {
        check("", "");
        check(" \n ", "");
        check("Hello world! How are you?", "Hello world! | How are you?");
        check("It works. It is fast.", "It works. | It is fast.");
        check("“Stop.” He stood up.", "“Stop.” | He stood up.");
        check(
            "It ended.[1] Then came more.[2][3] Done.",
            "It ended.[1] | Then came more.[2][3] | Done.",
        );
        check("Use Next.js. It renders.", "Use Next.js. | It renders.");
        check(
            "Plan one (see Fig. 3. It helps). Then go.",
            "Plan one (see Fig. 3. It helps). | Then go.",
        );
        check(
            "Wait... No one came. So it was... over.",
            "Wait... | No one came. | So it was... over.",
        );
        check("This is UK. Not US", "This is UK. | Not US");
    }

    #[test]
    fn english_periods_that_are_no_full_stops() {
        check_whole("Mr. Smith and Dr. Jones met J. R. Hartley at 3.14 p.m. in St. Albans.");
        check_whole("Please turn to p. 55.");
        check_whole("She has $100.00 in her bag, i.e. Euros.");
        check_whole("Pi is about 3. 14 or so.");
        check_whole("1. Install the program");
        check_whole("They closed the deal with Pitt, Briggs & Co. at noon.");
        check_whole("I work for the U.S. Government in Virginia.");
        check_whole("“Bah!” said Scrooge.");
        check("I live in the U.S. How about you?", "I live in the U.S. | How about you?");
    }

    #[test]
    fn japanese() {
        check("これはペンです。それはマーカーです。", "これはペンです。 | それはマーカーです。");
        check("本当？！すごい！", "本当？！ | すごい！");
        check("何ですか?それです!はい", "何ですか? | それです! | はい");
        check("「行く。」と彼は言った。終わり。", "「行く。」と彼は言った。 | 終わり。");
        check("「行く。帰る。」彼は立った。", "「行く。帰る。」 | 彼は立った。");
        check("（注。これ。）次。", "（注。これ。） | 次。");
        check_whole("彼は言った。「行こう。」");
        check_whole("３．１４は円周率だ");
        check_whole("それは…何だ");
        check("「閉じない。次。", "「閉じない。 | 次。");
    }

    #[test]
    fn korean() {
        check("안녕하세요. 반갑습니다.", "안녕하세요. | 반갑습니다.");
        check("끝났다.그리고 시작했다.", "끝났다. | 그리고 시작했다.");
        check("“간다. 온다.”라고 말했다. 끝.", "“간다. 온다.”라고 말했다. | 끝.");
        check("\"간다.\"라고 말했다. 끝.", "\"간다.\"라고 말했다. | 끝.");
        check("버전 3. 14를 쓴다.", "버전 3. 14를 쓴다.");
        check("왜? 그냥!", "왜? | 그냥!");
    }

    #[test]
    fn lines_end_sentences_unless_they_are_wrapped() {
        check("one\ntwo\r\n\r\nthree", "one | two | three");
        check("一\n二", "一 | 二");
        let wrapped =
            "Marley was dead: to begin with. There is no doubt whatever\nabout that.\n\nThe end";
        check(
            wrapped,
            "Marley was dead: to begin with. | There is no doubt whatever\nabout that. | The end",
        );
        let list = "- a point that is as long as a line of wrapped prose could be\n- another";
        check(list, &list.replace('\n', " | "));
    }

    #[test]
    fn every_bracket_is_looked_at() {
        for (open, close) in BRACKETS {
            assert!(may_be_bracket(open) && may_be_bracket(close), "{open}{close}");
        }
    }

    proptest! {
        #[test]
        fn sentences_are_trimmed_apart_and_complete(
            text in "(\\PC|[a-zA-Z]|[。！？．.!?…]|[ \n\r]|[「」（）“”\"\\[\\]1]|[가-깋]|[ぁ-ん])*",
        ) {
            for language in Language::ALL {
                let mut end = 0;
                for span in sentences(&text, language) {
                    prop_assert!(end <= span.start && span.start < span.end);
                    prop_assert!(text[end..span.start].trim().is_empty());
                    let sentence = &text[span.start..span.end];
                    prop_assert_eq!(sentence.trim(), sentence);
                    end = span.end;
                }
                prop_assert!(text[end..].trim().is_empty());
            }
        }
    }
}
