use std::fmt::Write;

use trefoil::{Engine, Part, admin::Verification};

use super::Outcome;
use crate::{settings::Settings, show::printable};

/// Checks every part of the index; changes nothing.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let verification = Engine::verify(settings.index())?;
    settings.console.show(&verification, text)?;
    Ok(if verification.is_sound() { Outcome::Found } else { Outcome::Wrong })
}

/// What was found, a line each, and in the end what it means.
pub(super) fn text(verification: &Verification) -> String {
    let mut text = String::new();
    for (part, rows) in &verification.rows {
        // Most have no memory.
        if *rows > 0 || matches!(part, Part::Index(_)) {
            _ = writeln!(text, "{:<24} {rows} rows", part.to_string());
        }
    }
    for (part, rows) in &verification.lagging {
        _ = writeln!(text, "{:<24} {rows} rows behind the store", part.to_string());
    }
    for finding in &verification.findings {
        let fault = printable(&finding.fault.to_string());
        _ = writeln!(text, "the {}: {fault}\n  {}", finding.part, finding.next());
    }
    _ = match verification.findings.len() {
        0 => writeln!(text, "sound, up to change {}", verification.seq.get()),
        1 => writeln!(text, "1 fault"),
        more => writeln!(text, "{more} faults"),
    };
    text
}
