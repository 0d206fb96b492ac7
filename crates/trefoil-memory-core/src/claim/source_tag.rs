use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

/// Most bytes of a source tag.
const MAX_BYTES: usize = 2_048;

const ALLOWED: &str =
    "`file:<path>:<line>`, `test:<name>`, `commit:<hash>`, `review:<who>` or `adr:<id>`";

/// What can be looked at to verify a claim.
///
/// ```
/// use trefoil_memory_core::SourceTag;
///
/// let tag: SourceTag = "file:C:/notes.md:12".parse()?;
/// assert_eq!(tag, SourceTag::File { path: "C:/notes.md".into(), line: 12 });
/// # Ok::<(), trefoil_core::Error>(())
/// ```
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum SourceTag {
    /// `file:<path>:<line>`; the line follows the last colon.
    File {
        /// The file.
        path: String,
        /// The line, from 1.
        line: u32,
    },
    /// `test:<name>`: a test that showed it.
    Test(String),
    /// `commit:<hash>`: 7–64 hexadecimal digits, in small letters.
    Commit(String),
    /// `review:<who>`: somebody who checked it.
    Review(String),
    /// `adr:<id>`: a decision that is recorded.
    Adr(String),
}

impl SourceTag {
    /// The tags among `tags`, sorted, each once, and a warning for each that is malformed.
    pub fn keep_valid<T: AsRef<str>>(
        tags: impl IntoIterator<Item = T>,
    ) -> (Vec<Self>, Vec<String>) {
        let (mut kept, mut warnings) = (Vec::new(), Vec::new());
        for tag in tags {
            match tag.as_ref().parse::<Self>() {
                Ok(tag) => kept.push(tag),
                Err(error) => warnings.push(error.to_string()),
            }
        }
        kept.sort();
        kept.dedup();
        (kept, warnings)
    }
}

impl fmt::Display for SourceTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, line } => write!(f, "file:{path}:{line}"),
            Self::Test(name) => write!(f, "test:{name}"),
            Self::Commit(hash) => write!(f, "commit:{hash}"),
            Self::Review(who) => write!(f, "review:{who}"),
            Self::Adr(id) => write!(f, "adr:{id}"),
        }
    }
}

impl FromStr for SourceTag {
    type Err = Error;

    fn from_str(tag: &str) -> Result<Self> {
        read(tag.trim())
            .ok_or_else(|| Error::invalid_field("source tag", format_args!("`{tag}`"), ALLOWED))
    }
}

trefoil_core::string_conversions!(SourceTag);

fn read(tag: &str) -> Option<SourceTag> {
    if tag.len() > MAX_BYTES || tag.contains(char::is_control) {
        return None;
    }
    let (kind, value) = tag.split_once(':')?;
    let value = value.trim();
    if value.is_empty() {
        return None;
    }
    match kind {
        "file" => {
            let (path, line) = value.rsplit_once(':')?;
            let digits = !line.is_empty() && line.bytes().all(|b| b.is_ascii_digit());
            let line = digits.then(|| line.parse().ok()).flatten().filter(|&line| line >= 1)?;
            (!path.trim().is_empty()).then(|| SourceTag::File { path: path.trim().into(), line })
        }
        "test" => Some(SourceTag::Test(value.to_owned())),
        "commit" => {
            let hash = value.to_ascii_lowercase();
            let valid =
                (7..=64).contains(&hash.len()) && hash.bytes().all(|b| b.is_ascii_hexdigit());
            valid.then_some(SourceTag::Commit(hash))
        }
        "review" => Some(SourceTag::Review(value.to_owned())),
        "adr" => Some(SourceTag::Adr(value.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_source_tag_reads_as_it_prints() {
        for tag in [
            "file:src/main.rs:1",
            "file:C:\\notes:2.md:40",
            "file:資料/メモ.md:7",
            "test:engine::opens",
            "commit:0f1e2d3",
            "review:민수",
            "adr:007-no-orm",
        ] {
            assert_eq!(tag.parse::<SourceTag>().unwrap().to_string(), tag);
        }
    }

    #[test]
    fn malformed_source_tags_are_removed_with_a_warning() {
        let bad = [
            "",
            "file:",
            "file:a.md",
            "file:a.md:",
            "file:a.md:0",
            "file:a.md:-1",
            "file:a.md:x",
            "file::3",
            "file:a.md:4294967296",
            "commit:xyz",
            "commit:12345",
            "test:",
            "url:x",
            "adr",
            "test:a\nb",
        ];
        for tag in bad {
            assert!(tag.parse::<SourceTag>().is_err(), "{tag:?}");
        }
        let (kept, warnings) =
            SourceTag::keep_valid(["test:b", "file:a.md", "commit:ABCDEF0", "test:b"]);
        let kept: Vec<_> = kept.iter().map(ToString::to_string).collect();
        assert_eq!(kept, ["test:b", "commit:abcdef0"]);
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("file:a.md"), "{warnings:?}");
        assert!("test:".parse::<SourceTag>().is_err());
        assert!(format!("test:{}", "x".repeat(2_044)).parse::<SourceTag>().is_err());
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_what_reads_prints_the_same(text in "(file|test|commit|adr)?:?\\PC{0,12}(:[0-9]{0,3})?") {
            if let Ok(tag) = text.parse::<SourceTag>() {
                prop_assert_eq!(&tag, &tag.to_string().parse::<SourceTag>()?);
            }
        }
    }
}
