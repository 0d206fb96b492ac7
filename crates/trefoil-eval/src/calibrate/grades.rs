//! Where grades of evidence begin, on the scale of one reranker.

use std::{collections::BTreeMap, fmt};

use trefoil::{
    Score,
    crag::{CragRelevance, GradeCalibration, GradeSeparation, GradeThresholds, overall_score},
};

use crate::{
    CalibrationBounds, Refusal, Sample,
    calibrate::{FOLDS, stratified},
    table::Table,
};

/// The scores that a reranker gave to the first passages of a question, and whether it has an
/// answer.
struct Graded<'s> {
    scores: &'s [Score],
    answered: bool,
}

/// Fits the thresholds of each reranker to the questions that it read: evidence counts as correct
/// from where at most a share `bounds.errors` of the questions without an answer do, and as
/// incorrect up to where at most that share of the others do. One passage is certain, or is kept,
/// by the same share of the best of each question. A reranker that read too few questions of a
/// class, or does not tell the classes apart well enough, has none.
pub fn calibrate_grades(
    samples: &[Sample],
    bounds: &CalibrationBounds,
) -> Vec<(String, Result<GradeCalibration, Refusal>)> {
    let mut by_reranker: BTreeMap<&str, Vec<Graded<'_>>> = BTreeMap::new();
    for Sample { reranker, judged, answered, .. } in samples {
        if let Some(reranker) = reranker.as_deref().filter(|_| !judged.is_empty()) {
            let graded = Graded { scores: judged, answered: *answered };
            by_reranker.entry(reranker).or_default().push(graded);
        }
    }
    let each = by_reranker.into_iter();
    each.map(|(name, graded)| (name.to_owned(), fitted(name, &graded, bounds))).collect()
}

fn fitted(
    reranker: &str,
    graded: &[Graded<'_>],
    bounds: &CalibrationBounds,
) -> Result<GradeCalibration, Refusal> {
    let answered = graded.iter().filter(|one| one.answered).count();
    let unanswered = bounds.unanswered(answered, graded.len())?;
    let of = |class| {
        let own = graded.iter().filter(move |one| one.answered == class);
        own.map(|one| f64::from(weighted(one.scores))).collect::<Vec<f64>>()
    };
    bounds.auroc(&of(true), &of(false))?;
    let labels: Vec<bool> = graded.iter().map(|one| one.answered).collect();
    let folds = stratified(&labels);
    let mut wrong = [0_usize; 2];
    for fold in 0..FOLDS {
        let of = |left_out: bool| {
            let pairs = graded.iter().zip(&folds);
            pairs.filter(move |(_, one)| (**one == fold) == left_out).map(|(one, _)| one)
        };
        let learnt = thresholds(&of(false).collect::<Vec<_>>(), bounds.errors);
        for one in of(true) {
            let grade = learnt.overall(one.scores).relevance;
            wrong[0] += usize::from(!one.answered && grade == CragRelevance::Correct);
            wrong[1] += usize::from(one.answered && grade == CragRelevance::Incorrect);
        }
    }
    let all: Vec<&Graded<'_>> = graded.iter().collect();
    let thresholds = thresholds(&all, bounds.errors);
    let right = all.iter().filter(|one| {
        one.answered && thresholds.overall(one.scores).relevance == CragRelevance::Correct
    });
    let correct = right.count() as f64 / answered as f64;
    if correct < USEFUL {
        return Err(Refusal::NeverCorrect { correct, needed: USEFUL });
    }
    let [false_correct, false_incorrect] = wrong;
    Ok(GradeCalibration {
        reranker: reranker.to_owned(),
        thresholds,
        measured: GradeSeparation {
            answered,
            unanswered,
            correct_rate: correct,
            false_correct_rate: false_correct as f64 / unanswered as f64,
            false_incorrect_rate: false_incorrect as f64 / answered as f64,
        },
    })
}

/// How well the grades of each reranker tell the classes apart, as a table.
#[derive(Clone, Copy, Debug)]
pub struct GradeTable<'a>(pub &'a [GradeCalibration]);

impl fmt::Display for GradeTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "reranker",
            "incorrect to",
            "keep from",
            "correct from",
            "certain from",
            "correct",
            "false correct",
            "false incorrect",
        ]);
        for GradeCalibration { reranker, thresholds, measured } in self.0 {
            let GradeThresholds { correct, incorrect, certain, keep } = thresholds;
            let mut row = vec![reranker.clone()];
            let scores = [incorrect, keep, correct, certain];
            row.extend(scores.map(|score| format!("{:.3}", score.get())));
            let GradeSeparation { correct_rate, false_correct_rate, false_incorrect_rate, .. } =
                measured;
            let rates = [correct_rate, false_correct_rate, false_incorrect_rate];
            row.extend(rates.map(|rate| format!("{:.1} %", 100.0 * rate)));
            table.push(row);
        }
        table.fmt(f)
    }
}

/// Thresholds under which less than this share of what is answered counts as correct only say no.
const USEFUL: f64 = 0.1;
/// The least distance of two thresholds that must differ.
const APART: f32 = 1e-3;

