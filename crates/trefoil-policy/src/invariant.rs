use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result, Scope};
use trefoil_text::{Redaction, find_sensitive};

use crate::{ClaimFacts, InvariantDefinition, PolicyRule, RuleFacts};

/// A rule that must hold, ready to be asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Invariant {
    /// What messages call it.
    pub name: String,
    /// The scopes whose claims it must hold for.
    pub applies_to: BTreeSet<Scope>,
    /// The rule.
    pub rule: PolicyRule,
}

impl TryFrom<&InvariantDefinition> for Invariant {
    type Error = Error;

    /// # Errors
    /// [`Error::InvalidRule`] if the rule cannot be read, [`Error::InvalidScope`] for a scope
    /// that is none.
    fn try_from(definition: &InvariantDefinition) -> Result<Self> {
        let mut applies_to = BTreeSet::new();
        for scope in &definition.applies_to {
            if scope == "*" {
                applies_to.extend(Scope::ALL);
            } else {
                applies_to.insert(scope.parse()?);
            }
        }
        let rule = definition.rule.parse()?;
        Ok(Self { name: definition.name.clone(), applies_to, rule })
    }
}

/// Who asks: what rules see as `actor` and `tool`.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Requester {
    /// A person or a program.
    pub actor: Option<String>,
    /// The tool that asks for them.
    pub tool: Option<String>,
}

/// Asks the rules of this crate's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleEvaluator {
    /// When it is asked.
    pub now: Timestamp,
    /// Who asks.
    pub requester: Requester,
}

impl RuleEvaluator {
    /// Asks at `now`, for nobody in particular.
    pub fn new(now: Timestamp) -> Self {
        Self { now, requester: Requester::default() }
    }

    /// True if each invariant holds for every claim of the scopes that it applies to. One
    /// that cannot be told does not hold.
    pub fn evaluate_all(&self, invariants: &[Invariant], claims: &[ClaimFacts<'_>]) -> bool {
        claims.iter().all(|claim| self.first_broken(invariants, claim).is_none())
    }

    /// The first invariant that does not hold for a claim.
    pub fn first_broken<'i>(
        &self,
        invariants: &'i [Invariant],
        claim: &ClaimFacts<'_>,
    ) -> Option<&'i Invariant> {
        let mut concerned =
            invariants.iter().filter(|one| one.applies_to.contains(&claim.scope)).peekable();
        concerned.peek()?;
        let found = kinds_in(claim.text);
        let facts = RuleFacts {
            claim: Some(claim),
            now: Some(self.now),
            text: Some(claim.text),
            contains_pii: Some(contains_pii(&found)),
            contains_secret: Some(found.contains(&Redaction::Secret)),
            actor: self.requester.actor.as_deref(),
            tool: self.requester.tool.as_deref(),
        };
        concerned.find(|one| !one.rule.holds(&facts))
    }
}

/// What must not be kept and is in a text.
pub(crate) fn kinds_in(text: &str) -> BTreeSet<Redaction> {
    find_sensitive(text, &Redaction::ALL).into_iter().map(|(kind, _)| kind).collect()
}

/// True if what was found is about a person, as everything but a credential is.
pub(crate) fn contains_pii(found: &BTreeSet<Redaction>) -> bool {
    found.iter().any(|&kind| kind != Redaction::Secret)
}

#[cfg(test)]
mod tests {
    use trefoil_core::{BoundaryClass, ClaimKind};

    use super::*;

    fn claim(text: &str, scope: Scope) -> ClaimFacts<'_> {
        ClaimFacts {
            kind: ClaimKind::Fact,
            scope,
            boundary_class: BoundaryClass::Internal,
            text,
            confidence: 0.5,
            quality: 0.5,
            utility: 0.0,
            created_at: Timestamp::UNIX_EPOCH,
            sources: Vec::new(),
            tags: Vec::new(),
        }
    }

    fn invariant(applies_to: &[&str], rule: &str) -> Result<Invariant> {
        let applies_to = applies_to.iter().map(|&scope| scope.to_owned()).collect();
        let definition = InvariantDefinition { name: "n".into(), applies_to, rule: rule.into() };
        Invariant::try_from(&definition)
    }

    #[test]
    fn an_invariant_holds_for_every_claim_of_its_scopes() {
        let evaluator = RuleEvaluator::new(Timestamp::UNIX_EPOCH);
        let no_mail = [invariant(&["project"], "!payload.contains_pii").unwrap()];
        let clean = claim("Owls hunt.", Scope::Project);
        let mail = claim("Write to a@example.com.", Scope::Project);
        let session = claim("Write to a@example.com.", Scope::Session);
        assert!(evaluator.evaluate_all(&no_mail, &[clean.clone(), session.clone()]));
        assert!(!evaluator.evaluate_all(&no_mail, &[clean, mail]));
        assert!(evaluator.evaluate_all(&no_mail, &[]));
        let everywhere = [invariant(&["*"], "!payload.contains_pii").unwrap()];
        assert!(!evaluator.evaluate_all(&everywhere, &[session]));
    }

    #[test]
    fn who_asks_counts() {
        let rule = [invariant(&["*"], "tool != 'mail' && actor in ('mika')").unwrap()];
        let claims = [claim("x", Scope::Project)];
        let ask = |tool: &str| {
            let (actor, tool) = (Some("mika".to_owned()), Some(tool.to_owned()));
            let requester = Requester { actor, tool };
            RuleEvaluator { requester, ..RuleEvaluator::new(Timestamp::UNIX_EPOCH) }
                .evaluate_all(&rule, &claims)
        };
        assert!(ask("calendar") && !ask("mail"));
        assert!(!RuleEvaluator::new(Timestamp::UNIX_EPOCH).evaluate_all(&rule, &claims));
    }

    #[test]
    fn a_definition_that_cannot_be_read_is_refused() {
        assert!(matches!(invariant(&["*"], "a &"), Err(Error::InvalidRule { .. })));
        assert!(matches!(invariant(&["world"], "true"), Err(Error::InvalidScope { .. })));
    }
}
