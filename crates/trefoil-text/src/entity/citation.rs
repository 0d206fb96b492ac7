//! References to works: `(Page & Brin, 1998)`, `Traag et al. (2019)`, `arXiv:2405.14831`,
//! `doi:10.1145/1557019`, `RFC 2119`.

use std::sync::LazyLock;

use regex::Regex;
use trefoil_core::ByteSpan;

/// The references of a text, by place, apart.
pub(crate) fn citations(text: &str) -> impl Iterator<Item = ByteSpan> {
    // Each form has one of these; the rest of the texts need no search.
    let may_have = ["et al", "19", "20", "arXiv", "arxiv", "doi", "RFC"];
    let searched = may_have.iter().any(|part| text.contains(part)).then_some(text);
    let found = searched.zip(CITATION.as_ref()).into_iter();
    found.flat_map(|(text, citation)| citation.captures_iter(text)).filter_map(|found| {
        let cited = found.iter().skip(1).flatten().next()?;
        Some(ByteSpan { start: cited.start(), end: cited.end() })
    })
}

static CITATION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let author = r"\p{Lu}[\p{L}'’-]+";
    let year = r"(?:1[89]|20)\d\d[a-z]?\b";
    let forms = [
        format!(r"\b({author} et al\.?,? \(?{year})"),
        format!(r"[(;] ?({author}(?:,? (?:and|&) {author})?, {year})"),
        r"\b((?i:arxiv): ?\d{4}\.\d{4,5}|(?i:doi): ?10\.\d{4,9}/[^\s,;)\]]+|RFC ?\d{2,5})\b"
            .to_owned(),
    ];
    Regex::new(&forms.join("|")).ok()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_cited() {
        let text = "As Traag et al. (2019) and others (Page & Brin, 1998; Kleinberg, 1999a) say, \
                    see arXiv:2405.14831, doi:10.1145/1557019.1557031, and RFC 2119; in Paris (1920).";
        let cited: Vec<&str> = citations(text).map(|span| &text[span.start..span.end]).collect();
        assert_eq!(
            cited,
            [
                "Traag et al. (2019",
                "Page & Brin, 1998",
                "Kleinberg, 1999a",
                "arXiv:2405.14831",
                "doi:10.1145/1557019.1557031",
                "RFC 2119",
            ]
        );
    }
}
