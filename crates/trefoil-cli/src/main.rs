//! The `trefoil` command: hybrid search over your files from a terminal.

use std::process::ExitCode;

fn main() -> ExitCode {
    trefoil_cli::run(std::env::args_os())
}
