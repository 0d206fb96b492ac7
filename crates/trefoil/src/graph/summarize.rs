//! Passages to their central sentences: the summary that needs no model.

use std::collections::{BTreeMap, HashMap};

use trefoil_core::{
    Analyzer, ByteSpan, Language, Result, Summarizer, Summary, SummaryPassage, SummaryRequest,
    SummarySource,
};
use trefoil_graph::{Sentence, central};
use trefoil_text::{ScriptAnalyzer, statements};

/// Most sentences that are looked at: their similarities are counted pair by pair.
const CANDIDATES: usize = 200;
/// Most sentences of a summary, which a person reads in half a minute.
const SENTENCES: usize = 8;
/// The members whose names speak for a sentence.
const NAMES: usize = 20;

/// The summariser that chooses whole sentences: those that are most like all others and
/// name what the passages have in common, each saying something new.
///
/// Passages in another language than the request's are read only where no other is there,
/// and so are sentences that hang on the one before them (`It …`, `しかし…`, `그래서 …`).
/// The sentences stand in the order of the passages, the most telling first, and within one
/// in the order of its text: so sentences that follow each other stay together.
#[derive(Clone, Copy, Debug, Default)]
pub struct CentralSentences {
    analyzer: ScriptAnalyzer,
    notes: bool,
}

impl CentralSentences {
    /// The same for notes and messages, where each stands for itself and `I` begins what
    /// matters: no sentence is passed over for the word that it begins with.
    pub fn of_notes() -> Self {
        Self { notes: true, ..Self::default() }
    }
}

impl Summarizer for CentralSentences {
    fn fingerprint(&self) -> String {
        "central sentences 1".to_owned()
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
        let mut all = candidates(request, |passage| passage.language == request.language);
        if all.is_empty() {
            all = candidates(request, |_| true);
        }
        if !self.notes && all.iter().any(|one| !hangs(one.text)) {
            all.retain(|one| !hangs(one.text));
        }
        let sentences = self.weigh(request, &all);
        let mut kept: Vec<Candidate<'_>> = Vec::new();
        let mut length = 0;
        for place in central(&sentences, SENTENCES)? {
            let Some(candidate) = all.get(place) else { continue };
            // With the space after it.
            let more = candidate.text.chars().count() + 1;
            if length + more <= request.max_chars {
                length += more;
                kept.push(*candidate);
            }
        }
        kept.sort_by_key(|one| (one.passage, one.span.start));
        Ok(recompose(request, &kept))
    }
}

/// A sentence that may be chosen.
#[derive(Clone, Copy, Debug)]
struct Candidate<'t> {
    text: &'t str,
    language: Language,
    /// Place of its passage in the request.
    passage: usize,
    span: ByteSpan,
    /// Place among the statements of its passage.
    place: usize,
}

/// The statements of passages, in order; each text once.
fn candidates<'t>(
    request: &SummaryRequest<'t>,
    reads: impl Fn(&SummaryPassage<'t>) -> bool,
) -> Vec<Candidate<'t>> {
    let mut seen = std::collections::BTreeSet::new();
    let passages = request.passages.iter().enumerate().filter(|(_, passage)| reads(passage));
    let all = passages.flat_map(|(number, passage)| {
        let spans = statements(passage.text, passage.language).into_iter().enumerate();
        spans.filter_map(move |(place, span)| {
            let text = passage.text.get(span.start..span.end)?;
            let language = passage.language;
            Some(Candidate { text, language, passage: number, span, place })
        })
    });
    all.filter(|one| seen.insert(one.text)).take(CANDIDATES).collect()
}

