//! YAML to a policy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use trefoil_core::{BoundaryClass, Error, Result};
use trefoil_text::{Redaction, RedactionPattern, RedactionRules};

use super::{
    ClassPolicy, HybridPolicy, Policy, RerankPolicy, RetrievalPolicy, ScopePolicy,
    mistakes::{Mistakes, Node, optional},
};
use crate::{AllowTag, ClaimKind, InvariantDefinition, Rule, Scope};

/// Reads a policy.
pub(super) fn policy(yaml: &str) -> Result<Policy> {
    let tree: Value = serde_saphyr::from_str(yaml)
        .map_err(|error| Error::InvalidPolicy { errors: vec![error.to_string()] })?;
    let mut mistakes = Mistakes::default();
    let policy = whole(&mut mistakes, &Node::root(&tree));
    match policy {
        Some(policy) if mistakes.0.is_empty() => Ok(policy),
        _ => Err(Error::InvalidPolicy { errors: mistakes.0 }),
    }
}

fn whole(mistakes: &mut Mistakes, root: &Node<'_>) -> Option<Policy> {
    const KEYS: [&str; 6] =
        ["version", "scopes", "boundary_classes", "invariants", "redact", "retrieval"];
    mistakes.table(root, &KEYS)?;
    let version = mistakes.need(root, "version").and_then(|node| {
        let allowed = "`1.0.0`, `1.0.0-draft` or `1.0.0+build`";
        mistakes.parsed(&node, allowed, |text| text.parse().ok())
    });
    let scopes = mistakes.need(root, "scopes").map(|node| scopes(mistakes, &node));
    let classes = optional(root, "boundary_classes").map(|node| classes(mistakes, &node));
    let invariants = optional(root, "invariants").map(|node| invariants(mistakes, &node));
    let redact = optional(root, "redact").map(|node| redactions(mistakes, &node));
    let retrieval = optional(root, "retrieval").map(|node| retrieval(mistakes, &node));
    Some(Policy {
        version: version?,
        scopes: scopes?,
        boundary_classes: classes.unwrap_or_default(),
        invariants: invariants.unwrap_or_default(),
        redact: redact.unwrap_or_else(|| RedactionRules::of(Redaction::ALL.into())),
        retrieval: retrieval.unwrap_or_default(),
    })
}

fn scopes(mistakes: &mut Mistakes, node: &Node<'_>) -> BTreeMap<Scope, ScopePolicy> {
    let names: Vec<&str> = Scope::ALL.iter().map(|scope| scope.as_str()).collect();
    let mut scopes = BTreeMap::new();
    if mistakes.table(node, &names).is_none() {
        return scopes;
    }
    for &scope in Scope::ALL {
        let Some(node) = mistakes.need(node, scope.as_str()) else { continue };
        mistakes.table(&node, &["ttl", "max_tokens"]);
        let ttl = mistakes.need(&node, "ttl").and_then(|node| {
            mistakes.parsed(&node, "`24h`, `7d` or `unlimited`", |text| text.parse().ok())
        });
        let tokens = mistakes.need(&node, "max_tokens").and_then(|node| mistakes.count(&node));
        if let (Some(ttl), Some(max_tokens)) = (ttl, tokens) {
            scopes.insert(scope, ScopePolicy { ttl, max_tokens });
        }
    }
    scopes
}

fn classes(mistakes: &mut Mistakes, node: &Node<'_>) -> BTreeMap<BoundaryClass, ClassPolicy> {
    let names: Vec<&str> = BoundaryClass::ALL.iter().map(|class| class.as_str()).collect();
    mistakes.table(node, &names);
    let mut classes = BTreeMap::new();
    for &class in BoundaryClass::ALL {
        let Some(node) = optional(node, class.as_str()) else { continue };
        mistakes.table(&node, &["allow", "redact", "escalation"]);
        let allow = mistakes.need(&node, "allow").map(|node| allow(mistakes, &node));
        let redact = optional(&node, "redact").map(|node| redactions(mistakes, &node));
        let escalation =
            optional(&node, "escalation").and_then(|node| mistakes.text(&node).map(str::to_owned));
        let policy = ClassPolicy {
            allow: allow.unwrap_or_default(),
            redact: redact.unwrap_or_default(),
            escalation,
        };
        classes.insert(class, policy);
    }
    classes
}

fn allow(mistakes: &mut Mistakes, node: &Node<'_>) -> BTreeSet<AllowTag> {
    let allowed = "a tag without white space, `*` only at the end";
    let tag = |text: &str| AllowTag::new(text).ok();
    mistakes.list(node).iter().filter_map(|node| mistakes.parsed(node, allowed, tag)).collect()
}

/// A list of kinds that are known, by name, and of tables with a `name` and a `pattern`.
fn redactions(mistakes: &mut Mistakes, node: &Node<'_>) -> RedactionRules {
    let names = Redaction::ALL.map(|one| one.to_string()).join(", ");
    let named = |text: &str| Redaction::ALL.into_iter().find(|one| one.to_string() == text);
    let (mut kinds, mut patterns) = (BTreeSet::new(), Vec::new());
    for node in mistakes.list(node) {
        if node.is_table() {
            patterns.extend(pattern(mistakes, &node));
        } else {
            let allowed = format!("{names}, or a table with `name` and `pattern`");
            kinds.extend(mistakes.parsed(&node, &allowed, named));
        }
    }
    RedactionRules::new(kinds, patterns).unwrap_or_else(|error| {
        mistakes.wrong(node, error);
        RedactionRules::default()
    })
}

