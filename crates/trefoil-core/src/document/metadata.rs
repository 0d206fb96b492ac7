use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// Fields of a document that its caller chooses: a JSON object of at most 16 KiB, written
/// without white space. Results carry it, and filters ask for its fields.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", into = "Map<String, Value>")]
pub struct Metadata(Map<String, Value>);

impl Metadata {
    /// The most that it may have, in bytes.
    pub const MAX_BYTES: usize = 16 * 1_024;

    /// Checks an object.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if it has more than [`Self::MAX_BYTES`].
    pub fn new(fields: Map<String, Value>) -> Result<Self> {
        let metadata = Self(fields);
        let length = metadata.to_json().len();
        Error::check_length(
            length,
            ..=Self::MAX_BYTES,
            "metadata",
            "at most 16,384 bytes of JSON",
        )?;
        Ok(metadata)
    }

    /// Whether it has no field.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its fields.
    pub const fn fields(&self) -> &Map<String, Value> {
        &self.0
    }

    /// It with the fields of `patch` in place of its own; null takes a field out.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if it is too large then.
    pub fn patched(&self, patch: &Self) -> Result<Self> {
        let mut fields = self.0.clone();
        for (key, value) in &patch.0 {
            if value.is_null() {
                fields.remove(key);
            } else {
                fields.insert(key.clone(), value.clone());
            }
        }
        Self::new(fields)
    }

    /// It as JSON, without white space; its keys are in order.
    pub fn to_json(&self) -> String {
        Value::Object(self.0.clone()).to_string()
    }

    /// The value of a field, with a dot before each key below the first; null if it is missing.
    pub fn get(&self, field: &str) -> &Value {
        let mut keys = field.split('.');
        let first = keys.next().and_then(|key| self.0.get(key));
        first
            .and_then(|value| keys.try_fold(value, |value, key| value.as_object()?.get(key)))
            .unwrap_or(&Value::Null)
    }
}

crate::checked_conversions!(Metadata(Map<String, Value>));

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_has_at_most_16_kibibytes() {
        // `{"a":""}` has eight bytes.
        let of = |length| serde_json::from_value::<Metadata>(json!({"a": "x".repeat(length)}));
        assert!(of(Metadata::MAX_BYTES - 8).is_ok());
        let error = of(Metadata::MAX_BYTES - 7).unwrap_err().to_string();
        assert!(error.contains("`metadata` is 16385 bytes long"), "{error}");
        assert!(serde_json::from_str::<Metadata>("[]").is_err());
    }

    #[test]
    fn a_dotted_field_is_looked_up_below() {
        let metadata: Metadata =
            serde_json::from_value(json!({"a": {"b": {"c": 1}, "": 2}, "d": [3]})).unwrap();
        let check = |field, expected: Value| assert_eq!(*metadata.get(field), expected, "{field}");
        check("a.b.c", json!(1));
        check("a.b", json!({"c": 1}));
        check("a.", json!(2));
        for missing in ["", ".", "b", "a.c", "d.0", "a.b.c.d"] {
            check(missing, Value::Null);
        }
    }
}
