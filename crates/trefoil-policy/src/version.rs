use std::str::FromStr;

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

/// The version of a policy: `n.n.n`, then `-pre` and `+build` if wanted.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("maxLength" = 128, "pattern" = r"^\d{1,9}\.\d{1,9}\.\d{1,9}(-[A-Za-z0-9.-]+)?(\+[A-Za-z0-9.-]+)?$"))
)]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PolicyVersion(String);

impl FromStr for PolicyVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (version, build) = text.split_once('+').map_or((text, None), |(a, b)| (a, Some(b)));
        let (numbers, pre) = version.split_once('-').map_or((version, None), |(a, b)| (a, Some(b)));
        let of_numbers = numbers.split('.').count() == 3 && numbers.split('.').all(is_number);
        if text.len() <= 128 && of_numbers && pre.is_none_or(is_label) && build.is_none_or(is_label)
        {
            Ok(Self(text.to_owned()))
        } else {
            Err(Error::InvalidPolicyVersion { provided: text.chars().take(80).collect() })
        }
    }
}

trefoil_core::text_type!(PolicyVersion);

fn is_number(part: &str) -> bool {
    (1..=9).contains(&part.len())
        && part.bytes().all(|b| b.is_ascii_digit())
        && (part == "0" || !part.starts_with('0'))
}

/// Letters, digits and hyphens, in parts between full stops.
fn is_label(label: &str) -> bool {
    label.split('.').all(|part| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_version_is_three_numbers_and_labels() {
        for good in ["1.0.0", "0.12.345", "1.0.0-rc.1", "1.0.0+build-7", "2.0.0-draft+2026.11"] {
            assert_eq!(good.parse::<PolicyVersion>().unwrap().as_str(), good);
        }
        for bad in [
            "",
            "1",
            "1.0",
            "1.0.0.0",
            "v1.0.0",
            "1.0.x",
            "01.0.0",
            "1.0.0-",
            "1.0.0+",
            "1.0.0-a..b",
            "1.0.0 ",
            "１.0.0",
        ] {
            let error = bad.parse::<PolicyVersion>().unwrap_err();
            assert!(matches!(error, Error::InvalidPolicyVersion { provided } if provided == bad));
        }
    }
}
