use clap::CommandFactory;
use clap_complete::{Shell, generate};

use crate::{args::Args, command::Outcome, console::print};

/// Prints the script that completes commands and options in `shell`.
pub(super) fn run(shell: Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "trefoil", &mut script);
    print(String::from_utf8_lossy(&script))?;
    Ok(Outcome::Found)
}
