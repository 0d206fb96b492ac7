//! What memory is given: policies, rules, short notations, drafts, and texts to redact and
//! to read claims from.

use std::{fmt::Display, str::FromStr, sync::Arc};

use jiff::Timestamp;
use trefoil_core::{ClaimId, Error, ObservationId};
use trefoil_memory::{
    AllowTag, Boundary, Claim, ClaimDraft, Invariant, Observation, ObservationDraft, Policy,
    PolicyRule, PolicyVersion, RuleEvaluator, RuleFacts, SourceTag, Ttl,
    extract::{ClaimExtractor as _, RuleExtractor},
};
use trefoil_text::{Redaction, ScriptExtractor, find_sensitive, is_credential_file, redact};

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A policy in YAML, whose rules can all be asked once it is read.
pub(crate) fn policy(bytes: &[u8]) {
    let Ok(yaml) = std::str::from_utf8(bytes) else { return };
    let Ok(policy) = Policy::from_yaml(yaml) else { return };
    let ready = |one| Invariant::try_from(one).unwrap();
    let invariants: Vec<Invariant> = policy.invariants.iter().map(ready).collect();
    let claim = claim("Mika lives in Kyoto; call 010-1234-5678");
    RuleEvaluator::new(NOW).evaluate_all(&invariants, &[claim.facts()]);
    policy.stores_secrets();
    serde_json::to_string(&policy).unwrap();
}

/// A rule, asked about a claim, and about what follows its first line.
pub(crate) fn rule(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (rule, said) = text.split_once('\n').unwrap_or((&text, "Deploy on Friday"));
    let Ok(rule) = rule.parse::<PolicyRule>() else { return };
    assert_eq!(rule.to_string().parse::<PolicyRule>().unwrap(), rule);
    let claim = claim("Deploy on Friday");
    let claim = claim.facts();
    let nothing = RuleFacts::default();
    let all = RuleFacts {
        claim: Some(&claim),
        now: Some(NOW),
        text: Some(said),
        contains_pii: Some(true),
        contains_secret: Some(false),
        actor: Some(said),
        tool: Some("calendar"),
    };
    for facts in [&nothing, &all] {
        rule.holds(facts);
    }
}

/// What is written in a word: where something can be looked at, how long it is fresh, the
/// version of a policy, who asks.
pub(crate) fn notation(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    reads_as_it_prints::<SourceTag>(text);
    reads_as_it_prints::<PolicyVersion>(text);
    if let Some(ttl) = reads_as_it_prints::<Ttl>(text) {
        assert_eq!(Ttl::from_seconds(ttl.seconds()).unwrap(), ttl);
        ttl.after(NOW);
    }
    if let Ok(tag) = AllowTag::new(text) {
        assert!(tag.matches(&tag));
    }
    is_credential_file(text);
}

/// A claim, an observation or a boundary in JSON. What is made of it can be stored.
pub(crate) fn draft(bytes: &[u8]) {
    if let Ok(draft) = serde_json::from_slice::<ClaimDraft>(bytes)
        && let Ok((claim, _)) = draft.into_claim(ClaimId::new("clm_1").unwrap(), NOW)
    {
        let stored = serde_json::to_string(&claim).unwrap();
        serde_json::from_str::<Claim>(&stored).unwrap();
        claim.is_valid_at(NOW);
        claim.unit();
    }
    if let Ok(draft) = serde_json::from_slice::<ObservationDraft>(bytes)
        && let Ok(observation) = draft.into_observation(ObservationId::new("obs_1").unwrap(), NOW)
    {
        let stored = serde_json::to_string(&observation).unwrap();
        assert_eq!(serde_json::from_str::<Observation>(&stored).unwrap(), observation);
        observation.expires_at();
        observation.unit();
    }
    if let Ok(boundary) = serde_json::from_slice::<Boundary>(bytes) {
        let _ = boundary.check();
        boundary.highest_class();
    }
}

/// A text without what must not be kept: cutting again finds nothing.
pub(crate) fn redaction(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for kinds in [&Redaction::ALL[..], &Redaction::ALL[..1], &Redaction::ALL[1..]] {
        for (_, span) in find_sensitive(&text, kinds) {
            assert!(!text.get(span.start..span.end).unwrap().is_empty());
        }
        let once = redact(&text, kinds);
        assert_eq!(redact(&once.text, kinds).text, once.text);
    }
}

/// What an observation says, as claims.
pub(crate) fn claims(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let draft = ObservationDraft::message(text);
    let Ok(observation) = draft.into_observation(ObservationId::new("obs_1").unwrap(), NOW) else {
        return;
    };
    let extractor = RuleExtractor::new(Arc::new(ScriptExtractor));
    let found = extractor.extract(&observation, &Boundary::default()).unwrap();
    assert!(found.claims.len() <= RuleExtractor::MAX_CLAIMS);
    for claim in found.claims {
        claim.into_claim(ClaimId::new("clm_1").unwrap(), NOW).unwrap();
    }
}

fn claim(text: &str) -> Claim {
    let draft = ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap());
    draft.into_claim(ClaimId::new("clm_1").unwrap(), NOW).unwrap().0
}

fn reads_as_it_prints<T>(text: &str) -> Option<T>
where
    T: FromStr<Err = Error> + Display + PartialEq + std::fmt::Debug,
{
    let read = text.parse::<T>().ok()?;
    assert_eq!(read.to_string().parse::<T>().unwrap(), read);
    Some(read)
}
