//! Whether a rule is true of some facts.

use super::{Expression, Operator, RuleFacts};

/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// True or false; absent if it cannot be told.
pub(super) fn holds(expression: &Expression, facts: &RuleFacts<'_>) -> Option<bool> {
    match expression {
        Expression::Not(inner) => Some(!holds(inner, facts)?),
        Expression::All(parts) => Some(!some_part_is(false, parts, facts)?),
        Expression::Any(parts) => some_part_is(true, parts, facts),
        Expression::Compare(left, operator, right) => {
            compare(&value(left, facts)?, *operator, &value(right, facts)?)
        }
        Expression::Bool(_)
        | Expression::Number(_)
        | Expression::Text(_)
        | Expression::Name(_)
        | Expression::List(_) => match value(expression, facts)? {
            Value::Bool(bool) => Some(bool),
            Value::Undefined => Some(false),
            Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        },
    }
}

/// True if one of `parts` is what is `wanted`; those after it are not looked at.
fn some_part_is(wanted: bool, parts: &[Expression], facts: &RuleFacts<'_>) -> Option<bool> {
    for part in parts {
        if holds(part, facts)? == wanted {
            return Some(true);
        }
    }
    Some(false)
}

#[derive(PartialEq)]
enum Value<'a> {
    Undefined,
    Bool(bool),
    Number(f64),
    Text(&'a str),
    List(Vec<Self>),
}

fn value<'a>(expression: &'a Expression, facts: &RuleFacts<'a>) -> Option<Value<'a>> {
    Some(match expression {
        Expression::Bool(bool) => Value::Bool(*bool),
        Expression::Number(number) => Value::Number(*number),
        Expression::Text(text) => Value::Text(text),
        Expression::Name(name) => named(name, facts).unwrap_or(Value::Undefined),
        Expression::List(items) => {
            Value::List(items.iter().map(|item| value(item, facts)).collect::<Option<_>>()?)
        }
        Expression::Not(_) | Expression::All(_) | Expression::Any(_) | Expression::Compare(..) => {
            Value::Bool(holds(expression, facts)?)
        }
    })
}

fn named<'a>(name: &str, facts: &RuleFacts<'a>) -> Option<Value<'a>> {
    let text = Value::Text;
    Some(match name {
        "claim.kind" => text(facts.claim?.kind.as_str()),
        "claim.scope" => text(facts.claim?.scope.as_str()),
        "claim.boundary_class" => text(facts.claim?.boundary_class.as_str()),
        "claim.text" => text(facts.claim?.text),
        "claim.confidence" => Value::Number(facts.claim?.confidence),
        "claim.quality" => Value::Number(facts.claim?.quality),
        "claim.utility" => Value::Number(facts.claim?.utility),
        "claim.age_days" => {
            let age = facts.now?.duration_since(facts.claim?.created_at);
            Value::Number(age.as_secs_f64().max(0.0) / DAY)
        }
        "claim.sources" => Value::List(facts.claim?.sources.iter().map(|tag| text(tag)).collect()),
        "claim.tags" => Value::List(facts.claim?.tags.iter().copied().map(text).collect()),
        "payload.text" => text(facts.text?),
        "payload.contains_pii" => Value::Bool(facts.contains_pii?),
        "payload.contains_secret" => Value::Bool(facts.contains_secret?),
        "actor" => text(facts.actor?),
        "tool" => text(facts.tool?),
        _ => return None,
    })
}

fn compare(left: &Value<'_>, operator: Operator, right: &Value<'_>) -> Option<bool> {
    if matches!(left, Value::Undefined) || matches!(right, Value::Undefined) {
        return Some(false);
    }
    match operator {
        Operator::Equal => equal(left, right),
        Operator::NotEqual => Some(!equal(left, right)?),
        Operator::Greater => ordered(left, right, |a, b| a > b),
        Operator::GreaterEqual => ordered(left, right, |a, b| a >= b),
        Operator::Less => ordered(left, right, |a, b| a < b),
        Operator::LessEqual => ordered(left, right, |a, b| a <= b),
        Operator::In => holds_value(right, left),
        Operator::NotIn => Some(!holds_value(right, left)?),
    }
}

fn equal(left: &Value<'_>, right: &Value<'_>) -> Option<bool> {
    match (left, right) {
        (Value::Bool(a), Value::Bool(b)) => Some(a == b),
        (Value::Number(a), Value::Number(b)) => Some(a == b),
        (Value::Text(a), Value::Text(b)) => Some(a == b),
        _ => None,
    }
}

fn ordered(left: &Value<'_>, right: &Value<'_>, holds: fn(f64, f64) -> bool) -> Option<bool> {
    match (left, right) {
        (Value::Number(a), Value::Number(b)) => Some(holds(*a, *b)),
        _ => None,
    }
}

fn holds_value(whole: &Value<'_>, part: &Value<'_>) -> Option<bool> {
    match (whole, part) {
        (Value::List(_), Value::List(_)) => None,
        (Value::List(items), part) => Some(items.contains(part)),
        (Value::Text(whole), Value::Text(part)) => Some(whole.contains(part)),
        _ => None,
    }
}
