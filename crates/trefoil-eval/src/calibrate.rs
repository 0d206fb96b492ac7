mod grades;
mod logistic;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use trefoil::{
    Language, Score,
    search::{AnswerEvidence, Calibration, Feature, Isotonic, Separation},
};

pub use self::grades::{GradeTable, calibrate_grades};
use self::logistic::{Logistic, platt_targets, sigmoid};
use crate::{
    random::Random,
    separation::{accept_rate, auroc},
    statistic::mean,
    table::Table,
};

/// A question of which it is known whether it has an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sample {
    /// The question's language.
    pub language: Language,
    /// What the search told.
    pub evidence: AnswerEvidence,
    /// Whether the corpus answers it.
    pub answered: bool,
    /// The reranker that reads the question, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reranker: Option<String>,
    /// What it says of the passages that it likes best, at most five.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<Score>,
}

/// What a calibration has to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationBounds {
    /// Questions that each class needs.
    pub samples: usize,
    /// The least area under the receiver operating characteristic on held-out folds.
    pub auroc: f64,
    /// The largest share of either class that may be taken for the other.
    pub errors: f64,
}

/// Why there is no calibration.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    /// Too few questions to tell.
    #[error(
        "not calibrated: {answered} questions with an answer and {unanswered} without; \
         {needed} of each are needed"
    )]
    TooFew {
        /// Questions with an answer.
        answered: usize,
        /// Questions without.
        unanswered: usize,
        /// How many of each are needed.
        needed: usize,
    },
    /// The evidence does not tell answered questions from the others.
    #[error(
        "not calibrated: the evidence does not tell answered questions from the others \
         (AUROC {auroc:.3}, {needed:.3} is needed)"
    )]
    NotSeparated {
        /// What was reached on held-out folds.
        auroc: f64,
        /// What is needed.
        needed: f64,
    },
    /// With thresholds that keep the errors within bounds, next to nothing counts as correct.
    #[error(
        "not calibrated: within the allowed errors, the evidence of {:.1} % of the questions \
         with an answer would be correct; {:.1} % is needed",
        100.0 * correct,
        100.0 * needed
    )]
    NeverCorrect {
        /// Share of the questions with an answer whose evidence would be correct.
        correct: f64,
        /// What is needed.
        needed: f64,
    },
}

/// Folds of the cross-validation.
pub(crate) const FOLDS: usize = 5;
/// Weight of ½ Σ weight², on features of unit variance.
const RIDGE: f64 = 1.0;
const BINS: usize = 10;

/// Fits a calibration for questions in a language, or in any, over vectors of a model:
/// logistic regression on the evidence, mapped to a probability by
/// its own logistic function (Platt) or by isotonic regression, whichever has the lower
/// squared error on held-out folds. The thresholds are the tightest that keep each
/// class's errors within `bounds` there.
///
/// # Errors
/// A [`Refusal`] where too few questions are given or the classes do not separate.
pub fn calibrate(
    question: Option<Language>,
    model: Option<String>,
    samples: &[Sample],
    bounds: &CalibrationBounds,
) -> Result<Calibration, Refusal> {
    let labels: Vec<bool> = samples.iter().map(|sample| sample.answered).collect();
    let answered = labels.iter().filter(|&&label| label).count();
    let unanswered = bounds.unanswered(answered, labels.len())?;
    let features = known_features(samples);
    let row = |sample: &Sample| -> Vec<f64> {
        features.iter().map(|&feature| sample.evidence.get(feature).unwrap_or(0.0)).collect()
    };
    let rows: Vec<Vec<f64>> = samples.iter().map(row).collect();
    let fold = stratified(&labels);
    let odds = held_out(&fold, |train| {
        let (rows, learnt) = (&rows, learn(&pick(&rows, train), &pick(&labels, train)));
        move |index: usize| learnt.odds(rows.get(index).map_or(&[], Vec::as_slice))
    });
    let auroc = bounds.auroc(&of_class(&odds, &labels, true), &of_class(&odds, &labels, false))?;
    let platt: Vec<f64> = odds.iter().copied().map(sigmoid).collect();
    let pooled = held_out(&fold, |train| {
        let fitted = isotonic(&pick(&odds, train), &pick(&labels, train));
        let odds = &odds;
        move |index: usize| fitted.at(odds.get(index).copied().unwrap_or_default())
    });
    let better = brier(&pooled, &labels) < brier(&platt, &labels);
    let probabilities = if better { pooled } else { platt };
    let (unsupported, supported) = thresholds(&probabilities, &labels, bounds.errors);
    let learnt = learn(&rows, &labels);
    Ok(Calibration {
        question,
        model,
        supported,
        unsupported,
        bias: learnt.bias,
        isotonic: better.then(|| isotonic(&odds, &labels)),
        weights: features.into_iter().zip(learnt.weights).collect::<BTreeMap<_, _>>(),
        measured: Separation {
            answered,
            unanswered,
            auroc,
            brier: brier(&probabilities, &labels),
            calibration_error: calibration_error(&probabilities, &labels),
            false_accept_rate: accept_rate(&of_class(&probabilities, &labels, false), supported),
            true_accept_rate: accept_rate(&of_class(&probabilities, &labels, true), supported),
        },
    })
}

