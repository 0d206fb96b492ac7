use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use trefoil_core::{BoundaryClass, ClaimKind, Error, Result, Scope};
use trefoil_text::RedactionRules;

use crate::{AllowTag, Boundary, InvariantDefinition, PolicyVersion, Ttl, read};

/// One version of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Policy {
    /// Which version it is.
    pub version: PolicyVersion,
    /// What holds for claims of each scope; all three are there.
    pub scopes: BTreeMap<Scope, ScopePolicy>,
    /// What holds for units of each class; one that is not there is seen by none.
    pub boundary_classes: BTreeMap<BoundaryClass, ClassPolicy>,
    /// Rules that must hold.
    pub invariants: Vec<InvariantDefinition>,
    /// What is cut out before anything is stored.
    pub redact: RedactionRules,
    /// How recall finds and weighs.
    pub retrieval: RetrievalPolicy,
}

/// What holds for claims of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ScopePolicy {
    /// How long they stay fresh.
    pub ttl: Ttl,
    /// How many tokens of a context they may take, at least 1.
    pub max_tokens: u32,
}

/// What holds for units of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ClassPolicy {
    /// The requests that may see them.
    pub allow: BTreeSet<AllowTag>,
    /// What is cut out before they are shown.
    #[serde(skip_serializing_if = "RedactionRules::is_empty")]
    pub redact: RedactionRules,
    /// What is to follow: `deny` denies, anything else is told with the decision.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escalation: Option<String>,
}

impl ClassPolicy {
    /// The escalation that denies.
    pub const DENY: &'static str = "deny";

    /// True if one of `tags` may see the class.
    pub fn admits<'a>(&self, tags: impl IntoIterator<Item = &'a AllowTag>) -> bool {
        let mut tags = tags.into_iter();
        !self.denies() && tags.any(|tag| self.allow.iter().any(|pattern| pattern.matches(tag)))
    }

    /// True if nobody may see the class, whatever else the policy says.
    pub fn denies(&self) -> bool {
        self.escalation.as_deref() == Some(Self::DENY)
    }

    /// A text without what is cut out before it is shown; absent if that is nothing.
    pub fn cut(&self, text: &str) -> Option<String> {
        let redacted = self.redact.redact(text);
        (!redacted.is_clean()).then_some(redacted.text)
    }
}

/// How recall finds and weighs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RetrievalPolicy {
    /// How the words and the meaning of a question are weighed.
    pub hybrid: HybridPolicy,
    /// What besides the question counts.
    pub rerank: RerankPolicy,
}

/// How the words and the meaning of a question are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HybridPolicy {
    /// Weight of meaning against words, 0–1.
    pub alpha: f64,
    /// How many claims are found by words, at least 1.
    pub k_txt: usize,
    /// How many claims are found by meaning, at least 1.
    pub k_vec: usize,
    /// How many claims are shown, at least 1.
    pub k_final: usize,
}

impl Default for HybridPolicy {
    fn default() -> Self {
        Self { alpha: 0.65, k_txt: 48, k_vec: 96, k_final: 12 }
    }
}

/// What besides the question counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RerankPolicy {
    /// Whether it counts how well a claim is put.
    pub use_quality: bool,
    /// Days after which a claim counts half as recent, at least 1.
    pub recency_half_life_days: f64,
    /// The same by kind.
    pub recency: RecencyPolicy,
}

impl Default for RerankPolicy {
    fn default() -> Self {
        Self {
            use_quality: true,
            recency_half_life_days: 30.0,
            recency: RecencyPolicy {
                half_life_days_by_kind: BTreeMap::from([
                    (ClaimKind::Fact, 120.0),
                    (ClaimKind::Preference, 90.0),
                    (ClaimKind::Task, 14.0),
                    (ClaimKind::PolicyHint, 365.0),
                ]),
            },
        }
    }
}

