use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
};

use trefoil::Result;

use crate::lines::{cells, check_id, read_lines, write_file};

/// What a system answered: for each question a ranking of documents.
///
/// The order is that of `trec_eval` 9 and of `pytrec_eval`, which keep scores in 32 bits:
/// best score first, equal scores by id, the last in byte order first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    tag: String,
    rankings: BTreeMap<String, Vec<Scored>>,
}

/// A document with its score.
#[derive(Clone, Debug, PartialEq)]
pub struct Scored {
    /// Its id.
    pub document: String,
    /// Its score, not NaN; comparable within one ranking only.
    pub score: f32,
}

impl Run {
    /// No answers yet; `tag` names the system.
    pub fn new(tag: impl Into<String>) -> Self {
        Self { tag: tag.into(), rankings: BTreeMap::new() }
    }

    /// Reads six columns: question, `Q0`, document, rank, score, tag. Ranks are not looked
    /// at; columns stand between tabs, or between white space in a line without tabs.
    ///
    /// # Errors
    /// [`Error::Io`](trefoil::Error::Io), or
    /// [`Error::MalformedLine`](trefoil::Error::MalformedLine) also where a document is
    /// ranked twice.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let mut run = Self::default();
        let mut seen = BTreeSet::new();
        read_lines(path.as_ref(), |line| {
            let [query, _, document, _, score, tag] = *cells(line) else {
                return Err(
                    "it does not have six columns: query Q0 document rank score tag".to_owned()
                );
            };
            // By way of 64 bits, as the others do it.
            let score = narrowed(score.parse().unwrap_or(f64::NAN));
            if score.is_nan() {
                return Err("its score is not a number".to_owned());
            }
            check_id(query)?;
            check_id(document)?;
            if !seen.insert((query.to_owned(), document.to_owned())) {
                return Err(format!("`{document}` was ranked for `{query}` before"));
            }
            if run.tag.is_empty() {
                tag.clone_into(&mut run.tag);
            }
            let scored = Scored { document: document.to_owned(), score };
            run.rankings.entry(query.to_owned()).or_default().push(scored);
            Ok(())
        })?;
        for ranking in run.rankings.values_mut() {
            sort(ranking);
        }
        Ok(run)
    }

    /// Writes six columns with tabs between them, ranks from 1.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let tag = if self.tag.is_empty() { "run" } else { &self.tag };
        write_file(path.as_ref(), |file| {
            self.rankings.iter().try_for_each(|(query, ranking)| {
                ranking.iter().zip(1..).try_for_each(|(Scored { document, score }, rank)| {
                    writeln!(file, "{query}\tQ0\t{document}\t{rank}\t{score}\t{tag}")
                })
            })
        })
    }

    /// Adds the answer to a question, in any order. A document that is there several times
    /// keeps its best score; scores that are NaN are left out.
    pub fn insert(&mut self, query: impl Into<String>, mut scored: Vec<Scored>) {
        scored.retain(|one| !one.score.is_nan());
        sort(&mut scored);
        let mut seen = BTreeSet::new();
        scored.retain(|one| seen.insert(one.document.clone()));
        self.rankings.insert(query.into(), scored);
    }

    /// Adds an answer that is ranked already, best first. A document that is there several
    /// times keeps its first place. A score that is not below the one before is lowered by a
    /// trifle, so that whoever sorts by score finds the same order.
    pub fn insert_ranked(&mut self, query: impl Into<String>, mut ranked: Vec<Scored>) {
        let mut seen = BTreeSet::new();
        ranked.retain(|one| !one.score.is_nan() && seen.insert(one.document.clone()));
        let mut before: Option<f32> = None;
        for one in &mut ranked {
            // Scores are 0–1, where the step is at least one unit in the last place.
            let bound =
                before.map_or(f32::INFINITY, |score| (score - f32::EPSILON).min(score.next_down()));
            one.score = one.score.min(bound);
            before = Some(one.score);
        }
        self.rankings.insert(query.into(), ranked);
    }

    /// Name of the system.
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// The answer to a question, best first; empty if there is none.
    pub fn get(&self, query: &str) -> &[Scored] {
        self.rankings.get(query).map_or(&[], Vec::as_slice)
    }

    /// Every answered question, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[Scored])> {
        self.rankings.iter().map(|(query, ranking)| (query.as_str(), ranking.as_slice()))
    }
}

fn sort(ranking: &mut [Scored]) {
    ranking.sort_by(|a, b| {
        // `+ 0.0` makes the two zeros one, so that they tie.
        (b.score + 0.0).total_cmp(&(a.score + 0.0)).then_with(|| b.document.cmp(&a.document))
    });
}

#[expect(clippy::cast_possible_truncation, reason = "rounding to 32 bits is what is wanted")]
fn narrowed(score: f64) -> f32 {
    score as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};
    use trefoil::Error;

    use super::*;

    fn scored(pairs: &[(&str, f32)]) -> Vec<Scored> {
        pairs.iter().map(|&(id, score)| Scored { document: id.to_owned(), score }).collect()
    }

    fn order(run: &Run) -> Vec<&str> {
        run.get("q").iter().map(|one| one.document.as_str()).collect()
    }

    fn read(text: &str) -> Result<Run> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run");
        std::fs::write(&path, text).unwrap();
        Run::read(path)
    }

    #[test]
    fn equal_scores_are_ordered_by_id_last_first() {
        let mut run = Run::new("t");
        run.insert("q", scored(&[("a", 1.0), ("b", 1.0), ("é", 1.0), ("c", 2.0), ("a", 0.5)]));
        assert_eq!(order(&run), ["c", "é", "b", "a"]);
        let run = read("q Q0 a 1 0.0 t\nq Q0 b 2 -0.0 t\nq Q0 c 3 0.000000000000001 t").unwrap();
        assert_eq!(order(&run), ["c", "b", "a"]);
        // Closer than 32 bits tell apart.
        assert_eq!(order(&read("q Q0 a 1 1.000000001 t\nq Q0 b 2 1 t").unwrap()), ["b", "a"]);
    }

    #[test]
    fn what_is_wrong_names_its_line() {
        for (text, line) in [
            ("q Q0 a 1 1.0", 1),
            ("q Q0 a 1 1.0 t\nq Q0 b 1 high t", 2),
            ("q Q0 a 1 NaN t", 1),
            ("q Q0 a 1 2 t\n\nq Q0 a 2 1 t", 3),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                matches!(&error, Error::MalformedLine { line: found, .. } if *found == line),
                "{text:?}: {error}"
            );
        }
    }

    proptest! {
        #[test]
        fn a_ranked_answer_keeps_its_order_through_a_file(
            scores in proptest::collection::vec((0_u8..20, 0_u8..6), 0..40)
        ) {
            let mut ranked: Vec<Scored> = scores
                .iter()
                .map(|&(id, score)| Scored { document: format!("d {id}"), score: f32::from(score) / 5.0 })
                .collect();
            ranked.sort_by(|a, b| b.score.total_cmp(&a.score));
            let mut run = Run::new("t");
            run.insert_ranked("q", ranked.clone());
            let kept = run.get("q");
            prop_assert!(kept.windows(2).all(|pair| pair[0].score > pair[1].score));
            for one in kept {
                let first = ranked.iter().find(|raw| raw.document == one.document).unwrap();
                prop_assert!((first.score - one.score).abs() < 1e-5);
            }
            let dir = tempfile::tempdir()?;
            let path = dir.path().join("run");
            run.write(&path)?;
            if !ranked.is_empty() {
                prop_assert_eq!(Run::read(&path)?, run);
            }
        }
    }
}
