//! YAML to a policy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trefoil_core::{BoundaryClass, Error, Result};
use trefoil_text::{Redaction, RedactionPattern, RedactionRules};

use super::{
    ClassPolicy, HybridPolicy, Policy, RerankPolicy, RetrievalPolicy, ScopePolicy,
    errors::{Node, PolicyErrors, optional},
};
use crate::{AllowTag, ClaimKind, InvariantDefinition, PolicyRule, Scope};

/// Reads a policy.
pub(super) fn policy(yaml: &str) -> Result<Policy> {
    let tree: Value = serde_saphyr::from_str(yaml)
        .map_err(|error| Error::InvalidPolicy { errors: vec![error.to_string()] })?;
    let mut errors = PolicyErrors::default();
    let policy = whole(&mut errors, &Node::root(&tree));
    match policy {
        Some(policy) if errors.0.is_empty() => Ok(policy),
        _ => Err(Error::InvalidPolicy { errors: errors.0 }),
    }
}

fn whole(errors: &mut PolicyErrors, root: &Node<'_>) -> Option<Policy> {
    const KEYS: [&str; 6] =
        ["version", "scopes", "boundary_classes", "invariants", "redact", "retrieval"];
    errors.table(root, &KEYS)?;
    let version = errors.need(root, "version").and_then(|node| {
        let allowed = "`1.0.0`, `1.0.0-draft` or `1.0.0+build`";
        errors.parsed(&node, allowed, |text| text.parse().ok())
    });
    let scopes = errors.need(root, "scopes").map(|node| scopes(errors, &node));
    let classes = optional(root, "boundary_classes").map(|node| classes(errors, &node));
    let invariants = optional(root, "invariants").map(|node| invariants(errors, &node));
    let redact = optional(root, "redact").map(|node| redactions(errors, &node));
    let retrieval = optional(root, "retrieval").map(|node| retrieval(errors, &node));
    Some(Policy {
        version: version?,
        scopes: scopes?,
        boundary_classes: classes.unwrap_or_default(),
        invariants: invariants.unwrap_or_default(),
        redact: redact.unwrap_or_else(|| RedactionRules::of(Redaction::ALL.into())),
        retrieval: retrieval.unwrap_or_default(),
    })
}

fn scopes(errors: &mut PolicyErrors, node: &Node<'_>) -> BTreeMap<Scope, ScopePolicy> {
    let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let mut scopes = BTreeMap::new();
    if errors.table(node, &names).is_none() {
        return scopes;
    }
    for &scope in Scope::ALL {
        let Some(node) = errors.need(node, scope.as_str()) else { continue };
        errors.table(&node, &["ttl", "max_tokens"]);
        let ttl = errors.need(&node, "ttl").and_then(|node| {
            errors.parsed(&node, "`24h`, `7d` or `unlimited`", |text| text.parse().ok())
        });
        let tokens = errors.need(&node, "max_tokens").and_then(|node| errors.count(&node));
        if let (Some(ttl), Some(max_tokens)) = (ttl, tokens) {
            scopes.insert(scope, ScopePolicy { ttl, max_tokens });
        }
    }
    scopes
}

fn classes(errors: &mut PolicyErrors, node: &Node<'_>) -> BTreeMap<BoundaryClass, ClassPolicy> {
    let names: Vec<&str> = BoundaryClass::ALL.iter().map(|class| class.as_str()).collect();
    errors.table(node, &names);
    let mut classes = BTreeMap::new();
    for &class in BoundaryClass::ALL {
        let Some(node) = optional(node, class.as_str()) else { continue };
        errors.table(&node, &["allow", "redact", "escalation"]);
        let allow = errors.need(&node, "allow").map(|node| allow(errors, &node));
        let redact = optional(&node, "redact").map(|node| redactions(errors, &node));
        let escalation =
            optional(&node, "escalation").and_then(|node| errors.text(&node).map(str::to_owned));
        let policy = ClassPolicy {
            allow: allow.unwrap_or_default(),
            redact: redact.unwrap_or_default(),
            escalation,
        };
        classes.insert(class, policy);
    }
    classes
}

fn allow(errors: &mut PolicyErrors, node: &Node<'_>) -> BTreeSet<AllowTag> {
    let allowed = "a tag without white space, `*` only at the end";
    let tag = |text: &str| AllowTag::new(text).ok();
    errors.list(node).iter().filter_map(|node| errors.parsed(node, allowed, tag)).collect()
}

/// A list of kinds that are known, by name, and of tables with a `name` and a `pattern`.
fn redactions(errors: &mut PolicyErrors, node: &Node<'_>) -> RedactionRules {
    let names = Redaction::ALL.map(|one| one.to_string()).join(", ");
    let named = |text: &str| Redaction::ALL.into_iter().find(|one| one.to_string() == text);
    let (mut kinds, mut patterns) = (BTreeSet::new(), Vec::new());
    for node in errors.list(node) {
        if node.is_table() {
            patterns.extend(pattern(errors, &node));
        } else {
            let allowed = format!("{names}, or a table with `name` and `pattern`");
            kinds.extend(errors.parsed(&node, &allowed, named));
        }
    }
    RedactionRules::new(kinds, patterns).unwrap_or_else(|error| {
        errors.wrong(node, error);
        RedactionRules::default()
    })
}

