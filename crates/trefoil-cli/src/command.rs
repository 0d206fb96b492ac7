//! The commands, one file each.

mod calibrate;
mod cluster;
mod demo;
mod doctor;
mod eval;
mod export;
mod fill;
mod graph;
mod index;
#[cfg(feature = "mcp")]
mod mcp;
mod memory;
mod models;
mod reindex;
mod remove;
mod repair;
mod search;
mod serve;
mod shell;
mod stats;
mod token;
mod tune;
mod verify;
mod watch;
mod why_not;

use std::process::ExitCode;

use crate::{
    args::{Args, Command},
    console::Console,
    settings::Settings,
};

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It did or found something.
    Found,
    /// There was nothing.
    NothingFound,
    /// The index is not as it should be.
    Wrong,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Found => Self::SUCCESS,
            Outcome::NothingFound | Outcome::Wrong => Self::from(1),
        }
    }
}

/// Runs a command.
pub(crate) fn run(args: Args, console: Console) -> anyhow::Result<Outcome> {
    let settings = || Settings::read(&args.global, console);
    match args.command {
        Command::Demo(args) => demo::run(&args, &settings()?),
        Command::Index(args) => index::run(&args, &settings()?),
        Command::Remove(args) => remove::run(&args, &settings()?),
        Command::Reindex => reindex::run(&settings()?),
        Command::Search(args) => search::run(*args, &settings()?),
        Command::Eval(args) => eval::run(&args, &settings()?),
        Command::Tune(args) => tune::run(&args, &settings()?),
        Command::Calibrate(args) => calibrate::run(&args, settings()?),
        Command::WhyNot(args) => why_not::run(*args, &settings()?),
        Command::Models(command) => models::run(&command, &settings()?),
        Command::Graph(args) => graph::run(args, &settings()?),
        Command::Memory(command) => memory::run(*command, &settings()?),
        Command::Stats => stats::run(&settings()?),
        Command::Verify => verify::run(&settings()?),
        Command::Repair => repair::run(&settings()?),
        Command::Doctor(args) => doctor::run(&args, &settings()?),
        Command::Export { file } => export::run(&file, &settings()?),
        Command::Import { file } => export::import(&file, &settings()?),
        Command::Serve(serve) => {
            let global = args.global;
            let read = move || Settings::read_to_serve(&global, console);
            serve::run(serve, &read()?, read)
        }
        #[cfg(feature = "mcp")]
        Command::Mcp(args) => mcp::run(args, &settings()?),
        Command::Cluster(command) => cluster::run(&command, &settings()?),
        Command::Token(command) => token::run(command, &settings()?),
        Command::Completions { shell } => shell::completions(shell),
        Command::Man { folder } => shell::manual(folder.as_deref()),
    }
}
