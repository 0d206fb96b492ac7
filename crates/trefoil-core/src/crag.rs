//! What grading says of the evidence, and what it did about it.

use serde::{Deserialize, Serialize};

use crate::{Score, WebPage, string_enum};

/// How relevant the evidence is.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CragRelevance {
    /// It answers the question.
    Correct,
    /// Some of it may.
    Ambiguous,
    /// It does not.
    Incorrect,
}

string_enum!(
    /// What grading did with the evidence.
    CragAction, "action of grading" {
        /// Kept it.
        Keep = "keep",
        /// Picked out the sentences that matter.
        Refine = "refine",
        /// Looked further.
        Expand = "expand",
        /// Dropped passages.
        Discard = "discard",
        /// Asked the web.
        WebSearch = "web_search",
    }
);

/// A grade.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CragScore {
    /// The verdict.
    pub relevance: CragRelevance,
    /// How sure it is.
    pub confidence: Score,
    /// Whether the corpus does not hold the answer.
    pub needs_web_search: bool,
    /// A better rewrite, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refined_query: Option<String>,
}

/// What the scores that were graded are.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CragBasis {
    /// What a reranker said of every passage that was judged.
    Rerank,
    /// Calibrated relevance of the retrievers: a reranker read none or not all of them.
    Retrieved,
}

string_enum!(
    /// A way to find more where the evidence is weak.
    #[non_exhaustive]
    Correction, "repair" {
        /// The question with terms of the passages that were judged good.
        Feedback = "feedback",
        /// What stands before and after the judged passages.
        Neighbours = "neighbours",
        /// What shares entities with the judged passages and adds to them.
        Graph = "graph",
        /// Words that are written nearly like those of the question.
        #[serde(alias = "loose")]
        Fuzzy = "fuzzy",
        /// Passages in languages that the first list did not hold.
        Languages = "languages",
    }
);

/// What came of a repair.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CorrectionOutcome {
    /// Which one.
    pub repair: Correction,
    /// New passages that it found.
    pub found: usize,
    /// Whether they stay: not if the evidence as a whole is worse with them.
    pub kept: bool,
}

/// The grade of a whole search, and what was done about it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CragReport {
    /// The grade, after the last repair.
    #[serde(flatten)]
    pub score: CragScore,
    /// What it is based on.
    pub basis: CragBasis,
    /// What was done, in order.
    pub actions: Vec<CragAction>,
    /// The repairs that were tried, in order.
    pub repairs: Vec<CorrectionOutcome>,
    /// What the web says, where it was asked; not checked by anyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub web: Vec<WebPage>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_is_a_grade_with_more_to_say() {
        let wire = json!({
            "relevance": "ambiguous", "confidence": 0.5, "needsWebSearch": true,
            "basis": "retrieved", "actions": ["expand", "web_search"],
            "repairs": [{"repair": "feedback", "found": 3, "kept": true}],
            "web": [{"url": "https://a.example", "title": "", "snippet": "",
                     "metadata": {"service": "s", "trust": "untrusted"}}],
        });
        let report: CragReport = serde_json::from_value(wire.clone()).unwrap();
        assert_eq!(report.score.relevance, CragRelevance::Ambiguous);
        assert_eq!(serde_json::to_value(&report).unwrap(), wire);
        let mut trusted = wire;
        trusted["web"][0]["metadata"]["trust"] = json!("trusted");
        assert!(serde_json::from_value::<CragReport>(trusted).is_err());
    }
}
