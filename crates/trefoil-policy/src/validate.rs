//! Whether something may pass a boundary.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde::Serialize;
use trefoil_core::{BoundaryClass, Scope};
use trefoil_text::Redaction;

use crate::{
    AllowTag, Boundary, ClaimFacts, Invariant, Policy, PolicyVersion, RuleFacts,
    invariant::{contains_pii, kinds_in},
};

/// What is to pass a boundary.
#[derive(Clone, Debug, Default)]
pub struct Payload<'a> {
    /// What it says.
    pub text: &'a str,
    /// The class that its writer gave it; what is found in the text raises it.
    pub class: BoundaryClass,
    /// How far it holds; absent where it belongs to no scope.
    pub scope: Option<Scope>,
    /// The tags of the request; [`AllowTag::DEFAULT`] if there is none.
    pub allow: &'a [AllowTag],
    /// Who asks.
    pub actor: Option<&'a str>,
    /// The tool that asks.
    pub tool: Option<&'a str>,
    /// The claim that it is, if it is one.
    pub claim: Option<&'a ClaimFacts<'a>>,
}

/// Whether something may pass, and as what.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    /// Whether it may pass.
    pub allowed: bool,
    /// Why not.
    pub reason: Option<String>,
    /// What may pass in its place, if something is to be cut out.
    pub redacted: Option<String>,
    /// What is to follow by the class's policy, such as a look by a person.
    pub escalation: Option<String>,
    /// The class that it has with what was found in it.
    pub class: BoundaryClass,
    /// The policy that says so.
    pub policy_version: PolicyVersion,
}

/// Decides by the rules of policy and boundary.
///
/// All that bears on a payload is looked at, and the most restrictive counts: to deny, then
/// to redact, then to allow. A boundary adds its rules to those of the policy and takes none
/// away. A rule about claims is asked only of claims.
#[derive(Clone, Copy, Debug)]
pub struct PolicyValidator {
    /// When it is asked.
    pub now: Timestamp,
}

impl PolicyValidator {
    /// The decision; whatever cannot be told denies.
    pub fn validate(
        &self,
        payload: &Payload<'_>,
        boundary: &Boundary,
        policy: &Policy,
    ) -> Validation {
        let found = Sensitive::new(payload.text, policy);
        let class =
            if found.is_clean() { payload.class } else { payload.class.max(BoundaryClass::Pii) };
        let rules = policy.boundary_classes.get(&class);
        let escalation = rules.and_then(|rules| rules.escalation.clone());
        let denied = self.denied(payload, class, &found, boundary, policy);
        Validation {
            allowed: denied.is_none(),
            reason: denied,
            redacted: rules.and_then(|rules| rules.cut(payload.text)),
            escalation,
            class,
            policy_version: policy.version.clone(),
        }
    }

    /// Why a payload may not pass.
    fn denied(
        &self,
        payload: &Payload<'_>,
        class: BoundaryClass,
        found: &Sensitive,
        boundary: &Boundary,
        policy: &Policy,
    ) -> Option<String> {
        if let Err(error) = boundary.check() {
            return Some(error.to_string());
        }
        if let Some(scope) = payload.scope.filter(|scope| !boundary.scope.contains(scope)) {
            return Some(format!("the scope `{scope}` is not within the boundary"));
        }
        if !boundary.boundary_classes.contains(&class) {
            return Some(format!("the class `{class}` is not within the boundary"));
        }
        let Some(rules) = policy.boundary_classes.get(&class) else {
            return Some(format!("the policy names no one who may see the class `{class}`"));
        };
        if rules.denies() {
            return Some(format!("the policy denies the class `{class}`"));
        }
        if !policy.admitted_classes(boundary, None, payload.allow).contains(&class) {
            return Some(format!("no tag of the request may see the class `{class}`"));
        }
        self.broken(payload, found, boundary, policy)
    }

