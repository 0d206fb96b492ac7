use std::sync::LazyLock;

use regex::Regex;
use trefoil_core::ByteSpan;

/// Names from code, of files and of versions in a text: what is looked for letter by
/// letter. In order and apart.
///
/// Words of the language are none, whatever their spelling: `state-of-the-art`, `and/or`,
/// `GitHub`, `iPhone`, `e.g.`, `24/7`.
pub(super) fn identifiers(text: &str) -> Vec<ByteSpan> {
    let mut found: Vec<ByteSpan> = PATTERNS
        .iter()
        .flat_map(|pattern| pattern.captures_iter(text))
        .filter_map(|found| found.name("id"))
        .map(|id| ByteSpan { start: id.start(), end: id.end() })
        .filter(|span| text.get(span.start..span.end).is_some_and(|id| !is_prose(id)))
        .collect();
    // Of those that overlap, the one that begins first, and of these the longest.
    found.sort_unstable_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut end = 0;
    found.retain(|span| {
        let apart = span.start >= end;
        if apart {
            end = span.end;
        }
        apart
    });
    found
}

static PATTERNS: LazyLock<Vec<Regex>> =
    LazyLock::new(|| SOURCES.iter().filter_map(|source| Regex::new(source).ok()).collect());

/// Word boundaries are those of ASCII: in `useEffectが` and `React를` the name ends where
/// the other script begins.
const SOURCES: &[&str] = &[
    // https://example.com/a?b=c
    r#"(?P<id>(?:https?|ftp|file)://[^\s<>"'`、。」』)]+)"#,
    // foo::bar, Vec::<u8>::new()
    r"(?-u:\b)(?P<id>[A-Za-z_][A-Za-z0-9_]*(?:::(?:[A-Za-z_][A-Za-z0-9_]*|<[A-Za-z0-9_, ]+>))+(?:\(\)|!)?)",
    // summarize(), iter().map(), np.array()
    r"(?-u:\b)(?P<id>[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*\(\)(?:\.[A-Za-z0-9_]+(?:\(\))?)*)",
    // max_file_bytes, RRF_K, __init__
    r"(?-u:\b)(?P<id>_*[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+_*|__[A-Za-z0-9]+__)(?-u:\b)",
    // useState, innerHTML, style.backgroundColor
    r"(?-u:\b)(?P<id>(?:[a-z]+\.)?[a-z]{2,}[a-z0-9]*(?:(?:[A-Z][a-z0-9]+)+[A-Z]*|(?:[A-Z][a-z0-9]+)*[A-Z]{3,}))(?-u:\b)",
    // NullPointerException, SearchResultItem, IoError
    r"(?-u:\b)(?P<id>(?:[A-Z][a-z0-9]+){3,}|(?:[A-Z][A-Za-z0-9]*)(?:Error|Exception))(?-u:\b)",
    // Vec<String>
    r"(?-u:\b)(?P<id>[A-Z][A-Za-z0-9_]*<[A-Za-z0-9_<>, &']+>)",
    // #[derive(Debug)], @media, $HOME, ${x}, #123
    r"(?P<id>#!?\[[^\]]+\])",
    r"(?:^|[^A-Za-z0-9_@#$])(?P<id>@[A-Za-z][A-Za-z0-9_/-]*|\$\{?[A-Za-z_][A-Za-z0-9_]*\}?|#[0-9]+)",
    // <div>, </p>, <StrictMode>
    r"(?P<id></?[A-Za-z][A-Za-z0-9.-]*\s*/?>)",
    // --flag, --key=value, -j
    r"(?:^|[^A-Za-z0-9_-])(?P<id>--[A-Za-z][A-Za-z0-9_-]*(?:=[^\s、。]+)?)",
    r"(?:^|\s)(?P<id>-[A-Za-z])(?:\s|$|[?.,!])",
    // max-old-space-size
    r"(?:^|[^A-Za-z0-9_-])(?P<id>[a-z][a-z0-9]*(?:-[a-z0-9]+){2,})(?-u:\b)",
    // /etc/hosts, ./run.sh, ~/.config, C:\Windows
    r"(?:^|[^A-Za-z0-9_./~])(?P<id>(?:~|\.{1,2})?/[A-Za-z0-9_.@-]+(?:/[A-Za-z0-9_.@-]+)*/?)",
    r"(?-u:\b)(?P<id>[A-Za-z]:\\[^\s、。]+)",
    // crates/core/src/lib.rs, src/main
    r"(?-u:\b)(?P<id>[A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+\.[A-Za-z][A-Za-z0-9]{0,4})(?-u:\b)",
    r"(?-u:\b)(?P<id>(?:src|lib|docs|crates|usr|etc|var|node_modules|packages|dist|internal|cmd|pkg|include)(?:/[A-Za-z0-9_.-]+)+)",
    // FORMAT.md, .gitignore
    r"(?-u:\b)(?P<id>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*\.(?:rs|py|js|ts|tsx|jsx|mjs|go|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|sh|bash|zsh|ps1|bat|sql|html?|css|scss|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|xml|csv|tsv|md|mdx|rst|txt|pdf|docx?|xlsx?|pptx?|ipynb|log|db|sqlite|onnx|wasm|so|dll|exe|zip|tar|gz|png|jpe?g|gif|svg))(?-u:\b)",
    r"(?:^|\s)(?P<id>\.[a-z][a-z0-9_]*(?:rc|ignore|env|config|attributes))(?-u:\b)",
    // os.path.join
    r"(?-u:\b)(?P<id>[a-z_][a-z0-9_]+(?:\.[A-Za-z_][A-Za-z0-9_]+){2,})(?-u:\b)",
    // E0502, TS2345, CVE-2024-1234, PROJ-1234
    r"(?-u:\b)(?P<id>[A-Z]{2,10}(?:-[0-9]{2,}){2,}|[A-Z]{1,6}-?[0-9]{3,}[A-Z]?)(?-u:\b)",
    // v2, 1.2.3, 2.0.0-rc.15, version 3.12
    r"(?-u:\b)(?P<id>v[0-9]+(?:\.[0-9]+)*(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?|[0-9]+\.[0-9]+\.[0-9]+(?:\.[0-9]+)?(?:-[0-9A-Za-z]+(?:\.[0-9A-Za-z]+)*)?)(?-u:\b)",
    r"(?i:version|ver\.?|バージョン|버전)\s*(?P<id>[0-9]+(?:\.[0-9]+)+)",
    // 0x80070005, 3f2a9bc, UUIDs
    r"(?-u:\b)(?P<id>0x[0-9A-Fa-f]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,40})(?-u:\b)",
];

