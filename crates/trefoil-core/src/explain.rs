use serde::{Deserialize, Serialize};

use crate::{LegHit, Score, Stage, Strategy};

/// How a passage came to its place: what each leg said, and where each stage put it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Explanation {
    /// What the legs that found it say.
    pub legs: Vec<LegPlace>,
    /// Where each stage put it, in order.
    pub stages: Vec<StagePlace>,
}

/// A passage in the list of one leg.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LegPlace {
    /// The leg.
    pub strategy: Strategy,
    /// Its rank there, from 1.
    pub rank: u32,
    /// The leg's own score: BM25, or a cosine.
    pub native: f32,
    /// The same on the scale that all legs share.
    pub relevance: Score,
}

impl From<LegHit> for LegPlace {
    fn from(LegHit { strategy, rank, native, relevance }: LegHit) -> Self {
        Self { strategy, rank, native, relevance }
    }
}

/// A passage after one stage.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StagePlace {
    /// The stage.
    pub stage: Stage,
    /// Its rank after that stage, from 1.
    pub rank: usize,
    /// What the stage scored it.
    pub score: Score,
}

/// Why a passage is not among the results of a question, or where it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WhyNot {
    /// The stage at which it was lost; nothing if it is among the results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<Stage>,
    /// What happened there, in a sentence.
    pub reason: String,
    /// How far it had come.
    pub explanation: Explanation,
}
