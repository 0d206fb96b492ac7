//! Whether an index is what it should be: every checksum, every rule of the store, and every
//! row of the store in every index exactly once. Changes nothing, and works while another process writes.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::Path,
    sync::Arc,
};

use serde::Serialize;
use tempfile::TempDir;
use trefoil_core::{Collection, Contents, Error, Part, Result, RowId, Seq, as_map};
use trefoil_store::{Access, Store, StoreFault, SystemClock};

use crate::{
    admin::export,
    config::EngineConfig,
    index::{
        open::{self, IndexOnDisk},
        replay::{changed_rows, entries},
    },
};

/// Rows of the store that are compared at a time: bounds memory.
const BATCH: usize = 1_024;
/// Rows of one kind that a fault names.
const EXAMPLES: usize = 5;

/// What checking an index found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "VerificationView")]
pub struct Verification {
    /// The store's last change.
    pub seq: Seq,
    /// Rows that each index holds.
    pub rows: Vec<(Part, usize)>,
    /// Rows that each index is yet to be given, where there are any. No fault: the next
    /// writer gives them.
    pub lagging: Vec<(Part, usize)>,
    /// What is wrong; nothing if the index is sound.
    pub findings: Vec<Finding>,
}

/// A verification on the wire.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Verification"))]
#[derive(Serialize)]
pub(super) struct VerificationView {
    /// Whether nothing is wrong.
    sound: bool,
    /// The store's last change.
    change: Seq,
    /// Rows that each index holds.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, usize>"))]
    rows: Vec<(Part, usize)>,
    /// Rows that each index is yet to be given, where there are any.
    #[serde(serialize_with = "as_map")]
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, usize>"))]
    lagging: Vec<(Part, usize)>,
    findings: Vec<Finding>,
}

impl From<Verification> for VerificationView {
    fn from(found: Verification) -> Self {
        let sound = found.is_sound();
        let Verification { seq: change, rows, lagging, findings } = found;
        Self { sound, change, rows, lagging, findings }
    }
}

impl Verification {
    /// True if nothing is wrong.
    pub fn is_sound(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Something that is wrong with a part of an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "FindingView")]
pub struct Finding {
    /// The part.
    pub part: Part,
    /// What is wrong with it.
    pub fault: Fault,
}

/// A finding on the wire.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Finding"))]
#[derive(Serialize)]
pub(super) struct FindingView {
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    part: Part,
    /// What is wrong with it.
    fault: String,
    /// What to do about it.
    next: &'static str,
}

impl From<Finding> for FindingView {
    fn from(found: Finding) -> Self {
        Self { part: found.part, fault: found.fault.to_string(), next: found.next() }
    }
}

impl Finding {
    /// What to do about it.
    pub const fn next(&self) -> &'static str {
        match (self.part, &self.fault) {
            (_, Fault::Newer { .. }) => "upgrade Trefoil",
            (Part::Store, _) => {
                "run `trefoil repair`, which saves what can be read into a new store"
            }
            _ => "run `trefoil repair`, which rebuilds it from the store",
        }
    }
}

/// What can be wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// It cannot be read, or has another checksum than it should.
    Damaged {
        /// How it shows.
        reason: String,
    },
    /// A newer version wrote it.
    Newer {
        /// Its format.
        found: u32,
        /// The newest that can be read.
        supported: u32,
    },
    /// A rule of the store is broken.
    Contradicts(StoreFault),
    /// It lacks rows of the store.
    Lacks(Rows),
    /// It holds rows that the store does not.
    Ghosts(Rows),
    /// It holds rows more than once.
    Repeats(Rows),
    /// It was made from something else than the store holds.
    Differs(Rows),
    /// It has reached a change that the store does not know.
    Ahead {
        /// What it has reached.
        reached: Seq,
        /// The store's last change.
        last: Seq,
    },
    /// Its vectors are of another model than the store says.
    OtherModel {
        /// The model of the vectors.
        found: String,
        /// The model that the store names.
        expected: String,
    },
}

