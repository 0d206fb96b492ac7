//! What must not be kept: personal data and credentials, found and cut out.

mod card;
mod credential;
mod phone;
mod private;
mod rules;

use std::{collections::BTreeSet, fmt, sync::LazyLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use lazy_regex::regex;
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, ByteSpan};

pub use self::rules::{RedactionPattern, RedactionRules};

use crate::normalize::Normalized;

/// What is cut out of a text, in the order in which it is looked for: where two overlap, the
/// first names both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Redaction {
    /// What its writer set between `<private>` and `</private>`.
    Private,
    /// A private key, or the token of a service.
    Secret,
    /// An e-mail address.
    Email,
    /// The number of a payment card.
    Card,
    /// A telephone number.
    Phone,
}

impl Redaction {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Private, Self::Secret, Self::Email, Self::Card, Self::Phone];

    /// What is put in its place.
    pub const fn mark(self) -> &'static str {
        match self {
            Self::Private => "[private]",
            Self::Secret => "[secret]",
            Self::Email => "[email]",
            Self::Card => "[card]",
            Self::Phone => "[phone]",
        }
    }

    fn find(self, text: &str, found: &mut Vec<ByteSpan>) {
        match self {
            Self::Private => private::find(text, found),
            Self::Secret => credential::find(text, found),
            Self::Email => email(text, found),
            Self::Card => card::find(text, found),
            Self::Phone => phone::find(text, found),
        }
    }
}

impl fmt::Display for Redaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.mark().trim_matches(['[', ']']))
    }
}

/// A text without what must not be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// The text, with a mark in each place from which something was cut.
    pub text: String,
    /// What was cut out.
    pub found: BTreeSet<Redaction>,
    /// The names of the patterns that found something more.
    pub named: BTreeSet<String>,
}

impl Redacted {
    /// True if nothing was cut out.
    pub fn is_clean(&self) -> bool {
        self.found.is_empty() && self.named.is_empty()
    }

    /// The class of a unit whose writer gave it `class`: what was found raises it to
    /// personal data, and nothing lowers it.
    ///
    /// A credential raises it no further, for it is no longer in the text.
    pub fn class(&self, class: BoundaryClass) -> BoundaryClass {
        if self.is_clean() { class } else { class.max(BoundaryClass::Pii) }
    }
}

/// Cuts out of a text whatever of `kinds` it holds. Done again, it changes nothing.
///
/// ```
/// use trefoil_text::{Redaction, redact};
///
/// let redacted = redact("連絡先は taro@example.com、０９０−１２３４−５６７８です", &Redaction::ALL);
/// assert_eq!(redacted.text, "連絡先は [email]、[phone]です");
/// ```
pub fn redact(text: &str, kinds: &[Redaction]) -> Redacted {
    let kinds = kinds.iter().copied().collect();
    RedactionRules::of(kinds).redact(text)
}

/// A text with a mark in the place of each span; the spans are apart and in order.
fn cut(text: &str, spans: impl IntoIterator<Item = (String, ByteSpan)>) -> String {
    let (mut left, mut end) = (String::with_capacity(text.len()), 0);
    for (mark, span) in spans {
        left.push_str(text.get(end..span.start).unwrap_or_default());
        left.push_str(&mark);
        end = span.end;
    }
    left.push_str(text.get(end..).unwrap_or_default());
    left
}

/// Where a text holds something of `kinds`: apart and in order. Letters and digits of any
/// width are one. What is found may have hidden what began in it, such as the second of two keys
/// with `¼` between them, whose digits belong to both: it is looked for until nothing is left.
pub fn find_sensitive(text: &str, kinds: &[Redaction]) -> Vec<(Redaction, ByteSpan)> {
    let (mut left, mut found) = (text.to_owned(), Vec::new());
    loop {
        let more = find_once(&left, kinds);
        if more.is_empty() {
            return apart(found);
        }
        for &(_, span) in &more {
            left.replace_range(span.start..span.end, &"[".repeat(span.end - span.start));
        }
        found.extend(more);
    }
}

