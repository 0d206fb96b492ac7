//! The `trefoil` command: hybrid search over your files from a terminal.

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
mod wrap;

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;
use tracing_subscriber::EnvFilter;

use crate::{args::Args, console::Console};

fn main() -> ExitCode {
    let args = match Args::try_parse() {
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

/// Sends the log of the libraries to stderr.
fn log(filter: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .without_time()
        .init();
}
