//! How much the lists of a question count in fusion, by what each tells about itself. Pure.

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, RankedList, Result};

/// The parameters of adaptive fusion: how much the confidence of a list
/// ([`RankedList::confidence`]) counts. Leaving collections out kept these defaults; the form of
/// the confidences and [`most`](Self::most) were chosen in sight of them (decision 023).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvidenceWeights {
    /// Power of the confidence of a list of a retriever that searches by itself, 0–100. At 0 all
    /// lists count the same, at 1 as their confidence says; the surest alone counts far above.
    pub power: f32,
    /// What the confidence of a list that goes on from others is multiplied with, 0–100.
    pub lead: f32,
    /// The most, 0–100, that a confidence counts for a list that goes on from others: to stand out
    /// further than that is no more evidence.
    pub most: f32,
}

impl Default for EvidenceWeights {
    fn default() -> Self {
        Self { power: 1.0, lead: 1.0, most: 1.7 }
    }
}

/// A weight of 1 leaves nothing to the others.
const ALMOST_ONE: f32 = 1.0 - 1e-6;

impl EvidenceWeights {
    /// What the weight of a retriever that searches by itself is multiplied with.
    pub fn known(&self, list: &RankedList) -> f32 {
        list.confidence().powf(self.power)
    }

    /// The odds of a list that goes on from others against all of them together: those of its
    /// weight, 0–1, times [`lead`](Self::lead), times its confidence, times that of the surest of
    /// them, neither more than [`most`](Self::most): it is no surer than what it goes on from. 0
    /// for one that leads nowhere.
    pub fn odds_to_lead(&self, weight: f32, list: &RankedList, surest: f32) -> f32 {
        if list.hits().is_empty() {
            return 0.0;
        }
        let weight = weight.min(ALMOST_ONE);
        let (own, ground) = (list.confidence().min(self.most), surest.min(self.most));
        weight / (1.0 - weight) * self.lead * own * ground
    }

    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for the first value out of its range.
    pub fn check(&self) -> Result<()> {
        let all = [
            ("evidence.power", self.power),
            ("evidence.lead", self.lead),
            ("evidence.most", self.most),
        ];
        for (field, value) in all {
            Error::check_range(value, 0.0..=100.0, field, "0–100")?;
        }
        Ok(())
    }
}
