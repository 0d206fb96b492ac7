//! Reading and writing fails: each operation returns a typed error, and the next open,
//! where the disk works again, finds all that was acknowledged.

use std::{
    io::{BufRead, BufReader},
    process::Command,
};

use trefoil::{Engine, Error};

use crate::{
    campaign::{any_relevance, document, rounds},
    ledger::{Ledger, Task},
    trigrams::with_trigrams,
};

/// The n-th write beyond a size fails, for many n: no file grows above so many blocks.
#[test]
fn a_full_disk_loses_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut ledger = Ledger::default();
    for round in rounds(8) {
        let blocks = (1 + round * 37 % 96) * 128;
        // Without the signal that comes with the limit, the write fails.
        let limited = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let task = Task { index: &index, round, failpoint: ("none", 0) };
        run(&mut ledger, task.by("sh", &["-c", &limited, "sh"]), round);
        ledger.check(&index, round);
    }
    assert!(!ledger.errors.is_empty(), "no write has failed");
    report(&ledger);
}

/// The n-th call of the operating system fails, of each kind by which data becomes durable.
#[test]
fn a_disk_that_fails_loses_nothing() {
    if Command::new("strace").args(["-o", "/dev/null", "true"]).output().is_err() {
        println!("skipped: there is no strace");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut ledger = Ledger::default();
    let calls = ["fdatasync", "fsync", "write", "rename", "openat", "read", "mmap", "ftruncate"];
    for round in rounds(8) {
        let call = calls[round as usize % calls.len()];
        // The first calls of a process are not those of the index.
        let nth = if call.ends_with("sync") { 1 } else { 20 } + round * 7 % 150;
        let error = if (round / 8).is_multiple_of(2) { "EIO" } else { "ENOSPC" };
        let trace = format!("trace={call}");
        let inject = format!("inject={call}:error={error}:when={nth}");
        let arguments = ["-f", "-qq", "-o", "/dev/null", "-e", &trace, "-e", &inject];
        let task = Task { index: &index, round, failpoint: ("none", 0) };
        run(&mut ledger, task.by("strace", &arguments), round);
        ledger.check(&index, round);
    }
    report(&ledger);
}

#[test]
fn a_directory_that_cannot_be_written_is_read() {
    let Some(disk) = Disk::new() else { return };
    let index = disk.0.path().join("index");
    let engine = Engine::open_with(&index, with_trigrams()).unwrap();
    engine.ingest(&[document(1, 1)]).unwrap();
    engine.wait_until_indexed().unwrap();
    drop(engine);
    disk.mount("remount,ro");
    let error = Engine::open_with(&index, with_trigrams()).unwrap_err();
    assert!(matches!(error, Error::Io { .. } | Error::ReadOnly { .. }), "{error:?}");
    let reader = Engine::open_read_only(&index, with_trigrams()).unwrap();
    let found = reader.search(&any_relevance("walrus1v1x39")).unwrap();
    assert!(!found.results.is_empty());
    assert_eq!(found.degraded, []);
}

/// Two mebibytes, and an index that wants more.
#[test]
fn a_disk_that_is_full_is_told_and_read() {
    let Some(disk) = Disk::new() else { return };
    let index = disk.0.path().join("index");
    let engine = Engine::open_with(&index, with_trigrams()).unwrap();
    let write = |number| engine.ingest(&[document(number, 1)]);
    let error = (0..2_000).find_map(|number| write(number).err()).unwrap();
    assert!(matches!(error, Error::Io { .. } | Error::Backend { .. }), "{error:?}");
    let found = engine.search(&any_relevance("walrus1v1x39")).unwrap();
    assert!(!found.results.is_empty());
    drop(engine);
    disk.mount("remount,size=32m");
    let engine = Engine::open_with(&index, with_trigrams()).unwrap();
    engine.wait_until_indexed().unwrap();
    engine.ingest(&[document(1, 2)]).unwrap();
    let found = engine.search(&any_relevance("walrus1v2x39")).unwrap();
    assert!(!found.results.is_empty());
}

/// A small file system of its own; none where that is not permitted.
struct Disk(tempfile::TempDir);

impl Disk {
    fn new() -> Option<Self> {
        let disk = Self(tempfile::tempdir().unwrap());
        let mounted = disk.mount("size=2m");
        if !mounted {
            println!("skipped: only root may mount a file system");
        }
        mounted.then_some(disk)
    }

    fn mount(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(self.0.path());
        mount.output().is_ok_and(|output| output.status.success())
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).output();
    }
}

fn run(ledger: &mut Ledger, mut command: Command, round: u32) {
    let mut child = command.spawn().unwrap();
    for line in BufReader::new(child.stdout.take().unwrap()).lines() {
        ledger.note(&line.unwrap());
    }
    assert!(child.wait().unwrap().code().is_some(), "round {round} ended by a signal");
    let panicked = ledger.errors.iter().find(|error| error.starts_with("panicked"));
    assert_eq!(panicked, None, "round {round}");
}

fn report(ledger: &Ledger) {
    println!("{} writes acknowledged, errors: {:#?}", ledger.acknowledged, ledger.errors);
}
