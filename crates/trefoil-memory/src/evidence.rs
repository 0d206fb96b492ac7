use serde::{Deserialize, Serialize};
use trefoil_core::{ClaimId, EvidenceId, ObservationId};

use crate::choice::choice;

choice!(
    /// How it was found that something speaks for a claim.
    EvidenceMethod, "method" {
        /// By rules.
        Rule = "rule",
        /// By a language model.
        Llm = "llm",
        /// By a person.
        Manual = "manual",
    }
);

/// What speaks for a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// Its id.
    pub id: EvidenceId,
    /// The claim.
    pub claim_id: ClaimId,
    /// The observation that tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observation_id: Option<ObservationId>,
    /// How it was found.
    pub method: EvidenceMethod,
    /// What else there is to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}
