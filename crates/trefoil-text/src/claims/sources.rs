//! What an output names that can be looked at.

use lazy_regex::regex;
use trefoil_core::{ObservationKind, SourceType};

/// What was observed, as far as rules look at it.
#[derive(Clone, Copy, Debug)]
pub struct ToolOutput<'t> {
    /// What was observed: a message, a command with its output, the use of a tool…
    pub kind: ObservationKind,
    /// Where it comes from.
    pub source_type: SourceType,
    /// The name of that: the tool, the path of the file.
    pub source_id: Option<&'t str>,
    /// The text.
    pub content: &'t str,
}

/// The source tags of an output: the file that was read, with the lines that are named,
/// tests with a result, and commits.
pub fn source_tags(output: &ToolOutput<'_>) -> Vec<String> {
    let file = regex!(r"(?:^|[\s(`'\x22])((?:[\w.-]+/)*[\w.-]+\.[A-Za-z]{1,5}):(\d{1,7})\b");
    let test = regex!(
        r"(?m)^\s*(?:test\s+([\w:]+)\s+\.\.\.\s+(?:ok|FAILED)|(?:PASS(?:ED)?|FAIL(?:ED)?)[: ]\s*([\w./:-]+)|([\w./-]+::[\w:\[\]-]+)\s+(?:PASSED|FAILED))"
    );
    let commit = regex!(
        r"(?i)(?:\bcommit\b|コミット|커밋)[:\s(]*([0-9a-f]{7,40})(?-u:\b)|(?m)^\[[\w./-]+(?: \(root-commit\))? ([0-9a-f]{7,40})\]"
    );
    let text = output.content;
    let mut tags = Vec::new();
    if output.source_type == SourceType::File
        && let Some(path) = output.source_id
    {
        tags.push(format!("file:{path}:1"));
    }
    for found in file.captures_iter(text) {
        let (_, [path, line]) = found.extract();
        tags.push(format!("file:{path}:{line}"));
    }
    let tells_results = output.kind != ObservationKind::Message;
    for (pattern, kind) in [(test, "test"), (commit, "commit")] {
        if kind == "test" && !tells_results {
            continue;
        }
        for groups in pattern.captures_iter(text) {
            let name = groups.iter().skip(1).flatten().next();
            tags.extend(name.map(|name| format!("{kind}:{}", name.as_str())));
        }
    }
    tags.sort();
    tags.dedup();
    tags
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: ObservationKind, source: Option<&str>, content: &str, expected: &[&str]) {
        let source_type = if source.is_some() { SourceType::File } else { SourceType::Tool };
        let output = ToolOutput { kind, source_type, source_id: source, content };
        assert_eq!(source_tags(&output), expected, "{content}");
    }

    #[test]
    fn files_tests_and_commits_are_named() {
        use ObservationKind::{Bash, Message, Note, ToolUse};
        check(ToolUse, Some("src/lib.rs"), "pub mod a;", &["file:src/lib.rs:1"]);
        check(
            Note,
            None,
            "see src/main.rs:12 and (docs/a.md:3)",
            &["file:docs/a.md:3", "file:src/main.rs:12"],
        );
        check(
            Bash,
            None,
            "test engine::opens ... ok\ntest x ... FAILED",
            &["test:engine::opens", "test:x"],
        );
        check(Bash, None, "tests/a.py::test_b PASSED", &["test:tests/a.py::test_b"]);
        check(Bash, None, "[main 0f1e2d3] Add a", &["commit:0f1e2d3"]);
        check(Message, None, "fixed in commit 0f1e2d3c", &["commit:0f1e2d3c"]);
        check(Message, None, "コミット0f1e2d3で直しました", &["commit:0f1e2d3"]);
        check(Message, None, "at 12:30, v1.2:3, committed to it", &[]);
    }
}