    /// The first rule of policy or boundary that does not hold, or cannot be read.
    fn broken(
        &self,
        payload: &Payload<'_>,
        found: &Sensitive,
        boundary: &Boundary,
        policy: &Policy,
    ) -> Option<String> {
        let facts = RuleFacts {
            claim: payload.claim,
            now: Some(self.now),
            text: Some(payload.text),
            contains_pii: Some(contains_pii(&found.kinds) || found.own),
            contains_secret: Some(found.kinds.contains(&Redaction::Secret)),
            actor: payload.actor,
            tool: payload.tool,
        };
        let scope = payload.claim.map(|claim| claim.scope).or(payload.scope);
        policy.invariants.iter().chain(&boundary.invariants).find_map(|definition| {
            let name = &definition.name;
            match Invariant::try_from(definition) {
                Err(error) => Some(format!("the invariant `{name}` cannot be asked: {error}")),
                Ok(invariant) => {
                    let concerned = scope.is_none_or(|scope| invariant.applies_to.contains(&scope))
                        && (payload.claim.is_some() || !invariant.rule.reads_claim());
                    (concerned && !invariant.rule.holds(&facts))
                        .then(|| format!("the invariant `{name}` does not hold"))
                }
            }
        })
    }
}

/// What must not be kept and is in a text: of the known kinds, whatever the policy cuts out,
/// and of its own patterns.
struct Sensitive {
    kinds: BTreeSet<Redaction>,
    own: bool,
}

impl Sensitive {
    fn new(text: &str, policy: &Policy) -> Self {
        let own =
            !policy.redact.patterns().is_empty() && !policy.redact.redact(text).named.is_empty();
        Self { kinds: kinds_in(text), own }
    }