fn pattern(errors: &mut PolicyErrors, node: &Node<'_>) -> Option<RedactionPattern> {
    errors.table(node, &["name", "pattern"]);
    let name = errors.need(node, "name").and_then(|node| errors.text(&node));
    let pattern = errors.need(node, "pattern").and_then(|node| errors.text(&node));
    match RedactionPattern::new(name?, pattern?) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            errors.wrong(node, error);
            None
        }
    }
}

fn invariants(errors: &mut PolicyErrors, node: &Node<'_>) -> Vec<InvariantDefinition> {
    let mut invariants = Vec::new();
    for node in errors.list(node) {
        errors.table(&node, &["name", "applies_to", "rule"]);
        let name = errors.need(&node, "name").and_then(|node| errors.text(&node));
        let applies_to = errors.need(&node, "applies_to").map(|node| applies_to(errors, &node));
        let rule = errors.need(&node, "rule").and_then(|node| rule(errors, &node));
        if let (Some(name), Some(applies_to), Some(rule)) = (name, applies_to, rule) {
            invariants.push(InvariantDefinition { name: name.to_owned(), applies_to, rule });
        }
    }
    invariants
}

fn applies_to(errors: &mut PolicyErrors, node: &Node<'_>) -> Vec<String> {
    let allowed = format!("{} or `*`", Scope::NAMES);
    let scope =
        |text: &str| (text == "*" || text.parse::<Scope>().is_ok()).then(|| text.to_owned());
    errors.list(node).iter().filter_map(|node| errors.parsed(node, &allowed, scope)).collect()
}

fn rule(errors: &mut PolicyErrors, node: &Node<'_>) -> Option<String> {
    let text = errors.text(node)?;
    match text.parse::<PolicyRule>() {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            errors.wrong(node, format_args!("a rule ({error})"));
            None
        }
    }
}

fn retrieval(errors: &mut PolicyErrors, node: &Node<'_>) -> RetrievalPolicy {
    errors.table(node, &["hybrid", "rerank"]);
    RetrievalPolicy {
        hybrid: optional(node, "hybrid").map(|node| hybrid(errors, &node)).unwrap_or_default(),
        rerank: optional(node, "rerank").map(|node| rerank(errors, &node)).unwrap_or_default(),
    }
}

fn hybrid(errors: &mut PolicyErrors, node: &Node<'_>) -> HybridPolicy {
    errors.table(node, &["alpha", "k_txt", "k_vec", "k_final"]);
    let default = HybridPolicy::default();
    let alpha = optional(node, "alpha").and_then(|node| errors.number(&node, "0–1", 0.0..=1.0));
    let mut count = |key, default| {
        let count = optional(node, key).and_then(|node| errors.count(&node));
        count.map_or(default, |count| count as usize)
    };
    HybridPolicy {
        alpha: alpha.unwrap_or(default.alpha),
        k_txt: count("k_txt", default.k_txt),
        k_vec: count("k_vec", default.k_vec),
        k_final: count("k_final", default.k_final),
    }
}

fn rerank(errors: &mut PolicyErrors, node: &Node<'_>) -> RerankPolicy {
    errors.table(node, &["use_quality", "recency_half_life_days", "recency"]);
    let mut policy = RerankPolicy::default();
    let quality = optional(node, "use_quality").and_then(|node| errors.boolean(&node));
    policy.use_quality = quality.unwrap_or(policy.use_quality);
    let days = optional(node, "recency_half_life_days").and_then(|node| days(errors, &node));
    policy.recency_half_life_days = days.unwrap_or(policy.recency_half_life_days);
    let Some(recency) = optional(node, "recency") else { return policy };
    errors.table(&recency, &["half_life_days_by_kind"]);
    if let Some(by_kind) = optional(&recency, "half_life_days_by_kind") {
        policy.recency.half_life_days_by_kind = half_lives(errors, &by_kind);
    }
    policy
}

fn half_lives(errors: &mut PolicyErrors, node: &Node<'_>) -> BTreeMap<ClaimKind, f64> {
    let names: Vec<&str> = ClaimKind::ALL.iter().map(|kind| kind.as_str()).collect();
    errors.table(node, &names);
    ClaimKind::ALL
        .iter()
        .filter_map(|&kind| {
            let node = optional(node, kind.as_str())?;
            Some((kind, days(errors, &node)?))
        })
        .collect()
}

fn days(errors: &mut PolicyErrors, node: &Node<'_>) -> Option<f64> {
    errors.number(node, "a number of days, at least 1", 1.0..1e9)
}
