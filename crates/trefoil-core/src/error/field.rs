use serde::{Deserialize, Serialize};

use super::Error;

/// What is wrong with one field.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// The name of the field.
    pub field: String,
    /// Its value, cut if it is long.
    pub value: String,
    /// What it may be.
    pub allowed: String,
}

impl Error {
    /// The field that it is about, also where the node that leads refused it; none if it is about
    /// none.
    pub fn field(&self) -> Option<FieldError> {
        if let Self::Refused { field, .. } = self {
            return field.as_deref().cloned();
        }
        let (Self::InvalidQuery { field, value, allowed }
        | Self::InvalidConfig { field, value, allowed }
        | Self::InvalidField { field, value, allowed }) = self
        else {
            return None;
        };
        let (field, allowed) = ((*field).to_owned(), (*allowed).to_owned());
        Some(FieldError { field, value: value.clone(), allowed })
    }
}
