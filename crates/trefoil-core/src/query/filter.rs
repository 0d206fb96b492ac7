use std::{str::FromStr, sync::Arc};

use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use validator::Validate;

use crate::{Condition, Error, FileId, Language, Result, RowId, RowSet, Score};

/// Which results a caller will accept. Every filter holds on every retriever.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Validate)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SearchFilters {
    /// Only these files; empty means all. At most 10,000.
    #[serde(alias = "file_ids")]
    #[validate(length(max = 10_000))]
    pub file_ids: Vec<FileId>,
    /// Only chunks that link to an entity of one of these types; empty means all.
    #[serde(alias = "entity_types")]
    #[validate(length(max = 100))]
    pub entity_types: Vec<String>,
    /// Only documents dated within this range; undated documents do not pass a range.
    #[serde(alias = "date_range")]
    pub date_range: Option<DateRange>,
    /// The least final score of a result, 0–1; 0 by default, so that as many are
    /// returned as the query asks for.
    #[serde(alias = "min_relevance")]
    pub min_relevance: Score,
    /// Only documents with one of these tags; empty means all.
    #[validate(length(max = 100))]
    pub tags: Vec<String>,
    /// Only chunks in one of these languages; empty means all.
    pub languages: Vec<Language>,
    /// Only documents whose path matches this glob, such as `guide/**/*.md`.
    #[serde(alias = "path_glob")]
    #[validate(length(max = 1_000))]
    pub path_glob: Option<String>,
    /// Only documents whose metadata is like this.
    #[serde(rename = "where", skip_serializing_if = "Option::is_none")]
    pub condition: Option<Condition>,
}

impl SearchFilters {
    /// True if no chunk is excluded before ranking (`min_relevance` acts after it).
    pub fn admit_all(&self) -> bool {
        self.file_ids.is_empty()
            && self.entity_types.is_empty()
            && self.date_range.is_none()
            && self.tags.is_empty()
            && self.languages.is_empty()
            && self.path_glob.is_none()
            && self.condition.is_none()
    }

    /// Checks the fields that their types leave open.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for the first that is out of its range.
    pub fn check(&self) -> Result<()> {
        if let Some(condition) = &self.condition {
            condition.check()?;
        }
        let Err(errors) = self.validate() else { return Ok(()) };
        let too_many = |field, count: usize, allowed| Error::invalid_query(field, count, allowed);
        Err(if errors.errors().contains_key("file_ids") {
            too_many("filters.fileIds", self.file_ids.len(), "at most 10,000 ids")
        } else if errors.errors().contains_key("entity_types") {
            too_many("filters.entityTypes", self.entity_types.len(), "at most 100 types")
        } else if errors.errors().contains_key("tags") {
            too_many("filters.tags", self.tags.len(), "at most 100 tags")
        } else {
            let glob = self.path_glob.as_deref().unwrap_or_default();
            Error::invalid_query("filters.pathGlob", glob, "at most 1,000 characters")
        })
    }
}

/// Days from `start` to `end`, both included, either open.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "UncheckedDateRange")]
pub struct DateRange {
    start: Option<Date>,
    end: Option<Date>,
}

#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UncheckedDateRange {
    start: Option<Date>,
    end: Option<Date>,
}

impl DateRange {
    /// Takes a range.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] if `start` is after `end`.
    pub fn new(start: Option<Date>, end: Option<Date>) -> Result<Self> {
        match (start, end) {
            (Some(first), Some(last)) if first > last => Err(Error::invalid_query(
                "filters.dateRange",
                format!("{first}..{last}"),
                "start on or before end",
            )),
            _ => Ok(Self { start, end }),
        }
    }

    /// First day, if bounded.
    pub const fn start(&self) -> Option<Date> {
        self.start
    }

    /// Last day, if bounded.
    pub const fn end(&self) -> Option<Date> {
        self.end
    }

    /// True if `date` lies within.
    pub fn contains(&self, date: Date) -> bool {
        self.start.is_none_or(|start| start <= date) && self.end.is_none_or(|end| date <= end)
    }
}

impl TryFrom<UncheckedDateRange> for DateRange {
    type Error = Error;
    fn try_from(range: UncheckedDateRange) -> Result<Self> {
        Self::new(range.start, range.end)
    }
}

/// The filters of one query, resolved to rows: what every retriever is given.
#[derive(Clone, Debug, Default)]
pub enum Allowed {
    /// Any row.
    #[default]
    All,
    /// Only these rows.
    Only(Arc<RowSet>),
}

impl Allowed {
    /// True if `row` may be returned.
    #[inline]
    pub fn contains(&self, row: RowId) -> bool {
        match self {
            Self::All => true,
            Self::Only(rows) => rows.contains(row),
        }
    }
}

/// A language as a query names it.
impl FromStr for Language {
    type Err = Error;
    fn from_str(code: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|language| language.code() == code)
            .ok_or_else(|| Error::invalid_query("language", code, "one of `en`, `ja`, `ko`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_includes_its_ends_and_may_be_open() {
        let day = |d: i8| jiff::civil::date(2026, 1, d);
        let range = DateRange::new(Some(day(2)), Some(day(4))).unwrap();
        let within: Vec<bool> = (1..=5).map(|d| range.contains(day(d))).collect();
        assert_eq!(within, [false, true, true, true, false]);
        assert!(DateRange::new(Some(day(2)), None).unwrap().contains(day(30)));
        assert!(DateRange::new(Some(day(2)), Some(day(2))).is_ok());
        assert!(DateRange::new(Some(day(3)), Some(day(2))).is_err());
        assert!(
            serde_json::from_str::<DateRange>(r#"{"start":"2026-01-03","end":"2026-01-02"}"#)
                .is_err()
        );
    }
}