impl CalibrationBounds {
    /// How many of `all` questions have no answer, if there are enough of both kinds.
    fn unanswered(&self, answered: usize, all: usize) -> Result<usize, Refusal> {
        let (unanswered, needed) = (all - answered, self.samples.max(FOLDS));
        if answered.min(unanswered) < needed {
            return Err(Refusal::TooFew { answered, unanswered, needed });
        }
        Ok(unanswered)
    }

    /// How well values tell the questions with an answer from the others, if well enough.
    fn auroc(&self, answered: &[f64], unanswered: &[f64]) -> Result<f64, Refusal> {
        let (auroc, needed) = (auroc(answered, unanswered).unwrap_or(0.5), self.auroc);
        if auroc < needed { Err(Refusal::NotSeparated { auroc, needed }) } else { Ok(auroc) }
    }
}

impl Default for CalibrationBounds {
    /// 50 questions of each class, an area of .75, 5 % errors.
    fn default() -> Self {
        Self { samples: 50, auroc: 0.75, errors: 0.05 }
    }
}

/// How well each of some calibrations tells the classes apart, as a table.
#[derive(Clone, Copy, Debug)]
pub struct CalibrationTable<'a>(pub &'a [Calibration]);

impl fmt::Display for CalibrationTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new([
            "questions",
            "answered",
            "unanswered",
            "AUROC",
            "Brier",
            "supported from",
            "false accepts",
            "true accepts",
        ]);
        for Calibration { question, supported, measured, .. } in self.0 {
            table.push(vec![
                question.map_or_else(|| "all".to_owned(), |language| language.to_string()),
                measured.answered.to_string(),
                measured.unanswered.to_string(),
                format!("{:.3}", measured.auroc),
                format!("{:.3}", measured.brier),
                format!("{supported:.3}"),
                format!("{:.1} %", 100.0 * measured.false_accept_rate),
                format!("{:.1} %", 100.0 * measured.true_accept_rate),
            ]);
        }
        table.fmt(f)
    }
}

/// The evidence that every sample has and that differs between them.
fn known_features(samples: &[Sample]) -> Vec<Feature> {
    let known = |feature: &Feature| {
        let values: Option<Vec<f64>> =
            samples.iter().map(|sample| sample.evidence.get(*feature)).collect();
        values.is_some_and(|values| values.iter().any(|&value| Some(&value) != values.first()))
    };
    Feature::ALL.into_iter().filter(known).collect()
}

/// Deals each class evenly to the folds, in a fixed random order.
pub(crate) fn stratified(labels: &[bool]) -> Vec<usize> {
    let mut random = Random::seeded(5);
    let mut order: Vec<(bool, u64, usize)> =
        labels.iter().zip(0..).map(|(&label, index)| (label, random.bits(), index)).collect();
    order.sort_unstable();
    let mut dealt: Vec<(usize, usize)> = order
        .into_iter()
        .zip((0..FOLDS).cycle())
        .map(|((.., index), fold)| (index, fold))
        .collect();
    dealt.sort_unstable();
    dealt.into_iter().map(|(_, fold)| fold).collect()
}

