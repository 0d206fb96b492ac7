//! Filters to rows, so that every leg is given the same set.

use std::sync::Arc;

use globset::{GlobBuilder, GlobMatcher};
use rusqlite::{Connection, ToSql, params_from_iter};
use trefoil_core::{Allowed, Error, FileId, Result, RowId, RowSet, SearchFilters};

use crate::{Store, chunk::to_json, file::midnight};

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
