//! Documents without what must not be kept.

use serde_json::Value;
use trefoil_core::{Document, Metadata, Result};
use trefoil_text::{Redaction, find_sensitive, redact};

/// The document with a mark, such as `[email]`, in place of everything sensitive in its text,
/// title, tags and the strings of its metadata. Its path stays: it is the key of the document.
///
/// # Errors
/// [`Error::InvalidField`](trefoil_core::Error::InvalidField) if its metadata is too large with
/// the marks.
pub(crate) fn redacted(document: &Document) -> Result<Document> {
    let cut = |text: &str| redact(text, &Redaction::ALL).text;
    let metadata = document.metadata.fields().clone().into_iter();
    let metadata = metadata.map(|(key, value)| (key, strings(value, &cut))).collect();
    Ok(Document {
        title: cut(&document.title),
        body: same_lines(&document.body),
        tags: document.tags.iter().map(|tag| cut(tag)).collect(),
        metadata: Metadata::new(metadata)?,
        ..document.clone()
    })
}

/// The value with each string changed.
fn strings(value: Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(&text).into(),
        Value::Array(list) => list.into_iter().map(|one| strings(one, change)).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (key, strings(value, change))).collect()
        }
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

/// The text with marks. A mark keeps the line breaks of what it replaces, so that line
/// numbers stay those of the file; byte offsets are those of the redacted text.
fn same_lines(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut end = 0;
    for (kind, span) in find_sensitive(text, &Redaction::ALL) {
        redacted.push_str(text.get(end..span.start).unwrap_or_default());
        redacted.push_str(kind.mark());
        let cut = text.get(span.start..span.end).unwrap_or_default();
        redacted.extend(cut.chars().filter(|&one| one == '\n'));
        end = span.end;
    }
    redacted.push_str(text.get(end..).unwrap_or_default());
    redacted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn of_two_keys_that_share_a_character_none_stays() {
        let text = "sk-000aaaaa000aa0aa0a¼sk-a0aaaaaa0aaa0aa0a0";
        assert_eq!(same_lines(text), "[secret][secret]");
    }

    #[test]
    fn all_but_the_path_and_the_keys_is_redacted() {
        let document = Document {
            title: "連絡先 taro@example.com".to_owned(),
            tags: vec!["owner:taro@example.com".to_owned(), "release".to_owned()],
            metadata: serde_json::from_str(r#"{"by": [{"mail": "taro@example.com"}], "n": 1}"#)
                .unwrap(),
            ..Document::new("taro@example.com.md", "담당자 전화 010-1234-5678, taro@example.com")
        };
        let redacted = redacted(&document).unwrap();
        assert_eq!(redacted.title, "連絡先 [email]");
        assert_eq!(redacted.body, "담당자 전화 [phone], [email]");
        assert_eq!(redacted.tags, ["owner:[email]", "release"]);
        assert_eq!(redacted.metadata.to_json(), r#"{"by":[{"mail":"[email]"}],"n":1}"#);
        assert_eq!(redacted.path, document.path);
    }

    #[test]
    fn what_spans_lines_leaves_its_line_breaks() {
        let text = "one\n<private>two\nthree</private>\nfour";
        assert_eq!(same_lines(text), "one\n[private]\n\nfour");
    }

    proptest! {
        #[test]
        fn the_number_of_lines_stays(
            text in "([a-z\n]{0,8}(<private>|</private>|a@b\\.com|090-1234-5678|秘密|비밀)){0,6}",
        ) {
            prop_assert_eq!(same_lines(&text).matches('\n').count(), text.matches('\n').count());
        }
    }
}
