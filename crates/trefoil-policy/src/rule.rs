//! The language of invariants.

mod evaluate;
mod parse;

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, ClaimKind, Error, Result, Scope};

/// What must hold, as an expression that is true or false.
///
/// Booleans, numbers, strings in `"` or `'`, and names of facts; `==` `!=` `>` `>=` `<` `<=`
/// `in` `notin`; `!` `&&` `||` and parentheses; a list is written `("a", "b")`. `in` asks
/// whether a list holds a value or a string holds a string; numbers only are ordered.
///
/// | name | is |
/// |---|---|
/// | `claim.kind`, `claim.scope`, `claim.boundary_class`, `claim.text` | strings |
/// | `claim.confidence`, `claim.quality`, `claim.utility`, `claim.age_days` | numbers |
/// | `claim.sources`, `claim.tags` | lists of strings |
/// | `payload.text` | a string |
/// | `payload.contains_pii`, `payload.contains_secret` | booleans |
/// | `actor`, `tool` | strings |
///
/// What is not defined is false, and so is every comparison with it. What cannot be compared
/// (a string with a number) is a failure, and a rule that fails does not hold.
///
/// ```
/// use trefoil_policy::{PolicyRule, RuleFacts};
///
/// let rule: PolicyRule = "tool notin ('mail', 'web') || !payload.contains_pii".parse()?;
/// let facts = RuleFacts { tool: Some("mail"), contains_pii: Some(true), ..RuleFacts::default() };
/// assert!(!rule.holds(&facts));
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PolicyRule {
    text: String,
    expression: Expression,
}

impl PolicyRule {
    /// The most bytes of a rule.
    pub const MAX_BYTES: usize = 4_096;
    /// The most parentheses and `!` within each other.
    pub const MAX_DEPTH: usize = 32;

    /// True if the rule is true of the facts; false if it is not, or cannot be told.
    pub fn holds(&self, facts: &RuleFacts<'_>) -> bool {
        evaluate::holds(&self.expression, facts).unwrap_or(false)
    }

    /// True if it asks for anything of a claim.
    pub fn reads_claim(&self) -> bool {
        self.expression.names("claim.")
    }

    /// The rule as it is written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for PolicyRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for PolicyRule {
    type Err = Error;

    /// # Errors
    /// [`Error::InvalidRule`] with the place of the first mistake.
    fn from_str(text: &str) -> Result<Self> {
        Ok(Self { text: text.to_owned(), expression: parse::parse(text)? })
    }
}

trefoil_core::string_conversions!(PolicyRule);

/// What a rule can ask for; absent is what is not defined.
#[derive(Clone, Copy, Debug, Default)]
pub struct RuleFacts<'a> {
    /// The claim that the rule is to hold for.
    pub claim: Option<&'a ClaimFacts<'a>>,
    /// When it is asked.
    pub now: Option<Timestamp>,
    /// The text that is to pass.
    pub text: Option<&'a str>,
    /// Whether the text holds personal data.
    pub contains_pii: Option<bool>,
    /// Whether the text holds a credential.
    pub contains_secret: Option<bool>,
    /// Who asks.
    pub actor: Option<&'a str>,
    /// The tool that asks.
    pub tool: Option<&'a str>,
}

/// What a rule sees of a claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimFacts<'a> {
    /// What it says, in kind.
    pub kind: ClaimKind,
    /// How far it holds.
    pub scope: Scope,
    /// Who may see it.
    pub boundary_class: BoundaryClass,
    /// What it says.
    pub text: &'a str,
    /// Confidence that it is true, 0–1.
    pub confidence: f64,
    /// How well it is put, 0–1.
    pub quality: f64,
    /// How much it has helped.
    pub utility: f64,
    /// When it was written.
    pub created_at: Timestamp,
    /// What can be looked at to verify it, as source tags.
    pub sources: Vec<String>,
    /// Its labels.
    pub tags: Vec<&'a str>,
}

/// A parsed rule. Conditions of one operator stand next to each other, so that only
/// parentheses and `!` deepen it.
#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Bool(bool),
    Number(f64),
    Text(String),
    Name(String),
    List(Vec<Self>),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Compare(Box<Self>, Operator, Box<Self>),
}

