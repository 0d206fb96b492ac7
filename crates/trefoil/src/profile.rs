//! Settings chosen by evidence, and where each applies.

use std::path::Path;

use serde::{Deserialize, Serialize};
use trefoil_core::{
    Error, Fused, Fuser, Language, QueryType, RankedList, Result, RetrieverId, SearchStrategy,
    SearchWeights,
};

use crate::{
    crag::grade::{GradeCalibration, GradeThresholds},
    default_set::{Available, planned},
    search::{
        answerability::Calibration,
        fusion::{Adaptive, DistributionBased, RelativeScore, Rrf},
    },
};
use trefoil_core::Fusion;

/// Settings that were chosen by evidence, and where each applies. A TOML file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Format of the file; 1.
    pub version: u32,
    /// For every question that no rule is about.
    pub default: FusionSettings,
    /// The first that a question matches applies.
    #[serde(default, rename = "rule", skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ProfileRule>,
    /// Evidence to probability, where the classes separate; the first that is about a
    /// question applies.
    #[serde(default, rename = "calibration", skip_serializing_if = "Vec::is_empty")]
    pub calibrations: Vec<Calibration>,
    /// Where the grades of corrective retrieval begin, for each reranker that was calibrated.
    #[serde(default, rename = "grade", skip_serializing_if = "Vec::is_empty")]
    pub grades: Vec<GradeCalibration>,
}

/// How lists become one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FusionSettings {
    /// The fuser.
    pub fusion: Fusion,
    /// Constant of reciprocal rank fusion, 1–1000; other fusers do not look at it.
    pub k: u32,
    /// How deep each retriever's list goes, 1–10,000.
    pub depth: usize,
    /// Whether the cross-encoder reranks the first results.
    pub rerank: bool,
    /// Weight of each retriever; if absent, the default one with [`Fusion::Adaptive`], and else the
    /// one that suits the type of the question
    /// ([`suited_weights`](crate::default_set::suited_weights)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weights: Option<SearchWeights>,
}

/// Settings for some questions.
#[serde_with::skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileRule {
    /// Questions in this language; any if absent.
    pub question: Option<Language>,
    /// A corpus mostly in this language; any if absent.
    pub documents: Option<Language>,
    /// Questions of this type; any if absent.
    pub query_type: Option<QueryType>,
    /// What applies to them.
    pub settings: FusionSettings,
}

impl Profile {
    /// The version that this library writes and reads.
    pub const VERSION: u32 = 1;

    /// The same settings for every question.
    pub fn new(default: FusionSettings) -> Self {
        Self {
            version: Self::VERSION,
            default,
            rules: Vec::new(),
            calibrations: Vec::new(),
            grades: Vec::new(),
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::MalformedLine`] for what is not TOML or has unknown fields,
    /// [`Error::UnsupportedFormat`] for another version, [`Error::InvalidK`] and
    /// [`Error::InvalidConfig`] for a value out of its range.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        Self::parse(path, &text)
    }

    fn parse(path: &Path, text: &str) -> Result<Self> {
        let profile: Self = toml::from_str(text).map_err(|error| {
            let offset = error.span().map_or(0, |span| span.start);
            Error::malformed_at(path, text, offset, error.message())
        })?;
        if profile.version != Self::VERSION {
            let (found, supported) = (profile.version, Self::VERSION);
            return Err(Error::UnsupportedFormat { found, supported });
        }
        profile.check()?;
        Ok(profile)
    }

    /// Writes a file that begins with `remarks` as comments.
    pub fn write(&self, path: impl AsRef<Path>, remarks: &str) -> Result<()> {
        let path = path.as_ref();
        let wrap = |source| Error::io("write", path, source);
        let body = toml::to_string(self).map_err(|error| wrap(std::io::Error::other(error)))?;
        let remarks = remarks.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n");
        std::fs::write(path, remarks.collect::<String>() + "\n" + &body).map_err(wrap)
    }

    /// What applies to a question.
    pub fn settings(
        &self,
        question: Language,
        documents: Language,
        query_type: QueryType,
    ) -> &FusionSettings {
        let applies = |rule: &&ProfileRule| {
            rule.question.is_none_or(|wanted| wanted == question)
                && rule.documents.is_none_or(|wanted| wanted == documents)
                && rule.query_type.is_none_or(|wanted| wanted == query_type)
        };
        self.rules.iter().find(applies).map_or(&self.default, |rule| &rule.settings)
    }

    /// The thresholds of a reranker, if it was calibrated.
    pub fn thresholds(&self, reranker: &str) -> Option<&GradeThresholds> {
        let of_it = self.grades.iter().find(|grade| grade.reranker == reranker);
        of_it.map(|grade| &grade.thresholds)
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidK`] and [`Error::InvalidConfig`] for the first value out of its range.
    pub fn check(&self) -> Result<()> {
        let rules = self.rules.iter().map(|rule| &rule.settings);
        rules.chain([&self.default]).try_for_each(FusionSettings::check)?;
        self.grades.iter().try_for_each(|grade| grade.thresholds.check())
    }
}

impl FusionSettings {
    /// Fuses lists as an engine with these settings does, before reranking and before it asks the
    /// passages for the words of a short question (decision 039). `suited` are the weights that suit
    /// the type of the question, for settings without weights of their own.
    ///
    /// # Errors
    /// As [`Fuser::fuse`].
    pub fn fuse(&self, lists: &[RankedList], suited: &SearchWeights) -> Result<Vec<Fused>> {
        let default = SearchWeights::default();
        // What each list tells of this question says more than how the question is put.
        let suited = if self.fusion == Fusion::Adaptive { &default } else { suited };
        let weights = self.weights.as_ref().unwrap_or(suited);
        let ids: Vec<RetrieverId> = lists.iter().map(RankedList::retriever).collect();
        let available: Vec<Available> = ids.into_iter().map(Available::from).collect();
        let retrievers = planned(&[SearchStrategy::Hybrid], &available, self.depth, weights);
        let lists: Vec<RankedList> =
            lists.iter().map(|list| list.clone().truncated(self.depth)).collect();
        match &self.fusion {
            Fusion::Adaptive => Adaptive::default().fuse(&retrievers, &lists),
            Fusion::Rrf => Rrf::new(self.k)?.fuse(&retrievers, &lists),
            Fusion::RelativeScore => RelativeScore.fuse(&retrievers, &lists),
            Fusion::DistributionBased => DistributionBased.fuse(&retrievers, &lists),
            Fusion::Custom(fuser) => fuser.fuse(&retrievers, &lists),
        }
    }

