//! What the use of a tool or a command shows: results of tests, failures, commits and files.

#![expect(
    clippy::non_std_lazy_statics,
    reason = "these patterns are checked when they are compiled"
)]

use std::collections::BTreeMap;

use lazy_regex::{Captures, Lazy, Regex, lazy_regex};
use trefoil_core::{ObservationKind, SourceType};

use super::sources::{ToolOutput, source_tags};

/// What the output of a program shows, as a statement of who, what and which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// A sentence.
    pub text: String,
    /// What it is about: a test, a command, a file, a commit.
    pub subject: String,
    /// `test_result`, `fails_with`, `message` or `was`.
    pub predicate: &'static str,
    /// The result, the error, the subject line of the commit, or what was done to the file.
    pub object: String,
    /// Tags of what proves it, such as `file:src/lib.rs:12`.
    pub sources: Vec<String>,
}

/// Most characters that are kept of a command or a line of its output.
const CHARACTERS: usize = 160;

/// What an observation of a tool or a command shows: tests that fail first, then the totals of
/// its tests, that it failed, commits, files, and tests that pass.
pub fn outcomes(observation: &ToolOutput<'_>) -> Vec<Outcome> {
    let run = Run::new(*observation);
    let (failing, passing): (Vec<_>, Vec<_>) =
        run.tests().into_iter().partition(|test| test.object == FAILED);
    let mut found = failing;
    found.extend(run.totals());
    found.extend(run.failure());
    found.extend(run.commits());
    found.extend(run.files());
    found.extend(passing);
    found
}

const PASSED: &str = "passed";
const FAILED: &str = "failed";

static TEST: Lazy<Regex> = lazy_regex!(
    r"(?m)^\s*(?:test\s+([\w:]+)\s+\.\.\.\s+(ok|FAILED)\b|(PASS(?:ED)?|FAIL(?:ED)?)[: ]\s*([\w./:\[\]-]+)|([\w./-]+::[\w:\[\]-]+)\s+(PASSED|FAILED)\b|--- (PASS|FAIL): (\w+))"
);
static TOTALS: Lazy<Regex> = lazy_regex!(
    r"(?m)^(?:test result:.*?\b(\d+) passed; (\d+) failed|=+ (?:(\d+) failed, )?(\d+) passed\b.*=+\s*$|Tests:\s+(?:(\d+) failed, )?(\d+) passed)"
);
static EXIT: Lazy<Regex> = lazy_regex!(
    r"(?i)(?:\bexit(?:ed)?(?: with)?(?: code| status)?|終了コード|종료 코드)[ :=]{1,3}([1-9]\d{0,2})\b"
);
static ERROR_LINE: Lazy<Regex> = lazy_regex!(
    r"(?m)^\s*((?:error(?:\[\w+\])?|fatal|panic|[A-Z]\w*Error|エラー|致命的|오류|에러)\s*[:：]\s*\S.*|\S+: (?:command not found|No such file or directory|Permission denied).*|\S.*: command not found.*)$"
);
static COMMIT: Lazy<Regex> =
    lazy_regex!(r"(?m)^\[([\w./-]+)(?: \(root-commit\))? ([0-9a-f]{7,40})\] (.+)$");
static AT: Lazy<Regex> = lazy_regex!(
    r"(?i)(?:\bcommit\b|\bHEAD is now at\b|コミット|커밋)[:\s(]*([0-9a-f]{7,40})(?-u:\b)"
);
static CHANGED: Lazy<Regex> = lazy_regex!(
    r"(?mi)(?:\b(?:wrote|edited|modified|updated|created|changed|patched|saved|deleted)(?: the)?(?: file)?:?\s+`?((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})\b|((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})`?\s*を(?:変更|更新|作成|編集|保存|書|削除)|((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})`?(?:을|를)?\s*(?:수정|변경|생성|작성|저장|편집|삭제)|^\s*(?:modified|new file|deleted):\s+((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})\s*$|^\s*((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})\s+\|\s+\d+ [+-]+\s*$)"
);
static READ: Lazy<Regex> = lazy_regex!(
    r"(?mi)(?:\b(?:read|opened|viewed)(?: the)?(?: file)?:?\s+`?((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})\b|((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})`?\s*を(?:読|開)|((?:[\w.-]*/)*[\w-][\w.-]*\.[a-z]{1,5})`?(?:을|를)?\s*(?:읽|열))"
);
static PATH: Lazy<Regex> =
    lazy_regex!(r"(?:^|[\s(`'\x22=])((?:[\w.-]*/)*[\w-][\w.-]*\.[A-Za-z]{1,5})(?:$|[\s)`'\x22,:])");
