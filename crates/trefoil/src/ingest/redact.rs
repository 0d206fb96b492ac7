//! Documents without what must not be kept.

use trefoil_core::Document;
use trefoil_text::{Redaction, find_sensitive, redact};

/// The document with a mark, such as `[email]`, in place of everything sensitive in its text,
/// title and tags. Its path stays: it is the key of the document.
pub(crate) fn redacted(document: &Document) -> Document {
    let cut = |text: &str| redact(text, &Redaction::ALL).text;
    Document {
        title: cut(&document.title),
        body: same_lines(&document.body),
        tags: document.tags.iter().map(|tag| cut(tag)).collect(),
        ..document.clone()
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
    fn text_title_and_tags_are_redacted_and_the_path_is_not() {
        let document = Document {
            title: "連絡先 taro@example.com".to_owned(),
            tags: vec!["owner:taro@example.com".to_owned(), "release".to_owned()],
            ..Document::new("taro@example.com.md", "담당자 전화 010-1234-5678, taro@example.com")
        };
        let redacted = redacted(&document);
        assert_eq!(redacted.title, "連絡先 [email]");
        assert_eq!(redacted.body, "담당자 전화 [phone], [email]");
        assert_eq!(redacted.tags, ["owner:[email]", "release"]);
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