/// Some rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// How many.
    pub count: usize,
    /// The first of them.
    pub first: Vec<RowId>,
}

impl fmt::Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows: Vec<String> = self.first.iter().map(|row| row.get().to_string()).collect();
        let more = if self.count > self.first.len() { ", …" } else { "" };
        write!(f, "{} ({}{more})", self.count, rows.join(", "))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { reason } => f.write_str(reason),
            Self::Newer { found, supported } => {
                write!(f, "it has format {found}, this version reads up to {supported}")
            }
            Self::Contradicts(StoreFault { check, what, count, examples }) => {
                let more = if *count > examples.len() { ", …" } else { "" };
                write!(f, "{check}: {count} {what} ({}{more})", examples.join(", "))
            }
            Self::Lacks(rows) => write!(f, "it lacks rows of the store: {rows}"),
            Self::Ghosts(rows) => write!(f, "it holds rows that are not in the store: {rows}"),
            Self::Repeats(rows) => write!(f, "it holds rows more than once: {rows}"),
            Self::Differs(rows) => {
                write!(f, "it was made from other content than the store holds: {rows}")
            }
            Self::Ahead { reached, last } => {
                let (reached, last) = (reached.get(), last.get());
                write!(f, "it has reached change {reached}, the last of the store is {last}")
            }
            Self::OtherModel { found, expected } => {
                write!(f, "its vectors are of `{found}`, the store names `{expected}`")
            }
        }
    }
}

/// Checks the index in `dir`, or the snapshot file in its place, with the retrievers of `config`.
pub(crate) fn verify(dir: &Path, config: &EngineConfig) -> Result<Verification> {
    let unpacked = dir.is_file().then(|| export::unpack(dir)).transpose()?;
    let dir = unpacked.as_ref().map_or(dir, TempDir::path);
    if !Store::exists(dir) {
        return Err(Error::IndexMissing { path: dir.to_owned() });
    }
    loop {
        let generation = open::generation(dir);
        let verification = Verification::of(dir, generation, config)?;
        // While a writer runs, vectors of another model may take the place of those.
        if open::generation(dir) == generation {
            return Ok(verification);
        }
    }
}

impl Verification {
    fn of(dir: &Path, generation: u64, config: &EngineConfig) -> Result<Self> {
        let files = open::files(dir, generation, config);
        // Before the store: so no commit of an index is later than what it is compared with.
        let mut indexes = Vec::with_capacity(files.len());
        let mut findings = Vec::new();
        for on_disk in files {
            match on_disk.index.contents() {
                Ok(contents) => indexes.push((on_disk, contents.unwrap_or_default())),
                Err(error) => findings.push(finding(on_disk.part(), error)?),
            }
        }
        let rows = indexes.iter().map(|(on_disk, held)| (on_disk.part(), held.rows.len()));
        let mut verification = Self {
            seq: Seq::ZERO,
            rows: rows.collect(),
            lagging: Vec::new(),
            findings: Vec::new(),
        };
        let compared = Store::open(dir, Access::ReadOnly, Arc::new(SystemClock))
            .and_then(|store| verification.store(&store, &indexes));
        match compared {
            Ok(()) => {}
            Err(older @ Error::OlderFormat { .. }) => return Err(older),
            Err(error) => verification.findings.push(finding(Part::Store, error)?),
        }
        verification.findings.extend(findings);
        Ok(verification)
    }

    fn store(&mut self, store: &Store, indexes: &[(IndexOnDisk, Contents)]) -> Result<()> {
        let faults = store.verify()?;
        let part = Part::Store;
        self.findings.extend(
            faults.into_iter().map(|fault| Finding { part, fault: Fault::Contradicts(fault) }),
        );
        for (on_disk, contents) in indexes {
            let part = on_disk.part();
            let Compared { faults, lagging } = compare(store, on_disk, contents)?;
            self.findings.extend(faults.into_iter().map(|fault| Finding { part, fault }));
            if lagging > 0 {
                self.lagging.push((part, lagging));
            }
            if let (Some(found), Some(expected)) = (on_disk.index.space()?, store.fingerprint()?)
                && !expected.starts_with(&found)
            {
                self.findings.push(Finding { part, fault: Fault::OtherModel { found, expected } });
            }
        }
        self.seq = store.seq()?;
        Ok(())
    }
}

