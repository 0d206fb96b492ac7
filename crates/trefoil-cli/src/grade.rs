//! How the evidence was graded, as a person reads it.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};
use trefoil::crag::{CorrectionOutcome, CragBasis, CragRelevance, CragReport, WebPage};

use crate::show::{DIM, printable, score};

/// The grade and what it rests on, what was done, and what the web says.
pub(crate) fn report(report: &CragReport) -> String {
    let CragReport { score: grade, basis, actions, repairs, web } = report;
    let (name, colour) = match grade.relevance {
        CragRelevance::Correct => ("correct", AnsiColor::Green),
        CragRelevance::Ambiguous => ("ambiguous", AnsiColor::Yellow),
        CragRelevance::Incorrect => ("incorrect", AnsiColor::Red),
    };
    let style = Style::new().bold().fg_color(Some(colour.into()));
    let basis = match basis {
        CragBasis::Rerank => "read with the question",
        CragBasis::Retrieved => "as the retrievers score it",
    };
    let mut text = format!("evidence {style}{name}{style:#} {} ({basis})", score(grade.confidence));
    let actions: Vec<&str> = actions.iter().map(|action| action.as_str()).collect();
    if !actions.is_empty() {
        _ = write!(text, " · {}", actions.join(" → "));
    }
    text.push('\n');
    for CorrectionOutcome { repair, found, kept } in repairs {
        let outcome = match (found, kept) {
            (0, _) => "nothing new".to_owned(),
            (found, true) => format!("{found} more"),
            (found, false) => format!("{found} more, none better"),
        };
        _ = writeln!(text, "  {DIM}{:<10} {outcome}{DIM:#}", repair.as_str());
    }
    if let Some(rewrite) = &grade.refined_query {
        _ = writeln!(text, "  {DIM}asked as   {}{DIM:#}", one_line(rewrite));
    }
    for page in web {
        text.push_str(&found_page(page));
    }
    text
}

/// A page of the web: anyone may have written it, and the line says so.
fn found_page(page: &WebPage) -> String {
    let title = if page.title.is_empty() { &page.url } else { &page.title };
    let mut text = format!("  {DIM}web, untrusted{DIM:#}  {}\n", one_line(title));
    for line in [&page.url, &page.snippet] {
        if !line.is_empty() {
            _ = writeln!(text, "    {}", one_line(line));
        }
    }
    text
}

fn one_line(text: &str) -> String {
    printable(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use trefoil::{
        Score,
        crag::{Correction, CragAction, CragScore, Trust, WebMetadata},
    };

    use super::*;

    #[test]
    fn the_grade_says_what_was_done_and_what_is_not_to_be_trusted() {
        let graded = CragReport {
            score: CragScore {
                relevance: CragRelevance::Ambiguous,
                confidence: Score::clamped(0.5),
                needs_web_search: true,
                refined_query: Some("tide moon".to_owned()),
            },
            basis: CragBasis::Rerank,
            actions: vec![CragAction::Expand, CragAction::Discard, CragAction::WebSearch],
            repairs: vec![
                CorrectionOutcome { repair: Correction::Feedback, found: 4, kept: true },
                CorrectionOutcome { repair: Correction::Neighbours, found: 0, kept: false },
            ],
            web: vec![WebPage {
                url: "https://tides.example/a".to_owned(),
                title: "Tides\u{1b}[31m".to_owned(),
                snippet: "The\nmoon.".to_owned(),
                metadata: WebMetadata {
                    service: "https://searx.example".to_owned(),
                    trust: Trust::Untrusted,
                },
            }],
        };
        let text = anstream::adapter::strip_str(&report(&graded)).to_string();
        assert_eq!(
            text,
            "evidence ambiguous .50 (read with the question) · expand → discard → web_search\n  \
             feedback   4 more\n  neighbours nothing new\n  asked as   tide moon\n  \
             web, untrusted  Tides [31m\n    https://tides.example/a\n    The moon.\n"
        );
    }
}
