use trefoil_core::{ByteSpan, Language};

/// Runs of capitalised words: names by their spelling. In order and apart.
///
/// The first word of an English question is capitalised anyway, so that it counts only
/// within a run or if it has a capital or a digit inside; a text all in capitals, or with
/// a capital on every word, says nothing.
pub(super) fn capitalised(text: &str, language: Language) -> Vec<ByteSpan> {
    let words = latin_words(text);
    if language == Language::En && says_nothing(&words) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = words.get(at) {
        let initial = language == Language::En && word.initial;
        if !word.capital || word.is_pronoun() || (initial && word.is_function()) {
            at += 1;
            continue;
        }
        // `Great Fire of London`: on to the next capital, across "of" and "of the".
        let mut last = at;
        let mut next = at + 1;
        while let Some(following) = words.get(next) {
            if !following.joins || following.is_pronoun() {
                break;
            }
            if following.capital {
                last = next;
            } else if !matches!(following.text, "of" | "the" | "de" | "von" | "van")
                || next - last > 2
            {
                break;
            }
            next += 1;
        }
        if let (Some(first), Some(end)) = (words.get(at), words.get(last)) {
            let telling = last > at || !initial || first.is_marked();
            let name = first.text.chars().nth(1).is_some() || last > at;
            if telling && name {
                found.push(ByteSpan { start: first.start, end: end.start + end.text.len() });
            }
        }
        at = last + 1;
    }
    found
}

/// A word in Latin letters, clitics left out.
struct Word<'t> {
    text: &'t str,
    start: usize,
    capital: bool,
    /// True if it begins the text or a sentence.
    initial: bool,
    /// True if only a space parts it from the word before.
    joins: bool,
}

impl Word<'_> {
    /// True if its spelling is more than that of a first word: `SQLite`, `BM25`, `HNSW`.
    fn is_marked(&self) -> bool {
        self.text.chars().skip(1).any(|c| c.is_uppercase() || c.is_ascii_digit())
    }

    fn is_pronoun(&self) -> bool {
        matches!(self.text, "I" | "I'm" | "I'd" | "I've" | "I'll" | "OK" | "Ok")
    }

    /// True for words that begin questions and orders.
    fn is_function(&self) -> bool {
        let lower = self.text.to_ascii_lowercase();
        BEGINNINGS.binary_search(&lower.as_str()).is_ok()
    }
}

/// Words that begin a question or an order, whatever follows them; sorted.
#[rustfmt::skip]
const BEGINNINGS: &[&str] = &[
    "a", "about", "add", "after", "all", "also", "an", "and", "any", "are", "as", "at", "before",
    "but", "by", "can", "change", "check", "choose", "compare", "configure", "contrast", "could",
    "create", "define", "delete", "describe", "did", "difference", "differences", "do", "does", "during",
    "enable", "error", "explain", "find", "for", "from", "get", "give", "had", "has", "have", "hello",
    "help", "hi", "how", "if", "in", "install", "into", "is", "it", "its", "let", "list", "make", "may",
    "my", "name", "no", "not", "of", "on", "open", "or", "our", "outline", "overview", "please",
    "recommend", "remove", "run", "say", "search", "set", "should", "show", "so", "start", "suggest",
    "summarise", "summarize", "summary", "tell", "that", "the", "their", "then", "there", "these",
    "they", "this", "those", "to", "update", "use", "using", "was", "we", "were", "what", "what's",
    "when", "where", "which", "who", "who's", "whose", "why", "will", "with", "would", "write", "you",
    "your",
];

/// True if capitals tell nothing: all words have one, and one of them is a function word.
fn says_nothing(words: &[Word<'_>]) -> bool {
    words.len() > 1 && words.iter().all(|word| word.capital) && words.iter().any(Word::is_function)
}

fn latin_words(text: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let state = |c: char| {
            is_latin(c)
                || c.is_ascii_digit()
                || matches!(c, '-' | '.' | '\'' | '’' | '&' | '+' | '#')
        };
        let end = rest.find(|c| !state(c)).unwrap_or(rest.len());
        let token = rest.get(..end).unwrap_or_default();
        let word = without_clitic(token.trim_end_matches(['.', '-', '\'', '’', '&']));
        if word.starts_with(|c| is_latin(c) || c.is_ascii_digit()) {
            let end_before = words.last().map_or(0, |before| before.start + before.text.len());
            let gap = text.get(end_before..at).unwrap_or_default();
            words.push(Word {
                text: word,
                start: at,
                capital: word.starts_with(char::is_uppercase),
                initial: words.is_empty() || gap.trim_end().ends_with(['.', '?', '!', ':', '\n']),
                joins: !words.is_empty() && gap == " ",
            });
        }
        let skip = rest.get(end..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
        at += end + skip;
    }
    words
}

fn is_latin(c: char) -> bool {
    c.is_alphabetic() && (c.is_ascii() || ('\u{c0}'..='\u{24f}').contains(&c))
}

/// `Anna's` without its ending.
fn without_clitic(word: &str) -> &str {
    ["'s", "’s"].iter().find_map(|clitic| word.strip_suffix(clitic)).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, language: Language, expected: &[&str]) {
        let found: Vec<&str> =
            capitalised(text, language).iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn runs_of_capitals_are_names() {
        let check = |text, expected: &[&str]| check(text, Language::En, expected);
        check("when did John Snow die", &["John Snow"]);
        check("Did John Snow and Anna's friend meet?", &["John Snow", "Anna"]);
        check("the Great Fire of London in York", &["Great Fire of London", "York"]);
        check("is TF-IDF better than BM25?", &["TF-IDF", "BM25"]);
        check("who wrote Why We Sleep", &["Why We Sleep"]);
        check("Should I ask Bob", &["Bob"]);
        check("the University of the Arts", &["University of the Arts"]);
        check("vitamin C", &[]);
    }

    #[test]
    fn a_first_word_needs_more_than_its_capital() {
        let check = |text, expected: &[&str]| check(text, Language::En, expected);
        check("Poached eggs", &[]);
        check("Fine. Poached eggs", &[]);
        check("SQLite locks", &["SQLite"]);
        check("BM25 constants", &["BM25"]);
        check("Hans Peter Luhn", &["Hans Peter Luhn"]);
        check("What Are The Opening Hours", &[]);
        check("HOW DO I RESET IT", &[]);
    }

    #[test]
    fn among_other_scripts_a_capital_is_enough() {
        check("Kubernetesのインストール", Language::Ja, &["Kubernetes"]);
        check("Docker 실행 방법", Language::Ko, &["Docker"]);
        check("AとBの違い", Language::Ja, &[]);
    }

    #[test]
    fn the_list_of_beginnings_is_sorted() {
        assert!(BEGINNINGS.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
