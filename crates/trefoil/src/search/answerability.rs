//! How well a search answered: evidence to probability. Pure.

use std::{collections::BTreeMap, sync::LazyLock};

use serde::{Deserialize, Serialize};
use trefoil_core::{Answerability, Hit, Language, RankedList, RowId, Score};

use crate::{
    default_set::{by_terms, by_vectors, independent},
    profile::Profile,
    search::{blend::logit, isotonic::Isotonic},
};

/// What a search tells about how well it answered; absent is what a part of the search that
/// did not run would have told.
#[serde_with::skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AnswerEvidence {
    /// The most that a reranker says of a passage, in log-odds within ±16.
    pub rerank: Option<f64>,
    /// Share of the question's information that one passage covers, 0–1.
    pub coverage: Option<f64>,
    /// Best relevance of the semantic retriever, 0–1.
    pub similarity: Option<f64>,
    /// First cosine less the tenth.
    pub margin: Option<f64>,
    /// Share of the first ten hits of two retrievers that both have, 0–1; the mean over all pairs.
    /// The graph retriever is no witness: it goes on from what the others found.
    pub agreement: Option<f64>,
}

/// A part of [`AnswerEvidence`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Feature {
    /// [`AnswerEvidence::rerank`].
    Rerank,
    /// [`AnswerEvidence::coverage`].
    Coverage,
    /// [`AnswerEvidence::similarity`].
    Similarity,
    /// [`AnswerEvidence::margin`].
    Margin,
    /// [`AnswerEvidence::agreement`].
    Agreement,
}

/// `AnswerEvidence` to the probability that the question is answered, and what is made of it.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calibration {
    /// For questions in this language; any if absent.
    pub question: Option<Language>,
    /// The embedding model that the evidence is of; any if absent.
    pub model: Option<String>,
    /// At and above this probability a question counts as supported.
    pub supported: f64,
    /// Below this one it counts as unsupported.
    pub unsupported: f64,
    /// Log-odds where all evidence is 0.
    pub bias: f64,
    /// From log-odds to probability; the logistic function (Platt) where it is absent.
    pub isotonic: Option<Isotonic>,
    /// Log-odds per unit of evidence; evidence that is not named does not count.
    pub weights: BTreeMap<Feature, f64>,
    /// How well it does on questions that it was not fitted to.
    pub measured: Separation,
}

/// How well a calibration separates what is answered from what is not, on held-out folds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Separation {
    /// Questions with an answer.
    pub answered: usize,
    /// Questions without.
    pub unanswered: usize,
    /// Area under the receiver operating characteristic.
    pub auroc: f64,
    /// Mean squared error of the probabilities.
    pub brier: f64,
    /// Mean distance between probability and share answered, over ten bins as full as each
    /// other.
    pub calibration_error: f64,
    /// Share of the questions without an answer that count as supported.
    pub false_accept_rate: f64,
    /// Share of the questions with an answer that count as supported.
    pub true_accept_rate: f64,
}

impl AnswerEvidence {
    /// Reads the evidence off the retrievers' lists and a reranker's best score.
    pub fn of(lists: &[RankedList], rerank: Option<Score>) -> Self {
        let best = |list: &RankedList| {
            let relevance = list.hits().iter().map(|hit| hit.relevance);
            relevance.max().unwrap_or_default().get().into()
        };
        Self {
            rerank: rerank.map(|score| logit(score).into()),
            coverage: by_terms(lists).map(best),
            similarity: by_vectors(lists).map(best),
            margin: by_vectors(lists).map(margin),
            agreement: agreement(lists),
        }
    }

    /// One part; `None` where the search did not tell.
    pub fn get(&self, feature: Feature) -> Option<f64> {
        match feature {
            Feature::Rerank => self.rerank,
            Feature::Coverage => self.coverage,
            Feature::Similarity => self.similarity,
            Feature::Margin => self.margin,
            Feature::Agreement => self.agreement,
        }
    }
}

impl Feature {
    /// Every part, in a fixed order.
    pub const ALL: [Self; 5] =
        [Self::Rerank, Self::Coverage, Self::Similarity, Self::Margin, Self::Agreement];
}

impl Calibration {
    /// Those of the default models, fitted by `trefoil calibrate` as `calibration.toml` says.
    pub fn of_default_models() -> &'static [Self] {
        static FITTED: LazyLock<Vec<Calibration>> = LazyLock::new(|| {
            let profile: Result<Profile, _> = toml::from_str(include_str!("calibration.toml"));
            profile.map(|profile| profile.calibrations).unwrap_or_default()
        });
        &FITTED
    }

    /// Whether it is about questions in this language over vectors of this model.
    pub fn is_about(&self, question: Language, model: Option<&str>) -> bool {
        self.question.is_none_or(|wanted| wanted == question)
            && self.model.as_deref().is_none_or(|wanted| model == Some(wanted))
    }

    /// The probability that the question is answered; `None` where evidence is missing that
    /// it was fitted with.
    pub fn probability(&self, evidence: &AnswerEvidence) -> Option<f64> {
        let mut odds = self.bias;
        for (&feature, weight) in &self.weights {
            odds += weight * evidence.get(feature)?;
        }
        Some(match &self.isotonic {
            Some(isotonic) => isotonic.at(odds),
            None => 1.0 / (1.0 + (-odds).exp()),
        })
    }

    /// What the evidence amounts to; uncalibrated where a part is missing that it was fitted
    /// with.
    pub fn answerability(&self, evidence: &AnswerEvidence) -> Answerability {
        match self.probability(evidence) {
            None => Answerability::Uncalibrated,
            Some(probability) if probability >= self.supported => Answerability::Supported,
            Some(probability) if probability < self.unsupported => Answerability::Unsupported,
            Some(_) => Answerability::Partial,
        }
    }
}