/// A value for each sample, from what was fitted to the other folds.
fn held_out<F: Fn(usize) -> f64>(fold: &[usize], fit: impl Fn(&[bool]) -> F) -> Vec<f64> {
    let fitted: Vec<F> = (0..FOLDS)
        .map(|left_out| fit(&fold.iter().map(|&one| one != left_out).collect::<Vec<_>>()))
        .collect();
    let value = |(&fold, index): (&usize, usize)| fitted.get(fold).map_or(0.0, |at| at(index));
    fold.iter().zip(0..).map(value).collect()
}

fn pick<T: Clone>(values: &[T], wanted: &[bool]) -> Vec<T> {
    let kept = values.iter().zip(wanted).filter(|&(_, &wanted)| wanted);
    kept.map(|(value, _)| value.clone()).collect()
}

fn of_class(values: &[f64], labels: &[bool], class: bool) -> Vec<f64> {
    let own = values.iter().zip(labels).filter(|&(_, &label)| label == class);
    own.map(|(&value, _)| value).collect()
}

/// Logistic regression on features scaled to unit variance, told in their own units.
fn learn(rows: &[Vec<f64>], labels: &[bool]) -> Logistic {
    let width = rows.first().map_or(0, Vec::len);
    let scales: Vec<(f64, f64)> = (0..width)
        .map(|column| {
            let values: Vec<f64> = rows.iter().filter_map(|row| row.get(column).copied()).collect();
            let centre = mean(&values);
            let squares: Vec<f64> = values.iter().map(|value| (value - centre).powi(2)).collect();
            (centre, mean(&squares).sqrt().max(1e-9))
        })
        .collect();
    let scale = |row: &Vec<f64>| -> Vec<f64> {
        row.iter().zip(&scales).map(|(value, (centre, width))| (value - centre) / width).collect()
    };
    let scaled: Vec<Vec<f64>> = rows.iter().map(scale).collect();
    let fitted = Logistic::fit(&scaled, &platt_targets(labels), RIDGE);
    let parts = fitted.weights.iter().zip(&scales);
    let weights: Vec<f64> = parts.map(|(weight, (_, width))| weight / width).collect();
    let shift: f64 = weights.iter().zip(&scales).map(|(weight, (centre, _))| weight * centre).sum();
    Logistic { bias: fitted.bias - shift, weights }
}

/// On Platt's targets, so that no probability becomes 0 or 1.
fn isotonic(odds: &[f64], labels: &[bool]) -> Isotonic {
    let pairs: Vec<(f64, f64)> = odds.iter().copied().zip(platt_targets(labels)).collect();
    Isotonic::fit(&pairs)
}

fn brier(probabilities: &[f64], labels: &[bool]) -> f64 {
    let one = |(probability, &label): (&f64, &bool)| (probability - truth(label)).powi(2);
    mean(&probabilities.iter().zip(labels).map(one).collect::<Vec<_>>())
}

fn calibration_error(probabilities: &[f64], labels: &[bool]) -> f64 {
    let mut pairs: Vec<(f64, f64)> =
        probabilities.iter().copied().zip(labels.iter().map(|&label| truth(label))).collect();
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let bins = pairs.chunks(pairs.len().div_ceil(BINS).max(1));
    let apart =
        bins.map(|bin| bin.iter().map(|(probability, truth)| probability - truth).sum::<f64>());
    apart.map(f64::abs).sum::<f64>() / pairs.len().max(1) as f64
}

fn truth(label: bool) -> f64 {
    if label { 1.0 } else { 0.0 }
}

