//! A claim taken apart: what it says, and how.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::LazyLock,
};

use crate::{ScriptAnalyzer, language_of, normalize};
use lazy_regex::{Captures, Regex, regex};
use trefoil_core::{Analyzer as _, Language};

use super::{
    korean::{is_past, lemma},
    lexicon::{Concept, Lexicon},
};

static ANALYZER: LazyLock<ScriptAnalyzer> = LazyLock::new(ScriptAnalyzer::new);

/// What stands before the name of a concept, so that it is no word of the text.
const CONCEPT: char = '=';

/// What a claim says, without how it is put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    pub(super) language: Language,
    /// True if it tells of the past.
    pub(super) past: bool,
    /// What is said; more than one only where a part of it is denied.
    pub(super) clauses: Vec<Clause>,
    /// Those who are spoken of, in order.
    pub(super) people: Vec<String>,
    /// Which words stand where two could change places: `than`, `from`, `subject`.
    pub(super) roles: BTreeMap<String, BTreeSet<String>>,
}

/// What is said at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clause {
    /// True if it is denied: an odd number of its words deny.
    pub(super) denied: bool,
    /// Words that mean something and names of concepts, in order.
    pub(super) terms: Vec<String>,
}

impl Statement {
    /// Takes a text apart; none in a language that there is no lexicon of.
    pub(super) fn of(text: &str) -> Option<Self> {
        let language = language_of(text);
        let lexicon = Lexicon::of(language)?;
        let mut text = normalize(text.trim()).into_owned();
        if language == Language::Ja {
            text = in_digits(&text);
        }
        for (from, to) in &lexicon.rewrite {
            text = from.replace_all(&text, to).into_owned();
        }
        let states = lexicon.state.as_ref();
        let told = states.map_or(text.clone(), |state| state.replace_all(&text, " ").into_owned());
        let past = match &lexicon.past {
            Some(past) => past.is_match(&told),
            None => told.split_whitespace().any(is_past),
        };
        let whole = Clause::of(&text, lexicon);
        let denies = |clause: &Clause| clause.denied;
        let mut clauses: Vec<Clause> =
            lexicon.split.split(&text).map(|part| Clause::of(part, lexicon)).collect();
        clauses.retain(|clause| !clause.terms.is_empty());
        if clauses.len() < 2 || !clauses.iter().any(denies) {
            clauses = vec![whole];
        }
        let people = people(&text, lexicon);
        let mut roles: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (name, pattern) in &lexicon.roles {
            for word in pattern.captures_iter(&text).filter_map(|found| found.name("term")) {
                // In Japanese an adverb may stand before a word without a space.
                if let Some(term) = Clause::of(word.as_str(), lexicon).terms.pop() {
                    roles.entry(name.clone()).or_default().insert(term);
                }
            }
        }
        Some(Self { language, past, clauses, people, roles })
    }
}

impl Clause {
    fn of(text: &str, lexicon: &Lexicon) -> Self {
        let mut clause = Self::default();
        let mut rest = text.to_owned();
        // Phrases with a word of denial in them come before the words of denial, and those
        // before all else: no word may take a part of one with it.
        for concept in &lexicon.concepts {
            clause.denied ^= clause.take(concept, concept.no.as_ref(), &mut rest) % 2 == 1;
            clause.take(concept, concept.phrase.as_ref(), &mut rest);
        }
        clause.denied ^= lexicon.denial.find_iter(&rest).count() % 2 == 1;
        rest = lexicon.denial.replace_all(&rest, " ").into_owned();
        for concept in &lexicon.concepts {
            clause.take(concept, concept.yes.as_ref(), &mut rest);
        }
        clause.terms.sort_unstable();
        clause.terms.dedup();
        clause.terms.extend(words(&lexicon.light.replace_all(&rest, " ")));
        clause
    }

    /// Takes the words of a concept out of a text; how many there were.
    fn take(&mut self, concept: &Concept, words: Option<&Regex>, rest: &mut String) -> usize {
        let Some(words) = words else { return 0 };
        let found = words.find_iter(rest).count();
        if found > 0 {
            *rest = words.replace_all(rest, " ").into_owned();
            let names = concept.name.split_whitespace();
            self.terms.extend(names.map(|name| format!("{CONCEPT}{name}")));
        }
        found
    }
}

