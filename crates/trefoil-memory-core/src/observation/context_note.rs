use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

/// The circumstances of an observation: short texts by name, such as `place` and `at the desk`.
///
/// ```
/// use trefoil_memory_core::ContextNote;
///
/// let note = ContextNote::new([("place", "at the desk"), ("screen", "the calendar")])?;
/// assert_eq!(note.get("place"), Some("at the desk"));
/// assert!(ContextNote::new([("Place", "at the desk")]).is_err());
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend(
        "maxProperties" = Self::MAX_ENTRIES,
        "propertyNames" = {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
        "additionalProperties" = {"type": "string", "minLength": 1, "maxLength": Self::MAX_TEXT},
    ))
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct ContextNote(BTreeMap<String, String>);

impl ContextNote {
    /// Most entries of a note.
    pub const MAX_ENTRIES: usize = 16;
    /// Most bytes of a name.
    pub const MAX_NAME: usize = 64;
    /// Most bytes of a text.
    pub const MAX_TEXT: usize = 1_024;

    /// The note with these entries; of two with one name the last counts.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for more than 16 entries, a name that is not made of `a-z`,
    /// `0-9` and `_` or does not begin with a letter, or a text outside of 1–1,024 bytes.
    pub fn new<N: Into<String>, T: Into<String>>(
        entries: impl IntoIterator<Item = (N, T)>,
    ) -> Result<Self> {
        let entries = entries.into_iter().map(|(name, text)| (name.into(), text.into()));
        let note = Self(entries.collect());
        note.check()?;
        Ok(note)
    }

    /// The text under a name.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Names and texts, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The note with each text as `change` makes it; [`check`](Self::check) has to follow.
    pub(crate) fn map_texts(self, change: &mut dyn FnMut(&str) -> Result<String>) -> Result<Self> {
        let entries = self.0.into_iter().map(|(name, text)| Ok((name, change(&text)?)));
        Ok(Self(entries.collect::<Result<_>>()?))
    }

    pub(crate) fn check(&self) -> Result<()> {
        let check = |holds, value: String, allowed| {
            Error::check_field(holds, "context_note of an observation", value, allowed)
        };
        let count = self.0.len();
        check(count <= Self::MAX_ENTRIES, format!("{count} entries"), "at most 16 entries")?;
        self.0.iter().try_for_each(|(name, text)| {
            let shown: String = name.chars().take(80).collect();
            let allowed = "names of a-z, 0-9 and _, at most 64 bytes, a letter first";
            check(is_name(name), format!("the name `{shown}`"), allowed)?;
            let (length, allowed) = (text.len(), "texts of 1–1,024 bytes");
            let fits = (1..=Self::MAX_TEXT).contains(&length);
            check(fits, format!("`{name}` of {length} bytes"), allowed)
        })
    }
}

fn is_name(name: &str) -> bool {
    let known = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    name.len() <= ContextNote::MAX_NAME
        && name.bytes().all(known)
        && name.starts_with(|first: char| first.is_ascii_lowercase())
}

trefoil_core::checked_conversions!(ContextNote(BTreeMap<String, String>));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_has_limits_and_its_json_is_read_within_them() {
        let many = (0..17).map(|n| (format!("n{n}"), "x".to_owned()));
        assert!(ContextNote::new(many.clone()).is_err());
        assert!(ContextNote::new(many.take(16)).is_ok());
        for (name, text) in [("", "x"), ("_a", "x"), ("9a", "x"), ("장소", "x"), ("a", "")] {
            assert!(ContextNote::new([(name, text)]).is_err(), "{name:?}: {text:?}");
        }
        assert!(ContextNote::new([("a", "x".repeat(1_025))]).is_err());
        assert!(ContextNote::new([("a".repeat(65), "x")]).is_err());
        let json = r#"{"place":"책상","screen":"予定表"}"#;
        let note: ContextNote = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&note).unwrap(), json);
        assert!(serde_json::from_str::<ContextNote>(r#"{"Place":"x"}"#).is_err());
    }
}
