//! Filters to rows, so that every retriever is given the same set.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use rusqlite::{Connection, ToSql, params_from_iter};
use trefoil_core::{Allowed, Error, FileId, Result, RowId, RowSet, SearchFilters};

use crate::{Store, codec::to_json, file::midnight};

impl Store {
    /// The leaves that pass every filter. In a glob, `*` and `?` stop at `/`, `**`
    /// does not.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for `filters.pathGlob` if it is not a glob.
    pub fn allowed(&self, filters: &SearchFilters) -> Result<Allowed> {
        if filters.admit_all() {
            return Ok(Allowed::All);
        }
        let glob = filters.path_glob.as_deref().map(compile).transpose()?;
        let rows = self.read("apply filters", |tx| {
            let Conditions { sql, parameters } = Conditions::of(tx, filters, glob.as_ref())?;
            tx.prepare_cached(&sql)?
                .query_map(params_from_iter(parameters), |row| row.get(0).map(RowId::new))?
                .collect::<rusqlite::Result<RowSet>>()
        })?;
        Ok(Allowed::Only(Arc::new(rows)))
    }
}

fn compile(glob: &str) -> Result<GlobMatcher> {
    GlobBuilder::new(glob)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|_| {
            Error::invalid_query("filters.pathGlob", glob, "a glob such as `guide/**/*.md`")
        })
}

/// A query that grows by one condition a filter.
struct Conditions {
    sql: String,
    parameters: Vec<Box<dyn ToSql>>,
}

impl Conditions {
    fn of(
        tx: &Connection,
        filters: &SearchFilters,
        glob: Option<&GlobMatcher>,
    ) -> rusqlite::Result<Self> {
        let mut query = Self {
            sql: "SELECT unit_id FROM payload_chunk c WHERE ordinal >= 0".to_owned(),
            parameters: Vec::new(),
        };
        if !filters.file_ids.is_empty() {
            let ids: Vec<&str> = filters.file_ids.iter().map(FileId::as_str).collect();
            query.and_in("file_id IN (SELECT id FROM files WHERE public_id IN", &ids)?;
        }
        if !filters.tags.is_empty() {
            query.and_in(
                "file_id IN (SELECT f.id FROM files f, json_each(f.tags) t WHERE t.value IN",
                &filters.tags,
            )?;
        }
        if !filters.languages.is_empty() {
            let codes: Vec<&str> =
                filters.languages.iter().map(|language| language.code()).collect();
            query.and_in("(language IN", &codes)?;
        }
        if !filters.entity_types.is_empty() {
            let labels: Vec<String> =
                filters.entity_types.iter().map(|label| label.to_uppercase()).collect();
            query.and_in(
                "unit_id IN (SELECT unit_id FROM unit_entities JOIN entities e ON e.id = entity_id
                 WHERE e.type_label IN",
                &labels,
            )?;
        }
        if let Some(range) = filters.date_range {
            query.sql.push_str(
                " AND unit_id IN (SELECT id FROM units WHERE occurred_at BETWEEN ? AND ?)",
            );
            query.parameters.push(Box::new(range.start().map_or(i64::MIN, midnight)));
            query.parameters.push(Box::new(range.end().map_or(i64::MAX, midnight)));
        }
        if let Some(glob) = glob {
            query.sql.push_str(" AND file_id IN (SELECT value FROM json_each(?))");
            query.parameters.push(Box::new(files_matching(tx, glob)?));
        }
        Ok(query)
    }

    /// Adds `condition (the values))`.
    fn and_in(&mut self, condition: &str, values: &[impl AsRef<str>]) -> rusqlite::Result<()> {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.sql.push_str(" (SELECT value FROM json_each(?)))");
        self.parameters.push(Box::new(to_json(values)?));
        Ok(())
    }
}