    fn is_clean(&self) -> bool {
        self.kinds.is_empty() && !self.own
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::ClaimKind;

    use super::*;
    use crate::InvariantDefinition;

    const NOW: PolicyValidator = PolicyValidator { now: Timestamp::UNIX_EPOCH };

    fn policy() -> Policy {
        Policy::built_in().unwrap()
    }

    /// All scopes and classes, for whoever asks.
    fn open() -> Boundary {
        Boundary {
            allow: BTreeSet::from([AllowTag::new("*").unwrap()]),
            boundary_classes: BoundaryClass::ALL.iter().copied().collect(),
            ..Boundary::default()
        }
    }

    fn invariant(rule: &str) -> InvariantDefinition {
        let applies_to = vec!["project".to_owned()];
        InvariantDefinition { name: "norm".into(), applies_to, rule: rule.into() }
    }

    #[track_caller]
    fn check(payload: &Payload<'_>, boundary: &Boundary, expected: &str) -> Validation {
        let validation = NOW.validate(payload, boundary, &policy());
        assert_eq!(validation.reason.as_deref().unwrap_or("allowed"), expected);
        assert_eq!(validation.allowed, validation.reason.is_none());
        validation
    }

    #[test]
    fn scope_class_and_tag_must_be_within_the_boundary() {
        let payload = Payload { text: "Owls hunt.", ..Payload::default() };
        check(&payload, &Boundary::default(), "allowed");
        let public = Payload { class: BoundaryClass::Public, ..payload.clone() };
        check(&public, &Boundary::default(), "allowed");
        let pii = Payload { class: BoundaryClass::Pii, ..payload.clone() };
        check(&pii, &Boundary::default(), "the class `pii` is not within the boundary");
        check(&pii, &open(), "no tag of the request may see the class `pii`");
        let project = BTreeSet::from([Scope::Project]);
        let boundary = Boundary { scope: project, ..Boundary::default() };
        let session = Payload { scope: Some(Scope::Session), ..payload };
        check(&session, &boundary, "the scope `session` is not within the boundary");
    }

    #[test]
    fn what_is_found_raises_the_class_and_is_cut_out() {
        let tags = [AllowTag::new("tool:contact-lookup").unwrap()];
        let payload =
            Payload { text: "Mika: mika@example.com", allow: &tags, ..Payload::default() };
        let validation = check(&payload, &open(), "allowed");
        assert_eq!(validation.class, BoundaryClass::Pii);
        assert_eq!(validation.redacted.as_deref(), Some("Mika: [email]"));
        assert_eq!(validation.escalation.as_deref(), Some("human_review"));
        assert_eq!(validation.policy_version.as_str(), "1.0.0");
        check(&payload, &Boundary::default(), "the class `pii` is not within the boundary");
        let plain = Payload { text: "Owls hunt.", ..Payload::default() };
        assert_eq!(check(&plain, &open(), "allowed").redacted, None);
    }

    #[test]
    fn deny_goes_before_redact_and_secret_before_all() {
        let tags = [AllowTag::new("tool:contact-lookup").unwrap()];
        let class = BoundaryClass::Secret;
        let payload = Payload { text: "a@example.com", class, allow: &tags, ..Payload::default() };
        let validation = check(&payload, &open(), "the policy denies the class `secret`");
        assert_eq!(validation.class, BoundaryClass::Secret);
        assert_eq!(validation.escalation.as_deref(), Some("deny"));
    }

    #[test]
    fn rules_of_policy_and_boundary_must_all_hold() {
        let mut strict = policy();
        strict.invariants.push(invariant("tool != 'mail'"));
        let boundary = Boundary { invariants: vec![invariant("actor == 'mika'")], ..open() };
        let ask = |tool, actor, boundary: &Boundary| {
            let payload = Payload { text: "x", tool, actor, ..Payload::default() };
            NOW.validate(&payload, boundary, &strict).reason
        };
        assert_eq!(ask(Some("web"), Some("mika"), &boundary), None);
        let broken = Some("the invariant `norm` does not hold".to_owned());
        // The boundary cannot relax the policy, nor the policy the boundary.
        assert_eq!(ask(Some("mail"), Some("mika"), &boundary), broken);
        assert_eq!(ask(Some("web"), Some("bo"), &boundary), broken);
        let unread = Boundary { invariants: vec![invariant("a &")], ..open() };
        assert!(ask(Some("web"), None, &unread).unwrap().contains("cannot be asked"));
    }

    #[test]
    fn a_rule_about_claims_is_asked_of_claims_only() {
        let boundary = Boundary { invariants: vec![invariant("claim.confidence > .9")], ..open() };
        check(&Payload { text: "x", ..Payload::default() }, &boundary, "allowed");
        let claim = ClaimFacts {
            kind: ClaimKind::Fact,
            scope: Scope::Project,
            boundary_class: BoundaryClass::Internal,
            text: "x",
            confidence: 0.5,
            quality: 0.5,
            utility: 0.0,
            created_at: Timestamp::UNIX_EPOCH,
            sources: Vec::new(),
            tags: Vec::new(),
        };
        let payload = Payload { text: "x", claim: Some(&claim), ..Payload::default() };
        check(&payload, &boundary, "the invariant `norm` does not hold");
        let claim = ClaimFacts { scope: Scope::Principle, ..claim };
        let payload = Payload { text: "x", claim: Some(&claim), ..Payload::default() };
        check(&payload, &boundary, "allowed");
    }

    #[test]
    fn a_boundary_that_cannot_be_one_denies() {
        let none = Boundary { scope: BTreeSet::new(), ..open() };
        let payload = Payload { text: "x", ..Payload::default() };
        check(
            &payload,
            &none,
            "the boundary is invalid: it has no scope; correct it and ask again",
        );
    }

    proptest! {
        #[test]
        fn nothing_above_the_boundary_passes(
            class in 0_u8..4, highest in 0_u8..4, tag in "(answer:task|tool:[a-c]|tool:contact-lookup|x)",
            text in "(owls |a@example\\.com |010-1234-5678 ){1,4}",
        ) {
            let class = BoundaryClass::from_code(class).unwrap();
            let highest = BoundaryClass::from_code(highest).unwrap();
            let boundary_classes = BoundaryClass::ALL.iter().copied().filter(|&one| one <= highest).collect();
            let boundary = Boundary { boundary_classes, ..open() };
            let tags = [AllowTag::new(tag)?];
            let payload = Payload { text: &text, class, allow: &tags, ..Payload::default() };
            let validation = NOW.validate(&payload, &boundary, &policy());
            prop_assert!(validation.class >= class);
            prop_assert!(!validation.allowed || validation.class <= highest);
            let shown = validation.redacted.as_deref().unwrap_or(&text);
            prop_assert!(!validation.allowed || !shown.contains("example.com"));
        }
    }
}
