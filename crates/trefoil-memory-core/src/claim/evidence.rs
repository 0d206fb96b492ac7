use serde::{Deserialize, Serialize};
use trefoil_core::{ClaimId, EvidenceId, EvidenceMethod, ObservationId};

/// What speaks for a claim.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClaimEvidence {
    /// Its id.
    pub id: EvidenceId,
    /// The claim.
    #[serde(alias = "claim_id")]
    pub claim_id: ClaimId,
    /// The observation that tells it.
    #[serde(alias = "observation_id")]
    pub observation_id: Option<ObservationId>,
    /// How it was found.
    pub method: EvidenceMethod,
    /// What else there is to say.
    pub note: Option<String>,
}