/// Damage is a finding; what keeps one from looking is an error.
fn finding(part: Part, error: Error) -> Result<Finding> {
    if let Error::UnsupportedFormat { found, supported } = error {
        return Ok(Finding { part, fault: Fault::Newer { found, supported } });
    }
    if matches!(error, Error::Io { .. } | Error::IndexMissing { .. }) {
        return Err(error);
    }
    Ok(Finding { part, fault: Fault::Damaged { reason: error.chain() } })
}

struct Compared {
    faults: Vec<Fault>,
    lagging: usize,
}

/// Compares what an index holds with what the store says that it should.
fn compare(store: &Store, on_disk: &IndexOnDisk, contents: &Contents) -> Result<Compared> {
    let IndexOnDisk { collection, index, .. } = on_disk;
    let mut held: BTreeMap<RowId, u64> = BTreeMap::new();
    let (mut repeated, mut lacking, mut different) = (Vec::new(), Vec::new(), Vec::new());
    for &(row, digest) in &contents.rows {
        if held.insert(row, digest).is_some() {
            repeated.push(row);
        }
    }
    for page in Pages::of(store, *collection) {
        for entry in entries(store, *collection, index.inputs(), &page?)? {
            let Some(expected) = index.digest(&entry)? else { continue };
            match held.remove(&entry.unit.row()) {
                Some(found) if found == expected => {}
                Some(_) => different.push(entry.unit.row()),
                None => lacking.push(entry.unit.row()),
            }
        }
    }
    // What the log told since is not known to the index, and may be of another state of the
    // store than was compared.
    let mut changed = changed_rows(store, *collection, index.inputs(), contents.seq)?;
    // Of an index that is older than the log, any row may be gone: the next writer rebuilds it.
    if contents.seq < store.log_compacted(*collection)? {
        changed.extend(contents.rows.iter().map(|&(row, _)| row));
    }
    let rows = |rows: Vec<RowId>| some(rows, &changed);
    let last = store.seq()?;
    let ahead = (contents.seq > last).then_some(Fault::Ahead { reached: contents.seq, last });
    let faults = [
        rows(lacking).map(Fault::Lacks),
        rows(held.into_keys().collect()).map(Fault::Ghosts),
        rows(repeated).map(Fault::Repeats),
        rows(different).map(Fault::Differs),
        ahead,
    ];
    Ok(Compared { faults: faults.into_iter().flatten().collect(), lagging: changed.len() })
}

fn some(mut rows: Vec<RowId>, changed: &BTreeSet<RowId>) -> Option<Rows> {
    rows.retain(|row| !changed.contains(row));
    let count = rows.len();
    rows.truncate(EXAMPLES);
    (count > 0).then_some(Rows { count, first: rows })
}

/// The rows of a collection, page by page.
pub(crate) struct Pages<'s> {
    store: &'s Store,
    collection: Collection,
    after: Option<RowId>,
}

impl<'s> Pages<'s> {
    pub(crate) fn of(store: &'s Store, collection: Collection) -> Self {
        Self { store, collection, after: Some(RowId::new(0)) }
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Vec<RowId>>;

    fn next(&mut self) -> Option<Self::Item> {
        let page = match self.collection {
            Collection::Documents => self.store.leaf_rows(self.after?, BATCH),
            Collection::Memory => self.store.memory_rows(self.after?, BATCH),
        };
        self.after = page.as_ref().ok().and_then(|page| page.last().copied());
        page.map(|page| (!page.is_empty()).then_some(page)).transpose()
    }
}
