//! Values of the store in PostgreSQL and back, each exactly.

use std::borrow::Cow;

use serde_json::json;
use tokio_postgres::Row;
use trefoil_core::{Error, Part, Result};
use trefoil_store::truth::Value;

use crate::{connection::Parameter, fault::Fault, schema::SqlType};

/// A text without U+0000, which PostgreSQL refuses: it becomes U+0001 and `0`, and U+0001 becomes
/// U+0001 and `1`.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte > 1) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace('\u{1}', "\u{1}1").replace('\0', "\u{1}0"))
}

/// The text of which `text` is the escaped form; none if it is of no text.
pub(crate) fn unescaped(text: &str) -> Option<Cow<'_, str>> {
    if !text.contains('\u{1}') {
        return Some(Cow::Borrowed(text));
    }
    let mut parts = text.split('\u{1}');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (sign, rest) = part.split_at_checked(1)?;
        whole.push(match sign {
            "0" => '\0',
            "1" => '\u{1}',
            _ => return None,
        });
        whole.push_str(rest);
    }
    Some(Cow::Owned(whole))
}

/// Vectors one after the other, and where each begins and ends, counted from 1.
#[derive(Debug, Default)]
pub(crate) struct Reals {
    pub(crate) all: Vec<f32>,
    pub(crate) from: Vec<Option<i32>>,
    pub(crate) to: Vec<Option<i32>>,
}

impl Reals {
    pub(crate) fn push(&mut self, vector: Option<impl IntoIterator<Item = f32>>) {
        let end = |all: &Vec<f32>| i32::try_from(all.len()).ok();
        let Some(vector) = vector else {
            self.from.push(None);
            return self.to.push(None);
        };
        self.from.push(end(&self.all).map(|end| end + 1));
        self.all.extend(vector);
        self.to.push(end(&self.all));
    }
}

/// The values of one column, as a parameter or three.
#[derive(Debug)]
pub(crate) enum ColumnValues<'v> {
    Bigint(Vec<Option<i64>>),
    Double(Vec<Option<f64>>),
    Text(Vec<Option<Cow<'v, str>>>),
    Bytes(Vec<Option<&'v [u8]>>),
    Reals(Reals),
}

impl<'v> ColumnValues<'v> {
    pub(crate) fn new(kind: SqlType, values: impl Iterator<Item = &'v Value>) -> Result<Self> {
        Ok(match kind {
            SqlType::Bigint => Self::Bigint(each(values, |value| {
                if let Value::Integer(number) = value { Some(*number) } else { None }
            })?),
            SqlType::Double => Self::Double(each(values, |value| {
                if let Value::Real(number) = value { Some(*number) } else { None }
            })?),
            SqlType::Text => Self::Text(each(values, |value| {
                if let Value::Text(text) = value { Some(escaped(text)) } else { None }
            })?),
            SqlType::Bytes => Self::Bytes(each(values, |value| {
                if let Value::Blob(bytes) = value { Some(bytes.as_slice()) } else { None }
            })?),
            SqlType::Reals => {
                let mut numbers = Reals::default();
                for value in each(values, numbers_of)? {
                    numbers.push(value);
                }
                Self::Reals(numbers)
            }
        })
    }

    /// The parameters that a statement takes for it.
    pub(crate) fn parameters(&self) -> Vec<Parameter<'_>> {
        match self {
            Self::Bigint(values) => vec![values],
            Self::Double(values) => vec![values],
            Self::Text(values) => vec![values],
            Self::Bytes(values) => vec![values],
            Self::Reals(Reals { all, from, to }) => vec![all, from, to],
        }
    }
}

/// What `take` makes of each value that is one. A value of another kind than its column is damage.
fn each<'v, T>(
    values: impl Iterator<Item = &'v Value>,
    take: impl Fn(&'v Value) -> Option<T>,
) -> Result<Vec<Option<T>>> {
    values
        .map(|value| match take(value) {
            None if *value != Value::Null => Err(damaged("a value is not of its column")),
            taken => Ok(taken),
        })
        .collect()
}

/// Bytes as the f32 that they are.
fn numbers_of(value: &Value) -> Option<Vec<f32>> {
    let Value::Blob(bytes) = value else { return None };
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().map(|number| f32::from_le_bytes(*number)).collect())
}

