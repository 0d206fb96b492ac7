use std::fmt;

use serde::{Deserialize, Serialize};

/// Closed choices that the store keeps as numbers.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $choice:ident = $code:literal $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$each])* #[serde(rename = $text)] $choice = $code,)*
        }

        impl $name {
            /// All of them, by their number.
            pub const ALL: &[Self] = &[$(Self::$choice),*];

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

            /// The name that people read and write.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$choice => $text,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}

numbered!(
    /// What kind of thing a unit is: which table its body is in.
    UnitKind {
        /// An observation.
        Episode = 1 "episode",
        /// A claim with a predicate.
        Fact = 2 "fact",
        /// A summary of other units.
        Summary = 3 "summary",
        /// Something that is left to do.
        Loop = 7 "loop",
        /// A span of a document.
        Chunk = 8 "chunk",
        /// A claim without a predicate.
        Claim = 9 "claim",
    }
);

numbered!(
    /// How far a unit has come in its life.
    #[derive(Default)]
    UnitState {
        /// As it was written.
        #[default]
        Raw = 0 "raw",
        /// Integrated with what was there.
        Validated = 1 "validated",
        /// Folded into a summary; still found.
        Consolidated = 2 "consolidated",
        /// Superseded, rolled back or discarded: not found and not injected.
        Archived = 3 "archived",
    }
);

numbered!(
    /// Who may see a unit, from everybody to nobody. What is derived takes the maximum of
    /// its sources, and no class is ever lowered.
    #[derive(Default)]
    BoundaryClass {
        /// Anybody.
        Public = 0 "public",
        /// Whoever works on it: the default.
        #[default]
        Internal = 1 "internal",
        /// Whoever may see what identifies a person.
        Pii = 2 "pii",
        /// Only a request that carries a tag that the policy names for it.
        Secret = 3 "secret",
    }
);

numbered!(
    /// How sensitive the rows of a unit are, told from its class.
    Sensitivity {
        /// Public or internal.
        Normal = 0 "normal",
        /// Identifies a person.
        Private = 1 "private",
        /// Secret.
        Secret = 2 "secret",
    }
);

impl BoundaryClass {
    /// How sensitive a unit of this class is.
    pub const fn sensitivity(self) -> Sensitivity {
        match self {
            Self::Public | Self::Internal => Sensitivity::Normal,
            Self::Pii => Sensitivity::Private,
            Self::Secret => Sensitivity::Secret,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers are in files: they may never change.
    #[test]
    fn numbers_are_stable() {
        let kinds: Vec<_> = UnitKind::ALL.iter().map(|one| (one.as_str(), one.code())).collect();
        let expected =
            [("episode", 1), ("fact", 2), ("summary", 3), ("loop", 7), ("chunk", 8), ("claim", 9)];
        assert_eq!(kinds, expected);
        let states: Vec<_> =
            (0..9).map_while(UnitState::from_code).map(UnitState::as_str).collect();
        assert_eq!(states, ["raw", "validated", "consolidated", "archived"]);
        for &kind in UnitKind::ALL {
            assert_eq!(UnitKind::from_code(kind.code()), Some(kind));
        }
        assert_eq!(UnitKind::from_code(4), None);
    }

    #[test]
    fn classes_are_in_one_order() {
        use BoundaryClass::{Internal, Pii, Public, Secret};
        assert_eq!(BoundaryClass::ALL, [Public, Internal, Pii, Secret]);
        assert!(BoundaryClass::ALL.is_sorted());
        let sensitivities: Vec<_> =
            BoundaryClass::ALL.iter().map(|class| class.sensitivity().code()).collect();
        assert_eq!(sensitivities, [0, 0, 1, 2]);
        assert_eq!(BoundaryClass::default(), Internal);
        assert_eq!(serde_json::to_string(&Pii).unwrap(), r#""pii""#);
    }
}