    fn check(&self) -> Result<()> {
        Rrf::new(self.k)?;
        Error::check_range(self.depth, 1..=10_000, "depth", "1–10,000")
    }
}

impl Default for FusionSettings {
    /// What an engine does without a profile, asked for 100 results.
    fn default() -> Self {
        Self { fusion: Fusion::default(), k: 60, depth: 300, rerank: true, weights: None }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::search::{
        answerability::{Feature, Separation},
        isotonic::Isotonic,
    };

    fn profile() -> Profile {
        let rrf = FusionSettings {
            fusion: Fusion::Rrf,
            k: 20,
            depth: 100,
            rerank: false,
            weights: Some(SearchWeights::default_set([0.2, 0.8, 0.0]).unwrap()),
        };
        Profile {
            rules: vec![ProfileRule {
                question: Some(Language::Ja),
                documents: Some(Language::En),
                query_type: None,
                settings: rrf,
            }],
            calibrations: vec![Calibration {
                question: Some(Language::Ja),
                model: Some("multilingual-e5-small".to_owned()),
                supported: 0.75,
                unsupported: 0.25,
                bias: -1.5,
                isotonic: Some(Isotonic::fit(&[(0.0, 0.25), (1.0, 0.75)])),
                weights: BTreeMap::from([(Feature::Coverage, 2.0), (Feature::Margin, 10.0)]),
                measured: Separation { answered: 50, unanswered: 60, ..Separation::default() },
            }],
            ..Profile::new(FusionSettings::default())
        }
    }

    #[test]
    fn it_is_readable_and_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("profile.toml");
        profile().write(&path, "Chosen on DATA/birds.\n\nndcg@10 .5 → .6").unwrap();
        assert_eq!(Profile::read(&path).unwrap(), profile());
        insta::assert_snapshot!(std::fs::read_to_string(path).unwrap());
    }

    #[test]
    fn the_first_rule_that_matches_applies() {
        let profile = profile();
        let k = |question, documents| profile.settings(question, documents, QueryType::Local).k;
        assert_eq!(k(Language::Ja, Language::En), 20);
        assert_eq!(k(Language::Ja, Language::Ja), 60);
        assert_eq!(k(Language::En, Language::En), 60);
    }

    #[test]
    fn what_is_unknown_or_out_of_range_is_refused() {
        let parse = |text: &str| Profile::parse(Path::new("profile.toml"), text);
        let text = toml::to_string(&profile()).unwrap();
        assert!(parse(&text).is_ok());
        for (good, bad) in [
            ("version = 1", "version = 2"),
            ("version = 1", "version = 1\nsurprise = 1"),
            ("k = 60", "k = 0"),
            ("k = 60", "k = 60\nkk = 1"),
            ("depth = 100", "depth = 0"),
            ("question = \"ja\"", "question = \"xx\""),
            ("keyword = 0.2", "keyword = 0.9"),
            ("fusion = \"rrf\"", "fusion = \"best\""),
        ] {
            assert!(text.contains(good), "{good} is not in {text}");
            assert!(parse(&text.replacen(good, bad, 1)).is_err(), "{bad}");
        }
        let error = parse("version = 1\n\n[default]\nx = 1").unwrap_err();
        assert!(matches!(error, Error::MalformedLine { line: 3 | 4, .. }), "{error}");
    }
}