/// Hits that count for margin and agreement.
const HEAD: usize = 10;

fn margin(list: &RankedList) -> f64 {
    let raw_score = |hit: Option<&Hit>| hit.map(|hit| f64::from(hit.raw_score));
    let last = raw_score(list.hits().get(HEAD - 1)).unwrap_or_else(|| list.floor().into());
    raw_score(list.hits().first()).map_or(0.0, |first| (first - last).max(0.0))
}

/// None of fewer than two retrievers.
fn agreement(lists: &[RankedList]) -> Option<f64> {
    let head = |list: &RankedList| -> Vec<RowId> {
        list.hits().iter().take(HEAD).map(|hit| hit.row).collect()
    };
    let heads: Vec<Vec<RowId>> = independent(lists).map(head).collect();
    let pairs = heads.iter().enumerate().flat_map(|(index, one)| {
        heads.iter().skip(index + 1).map(move |other| {
            let both = one.iter().filter(|row| other.contains(row)).count();
            both as f64 / HEAD as f64
        })
    });
    let (sum, count) = pairs.fold((0.0, 0.0), |(sum, count), pair| (sum + pair, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

#[cfg(test)]
mod tests {
    use trefoil_core::RetrieverId;

    use super::*;

    fn list(retriever: RetrieverId, rows: &[(u64, f32)]) -> RankedList {
        let hit = |&(row, raw_score)| Hit {
            row: RowId::new(row),
            raw_score,
            relevance: Score::clamped(raw_score),
        };
        RankedList::new(retriever, rows.iter().map(hit).collect())
    }

    #[test]
    fn evidence_is_read_off_the_lists() {
        let keyword = list(RetrieverId::KEYWORD, &[(1, 0.75), (2, 0.5)]);
        let semantic: Vec<(u64, f32)> =
            (1..=12).map(|row| (row, 1.0 - row as f32 / 16.0)).collect();
        let lists = [keyword, list(RetrieverId::SEMANTIC, &semantic)];
        let evidence = AnswerEvidence::of(&lists, Some(Score::clamped(0.5)));
        let expected = AnswerEvidence {
            rerank: Some(0.0),
            coverage: Some(0.75),
            similarity: Some(0.9375),
            margin: Some(0.5625),
            agreement: Some(0.2),
        };
        assert_eq!(evidence, expected);
        assert_eq!(AnswerEvidence::of(&[], None), AnswerEvidence::default());
        // A retriever that did not run tells nothing, one that found nothing tells that.
        let nothing = AnswerEvidence { coverage: Some(0.0), ..AnswerEvidence::default() };
        assert_eq!(AnswerEvidence::of(&[list(RetrieverId::KEYWORD, &[])], None), nothing);
    }

    #[test]
    fn a_short_list_has_its_margin_to_the_floor() {
        let semantic = list(RetrieverId::SEMANTIC, &[(1, 0.75)]).with_floor(0.25);
        assert_eq!(AnswerEvidence::of(&[semantic], None).margin, Some(0.5));
    }

    #[test]
    fn the_default_models_are_calibrated_in_every_language() {
        for language in [Language::En, Language::Ja, Language::Ko] {
            let about = |one: &&Calibration| one.is_about(language, Some("multilingual-e5-small"));
            let one = Calibration::of_default_models().iter().find(about).unwrap();
            assert!(one.measured.auroc > 0.85 && one.measured.false_accept_rate <= 0.05);
            assert!(!one.is_about(language, Some("another model")));
        }
    }

    #[test]
    fn missing_evidence_is_uncalibrated() {
        let calibration = |feature| Calibration {
            question: None,
            model: None,
            supported: 0.8,
            unsupported: 0.2,
            bias: -2.0,
            isotonic: None,
            weights: BTreeMap::from([(feature, 4.0)]),
            measured: Separation::default(),
        };
        let evidence =
            |coverage| AnswerEvidence { coverage: Some(coverage), ..AnswerEvidence::default() };
        let verdict = |coverage| calibration(Feature::Coverage).answerability(&evidence(coverage));
        assert_eq!(verdict(1.0), Answerability::Supported);
        assert_eq!(verdict(0.5), Answerability::Partial);
        assert_eq!(verdict(0.0), Answerability::Unsupported);
        let rerank = calibration(Feature::Rerank);
        assert_eq!(rerank.answerability(&evidence(1.0)), Answerability::Uncalibrated);
        let similar = calibration(Feature::Similarity);
        assert_eq!(similar.answerability(&evidence(1.0)), Answerability::Uncalibrated);
    }
}
