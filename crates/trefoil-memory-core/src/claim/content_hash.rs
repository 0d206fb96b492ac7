use std::{fmt::Write as _, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use trefoil_core::{Error, Result};
use trefoil_text::canonical_text;

/// What a text says, whatever its spaces: equal hashes are one claim.
///
/// `sha256:` and 64 hexadecimal digits of the text after NFC, with runs of white space
/// (line ends too) as one space and none at the ends.
///
/// ```
/// use trefoil_memory_core::ContentHash;
///
/// assert_eq!(ContentHash::of("Owls \r\n hunt."), ContentHash::of(" Owls hunt."));
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = "^sha256:[0-9a-f]{64}$")))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash(String);

impl ContentHash {
    /// What every content hash starts with.
    pub const PREFIX: &'static str = "sha256:";

    /// The hash of a text.
    pub fn of(text: &str) -> Self {
        Self(format!("{}{}", Self::PREFIX, sha256_hex(canonical_text(text).as_bytes())))
    }
}

impl FromStr for ContentHash {
    type Err = Error;

    fn from_str(hash: &str) -> Result<Self> {
        let digits = hash.strip_prefix(Self::PREFIX).unwrap_or_default();
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if digits.len() == 64 && digits.bytes().all(is_digit) {
            Ok(Self(hash.to_owned()))
        } else {
            let allowed = "`sha256:` and 64 hexadecimal digits in small letters";
            Err(Error::invalid_field("content_hash", format_args!("`{hash}`"), allowed))
        }
    }
}

trefoil_core::text_type!(ContentHash);

/// The SHA-256 of `bytes` in lower-case hexadecimal.
pub fn sha256_hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing into a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Hashes are keys in files: they may never change.
    #[test]
    fn content_hash_is_stable() {
        let expected = "sha256:1b52a9f118282b78070a64a13c1a48b61752d26144c4e9bde47c9c08d37c9f88";
        assert_eq!(ContentHash::of(" 日本語\r\n text\n").as_str(), expected);
        assert_ne!(ContentHash::of("日本語 Text").as_str(), expected);
    }

    #[test]
    fn what_is_no_hash_is_refused() {
        let hash = ContentHash::of("x").to_string();
        for bad in
            ["", "sha256:", &hash[1..], &hash[..70], &hash.to_uppercase(), &format!("{hash}0")]
        {
            assert!(bad.parse::<ContentHash>().is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn content_hash_ignores_spaces_and_forms(words in proptest::collection::vec("[a-zé가が]{1,5}", 1..6), space in "[ \t\r\n\u{3000}]{1,3}") {
            let spaced = format!("{space}{}{space}", words.join(&space));
            prop_assert_eq!(ContentHash::of(&spaced), ContentHash::of(&words.join(" ")));
            prop_assert_eq!(&*canonical_text(&spaced), words.join(" "));
            let hash = ContentHash::of(&spaced);
            prop_assert_eq!(&hash, &hash.as_str().parse()?);
        }
    }
}
