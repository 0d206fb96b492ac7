use std::fmt::Write;

use serde::Serialize;
use trefoil::{CheckResult, DoctorOptions, Engine, HealthReport};

use super::Outcome;
use crate::{
    args::DoctorArgs,
    console::{Console, print, print_json},
    settings::Settings,
    show::{DIM, printable},
};

/// What was looked at, on the wire.
#[derive(Serialize)]
struct Look<'a> {
    #[serde(flatten)]
    reading: &'a CheckResult,
    healthy: bool,
    next: Option<&'static str>,
}

/// Looks at how well the index does its work.
pub(super) fn run(
    args: &DoctorArgs,
    settings: &Settings,
    console: Console,
) -> anyhow::Result<Outcome> {
    let options = DoctorOptions { sample: args.sample, k: args.limit, seed: args.seed };
    let diagnosis = Engine::doctor(settings.index(), settings.engine.clone(), &options)?;
    if console.json {
        let looks = diagnosis.readings.iter().map(|reading| Look {
            reading,
            healthy: reading.is_healthy(),
            next: (!reading.is_healthy()).then(|| reading.next()),
        });
        print_json(&looks.collect::<Vec<_>>())?;
    } else {
        print(text(&diagnosis))?;
    }
    Ok(if diagnosis.is_healthy() { Outcome::Found } else { Outcome::Wrong })
}

/// A line a reading; below one that is not as it should be, some examples and what to do.
fn text(diagnosis: &HealthReport) -> String {
    let mut text = String::new();
    for reading in &diagnosis.readings {
        let CheckResult { symptom, found, of, examples } = reading;
        let healthy = reading.is_healthy();
        let mark = if healthy { '✓' } else { '!' };
        let count = format!("{found} of {of}");
        _ = writeln!(text, "{mark} {:<30} {count:>12}", symptom.to_string());
        if !healthy {
            for example in examples {
                _ = writeln!(text, "    {DIM}{}{DIM:#}", printable(example).replace('\n', " "));
            }
            _ = writeln!(text, "    {}", reading.next());
        }
    }
    text
}
