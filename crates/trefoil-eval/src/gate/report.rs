use std::{collections::BTreeMap, fmt, path::Path};

use serde::{Deserialize, Serialize};
use trefoil::{Error, Result};

use crate::{StageList, table::Table};

/// What a gate found. Printed, it says what is below its floor, which retriever broke, and for
/// each missed question what was wanted, what was found and what each retriever made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct GateReport {
    /// Every floor with its value.
    pub floors: Vec<FloorReport>,
    /// Every case.
    pub cases: Vec<CaseReport>,
    /// What did not run as asked.
    pub degraded: Vec<String>,
}

/// A floor and what was reached.
#[derive(Clone, Debug, PartialEq)]
pub struct FloorReport {
    /// The list.
    pub list: StageList,
    /// What was measured.
    pub measure: String,
    /// What was reached.
    pub value: f64,
    /// What was asked for.
    pub least: f64,
}

/// A case and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseReport {
    /// Its id.
    pub id: String,
    /// What was asked.
    pub question: String,
    /// What was wanted.
    pub expected: Vec<String>,
    /// The worst rank that counts as found.
    pub top: usize,
    /// Rank of the first answer in each list, from 1.
    pub ranks: BTreeMap<StageList, Option<usize>>,
    /// The same in the baseline.
    pub was: Option<BTreeMap<StageList, Option<usize>>>,
    /// Paths that the final list begins with.
    pub found: Vec<String>,
}

/// Ranks of a run, to compare later ones with: case → list → rank. A JSON file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ranks(pub BTreeMap<String, BTreeMap<StageList, Option<usize>>>);

/// Missed cases that a message shows.
const SHOWN: usize = 20;

impl GateReport {
    /// True if every floor holds.
    pub fn passed(&self) -> bool {
        self.floors.iter().all(FloorReport::holds)
    }

    /// The retrievers that are below a floor of their own.
    pub fn broken_retrievers(&self) -> Vec<StageList> {
        let broken = self.floors.iter().filter(|floor| !floor.holds() && floor.list.is_retriever());
        let mut retrievers: Vec<_> = broken.map(|floor| floor.list).collect();
        retrievers.sort_unstable();
        retrievers.dedup();
        retrievers
    }

    /// The ranks, to be a baseline.
    pub fn ranks(&self) -> Ranks {
        Ranks(self.cases.iter().map(|case| (case.id.clone(), case.ranks.clone())).collect())
    }

    /// Cases that some list with a floor that does not hold has missed.
    fn missed(&self) -> Vec<&CaseReport> {
        let failing = || self.floors.iter().filter(|floor| !floor.holds()).map(|floor| floor.list);
        self.cases.iter().filter(|case| failing().any(|list| case.misses(list))).collect()
    }

    /// In one sentence, who is to blame.
    fn verdict(&self, missed: &[&CaseReport]) -> String {
        match self.broken_retrievers().as_slice() {
            [] => {}
            [retriever] => {
                return format!("The {retriever} retriever is broken: it is below its own floor.");
            }
            retrievers => {
                let retrievers: Vec<String> = retrievers.iter().map(StageList::to_string).collect();
                let retrievers = retrievers.join(" and ");
                return format!(
                    "The {retrievers} retrievers are broken: they are below their own floors."
                );
            }
        }
        let found_by_a_retriever =
            missed.iter().filter(|case| case.retrievers().any(|retriever| !case.misses(retriever)));
        let (lost, count) = (found_by_a_retriever.count(), missed.len());
        if 2 * lost > count {
            return format!(
                "No retriever is below a floor of its own: fusion loses what a retriever has found, in \
                 {lost} of {count} questions."
            );
        }
        let mut blame: BTreeMap<StageList, usize> = BTreeMap::new();
        for case in missed {
            for retriever in case.retrievers().filter(|&retriever| case.misses(retriever)) {
                *blame.entry(retriever).or_default() += 1;
            }
        }
        let blame: Vec<String> =
            blame.iter().map(|(retriever, count)| format!("{retriever} {count}")).collect();
        let blame = blame.join(", ");
        format!(
            "No retriever is below a floor of its own; of {count} questions each retriever misses: {blame}."
        )
    }
}

