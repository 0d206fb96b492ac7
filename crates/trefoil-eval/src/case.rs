use std::{collections::BTreeSet, fmt, path::Path};

use serde::Deserialize;
use trefoil::{Error, Result, SearchFilters};

use crate::{Judgements, lines::parse_toml};

/// A question and what has to be found. In TOML a `[[case]]` with these fields.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrievalCase {
    /// Names it in messages; unique.
    pub id: String,
    /// What is asked.
    pub question: String,
    /// Any one of these is right.
    pub answers: Vec<Expected>,
    /// The worst rank, from 1, at which the answer counts as found; 10 by default.
    #[serde(default = "ten")]
    pub top: usize,
    /// What is searched. `min_relevance` is not looked at.
    #[serde(default)]
    pub filters: SearchFilters,
}

/// A passage that answers. A text alone, in TOML and in code, is a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "PathOrParts")]
pub struct Expected {
    /// The document's path, or the end of it from a `/` on.
    pub path: Option<String>,
    /// A heading that the passage stands under.
    pub heading: Option<String>,
    /// The chunk's id.
    pub chunk: Option<String>,
}

/// For each rank, which answer stands there for the first time, if one does.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    answers: Vec<Option<usize>>,
    documents: BTreeSet<String>,
    seen: BTreeSet<usize>,
}

/// A passage, as far as an answer may name it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passage<'p> {
    pub(crate) path: &'p str,
    pub(crate) headings: &'p [String],
    pub(crate) chunk: &'p str,
}

impl RetrievalCase {
    /// A case that is right with any of `answers` among the first ten.
    pub fn new(
        id: impl Into<String>,
        question: impl Into<String>,
        answers: impl IntoIterator<Item: Into<Expected>>,
    ) -> Self {
        Self {
            id: id.into(),
            question: question.into(),
            answers: answers.into_iter().map(Into::into).collect(),
            top: ten(),
            filters: SearchFilters::default(),
        }
    }

    /// Reads the `[[case]]` tables of a TOML file.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::MalformedLine`] for what is not such a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Vec<Self>> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Cases {
            case: Vec<RetrievalCase>,
        }
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        let cases: Cases = parse_toml(path, &text)?;
        Ok(cases.case)
    }

    /// True if ranks count documents.
    pub(crate) fn by_document(&self) -> bool {
        self.answers.iter().all(|answer| answer.heading.is_none() && answer.chunk.is_none())
    }

    /// Every answer under its number, with gain 1.
    pub(crate) fn judgements(&self) -> Judgements {
        (0..self.answers.len()).map(|answer| (answer.to_string(), 1)).collect()
    }
}

impl Ranking {
    /// Adds the next passage of a list.
    pub(crate) fn push(&mut self, case: &RetrievalCase, passage: &Passage<'_>) {
        if case.by_document() && !self.documents.insert(passage.path.to_owned()) {
            return;
        }
        let is_new = |(index, answer): &(usize, &Expected)| {
            !self.seen.contains(index) && answer.names(passage)
        };
        let answer = case.answers.iter().enumerate().find(is_new).map(|(index, _)| index);
        self.seen.extend(answer);
        self.answers.push(answer);
    }

    /// Rank of the first answer, from 1.
    pub(crate) fn rank(&self) -> Option<usize> {
        self.answers.iter().position(Option::is_some).map(|before| before + 1)
    }

    /// Answers by their number, and nothing for everything else.
    pub(crate) fn ids(&self) -> Vec<String> {
        let id = |answer: &Option<usize>| answer.map(|index| index.to_string()).unwrap_or_default();
        self.answers.iter().map(id).collect()
    }
}

impl Expected {
    fn names(&self, passage: &Passage<'_>) -> bool {
        let path = self.path.as_ref().is_none_or(|path| {
            passage
                .path
                .strip_suffix(path.as_str())
                .is_some_and(|before| before.is_empty() || before.ends_with('/'))
        });
        let heading = |heading: &String| passage.headings.contains(heading);
        path && self.heading.as_ref().is_none_or(heading)
            && self.chunk.as_ref().is_none_or(|chunk| chunk == passage.chunk)
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let heading = self.heading.as_ref().map(|heading| format!("“{heading}”"));
        let parts = [self.path.clone(), heading, self.chunk.clone()];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
    }
}

impl From<&str> for Expected {
    fn from(path: &str) -> Self {
        Self { path: Some(path.to_owned()), ..Self::default() }
    }
}

#[derive(Deserialize)]
#[serde(untagged, deny_unknown_fields)]
enum PathOrParts {
    Path(String),
    Parts { path: Option<String>, heading: Option<String>, chunk: Option<String> },
}

impl From<PathOrParts> for Expected {
    fn from(expected: PathOrParts) -> Self {
        match expected {
            PathOrParts::Path(path) => path.as_str().into(),
            PathOrParts::Parts { path, heading, chunk } => Self { path, heading, chunk },
        }
    }
}

const fn ten() -> usize {
    10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_read_from_toml() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cases.toml");
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            RetrievalCase::read(&path)
        };
        let cases = read(
            r#"
            [[case]]
            id = "a"
            question = "owls?"
            answers = ["owl.md", { path = "bath.md", heading = "bath" }]

            [[case]]
            id = "b"
            question = "梟は?"
            answers = [{ chunk = "chk_1" }]
            top = 3
            filters = { languages = ["ja"] }
            "#,
        );
        let [a, b] = <[RetrievalCase; 2]>::try_from(cases.unwrap()).unwrap();
        assert_eq!((a.top, a.by_document(), a.answers[0].clone()), (10, false, "owl.md".into()));
        assert_eq!((b.top, b.filters.languages), (3, vec![trefoil::Language::Ja]));
        for bad in [
            "[[case]]\nid = \"a\"",
            "[[case]]\nid = \"a\"\nquestion = \"q\"\nanswers = [{x = 1}]",
            "case",
        ] {
            assert!(matches!(read(bad), Err(Error::MalformedLine { .. })), "{bad}");
        }
    }

    #[test]
    fn a_path_is_named_by_its_end() {
        let passage =
            Passage { path: "docs/ja/owl.md", headings: &["A".to_owned()], chunk: "chk_1" };
        let expected = |path: &str, heading: Option<&str>| Expected {
            heading: heading.map(str::to_owned),
            ..path.into()
        };
        for (path, heading, right) in [
            ("owl.md", None, true),
            ("ja/owl.md", None, true),
            ("docs/ja/owl.md", Some("A"), true),
            ("wl.md", None, false),
            ("en/owl.md", None, false),
            ("owl.md", Some("B"), false),
        ] {
            assert_eq!(expected(path, heading).names(&passage), right, "{path} {heading:?}");
        }
    }
}
