use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use trefoil_core::{ClaimId, ContextId, Error, Result, Score};

use crate::{Claim, PolicyVersion, Provenance, Scope, Ttl};

/// What one recall brought, as it was saved.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActiveContext {
    /// Its id.
    pub id: ContextId,
    /// Tokens of the window that it was made for.
    pub window: Option<u32>,
    /// The longest-lived scope that was searched.
    pub scope: Scope,
    /// Who asked, and when.
    pub provenance: Option<Provenance>,
    /// Until when it can be used, this moment left out.
    #[serde(alias = "expires_at")]
    pub expires_at: Timestamp,
    /// The policy that it was made under.
    #[serde(alias = "policy_version")]
    pub policy_version: PolicyVersion,
    /// What it brought, best first.
    pub items: Vec<ContextItem>,
}

impl ActiveContext {
    /// The most hours that a context can be used.
    pub const MAX_HOURS: i64 = 24;

    /// When a context that is made now expires: after the scope's time, at most a day.
    pub fn expiry(ttl: Ttl, now: Timestamp) -> Timestamp {
        let day = SignedDuration::from_hours(Self::MAX_HOURS);
        let latest = now.checked_add(day).unwrap_or(Timestamp::MAX);
        ttl.after(now).map_or(latest, |end| end.min(latest))
    }

    /// Checks that it can still be used.
    ///
    /// # Errors
    /// [`Error::ContextExpired`] if it cannot.
    pub fn check(&self, now: Timestamp) -> Result<()> {
        if now < self.expires_at {
            Ok(())
        } else {
            Err(Error::ContextExpired { id: self.id.clone() })
        }
    }
}

/// One claim of a saved context.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextItem {
    /// The claim.
    pub claim: ClaimId,
    /// Its place, from 1.
    pub rank: u32,
    /// Its score.
    pub score: Score,
}

/// A claim and how well it answers.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoredClaim {
    /// The claim.
    pub claim: Claim,
    /// How well it answers.
    pub score: Score,
    /// What the score is made of, if that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<ScoreBreakdown>,
}

/// What the score of a claim is made of: `combined · g`, and both of what.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreBreakdown {
    /// Relevance of its words, 0–1.
    pub text: f64,
    /// Relevance of its meaning, 0–1, or the mean with that of the message that tells it.
    pub vector: f64,
    /// How well its tokens match those of the question, 0–1, where they are kept; likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<f64>,
    /// All of them, weighed: S.
    pub combined: f64,
    /// Standard score of its utility in the scope.
    pub utility: f64,
    /// Confidence that it is true, 0–1.
    pub confidence: f64,
    /// How well it is put, 0–1.
    pub quality: f64,
    /// How recent it is, 0–1.
    pub recency: f64,
    /// What the last four are worth together, 0–1.
    pub g: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_lives_as_its_scope_and_at_most_a_day() {
        let now = Timestamp::UNIX_EPOCH;
        let hours = |ttl: &str| ActiveContext::expiry(ttl.parse().unwrap(), now).as_second() / 3600;
        assert_eq!(["1h", "24h", "7d", "unlimited"].map(hours), [1, 24, 24, 24]);
        let context = ActiveContext {
            id: ContextId::new("ac_1").unwrap(),
            window: None,
            scope: Scope::Session,
            provenance: None,
            expires_at: Timestamp::from_second(10).unwrap(),
            policy_version: "1.0.0".parse().unwrap(),
            items: Vec::new(),
        };
        assert!(context.check(Timestamp::from_second(9).unwrap()).is_ok());
        let expired = context.check(Timestamp::from_second(10).unwrap());
        assert!(matches!(expired, Err(Error::ContextExpired { id }) if id == context.id));
    }
}
