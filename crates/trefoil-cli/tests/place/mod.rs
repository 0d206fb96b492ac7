//! An empty folder to run the binary in, without a model, and what a run printed.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may panic")]

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

pub(crate) struct Place(TempDir);

pub(crate) struct Run {
    code: i32,
    pub(crate) stdout: String,
    stderr: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn run(&self, args: &[&str]) -> Run {
        self.run_with(args, "")
    }

    pub(crate) fn run_with(&self, args: &[&str], input: &str) -> Run {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trefoil"));
        command.args(args).current_dir(self.0.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for name in [
            "TREFOIL_INDEX",
            "TREFOIL_MODEL",
            "TREFOIL_RERANK_MODEL",
            "TREFOIL_LOG",
            "CLICOLOR_FORCE",
        ] {
            command.env_remove(name);
        }
        let mut child = command.env("TREFOIL_HOME", self.path("no-models")).spawn().unwrap();
        // A command that reads nothing may have ended by now.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let (stdout, stderr) = (text(output.stdout), text(output.stderr));
        Run { code: output.status.code().unwrap(), stdout, stderr }
    }
}

impl Run {
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Checks what is on stdout.
    #[track_caller]
    pub(crate) fn says(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stdout.contains(part), "no `{part}` in:\n{}", self.stdout);
        }
        self
    }

    /// Checks what is on stderr.
    #[track_caller]
    pub(crate) fn complains(self, parts: &[&str]) -> Self {
        for part in parts {
            assert!(self.stderr.contains(part), "no `{part}` in:\n{}", self.stderr);
        }
        self
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap()
    }
}
