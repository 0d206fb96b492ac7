//! What the metadata of a document has to be.

use std::cmp::Ordering;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Error, Metadata, Result};

/// A condition on the [`Metadata`] of a document.
///
/// A field that is missing is null. Values of unlike types match no comparison, `!=` included;
/// null, numbers, strings, booleans, lists and objects are unlike each other. Two strings that
/// are both times of RFC 3339 compare as instants.
///
/// ```
/// use trefoil_core::{Condition, Metadata};
///
/// let condition: Condition = serde_json::from_str(
///     r#"{"and": [
///         {"field": "price.eur", "op": "<=", "value": 20},
///         {"not": {"field": "topics", "op": "contains", "value": "draft"}}
///     ]}"#,
/// )?;
/// let metadata: Metadata =
///     serde_json::from_str(r#"{"price": {"eur": 19.5}, "topics": ["rain"]}"#)?;
/// assert!(condition.admits(&metadata));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Condition {
    /// All of these.
    And(All),
    /// At least one of these.
    Or(Any),
    /// Not this.
    Not(Not),
    /// What a field is compared with.
    Field(Comparison),
}

/// Conditions that all hold; none holds for every document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct All {
    /// The conditions.
    pub and: Vec<Condition>,
}

/// Conditions of which one holds; none holds for no document.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Any {
    /// The conditions.
    pub or: Vec<Condition>,
}

/// A condition that does not hold.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Not {
    /// The condition.
    pub not: Box<Condition>,
}

/// A field and what it is compared with.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("anyOf" = [
        {"properties": {"op": {"enum": ["==", "!=", "contains"]}}},
        {"properties": {"op": {"enum": [">", ">=", "<", "<="]}, "value": {"type": ["number", "string"]}}},
        {"properties": {"op": {"enum": ["in", "notIn"]}, "value": {"type": "array"}}},
        {"properties": {"op": {"const": "exists"}, "value": {"type": "boolean"}}},
    ]))
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Keys from the outermost, with dots between them.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 256)))]
    pub field: String,
    /// How it is compared.
    pub op: Operator,
    /// With what: a list for `in` and `notIn`, true or false for `exists`.
    pub value: Value,
}

/// How a field is compared with a value.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operator {
    /// It is the value.
    #[serde(rename = "==")]
    Equal,
    /// It is of the value's type, and another.
    #[serde(rename = "!=")]
    NotEqual,
    /// It is a number or string above.
    #[serde(rename = ">")]
    Above,
    /// It is a number or string that is equal or above.
    #[serde(rename = ">=")]
    AtLeast,
    /// It is a number or string below.
    #[serde(rename = "<")]
    Below,
    /// It is a number or string that is equal or below.
    #[serde(rename = "<=")]
    AtMost,
    /// It is one of the values.
    #[serde(rename = "in")]
    In,
    /// It is of the type of one of the values, and none of them.
    #[serde(rename = "notIn", alias = "not_in")]
    NotIn,
    /// It is a list with the value in it, or a string with the value, a string, in it.
    #[serde(rename = "contains")]
    Contains,
    /// It is not null, or, with `false`, null or missing.
    #[serde(rename = "exists")]
    Exists,
}

impl Condition {
    /// The most that one may be made of: conditions and comparisons together.
    pub const MAX_NODES: usize = 64;
    /// How deep one may lie in others.
    pub const MAX_DEPTH: usize = 8;

    /// Checks what the types leave open.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for more than [`Self::MAX_NODES`] or [`Self::MAX_DEPTH`], for an
    /// empty or long field, and for a value that the operator has no use for.
    pub fn check(&self) -> Result<()> {
        let mut nodes = 0;
        self.check_below(1, &mut nodes)
    }

    fn check_below(&self, depth: usize, nodes: &mut usize) -> Result<()> {
        *nodes += 1;
        if *nodes > Self::MAX_NODES {
            let value = format!("of more than {} conditions", Self::MAX_NODES);
            return Err(Error::invalid_query(FIELD, value, "at most 64 conditions"));
        }
        if depth > Self::MAX_DEPTH {
            let value = format!("more than {} conditions deep", Self::MAX_DEPTH);
            return Err(Error::invalid_query(FIELD, value, "conditions at most 8 deep"));
        }
        match self {
            Self::And(All { and: parts }) | Self::Or(Any { or: parts }) => {
                parts.iter().try_for_each(|part| part.check_below(depth + 1, nodes))
            }
            Self::Not(Not { not }) => not.check_below(depth + 1, nodes),
            Self::Field(comparison) => comparison.check(),
        }
    }

