use std::fmt::Write;

use serde::Serialize;
use trefoil::{
    Engine,
    admin::{CheckResult, DoctorOptions, HealthReport},
};

use super::Outcome;
use crate::{
    args::DoctorArgs,
    settings::Settings,
    show::{DIM, printable},
};

/// What was looked at, on the wire.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    result: &'a CheckResult,
    healthy: bool,
    next: Option<&'static str>,
}

/// Looks at how well the index does its work.
pub(super) fn run(args: &DoctorArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let options = DoctorOptions { sample: args.sample, k: args.limit, seed: args.seed };
    let report = Engine::doctor(settings.index(), settings.engine.clone(), &options)?;
    let rows = report.results.iter().map(|result| Row {
        result,
        healthy: result.is_healthy(),
        next: (!result.is_healthy()).then(|| result.next()),
    });
    let rows: Vec<Row<'_>> = rows.collect();
    settings.console.show(&rows, |_| text(&report))?;
    Ok(if report.is_healthy() { Outcome::Found } else { Outcome::Wrong })
}

/// A line a result; below one that is not as it should be, some examples and what to do.
fn text(report: &HealthReport) -> String {
    let mut text = String::new();
    for result in &report.results {
        let CheckResult { check, found, of, examples } = result;
        let healthy = result.is_healthy();
        let mark = if healthy { '✓' } else { '!' };
        let count = format!("{found} of {of}");
        _ = writeln!(text, "{mark} {:<30} {count:>12}", check.to_string());
        if !healthy {
            for example in examples {
                _ = writeln!(text, "    {DIM}{}{DIM:#}", printable(example).replace('\n', " "));
            }
            _ = writeln!(text, "    {}", result.next());
        }
    }
    text
}
