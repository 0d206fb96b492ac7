//! Closed choices with a name for each, declared once.

use crate::Error;

/// Declares enums whose choices are written as the given names, in JSON and in text:
/// `ALL`, `NAMES`, `as_str`, `Display` and `FromStr`. The second literal is what an error calls
/// the field.
///
/// ```
/// trefoil_core::string_enum!(
///     /// A side of the road.
///     Side, "side" {
///         /// On the left.
///         Left = "left",
///         /// On the right.
///         Right = "right",
///     }
/// );
/// assert_eq!("left".parse::<Side>()?, Side::Left);
/// assert_eq!(Side::NAMES, "left, right");
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[macro_export]
macro_rules! string_enum {
    (@names $name:ident, $field:literal {
        $first:ident = $first_text:literal, $($choice:ident = $text:literal,)*
    }) => {
        impl $name {
            /// All of them, in their order.
            pub const ALL: &[Self] = &[Self::$first, $(Self::$choice),*];
            /// Their names, as a message lists them.
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
            type Err = $crate::Error;

            fn from_str(name: &str) -> $crate::Result<Self> {
                let found = Self::ALL.iter().copied().find(|one| one.as_str() == name);
                found.ok_or_else(|| $crate::unknown_name($field, name, Self::NAMES))
            }
        }
    };
    ($($(#[$doc:meta])* $name:ident, $field:literal {
        $($(#[$each:meta])* $choice:ident = $text:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $text)] $choice,)*
        }

        $crate::string_enum!(@names $name, $field { $($choice = $text,)* });
    )*};
}

/// Declares the same with a number for each choice, which the store keeps.
macro_rules! numbered_enum {
    ($($(#[$doc:meta])* $name:ident, $field:literal {
        $($(#[$each:meta])* $choice:ident = $code:literal $text:literal,)*
    })*) => {$(
        $(#[$doc])*
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $text)] $choice = $code,)*
        }

        $crate::string_enum!(@names $name, $field { $($choice = $text,)* });

        impl $name {
            /// The number that the store keeps.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The one with this number, if there is one.
            pub const fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$choice),)*
                    _ => None,
                }
            }
        }
    )*};
}

pub(crate) use numbered_enum;

/// Reads and writes types as strings in JSON, by their `FromStr` and `Display`: for
/// `#[serde(try_from = "String", into = "String")]`.
#[macro_export]
macro_rules! string_conversions {
    ($($name:ident),*) => {
        $(
            impl TryFrom<String> for $name {
                type Error = $crate::Error;

                fn try_from(text: String) -> $crate::Result<Self> {
                    text.parse()
                }
            }

            impl From<$name> for String {
                fn from(value: $name) -> Self {
                    value.to_string()
                }
            }
        )*
    };
}

/// Shows a type around a text as that text, and reads it by its `FromStr`, in JSON too; with
/// `::new`, what is read is checked by `new`.
#[macro_export]
macro_rules! text_type {
    ($name:ident) => {
        impl $name {
            /// The text, as it is written.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $crate::string_conversions!($name);
    };
    ($name:ident::new) => {
        $crate::text_type!($name);

        impl std::str::FromStr for $name {
            type Err = $crate::Error;

            fn from_str(text: &str) -> $crate::Result<Self> {
                Self::new(text)
            }
        }
    };
}

/// Declares methods that set one place of `self` and give it back: `name(value: Type) place =
/// what is made of the value`.
#[macro_export]
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($value:ident: $type:ty) $($place:ident).+ = $made:expr;)*) => {$(
        $(#[$doc])*
        pub fn $name(mut self, $value: $type) -> Self {
            self.$($place).+ = $made;
            self
        }
    )*};
}

/// Reads a type in JSON as what it wraps, checked by its `new`: for `#[serde(try_from, into)]`.
#[macro_export]
macro_rules! checked_conversions {
    ($name:ident($inner:ty)) => {
        impl TryFrom<$inner> for $name {
            type Error = $crate::Error;

            fn try_from(inner: $inner) -> $crate::Result<Self> {
                Self::new(inner)
            }
        }

        impl From<$name> for $inner {
            fn from(checked: $name) -> Self {
                checked.0
            }
        }
    };
}

/// The error for a name that is none of a [`string_enum!`]'s.
#[doc(hidden)]
pub fn unknown_name(field: &'static str, name: &str, allowed: &'static str) -> Error {
    if field == "scope" {
        Error::InvalidScope { provided: name.chars().take(80).collect(), allowed }
    } else {
        Error::invalid_field(field, format_args!("`{name}`"), allowed)
    }
}
