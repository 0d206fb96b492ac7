//! Passages to sentences, and the sentences that matter back to one text: the
//! decompose-then-recompose of corrective retrieval (CRAG, Yan et al., 2024). Pure.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::{Analyzer, Language, Question, Score};
use trefoil_text::sentences;

/// The sentences of a passage that can say something: no headings, no rules, no fences.
pub(crate) fn decompose(passage: &str, language: Language) -> Vec<&str> {
    let sentences = sentences(passage, language).into_iter();
    sentences
        .filter_map(|span| passage.get(span.start..span.end))
        .filter(|text| !text.starts_with('#') && text.chars().any(char::is_alphanumeric))
        .collect()
}

/// How much of the question's information each text holds, relative to the one that
/// holds most, 0–1: Σ over the question's terms in it of ln(1 + N/n), where n of the N
/// texts hold the term. All 0 if none holds any.
pub(crate) fn coverage(
    analyzer: &dyn Analyzer,
    question: &Question,
    texts: &[&str],
    language: Language,
) -> Vec<f32> {
    let terms = |text: &str, language| {
        let (mut telling, mut stops) = (BTreeSet::new(), BTreeSet::new());
        analyzer.analyze(text, language, &mut |token| {
            let set = if token.stop { &mut stops } else { &mut telling };
            set.insert(token.term.into_owned());
        });
        if telling.is_empty() { stops } else { telling }
    };
    let asked = terms(&question.text, question.language);
    let held: Vec<BTreeSet<String>> = texts
        .iter()
        .map(|text| terms(text, language).intersection(&asked).cloned().collect())
        .collect();
    let mut holders: BTreeMap<&String, usize> = BTreeMap::new();
    for term in held.iter().flatten() {
        *holders.entry(term).or_default() += 1;
    }
    let all = texts.len() as f32;
    let information = |term| holders.get(term).map_or(0.0, |&n| (all / n as f32).ln_1p());
    let sums: Vec<f32> =
        held.iter().map(|terms| terms.iter().map(information).sum::<f32>()).collect();
    let most = sums.iter().copied().fold(0.0, f32::max);
    sums.into_iter().map(|sum| if most > 0.0 { sum / most } else { 0.0 }).collect()
}

/// The strips of one passage that stay, in document order: those from `bar` on, at most
/// `count`, the best of them if there are more; and always the best one, for which the
/// passage is there. None without strips.
pub(crate) fn select(scores: &[Score], bar: Score, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    let score = |&place: &usize| scores.get(place).copied().unwrap_or_default();
    order.sort_by(|a, b| score(b).cmp(&score(a)).then(a.cmp(b)));
    let mut kept: Vec<usize> = order
        .iter()
        .enumerate()
        .take_while(|(rank, place)| *rank == 0 || (*rank < count && score(place) >= bar))
        .map(|(_, &place)| place)
        .collect();
    kept.sort_unstable();
    kept
}

/// The strips at these places as one text; `…` stands for what is left out between two.
pub(crate) fn recompose(strips: &[&str], kept: &[usize], language: Language) -> String {
    let space = if language == Language::Ja { "" } else { " " };
    let mut text = String::new();
    let mut last = None;
    for &place in kept {
        let Some(strip) = strips.get(place) else { continue };
        match last {
            None => {}
            Some(before) if before + 1 == place => text.push_str(space),
            Some(_) => text.push_str(" … "),
        }
        text.push_str(strip);
        last = Some(place);
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_text::ScriptAnalyzer;

    use super::*;

    #[test]
    fn a_passage_is_cut_into_sentences_without_headings_and_rules() {
        let check = |passage: &str, language, expected: &[&str]| {
            assert_eq!(decompose(passage, language), expected);
        };
        check(
            "# Tides\n\nThe sea rises. It falls.\n\n---\n",
            Language::En,
            &["The sea rises.", "It falls."],
        );
        check("## 潮\n\n海が上がる。海が下がる。", Language::Ja, &["海が上がる。", "海が下がる。"]);
        check("바다가 오른다. 바다가 내린다.", Language::Ko, &["바다가 오른다.", "바다가 내린다."]);
        check("```\n|---|\n", Language::En, &[]);
    }

    #[test]
    fn a_sentence_with_the_rare_words_of_the_question_covers_most() {
        let check = |question: &str, language, texts: &[&str], expected: &[f32]| {
            let question = Question { text: question.into(), language, ..Question::default() };
            let found = coverage(&ScriptAnalyzer::new(), &question, texts, language);
            let rounded: Vec<f32> = found.iter().map(|one| (one * 10.0).round() / 10.0).collect();
            assert_eq!(rounded, expected, "{question:?}");
        };
        check(
            "when is high tide",
            Language::En,
            &["High tide is at noon.", "A tide turns.", "No."],
            &[1.0, 0.4, 0.0],
        );
        check("満潮の時刻", Language::Ja, &["満潮は正午。", "雨が降る。"], &[1.0, 0.0]);
        check("만조 시각", Language::Ko, &["만조는 정오다.", "비가 온다."], &[1.0, 0.0]);
        check("tide", Language::En, &["none"], &[0.0]);
    }

    #[test]
    fn the_best_stays_and_others_above_the_bar() {
        let check = |scores: &[f32], count, expected: &[usize]| {
            let scores: Vec<Score> = scores.iter().copied().map(Score::clamped).collect();
            assert_eq!(select(&scores, Score::clamped(0.4), count), expected, "{scores:?}");
        };
        check(&[], 3, &[]);
        check(&[0.1, 0.2], 3, &[1]);
        check(&[0.5, 0.2, 0.9, 0.4], 3, &[0, 2, 3]);
        check(&[0.5, 0.6, 0.9, 0.4], 2, &[1, 2]);
    }

    #[test]
    fn what_is_left_out_is_marked() {
        let check = |passage: &str, language, kept: &[usize], expected: &str| {
            let strips = decompose(passage, language);
            assert_eq!(recompose(&strips, kept, language), expected);
        };
        check("One here. Two here. Three here.", Language::En, &[0, 2], "One here. … Three here.");
        check("One here.\nTwo here.", Language::En, &[0, 1], "One here. Two here.");
        check("海が上がる。海が下がる。", Language::Ja, &[0, 1], "海が上がる。海が下がる。");
        check("One here.", Language::En, &[], "");
    }

    proptest! {
        #[test]
        fn what_stays_is_in_document_order_and_within_the_count(
            scores in proptest::collection::vec(0.0_f32..=1.0, 0..30),
            bar in 0.0_f32..=1.0,
            count in 1_usize..8,
        ) {
            let scores: Vec<Score> = scores.into_iter().map(Score::clamped).collect();
            let bar = Score::clamped(bar);
            let kept = select(&scores, bar, count);
            prop_assert!(kept.len() <= count);
            prop_assert_eq!(kept.is_empty(), scores.is_empty());
            prop_assert!(kept.is_sorted_by(|a, b| a < b));
            prop_assert!(kept.len() < 2 || kept.iter().all(|&place| scores[place] >= bar));
        }
    }
}
