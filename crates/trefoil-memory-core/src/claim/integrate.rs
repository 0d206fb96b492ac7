//! How a new claim meets those that are there.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{ClaimId, Error, Result, Scope, Score, UnitState, string_enum};

use crate::{Claim, unit::whole_seconds};
use trefoil_policy::{Invariant, Requester, RuleEvaluator};

string_enum!(
    /// What becomes of a claim that is told again.
    MergeStrategy, "merge_strategy" {
        /// The higher confidence; evidences and sources of both.
        Merge = "merge",
        /// What is told now; evidences of both.
        Replace = "replace",
        /// What was changed later; evidences of both.
        KeepNewest = "keep_newest",
    }
);

/// How claims are integrated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct IntegrateOptions {
    /// What becomes of a claim that is told again.
    #[serde(alias = "merge_strategy")]
    pub merge_strategy: MergeStrategy,
    /// Whether a claim that breaks a rule is refused.
    #[serde(alias = "validate_invariants")]
    pub validate_invariants: bool,
    /// Whether facts become relations of the graph.
    #[serde(alias = "update_graph")]
    pub update_graph: bool,
    /// Who tells the claim, for rules that want to know.
    pub requester: Requester,
}

impl Default for IntegrateOptions {
    fn default() -> Self {
        Self {
            merge_strategy: MergeStrategy::Merge,
            validate_invariants: true,
            update_graph: true,
            requester: Requester::default(),
        }
    }
}

/// Predicates of which a subject has one at a time: the newest holds, and the older ends.
/// So has `favorite` with its topic.
pub const EXCLUSIVE_PREDICATES: [&str; 12] = [
    "age",
    "birthday",
    "email",
    "goal",
    "language",
    "lives_in",
    "name",
    "occupation",
    "status",
    "test_result",
    "timezone",
    "works_at",
];

/// Predicates that contradict each other of one subject and object.
const OPPOSITES: [(&str, &str); 3] =
    [("likes", "dislikes"), ("prefers", "dislikes"), ("wants", "dislikes")];

/// True if a subject has one object of this predicate at a time.
pub fn is_exclusive(predicate: &str) -> bool {
    EXCLUSIVE_PREDICATES.contains(&predicate) || predicate.starts_with("favorite ")
}

/// The predicates of claims that [`integrate`] compares with one of this predicate: the same, of
/// which there is one at a time, or those that say the contrary.
pub fn compared_with(predicate: &str) -> Vec<&str> {
    if is_exclusive(predicate) {
        return vec![predicate];
    }
    let contrary = OPPOSITES.iter().filter_map(|&(one, other)| match predicate {
        it if it == one => Some(other),
        it if it == other => Some(one),
        _ => None,
    });
    contrary.collect()
}

/// What a statement of subject, predicate and object is the last word on: two with the same key
/// do not hold at the same time. Absent if others can hold with it, or if it has no three parts.
pub fn one_at_a_time([subject, predicate, object]: [Option<&str>; 3]) -> Option<(String, String)> {
    let (subject, predicate, object) = (plain(subject?), predicate?, plain(object?));
    if is_exclusive(predicate) {
        return Some((subject, predicate.to_owned()));
    }
    let opposed = OPPOSITES.iter().any(|&(one, other)| predicate == one || predicate == other);
    opposed.then(|| (subject, format!("attitude to {object}")))
}

/// What becomes of a new claim and those that are there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Integrated {
    /// The claim as it is kept.
    pub claim: Claim,
    /// False if a claim with the same content was there; then `claim` has its id.
    pub is_new: bool,
    /// Claims that end now, because the new one takes their place; their `valid_to` is set.
    pub ended: Vec<Claim>,
    /// Claims that say the contrary: linked, not erased.
    pub contradicts: Vec<ClaimId>,
}

/// Integrates `incoming` with `same`, the claim of the same content if there is one, and
/// `related`, those of the same subject with a predicate that it is [compared
/// with](compared_with). What is kept is validated.
///
/// # Errors
/// [`Error::BoundaryDenied`] if an invariant does not hold for the claim as it is kept.
pub fn integrate(
    incoming: Claim,
    same: Option<&Claim>,
    related: &[Claim],
    invariants: &[Invariant],
    evaluator: &RuleEvaluator,
    options: &IntegrateOptions,
) -> Result<Integrated> {
    let is_new = same.is_none();
    let mut claim = match same {
        Some(old) => united(old, incoming, options.merge_strategy, evaluator.now),
        None => incoming,
    };
    claim.state = claim.state.max(UnitState::Validated);
    if options.validate_invariants
        && let Some(broken) = evaluator.first_broken(invariants, &claim.facts())
    {
        let invariant = format!("the invariant `{}`", broken.name);
        return Err(Error::denied(invariant, "it does not hold for the claim"));
    }
    let others = || {
        related.iter().filter(|old| old.id != claim.id && old.content_hash != claim.content_hash)
    };
    let superseded = |old: &&Claim| is_new && takes_the_place_of(&claim, old);
    let ended = others().filter(superseded).map(|old| end(old, &claim, evaluator.now)).collect();
    let contradicts =
        others().filter(|old| contradict(&claim, old)).map(|old| old.id.clone()).collect();
    Ok(Integrated { claim, is_new, ended, contradicts })
}

