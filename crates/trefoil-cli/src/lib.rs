//! The `trefoil` command as a library: [`run`] is all of it, for a binary and for what carries the
//! command within itself. [`shared_store`] reads a URL of a store as the command does.

mod args;
mod browser;
mod command;
mod console;
mod draw;
mod failure;
mod grade;
mod interrupt;
mod progress;
mod settings;
mod show;
mod store;
mod wrap;

use std::{ffi::OsString, io::IsTerminal, process::ExitCode};

use clap::Parser;
use tracing_subscriber::EnvFilter;

pub use crate::store::shared_store;
use crate::{args::Args, console::Console};

/// Runs the command with these arguments, the name of the program first, as a process of its own:
/// it reads the environment, takes Ctrl-C, and writes results to stdout, and what a person is to
/// know to stderr.
pub fn run(args: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let args = match Args::try_parse_from(args) {
        Ok(args) => args,
        Err(error) => return failure::usage(&error),
    };
    let console = Console::new(&args.global);
    log(&args.global.log);
    match command::run(args, console) {
        Ok(outcome) => outcome.into(),
        Err(error) => failure::report(&error),
    }
}

/// Sends the log of the libraries to stderr, unless the process has a log already.
fn log(filter: &str) {
    let log = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time();
    drop(log.try_init());
}