/// A column of a row that was read.
pub(crate) fn value_at(row: &Row, at: usize, kind: SqlType) -> Result<Value, Fault> {
    let value = match kind {
        SqlType::Bigint => row.try_get::<_, Option<i64>>(at)?.map(Value::Integer),
        SqlType::Double => row.try_get::<_, Option<f64>>(at)?.map(Value::Real),
        SqlType::Bytes => row.try_get::<_, Option<Vec<u8>>>(at)?.map(Value::Blob),
        SqlType::Reals => row
            .try_get::<_, Option<Vec<f32>>>(at)?
            .map(|numbers| Value::Blob(numbers.into_iter().flat_map(f32::to_le_bytes).collect())),
        SqlType::Text => match row.try_get::<_, Option<&str>>(at)? {
            Some(_) => Some(Value::Text(text_at(row, at)?)),
            None => None,
        },
    };
    Ok(value.unwrap_or(Value::Null))
}

/// A column of a row that holds an escaped text.
pub(crate) fn text_at(row: &Row, at: usize) -> Result<String, Fault> {
    let text = unescaped(row.try_get(at)?).ok_or_else(|| damaged("a text is not escaped"))?;
    Ok(text.into_owned())
}

/// A key as the JSON that `gone` has. Keys are whole numbers and texts.
pub(crate) fn key_to_json(key: &[Value]) -> Result<String> {
    let values: Option<Vec<serde_json::Value>> = key
        .iter()
        .map(|value| match value {
            Value::Integer(number) => Some(json!(number)),
            Value::Text(text) => Some(json!(escaped(text))),
            Value::Null | Value::Real(_) | Value::Blob(_) => None,
        })
        .collect();
    let values = values.ok_or_else(|| damaged("a key is neither a number nor a text"))?;
    Ok(serde_json::Value::Array(values).to_string())
}

/// The key of which `json` is the form in `gone`.
pub(crate) fn key_from_json(json: &str) -> Result<Vec<Value>> {
    let values: Vec<serde_json::Value> =
        serde_json::from_str(json).map_err(|_| damaged("a key is not JSON"))?;
    let key: Option<Vec<Value>> = values
        .iter()
        .map(|value| match value.as_str() {
            Some(text) => unescaped(text).map(|text| Value::Text(text.into_owned())),
            None => value.as_i64().map(Value::Integer),
        })
        .collect();
    key.ok_or_else(|| damaged("a key is neither a number nor a text"))
}

fn damaged(reason: &str) -> Error {
    Error::Corrupt { part: Part::Store, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Texts in which what is escaped is frequent.
    fn text() -> impl Strategy<Value = String> {
        let letter = prop_oneof![Just('\0'), Just('\u{1}'), Just('0'), Just('1'), any::<char>()];
        proptest::collection::vec(letter, 0..12).prop_map(String::from_iter)
    }

    proptest! {
        #[test]
        fn an_escaped_text_has_no_zero_and_comes_back(text in text()) {
            let escaped = escaped(&text);
            prop_assert!(!escaped.contains('\0'));
            prop_assert_eq!(unescaped(&escaped).unwrap(), &*text);
        }

        #[test]
        fn different_texts_stay_different(a in text(), b in text()) {
            prop_assert_eq!(a == b, escaped(&a) == escaped(&b));
        }

        #[test]
        fn a_key_comes_back_from_json(number in any::<i64>(), text in text()) {
            let key = vec![Value::Integer(number), Value::Text(text)];
            prop_assert_eq!(key_from_json(&key_to_json(&key).unwrap()).unwrap(), key);
        }
    }

    #[test]
    fn what_was_never_escaped_is_damage() {
        for text in ["\u{1}", "\u{1}2", "a\u{1}é", "\u{1}\u{1}1"] {
            assert_eq!(unescaped(text), None, "{text:?}");
        }
        assert!(key_from_json("[1.5]").is_err());
        assert!(key_to_json(&[Value::Real(1.0)]).is_err());
    }

    #[test]
    fn a_value_of_another_kind_is_damage_and_no_value_is_none() {
        let (real, none) = (Value::Real(1.0), Value::Null);
        assert!(ColumnValues::new(SqlType::Bigint, [&real].into_iter()).is_err());
        let odd = Value::Blob(vec![1, 2, 3]);
        assert!(ColumnValues::new(SqlType::Reals, [&odd].into_iter()).is_err());
        let nothing = ColumnValues::new(SqlType::Reals, [&none].into_iter()).unwrap();
        assert!(matches!(nothing, ColumnValues::Reals(Reals { from, .. }) if from == [None]));
    }
}
