//! The `trefoil` command: hybrid search over your files from a terminal.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// Many threads search at once, each with many small pieces of memory.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    trefoil_cli::run(std::env::args_os())
}