fn thresholds(graded: &[&Graded<'_>], errors: f64) -> GradeThresholds {
    let class = |answered: bool, of: fn(&[Score]) -> f32| {
        let own = graded.iter().filter(move |one| one.answered == answered);
        let mut values: Vec<f32> = own.map(|one| of(one.scores)).collect();
        values.sort_by(f32::total_cmp);
        values
    };
    // Above the first at most the share of errors lies, below the second.
    let above = |values: &[f32]| values.iter().rev().nth(allowed(values, errors)).copied();
    let below = |values: &[f32]| values.get(allowed(values, errors)).copied();
    let highest = above(&class(false, weighted)).unwrap_or_default();
    let lowest = below(&class(true, weighted)).unwrap_or_default();
    // Where the classes lie apart the middle between them divides them.
    let (incorrect, correct) = if lowest > highest {
        let middle = f32::midpoint(lowest, highest);
        (middle - APART, middle)
    } else {
        (lowest, highest)
    };
    let correct = (correct + APART).clamp(2.0 * APART, 1.0);
    let incorrect = incorrect.clamp(0.0, correct - APART);
    let certain = above(&class(false, best)).unwrap_or(1.0) + APART;
    let keep = below(&class(true, best)).unwrap_or_default();
    GradeThresholds {
        correct: Score::clamped(correct),
        incorrect: Score::clamped(incorrect),
        certain: Score::clamped(certain.clamp(correct, 1.0)),
        keep: Score::clamped(keep.clamp(0.0, correct)),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank in a list")]
fn allowed(values: &[f32], errors: f64) -> usize {
    (errors * values.len() as f64) as usize
}

fn weighted(scores: &[Score]) -> f32 {
    overall_score(scores).get()
}

fn best(scores: &[Score]) -> f32 {
    scores.iter().max().copied().unwrap_or_default().get()
}

#[cfg(test)]
mod tests {
    use trefoil::{Language, search::AnswerEvidence};

    use super::*;
    use crate::random::Random;

    fn samples(reranker: &str, count: usize, middles: [f32; 2]) -> Vec<Sample> {
        let mut random = Random::seeded(7);
        (0..count)
            .map(|index| {
                let answered = index.is_multiple_of(2);
                let middle = middles[usize::from(answered)];
                let near = |_| Score::clamped(middle + random.below(200) as f32 / 1_000.0 - 0.1);
                Sample {
                    language: Language::En,
                    evidence: AnswerEvidence::default(),
                    answered,
                    reranker: Some(reranker.to_owned()),
                    judged: (0..5).map(near).collect(),
                }
            })
            .collect()
    }

    #[test]
    fn each_reranker_has_thresholds_on_its_own_scale() {
        let low = samples("low", 200, [0.02, 0.3]);
        let high = samples("high", 200, [0.5, 0.85]);
        let few = samples("few", 20, [0.5, 0.85]);
        let all = [low.clone(), high.clone(), few].concat();
        let mut fitted: BTreeMap<String, _> =
            calibrate_grades(&all, &CalibrationBounds::default()).into_iter().collect();
        assert!(matches!(fitted.remove("few"), Some(Err(Refusal::TooFew { .. }))));
        let [low, high] = ["low", "high"].map(|name| fitted.remove(name).unwrap().unwrap());
        for one in [&low, &high] {
            one.thresholds.check().unwrap();
            assert!(one.measured.correct_rate > 0.9, "{one:?}");
            assert!(one.measured.false_correct_rate <= 0.1, "{one:?}");
            assert!(one.measured.false_incorrect_rate <= 0.1, "{one:?}");
        }
        assert!(low.thresholds.correct < high.thresholds.incorrect, "{low:?} {high:?}");
    }

    #[test]
    fn a_reranker_that_tells_nothing_has_no_thresholds() {
        for middles in [[0.5, 0.5], [0.0, 0.0], [1.0, 1.0], [0.8, 0.1]] {
            let all = samples("blind", 120, middles);
            for (_, fitted) in calibrate_grades(&all, &CalibrationBounds::default()) {
                assert!(matches!(fitted, Err(Refusal::NotSeparated { .. })), "{middles:?}");
            }
        }
    }

    #[test]
    fn whatever_tells_the_classes_apart_has_thresholds_in_order() {
        let bounds = CalibrationBounds::default();
        for low in [0.0, 0.1, 0.3, 0.5, 0.8] {
            for gap in [0.06, 0.1, 0.2, 0.5, 1.0] {
                for (_, fitted) in calibrate_grades(&samples("one", 120, [low, low + gap]), &bounds)
                {
                    let Ok(fitted) = fitted else { continue };
                    assert!(fitted.measured.correct_rate >= USEFUL, "{fitted:?}");
                    fitted.thresholds.check().unwrap();
                    assert!(fitted.measured.false_correct_rate <= 0.15, "{low} {gap} {fitted:?}");
                }
            }
        }
    }
}
