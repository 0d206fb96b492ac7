use std::io::Write;

use anyhow::Context;

/// What a shell expects of a command that Ctrl-C has ended: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// From here on Ctrl-C says `message` and ends the process at once.
///
/// Nothing is lost that was acknowledged: the store is transactional, and whatever an
/// index lacks is replayed the next time it is opened.
pub(crate) fn say_on_ctrl_c(message: &'static str) -> anyhow::Result<()> {
    #[expect(clippy::exit, reason = "waiting for the current batch would take many seconds")]
    ctrlc::set_handler(move || {
        // The new line ends the one that a progress bar stands in.
        drop(writeln!(anstream::stderr(), "\n{message}"));
        std::process::exit(INTERRUPTED)
    })
    .context("cannot handle Ctrl-C")
}