/// Below the first at most `errors` of the answered questions lie, at and above the second
/// at most `errors` of the others.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank in the list")]
fn thresholds(probabilities: &[f64], labels: &[bool], errors: f64) -> (f64, f64) {
    let sorted = |class| {
        let mut values = of_class(probabilities, labels, class);
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (answered, unanswered) = (sorted(true), sorted(false));
    let allowed = |class: &[f64]| (errors * class.len() as f64) as usize;
    let highest = unanswered.iter().rev().nth(allowed(&unanswered)).copied().unwrap_or_default();
    let above = answered.iter().find(|&&probability| probability > highest);
    let supported = above.copied().unwrap_or(1.0_f64.next_up());
    let unsupported = answered.get(allowed(&answered)).copied().unwrap_or_default();
    (unsupported.min(supported), supported)
}

#[cfg(test)]
mod tests {
    use trefoil::search::Answerability;

    use super::*;

    /// Coverage tells the classes apart by `gap` of its spread; the rest is noise.
    fn samples(count: usize, gap: f64) -> Vec<Sample> {
        let mut random = Random::seeded(3);
        let mut noise = move || (0..6).map(|_| random.below(1000) as f64 / 3000.0).sum::<f64>();
        let one = |index: usize| {
            let answered = index.is_multiple_of(2);
            let coverage = noise() + if answered { gap } else { 0.0 };
            let evidence = AnswerEvidence {
                coverage: Some(coverage),
                margin: Some(noise()),
                ..AnswerEvidence::default()
            };
            Sample {
                language: Language::En,
                evidence,
                answered,
                reranker: None,
                judged: Vec::new(),
            }
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn classes_that_separate_are_calibrated() {
        let bounds = CalibrationBounds::default();
        let fitted = calibrate(None, None, &samples(400, 0.6), &bounds).unwrap();
        let Separation { auroc, calibration_error, false_accept_rate, true_accept_rate, .. } =
            fitted.measured;
        assert!(auroc > 0.9, "{auroc}");
        assert!(calibration_error < 0.05, "{calibration_error}");
        assert!(false_accept_rate <= 0.05 && true_accept_rate > 0.5, "{true_accept_rate}");
        // AnswerEvidence that never differs does not count.
        assert_eq!(
            fitted.weights.keys().copied().collect::<Vec<_>>(),
            [Feature::Coverage, Feature::Margin]
        );
        assert!(fitted.weights[&Feature::Coverage] > 5.0 * fitted.weights[&Feature::Margin].abs());
        let verdict = |coverage| {
            fitted.answerability(&AnswerEvidence {
                coverage: Some(coverage),
                margin: Some(1.0),
                ..AnswerEvidence::default()
            })
        };
        assert_eq!(verdict(2.0), Answerability::Supported);
        assert_eq!(verdict(0.2), Answerability::Unsupported);
    }

    #[test]
    fn classes_that_do_not_separate_are_refused() {
        let refusal = calibrate(None, None, &samples(400, 0.02), &CalibrationBounds::default());
        let refusal = refusal.unwrap_err();
        assert!(
            matches!(refusal, Refusal::NotSeparated { auroc, .. } if auroc < 0.65),
            "{refusal}"
        );
        assert!(refusal.to_string().contains("does not tell answered questions"));
    }

    #[test]
    fn too_few_questions_are_refused() {
        let bounds = CalibrationBounds::default();
        let refusal = calibrate(None, None, &samples(99, 5.0), &bounds).unwrap_err();
        assert_eq!(refusal, Refusal::TooFew { answered: 50, unanswered: 49, needed: 50 });
        assert!(calibrate(None, None, &samples(100, 5.0), &bounds).is_ok());
        assert!(calibrate(None, None, &[], &CalibrationBounds { samples: 0, ..bounds }).is_err());
    }

    #[test]
    fn thresholds_keep_the_errors_of_each_class() {
        let labels: Vec<bool> = (0..40).map(|index| index >= 20).collect();
        let probabilities: Vec<f64> = (0..40).map(|index| f64::from(index % 30) / 40.0).collect();
        let (unsupported, supported) = thresholds(&probabilities, &labels, 0.1);
        let share =
            |class, threshold| accept_rate(&of_class(&probabilities, &labels, class), threshold);
        assert!(share(false, supported) <= 0.1);
        assert!(1.0 - share(true, unsupported) <= 0.1 + 1e-12);
        assert!(unsupported <= supported);
    }
}
