//! What a shell and its manual know of the command.

use std::{fs, path::Path};

use clap::CommandFactory;
use clap_complete::{Shell, generate};
use clap_mangen::{Man, generate_to};

use crate::{args::Args, command::Outcome, console::print};

/// Prints the script that completes commands and options in `shell`.
pub(super) fn completions(shell: Shell) -> anyhow::Result<Outcome> {
    let mut script = Vec::new();
    generate(shell, &mut Args::command(), "trefoil", &mut script);
    print(String::from_utf8_lossy(&script))?;
    Ok(Outcome::Found)
}

/// Prints the manual page of `trefoil`, or writes one for it and for each command into
/// `folder`.
pub(super) fn manual(folder: Option<&Path>) -> anyhow::Result<Outcome> {
    if let Some(folder) = folder {
        fs::create_dir_all(folder)
            .map_err(|error| trefoil::Error::io("create the folder", folder, error))?;
        generate_to(Args::command(), folder)
            .map_err(|error| trefoil::Error::io("write manual pages into", folder, error))?;
    } else {
        let mut page = Vec::new();
        Man::new(Args::command()).render(&mut page)?;
        print(String::from_utf8_lossy(&page))?;
    }
    Ok(Outcome::Found)
}
