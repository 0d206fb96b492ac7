//! How values stand in columns, and how they are read from them. A value that is not what its
//! column is for is damage.

use rusqlite::{Connection, Params, Row};
use serde::de::DeserializeOwned;
use trefoil_core::{ByteSpan, Language, Metadata, RowId};

use crate::fault::unreadable;

/// A count as SQLite takes it.
pub(crate) fn limit_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// The rows that a statement selects in its first column.
pub(crate) fn row_ids(
    tx: &Connection,
    select: &str,
    parameters: impl Params,
) -> rusqlite::Result<Vec<RowId>> {
    tx.prepare_cached(select)?.query_map(parameters, |row| row.get(0).map(RowId::new))?.collect()
}

/// Reads a column that holds a text which `parse` understands, such as an id.
pub(crate) fn parsed<'r, T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    row: &'r Row<'_>,
    column: usize,
    parse: impl FnOnce(&'r str) -> Result<T, E>,
) -> rusqlite::Result<T> {
    parse(row.get_ref(column)?.as_str()?).map_err(|error| unreadable(column, error))
}

/// Reads a column that holds JSON.
pub(crate) fn json<T: DeserializeOwned>(row: &Row<'_>, column: usize) -> rusqlite::Result<T> {
    parsed(row, column, |text| serde_json::from_str(text))
}

/// A list of texts as a JSON array.
pub(crate) fn to_json(texts: &[impl AsRef<str>]) -> rusqlite::Result<String> {
    let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    serde_json::to_string(&texts)
        .map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

/// Reads a column that holds a JSON array of texts.
pub(crate) fn texts(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<String>> {
    // Most lists are empty.
    if row.get_ref(column)?.as_str()? == "[]" { Ok(Vec::new()) } else { json(row, column) }
}

/// Reads a column that holds the metadata of a document.
pub(crate) fn metadata(row: &Row<'_>, column: usize) -> rusqlite::Result<Metadata> {
    // Most documents have none.
    if row.get_ref(column)?.as_str()? == "{}" { Ok(Metadata::default()) } else { json(row, column) }
}

/// Spans as a JSON array of `[start, end]`.
pub(crate) fn spans_to_json(spans: &[ByteSpan]) -> String {
    let spans: Vec<[usize; 2]> = spans.iter().map(|span| [span.start, span.end]).collect();
    serde_json::json!(spans).to_string()
}

/// Reads a column that holds spans.
pub(crate) fn spans(row: &Row<'_>, column: usize) -> rusqlite::Result<Vec<ByteSpan>> {
    let spans: Vec<[usize; 2]> = json(row, column)?;
    Ok(spans.into_iter().map(|[start, end]| ByteSpan { start, end }).collect())
}

/// Reads a column that holds a language's code.
pub(crate) fn language(row: &Row<'_>, column: usize) -> rusqlite::Result<Language> {
    parsed(row, column, str::parse)
}

/// Reads a column that holds the number of a closed choice.
pub(crate) fn coded<T>(
    row: &Row<'_>,
    column: usize,
    from: impl Fn(u8) -> Option<T>,
) -> rusqlite::Result<T> {
    let code: u8 = row.get(column)?;
    from(code).ok_or_else(|| unreadable(column, format!("{code} stands for nothing")))
}