/// The rows of the files whose path matches, as a JSON array.
fn files_matching(tx: &Connection, glob: &GlobMatcher) -> rusqlite::Result<String> {
    let mut select = tx.prepare_cached("SELECT id, path FROM files ORDER BY path")?;
    let mut files = select.query([])?;
    let mut matching: Vec<i64> = Vec::new();
    while let Some(file) = files.next()? {
        if glob.is_match(file.get_ref(1)?.as_str()?) {
            matching.push(file.get(0)?);
        }
    }
    Ok(serde_json::Value::from(matching).to_string())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use trefoil_core::{DateRange, Language};

    use super::*;
    use crate::{
        file_id,
        fixture::{Fixture, extraction, file, parent},
    };

    /// Three files, one leaf each: `guide/a.md`, `guide/deep/b.md`, `c.txt`.
    fn three() -> (Fixture, [RowId; 3]) {
        let fixture = Fixture::new();
        let mut a = file("guide/a.md", &["one"]);
        a.tags = vec!["red".into(), "blue".into()];
        a.date = Some(date(2026, 1, 1));
        let mut b = file("guide/deep/b.md", &["two"]);
        b.tags = vec!["blue".into()];
        b.date = Some(date(2026, 1, 31));
        b.chunks[0].chunk.language = Language::Ja;
        let mut c = file("c.txt", &["three"]);
        c.chunks.push(parent(0, "three", 0, 100));
        a.chunks[0].extraction = extraction(&["Ada"]);
        b.chunks[0].extraction = extraction(&["Ada", "ENIAC"]);
        let rows = [a, b, c].map(|file| fixture.put(&file)[0]);
        (fixture, rows)
    }

    #[test]
    fn each_filter_admits_what_it_says() {
        let (fixture, rows) = three();
        let check = |filters: SearchFilters, expected: &[usize]| {
            let Allowed::Only(allowed) = fixture.store.allowed(&filters).unwrap() else {
                panic!("all: {filters:?}")
            };
            let expected: Vec<RowId> = expected.iter().map(|&n| rows[n]).collect();
            assert_eq!(allowed.iter().collect::<Vec<_>>(), expected, "{filters:?}");
        };
        let any = SearchFilters::default;
        let tags = |tags: &[&str]| SearchFilters {
            tags: tags.iter().map(|&tag| tag.to_owned()).collect(),
            ..any()
        };
        let days = |start, end| SearchFilters {
            date_range: Some(DateRange::new(start, end).unwrap()),
            ..any()
        };
        let types = |label: &str| SearchFilters { entity_types: vec![label.to_owned()], ..any() };
        let glob = |glob: &str| SearchFilters { path_glob: Some(glob.to_owned()), ..any() };
        let files = |paths: &[&str]| SearchFilters {
            file_ids: paths.iter().map(|path| file_id(path).unwrap()).collect(),
            ..any()
        };
        let languages =
            |languages: &[Language]| SearchFilters { languages: languages.to_vec(), ..any() };

        check(files(&["c.txt", "guide/a.md"]), &[0, 2]);
        check(files(&["no/such/file"]), &[]);
        check(tags(&["blue"]), &[0, 1]);
        check(tags(&["red", "green"]), &[0]);
        check(tags(&["re"]), &[]);
        check(tags(&["\"red\"", "' OR 1=1 --"]), &[]);
        check(languages(&[Language::Ja]), &[1]);
        check(languages(&[Language::En, Language::Ko]), &[0, 2]);
        check(types("name"), &[0, 1]);
        check(types("CODE"), &[1]);
        check(types("EVENT"), &[]);
        check(days(Some(date(2026, 1, 1)), Some(date(2026, 1, 31))), &[0, 1]);
        check(days(Some(date(2026, 1, 2)), None), &[1]);
        check(days(None, Some(date(2026, 1, 1))), &[0]);
        check(days(None, None), &[0, 1]);
        check(days(None, Some(date(-44, 3, 15))), &[]);
        check(glob("guide/**/*.md"), &[0, 1]);
        check(glob("guide/*.md"), &[0]);
        check(glob("**/*.{txt,rs}"), &[2]);
        check(glob("nothing"), &[]);
        check(
            SearchFilters {
                languages: vec![Language::Ja],
                path_glob: Some("guide/**".into()),
                ..tags(&["blue"])
            },
            &[1],
        );
        check(SearchFilters { languages: vec![Language::Ko], ..tags(&["blue"]) }, &[]);
    }

    #[test]
    fn no_filter_admits_all() {
        assert!(matches!(
            Fixture::new().store.allowed(&SearchFilters::default()).unwrap(),
            Allowed::All
        ));
    }

    #[test]
    fn a_broken_glob_is_an_invalid_query() {
        let filters =
            SearchFilters { path_glob: Some("a[".to_owned()), ..SearchFilters::default() };
        let error = Fixture::new().store.allowed(&filters).unwrap_err();
        assert!(matches!(error, Error::InvalidQuery { field: "filters.pathGlob", .. }), "{error}");
    }
}
