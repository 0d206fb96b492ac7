//! JSON and tables to records.

use serde_json::Value;
use trefoil_core::{Document, DocumentFormat};

use crate::chunk::RECORD_SEPARATOR;

/// Fields that come first and without their name, in this order.
const UNNAMED: &[&str] = &["title", "text", "content", "body"];

/// A JSON file: every element of an array is a record, any other value is one.
pub(super) fn json(name: &str, text: &str) -> Result<Document, String> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    let records = if let Value::Array(items) = value { items } else { vec![value] };
    Ok(document(name, records.into_iter().map(fields)))
}

/// A file of a JSON value a line; blank lines are passed over.
pub(super) fn json_lines(name: &str, text: &str) -> Result<Document, String> {
    let records: Result<Vec<_>, String> = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            serde_json::from_str(line)
                .map(fields)
                .map_err(|error| format!("its line {number} is not JSON: {error}"))
        })
        .collect();
    Ok(document(name, records?))
}

/// A table whose first row names the columns.
pub(super) fn table(name: &str, text: &str, delimiter: u8) -> Result<Document, String> {
    let mut reader =
        csv::ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text.as_bytes());
    let malformed = |error: csv::Error| format!("it is not a table: {error}");
    let columns = reader.headers().map_err(malformed)?.clone();
    let mut records = Vec::new();
    for row in reader.records() {
        let row = row.map_err(malformed)?;
        let field = |(i, cell): (usize, &str)| {
            let column = columns.get(i).map(str::trim).filter(|column| !column.is_empty());
            (
                column.map_or_else(|| format!("column {}", i + 1), str::to_owned),
                cell.trim().to_owned(),
            )
        };
        records.push(row.iter().enumerate().map(field).collect());
    }
    Ok(document(name, records))
}

type Fields = Vec<(String, String)>;

fn document(name: &str, records: impl IntoIterator<Item = Fields>) -> Document {
    let records: Vec<String> = records
        .into_iter()
        .map(|fields| render(&fields))
        .filter(|record| !record.is_empty())
        .collect();
    let separator = format!("\n{RECORD_SEPARATOR}\n");
    Document::new(name, records.join(&separator)).format(DocumentFormat::Records)
}

/// A record as a person would read it: title, text, then `key: value` lines.
fn render(fields: &Fields) -> String {
    let place = |key: &str| UNNAMED.iter().position(|name| key.eq_ignore_ascii_case(name));
    let filled = fields.iter().filter(|(_, value)| !value.is_empty());
    let mut lines: Vec<(usize, String)> = filled
        .map(|(key, value)| match place(key) {
            Some(place) => (place, value.clone()),
            None => (UNNAMED.len(), format!("{key}: {value}")),
        })
        .collect();
    lines.sort_by_key(|&(place, _)| place);
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    lines.join("\n").replace(RECORD_SEPARATOR, " ")
}

/// The scalars of a value under their dotted keys, sorted by key. Null says nothing.
fn fields(value: Value) -> Fields {
    let mut fields = Fields::new();
    flatten("", value, &mut fields);
    fields
}

/// `serde_json` parses at most 128 levels, which bounds the recursion.
fn flatten(key: &str, value: Value, fields: &mut Fields) {
    let name = || if key.is_empty() { "text".to_owned() } else { key.to_owned() };
    match value {
        Value::Null => {}
        Value::Bool(truth) => fields.push((name(), truth.to_string())),
        Value::Number(number) => fields.push((name(), number.to_string())),
        Value::String(text) => fields.push((name(), text.trim().to_owned())),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            for item in items {
                flatten(key, item, fields);
            }
        }
        Value::Array(items) => {
            let items: Vec<String> =
                items.into_iter().flat_map(self::fields).map(|(_, item)| item).collect();
            fields.push((name(), items.join(", ")));
        }
        Value::Object(members) => {
            // Sorted here, since the order of the map depends on a feature of its crate.
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            for (member, value) in members {
                let key = if key.is_empty() { member } else { format!("{key}.{member}") };
                flatten(&key, value, fields);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(document: Result<Document, String>, records: &[&str]) {
        let document = document.unwrap();
        let found: Vec<&str> = document.body.split(RECORD_SEPARATOR).map(str::trim).collect();
        assert_eq!(found, records);
        assert_eq!(document.format, DocumentFormat::Records);
    }

    #[test]
    fn every_element_line_and_row_is_a_record() {
        check(
            json("a", r#"[{"title": "T", "year": 1, "text": "x\ny"}, "plain", null]"#),
            &["T\nx\ny\nyear: 1", "plain"],
        );
        check(json("a", r#"{"z": true, "a": {"c": [1, 2], "b": null}}"#), &["a.c: 1, 2\nz: true"]);
        check(json("a", r#"{"by": [{"name": "A"}, {"name": "B"}]}"#), &["by.name: A\nby.name: B"]);
        check(
            json_lines("a", "{\"Body\": \"x\"}\n\n{\"id\": 2, \"content\": \"\\u001Ey\"}\n"),
            &["x", "y\nid: 2"],
        );
        check(
            table("a", "id,Title,note\n1,Rain,\"a, \"\"b\"\"\"\n2,,x,extra\n", b','),
            &["Rain\nid: 1\nnote: a, \"b\"", "id: 2\nnote: x\ncolumn 4: extra"],
        );
        check(table("a", "名前\t色\nクローバー\t緑\n", b'\t'), &["名前: クローバー\n色: 緑"]);
        check(json("a", "[]"), &[""]);
        check(table("a", "only,header\n", b','), &[""]);
    }

    #[test]
    fn what_is_malformed_names_the_place() {
        let check = |result: Result<Document, String>, reason: &str| {
            let found = result.unwrap_err();
            assert!(found.starts_with(reason), "{found}");
        };
        check(json("a", "{"), "it is not JSON: EOF");
        check(json("a", &"[".repeat(100_000)), "it is not JSON: recursion limit");
        check(json_lines("a", "{}\n\n{x}\n"), "its line 3 is not JSON");
    }
}
