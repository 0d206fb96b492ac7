//! Text within HTML and XML.

/// The media type of a page.
pub(crate) const HTML: &str = "text/html; charset=utf-8";

/// A page with a title, which is no markup, and a body, which is.
pub(crate) fn page(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title>{body}\n"
    )
}

/// A text within HTML or XML: a character that XML cannot hold is left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_name_is_markup() {
        assert_eq!(escaped("<a b=\"c\">&\u{0}\u{ffff}東"), "&lt;a b=&quot;c&quot;&gt;&amp;東");
    }
}
