use std::fmt;

use serde::{Deserialize, Serialize};

/// The languages that the engine analyses with care. Text in any other language
/// that is written in Latin, Greek or Cyrillic letters is treated like English.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Language {
    /// English, and what is not one of the others.
    #[default]
    En,
    /// Japanese.
    Ja,
    /// Korean.
    Ko,
}

impl Language {
    /// Every language, in a fixed order.
    pub const ALL: [Self; 3] = [Self::En, Self::Ja, Self::Ko];

    /// The ISO 639-1 code.
    pub const fn code(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::Ja => "ja",
            Self::Ko => "ko",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}