    /// Whether a document with this metadata fulfils it.
    pub fn admits(&self, metadata: &Metadata) -> bool {
        match self {
            Self::And(All { and }) => and.iter().all(|part| part.admits(metadata)),
            Self::Or(Any { or }) => or.iter().any(|part| part.admits(metadata)),
            Self::Not(Not { not }) => !not.admits(metadata),
            Self::Field(Comparison { field, op, value }) => op.admits(metadata.get(field), value),
        }
    }
}

/// What errors call a condition.
const FIELD: &str = "filters.where";

impl Comparison {
    fn check(&self) -> Result<()> {
        if self.field.is_empty() || self.field.len() > 256 {
            let allowed = "a field of 1–256 bytes, such as `author.name`";
            return Err(Error::invalid_query(FIELD, &self.field, allowed));
        }
        let (fits, allowed) = match self.op {
            Operator::In | Operator::NotIn => (self.value.is_array(), "a list after `in`, `notIn`"),
            Operator::Exists => (self.value.is_boolean(), "true or false after `exists`"),
            Operator::Above | Operator::AtLeast | Operator::Below | Operator::AtMost => {
                let is_ordered = self.value.is_number() || self.value.is_string();
                (is_ordered, "a number or string after `>`, `>=`, `<`, `<=`")
            }
            Operator::Equal | Operator::NotEqual | Operator::Contains => (true, ""),
        };
        if fits { Ok(()) } else { Err(Error::invalid_query(FIELD, &self.value, allowed)) }
    }
}

impl Operator {
    fn admits(self, found: &Value, value: &Value) -> bool {
        let ordering = || compare(found, value);
        let among = |is: bool| {
            let others = value.as_array().map_or(&[][..], Vec::as_slice);
            let mut alike = others.iter().filter_map(|one| equal(found, one)).peekable();
            alike.peek().is_some() && alike.any(|equal| equal) == is
        };
        match self {
            Self::Equal => equal(found, value) == Some(true),
            Self::NotEqual => equal(found, value) == Some(false),
            Self::Above => ordering() == Some(Ordering::Greater),
            Self::AtLeast => ordering().is_some_and(Ordering::is_ge),
            Self::Below => ordering() == Some(Ordering::Less),
            Self::AtMost => ordering().is_some_and(Ordering::is_le),
            Self::In => among(true),
            Self::NotIn => among(false),
            Self::Contains => match (found, value) {
                (Value::Array(list), _) => list.iter().any(|one| equal(one, value) == Some(true)),
                (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
                _ => false,
            },
            Self::Exists => value.as_bool() == Some(!found.is_null()),
        }
    }
}

/// Whether two values are equal; nothing if they are of unlike types.
fn equal(a: &Value, b: &Value) -> Option<bool> {
    match (a, b) {
        (Value::Null, Value::Null) => Some(true),
        (Value::Bool(a), Value::Bool(b)) => Some(a == b),
        (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)) => {
            Some(compare(a, b) == Some(Ordering::Equal))
        }
        (Value::Array(a), Value::Array(b)) => Some(a == b),
        (Value::Object(a), Value::Object(b)) => Some(a == b),
        _ => None,
    }
}

/// The order of two numbers or two strings; nothing of others.
fn compare(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => match (integer(a), integer(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
        },
        (Value::String(a), Value::String(b)) => match (instant(a), instant(b)) {
            (Some(a), Some(b)) => Some(a.cmp(&b)),
            _ => Some(a.cmp(b)),
        },
        _ => None,
    }
}

