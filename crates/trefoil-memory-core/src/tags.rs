use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};
use trefoil_text::normalize;

/// Labels of a unit: NFKC, sorted, each once, at most 32 of at most 256 bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("items" = {"type": "string", "maxLength": Self::MAX_BYTES}))
)]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Tags(BTreeSet<String>);

impl Tags {
    /// The most tags.
    pub const MAX: usize = 32;
    /// The most bytes of a tag.
    pub const MAX_BYTES: usize = 256;

    /// Normalises tags; empty ones are left out.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for too many, or one that is too long.
    pub fn new<T: AsRef<str>>(tags: impl IntoIterator<Item = T>) -> Result<Self> {
        let mut set = BTreeSet::new();
        for tag in tags {
            let tag = normalize(tag.as_ref().trim()).trim().to_owned();
            Error::check_length(tag.len(), ..=Self::MAX_BYTES, "tag", "at most 256 bytes")?;
            if !tag.is_empty() {
                set.insert(tag);
            }
        }
        let count = format_args!("{} tags", set.len());
        Error::check_field(set.len() <= Self::MAX, "tags", count, "at most 32 tags")?;
        Ok(Self(set))
    }

    /// The tags, in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// True if `tag`, which is in NFKC, is among them.
    pub fn contains(&self, tag: &str) -> bool {
        self.0.contains(tag)
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The tags of both, as many as there may be, in order.
    #[must_use]
    pub fn united(&self, other: &Self) -> Self {
        Self(self.0.union(&other.0).take(Self::MAX).cloned().collect())
    }
}

impl TryFrom<Vec<String>> for Tags {
    type Error = Error;

    fn try_from(tags: Vec<String>) -> Result<Self> {
        Self::new(tags)
    }
}

impl From<Tags> for Vec<String> {
    fn from(tags: Tags) -> Self {
        tags.0.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_nfkc_unique_and_sorted() {
        let tags = Tags::new(["work", "ＷＯＲＫ", " work ", "", "ｶﾞｲﾄﾞ", "한글"]).unwrap();
        assert_eq!(tags.iter().collect::<Vec<_>>(), ["WORK", "work", "ガイド", "한글"]);
        assert!(tags.contains("work") && !tags.contains("home") && !tags.is_empty());
    }

    #[test]
    fn tags_are_32_of_256_bytes() {
        let many = |count: usize| (0..count).map(|n| n.to_string()).collect::<Vec<_>>();
        assert!(Tags::new(many(32)).is_ok());
        assert!(matches!(Tags::new(many(33)), Err(Error::InvalidField { field: "tags", .. })));
        assert!(Tags::new(["x".repeat(256)]).is_ok());
        let long = Tags::new(["x".repeat(257)]);
        assert!(matches!(long, Err(Error::InvalidField { field: "tag", .. })));
    }

    #[test]
    fn united_tags_are_no_more_than_there_may_be() {
        let of = |numbers: std::ops::Range<u32>| Tags::new(numbers.map(|n| n.to_string())).unwrap();
        assert_eq!(of(0..2).united(&of(1..3)), of(0..3));
        assert_eq!(of(0..20).united(&of(20..40)).iter().count(), 32);
    }
}