impl CentralSentences {
    /// Each candidate as the terms that it holds, tf · ln(1 + N ÷ df), and what speaks for it:
    /// the members that it names, and how early it stands.
    fn weigh(&self, request: &SummaryRequest<'_>, all: &[Candidate<'_>]) -> Vec<Sentence> {
        // Looked up and never listed, so that its order decides nothing.
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut df: Vec<f32> = Vec::new();
        let mut counted: Vec<BTreeMap<u32, f32>> = Vec::with_capacity(all.len());
        for candidate in all {
            let mut terms: BTreeMap<u32, f32> = BTreeMap::new();
            self.terms(candidate.text, candidate.language, |term| {
                let number = numbers.get(term).copied().unwrap_or_else(|| {
                    let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
                    numbers.insert(term.to_owned(), next);
                    next
                });
                *terms.entry(number).or_default() += 1.0;
            });
            df.resize(numbers.len(), 0.0);
            for &term in terms.keys() {
                if let Some(df) = df.get_mut(term as usize) {
                    *df += 1.0;
                }
            }
            counted.push(terms);
        }
        let names = request.members.iter().take(NAMES).map(|name| {
            let mut terms = Vec::new();
            self.terms(name, request.language, |term| terms.push(numbers.get(term).copied()));
            terms
        });
        // A name whose terms no sentence holds is in none.
        let names: Vec<Vec<u32>> = names.filter_map(|terms| terms.into_iter().collect()).collect();
        let count = all.len() as f32;
        let idf = |term: u32| df.get(term as usize).map_or(0.0, |df| (count / df).ln_1p());
        let sentence = |(candidate, terms): (&Candidate<'_>, BTreeMap<u32, f32>)| {
            let is_named = |name: &&Vec<u32>| {
                !name.is_empty() && name.iter().all(|term| terms.contains_key(term))
            };
            let named = names.iter().filter(is_named).count().min(3) as f32;
            let early = 1.0 / (1.0 + candidate.place as f32);
            let prior = (0.2 + named) * (1.0 + early);
            let terms = terms.into_iter().map(|(term, count)| (term, count * idf(term)));
            Sentence { terms: terms.collect(), prior }
        };
        all.iter().zip(counted).map(sentence).collect()
    }

    fn terms(&self, text: &str, language: Language, mut push: impl FnMut(&str)) {
        self.analyzer.analyze(text, language, &mut |token| {
            if !token.stop {
                push(&token.term);
            }
        });
    }
}

/// True for a sentence that begins with a word for what was said before.
fn hangs(sentence: &str) -> bool {
    let first = sentence.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    let first = first.unwrap_or_default().to_lowercase();
    ENGLISH.binary_search(&&*first).is_ok()
        || JAPANESE.iter().any(|word| sentence.starts_with(word))
        || KOREAN.contains(&&*first)
}

#[rustfmt::skip]
const ENGLISH: &[&str] = &[
    "additionally", "again", "also", "although", "and", "as", "because", "besides", "both", "but",
    "consequently", "finally", "furthermore", "he", "hence", "her", "here", "his", "however", "i", "if",
    "instead", "it", "its", "moreover", "nevertheless", "next", "nor", "or", "otherwise", "she", "similarly",
    "since", "so", "still", "such", "that", "their", "then", "there", "therefore", "these", "they", "this",
    "those", "thus", "we", "while", "yet", "you", "your",
];

#[rustfmt::skip]
const JAPANESE: &[&str] = &[
    "あの", "ある", "いずれ", "かつて", "これ", "ここ", "この", "さらに", "しかし", "したがって", "すると",
    "そう", "そこ", "そして", "その", "それ", "ただし", "だから", "つまり", "では", "でも", "なお", "なぜ",
    "また", "または", "もし", "もっとも", "一方", "他に", "以下", "例えば", "例として", "同じ", "同様", "彼",
    "従って", "次に", "私", "逆に", "なので", "こう", "よって", "たとえば", "まず", "最後に",
];

#[rustfmt::skip]
const KOREAN: &[&str] = &[
    "그", "그것은", "그것을", "그것이", "그는", "그는", "그가", "그녀는", "그들은", "그래서", "그러나", "그러면", "그런",
    "그런데", "그럼", "그렇게", "그렇지", "그리고", "그의", "나는", "다음", "또", "또는", "또한", "따라서", "당신은", "당신의",
    "마찬가지로", "만약", "만일", "먼저", "반면", "반면에", "어떤", "여기", "여기서", "예를", "우리는", "이", "이것은", "이것이",
    "이는", "이들은", "이러한", "이런", "이렇게", "이를", "이때", "이번", "이제", "즉", "하지만", "한편", "저는", "왜냐하면",
];

