//! Closed choices with a name for each.

/// An enum whose choices are written as the given names, in JSON and in text.
macro_rules! choice {
    ($(#[$doc:meta])* $name:ident, $field:literal {
        $(#[$first_doc:meta])* $first:ident = $first_text:literal,
        $($(#[$each:meta])* $choice:ident = $text:literal,)*
    }) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $(#[$first_doc])* #[serde(rename = $first_text)] $first,
            $($(#[$each])* #[serde(rename = $text)] $choice,)*
        }

        impl $name {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[Self::$first, $(Self::$choice),*];
            /// Their names, as a message tells them.
            pub const NAMES: &'static str = concat!($first_text, $(", ", $text),*);

            /// The name that people and files have for it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    Self::$first => $first_text,
                    $(Self::$choice => $text,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = trefoil_core::Error;

            fn from_str(name: &str) -> trefoil_core::Result<Self> {
                Self::ALL
                    .iter()
                    .copied()
                    .find(|one| one.as_str() == name)
                    .ok_or_else(|| $crate::choice::unknown($field, name, Self::NAMES))
            }
        }
    };
}

use trefoil_core::Error;

pub(crate) use choice;

/// The error for a name that is none of a choice's.
pub(crate) fn unknown(field: &'static str, name: &str, allowed: &'static str) -> Error {
    if field == "scope" {
        Error::InvalidScope { provided: name.chars().take(80).collect(), allowed }
    } else {
        Error::invalid_field(field, format_args!("`{name}`"), allowed)
    }
}
