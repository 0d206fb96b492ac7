use std::{collections::BTreeMap, fmt::Write};

use serde::Serialize;
use trefoil::{
    Engine, Part,
    admin::{Finding, Verification},
};

use super::Outcome;
use crate::{settings::Settings, show::printable};

/// What checking found, on the wire.
#[derive(Serialize)]
pub(super) struct Verified {
    sound: bool,
    change: u64,
    rows: BTreeMap<String, usize>,
    lagging: BTreeMap<String, usize>,
    findings: Vec<Found>,
}

#[derive(Serialize)]
struct Found {
    part: String,
    fault: String,
    next: &'static str,
}

/// Checks every part of the index; changes nothing.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let verification = Engine::verify(settings.index())?;
    settings.console.show(&Verified::from(&verification), |_| text(&verification))?;
    Ok(if verification.is_sound() { Outcome::Found } else { Outcome::Wrong })
}

impl From<&Verification> for Verified {
    fn from(verification: &Verification) -> Self {
        let counts = |counts: &[(Part, usize)]| {
            counts.iter().map(|&(part, rows)| (part.to_string(), rows)).collect()
        };
        Self {
            sound: verification.is_sound(),
            change: verification.seq.get(),
            rows: counts(&verification.rows),
            lagging: counts(&verification.lagging),
            findings: verification.findings.iter().map(Found::from).collect(),
        }
    }
}

impl From<&Finding> for Found {
    fn from(finding: &Finding) -> Self {
        Self {
            part: finding.part.to_string(),
            fault: finding.fault.to_string(),
            next: finding.next(),
        }
    }
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
