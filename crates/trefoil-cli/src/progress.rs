//! How far a long task is: a bar where it can be drawn, a line now and then elsewhere.

use std::{
    borrow::Cow,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use trefoil::model::PullProgress;

use crate::console::Console;

/// Between two lines where no bar can be drawn.
const PAUSE: Duration = Duration::from_secs(15);
/// Too short a time to tell a rate from.
const WARM_UP: Duration = Duration::from_secs(1);

/// One task with a known amount of work.
#[derive(Debug)]
pub(crate) struct Progress {
    console: Console,
    doing: Cow<'static, str>,
    unit: Unit,
    started: Instant,
    said: Instant,
    bar: ProgressBar,
}

/// What work is counted in.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unit {
    Items(&'static str),
    Bytes,
}

impl Progress {
    /// Begins a task; `doing` is a participle such as `reading`.
    pub(crate) fn start(console: Console, doing: impl Into<Cow<'static, str>>, unit: Unit) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let doing = doing.into();
        if console.draws {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{prefix:<10} {bar:24.green/dim} {msg}")
            {
                bar.set_style(style.progress_chars("━━─"));
            }
            bar.set_prefix(doing.clone().into_owned());
        }
        let started = Instant::now();
        Self { console, doing, unit, started, said: started, bar }
    }

    /// Shows that `done` of `total` is done.
    pub(crate) fn set(&mut self, done: u64, total: u64) {
        if total == 0 {
            return;
        }
        let text = self.unit.describe(done, total, self.started.elapsed());
        self.bar.set_length(total);
        self.bar.set_position(done);
        if self.console.draws {
            self.bar.set_message(text);
        } else if self.said.elapsed() >= PAUSE {
            self.console.status(format_args!("{} {text}", self.doing));
            self.said = Instant::now();
        }
    }

    fn advance(&mut self, by: u64) {
        let total = self.bar.length().unwrap_or_default();
        self.set((self.bar.position() + by).min(total), total);
    }

    /// Takes the bar away.
    pub(crate) fn finish(self) {
        self.bar.finish_and_clear();
    }
}

impl Unit {
    /// `320 of 671 files, 64/s, 6 s left`.
    fn describe(self, done: u64, total: u64, elapsed: Duration) -> String {
        let amount = match self {
            Self::Items(items) => format!("{done} of {total} {items}"),
            Self::Bytes => format!("{} of {}", bytes(done), bytes(total)),
        };
        if done == 0 || elapsed < WARM_UP {
            return amount;
        }
        let rate = done as f64 / elapsed.as_secs_f64();
        let shown_rate = match self {
            Self::Items(_) if rate < 10.0 => format!("{rate:.1}"),
            Self::Items(_) => format!("{rate:.0}"),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive rate"
            )]
            Self::Bytes => bytes(rate as u64),
        };
        let left = Duration::try_from_secs_f64(total.saturating_sub(done) as f64 / rate)
            .unwrap_or_default();
        if left < WARM_UP {
            return format!("{amount}, {shown_rate}/s");
        }
        format!("{amount}, {shown_rate}/s, {} left", duration(left))
    }
}

/// The steps of a pull, each with its own bar.
#[derive(Debug)]
pub(crate) struct PullBars {
    console: Console,
    step: Mutex<Option<Progress>>,
}

impl PullBars {
    pub(crate) fn new(console: Console) -> Self {
        Self { console, step: Mutex::default() }
    }

    pub(crate) fn finish(self) {
        if let Some(progress) = self.step().take() {
            progress.finish();
        }
    }

    fn step(&self) -> MutexGuard<'_, Option<Progress>> {
        self.step.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PullProgress for PullBars {
    fn begin(&self, step: &str, bytes: u64) {
        let mut current = self.step();
        if let Some(progress) = current.take() {
            progress.finish();
        }
        self.console.status(format_args!("{step} ({})", self::bytes(bytes)));
        let mut progress = Progress::start(self.console, "", Unit::Bytes);
        progress.set(0, bytes);
        *current = Some(progress);
    }

    fn advance(&self, bytes: u64) {
        if let Some(progress) = self.step().as_mut() {
            progress.advance(bytes);
        }
    }
}

/// `850 B`, `12.3 kB`, `71.6 MB`.
pub(crate) fn bytes(count: u64) -> String {
    let mut value = count as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value >= 999.5 {
        let Some(larger) = units.next() else { break };
        (value, unit) = (value / 1000.0, larger);
    }
    if unit == "B" || value >= 99.95 {
        format!("{value:.0} {unit}")
    } else {
        format!("{value:.1} {unit}")
    }
}

/// `7.3 s`, `42 s`, `2 min 5 s`, `1 h 10 min`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 if time.as_secs_f64() < 9.95 => format!("{:.1} s", time.as_secs_f64()),
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_described_with_rate_and_time_left() {
        let check = |unit: Unit, done, total, millis, expected: &str| {
            assert_eq!(unit.describe(done, total, Duration::from_millis(millis)), expected);
        };
        let files = Unit::Items("files");
        check(files, 0, 671, 5_000, "0 of 671 files");
        check(files, 320, 671, 5_000, "320 of 671 files, 64/s, 5.5 s left");
        check(files, 671, 671, 5_000, "671 of 671 files, 134/s");
        check(files, 10, 1_000, 5_000, "10 of 1000 files, 2.0/s, 8 min 15 s left");
        check(files, 10, 1_000, 200, "10 of 1000 files");
        check(
            Unit::Bytes,
            50_000_000,
            100_000_000,
            10_000,
            "50.0 MB of 100 MB, 5.0 MB/s, 10 s left",
        );
    }

    #[test]
    fn sizes_have_three_figures() {
        for (count, expected) in [
            (0, "0 B"),
            (999, "999 B"),
            (1_000, "1.0 kB"),
            (71_622_400, "71.6 MB"),
            (999_600, "1.0 MB"),
            (u64::MAX, "18446744 TB"),
        ] {
            assert_eq!(bytes(count), expected);
        }
    }

    #[test]
    fn times_have_two_units_at_most() {
        for (seconds, expected) in [
            (0.42, "0.4 s"),
            (7.31, "7.3 s"),
            (59.9, "59 s"),
            (125.0, "2 min 5 s"),
            (4_205.0, "1 h 10 min"),
        ] {
            assert_eq!(duration(Duration::from_secs_f64(seconds)), expected);
        }
    }
}
