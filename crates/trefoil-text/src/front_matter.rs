//! The YAML block before a Markdown text.

use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;

/// A longer block is a text between two rules.
const MAX_BYTES: usize = 64 * 1024;

/// What a front matter says, and how much of the text it takes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FrontMatter {
    pub(crate) title: Option<String>,
    /// Sorted, each once.
    pub(crate) tags: Vec<String>,
    pub(crate) date: Option<Date>,
    /// Bytes up to the end of the closing line.
    pub(crate) len: usize,
}

/// The fields that are read, whatever their types turn out to be.
#[derive(Default, Deserialize)]
struct Fields {
    title: Option<Value>,
    tags: Option<Value>,
    date: Option<Value>,
}

impl FrontMatter {
    /// The front matter that a text starts with: a line `---`, then `key: value`
    /// lines, then a line `---` or `...`. A block of that shape that is no valid
    /// YAML is front matter too, but says nothing.
    pub(crate) fn of(text: &str) -> Option<Self> {
        let mut lines = text.split_inclusive('\n');
        let mut len = lines.next().filter(|line| line.trim_end() == "---")?.len();
        let block_start = len;
        for line in lines {
            if matches!(line.trim_end(), "---" | "...") {
                let block = text.get(block_start..len)?;
                return starts_with_a_key(block).then(|| Self::read(block, len + line.len()));
            }
            len += line.len();
            if len > MAX_BYTES {
                return None;
            }
        }
        None
    }

    fn read(block: &str, len: usize) -> Self {
        let Fields { title, tags, date } = serde_saphyr::from_str(block).unwrap_or_default();
        let mut tags: Vec<String> = match tags {
            Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
            Some(Value::String(list)) => list.split(',').map(|tag| tag.trim().to_owned()).collect(),
            _ => Vec::new(),
        };
        tags.retain(|tag| !tag.is_empty());
        tags.sort_unstable();
        tags.dedup();
        Self {
            title: title.as_ref().and_then(scalar).filter(|title| !title.is_empty()),
            tags,
            date: date.as_ref().and_then(scalar).and_then(|text| day(&text)),
            len,
        }
    }
}

fn starts_with_a_key(block: &str) -> bool {
    let Some(line) = block.lines().find(|line| !line.trim().is_empty() && !line.starts_with('#'))
    else {
        return true;
    };
    line.split_once(':').is_some_and(|(key, _)| {
        key.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '"' || c == '\'')
            && !key.contains(|c: char| c.is_whitespace())
    })
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// The day that a date or a time starts with: `2024-05-31`, `2024/05/31`,
/// `2024-05-31T12:00:00Z`.
fn day(text: &str) -> Option<Date> {
    text.get(..10)?.replace('/', "-").parse().ok()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn check(text: &str, title: &str, tags: &[&str], date: Option<Date>, rest: &str) {
        let found = FrontMatter::of(text).unwrap_or_default();
        assert_eq!(found.title.as_deref().unwrap_or_default(), title, "{text}");
        assert_eq!(found.tags, tags, "{text}");
        assert_eq!(found.date, date, "{text}");
        assert_eq!(&text[found.len..], rest, "{text}");
    }

    #[test]
    fn title_tags_and_date_are_read() {
        let may = Some(date(2024, 5, 31));
        check(
            "---\ntitle: A\ntags: [b, a, b]\ndate: 2024-05-31\n---\nx",
            "A",
            &["a", "b"],
            may,
            "x",
        );
        check(
            "---\r\ntitle: \"日: 本\"\r\ntags: b, a\r\n---\r\nx",
            "日: 本",
            &["a", "b"],
            None,
            "x",
        );
        check("---\ndate: 2024/05/31\n...\n", "", &[], may, "");
        check("---\ndate: 2024-05-31T10:00:00Z\nauthor: {name: c}\n---", "", &[], may, "");
        check(
            "---\ntitle: 2024\ntags:\n  - 1\n  - true\n  - [x]\n---\n",
            "2024",
            &["1", "true"],
            None,
            "",
        );
        check("---\n# note\ndate: soon\n---\n", "", &[], None, "");
    }

    #[test]
    fn what_is_no_front_matter_stays() {
        for text in [
            "",
            "---",
            "---\ntitle: A\n",
            "a\n---\ntitle: b\n---\n",
            "---\n\nOnce upon a time: it was.\n\n---\n",
        ] {
            assert_eq!(FrontMatter::of(text), None, "{text}");
        }
        let long = format!("---\na: {}\n---\n", "x".repeat(MAX_BYTES));
        assert_eq!(FrontMatter::of(&long), None);
    }

    #[test]
    fn broken_yaml_is_dropped_not_shown() {
        check("---\ntitle: Foo: [bar\n---\nx", "", &[], None, "x");
        let bomb = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |yaml, i| {
            format!("{yaml}a{i}: &a{i} [*a{}, *a{}]\n", i - 1, i - 1)
        });
        check(&format!("---\n{bomb}tags: *a39\n---\nx"), "", &[], None, "x");
    }
}