fn find_once(text: &str, kinds: &[Redaction]) -> Vec<(Redaction, ByteSpan)> {
    let normalized = Normalized::new(text);
    let mut left = normalized.text.to_string();
    let mut found = Vec::new();
    for kind in Redaction::ALL.into_iter().filter(|kind| kinds.contains(kind)) {
        let mut spans = Vec::new();
        kind.find(&left, &mut spans);
        for span in spans {
            // What is found is a gap to what is looked for next, as its mark will be.
            left.replace_range(span.start..span.end, &"[".repeat(span.end - span.start));
            found.push((kind, normalized.original(span.start, span.end)));
        }
    }
    apart(found)
}

/// What overlaps as one: a private key may run on over what was found before it.
fn apart(mut found: Vec<(Redaction, ByteSpan)>) -> Vec<(Redaction, ByteSpan)> {
    found.sort_unstable_by_key(|&(kind, span)| (span.start, span.end, kind));
    let mut apart: Vec<(Redaction, ByteSpan)> = Vec::new();
    for (kind, span) in found {
        match apart.last_mut() {
            Some((first, last)) if span.start < last.end => {
                *first = kind.min(*first);
                last.end = span.end.max(last.end);
            }
            _ => apart.push((kind, span)),
        }
    }
    apart
}

/// True for a file that, by its name, holds credentials: such a file is not read into
/// memory.
pub fn is_credential_file(path: &str) -> bool {
    static NAMES: LazyLock<GlobSet> = LazyLock::new(|| {
        let mut names = GlobSetBuilder::new();
        for glob in CREDENTIAL_FILES {
            if let Ok(glob) = GlobBuilder::new(glob).case_insensitive(true).build() {
                names.add(glob);
            }
        }
        names.build().unwrap_or_default()
    });
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    NAMES.is_match(name)
}

/// Names of files that hold credentials.
const CREDENTIAL_FILES: [&str; 4] = ["*.env", "*.key", "*secret*", "*password*"];

/// Finds e-mail addresses; one before a colon, as `git@host:`, is the address of a
/// repository.
fn email(text: &str, found: &mut Vec<ByteSpan>) {
    let email = regex!(
        r"[\p{Latin}\p{Greek}\p{Cyrillic}0-9._%+'&-]+@(?:[\p{Latin}0-9](?:[\p{Latin}0-9-]*[\p{Latin}0-9])?\.)+[A-Za-z]{2,24}"
    );
    for hit in email.find_iter(text) {
        let repository = hit.as_str().starts_with("git@")
            && text.get(hit.end()..).is_some_and(|after| after.starts_with(':'));
        if !repository {
            found.push(ByteSpan { start: hit.start(), end: hit.end() });
        }
    }
}

