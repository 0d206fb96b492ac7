use std::{collections::BTreeMap, fmt::Write};

use serde::Serialize;
use trefoil::{Engine, RetrieverId, admin::EngineStats};

use super::Outcome;
use crate::{progress::bytes, settings::Settings};

/// What an index holds, on the wire.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stats {
    files: usize,
    chunks: usize,
    languages: BTreeMap<&'static str, usize>,
    /// Chunks that each retriever can find.
    rows: BTreeMap<RetrieverId, u64>,
    cached_embeddings: usize,
    model: Option<String>,
    jobs: Jobs,
    store_bytes: u64,
    bytes: u64,
    change: u64,
    absent: Vec<trefoil::Degraded>,
}

#[derive(Serialize)]
struct Jobs {
    waiting: usize,
    running: usize,
    failed: usize,
}

/// Says what the index holds.
pub(super) fn run(settings: &Settings) -> anyhow::Result<Outcome> {
    let engine = Engine::open_read_only(settings.index(), settings.engine.clone())?;
    let stats = Stats::from(engine.stats()?);
    settings.console.show(&stats, text)?;
    Ok(if stats.files > 0 { Outcome::Found } else { Outcome::NothingFound })
}

impl From<EngineStats> for Stats {
    fn from(stats: EngineStats) -> Self {
        let EngineStats { store, bytes, embedding, rows, absent, .. } = stats;
        Self {
            files: store.files,
            chunks: store.chunks,
            languages: store
                .languages
                .iter()
                .map(|&(language, chunks)| (language.code(), chunks))
                .collect(),
            rows: rows.iter().map(|&(retriever, rows)| (retriever, rows)).collect(),
            cached_embeddings: store.cached_embeddings,
            model: embedding,
            jobs: Jobs {
                waiting: store.jobs.queued,
                running: store.jobs.running,
                failed: store.jobs.failed,
            },
            store_bytes: store.bytes,
            bytes,
            change: store.seq.get(),
            absent,
        }
    }
}

fn text(stats: &Stats) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        _ = writeln!(text, "{name:<10} {value}");
    };
    line("files", stats.files.to_string());
    let languages: Vec<String> =
        stats.languages.iter().map(|(code, chunks)| format!("{code} {chunks}")).collect();
    line(
        "chunks",
        match languages.as_slice() {
            [] => stats.chunks.to_string(),
            languages => format!("{} ({})", stats.chunks, languages.join(", ")),
        },
    );
    for (retriever, rows) in &stats.rows {
        line(retriever.name(), format!("finds {rows} chunks"));
    }
    // The name; the rest of the fingerprint is for programs.
    let model = stats.model.as_deref().and_then(|model| model.split(' ').next());
    line("model", model.unwrap_or("none").to_owned());
    let Jobs { waiting, running, failed } = stats.jobs;
    line(
        "pending",
        match (waiting + running, failed) {
            (0, 0) => "nothing".to_owned(),
            (left, 0) => format!("{left} chunks wait for their vectors"),
            (left, failed) => format!("{left} chunks wait for their vectors, {failed} failed"),
        },
    );
    line(
        "size",
        format!("{}, of which {} text and cache", bytes(stats.bytes), bytes(stats.store_bytes)),
    );
    for degraded in &stats.absent {
        line(&degraded.stage.to_string(), degraded.reason.clone());
    }
    text
}
