use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, Error, Result, Scope};

/// What a request says of itself (`answer:task`, `tool:calendar`), or a pattern of such
/// tags: `*` is all of them, and a `*` at the end any that begin so.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("minLength" = 1, "maxLength" = 256, "pattern" = r"^[^\s*\u0000-\u001f\u007f-\u009f]*\*?$"))
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AllowTag(String);

impl AllowTag {
    /// The tag of a request that names none.
    pub const DEFAULT: &'static str = "answer:task";
    /// Most bytes of a tag.
    pub const MAX_BYTES: usize = 256;

    /// Takes 1–256 bytes without white space; a `*` only at the end.
    ///
    /// # Errors
    /// [`Error::InvalidField`] otherwise.
    pub fn new(tag: impl Into<String>) -> Result<Self> {
        let tag = tag.into();
        let stem = tag.strip_suffix('*').unwrap_or(&tag);
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && c != '*';
        if (1..=Self::MAX_BYTES).contains(&tag.len()) && stem.chars().all(plain) {
            Ok(Self(tag))
        } else {
            let allowed = "1–256 bytes without white space, `*` only at the end";
            Err(Error::invalid_field("allow tag", format_args!("`{tag}`"), allowed))
        }
    }

    /// True if this pattern covers `tag`; a tag with a `*` is covered only as a whole.
    pub fn matches(&self, tag: &Self) -> bool {
        self.0.strip_suffix('*').map_or(self.0 == tag.0, |stem| tag.0.starts_with(stem))
    }
}

impl Default for AllowTag {
    fn default() -> Self {
        Self(Self::DEFAULT.to_owned())
    }
}

trefoil_core::text_type!(AllowTag::new);

/// A rule that must hold for what passes a boundary, as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InvariantDefinition {
    /// What messages call it.
    pub name: String,
    /// The scopes whose claims it must hold for; `*` is all.
    #[serde(alias = "applies_to")]
    pub applies_to: Vec<String>,
    /// The rule; see [`PolicyRule`](crate::PolicyRule).
    pub rule: String,
}

/// What a caller may see and write: within it, a query can only narrow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Boundary {
    /// The scopes.
    pub scope: BTreeSet<Scope>,
    /// The tags that requests may carry.
    pub allow: BTreeSet<AllowTag>,
    /// The classes.
    #[serde(alias = "boundary_classes")]
    pub boundary_classes: BTreeSet<BoundaryClass>,
    /// Rules that hold besides those of the policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invariants: Vec<InvariantDefinition>,
}

impl Boundary {
    /// The highest class within it.
    pub fn highest_class(&self) -> Option<BoundaryClass> {
        self.boundary_classes.last().copied()
    }

    /// Checks that it admits anything at all and that its rules have names.
    ///
    /// # Errors
    /// [`Error::InvalidBoundary`] otherwise.
    pub fn check(&self) -> Result<()> {
        let invalid = |reason: &str| Err(Error::InvalidBoundary { reason: reason.to_owned() });
        if self.scope.is_empty() {
            return invalid("it has no scope");
        }
        if self.boundary_classes.is_empty() {
            return invalid("it has no class");
        }
        if self.invariants.iter().any(|one| one.name.trim().is_empty()) {
            return invalid("an invariant has no name");
        }
        Ok(())
    }
}

impl Default for Boundary {
    /// All scopes, what is public or internal, for answering a task.
    fn default() -> Self {
        Self {
            scope: Scope::ALL.iter().copied().collect(),
            allow: BTreeSet::from([AllowTag::default()]),
            boundary_classes: BTreeSet::from([BoundaryClass::Public, BoundaryClass::Internal]),
            invariants: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_covers_what_begins_like_it() {
        let check = |pattern: &str, tag: &str, expected| {
            let (pattern, tag) = (AllowTag::new(pattern).unwrap(), AllowTag::new(tag).unwrap());
            assert_eq!(pattern.matches(&tag), expected, "{pattern} {tag}");
        };
        check("*", "answer:task", true);
        check("tool:*", "tool:calendar", true);
        check("tool:*", "tool:", true);
        check("tool:*", "answer:task", false);
        check("tool:a", "tool:a", true);
        check("tool:a", "tool:ab", false);
        check("tool:a", "tool:*", false);
        check("tool:*", "*", false);
        check("tool:*", "tool:*", true);
    }

    #[test]
    fn what_is_no_tag_is_refused() {
        for bad in ["", "a b", "a*b", "**", "a\u{7}", &"x".repeat(257)] {
            assert!(AllowTag::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_boundary_admits_something() {
        let boundary = Boundary::default();
        boundary.check().unwrap();
        assert_eq!(boundary.highest_class(), Some(BoundaryClass::Internal));
        let reason = |boundary: Boundary| match boundary.check() {
            Err(Error::InvalidBoundary { reason }) => reason,
            other => panic!("{other:?}"),
        };
        let none = || Boundary { scope: BTreeSet::new(), ..Boundary::default() };
        assert_eq!(reason(none()), "it has no scope");
        let none = Boundary { boundary_classes: BTreeSet::new(), ..Boundary::default() };
        assert_eq!(reason(none), "it has no class");
        let unnamed =
            InvariantDefinition { name: " ".into(), applies_to: vec![], rule: "true".into() };
        let unnamed = Boundary { invariants: vec![unnamed], ..Boundary::default() };
        assert_eq!(reason(unnamed), "an invariant has no name");
    }
}
