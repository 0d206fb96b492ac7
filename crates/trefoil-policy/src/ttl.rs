use std::{fmt, str::FromStr};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result, Scope};

/// How long a claim stays fresh: whole hours or days, or without end.
///
/// Written `24h`, `7d`, `unlimited`.
///
/// ```
/// use trefoil_policy::Ttl;
///
/// assert_eq!("7d".parse::<Ttl>()?, Ttl::days(7)?);
/// assert_eq!("36h".parse::<Ttl>()?.to_string(), "36h");
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend("pattern" = PATTERN)))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Ttl(u32);

/// What JSON Schema says of it: up to 876,600 hours or 36,525 days.
#[cfg(feature = "schema")]
const PATTERN: &str = concat!(
    r"^(unlimited",
    r"|([1-9]\d{0,4}|[1-7]\d{5}|8[0-6]\d{4}|87[0-5]\d{3}|876[0-5]\d{2}|876600)h",
    r"|([1-9]\d{0,3}|[12]\d{4}|3[0-5]\d{3}|36[0-4]\d{2}|365[01]\d|3652[0-5])d)$",
);

/// A hundred years: more is written `unlimited`.
const MAX_HOURS: u32 = 24 * 36_525;

const ALLOWED: &str = "`24h`, `7d`, up to 36525 days, or `unlimited`";

impl Ttl {
    /// Without end.
    pub const UNLIMITED: Self = Self(u32::MAX);

    /// How long a claim of a scope stays fresh where no policy says otherwise: seven days in a
    /// session, 120 in a project, and without end as a principle.
    pub const fn of(scope: Scope) -> Self {
        match scope {
            Scope::Session => Self(7 * 24),
            Scope::Project => Self(120 * 24),
            Scope::Principle => Self::UNLIMITED,
        }
    }

    /// Whole hours, 1 to a hundred years.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for 0 and for more.
    pub fn hours(hours: u32) -> Result<Self> {
        let holds = (1..=MAX_HOURS).contains(&hours);
        Error::check_field(holds, "ttl", format_args!("{hours} hours"), ALLOWED)?;
        Ok(Self(hours))
    }

    /// Whole days, 1 to a hundred years.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for 0 and for more.
    pub fn days(days: u32) -> Result<Self> {
        Self::hours(days.saturating_mul(24))
    }

    /// The same in seconds; absent without end.
    pub fn seconds(self) -> Option<i64> {
        (self != Self::UNLIMITED).then(|| 3600 * i64::from(self.0))
    }

    /// What the store kept as seconds, rounded up to whole hours; without end if absent.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for less than a second and more than a hundred years.
    pub fn from_seconds(seconds: Option<i64>) -> Result<Self> {
        let Some(seconds) = seconds else { return Ok(Self::UNLIMITED) };
        let hours = u32::try_from(seconds.max(0).div_euclid(3600) + i64::from(seconds % 3600 > 0));
        Self::hours(hours.unwrap_or(u32::MAX))
    }

    /// The moment at which this much time has passed since `start`; absent without end.
    pub fn after(self, start: Timestamp) -> Option<Timestamp> {
        let passed = SignedDuration::from_secs(self.seconds()?);
        Some(start.checked_add(passed).unwrap_or(Timestamp::MAX))
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            _ if *self == Self::UNLIMITED => f.write_str("unlimited"),
            // A day is written `24h`: what is short is told in hours.
            hours if hours > 24 && hours % 24 == 0 => write!(f, "{}d", hours / 24),
            hours => write!(f, "{hours}h"),
        }
    }
}

impl FromStr for Ttl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || Error::invalid_field("ttl", format_args!("`{text}`"), ALLOWED);
        if text == "unlimited" {
            return Ok(Self::UNLIMITED);
        }
        let (digits, hours) = match (text.strip_suffix('h'), text.strip_suffix('d')) {
            (Some(digits), _) => (digits, 1),
            (_, Some(digits)) => (digits, 24),
            (None, None) => return Err(invalid()),
        };
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid());
        }
        let number: u32 = digits.parse().map_err(|_| invalid())?;
        number.checked_mul(hours).and_then(|hours| Self::hours(hours).ok()).ok_or_else(invalid)
    }
}

trefoil_core::string_conversions!(Ttl);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ttl_reads_hours_and_days() {
        let check = |text: &str, seconds| {
            let ttl: Ttl = text.parse().unwrap();
            assert_eq!((ttl.seconds(), ttl.to_string().as_str()), (seconds, text), "{text}");
        };
        check("24h", Some(86_400));
        check("7d", Some(604_800));
        check("30d", Some(2_592_000));
        check("1h", Some(3_600));
        check("36525d", Some(3_155_760_000));
        check("unlimited", None);
    }

    #[test]
    fn what_is_no_ttl_is_refused() {
        for text in ["", "d", "0d", "7", "-7d", "+7d", "7 d", "7w", "７d", "36526d", "99999999999h"]
        {
            assert!(matches!(text.parse::<Ttl>(), Err(Error::InvalidField { .. })), "{text:?}");
        }
        assert!(Ttl::from_seconds(Some(0)).is_err() && Ttl::from_seconds(Some(-1)).is_err());
        assert_eq!(Ttl::from_seconds(Some(1)).unwrap(), Ttl::hours(1).unwrap());
    }

    #[test]
    fn unlimited_is_longest_and_never_over() {
        assert!(Ttl::UNLIMITED > Ttl::days(36_525).unwrap());
        assert_eq!(Ttl::UNLIMITED.after(Timestamp::UNIX_EPOCH), None);
        let day = Ttl::days(1).unwrap();
        assert_eq!(day.after(Timestamp::UNIX_EPOCH).unwrap().as_second(), 86_400);
        assert_eq!(day.after(Timestamp::MAX), Some(Timestamp::MAX));
    }

    proptest! {
        #[test]
        fn print_parse_and_store_agree(hours in 1..=MAX_HOURS) {
            let ttl = Ttl::hours(hours)?;
            prop_assert_eq!(ttl, ttl.to_string().parse()?);
            prop_assert_eq!(ttl, Ttl::from_seconds(ttl.seconds())?);
        }
    }
}
