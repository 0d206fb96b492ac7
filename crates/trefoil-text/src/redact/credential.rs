//! Private keys and the tokens of services, told by their form.

use std::sync::LazyLock;

use regex::Regex;
use trefoil_core::ByteSpan;

use super::stands_alone;

/// Forms of credentials. Sources: RFC 7468 (PEM), RFC 7519 (JWT), and the services' own
/// documentation of the prefixes of their tokens.
const FORMS: [&str; 9] = [
    // A private key, to its end or, without one, to the end of the text.
    r"(?s)-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----|\z)",
    // API keys of language model services, and of Stripe.
    r"sk-[A-Za-z0-9_-]{16,}",
    r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    // GitHub.
    r"gh[opusr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    // Slack.
    r"xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{10,}",
    r"https://hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]+",
    // AWS: the id of a key, and the key where it is named.
    r"(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA)[A-Z0-9]{16}",
    r#"(?i)aws_?secret_?(?:access_?)?key["']?\s*[:=]\s*["']?[A-Za-z0-9/+=]{40}"#,
    // A JSON Web Token: two objects in Base64 and a signature.
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
];

/// Finds credentials.
pub(super) fn find(text: &str, found: &mut Vec<ByteSpan>) {
    static PATTERNS: LazyLock<Vec<Regex>> =
        LazyLock::new(|| FORMS.iter().filter_map(|form| pattern(form).ok()).collect());
    for hit in PATTERNS.iter().flat_map(|pattern| pattern.find_iter(text)) {
        let span = ByteSpan { start: hit.start(), end: hit.end() };
        // The lines around a private key are unlike anything else.
        let framed = hit.as_str().starts_with("-----");
        if framed || is_key(hit.as_str()) && stands_alone(text, span, &[]) {
            found.push(span);
        }
    }
}

/// The pattern of a form. It begins where a word does: what stands in the middle of one is not
/// tried, so that it cannot hide a key that begins later in it.
fn pattern(form: &str) -> Result<Regex, regex::Error> {
    if form.contains("-----BEGIN") {
        return Regex::new(form);
    }
    Regex::new(&format!(r"(?-u:\b)(?:{form})"))
}

/// False for words that only begin like a key, as `sk-learn-contrib-examples`.
fn is_key(token: &str) -> bool {
    !token.starts_with("sk-") || token.bytes().any(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_key_does_not_hide_the_next() {
        let key = "sk-a0a00a0aaaa00aa0aa";
        let text = format!("task-aaaaa0a00aa0aaa0000-{key} and 열쇠{key}");
        let mut found = Vec::new();
        find(&text, &mut found);
        let found: Vec<&str> = found.iter().map(|span| &text[span.start..span.end]).collect();
        assert_eq!(found, [key, key]);
    }

    #[test]
    fn every_form_is_a_pattern() {
        for form in FORMS {
            pattern(form).unwrap();
        }
    }
}
