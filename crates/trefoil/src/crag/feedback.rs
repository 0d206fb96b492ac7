//! Words that passages graded good have and the question has not. Pure.

use std::collections::{BTreeMap, BTreeSet};

use trefoil_core::{Analyzer, Language, Question, Score, WeightedTerm};

/// Terms that a question is expanded by.
const TERMS: usize = 10;

/// What all of them weigh together, against the 1 of the question's own: the even mixture
/// of both models that RM3 takes for a start.
const WEIGHT: f32 = 1.0;

/// A passage to learn from, or to tell the usual from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample<'t> {
    pub(crate) text: &'t str,
    pub(crate) language: Language,
    /// How well it answers the question.
    pub(crate) evidence: Score,
}

/// A term of the expansion.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FeedbackTerm {
    pub(crate) weighted: WeightedTerm,
    /// How it is written in the passages.
    pub(crate) surface: String,
}

/// The terms of `good` that say most about what the question is about, best first; none
/// without `good`.
///
/// The weight of a term is its probability under the relevance model of the passages,
/// Σ evidence(D) · tf(t, D)/|D|, as in RM3 (Lavrenko, Croft: Relevance-Based Language
/// Models, SIGIR 2001; Abdul-Jaleel et al.: `UMass` at TREC 2004), with what a passage was
/// graded in the place of its query likelihood. The terms are chosen by that weight times
/// ln(1 + N/n), where n of the N passages in `background` hold the term, so that words
/// which any passage has are not learnt. The question's own terms gain nothing.
pub(crate) fn feedback_terms(
    analyzer: &dyn Analyzer,
    question: &Question,
    good: &[Sample<'_>],
    background: &[Sample<'_>],
) -> Vec<FeedbackTerm> {
    let mut asked = BTreeSet::new();
    analyzer.analyze(&question.text, question.language, &mut |token| {
        asked.insert(token.term.into_owned());
    });
    let mut learnt: BTreeMap<String, (f32, String)> = BTreeMap::new();
    for sample in good {
        let mut counts: BTreeMap<String, (f32, String)> = BTreeMap::new();
        let mut length = 0.0_f32;
        analyzer.analyze(sample.text, sample.language, &mut |token| {
            length += 1.0;
            let telling = !token.stop && token.term.chars().nth(1).is_some();
            if telling && !asked.contains(&*token.term) {
                let surface = || surface(sample.text, token.span.start, token.span.end);
                let term = token.term.into_owned();
                counts.entry(term).or_insert_with(|| (0.0, surface())).0 += 1.0;
            }
        });
        for (term, (count, surface)) in counts {
            let known = learnt.entry(term).or_insert((0.0, surface));
            known.0 += sample.evidence.get() * count / length;
        }
    }
    let spread = spread(analyzer, background);
    let all = background.len() as f32;
    let mut ranked: Vec<(f32, String, f32, String)> = learnt
        .into_iter()
        .map(|(term, (weight, surface))| {
            let holders = spread.get(&term).copied().unwrap_or(0).max(1) as f32;
            (weight * (all / holders).ln_1p(), term, weight, surface)
        })
        .collect();
    // Of a word and the bigrams in it, which are equals, the word first.
    ranked.sort_by(|a, b| {
        b.0.total_cmp(&a.0).then(b.1.len().cmp(&a.1.len())).then_with(|| a.1.cmp(&b.1))
    });
    ranked.truncate(TERMS);
    let sum: f32 = ranked.iter().map(|(_, _, weight, _)| weight).sum();
    ranked
        .into_iter()
        .filter(|_| sum > 0.0)
        .map(|(_, term, weight, surface)| FeedbackTerm {
            weighted: WeightedTerm { term, weight: Score::clamped(WEIGHT * weight / sum) },
            surface,
        })
        .collect()
}

/// How many of the passages hold each term.
fn spread(analyzer: &dyn Analyzer, background: &[Sample<'_>]) -> BTreeMap<String, usize> {
    let mut spread: BTreeMap<String, usize> = BTreeMap::new();
    for sample in background {
        let mut terms = BTreeSet::new();
        analyzer.analyze(sample.text, sample.language, &mut |token| {
            terms.insert(token.term.into_owned());
        });
        for term in terms {
            *spread.entry(term).or_default() += 1;
        }
    }
    spread
}

/// A term as it is written, and in Korean the word that its syllables stand in.
fn surface(text: &str, mut start: usize, mut end: usize) -> String {
    let is_hangul = |c: char| ('\u{ac00}'..='\u{d7a3}').contains(&c);
    let written = text.get(start..end).unwrap_or_default();
    if written.contains(is_hangul) {
        let before = text.get(..start).unwrap_or_default();
        let after = text.get(end..).unwrap_or_default();
        start = before.trim_end_matches(is_hangul).len();
        end += after.len() - after.trim_start_matches(is_hangul).len();
    }
    text.get(start..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use trefoil_text::ScriptAnalyzer;

    use super::*;

    fn samples(texts: &[&'static str], evidence: f32) -> Vec<Sample<'static>> {
        let sample = |&text: &&'static str| Sample {
            text,
            language: Language::En,
            evidence: Score::clamped(evidence),
        };
        texts.iter().map(sample).collect()
    }

    fn learn(question: &str, good: &[&'static str], others: &[&'static str]) -> Vec<FeedbackTerm> {
        let question = Question { text: question.to_owned(), ..Question::default() };
        let good = samples(good, 0.8);
        let background = [good.clone(), samples(others, 0.0)].concat();
        feedback_terms(&ScriptAnalyzer::new(), &question, &good, &background)
    }

    #[track_caller]
    fn check(question: &str, good: &[&'static str], others: &[&'static str], first: &str) {
        let terms = learn(question, good, others);
        assert_eq!(terms.first().map(|term| term.surface.as_str()), Some(first), "{terms:?}");
    }

    #[test]
    fn what_is_usual_is_not_learnt() {
        check(
            "car fuel",
            &["The car needs petrol in the tank.", "A car runs on petrol on the road."],
            &["A road in the north.", "The tank of the aquarium."],
            "petrol",
        );
        check("車の燃料", &["車にはガソリンを入れる。ガソリンは高い。"], &["高い山。"], "ガソリン");
        check(
            "자동차 연료",
            &["자동차에는 휘발유를 넣는다. 휘발유는 비싸다."],
            &["비싸다"],
            "휘발유를",
        );
    }

    #[test]
    fn the_weights_are_those_of_the_whole_question_together() {
        let terms = learn("tide", &["moon and sun pull at the sea", "moon and tide"], &[]);
        let sum: f32 = terms.iter().map(|term| term.weighted.weight.get()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{terms:?}");
        assert!(terms.iter().all(|term| term.weighted.term != "tide"));
        assert!(learn("tide", &[], &["moon"]).is_empty());
        assert!(learn("tide", &["tide of the tide"], &[]).is_empty());
    }
}
