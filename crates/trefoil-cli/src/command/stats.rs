use std::fmt::Write;

use trefoil::admin::{EngineStats, JobCounts};

use super::Outcome;
use crate::{progress::bytes, settings::Settings};

/// Says what the index holds.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let engine = settings.open_to_read()?;
    let stats = engine.stats()?;
    settings.console.show(&stats, text)?;
    Ok(if stats.store.files > 0 { Outcome::Found } else { Outcome::NothingFound })
}

fn text(stats: &EngineStats) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        _ = writeln!(text, "{name:<10} {value}");
    };
    line("files", stats.store.files.to_string());
    let languages: Vec<String> =
        stats.store.languages.iter().map(|(code, chunks)| format!("{code} {chunks}")).collect();
    line(
        "chunks",
        match languages.as_slice() {
            [] => stats.store.chunks.to_string(),
            languages => format!("{} ({})", stats.store.chunks, languages.join(", ")),
        },
    );
    for (retriever, rows) in &stats.rows {
        line(retriever.name(), format!("finds {rows} chunks"));
    }
    // The name; the rest of the fingerprint is for programs.
    let model = stats.embedding.as_deref().and_then(|model| model.split(' ').next());
    line("model", model.unwrap_or("none").to_owned());
    let JobCounts { queued, running, failed } = stats.store.jobs;
    line(
        "pending",
        match (queued + running, failed) {
            (0, 0) => "nothing".to_owned(),
            (left, 0) => format!("{left} chunks wait for their vectors"),
            (left, failed) => format!("{left} chunks wait for their vectors, {failed} failed"),
        },
    );
    line(
        "size",
        format!("{}, of which {} text and cache", bytes(stats.bytes), bytes(stats.store.bytes)),
    );
    for degraded in &stats.absent {
        line(&degraded.stage.to_string(), degraded.reason.clone());
    }
    text
}
