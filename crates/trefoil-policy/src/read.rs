//! YAML to a policy, with all that is wrong in it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
};

use serde::de::DeserializeOwned;
use serde_json::Value;
use trefoil_core::{BoundaryClass, ClaimKind, Error, Result, Scope};
use trefoil_text::{Redaction, RedactionPattern, RedactionRules};

use crate::{
    AllowTag, ClassPolicy, HybridPolicy, InvariantDefinition, Policy, PolicyRule, PolicyVersion,
    RecencyPolicy, RerankPolicy, RetrievalPolicy, ScopePolicy, Ttl,
};

/// Reads a policy.
pub(crate) fn policy(yaml: &str) -> Result<Policy> {
    let tree: Value = serde_saphyr::from_str(yaml)
        .map_err(|error| Error::InvalidPolicy { errors: vec![error.to_string()] })?;
    let mut reader = Reader::default();
    match reader.policy(&Node { path: String::new(), value: &tree }) {
        Some(policy) if reader.errors.is_empty() => Ok(policy),
        _ => Err(Error::InvalidPolicy { errors: reader.errors }),
    }
}

/// A value of the tree and the key that leads to it.
#[derive(Clone, Debug)]
struct Node<'v> {
    path: String,
    value: &'v Value,
}

impl Node<'_> {
    /// A value of a table, if it is there.
    fn get(&self, key: &str) -> Option<Self> {
        let value = self.value.as_object()?.get(key)?;
        Some(Self { path: self.below(key), value })
    }

    fn below(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

/// Reads values of a tree; what is wrong is noted with the key that it is at, and reading goes
/// on.
#[derive(Debug, Default)]
struct Reader {
    errors: Vec<String>,
}

#[expect(clippy::unnecessary_wraps, reason = "readers have one form, for `need`, `may` and `list`")]
impl Reader {
    /// Notes that a value is not allowed.
    fn wrong(&mut self, node: &Node<'_>, allowed: impl Display) {
        let value = match node.value {
            Value::String(text) => format!("`{}`", text.chars().take(80).collect::<String>()),
            Value::Null => "empty".to_owned(),
            Value::Array(_) => "a list".to_owned(),
            Value::Object(_) => "a table".to_owned(),
            Value::Bool(_) | Value::Number(_) => node.value.to_string(),
        };
        let path = if node.path.is_empty() { "the policy" } else { &node.path };
        self.errors.push(format!("`{path}` is {value}; allowed: {allowed}"));
    }

    /// Checks that a value is a table with no other keys than `keys`.
    fn keys(&mut self, node: &Node<'_>, keys: &[&str]) {
        let Some(table) = node.value.as_object() else { return self.wrong(node, "a table") };
        for key in table.keys().filter(|key| !keys.contains(&key.as_str())) {
            let path = node.below(key);
            self.errors.push(format!("`{path}` is unknown; allowed: {}", keys.join(", ")));
        }
    }

    /// A value of a table, read by `read`; a mistake if it is not there.
    fn need<T>(
        &mut self,
        node: &Node<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node<'_>) -> Option<T>,
    ) -> Option<T> {
        match node.get(key) {
            Some(found) => read(self, &found),
            None if node.value.is_object() => {
                self.errors.push(format!("`{}` is missing", node.below(key)));
                None
            }
            None => None,
        }
    }

    /// A value of a table, read by `read`, if it is there.
    fn may<T>(
        &mut self,
        node: &Node<'_>,
        key: &str,
        read: impl FnOnce(&mut Self, &Node<'_>) -> Option<T>,
    ) -> Option<T> {
        read(self, &node.get(key)?)
    }

    /// What `read` makes of a table with one key for each of `all`.
    fn each<K: Copy + Ord + Display, T>(
        &mut self,
        node: &Node<'_>,
        all: &[K],
        mut read: impl FnMut(&mut Self, &str) -> Option<T>,
    ) -> BTreeMap<K, T> {
        let names: Vec<String> = all.iter().map(ToString::to_string).collect();
        self.keys(node, &names.iter().map(String::as_str).collect::<Vec<_>>());
        let values = all.iter().zip(&names);
        values.filter_map(|(&one, name)| Some((one, read(self, name)?))).collect()
    }

    /// A value that reads as a `T` and passes `check`.
    fn value<T: DeserializeOwned>(
        &mut self,
        node: &Node<'_>,
        allowed: impl Display,
        check: impl FnOnce(&T) -> bool,
    ) -> Option<T> {
        let read = T::deserialize(node.value).ok().filter(check);
        if read.is_none() {
            self.wrong(node, allowed);
        }
        read
    }

    fn text(&mut self, node: &Node<'_>) -> Option<String> {
        self.value(node, "a text", |text: &String| !text.trim().is_empty())
    }

    fn count(&mut self, node: &Node<'_>) -> Option<u32> {
        self.value(node, "a whole number of at least 1", |&count| count >= 1)
    }

    fn days(&mut self, node: &Node<'_>) -> Option<f64> {
        self.value(node, "a number of days, at least 1", |days| (1.0..1e9).contains(days))
    }

    /// What `read` makes of the items of a list; those that are wrong are left out.
    fn list<T, C: FromIterator<T>>(
        &mut self,
        node: &Node<'_>,
        mut read: impl FnMut(&mut Self, &Node<'_>) -> Option<T>,
    ) -> Option<C> {
        let Some(items) = node.value.as_array() else {
            self.wrong(node, "a list");
            return None;
        };
        let item = |(at, value)| Node { path: format!("{}[{at}]", node.path), value };
        Some(items.iter().enumerate().map(item).filter_map(|node| read(self, &node)).collect())
    }

    fn policy(&mut self, root: &Node<'_>) -> Option<Policy> {
        self.keys(
            root,
            &["version", "scopes", "boundary_classes", "invariants", "redact", "retrieval"],
        );
        let version = self.need(root, "version", |reader, node| {
            let allowed = "`1.0.0`, `1.0.0-draft` or `1.0.0+build`";
            reader.value(node, allowed, |_: &PolicyVersion| true)
        });
        let scopes = self.need(root, "scopes", |reader, node| {
            Some(
                reader
                    .each(node, Scope::ALL, |reader, scope| reader.need(node, scope, Self::scope)),
            )
        });
        let classes = self.may(root, "boundary_classes", |reader, node| {
            let class = |reader: &mut Self, class: &str| reader.may(node, class, Self::class);
            Some(reader.each(node, BoundaryClass::ALL, class))
        });
        let invariants =
            self.may(root, "invariants", |reader, node| reader.list(node, Self::invariant));
        let redact = self.may(root, "redact", Self::redactions);
        let retrieval = self.may(root, "retrieval", Self::retrieval);
        Some(Policy {
            version: version?,
            scopes: scopes?,
            boundary_classes: classes.unwrap_or_default(),
            invariants: invariants.unwrap_or_default(),
            redact: redact.unwrap_or_else(|| RedactionRules::of(Redaction::ALL.into())),
            retrieval: retrieval.unwrap_or_default(),
        })
    }

    fn scope(&mut self, node: &Node<'_>) -> Option<ScopePolicy> {
        self.keys(node, &["ttl", "max_tokens"]);
        let ttl = self.need(node, "ttl", |reader, node| {
            reader.value(node, "`24h`, `7d` or `unlimited`", |_: &Ttl| true)
        });
        let max_tokens = self.need(node, "max_tokens", Self::count);
        Some(ScopePolicy { ttl: ttl?, max_tokens: max_tokens? })
    }

    fn class(&mut self, node: &Node<'_>) -> Option<ClassPolicy> {
        self.keys(node, &["allow", "redact", "escalation"]);
        let tag = |reader: &mut Self, node: &Node<'_>| {
            let allowed = "a tag without white space, `*` only at the end";
            reader.value(node, allowed, |_: &AllowTag| true)
        };
        let allow = self.need(node, "allow", |reader, node| reader.list(node, tag));
        Some(ClassPolicy {
            allow: allow.unwrap_or_default(),
            redact: self.may(node, "redact", Self::redactions).unwrap_or_default(),
            escalation: self.may(node, "escalation", Self::text),
        })
    }

    /// A list of kinds that are known, by name, and of tables with a `name` and a `pattern`.
    fn redactions(&mut self, node: &Node<'_>) -> Option<RedactionRules> {
        let names = Redaction::ALL.map(|one| one.to_string()).join(", ");
        let named = |text: &str| Redaction::ALL.into_iter().find(|one| one.to_string() == text);
        let (mut kinds, mut patterns) = (BTreeSet::new(), Vec::new());
        let read: Option<()> = self.list(node, |reader, node| {
            if node.value.is_object() {
                patterns.extend(reader.pattern(node));
            } else if let Some(kind) = node.value.as_str().and_then(named) {
                kinds.insert(kind);
            } else {
                let allowed = format!("{names}, or a table with `name` and `pattern`");
                reader.wrong(node, allowed);
            }
            Some(())
        });
        let rules = read.and_then(|()| {
            let rules = RedactionRules::new(kinds, patterns);
            rules.map_err(|error| self.wrong(node, error)).ok()
        });
        Some(rules.unwrap_or_default())
    }

    fn pattern(&mut self, node: &Node<'_>) -> Option<RedactionPattern> {
        self.keys(node, &["name", "pattern"]);
        let name = self.need(node, "name", Self::text);
        let pattern = self.need(node, "pattern", Self::text);
        let pattern = RedactionPattern::new(&name?, &pattern?);
        pattern.map_err(|error| self.wrong(node, error)).ok()
    }

    fn invariant(&mut self, node: &Node<'_>) -> Option<InvariantDefinition> {
        self.keys(node, &["name", "applies_to", "rule"]);
        let name = self.need(node, "name", Self::text);
        let allowed = format!("{} or `*`", Scope::NAMES);
        let is_scope = |text: &String| text == "*" || text.parse::<Scope>().is_ok();
        let applies_to = self.need(node, "applies_to", |reader, node| {
            reader.list(node, |reader, node| reader.value(node, &allowed, is_scope))
        });
        let rule = self.need(node, "rule", |reader, node| {
            let rule = reader.text(node)?;
            let read = rule.parse::<PolicyRule>();
            read.map_err(|error| reader.wrong(node, format_args!("a rule ({error})"))).ok()?;
            Some(rule)
        });
        Some(InvariantDefinition { name: name?, applies_to: applies_to?, rule: rule? })
    }

    fn retrieval(&mut self, node: &Node<'_>) -> Option<RetrievalPolicy> {
        self.keys(node, &["hybrid", "rerank"]);
        Some(RetrievalPolicy {
            hybrid: self.may(node, "hybrid", Self::hybrid).unwrap_or_default(),
            rerank: self.may(node, "rerank", Self::rerank).unwrap_or_default(),
        })
    }

    fn hybrid(&mut self, node: &Node<'_>) -> Option<HybridPolicy> {
        self.keys(node, &["alpha", "k_txt", "k_vec", "k_final"]);
        let HybridPolicy { alpha, k_txt, k_vec, k_final } = HybridPolicy::default();
        let share = |reader: &mut Self, node: &Node<'_>| {
            reader.value(node, "0–1", |share: &f64| (0.0..=1.0).contains(share))
        };
        let alpha = self.may(node, "alpha", share).unwrap_or(alpha);
        let mut count =
            |key, default| self.may(node, key, Self::count).map_or(default, |count| count as usize);
        let (k_txt, k_vec) = (count("k_txt", k_txt), count("k_vec", k_vec));
        Some(HybridPolicy { alpha, k_txt, k_vec, k_final: count("k_final", k_final) })
    }

    fn rerank(&mut self, node: &Node<'_>) -> Option<RerankPolicy> {
        self.keys(node, &["use_quality", "recency_half_life_days", "recency"]);
        let RerankPolicy { use_quality, recency_half_life_days, recency } = RerankPolicy::default();
        let flag = |reader: &mut Self, node: &Node<'_>| {
            reader.value(node, "true or false", |_: &bool| true)
        };
        Some(RerankPolicy {
            use_quality: self.may(node, "use_quality", flag).unwrap_or(use_quality),
            recency_half_life_days: self
                .may(node, "recency_half_life_days", Self::days)
                .unwrap_or(recency_half_life_days),
            recency: self.may(node, "recency", Self::recency).unwrap_or(recency),
        })
    }

    fn recency(&mut self, node: &Node<'_>) -> Option<RecencyPolicy> {
        self.keys(node, &["half_life_days_by_kind"]);
        let half_life_days_by_kind = self.may(node, "half_life_days_by_kind", |reader, node| {
            let days = |reader: &mut Self, kind: &str| reader.may(node, kind, Self::days);
            Some(reader.each(node, ClaimKind::ALL, days))
        })?;
        Some(RecencyPolicy { half_life_days_by_kind })
    }
}