/// Words that make `state-of-the-art` prose.
#[rustfmt::skip]
const FUNCTION_WORDS: &[&str] = &[
    "a", "an", "and", "as", "at", "by", "do", "down", "for", "from", "go", "if", "in", "it", "me",
    "no", "not", "of", "off", "on", "or", "out", "over", "the", "to", "up", "with", "you",
];

/// True for what only looks like an identifier.
fn is_prose(id: &str) -> bool {
    let parts: Vec<&str> = id.split('-').collect();
    let kebab = parts.len() > 2
        && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    if kebab && !id.starts_with('-') {
        // `two-year-old`, `up-to-date`.
        let number =
            ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
        return parts.iter().any(|part| FUNCTION_WORDS.contains(part))
            || parts.first().is_some_and(|first| number.contains(first))
            || parts.last().is_some_and(|last| matches!(*last, "old" | "long" | "wide"));
    }
    // `Node.js` is a product, `node.js` may be a file.
    if let Some(stem) = id.strip_suffix(".js") {
        return stem.starts_with(|c: char| c.is_ascii_uppercase()) && !stem.contains(['/', '.']);
    }
    // `2024.01.15` is a date.
    if let Some((year, _)) = id.split_once('.')
        && year.len() == 4
        && (year.starts_with("19") || year.starts_with("20"))
    {
        return year.bytes().all(|b| b.is_ascii_digit());
    }
    // `deadbeef` and `1234567` are a word and a number, `3f2a9bc` is a hash.
    let hash =
        id.len() >= 7 && id.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    hash && !(id.bytes().any(|b| b.is_ascii_digit()) && id.bytes().any(|b| b.is_ascii_lowercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<&str> =
            identifiers(text).iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(PATTERNS.len(), SOURCES.len());
    }

    #[test]
    fn names_of_code() {
        check("useState and getElementById", &["useState", "getElementById"]);
        check("innerHTML, toJSON", &["innerHTML", "toJSON"]);
        check("foo::bar vs Vec::<u8>::new()", &["foo::bar", "Vec::<u8>::new()"]);
        check("max_file_bytes RRF_K __init__", &["max_file_bytes", "RRF_K", "__init__"]);
        check("summarize() of iter().map()", &["summarize()", "iter().map()"]);
        check("NullPointerException, IoError", &["NullPointerException", "IoError"]);
        check("#[derive(Debug)] @media $HOME", &["#[derive(Debug)]", "@media", "$HOME"]);
        check("a <div> in Vec<String>", &["<div>", "Vec<String>"]);
        check("<StrictMode>: 1 < 2 > 0", &["<StrictMode>"]);
        check("os.path.join fails", &["os.path.join"]);
        check("useEffectが二回", &["useEffect"]);
        check("useEffect가 두 번", &["useEffect"]);
        check("std::sync::Arc를", &["std::sync::Arc"]);
    }

    #[test]
    fn codes_versions_and_hashes() {
        check(
            "E0502 TS2345 CVE-2024-1234 PROJ-1234",
            &["E0502", "TS2345", "CVE-2024-1234", "PROJ-1234"],
        );
        check("v2, v1.4.0 and 2.0.0-rc.15", &["v2", "v1.4.0", "2.0.0-rc.15"]);
        check("version 3.12", &["3.12"]);
        check("バージョン3.12", &["3.12"]);
        check("v1.4.0에서", &["v1.4.0"]);
        check("0x80070005 at 3f2a9bc", &["0x80070005", "3f2a9bc"]);
    }

    #[test]
    fn flags_and_paths() {
        check("--no-default-features", &["--no-default-features"]);
        check("pass -j to make --jobs=4", &["-j", "--jobs=4"]);
        check("--verboseオプション", &["--verbose"]);
        check("max-old-space-size", &["max-old-space-size"]);
        check("/etc/hosts or ~/.config/app.toml", &["/etc/hosts", "~/.config/app.toml"]);
        check("crates/core/src/lib.rs", &["crates/core/src/lib.rs"]);
        check("FORMAT.md", &["FORMAT.md"]);
        check(r"C:\Temp\a.log", &[r"C:\Temp\a.log"]);
        check("src/main.rs の役割", &["src/main.rs"]);
        check("see https://example.com/a?b=c.", &["https://example.com/a?b=c."]);
    }

    #[test]
    fn prose_that_looks_like_code() {
        for text in [
            "state-of-the-art machine",
            "a two-year-old and an up-to-date list",
            "salt and/or pepper, 24/7, km/h, TCP/IP",
            "GitHub, iPhone, macOS, YouTube, PostgreSQL",
            "Node.js and e.g. Next.js",
            "BM25, B12, COVID-19, UTF-8",
            "cross-encoder, soft-boiled, e-mail",
            "2024-01-02, 2024.01.15, 3.5 cups, $100",
            "pro and con - or not",
            "a decade, a facade; 12345678",
        ] {
            check(text, &[]);
        }
    }
}