fn integer(number: &serde_json::Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

/// A time of RFC 3339, such as `2026-11-24T21:00:00+09:00`.
fn instant(text: &str) -> Option<Timestamp> {
    // A quick look: what is no such time is not parsed.
    let has_form = text.len() >= 20 && text.as_bytes().get(4) == Some(&b'-');
    if has_form { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn admits(condition: &Value) -> bool {
        let metadata = json!({
            "n": 3, "big": u64::MAX, "half": 0.5, "text": "rain in May", "yes": true, "null": null,
            "list": ["a", 1, null], "deep": {"er": {"n": -1}}, "at": "2026-01-01T09:00:00+09:00",
        });
        let metadata: Metadata = serde_json::from_value(metadata).unwrap();
        let condition: Condition = serde_json::from_value(condition.clone()).unwrap();
        condition.check().unwrap();
        condition.admits(&metadata)
    }

    #[test]
    fn each_operator_admits_what_it_says() {
        for (field, op, value, expected) in [
            ("n", "==", json!(3), true),
            ("n", "==", json!(3.0), true),
            ("n", "==", json!("3"), false),
            ("n", "!=", json!(4), true),
            ("n", "!=", json!("4"), false),
            ("missing", "!=", json!(4), false),
            ("missing", "==", json!(null), true),
            ("null", "==", json!(null), true),
            ("n", ">", json!(2.5), true),
            ("n", ">=", json!(3), true),
            ("n", "<", json!(3), false),
            ("n", "<=", json!(3), true),
            ("n", "<", json!("9"), false),
            ("big", ">", json!(i64::MAX), true),
            ("big", "==", json!(u64::MAX - 1), false),
            ("deep.er.n", "<", json!(0), true),
            ("deep.er", "==", json!({"n": -1}), true),
            ("text", "<", json!("sun"), true),
            ("text", "contains", json!("May"), true),
            ("text", "contains", json!(1), false),
            ("list", "contains", json!(1.0), true),
            ("list", "contains", json!("b"), false),
            ("list", "contains", json!(null), true),
            ("n", "contains", json!(3), false),
            ("n", "in", json!([1, 2, 3]), true),
            ("n", "in", json!([]), false),
            ("n", "notIn", json!([1, 2]), true),
            ("n", "notIn", json!(["a", 1]), true),
            ("n", "notIn", json!(["a"]), false),
            ("n", "notIn", json!([3]), false),
            ("n", "not_in", json!([]), false),
            ("yes", "==", json!(true), true),
            ("yes", "!=", json!(false), true),
            ("n", "exists", json!(true), true),
            ("null", "exists", json!(true), false),
            ("missing.too", "exists", json!(false), true),
            ("at", "==", json!("2026-01-01T00:00:00Z"), true),
            ("at", ">", json!("2025-12-31T23:59:59.5Z"), true),
            ("at", "<", json!("2026-01-01"), false),
            ("at", "in", json!(["2026-01-01T00:00:00+00:00"]), true),
        ] {
            let condition = json!({"field": field, "op": op, "value": value});
            assert_eq!(admits(&condition), expected, "{condition}");
        }
    }

    #[test]
    fn conditions_are_joined() {
        let yes = || json!({"field": "n", "op": "==", "value": 3});
        let no = || json!({"field": "n", "op": "==", "value": 4});
        assert!(admits(&json!({"and": []})) && !admits(&json!({"or": []})));
        assert!(admits(&json!({"and": [yes(), {"not": no()}]})));
        assert!(!admits(&json!({"and": [yes(), no()]})));
        assert!(admits(&json!({"or": [no(), yes()]})));
        assert!(!admits(&json!({"not": {"or": [no(), yes()]}})));
    }

    #[test]
    fn a_condition_is_bounded_and_its_values_fit() {
        let check = |condition: &Value| {
            serde_json::from_value::<Condition>(condition.clone())
                .is_ok_and(|it| it.check().is_ok())
        };
        let leaf = || json!({"field": "n", "op": "==", "value": 3});
        let wide = |count: usize| json!({"or": vec![leaf(); count]});
        assert!(check(&wide(63)) && !check(&wide(64)));
        let deep = |depth| (1..depth).fold(leaf(), |inner, _| json!({"not": inner}));
        assert!(check(&deep(8)) && !check(&deep(9)));
        for wrong in [
            json!({"field": "n", "op": "in", "value": 3}),
            json!({"field": "n", "op": "exists", "value": 1}),
            json!({"field": "n", "op": ">", "value": [1]}),
            json!({"field": "", "op": "==", "value": 1}),
            json!({"field": "n", "op": "~", "value": 1}),
            json!({"field": "n", "op": "==", "value": 1, "more": 1}),
            json!({"and": [], "or": []}),
            json!({"field": "n", "op": "=="}),
            json!([]),
        ] {
            assert!(!check(&wrong), "{wrong}");
        }
    }
}
