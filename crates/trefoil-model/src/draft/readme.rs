//! What a model's page says: its front matter, and prefixes that it names.

use serde::Deserialize;

/// What is read of a `README.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Readme {
    pub(super) license: Option<String>,
    /// Codes of languages, in lower case.
    pub(super) languages: Vec<String>,
    pub(super) tags: Vec<String>,
    /// What its text puts before questions and passages.
    pub(super) prefixes: Option<[&'static str; 2]>,
}

/// Prefixes of questions and passages that models are published with, the longer before what is
/// within them.
const PREFIXES: [[&str; 2]; 3] = [
    ["search_query: ", "search_document: "],
    ["query: ", "passage: "],
    ["Represent this sentence for searching relevant passages: ", ""],
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FrontMatter {
    license: Option<OneOrMany>,
    language: Option<OneOrMany>,
    tags: Option<OneOrMany>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    // First: whatever else may stand there is a word too.
    Many(Vec<Word>),
    One(Word),
}

/// A word; the code of Norwegian is one that YAML may take for something else.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Flag(bool),
    Other(serde::de::IgnoredAny),
}

impl Word {
    fn into_text(self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text),
            Self::Flag(false) => Some("no".to_owned()),
            Self::Flag(true) | Self::Other(_) => None,
        }
    }
}

impl OneOrMany {
    fn into_vec(self) -> Vec<String> {
        let words = match self {
            Self::One(one) => vec![one],
            Self::Many(many) => many,
        };
        words.into_iter().filter_map(Word::into_text).collect()
    }
}

impl Readme {
    /// Front matter that is no YAML says nothing.
    pub(super) fn of(text: &str) -> Self {
        let text = text.trim_start_matches('\u{feff}');
        let front = text.strip_prefix("---\n").or_else(|| text.strip_prefix("---\r\n"));
        let front = front.and_then(|rest| Some(rest.split_once("\n---")?.0)).unwrap_or_default();
        let FrontMatter { license, language, tags } =
            serde_saphyr::from_str(front).unwrap_or_default();
        let list = |value: Option<OneOrMany>| value.map(OneOrMany::into_vec).unwrap_or_default();
        let languages = list(language).into_iter().map(|code| code.to_lowercase());
        let named = |[query, passage]: &&[&str; 2]| {
            // At the start of a text: in quotes, or of a line of code.
            text.contains(query) && text.contains(passage)
        };
        Self {
            license: list(license).into_iter().next(),
            languages: languages.collect(),
            tags: list(tags),
            prefixes: PREFIXES.iter().find(named).copied(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_names_licence_and_languages() {
        let text = "---\nlanguage:\n- multilingual\n- en\n- JA\nlicense: mit\ntags:\n- x\n---\n# A";
        let readme = Readme::of(text);
        assert_eq!(readme.license.as_deref(), Some("mit"));
        assert_eq!(readme.languages, ["multilingual", "en", "ja"]);
        assert_eq!((readme.tags.as_slice(), readme.prefixes), (&["x".to_owned()][..], None));
        assert_eq!(Readme::of("---\nlanguage: en\n---\n").languages, ["en"]);
        let odd =
            Readme::of("---\nlanguage: [no, 7, en]\nlicense: mit\nmodel-index: [{a: 1}]\n---\n");
        assert!(odd.languages.starts_with(&["no".to_owned()]), "{odd:?}");
        assert!(odd.languages.ends_with(&["en".to_owned()]), "{odd:?}");
        assert_eq!(odd.license.as_deref(), Some("mit"));
        for nothing in ["", "---\n", "# A", "---\n[: {\n---\n", "---\nlicense:\n---\n"] {
            assert_eq!(Readme::of(nothing), Readme::default(), "{nothing}");
        }
    }

    #[test]
    fn prefixes_are_those_that_the_text_names() {
        let check = |text: &str, expected: Option<[&str; 2]>| {
            assert_eq!(Readme::of(text).prefixes, expected, "{text}");
        };
        check(
            "Each text starts with \"query: \" or \"passage: \".",
            Some(["query: ", "passage: "]),
        );
        let nomic = "`search_query: ` and `search_document: `, not query: or passage: alone";
        check(nomic, Some(["search_query: ", "search_document: "]));
        check("'Represent this sentence for searching relevant passages: '", Some(PREFIXES[2]));
        check("A query: what is it?", None);
    }
}