static SHOWS: Lazy<Regex> = lazy_regex!(
    r"^(?:sudo )?(?:cat|bat|head|tail|less|more|grep|rg|ag|sed|awk|echo|printf|git (?:log|show|diff|blame))\b"
);
static READS: Lazy<Regex> = lazy_regex!(r"^(?:cat|bat|head|tail|less|more)\b");
static WRITING_TOOL: Lazy<Regex> = lazy_regex!(r"(?i)write|edit|patch|replace|create|save");
static READING_TOOL: Lazy<Regex> = lazy_regex!(r"(?i)read|view|open|cat");

/// An observation of a tool or a command, with what all its outcomes have in common.
struct Run<'o> {
    observation: ToolOutput<'o>,
    /// The command, if it is one.
    command: Option<String>,
    /// The commit at which it ran, if its output names one.
    commit: Option<String>,
}

impl<'o> Run<'o> {
    fn new(observation: ToolOutput<'o>) -> Self {
        let content = observation.content;
        let first = content.lines().map(str::trim).find(|line| !line.is_empty());
        let command = first
            .filter(|_| observation.kind == ObservationKind::Bash)
            .map(|line| cut(line.trim_start_matches(['$', '>', '❯', '%', '#']).trim()));
        let made = COMMIT.captures_iter(content).filter_map(|found| group(&found, 2)).last();
        let named = AT.captures_iter(content).filter_map(|found| group(&found, 1)).last();
        let commit = made.or(named).map(str::to_lowercase);
        Self { observation, command: command.filter(|line| !line.is_empty()), commit }
    }

