//! How weak evidence is corrected: corrective retrieval (CRAG, Yan et al., 2024).

use serde::{Deserialize, Serialize};
use trefoil_core::{Correction, Error, Result, Score};

/// What a graded search does about its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CragConfig {
    /// What is tried while the evidence is not correct, in order, each once; all by
    /// default.
    pub repairs: Vec<Correction>,
    /// How many passages a repair may add, 1–50; 10 by default.
    pub candidates: usize,
    /// What becomes of passages that do not answer.
    pub incorrect: IncorrectPolicy,
    /// Whether sentences are picked out of correct evidence too; not by default.
    pub refine_correct: bool,
    /// The least score of a sentence that is picked out; 0.4 by default.
    pub strip_bar: Score,
    /// How many sentences of a passage are picked out at most, 1–20; 3 by default.
    pub strips: usize,
    /// How many sentences are read together with the question, 0–64, the best by their
    /// words first; 16 by default.
    pub read_strips: usize,
    /// How many pages the web is asked for, where the engine has a web search, 1–20; 5 by
    /// default.
    pub web_pages: usize,
}

/// What becomes of passages that do not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IncorrectPolicy {
    /// They stay, each with its grade.
    #[default]
    Annotate,
    /// They are left out.
    Drop,
}

impl Default for CragConfig {
    fn default() -> Self {
        use Correction::{Feedback, Fuzzy, Graph, Languages, Neighbours};
        Self {
            repairs: vec![Feedback, Graph, Neighbours, Fuzzy, Languages],
            candidates: 10,
            incorrect: IncorrectPolicy::default(),
            refine_correct: false,
            strip_bar: Score::clamped(0.4),
            strips: 3,
            read_strips: 16,
            web_pages: 5,
        }
    }
}

impl CragConfig {
    /// Checks every range.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] for the first that is violated, or if a repair is named
    /// twice.
    pub fn check(&self) -> Result<()> {
        Error::check_range(self.candidates, 1..=50, "crag.candidates", "1–50")?;
        Error::check_range(self.strips, 1..=20, "crag.strips", "1–20")?;
        Error::check_range(self.read_strips, 0..=64, "crag.readStrips", "0–64")?;
        Error::check_range(self.web_pages, 1..=20, "crag.webPages", "1–20")?;
        self.repairs.iter().enumerate().try_for_each(|(place, repair)| {
            let is_new = !self.repairs.iter().take(place).any(|before| before == repair);
            Error::check_config(is_new, "crag.repairs", repair, "each repair once")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_limit_holds_at_its_edge_and_fails_beyond() {
        let check = |change: &dyn Fn(&mut CragConfig), valid: bool| {
            let mut config = CragConfig::default();
            change(&mut config);
            assert_eq!(config.check().is_ok(), valid, "{config:?}");
        };
        check(&|_| (), true);
        for (count, valid) in [(0, false), (1, true), (50, true), (51, false)] {
            check(&|config| config.candidates = count, valid);
        }
        for (count, valid) in [(0, false), (1, true), (20, true), (21, false)] {
            check(&|config| config.strips = count, valid);
            check(&|config| config.web_pages = count, valid);
        }
        for (count, valid) in [(0, true), (64, true), (65, false)] {
            check(&|config| config.read_strips = count, valid);
        }
        check(&|config| config.repairs.clear(), true);
        check(&|config| config.repairs.push(Correction::Fuzzy), false);
    }

    #[test]
    fn empty_json_is_the_default() {
        let parsed: CragConfig = serde_json::from_str("{}").unwrap();
        assert_eq!(parsed, CragConfig::default());
    }
}
