use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// Longest label, in characters.
const MAX_CHARS: usize = 64;

macro_rules! label {
    ($(#[$doc:meta])* $name:ident, $case:ident { $($(#[$each:meta])* $label:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Cow<'static, str>);

        impl $name {
            $($(#[$each])* pub const $label: Self = Self(Cow::Borrowed($text));)*

            /// The labels that have a meaning here; any other is as good.
            pub const CORE: &[Self] = &[$(Self::$label),*];

            /// Takes 1–64 characters, in any case, with spaces or `_` between words.
            ///
            /// # Errors
            /// [`Error::InvalidLabel`] if it is empty, longer or has control characters.
            pub fn new(label: &str) -> Result<Self> {
                let words: Vec<&str> = label.split_whitespace().collect();
                let joined = words.join("_").$case();
                let valid = (1..=MAX_CHARS).contains(&joined.chars().count())
                    && !joined.contains(char::is_control);
                if valid {
                    Ok(Self(Cow::Owned(joined)))
                } else {
                    Err(Error::InvalidLabel { label: label.chars().take(MAX_CHARS).collect() })
                }
            }
        }

        $crate::text_type!($name::new);
    };
}

label!(
    /// What an entity is: a label in capitals, from the core list or free.
    EntityType,
    to_uppercase {
        /// A human being, real or not.
        PERSON = "PERSON",
        /// A company, an institution, a group.
        ORGANIZATION = "ORGANIZATION",
        /// A country, a town, a river.
        PLACE = "PLACE",
        /// A war, a contest, a meeting.
        EVENT = "EVENT",
        /// A function, a type, a module, a setting.
        CODE = "CODE",
        /// What a document or a part of it is about, by its title.
        TOPIC = "TOPIC",
        /// Something with a proper name of which no more is known.
        NAME = "NAME",
        /// A thing or thought that a common noun names.
        CONCEPT = "CONCEPT",
        /// One who acts: a person, a program.
        ACTOR = "ACTOR",
        /// Something made: a file, a product.
        ARTIFACT = "ARTIFACT",
        /// A rule that is followed.
        POLICY = "POLICY",
    }
);

label!(
    /// How one entity is related to another: a label in small letters, from the core list or
    /// free.
    RelationType,
    to_lowercase {
        /// Both are named in one sentence; it has no direction.
        CO_OCCURS = "co_occurs",
        /// The document or section of the one links to the other.
        LINKS_TO = "links_to",
        /// The one is the title or heading above the other.
        CONTAINS = "contains",
        /// The one is said to be a kind of the other.
        IS_A = "is_a",
        /// The section of the one says what the other is.
        DEFINES = "defines",
        /// The section of the one names the other in its code.
        REFERS_TO = "refers_to",
        /// The section of the one cites the other as a source.
        CITES = "cites",
    }
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_has_one_case_and_no_spaces() {
        assert_eq!(EntityType::new("person").unwrap(), EntityType::PERSON);
        assert_eq!(EntityType::new(" War  Crime ").unwrap().as_str(), "WAR_CRIME");
        assert_eq!(RelationType::new("Works For").unwrap().as_str(), "works_for");
        assert_eq!(RelationType::new("所属する").unwrap().as_str(), "所属する");
        for bad in ["", "  ", "a\u{0}b", &"x".repeat(65)] {
            assert!(matches!(EntityType::new(bad), Err(Error::InvalidLabel { .. })), "{bad:?}");
            assert!(RelationType::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_core_labels_are_as_the_constructor_makes_them() {
        for label in EntityType::CORE {
            assert_eq!(EntityType::new(label.as_str()).unwrap(), *label);
        }
        for label in RelationType::CORE {
            let json = serde_json::to_string(label).unwrap();
            assert_eq!(serde_json::from_str::<RelationType>(&json).unwrap(), *label);
        }
    }
}
