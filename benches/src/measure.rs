//! How everything is measured.

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use criterion::Criterion;

use crate::Outcome;

/// How many chunks or vectors: steps of ten, so that growth is seen.
pub const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// Criterion, set so that all benchmarks together take less than ten minutes on two cores.
pub fn settings() -> Criterion {
    Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_millis(1_500))
        .nresamples(10_000)
        .configure_from_args()
}

/// `1k` for 1,000.
pub fn label(size: usize) -> String {
    format!("{}k", size / 1_000)
}

/// The value. Criterion's closures return none, so a failure ends the run there.
///
/// # Panics
/// If there is none.
#[expect(clippy::panic, reason = "the time of a failure must not pass for that of a success")]
pub fn must<T, E: Display>(outcome: Result<T, E>) -> T {
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

/// Prints a recall, and keeps it next to what criterion keeps of the same benchmark.
#[expect(clippy::print_stdout, reason = "stands next to what criterion prints")]
pub fn record_recall(group: &str, name: &str, size: &str, recall: f64) -> Outcome {
    let folder = target()?.join("criterion").join(group).join(name).join(size);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("recall.json"), recall.to_string())?;
    println!("{group}/{name}/{size} recall@10: {recall:.3}");
    Ok(())
}

/// Where what is costly to make is kept.
pub fn folder() -> Outcome<PathBuf> {
    let folder = target()?.join("benches");
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Cargo's build folder, in which this program lies.
pub fn target() -> Outcome<PathBuf> {
    let program = std::env::current_exe()?;
    let release = program.ancestors().find(|folder| folder.ends_with("release"));
    Ok(release.and_then(Path::parent).ok_or("this program was not built for release")?.to_owned())
}
