use std::fmt::Write;

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

/// Looks at how well the index does its work.
pub(super) fn run(args: &DoctorArgs, settings: &Settings) -> anyhow::Result<Outcome> {
    let options = DoctorOptions { sample: args.sample, k: args.limit, seed: args.seed };
    let report = Engine::doctor(settings.index(), settings.engine.clone(), &options)?;
    settings.console.show(&report.results, |_| text(&report))?;
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
