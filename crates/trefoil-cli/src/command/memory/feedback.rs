use std::fmt::Write;

use trefoil_memory::{FeedbackInput, FeedbackOutcome};

use super::{Outcome, writable};
use crate::{args::FeedbackArgs, settings::Settings};

/// Corrects a claim by what is said of it.
pub(super) fn run(args: FeedbackArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let FeedbackArgs { claim, signal, score, duplicate_of } = args;
    let outcome =
        writable(settings)?.feedback(&FeedbackInput { claim, signal, score, duplicate_of })?;
    if outcome.feedback.is_none() {
        settings.console.note("the same was said within this minute; nothing changes");
    }
    settings.console.show(&outcome, text)?;
    Ok(Outcome::Found)
}

/// A line for each value that is corrected.
pub(in crate::command) fn text(outcome: &FeedbackOutcome) -> String {
    let (before, after) = (&outcome.previous, &outcome.updated);
    let mut text = format!("utility    {:+.2} → {:+.2}\n", before.utility, after.utility);
    for (name, before, after) in [
        ("confidence", before.confidence, after.confidence),
        ("quality", before.quality, after.quality),
        ("recency", before.recency, after.recency),
    ] {
        _ = writeln!(text, "{name:<10}  {:.2} →  {:.2}", before.get(), after.get());
    }
    if let Some(other) = &outcome.representative {
        _ = writeln!(text, "merged into {other}");
    }
    text
}