    fn content(&self) -> &'o str {
        self.observation.content
    }

    /// ` at commit …` where one is known.
    fn at_commit(&self) -> String {
        self.commit.as_ref().map_or_else(String::new, |commit| format!(" at commit {commit}"))
    }

    fn commit_tag(&self) -> Option<String> {
        self.commit.as_ref().map(|commit| format!("commit:{commit}"))
    }

    /// The last result of each test that is named.
    fn tests(&self) -> Vec<Outcome> {
        let mut results: BTreeMap<&str, bool> = BTreeMap::new();
        for found in TEST.captures_iter(self.content()) {
            let name = [1, 4, 5, 8].into_iter().find_map(|at| group(&found, at));
            let result = [2, 3, 6, 7].into_iter().find_map(|at| group(&found, at));
            if let (Some(name), Some(result)) = (name, result) {
                results.insert(name, !result.starts_with("FAIL"));
            }
        }
        let outcome = |(name, passed): (&str, bool)| Outcome {
            text: format!(
                "Test `{name}` {}{}.",
                if passed { "passes" } else { "fails" },
                self.at_commit()
            ),
            subject: name.to_owned(),
            predicate: "test_result",
            object: if passed { PASSED } else { FAILED }.to_owned(),
            sources: self.commit_tag().into_iter().chain([format!("test:{name}")]).collect(),
        };
        results.into_iter().map(outcome).collect()
    }

    /// How many tests passed and failed, all runs of tests together.
    fn totals(&self) -> Option<Outcome> {
        let (mut passed, mut failed, mut runs) = (0_u64, 0_u64, 0_u64);
        let number = |found: &Captures<'_>, at| {
            group(found, at).and_then(|digits| digits.parse::<u64>().ok())
        };
        for found in TOTALS.captures_iter(self.content()) {
            runs += 1;
            passed += [1, 4, 6].into_iter().find_map(|at| number(&found, at)).unwrap_or(0);
            failed += [2, 3, 5].into_iter().find_map(|at| number(&found, at)).unwrap_or(0);
        }
        let subject = self.command.clone().unwrap_or_else(|| "tests".to_owned());
        (runs > 0 && passed + failed > 0).then(|| Outcome {
            text: if failed == 0 {
                format!("Tests pass{}: {passed} passed (`{subject}`).", self.at_commit())
            } else {
                format!(
                    "Tests fail{}: {failed} failed, {passed} passed (`{subject}`).",
                    self.at_commit()
                )
            },
            subject,
            predicate: "test_result",
            object: if failed == 0 { PASSED } else { FAILED }.to_owned(),
            sources: self.commit_tag().into_iter().collect(),
        })
    }

    /// That the command or the tool failed, and with what. What a command only shows is not
    /// read as its own failure.
    fn failure(&self) -> Option<Outcome> {
        let content = self.content();
        let code = EXIT.captures_iter(content).filter_map(|found| group(&found, 1)).last();
        let shows = self.command.as_deref().is_some_and(|command| SHOWS.is_match(command));
        if code.is_none() && shows {
            return None;
        }
        let line = ERROR_LINE.captures_iter(content).find_map(|found| group(&found, 1)).map(cut);
        let error = match (line, code) {
            (Some(line), _) => line,
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => return None,
        };
        let what = self.command.clone().or_else(|| self.tool())?;
        let mut sources: Vec<String> = source_tags(&self.observation);
        sources.retain(|tag| tag.starts_with("file:"));
        sources.extend(self.commit_tag());
        Some(Outcome {
            text: format!("`{what}` fails{}: {error}", self.at_commit()),
            subject: what,
            predicate: "fails_with",
            object: error,
            sources,
        })
    }

    fn tool(&self) -> Option<String> {
        let id = self.observation.source_id;
        id.filter(|_| self.observation.source_type == SourceType::Tool).map(cut)
    }

    fn commits(&self) -> Vec<Outcome> {
        let outcome = |found: Captures<'_>| {
            let (branch, commit) = (group(&found, 1)?, group(&found, 2)?);
            let subject = cut(group(&found, 3)?.trim());
            Some(Outcome {
                text: format!("Commit {commit} on {branch}: {subject}"),
                subject: format!("commit {commit}"),
                predicate: "message",
                object: subject,
                sources: vec![format!("commit:{commit}")],
            })
        };
        COMMIT.captures_iter(self.content()).filter_map(outcome).collect()
    }

    /// The files that were changed or read; of one that was both, that it was changed.
    fn files(&self) -> Vec<Outcome> {
        let mut files: BTreeMap<&str, bool> = BTreeMap::new();
        let mut saw = |path: &'o str, changed: bool| *files.entry(path).or_insert(false) |= changed;
        let is_file = self.observation.source_type == SourceType::File;
        let first = self.content().lines().next().unwrap_or_default();
        // What a file holds, or a command shows, tells of no other file.
        let shows = self.command.as_deref().is_some_and(|command| SHOWS.is_match(command));
        let told = if is_file || shows { first } else { self.content() };
        for (pattern, changed) in [(&CHANGED, true), (&READ, false)] {
            for found in pattern.captures_iter(told) {
                if let Some(path) = (1..found.len()).find_map(|at| group(&found, at)) {
                    saw(path, changed);
                }
            }
        }
        let source = self.observation.source_id;
        if let (true, Some(path)) = (is_file, source) {
            saw(path, false);
        }
        // The file that a tool or a command is about stands in its first line.
        let reads = self.command.as_deref().is_some_and(|command| READS.is_match(command));
        let tool = self.observation.source_type == SourceType::Tool;
        let tool = source.filter(|_| tool).unwrap_or_default();
        let writes = WRITING_TOOL.is_match(tool);
        if (reads || writes || READING_TOOL.is_match(tool))
            && let Some(path) = PATH.captures_iter(first).find_map(|found| group(&found, 1))
        {
            saw(path, writes);
        }
        let outcome = |(path, changed): (&str, bool)| {
            let what = if changed { "changed" } else { "read" };
            Outcome {
                text: format!("File `{path}` was {what}{}.", self.at_commit()),
                subject: path.to_owned(),
                predicate: "was",
                object: what.to_owned(),
                sources: self.commit_tag().into_iter().chain([format!("file:{path}:1")]).collect(),
            }
        };
        files.into_iter().map(outcome).collect()
    }
}

fn group<'t>(found: &Captures<'t>, at: usize) -> Option<&'t str> {
    found.get(at).map(|group| group.as_str())
}

/// The beginning of a line.
fn cut(line: &str) -> String {
    line.chars().take(CHARACTERS).collect()
}
