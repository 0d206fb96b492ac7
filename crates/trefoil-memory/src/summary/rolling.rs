use std::{fmt, str::FromStr};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, EntityId, Error, Result};
use trefoil_text::normalize;

use crate::Unit;

/// What a rolling summary is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum RollingKey {
    /// `rolling:7d`: what happened in the last seven days.
    Week,
    /// `person:<id>`: what is known of a person.
    Person(EntityId),
    /// `topic:<name>`: what is known of a topic, its name in normal form.
    Topic(String),
}

impl RollingKey {
    /// The most units that a summary is made of.
    pub const MAX_UNITS: usize = 200;

    /// The key of a topic, whatever the case and width of its name.
    pub fn topic(name: &str) -> Self {
        Self::Topic(normalize(name).trim().to_lowercase())
    }

    /// How many hours must pass before the summary is made again: 6 for the week, 12 for
    /// persons and topics.
    pub const fn cooldown_hours(&self) -> i64 {
        match self {
            Self::Week => 6,
            Self::Person(_) | Self::Topic(_) => 12,
        }
    }

    /// True if the summary is to be made now: at once if there is none; else after the
    /// cooldown, if something newer than it happened; never while it is `pending`, which is
    /// queued or being made.
    pub fn is_due(
        &self,
        last: Option<Timestamp>,
        newest_episode: Option<Timestamp>,
        pending: bool,
        now: Timestamp,
    ) -> bool {
        let Some(last) = last else { return !pending };
        let passed = now.as_second() - last.as_second();
        !pending
            && passed >= 3_600 * self.cooldown_hours()
            && newest_episode.is_some_and(|newest| newest > last)
    }
}

/// The units that a rolling summary may be made of: the newest 200, oldest first; below
/// personal data unless that is asked for, and never secret.
pub fn rolling_input<'u>(
    units: impl IntoIterator<Item = &'u Unit>,
    with_personal_data: bool,
) -> Vec<&'u Unit> {
    let highest = if with_personal_data { BoundaryClass::Pii } else { BoundaryClass::Internal };
    let mut input: Vec<&Unit> = units.into_iter().filter(|unit| unit.boundary <= highest).collect();
    input.sort_by(|a, b| (a.happened_at(), &a.id).cmp(&(b.happened_at(), &b.id)));
    input.split_off(input.len().saturating_sub(RollingKey::MAX_UNITS))
}

impl fmt::Display for RollingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Week => f.write_str("rolling:7d"),
            Self::Person(id) => write!(f, "person:{id}"),
            Self::Topic(name) => write!(f, "topic:{name}"),
        }
    }
}

impl FromStr for RollingKey {
    type Err = Error;

    fn from_str(key: &str) -> Result<Self> {
        let allowed = "`rolling:7d`, `person:<id>` or `topic:<name>`";
        match key.split_once(':') {
            Some(("rolling", "7d")) => Ok(Self::Week),
            Some(("person", id)) => id.parse().map(Self::Person),
            Some(("topic", name)) if !name.trim().is_empty() => Ok(Self::topic(name)),
            _ => Err(Error::invalid_field("rolling summary", format_args!("`{key}`"), allowed)),
        }
    }
}

trefoil_core::string_conversions!(RollingKey);

#[cfg(test)]
mod tests {
    use trefoil_core::UnitKind;

    use super::*;

    fn hour(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3_600).unwrap()
    }

    #[test]
    fn keys_read_as_they_print() {
        for key in ["rolling:7d", "person:ent_1", "topic:東京"] {
            assert_eq!(key.parse::<RollingKey>().unwrap().to_string(), key);
        }
        assert_eq!("topic: Ｔｏｋｙｏ".parse::<RollingKey>().unwrap().to_string(), "topic:tokyo");
        for bad in ["", "rolling:8d", "person:mika", "topic:", "week"] {
            assert!(bad.parse::<RollingKey>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_summary_is_made_again_after_its_cooldown_if_something_happened() {
        let week = |last: Option<i64>, newest: Option<i64>, pending, now| {
            RollingKey::Week.is_due(last.map(hour), newest.map(hour), pending, hour(now))
        };
        assert!(week(None, None, false, 0));
        assert!(!week(None, None, true, 0));
        assert!(!week(Some(0), Some(3), false, 5));
        assert!(week(Some(0), Some(3), false, 6));
        assert!(!week(Some(0), Some(3), true, 6));
        assert!(!week(Some(0), Some(0), false, 6));
        assert!(!week(Some(0), None, false, 6));
        let topic =
            |now| RollingKey::topic("tea").is_due(Some(hour(0)), Some(hour(1)), false, hour(now));
        assert!(!topic(11) && topic(12));
        assert_eq!(RollingKey::Person("ent_1".parse().unwrap()).cooldown_hours(), 12);
    }

    #[test]
    fn a_summary_is_of_the_newest_200_and_of_no_secret() {
        let unit = |number: i64, boundary| Unit {
            boundary,
            ..Unit::new(
                format!("obs_{number:03}").parse().unwrap(),
                UnitKind::Episode,
                hour(number),
            )
        };
        let units: Vec<_> = (0..300).map(|number| unit(number, BoundaryClass::Internal)).collect();
        let input = rolling_input(&units, false);
        assert_eq!((input.len(), input[0].created_at), (200, hour(100)));
        let classes: Vec<_> = BoundaryClass::ALL.iter().map(|&class| unit(1, class)).collect();
        assert_eq!(rolling_input(&classes, false).len(), 2);
        assert_eq!(rolling_input(&classes, true).len(), 3);
    }
}