impl FloorReport {
    /// True if the value is not below the floor.
    pub fn holds(&self) -> bool {
        self.value >= self.least - 1e-9
    }
}

impl CaseReport {
    fn retrievers(&self) -> impl Iterator<Item = StageList> {
        self.ranks.keys().copied().filter(|list| list.is_retriever())
    }

    fn misses(&self, list: StageList) -> bool {
        self.ranks.get(&list).copied().flatten().is_none_or(|rank| rank > self.top)
    }

    /// Retrievers that had the answer where it counts in the baseline, and have it no more.
    fn moved_by(&self) -> Vec<String> {
        let Some(was) = &self.was else { return Vec::new() };
        let within = |rank: Option<usize>| rank.is_some_and(|rank| rank <= self.top);
        let lost = was
            .iter()
            .filter(|&(&list, &rank)| list.is_retriever() && within(rank) && self.misses(list));
        lost.map(|(retriever, _)| retriever.to_string()).collect()
    }
}

impl fmt::Display for GateReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let missed = self.missed();
        let outcome = if self.passed() { "holds" } else { "failed" };
        writeln!(f, "retrieval gate {outcome}: {} questions", self.cases.len())?;
        let mut table = Table::new(["  list", "metric", "value", "floor", ""]);
        for floor in &self.floors {
            table.push(vec![
                format!("  {}", floor.list),
                floor.measure.clone(),
                format!("{:.4}", floor.value),
                format!("{:.4}", floor.least),
                if floor.holds() { "" } else { "below" }.to_owned(),
            ]);
        }
        table.fmt(f)?;
        for reason in &self.degraded {
            writeln!(f, "degraded: {reason}")?;
        }
        if self.passed() {
            return Ok(());
        }
        writeln!(f, "{}", self.verdict(&missed))?;
        for case in missed.iter().take(SHOWN) {
            case.fmt(f)?;
        }
        if missed.len() > SHOWN {
            writeln!(f, "… and {} more", missed.len() - SHOWN)?;
        }
        Ok(())
    }
}

impl fmt::Display for CaseReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, question, expected, top, ranks, was, found } = self;
        writeln!(f, "{id}: {question}")?;
        writeln!(f, "  wanted {} within {top}", expected.join(" or "))?;
        let rank = |rank: Option<usize>| rank.map_or("–".to_owned(), |rank| rank.to_string());
        let shown = ranks.iter().map(|(list, &now)| {
            let was = was.as_ref().and_then(|was| was.get(list)).filter(|&&was| was != now);
            let was = was.map_or(String::new(), |&was| format!(" (was {})", rank(was)));
            format!("{list} {}{was}", rank(now))
        });
        writeln!(f, "  ranks  {}", shown.collect::<Vec<_>>().join(", "))?;
        let moved = self.moved_by();
        if !moved.is_empty() {
            writeln!(f, "  moved  by {}", moved.join(" and "))?;
        }
        let numbered = found.iter().zip(1..).map(|(path, rank)| format!("{rank} {path}"));
        writeln!(f, "  found  {}", numbered.collect::<Vec<_>>().join(", "))
    }
}

impl Ranks {
    /// Reads a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        serde_json::from_str(&text).map_err(|error| Error::MalformedLine {
            path: path.to_owned(),
            line: error.line(),
            reason: error.to_string(),
        })
    }

    /// Writes a file.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let wrap = |source| Error::io("write", path, source);
        let text = serde_json::to_string_pretty(self).map_err(|error| wrap(error.into()))?;
        std::fs::write(path, text + "\n").map_err(wrap)
    }
}