fn pattern(mistakes: &mut Mistakes, node: &Node<'_>) -> Option<RedactionPattern> {
    mistakes.table(node, &["name", "pattern"]);
    let name = mistakes.need(node, "name").and_then(|node| mistakes.text(&node));
    let pattern = mistakes.need(node, "pattern").and_then(|node| mistakes.text(&node));
    match RedactionPattern::new(name?, pattern?) {
        Ok(pattern) => Some(pattern),
        Err(error) => {
            mistakes.wrong(node, error);
            None
        }
    }
}

fn invariants(mistakes: &mut Mistakes, node: &Node<'_>) -> Vec<InvariantDefinition> {
    let mut invariants = Vec::new();
    for node in mistakes.list(node) {
        mistakes.table(&node, &["name", "applies_to", "rule"]);
        let name = mistakes.need(&node, "name").and_then(|node| mistakes.text(&node));
        let applies_to = mistakes.need(&node, "applies_to").map(|node| applies_to(mistakes, &node));
        let rule = mistakes.need(&node, "rule").and_then(|node| rule(mistakes, &node));
        if let (Some(name), Some(applies_to), Some(rule)) = (name, applies_to, rule) {
            invariants.push(InvariantDefinition { name: name.to_owned(), applies_to, rule });
        }
    }
    invariants
}

fn applies_to(mistakes: &mut Mistakes, node: &Node<'_>) -> Vec<String> {
    let allowed = format!("{} or `*`", Scope::NAMES);
    let scope =
        |text: &str| (text == "*" || text.parse::<Scope>().is_ok()).then(|| text.to_owned());
    mistakes.list(node).iter().filter_map(|node| mistakes.parsed(node, &allowed, scope)).collect()
}

fn rule(mistakes: &mut Mistakes, node: &Node<'_>) -> Option<String> {
    let text = mistakes.text(node)?;
    match text.parse::<Rule>() {
        Ok(_) => Some(text.to_owned()),
        Err(error) => {
            mistakes.wrong(node, format_args!("a rule ({error})"));
            None
        }
    }
}

fn retrieval(mistakes: &mut Mistakes, node: &Node<'_>) -> RetrievalPolicy {
    mistakes.table(node, &["hybrid", "rerank"]);
    RetrievalPolicy {
        hybrid: optional(node, "hybrid").map(|node| hybrid(mistakes, &node)).unwrap_or_default(),
        rerank: optional(node, "rerank").map(|node| rerank(mistakes, &node)).unwrap_or_default(),
    }
}

fn hybrid(mistakes: &mut Mistakes, node: &Node<'_>) -> HybridPolicy {
    mistakes.table(node, &["alpha", "k_txt", "k_vec", "k_final"]);
    let default = HybridPolicy::default();
    let alpha = optional(node, "alpha").and_then(|node| mistakes.number(&node, "0–1", 0.0..=1.0));
    let mut count = |key, default| {
        let count = optional(node, key).and_then(|node| mistakes.count(&node));
        count.map_or(default, |count| count as usize)
    };
    HybridPolicy {
        alpha: alpha.unwrap_or(default.alpha),
        k_txt: count("k_txt", default.k_txt),
        k_vec: count("k_vec", default.k_vec),
        k_final: count("k_final", default.k_final),
    }
}

fn rerank(mistakes: &mut Mistakes, node: &Node<'_>) -> RerankPolicy {
    mistakes.table(node, &["use_quality", "recency_half_life_days", "recency"]);
    let mut policy = RerankPolicy::default();
    let quality = optional(node, "use_quality").and_then(|node| mistakes.boolean(&node));
    policy.use_quality = quality.unwrap_or(policy.use_quality);
    let days = optional(node, "recency_half_life_days").and_then(|node| days(mistakes, &node));
    policy.recency_half_life_days = days.unwrap_or(policy.recency_half_life_days);
    let Some(recency) = optional(node, "recency") else { return policy };
    mistakes.table(&recency, &["half_life_days_by_kind"]);
    if let Some(by_kind) = optional(&recency, "half_life_days_by_kind") {
        policy.recency.half_life_days_by_kind = half_lives(mistakes, &by_kind);
    }
    policy
}

fn half_lives(mistakes: &mut Mistakes, node: &Node<'_>) -> BTreeMap<ClaimKind, f64> {
    let names: Vec<&str> = ClaimKind::ALL.iter().map(|kind| kind.as_str()).collect();
    mistakes.table(node, &names);
    ClaimKind::ALL
        .iter()
        .filter_map(|&kind| {
            let node = optional(node, kind.as_str())?;
            Some((kind, days(mistakes, &node)?))
        })
        .collect()
}

fn days(mistakes: &mut Mistakes, node: &Node<'_>) -> Option<f64> {
    mistakes.number(node, "a number of days, at least 1", 1.0..1e9)
}
