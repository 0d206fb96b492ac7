use std::{
    fmt,
    io::{self, BufWriter, IsTerminal, Write},
};

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use terminal_size::{Width, terminal_size_of};

use crate::args::GlobalArgs;

/// Columns where nobody can say how wide the reader's window is.
const DEFAULT_COLUMNS: usize = 100;
/// Longer lines are hard to read, and narrower ones leave no room for a path.
const COLUMNS: std::ops::RangeInclusive<usize> = 40..=100;

/// What a person wants to be told while a command runs. It goes to stderr; results, which
/// programs may read, go to stdout.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the command line"
)]
pub(crate) struct Console {
    /// Results are for a program.
    pub(crate) json: bool,
    /// Nothing but results and errors.
    pub(crate) quiet: bool,
    /// Every skipped file, not only the first.
    pub(crate) verbose: bool,
    /// Progress can be drawn in place.
    pub(crate) draws: bool,
}

impl Console {
    pub(crate) fn new(args: &GlobalArgs) -> Self {
        let draws = io::stderr().is_terminal() && !args.quiet;
        Self { json: args.json, quiet: args.quiet, verbose: args.verbose, draws }
    }

    /// Tells a person something that is no result.
    pub(crate) fn note(self, text: impl fmt::Display) {
        if !self.quiet {
            let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
            // Where stderr is closed there is nobody left to tell.
            drop(writeln!(anstream::stderr(), "{yellow}note:{yellow:#} {text}"));
        }
    }

    /// Writes a result: JSON for a program, text for a person.
    pub(crate) fn show<T: Serialize, D: fmt::Display>(
        self,
        result: &T,
        text: impl FnOnce(&T) -> D,
    ) -> anyhow::Result<()> {
        if self.json { print_json(result) } else { Ok(print(text(result))?) }
    }

    /// Tells a person how things go.
    pub(crate) fn status(self, text: impl fmt::Display) {
        if !self.quiet {
            drop(writeln!(anstream::stderr(), "{text}"));
        }
    }
}

/// Columns that text may take.
pub(crate) fn columns() -> usize {
    terminal_size_of(io::stdout())
        .map_or(DEFAULT_COLUMNS, |(Width(columns), _)| usize::from(columns))
        .clamp(*COLUMNS.start(), *COLUMNS.end())
}

/// Writes text to stdout; its colours are dropped unless a person sees them.
pub(crate) fn print(text: impl fmt::Display) -> io::Result<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.to_string().as_bytes())?;
    out.flush()
}

/// Writes one JSON document to stdout.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, value)?;
    out.write_all(b"\n")?;
    Ok(out.flush()?)
}