/// Sentences as one text. A line that is broken within a sentence goes on.
fn recompose(request: &SummaryRequest<'_>, kept: &[Candidate<'_>]) -> Summary {
    let mut summary = Summary::default();
    for candidate in kept {
        let Some(passage) = request.passages.get(candidate.passage) else { continue };
        if !summary.text.is_empty() && candidate.language != Language::Ja {
            summary.text.push(' ');
        }
        let lines: Vec<&str> = candidate.text.lines().map(str::trim).collect();
        summary.text.push_str(&lines.join(" "));
        summary.sources.push(SummarySource { row: passage.row, span: candidate.span });
    }
    summary
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::RowId;
    use trefoil_text::language_of;

    use super::*;

    fn request<'t>(members: &[&'t str], texts: &[&'t str], max_chars: usize) -> SummaryRequest<'t> {
        let passages = (1..).zip(texts).map(|(row, &text)| SummaryPassage {
            row: RowId::new(row),
            text,
            language: language_of(text),
        });
        SummaryRequest {
            name: "",
            members: members.to_vec(),
            language: texts.first().map_or(Language::En, |text| language_of(text)),
            passages: passages.collect(),
            max_chars,
        }
    }

    #[track_caller]
    fn check(members: &[&str], texts: &[&str], max_chars: usize, expected: &str) {
        let summary =
            CentralSentences::default().summarize(&request(members, texts, max_chars)).unwrap();
        assert_eq!(summary.text, expected);
    }

    #[test]
    fn central_sentences_are_chosen_and_stand_in_order() {
        let owl = "The barn owl hunts the vole in rough grass.";
        let hollow = "The barn owl nests in a hollow tree or in a barn.";
        let weather = "Rain is expected in the north on Sunday morning.";
        check(&["barn owl"], &[owl, hollow, weather], 100, &format!("{owl} {hollow}"));
        check(&["barn owl"], &[hollow, weather, owl], 100, &format!("{hollow} {owl}"));
        check(&["barn owl"], &[&format!("{owl} {weather} {owl}")], 60, owl);
        check(&["barn owl"], &[owl], 20, "");
        check(&[], &[], 2_000, "");
        check(
            &["金泉"],
            &["金泉は鉄と塩を多く含む赤い湯である。神戸は港町として知られている。"],
            20,
            "金泉は鉄と塩を多く含む赤い湯である。",
        );
        check(
            &["금천"],
            &["부산은 항구 도시로 널리 알려져 있다. 금천은 철과 소금이 많은 붉은 온천이다."],
            24,
            "금천은 철과 소금이 많은 붉은 온천이다.",
        );
    }

    #[test]
    fn what_cannot_be_read_alone_is_left_out() {
        let alone = "The barn owl hunts over meadows at dusk.";
        let hanging = "This barn owl hunts over meadows at dawn.";
        check(&["barn owl"], &[&format!("{hanging} {alone}")], 50, alone);
        let notes = CentralSentences::of_notes();
        let request = request(&["barn owl"], &[hanging], 50);
        assert_eq!(notes.summarize(&request).unwrap().text, hanging);
        assert!(["However, no.", "これは鳥だ。", "그러나 새는 난다."].iter().all(|one| hangs(one)));
        assert!(["Owls fly.", "鳥が飛ぶ。", "새가 난다.", ""].iter().all(|one| !hangs(one)));
        assert!(ENGLISH.is_sorted());
    }

    #[test]
    fn code_and_menus_are_not_chosen() {
        let text = "# Effects of a component that is mounted.\n\nEffects let a component connect to a system.\n\n```\nfunction Effects() { return 1. }\n```\n\n[Effects](/a). [Components](/b).";
        check(&["Effects"], &[text], 2_000, "Effects let a component connect to a system.");
    }

    #[test]
    fn another_language_is_read_only_where_there_is_no_other() {
        let (english, korean) =
            ("The hook runs after every commit of it.", "훅은 커밋이 끝날 때마다 매번 실행된다.");
        check(&[], &[english, korean], 2_000, english);
        check(&[], &["훅", english], 2_000, english);
    }

    proptest! {
        #[test]
        fn a_summary_is_made_of_whole_sentences(
            texts in prop::collection::vec(
                "(((Owls|The tide|Ada) (hunts|follows|writes to) [a-z]{3,9} [a-z]{3,9} in the [a-z]{4,9}[.!?] ){0,5}|((銀泉|東京|神戸)は[一-九]{6,12}である。){0,5}|((서울|한글)은 [가-깋]{4,9} [가-깋]{4,9}이다[.] ){0,5})",
                0..6,
            ),
            max_chars in 0_usize..400,
        ) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let request = request(&["Ada", "銀泉", "서울"], &texts, max_chars);
            let summary = CentralSentences::default().summarize(&request)?;
            prop_assert!(summary.text.chars().count() <= max_chars);
            prop_assert!(summary.sources.len() <= SENTENCES);
            let mut rest = summary.text.as_str();
            for source in &summary.sources {
                let passage = request.passages.iter().find(|one| one.row == source.row).unwrap();
                prop_assert!(statements(passage.text, passage.language).contains(&source.span));
                let sentence = &passage.text[source.span.start..source.span.end];
                rest = rest.trim_start().strip_prefix(sentence).unwrap();
            }
            prop_assert_eq!(rest, "");
            prop_assert_eq!(CentralSentences::default().summarize(&request)?, summary);
        }
    }
}