impl RerankPolicy {
    /// Days after which a claim of this kind counts half as recent.
    pub fn half_life_days(&self, kind: ClaimKind) -> f64 {
        let by_kind = self.recency.half_life_days_by_kind.get(&kind);
        by_kind.copied().unwrap_or(self.recency_half_life_days)
    }
}

/// Half-lives by kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RecencyPolicy {
    /// Days, at least 1; a kind that is not there has that of all.
    pub half_life_days_by_kind: BTreeMap<ClaimKind, f64>,
}

impl Policy {
    /// The YAML of the policy that holds until another is applied.
    pub const BUILT_IN: &'static str = include_str!("default.yaml");

    /// Reads a policy and tells all mistakes in it at once.
    ///
    /// ```
    /// use trefoil_core::Error;
    /// use trefoil_policy::Policy;
    ///
    /// let yaml = Policy::BUILT_IN.replace("alpha: 0.65", "alpha: 2").replace("k_txt", "k_text");
    /// let Err(Error::InvalidPolicy { errors }) = Policy::from_yaml(&yaml) else { panic!() };
    /// assert_eq!(errors.len(), 2);
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidPolicy`](trefoil_core::Error::InvalidPolicy) with every key that is
    /// unknown, missing or of a value that is not allowed.
    pub fn from_yaml(yaml: &str) -> Result<Self> {
        read::policy(yaml)
    }

    /// The policy that holds until another is applied.
    ///
    /// # Errors
    /// None: a test reads it.
    pub fn built_in() -> Result<Self> {
        Self::from_yaml(Self::BUILT_IN)
    }

    /// The classes that a request may see: those of the boundary and, if it names any, its
    /// own, for which one of its tags is allowed by the boundary and by the class. A request
    /// without tags asks with [`AllowTag::DEFAULT`].
    pub fn admitted_classes(
        &self,
        boundary: &Boundary,
        classes: Option<&BTreeSet<BoundaryClass>>,
        tags: &[AllowTag],
    ) -> BTreeSet<BoundaryClass> {
        let default = [AllowTag::default()];
        let tags = if tags.is_empty() { &default } else { tags };
        let within = |tag: &&AllowTag| boundary.allow.iter().any(|pattern| pattern.matches(tag));
        let tags: Vec<&AllowTag> = tags.iter().filter(within).collect();
        boundary
            .boundary_classes
            .iter()
            .copied()
            .filter(|class| classes.is_none_or(|wanted| wanted.contains(class)))
            .filter(|class| {
                self.boundary_classes
                    .get(class)
                    .is_some_and(|policy| policy.admits(tags.iter().copied()))
            })
            .collect()
    }

    /// How long a claim of this scope stays fresh.
    pub fn ttl(&self, scope: Scope) -> Ttl {
        self.scopes.get(&scope).map_or_else(|| Ttl::of(scope), |policy| policy.ttl)
    }

    /// True if a unit that its writer marks secret may be stored: then the policy names a tag
    /// that may see it.
    pub fn stores_secrets(&self) -> bool {
        self.boundary_classes
            .get(&BoundaryClass::Secret)
            .is_some_and(|class| !class.allow.is_empty() && !class.denies())
    }

    /// Checks that a unit of a class may be stored at all.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`] for a secret that no tag may see.
    pub fn check_class(&self, class: BoundaryClass) -> Result<()> {
        if class == BoundaryClass::Secret && !self.stores_secrets() {
            return Err(Error::denied(
                "the class `secret`",
                "the policy names no tag that may see it",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::Error;

    use super::*;

    fn built_in() -> Policy {
        Policy::built_in().unwrap()
    }

    #[test]
    fn the_built_in_policy_is_that_of_the_domain() {
        let policy = built_in();
        assert_eq!(policy.version.as_str(), "1.0.0");
        for &scope in Scope::ALL {
            assert_eq!(policy.ttl(scope), Ttl::of(scope), "{scope}");
        }
        let tokens: Vec<_> = policy.scopes.values().map(|scope| scope.max_tokens).collect();
        assert_eq!(tokens, [20_000, 50_000, 100_000]);
        assert_eq!(policy.retrieval, RetrievalPolicy::default());
        assert_eq!(policy.redact.kinds().len(), 5);
        let half_lives =
            ClaimKind::ALL.iter().map(|&kind| policy.retrieval.rerank.half_life_days(kind));
        assert_eq!(half_lives.collect::<Vec<_>>(), [120.0, 90.0, 14.0, 365.0]);
        assert!(!policy.stores_secrets());
        let human = policy.boundary_classes[&BoundaryClass::Pii].escalation.as_deref();
        assert_eq!(human, Some("human_review"));
    }

    #[test]
    fn a_policy_reads_as_it_is_written() {
        let policy = built_in();
        let json = serde_json::to_string(&policy).unwrap();
        assert_eq!(Policy::from_yaml(&json).unwrap(), policy);
    }

    #[track_caller]
    fn mistakes(changes: &[(&str, &str)]) -> Vec<String> {
        let mut yaml = Policy::BUILT_IN.to_owned();
        for (from, to) in changes {
            assert!(yaml.contains(from), "{from}");
            yaml = yaml.replace(from, to);
        }
        match Policy::from_yaml(&yaml) {
            Err(Error::InvalidPolicy { errors }) => errors,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        let errors = mistakes(&[(from, to)]);
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains(expected), "{errors:?} does not tell {expected}");
    }

    #[test]
    fn each_mistake_is_told_with_its_key() {
        check("version: 1.0.0", "version: one", "`version`");
        check("version: 1.0.0", "", "`version` is missing");
        check("alpha: 0.65", "alpha: 1.1", "`retrieval.hybrid.alpha` is 1.1; allowed: 0–1");
        check("alpha: 0.65", "alpha: high", "`retrieval.hybrid.alpha` is `high`");
        check("k_txt: 48", "k_txt: 0", "`retrieval.hybrid.k_txt` is 0");
        check("k_vec: 96", "k_vec: 9.5", "`retrieval.hybrid.k_vec`");
        check("k_final: 12", "k_final: -1", "`retrieval.hybrid.k_final`");
        check("recency_half_life_days: 30", "recency_half_life_days: 0.5", "at least 1");
        check("task: 14", "task: 0", "`retrieval.rerank.recency.half_life_days_by_kind.task`");
        check(
            "task: 14",
            "wish: 14",
            "`retrieval.rerank.recency.half_life_days_by_kind.wish` is unknown",
        );
        check("use_quality: true", "use_quality: 1", "true or false");
        check("  session: { ttl: 7d, max_tokens: 20000 }\n", "", "`scopes.session` is missing");
        check("ttl: 7d", "ttl: 7w", "`scopes.session.ttl`");
        check("max_tokens: 20000", "max_tokens: 0", "`scopes.session.max_tokens`");
        check("  public:", "  open:", "`boundary_classes.open` is unknown");
        check("\"tool:*\"", "\"a b\"", "`boundary_classes.internal.allow[1]`");
        check("\nredact: [private,", "\nredact: [names,", "`redact[0]` is `names`");
        check("escalation: deny", "escalation: \"\"", "`boundary_classes.secret.escalation`");
        check(
            "invariants: []",
            "invariants: [{ name: a, applies_to: [\"*\"], rule: \"a &\" }]",
            "`invariants[0].rule`",
        );
        check(
            "invariants: []",
            "invariants: [{ name: a, applies_to: [all], rule: \"a\" }]",
            "`invariants[0].applies_to[0]`",
        );
        check(
            "invariants: []",
            "invariants: [{ name: a, rule: \"a\" }]",
            "`invariants[0].applies_to` is missing",
        );
        check("invariants: []", "invariants: 5", "a list");
        check("hybrid:", "hybird:", "`retrieval.hybird` is unknown; allowed: hybrid, rerank");
    }

    #[test]
    fn all_mistakes_are_told_together() {
        let errors = mistakes(&[
            ("version: 1.0.0", "version: x"),
            ("alpha: 0.65", "alpha: 2"),
            ("k_txt: 48", "k_txt: 0"),
            ("task: 14", "task: 0"),
            ("use_quality", "use_qualities"),
        ]);
        assert_eq!(errors.len(), 5, "{errors:?}");
    }

    #[test]
    fn what_is_no_yaml_is_one_mistake() {
        for yaml in ["", "a: [", "- 1", "\u{0}"] {
            assert!(
                matches!(Policy::from_yaml(yaml), Err(Error::InvalidPolicy { .. })),
                "{yaml:?}"
            );
        }
    }

    #[test]
    fn what_is_left_out_has_the_defaults() {
        let scopes = "scopes: {session: {ttl: 1d, max_tokens: 1}, project: {ttl: 1d, max_tokens: 1}, principle: {ttl: 1d, max_tokens: 1}}";
        let policy = Policy::from_yaml(&format!("version: 0.1.0\n{scopes}\n")).unwrap();
        assert_eq!(policy.retrieval, RetrievalPolicy::default());
        assert!(policy.boundary_classes.is_empty() && policy.invariants.is_empty());
        assert_eq!(policy.redact.kinds().len(), 5);
    }

    #[test]
    fn a_request_sees_the_classes_that_its_tags_allow() {
        use BoundaryClass::{Internal, Pii, Public};
        let all = Boundary {
            allow: BTreeSet::from([AllowTag::new("*").unwrap()]),
            boundary_classes: BoundaryClass::ALL.iter().copied().collect(),
            ..Boundary::default()
        };
        let policy = built_in();
        let classes = |boundary: &Boundary, tags: &[&str]| {
            let tags: Vec<_> = tags.iter().map(|&tag| AllowTag::new(tag).unwrap()).collect();
            Vec::from_iter(policy.admitted_classes(boundary, None, &tags))
        };
        assert_eq!(classes(&all, &[]), [Public, Internal]);
        assert_eq!(classes(&all, &["tool:calendar"]), [Public, Internal]);
        assert_eq!(classes(&all, &["tool:contact-lookup"]), [Public, Internal, Pii]);
        assert_eq!(classes(&all, &["other"]), [Public]);
        // A tag that the boundary does not have is worth nothing.
        assert_eq!(classes(&Boundary::default(), &["tool:contact-lookup"]), []);
        assert_eq!(classes(&Boundary::default(), &[]), [Public, Internal]);
        // A query narrows and never widens.
        let wanted = BTreeSet::from([Internal, Pii]);
        let narrowed = policy.admitted_classes(&Boundary::default(), Some(&wanted), &[]);
        assert_eq!(Vec::from_iter(narrowed), [Internal]);
    }

    #[test]
    fn secrets_need_a_tag_that_is_named_for_them() {
        use BoundaryClass::Secret;
        let secret = "secret: { allow: [], escalation: deny }";
        let policy = |to: &str| Policy::from_yaml(&Policy::BUILT_IN.replace(secret, to)).unwrap();
        let boundary = Boundary {
            allow: BTreeSet::from([AllowTag::new("*").unwrap()]),
            boundary_classes: BTreeSet::from([Secret]),
            ..Boundary::default()
        };
        let vault = [AllowTag::new("tool:vault").unwrap()];
        let open = policy("secret: { allow: [\"tool:vault\"] }");
        assert!(open.stores_secrets());
        assert!(open.admitted_classes(&boundary, None, &vault).contains(&Secret));
        assert!(open.admitted_classes(&boundary, None, &[]).is_empty());
        let denied = policy("secret: { allow: [\"tool:vault\"], escalation: deny }");
        assert!(!denied.stores_secrets());
        assert!(denied.admitted_classes(&boundary, None, &vault).is_empty());
    }
}