/// Refuses a claim whose content is there.
///
/// # Errors
/// [`Error::DuplicateClaim`] with the claim that is there.
pub fn insert_strictly(incoming: Claim, same: Option<&Claim>) -> Result<Claim> {
    match same {
        None => Ok(incoming),
        Some(old) => Err(Error::DuplicateClaim {
            hash: incoming.content_hash.to_string(),
            existing: old.id.clone(),
        }),
    }
}

/// One claim of two with the same content: id, scope, making and origin of the old one, the
/// higher class, no lower state, and the rest by the strategy. Its age starts again.
fn united(old: &Claim, new: Claim, strategy: MergeStrategy, now: Timestamp) -> Claim {
    let newer_wins = match strategy {
        MergeStrategy::Replace => true,
        MergeStrategy::KeepNewest => new.updated_at >= old.updated_at,
        MergeStrategy::Merge => false,
    };
    let mut claim = if newer_wins { new.clone() } else { old.clone() };
    if strategy == MergeStrategy::Merge {
        claim.confidence = old.confidence.max(new.confidence);
        claim.epistemic_status = old.epistemic_status.max(new.epistemic_status);
        claim.sources.extend(new.sources.iter().cloned());
        claim.sources.sort();
        claim.sources.dedup();
        claim.importance = old.importance.min(new.importance);
        claim.last_verified_at = old.last_verified_at.max(new.last_verified_at);
        claim.subject = old.subject.clone().or(new.subject);
        claim.predicate = old.predicate.clone().or(new.predicate);
        claim.object = old.object.clone().or(new.object);
        claim.tags = old.tags.united(&new.tags);
    }
    let now = whole_seconds(now);
    Claim {
        id: old.id.clone(),
        scope: old.scope,
        session: old.session.clone(),
        origin: old.origin.clone(),
        boundary_class: old.boundary_class.max(new.boundary_class),
        created_at: old.created_at,
        updated_at: old.updated_at.max(new.updated_at).max(now),
        recency_anchor: old.recency_anchor.max(now),
        recency: Score::ONE,
        state: old.state,
        pin: old.pin,
        ..claim
    }
}

/// True if the new claim says something else of the same subject, of which there can be one.
fn takes_the_place_of(new: &Claim, old: &Claim) -> bool {
    exclude_each_other(new, old)
        && same_place(new, old)
        && old.valid_to.is_none()
        && told_at(new) >= told_at(old)
}

fn exclude_each_other(a: &Claim, b: &Claim) -> bool {
    a.predicate.as_deref().is_some_and(is_exclusive)
        && a.predicate == b.predicate
        && same_term(a.subject.as_deref(), b.subject.as_deref())
        && !same_term(a.object.as_deref(), b.object.as_deref())
}

/// A claim that ends where the new one begins to hold.
fn end(old: &Claim, new: &Claim, now: Timestamp) -> Claim {
    let end = new.valid_from.unwrap_or_else(|| told_at(new)).max(told_at(old));
    let valid_to = Some(end.max(old.valid_from.unwrap_or(end)));
    Claim { valid_to, updated_at: whole_seconds(now).max(old.updated_at), ..old.clone() }
}

/// True if one claim says of a subject and object what the other denies.
pub fn contradict(a: &Claim, b: &Claim) -> bool {
    let [first, second] = [a, b].map(|claim| claim.predicate.as_deref().unwrap_or_default());
    let opposed = OPPOSITES.iter().any(|&pair| pair == (first, second) || pair == (second, first));
    opposed
        && same_term(a.subject.as_deref(), b.subject.as_deref())
        && same_term(a.object.as_deref(), b.object.as_deref())
        || exclude_each_other(a, b)
}

/// Claims of sessions bear on those of the same session only.
fn same_place(a: &Claim, b: &Claim) -> bool {
    a.scope == b.scope && (a.scope != Scope::Session || a.session == b.session)
}

fn plain(term: &str) -> String {
    trefoil_text::normalize(term.trim()).to_lowercase()
}

fn same_term(a: Option<&str>, b: Option<&str>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if plain(a) == plain(b))
}

/// When a claim was told: when what it tells happened, else when it was written.
fn told_at(claim: &Claim) -> Timestamp {
    claim.occurred_at.unwrap_or(claim.created_at)
}

#[cfg(test)]
mod tests;