impl Expression {
    /// True if a name in it begins with `prefix`.
    fn names(&self, prefix: &str) -> bool {
        match self {
            Self::Bool(_) | Self::Number(_) | Self::Text(_) => false,
            Self::Name(name) => name.starts_with(prefix),
            Self::Not(inner) => inner.names(prefix),
            Self::List(parts) | Self::All(parts) | Self::Any(parts) => {
                parts.iter().any(|part| part.names(prefix))
            }
            Self::Compare(left, _, right) => left.names(prefix) || right.names(prefix),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
    In,
    NotIn,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim() -> ClaimFacts<'static> {
        ClaimFacts {
            kind: ClaimKind::Fact,
            scope: Scope::Project,
            boundary_class: BoundaryClass::Internal,
            text: "Deploy on Friday",
            confidence: 0.5,
            quality: 0.5,
            utility: -0.5,
            created_at: Timestamp::UNIX_EPOCH,
            sources: vec!["adr:7".to_owned(), "test:a".to_owned()],
            tags: vec!["work"],
        }
    }

    #[track_caller]
    fn check(rule: &str, expected: bool) {
        let claim = claim();
        let facts = RuleFacts {
            claim: Some(&claim),
            now: Some(Timestamp::from_second(3 * 86_400).unwrap()),
            text: Some("Deploy on Friday"),
            contains_pii: Some(false),
            contains_secret: Some(true),
            actor: Some("mika"),
            tool: None,
        };
        assert_eq!(rule.parse::<PolicyRule>().unwrap().holds(&facts), expected, "{rule}");
    }

    #[test]
    fn every_fact_can_be_asked_for() {
        check("claim.kind == 'fact' && claim.scope == \"project\"", true);
        check("claim.boundary_class == 'internal'", true);
        check("claim.text == 'Deploy on Friday'", true);
        check("claim.confidence == .5 && claim.quality >= 0.5 && claim.utility < 0", true);
        check("claim.age_days == 3 && claim.age_days <= 3.0 && claim.age_days > 2.9", true);
        check("'adr:7' in claim.sources && 'work' in claim.tags", true);
        check("'home' notin claim.tags", true);
        check("payload.text == claim.text && !payload.contains_pii", true);
        check("payload.contains_secret", true);
        check("actor == 'mika'", true);
    }

    #[test]
    fn operators_bind_as_usual() {
        check("true || false && false", true);
        check("(true || false) && false", false);
        check("!false && true", true);
        check("!(false && true)", true);
        check("!!true", true);
        check("!actor == 'mika'", false);
        check("1 < 2 && 2 <= 2 && 3 > 2 && 3 >= 3 && 1 != 2", true);
        check("true == (1 < 2)", true);
        check("-1 < 0", true);
    }

    #[test]
    fn in_asks_lists_and_strings() {
        check("claim.kind in ('fact', 'task')", true);
        check("claim.kind in ('task')", false);
        check("claim.kind notin ('task', 'preference')", true);
        check("'Friday' in claim.text", true);
        check("2 in (1, 2)", true);
        check("'2' in (1, 2)", false);
        check("actor in ()", false);
    }

    #[test]
    fn what_is_not_defined_is_false() {
        check("tool", false);
        check("!tool", true);
        for comparison in ["== 'x'", "!= 'x'", "< 1", "in ('x')", "notin ('x')"] {
            check(&format!("tool {comparison}"), false);
            check(&format!("claim.no.such {comparison}"), false);
        }
        check("'x' notin claim.nothing", false);
        check("tool || true", true);
    }

    #[test]
    fn what_cannot_be_told_does_not_hold() {
        for rule in [
            "claim.confidence > 'high'",
            "claim.text < 'x'",
            "claim.text",
            "1",
            "'x'",
            "!claim.text",
            "claim.kind == 1",
            "claim.kind in 5",
            "claim.tags == 'work'",
            "1 in 'x'",
            "('a', 'b')",
            "claim.confidence && true",
        ] {
            check(rule, false);
        }
        // The failure is not hidden by its neighbours, unless that decides alone.
        check("claim.text || true", false);
        check("true || claim.text", true);
        check("false && claim.text", false);
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let check = |rule: &str, expected: usize| match rule.parse::<PolicyRule>() {
            Err(Error::InvalidRule { at, .. }) => assert_eq!(at, expected, "{rule}"),
            other => panic!("{rule}: {other:?}"),
        };
        check("", 0);
        check("  ", 2);
        check("true &&", 7);
        check("true false", 5);
        check("(true", 5);
        check("a == == b", 5);
        check("a = b", 2);
        check("a & b", 2);
        check("'open", 0);
        check("1.2.3", 3);
        check("a < b < c", 6);
        check("日本", 0);
        check("a in (b, )", 9);
        check("claim. == 1", 6);
        check(&"(".repeat(33), 32);
        check(&"!".repeat(33), 32);
        check(&"x".repeat(4_097), 4_096);
    }

    #[test]
    fn depth_and_length_are_bounded_and_reachable() {
        let deep = format!("{}true{}", "(".repeat(32), ")".repeat(32));
        check(&deep, true);
        let wide = vec!["true"; 500].join(" && ");
        check(&wide, true);
        let long = format!("'{}' == actor", "x".repeat(PolicyRule::MAX_BYTES - 11));
        assert_eq!(long.len(), PolicyRule::MAX_BYTES);
        check(&long, false);
    }

    #[test]
    fn strings_may_hold_quotes() {
        check(r#""it's" == 'it\'s'"#, true);
        check(r#"'a\\b' == "a\\b""#, true);
        check("'東京' == '東京'", true);
    }

    #[test]
    fn a_rule_says_whether_it_is_about_claims() {
        let reads = |rule: &str| rule.parse::<PolicyRule>().unwrap().reads_claim();
        assert!(reads("!(claim.kind in ('x', claim.text)) || true"));
        assert!(!reads("payload.contains_pii && 'claim.x' == actor"));
    }

    proptest! {
        #[test]
        fn reading_any_text_ends_well(text in "([a-z.]{1,6}|[0-9.]{1,3}|[!&|=<>()'\", ]|in|notin|\\PC){0,40}") {
            if let Ok(rule) = text.parse::<PolicyRule>() {
                rule.holds(&RuleFacts::default());
                prop_assert_eq!(rule.as_str(), text);
            }
        }

        #[test]
        fn not_turns_what_holds(a in any::<bool>(), b in any::<bool>(), c in any::<bool>()) {
            let holds = |rule: String| rule.parse::<PolicyRule>().unwrap().holds(&RuleFacts::default());
            prop_assert_eq!(holds(format!("{a} && {b} || {c}")), a && b || c);
            prop_assert_eq!(holds(format!("!({a} || {b}) == (!{a} && !{b})")), true);
        }
    }
}
