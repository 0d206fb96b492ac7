use std::{cmp::Ordering, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a retriever: `[a-z][a-z0-9_-]{0,31}`. Weights, metrics, relevance and
/// explanations are keyed by it. Copying it costs 32 bytes.
///
/// In order stand those of the [default set](Self::DEFAULT_SET), then all others by name.
///
/// ```
/// use trefoil_core::RetrieverId;
///
/// let mine = RetrieverId::new("trigrams")?;
/// assert_eq!(mine.name(), "trigrams");
/// assert!(RetrieverId::KEYWORD < mine);
/// assert!(RetrieverId::new("No spaces").is_err());
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = Self::PATTERN)))]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RetrieverId {
    /// ASCII, filled up with zeros.
    name: [u8; Self::MAX_CHARS],
}

impl RetrieverId {
    /// The longest name, in characters.
    pub const MAX_CHARS: usize = 32;

    /// What JSON Schema says of a name.
    #[cfg(feature = "schema")]
    pub(crate) const PATTERN: &str = "^[a-z][a-z0-9_-]{0,31}$";

    /// BM25 over analysed terms.
    pub const KEYWORD: Self = Self::literal("keyword");
    /// Nearest neighbours of the query embedding.
    pub const SEMANTIC: Self = Self::literal("semantic");
    /// Neighbourhoods and communities of the entity graph.
    pub const GRAPH: Self = Self::literal("graph");

    /// The retrievers that every engine has, in a fixed order.
    pub const DEFAULT_SET: [Self; 3] = [Self::KEYWORD, Self::SEMANTIC, Self::GRAPH];

    /// Names that stand for something else where a retriever is named: the other stages of a
    /// search, and all retrievers together.
    const RESERVED: [&str; 13] = [
        "hybrid", "classify", "plan", "filter", "fuse", "read", "rerank", "grade", "web", "select",
        "present", "memory", "follow",
    ];

    /// Checks a name.
    ///
    /// # Errors
    /// [`Error::InvalidRetrieverId`] if it is not `[a-z][a-z0-9_-]{0,31}`, or the name of another
    /// stage.
    pub fn new(name: &str) -> Result<Self> {
        let first = name.bytes().next().is_some_and(|first| first.is_ascii_lowercase());
        let is_allowed =
            |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'_' | b'-');
        let valid = first && name.len() <= Self::MAX_CHARS && name.bytes().all(is_allowed);
        if valid && !Self::RESERVED.contains(&name) {
            Ok(Self::literal(name))
        } else {
            Err(Error::InvalidRetrieverId { name: name.chars().take(64).collect() })
        }
    }

    const fn literal(text: &str) -> Self {
        let mut name = [0; Self::MAX_CHARS];
        let mut to: &mut [u8] = &mut name;
        let mut from = text.as_bytes();
        while let ([byte, rest @ ..], [place, places @ ..]) = (from, to) {
            *place = *byte;
            from = rest;
            to = places;
        }
        Self { name }
    }

    /// The name.
    pub fn name(&self) -> &str {
        let name = self.name.split(|&byte| byte == 0).next().unwrap_or_default();
        std::str::from_utf8(name).unwrap_or_default()
    }

    /// The place in the default set, or after it.
    fn place(&self) -> usize {
        Self::DEFAULT_SET.iter().position(|one| one == self).unwrap_or(Self::DEFAULT_SET.len())
    }
}

impl Ord for RetrieverId {
    fn cmp(&self, other: &Self) -> Ordering {
        self.place().cmp(&other.place()).then_with(|| self.name.cmp(&other.name))
    }
}

impl PartialOrd for RetrieverId {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for RetrieverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for RetrieverId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for RetrieverId {
    type Err = Error;
    fn from_str(name: &str) -> Result<Self> {
        Self::new(name)
    }
}

crate::string_conversions!(RetrieverId);

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn a_name_is_short_and_simple() {
        for name in ["a", "keyword", "my-index_2", &"x".repeat(32)] {
            assert_eq!(RetrieverId::new(name).unwrap().name(), name);
        }
        for name in ["", "A", "2a", "-a", "a b", "é", "a\0", "fuse", "hybrid", &"x".repeat(33)] {
            let error = RetrieverId::new(name).unwrap_err();
            assert!(matches!(error, Error::InvalidRetrieverId { .. }), "{name:?}: {error}");
        }
    }

    #[test]
    fn the_default_set_comes_first_in_its_order() {
        let [keyword, semantic, graph] = RetrieverId::DEFAULT_SET;
        let (a, b) = (RetrieverId::new("a").unwrap(), RetrieverId::new("b").unwrap());
        let mut ids = [b, graph, a, semantic, keyword];
        ids.sort();
        assert_eq!(ids, [keyword, semantic, graph, a, b]);
    }

    #[test]
    fn on_the_wire_it_is_its_name() {
        assert_eq!(serde_json::to_string(&RetrieverId::GRAPH).unwrap(), r#""graph""#);
        assert!(serde_json::from_str::<RetrieverId>(r#""Graph""#).is_err());
    }

    proptest! {
        #[test]
        fn any_allowed_name_is_kept(name in "[a-z][a-z0-9_-]{0,31}") {
            if let Ok(id) = RetrieverId::new(&name) {
                prop_assert_eq!(id.name(), &name);
                prop_assert_eq!(id.to_string(), name);
            }
        }
    }
}
