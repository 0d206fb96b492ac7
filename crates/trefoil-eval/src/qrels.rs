use std::{collections::BTreeMap, io::Write, path::Path};

use trefoil::{Error, Result};

use crate::lines::{cells, check_id, read_lines, write_file};

/// What is known of one question: document → gain. Above 0 is relevant, the more the
/// better; 0 and below is judged and not relevant.
pub type Judgements = BTreeMap<String, i32>;

/// Relevance judgements: question → document → gain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Qrels {
    judged: BTreeMap<String, Judgements>,
}

impl Qrels {
    /// Reads three columns (BEIR: question, document, gain; a header is recognised by its
    /// last cell) or four (TREC: question, iteration, document, gain). Columns stand
    /// between tabs, or between white space in a line without tabs.
    ///
    /// # Errors
    /// [`Error::Io`], or [`Error::MalformedLine`] also where two lines contradict each other.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let mut qrels = Self::default();
        let mut first = true;
        read_lines(path.as_ref(), |line| {
            let header = std::mem::take(&mut first);
            let ([query, document, gain] | [query, _, document, gain]) = *cells(line) else {
                return Err("it has neither three columns (BEIR) nor four (TREC)".to_owned());
            };
            let Ok(gain) = gain.parse() else {
                let reason = format!("the gain `{gain}` is not a whole number");
                return if header { Ok(()) } else { Err(reason) };
            };
            check_id(query)?;
            check_id(document)?;
            match qrels.insert(query, document, gain) {
                Some(before) if before != gain => {
                    Err(format!("`{document}` was judged {before} for `{query}` before"))
                }
                _ => Ok(()),
            }
        })?;
        Ok(qrels)
    }

    /// Writes three columns with a header, as BEIR does.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        write_file(path.as_ref(), |file| {
            writeln!(file, "query-id\tcorpus-id\tscore")?;
            self.judged.iter().try_for_each(|(query, judged)| {
                judged
                    .iter()
                    .try_for_each(|(document, gain)| writeln!(file, "{query}\t{document}\t{gain}"))
            })
        })
    }

    /// Judges a document; gives the gain that it had before.
    pub fn insert(
        &mut self,
        query: impl Into<String>,
        document: impl Into<String>,
        gain: i32,
    ) -> Option<i32> {
        self.judged.entry(query.into()).or_default().insert(document.into(), gain)
    }

    /// What is known of one question.
    pub fn get(&self, query: &str) -> Option<&Judgements> {
        self.judged.get(query)
    }

    /// Every judged question, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Judgements)> {
        self.judged.iter().map(|(query, judged)| (query.as_str(), judged))
    }

    /// True if some document is relevant to the question.
    pub fn is_answerable(&self, query: &str) -> bool {
        self.get(query).is_some_and(|judged| judged.values().any(|&gain| gain > 0))
    }

    /// The judgements of the questions that `keep` wants.
    #[must_use]
    pub fn only(&self, mut keep: impl FnMut(&str) -> bool) -> Self {
        let kept = self.judged.iter().filter(|(query, _)| keep(query));
        Self { judged: kept.map(|(query, judged)| (query.clone(), judged.clone())).collect() }
    }
}

/// Finds the judgements of a collection: `test.tsv`, or the only file in `folder`.
pub(crate) fn find(folder: &Path) -> Result<Qrels> {
    let test = folder.join("test.tsv");
    if test.exists() {
        return Qrels::read(test);
    }
    let entries = std::fs::read_dir(folder).map_err(|source| Error::io("list", folder, source))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|one| one == "tsv" || one == "txt"))
        .collect();
    files.sort();
    match files.as_slice() {
        [file] => Qrels::read(file),
        files => Err(Error::UnreadableDocument {
            path: folder.display().to_string(),
            reason: format!(
                "it holds {} files of judgements and no `test.tsv`; name one of them so",
                files.len()
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    fn read(text: &str) -> Result<Qrels> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("test.tsv");
        std::fs::write(&path, text).unwrap();
        Qrels::read(path)
    }

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str, i32)]) {
        let mut qrels = Qrels::default();
        for &(query, document, gain) in expected {
            qrels.insert(query, document, gain);
        }
        assert_eq!(read(text).unwrap(), qrels);
    }

    #[test]
    fn both_layouts_are_read_with_and_without_a_header() {
        check(
            "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\n",
            &[("q1", "d1", 1), ("q1", "d2", 0)],
        );
        check("q1\td1\t1", &[("q1", "d1", 1)]);
        check(
            "1 0 CACM-1410 2\n1 0 CACM-1572 -1",
            &[("1", "CACM-1410", 2), ("1", "CACM-1572", -1)],
        );
        check("1\t0\tdoc one\t2", &[("1", "doc one", 2)]);
        check("q1\td1\t1\nq1\td1\t1", &[("q1", "d1", 1)]);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, line) in [
            ("q d 1\nq d", 2),
            ("q d 1\nq e high", 2),
            ("q d 1\nq e 1.5", 2),
            ("q d 1\n\nq d 2", 3),
            ("q\t\t1", 1),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                matches!(&error, Error::MalformedLine { line: found, .. } if *found == line),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn the_test_split_is_taken_or_the_only_one() {
        let dir = tempfile::tempdir().unwrap();
        assert!(find(dir.path()).is_err());
        std::fs::write(dir.path().join("dev.tsv"), "q d 1").unwrap();
        assert!(find(dir.path()).unwrap().is_answerable("q"));
        std::fs::write(dir.path().join("train.tsv"), "r d 0").unwrap();
        assert!(find(dir.path()).unwrap_err().to_string().contains("2 files"));
        std::fs::write(dir.path().join("test.tsv"), "s d 0").unwrap();
        assert!(!find(dir.path()).unwrap().is_answerable("s"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
            judged in proptest::collection::vec(("[^\\s\\pC]{1,8}", "[^\\s\\pC]{1,8}", -2_i32..4), 0..30)
        ) {
            let mut qrels = Qrels::default();
            for (query, document, gain) in judged {
                qrels.insert(query, document, gain);
            }
            let dir = tempfile::tempdir()?;
            let path = dir.path().join("test.tsv");
            qrels.write(&path)?;
            prop_assert_eq!(Qrels::read(&path)?, qrels);
        }
    }
}
