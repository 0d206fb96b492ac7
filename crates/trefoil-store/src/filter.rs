//! Filters to rows, so that every retriever is given the same set.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use rusqlite::{Connection, ToSql, params, params_from_iter};
use trefoil_core::{
    Allowed, Condition, Error, FileId, Metadata, Result, RowId, RowSet, Score, SearchFilters,
};

use crate::{
    Store, change,
    codec::{metadata, to_json},
    file::midnight,
};

impl Store {
    /// The leaves that pass every filter but that for entity types, of which the graph knows
    /// more. In a glob, `*` and `?` stop at `/`, `**` does not.
    ///
    /// What a filter admits is remembered until a text changes.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for `filters.pathGlob` if it is not a glob.
    pub fn allowed(&self, filters: &SearchFilters) -> Result<Allowed> {
        let filters = SearchFilters {
            entity_types: Vec::new(),
            min_relevance: Score::ZERO,
            ..filters.clone()
        };
        if filters.admit_all() {
            return Ok(Allowed::All);
        }
        let glob = filters.path_glob.as_deref().map(compile).transpose()?;
        let rows = self.read("apply filters", |tx| {
            let key = (change::last_text(tx)?, filters);
            if let Some(known) = self.admitted_rows.get(&key) {
                return Ok(known);
            }
            let Conditions { sql, parameters } = Conditions::of(tx, &key.1, glob.as_ref())?;
            let rows = tx
                .prepare_cached(&sql)?
                .query_map(params_from_iter(parameters), |row| row.get(0).map(RowId::new))?
                .collect::<rusqlite::Result<RowSet>>()?;
            Ok(self.admitted_rows.keep(key, Arc::new(rows)))
        })?;
        Ok(Allowed::Only(rows))
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
            query
                .and_in("file_id IN (SELECT file_id FROM file_tags WHERE tag IN", &filters.tags)?;
        }
        if !filters.languages.is_empty() {
            let codes: Vec<&str> =
                filters.languages.iter().map(|language| language.code()).collect();
            query.and_in("(language IN", &codes)?;
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
        if let Some(condition) = &filters.condition {
            query.sql.push_str(" AND file_id IN (SELECT value FROM json_each(?))");
            query.parameters.push(Box::new(files_like(tx, condition)?));
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
    let (from, below) = range(glob.glob().glob());
    let mut select = tx.prepare_cached(
        "SELECT id, path FROM files WHERE path >= ?1 AND (?2 IS NULL OR path < ?2) ORDER BY path",
    )?;
    let mut files = select.query(params![from, below])?;
    let mut matching: Vec<i64> = Vec::new();
    while let Some(file) = files.next()? {
        if glob.is_match(file.get_ref(1)?.as_str()?) {
            matching.push(file.get(0)?);
        }
    }
    Ok(serde_json::Value::from(matching).to_string())
}

/// The rows of the files whose metadata fulfils a condition, as a JSON array.
fn files_like(tx: &Connection, condition: &Condition) -> rusqlite::Result<String> {
    let without = condition.admits(&Metadata::default());
    let mut select = tx.prepare_cached("SELECT id, metadata FROM files")?;
    let mut files = select.query([])?;
    let mut like: Vec<i64> = Vec::new();
    while let Some(file) = files.next()? {
        let is_bare = file.get_ref(1)?.as_str()? == "{}";
        if if is_bare { without } else { condition.admits(&metadata(file, 1)?) } {
            like.push(file.get(0)?);
        }
    }
    Ok(serde_json::Value::from(like).to_string())
}

/// The paths that begin as a glob does before its first special character, whatever follows:
/// from one on, and below another if there is an end.
fn range(glob: &str) -> (&str, Option<String>) {
    let end = glob.find(['*', '?', '[', ']', '{', '}', '!', '\\']).unwrap_or(glob.len());
    // `a/**` may match `a`, with no slash after it.
    let literal = glob.get(..end).unwrap_or_default().trim_end_matches('/');
    let mut below = literal.to_owned();
    while let Some(last) = below.pop() {
        // The next character, over the gap that no character is in.
        let next =
            if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(u32::from(last) + 1) };
        if let Some(next) = next {
            below.push(next);
            return (literal, Some(below));
        }
    }
    (literal, None)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use proptest::prelude::*;
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
        let types = vec!["NAME".to_owned()];
        let of_the_graph = SearchFilters { entity_types: types, ..SearchFilters::default() };
        for filters in [SearchFilters::default(), of_the_graph] {
            assert!(matches!(Fixture::new().store.allowed(&filters).unwrap(), Allowed::All));
        }
    }

    fn admitted(fixture: &Fixture, filters: &SearchFilters) -> Arc<RowSet> {
        match fixture.store.allowed(filters).unwrap() {
            Allowed::Only(rows) => rows,
            Allowed::All => panic!("all: {filters:?}"),
        }
    }

    #[test]
    fn what_a_filter_admits_is_remembered_until_a_text_changes() {
        let (fixture, rows) = three();
        let blue = SearchFilters { tags: vec!["blue".into()], ..SearchFilters::default() };
        let first = admitted(&fixture, &blue);
        // What acts after ranking, and what the graph answers, is no other question.
        let stricter = SearchFilters {
            min_relevance: Score::HALF,
            entity_types: vec!["NAME".into()],
            ..blue.clone()
        };
        fixture.store.set_fingerprint("model").unwrap();
        fixture.embed_all();
        assert!(Arc::ptr_eq(&first, &admitted(&fixture, &stricter)));
        let mut c = file("c.txt", &["three"]);
        c.tags = vec!["blue".into()];
        fixture.put(&c);
        assert!(admitted(&fixture, &blue).contains(rows[2]) && !first.contains(rows[2]));
        fixture.store.remove_file("c.txt").unwrap();
        assert_eq!(admitted(&fixture, &blue), first);
        // Also where the removal is forgotten by now.
        fixture.put(&c);
        let with_c = admitted(&fixture, &blue);
        fixture.store.remove_file("c.txt").unwrap();
        fixture.store.compact_log(fixture.store.seq().unwrap(), 1).unwrap();
        assert_eq!(admitted(&fixture, &blue), first);
        assert_ne!(with_c, first);
    }

    proptest! {
        #[test]
        fn a_glob_admits_what_it_matches(
            paths in prop::collection::btree_set("[ab가\u{10ffff}\u{d7ff}]{1,2}(/[ab]{1,2}){0,2}", 1..12),
            glob in "([ab가\u{10ffff}\u{d7ff}]{0,2}/?){0,2}(\\*{0,2}|[?]|\\{a,b\\}|[ab])(/\\*\\*|/a)?",
        ) {
            let fixture = Fixture::new();
            let mut expected = Vec::new();
            let Ok(matcher) = compile(&glob) else { return Ok(()) };
            for path in &paths {
                let row = fixture.put(&file(path, &["text"]))[0];
                expected.extend(matcher.is_match(path).then_some(row));
            }
            let filters = SearchFilters { path_glob: Some(glob), ..SearchFilters::default() };
            prop_assert_eq!(admitted(&fixture, &filters).iter().collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn a_broken_glob_is_an_invalid_query() {
        let filters =
            SearchFilters { path_glob: Some("a[".to_owned()), ..SearchFilters::default() };
        let error = Fixture::new().store.allowed(&filters).unwrap_err();
        assert!(matches!(error, Error::InvalidQuery { field: "filters.pathGlob", .. }), "{error}");
    }
}
