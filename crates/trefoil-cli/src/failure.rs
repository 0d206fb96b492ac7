//! Errors as a person and a script read them: a message on stderr, an exit code.

use std::{io, process::ExitCode};

use anstyle::{AnsiColor, Style};
use trefoil::Error;
use trefoil_server::StartError;

/// A mistake in what was asked for, as opposed to a failure to do it.
const USAGE: u8 = 2;
const FAILURE: u8 = 3;

/// Prints what clap has to say, which may also be the help that was asked for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    match error.print() {
        Err(io) if io.kind() != io::ErrorKind::BrokenPipe => ExitCode::from(FAILURE),
        _ => u8::try_from(error.exit_code()).map_or(ExitCode::from(USAGE), ExitCode::from),
    }
}

/// Prints an error with its causes. A reader that has gone away is none.
pub(crate) fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    message(error);
    ExitCode::from(if is_usage(error) { USAGE } else { FAILURE })
}

/// `error: …: …`, in one line.
pub(crate) fn message(error: &anyhow::Error) {
    let red = Style::new().fg_color(Some(AnsiColor::Red.into())).bold();
    let text = format!("{red}error:{red:#} {}\n", chain(error));
    // Where stderr is closed there is nobody left to tell.
    drop(io::Write::write_all(&mut anstream::stderr(), text.as_bytes()));
}

/// The message and its causes, without those that the message before already holds.
fn chain(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        let cause = cause.trim_end();
        if last.contains(cause) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(cause);
        cause.clone_into(&mut last);
    }
    text
}

/// Codes of errors that are the caller's, whichever node says so.
const WRONG_QUESTIONS: [&str; 11] = [
    "invalid_query",
    "invalid_id",
    "invalid_score",
    "invalid_weights",
    "invalid_k",
    "invalid_config",
    "invalid_field",
    "invalid_scope",
    "invalid_policy",
    "invalid_policy_version",
    "invalid_boundary",
];

fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<crate::settings::InvalidSettings>()
            || matches!(cause.downcast_ref(), Some(StartError::Unprotected(_)))
            || cause
                .downcast_ref::<Error>()
                .is_some_and(|error| WRONG_QUESTIONS.contains(&error.code()))
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let kind = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        let json =
            cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        kind.or(json) == Some(io::ErrorKind::BrokenPipe)
    })
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use trefoil::ErrorKind;

    use super::*;

    #[test]
    fn causes_follow_the_message_and_repeat_nothing() {
        let missing = io::Error::new(io::ErrorKind::NotFound, "no such file");
        let error =
            Err::<(), _>(Error::io("open", "notes", missing)).context("cannot index").unwrap_err();
        assert_eq!(chain(&error), "cannot index: cannot open `notes`: no such file");
        assert_eq!(
            chain(&anyhow::anyhow!("disk full").context("broken: disk full")),
            "broken: disk full"
        );
    }

    #[test]
    fn a_wrong_question_is_not_a_failure() {
        assert!(is_usage(&Error::invalid_query("text", "", "something").into()));
        assert!(!is_usage(&Error::IndexMissing { path: "x".into() }.into()));
        // The node that leads says so of what this one has sent.
        for code in WRONG_QUESTIONS {
            let kind = ErrorKind::of_code(code).unwrap();
            assert!(
                is_usage(&Error::Refused { kind, reason: "no".into(), field: None }.into()),
                "{code}"
            );
        }
        let kind = ErrorKind::of_code("unknown_claim").unwrap();
        assert!(!is_usage(&Error::Refused { kind, reason: "no".into(), field: None }.into()));
    }

    #[test]
    fn a_closed_pipe_is_seen_through_its_wrappers() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&anyhow::Error::from(closed()).context("cannot print")));
        assert!(is_broken_pipe(&serde_json::Error::io(closed()).into()));
        assert!(!is_broken_pipe(&io::Error::from(io::ErrorKind::NotFound).into()));
    }
}