/// Those who are spoken of, in order, where something is said between them; none else.
fn people(text: &str, lexicon: &Lexicon) -> Vec<String> {
    let found: Vec<_> =
        lexicon.people.iter().flat_map(|people| people.captures_iter(text)).collect();
    let mut names: Vec<String> = Vec::new();
    let mut apart = false;
    let mut end = 0;
    for one in found {
        let Some(whole) = one.get(0) else { continue };
        let name = one.iter().skip(1).flatten().next().map_or("", |name| name.as_str());
        let terms = Clause::of(name, lexicon).terms;
        let Some(term) = terms.into_iter().next() else { continue };
        let between = text.get(end..whole.start()).unwrap_or_default();
        apart |= !names.is_empty() && !Clause::of(between, lexicon).terms.is_empty();
        end = whole.end();
        names.push(term);
    }
    if apart { names } else { Vec::new() }
}

/// A text with the numbers before a counter in digits: `二十三時` as `23時`.
fn in_digits(text: &str) -> String {
    let counted = regex!(
        "([〇零一二三四五六七八九十百千]+)(万|円|時|分|秒|日|月|年|歳|才|人|匹|本|枚|冊|台|個|回|杯|階|泊|つ|週|曜|度|倍|名|頭|羽|着|軒|ヶ月|か月|カ月|センチ|キロ|メートル)"
    );
    let digits = |found: &Captures<'_>| {
        let (_, [number, counter]) = found.extract();
        format!("{}{counter}", value(number))
    };
    counted.replace_all(text, digits).into_owned()
}

/// The value of a number in Kanji below 10,000.
fn value(number: &str) -> u32 {
    let (mut sum, mut digit) = (0_u32, 0_u32);
    for c in number.chars() {
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1_000,
            _ => {
                let at =
                    "〇一二三四五六七八九".chars().position(|one| one == c).unwrap_or_default();
                digit =
                    digit.saturating_mul(10).saturating_add(u32::try_from(at).unwrap_or_default());
                continue;
            }
        };
        sum = sum.saturating_add(unit * digit.max(1));
        digit = 0;
    }
    sum.saturating_add(digit)
}

/// True for a number, which nothing else may stand for.
pub(super) fn is_number(term: &str) -> bool {
    term.starts_with(|c: char| c.is_ascii_digit())
}

/// The words of a text that mean something, in their basic form.
fn words(text: &str) -> Vec<String> {
    let runs = regex!(
        r"\p{Nd}+|[\p{Han}々]+|[\p{Katakana}ー]+|\p{Hangul}+|[\p{Latin}\p{Greek}\p{Cyrillic}']+"
    );
    let mut words: Vec<String> = Vec::new();
    for run in runs.find_iter(text) {
        let run = run.as_str();
        let first = run.chars().next().unwrap_or_default();
        if ('가'..='힣').contains(&first) {
            words.extend(Some(lemma(run)).filter(|lemma| !lemma.is_empty()));
        } else if first.is_alphabetic() && !is_wide(first) {
            let lower = run.to_lowercase();
            let adverb = lower.strip_suffix("ly").filter(|stem| stem.len() > 3);
            words.extend(analyzed(adverb.unwrap_or(&lower)));
        } else {
            words.push(run.to_owned());
        }
    }
    // A particle and the beginning of an ending look like a word: `はあ` of `はありません`.
    let hiragana = |word: &String| {
        word.chars().all(|c| ('ぁ'..='ゖ').contains(&c))
            && !(word.chars().count() == 2 && word.starts_with(['は', 'が', 'を']))
    };
    words.extend(analyzed(text).into_iter().filter(hiragana));
    words
}

fn is_wide(c: char) -> bool {
    u32::from(c) >= 0x2E80
}

/// The terms of the search's analyser that carry meaning.
fn analyzed(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    ANALYZER.analyze(text, Language::default(), &mut |token| {
        if !token.stop {
            terms.push(token.term.into_owned());
        }
    });
    terms
}
