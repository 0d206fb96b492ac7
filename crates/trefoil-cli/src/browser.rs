//! The browser of the person who types.

use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use anyhow::Context;
use tempfile::TempPath;

use crate::console::Console;

/// A file that leads a browser to an address with a token, and that its owner alone reads. The
/// browser is given the file: the arguments of a program are seen by every user of the machine.
/// It goes when this is dropped.
#[derive(Debug)]
pub(crate) struct WayIn(#[expect(dead_code, reason = "it is kept until it is dropped")] TempPath);

/// Opens an address in the browser. Where there is none, the person is told to do it by hand.
pub(crate) fn open(address: &str, console: Console) -> anyhow::Result<WayIn> {
    // A temporary file has mode 0600.
    let mut file = tempfile::Builder::new().prefix("trefoil-").suffix(".html").tempfile()?;
    write!(
        file,
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>Trefoil</title>\n\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\">\n\
         <p><a href=\"{address}\">Trefoil</a></p>\n"
    )
    .context("cannot write the file that leads the browser to the page")?;
    let path = file.into_temp_path();
    let mut browser = opener(&path);
    browser.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // It may run as long as the browser does.
    thread::Builder::new().name("trefoil-browser".to_owned()).spawn(move || {
        if !browser.status().is_ok_and(|status| status.success()) {
            console.note("no browser could be opened; open the printed address in one");
        }
    })?;
    Ok(WayIn(path))
}

/// What the system opens files with.
fn opener(path: &Path) -> Command {
    let (program, arguments): (_, &[&str]) = if cfg!(windows) {
        ("cmd", &["/C", "start", ""])
    } else if cfg!(target_os = "macos") {
        ("open", &[])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(path);
    command
}
