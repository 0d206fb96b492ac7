use trefoil_core::ByteSpan;

/// Marks that open a quotation, and those that close it.
const PAIRS: [(char, char); 8] = [
    ('"', '"'),
    ('\'', '\''),
    ('`', '`'),
    ('“', '”'),
    ('‘', '’'),
    ('「', '」'),
    ('『', '』'),
    ('«', '»'),
];

/// Longest quotation, in characters: what is longer has lost its end.
const LONGEST: usize = 200;

/// The quotations in a text, marks included, in order and apart.
///
/// A straight or a single mark within a word is none: `don't`, `5"`, `the users' list`.
pub(super) fn quotations(text: &str) -> Vec<ByteSpan> {
    let mut found = Vec::new();
    let mut end = 0;
    for (start, open) in text.char_indices() {
        let Some(&(_, close)) = PAIRS.iter().find(|&&(mark, _)| mark == open) else { continue };
        if start < end || !may(text, start, open, true) {
            continue;
        }
        if let Some(after) = closing(text, start + open.len_utf8(), close) {
            found.push(ByteSpan { start, end: after });
            end = after;
        }
    }
    found
}

/// What a quotation holds, without its marks and the space around it.
pub(super) fn unquoted(text: &str) -> &str {
    let marks = |c: char| PAIRS.iter().any(|&(open, close)| c == open || c == close);
    text.trim_matches(|c: char| marks(c) || c.is_whitespace())
}

/// The end of the quotation whose content begins at `from`.
fn closing(text: &str, from: usize, close: char) -> Option<usize> {
    let content = text.get(from..)?;
    let at = content
        .char_indices()
        .take(LONGEST)
        .find(|&(at, c)| c == close && may(content, at, close, false))
        .map(|(at, _)| at)?;
    let quoted = content.get(..at)?;
    (!unquoted(quoted).is_empty()).then_some(from + at + close.len_utf8())
}

/// A mark that looks the same at both ends opens where a word may begin, and closes where one may
/// end.
fn may(text: &str, at: usize, mark: char, opens: bool) -> bool {
    let before = text.get(..at).and_then(|before| before.chars().next_back());
    let after = text.get(at + mark.len_utf8()..).and_then(|after| after.chars().next());
    let (outside, inside) = if opens { (before, after) } else { (after, before) };
    !matches!(mark, '"' | '\'' | '‘' | '’')
        || (!outside.is_some_and(|c| c.is_ascii_alphanumeric())
            && !inside.is_none_or(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> =
            quotations(text).iter().map(|span| unquoted(&text[span.start..span.end])).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_style_of_quotation() {
        check(r#"who said "so be it"?"#, &["so be it"]);
        check("in 'Moby Dick' and “Emma”", &["Moby Dick", "Emma"]);
        check("‘two words’ here", &["two words"]);
        check("「保存」と『送信』", &["保存", "送信"]);
        check("'저장'을 누르면", &["저장"]);
        check("設定\"foo\"を", &["foo"]);
        check("call `a b` now", &["a b"]);
        check("「彼は『はい』と言った」", &["彼は『はい』と言った"]);
    }

    #[test]
    fn apostrophes_are_no_quotations() {
        for text in [
            "I don't know what it's for",
            "the users' list isn't empty",
            "don’t and won’t",
            "the dogs' and the cats' bowls",
            "'90s and '80s",
            "5\" and 7\" nails",
            "an open \" mark",
            "「閉じない",
            "\"\" and ' '",
        ] {
            check(text, &[]);
        }
    }
}
