//! Languages as segments keep them.

use trefoil_core::Language;

/// A language as a number of a segment's file; 0 if none is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LanguageCode(u8);

impl LanguageCode {
    /// Of a vector whose language is not known.
    pub(crate) const NONE: Self = Self(0);
    /// Every code. They are in files: none may ever change.
    pub(crate) const ALL: [Self; 4] = [Self::NONE, Self(1), Self(2), Self(3)];

    /// The number.
    pub(crate) const fn get(self) -> u8 {
        self.0
    }

    /// The language.
    pub(crate) fn language(self) -> Option<Language> {
        Language::ALL.into_iter().find(|&one| Self::from(one) == self)
    }
}

impl From<u8> for LanguageCode {
    /// A number that is no code stands for none.
    fn from(number: u8) -> Self {
        Self::ALL.into_iter().find(|code| code.0 == number).unwrap_or(Self::NONE)
    }
}

impl From<Language> for LanguageCode {
    fn from(language: Language) -> Self {
        match language {
            Language::En => Self(1),
            Language::Ja => Self(2),
            Language::Ko => Self(3),
            _ => Self::NONE,
        }
    }
}

/// A set of languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LanguageCodes(u8);

impl LanguageCodes {
    /// Every vector, of a known language or not.
    pub(crate) const ALL: Self = Self(0b1111);

    /// Whether a vector with this number is of one of them; a number that is no code stands for
    /// none.
    #[inline]
    pub(crate) const fn contains(self, number: u8) -> bool {
        let bit = if number < 4 { 1 << number } else { 1 };
        self.0 & bit != 0
    }

    /// Those in both.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Those that are not in the other.
    pub(crate) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True if there are none.
    pub(crate) const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<LanguageCode> for LanguageCodes {
    fn from_iter<I: IntoIterator<Item = LanguageCode>>(codes: I) -> Self {
        Self(codes.into_iter().fold(0, |all, code| all | (1 << code.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_code_that_stays() {
        let codes: Vec<u8> =
            Language::ALL.into_iter().map(|one| LanguageCode::from(one).get()).collect();
        assert_eq!(codes, [1, 2, 3]);
        for language in Language::ALL {
            assert_eq!(LanguageCode::from(language).language(), Some(language));
        }
        assert_eq!(LanguageCode::from(9), LanguageCode::NONE);
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let ja: LanguageCodes = [LanguageCode::from(Language::Ja)].into_iter().collect();
        assert!(ja.contains(2) && !ja.contains(0) && !ja.contains(1) && !ja.contains(200));
        let others = LanguageCodes::ALL.without(ja);
        assert!(others.contains(0) && others.contains(3) && !others.contains(2));
        assert!(ja.and(others).is_empty() && !ja.is_empty());
    }
}
