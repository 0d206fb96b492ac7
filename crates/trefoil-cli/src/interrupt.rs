use std::{
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::Context;

/// What a shell expects of a command that Ctrl-C has ended: 128 + SIGINT.
const INTERRUPTED: i32 = 130;

/// From here on Ctrl-C says `message` and ends the process at once.
///
/// Nothing is lost that was acknowledged: the store is transactional, and whatever an
/// index lacks is replayed the next time it is opened.
pub(crate) fn say_on_ctrl_c(message: &'static str) -> anyhow::Result<()> {
    ctrlc::set_handler(move || {
        // The new line ends the one that a progress bar stands in.
        drop(writeln!(anstream::stderr(), "\n{message}"));
        exit_at_once()
    })
    .context("cannot handle Ctrl-C")
}

/// From here on Ctrl-C says `message` and is told by what is returned, so that the work comes to a
/// good end; a second one ends the process at once. SIGTERM is told too.
pub(crate) fn told_of_ctrl_c(message: &'static str) -> anyhow::Result<Arc<AtomicBool>> {
    let told = Arc::new(AtomicBool::new(false));
    let tell = Arc::clone(&told);
    ctrlc::set_handler(move || {
        if tell.swap(true, Ordering::Relaxed) {
            exit_at_once()
        }
        drop(writeln!(anstream::stderr(), "\n{message}"));
    })
    .context("cannot handle Ctrl-C")?;
    #[cfg(unix)]
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&told))
        .context("cannot handle SIGTERM")?;
    Ok(told)
}

/// Ends the process without the C++ destructors of the model runtime, which crash while
/// a model still runs on another thread. Waiting for it would take many seconds.
#[cfg(unix)]
fn exit_at_once() -> ! {
    signal_hook::low_level::exit(INTERRUPTED)
}

/// Ends the process; the other threads are stopped first.
#[cfg(not(unix))]
#[expect(clippy::exit, reason = "waiting for the model would take many seconds")]
fn exit_at_once() -> ! {
    std::process::exit(INTERRUPTED)
}