/// True if neither a letter or digit of ASCII nor one of `joins` and then a digit adjoins
/// `span`: what stands there is no part of something longer. What begins with a sign is
/// joined to nothing before it.
fn stands_alone(text: &str, span: ByteSpan, joins: &[char]) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut before = text.get(..span.start).unwrap_or_default().chars().rev();
    let mut after = text.get(span.end..).unwrap_or_default().chars();
    let free = |near: Option<char>, next: Option<char>| match near {
        Some(near) if part(near) => false,
        Some(near) if joins.contains(&near) => !next.is_some_and(|c| c.is_ascii_digit()),
        _ => true,
    };
    let signed = text.get(span.start..).is_some_and(|rest| rest.starts_with(['+', '(']));
    (signed || free(before.next(), before.next())) && free(after.next(), after.next())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cases {
        cut: Vec<Cut>,
        kept: Vec<Kept>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Cut {
        text: String,
        expected: String,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Kept {
        what: String,
        texts: Vec<String>,
    }

    fn cases() -> Cases {
        toml::from_str(include_str!("redact/cases.toml")).unwrap()
    }

    #[test]
    fn what_must_not_be_kept_is_cut_out() {
        for Cut { text, expected } in cases().cut {
            assert_eq!(redact(&text, &Redaction::ALL).text, expected, "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_it_stays() {
        for Kept { what, texts } in cases().kept {
            for text in texts {
                assert_eq!(redact(&text, &Redaction::ALL).text, text, "{what}");
            }
        }
    }

    #[test]
    fn full_width_is_no_disguise() {
        let wide = |text: &str| -> String {
            let widen = |c| {
                if ('!'..='~').contains(&c) {
                    char::from_u32(u32::from(c) + 0xfee0)
                } else {
                    Some(c)
                }
            };
            text.chars().filter_map(widen).collect()
        };
        let full = |kind: Redaction, text: &str| {
            assert_eq!(redact(&wide(text), &[kind]).text, kind.mark(), "{text}");
        };
        full(Redaction::Email, "mika@example.co.jp");
        full(Redaction::Phone, "03-1234-5678");
        full(Redaction::Card, "4111-1111-1111-1111");
        full(Redaction::Secret, "sk-abcdefgh12345678ijkl");
        full(Redaction::Private, "<private>x</private>");
    }

    #[test]
    fn only_what_is_asked_for_is_cut() {
        let text = "mika@example.com 090-1234-5678";
        assert_eq!(redact(text, &[Redaction::Email]).text, "[email] 090-1234-5678");
        assert_eq!(redact(text, &[]).text, text);
    }

    #[test]
    fn detection_raises_the_class_and_never_lowers_it() {
        use BoundaryClass::{Internal, Pii, Public, Secret};
        let class = |text: &str, class| redact(text, &Redaction::ALL).class(class);
        for found in ["a@example.com", "<private>x", "ghp_0123456789012345678901234567890123456"] {
            assert_eq!(
                [Public, Internal, Pii, Secret].map(|one| class(found, one)),
                [Pii, Pii, Pii, Secret]
            );
        }
        assert_eq!([Public, Secret].map(|one| class("plain", one)), [Public, Secret]);
    }

    #[test]
    fn what_overlaps_is_cut_as_a_whole() {
        let text = "<private>a@example.com</private>, 4111 1111 1111 1111";
        let found = find_sensitive(text, &Redaction::ALL);
        let kinds: Vec<_> = found.iter().map(|&(kind, _)| kind).collect();
        assert_eq!(kinds, [Redaction::Private, Redaction::Card]);
        assert_eq!(redact(text, &Redaction::ALL).text, "[private], [card]");
    }

    #[test]
    fn what_hid_behind_a_find_is_cut_out_too() {
        let text = "sk-000aaaaa000aa0aa0a¼sk-a0aaaaaa0aaa0aa0a0";
        assert_eq!(redact(text, &Redaction::ALL).text, "[secret][secret]");
    }

    #[test]
    fn files_that_hold_credentials_by_their_name() {
        for path in [
            ".env",
            "prod.env",
            "a/b/server.key",
            "my-Secrets.yaml",
            "C:\\x\\PASSWORDS.txt",
            "password",
        ] {
            assert!(is_credential_file(path), "{path}");
        }
        for path in ["environment.md", "keys.md", "secret/notes.md", "a.key/b.md", "pass.txt", ""] {
            assert!(!is_credential_file(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn redacting_twice_is_redacting_once(
            text in "([a-z]{1,3}@[a-z]{2}\\.com|</?private>|-----BEGIN PRIVATE KEY-----|sk-[a-z0-9]{18}|\\+?[0-9]{1,4}[- ().]|[0-9]{9,16}|[가-깋ぁ-ん０-９] ?|電話|\\PC){0,12}",
        ) {
            let once = redact(&text, &Redaction::ALL);
            prop_assert_eq!(&redact(&once.text, &Redaction::ALL).text, &once.text);
            let found = find_sensitive(&text, &Redaction::ALL);
            prop_assert!(found.windows(2).all(|pair| pair[0].1.end <= pair[1].1.start));
            prop_assert!(found.iter().all(|(_, span)| text.get(span.start..span.end).is_some()));
        }

        #[test]
        fn an_address_is_cut_out_of_any_text(before in "[ぁ-ん가-깋 、]{0,8}", after in "[ぁ-ん가-깋 。]{0,8}") {
            for secret in ["mika.sato@example.co.jp", "090-1234-5678", "4111111111111111", "ghp_0123456789abcdefghijABCDEFGHIJ012345"] {
                let redacted = redact(&format!("{before}{secret}{after}"), &Redaction::ALL);
                prop_assert!(!redacted.text.contains(secret));
                prop_assert!(redacted.text.starts_with(&before) && redacted.text.ends_with(&after));
            }
        }
    }
}
