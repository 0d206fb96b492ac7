//! What a node keeps of rows that the truth has lost, until they are put back.
//!
//! When a cache is made again because the truth has lost transactions, the documents and the units
//! of memory that it had and the new rows have not are written into a file next to the store. A
//! transaction that came since the loss counts for more than a lost one: what it wrote or removed
//! is named only, and no text of it is kept.

use std::{
    collections::BTreeSet,
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Result, RowId, private_file, sync};

use super::{
    Lost, LostUnit, Place, RowSink, Sequences, Start, Truth, Value, lost_units::unit_digests,
};
use crate::{
    NewFile, Store,
    disk::fork::Use,
    fault::fault,
    file::{Digests, digests, whole_file},
    memory::SessionRow,
    store::open_writer,
};

/// The file, and its name until it is whole.
const FILE: &str = "lost.json";
const WRITING: &str = "lost.json.new";
/// What a message says that a node does.
const KEEP: &str = "keep what the truth has lost";

/// What a cache had that the truth has lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LostRows {
    /// How far the cache was.
    pub at: Place,
    /// The transaction after which all were lost.
    pub after: u64,
    /// Documents that lost transactions had written, by path.
    pub documents: Vec<LostDocument>,
    /// Paths of documents that were written since the loss, and differ.
    pub rewritten: BTreeSet<String>,
    /// Paths of documents that were removed since the loss.
    pub removed: BTreeSet<String>,
    /// Paths of documents that lost transactions had removed: they are there again.
    pub returned: BTreeSet<String>,
    /// Units of memory that lost transactions had written, by id.
    pub units: Vec<LostUnit>,
    /// The sessions that these name.
    pub sessions: Vec<SessionRow>,
    /// Ids of units that were written since the loss, and differ.
    pub rewritten_units: BTreeSet<String>,
    /// Ids of units that were removed since the loss.
    pub removed_units: BTreeSet<String>,
    /// Ids of units that lost transactions had removed: they are there again.
    pub returned_units: BTreeSet<String>,
}

/// A document that a lost transaction had written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostDocument {
    /// The document, with the vectors that it had.
    pub file: NewFile,
    /// Its [`Store::file_digest`].
    pub digest: String,
    /// That of what the truth had of it after the loss; none if nothing.
    pub before: Option<String>,
}

impl LostRows {
    /// True if nothing of documents or of memory was lost.
    fn is_empty(&self) -> bool {
        let named = [
            &self.rewritten,
            &self.removed,
            &self.returned,
            &self.rewritten_units,
            &self.removed_units,
            &self.returned_units,
        ];
        self.documents.is_empty() && self.units.is_empty() && named.iter().all(|one| one.is_empty())
    }

    /// Adds what was kept of an earlier loss, and is not kept of this one.
    fn add_earlier(&mut self, earlier: Self) {
        add_missing(&mut self.documents, earlier.documents, |lost| &lost.file.path);
        add_missing(&mut self.units, earlier.units, |lost| &lost.unit.id);
        add_missing(&mut self.sessions, earlier.sessions, |session| &session.id);
        self.rewritten.extend(earlier.rewritten);
        self.removed.extend(earlier.removed);
        self.returned.extend(earlier.returned);
        self.rewritten_units.extend(earlier.rewritten_units);
        self.removed_units.extend(earlier.removed_units);
        self.returned_units.extend(earlier.returned_units);
    }
}

/// Adds those that are not there by their name, and orders all by it.
fn add_missing<T>(all: &mut Vec<T>, earlier: Vec<T>, name: impl Fn(&T) -> &String) {
    let there: BTreeSet<String> = all.iter().map(|one| name(one).clone()).collect();
    all.extend(earlier.into_iter().filter(|one| !there.contains(name(one))));
    all.sort_by(|one, other| name(one).cmp(name(other)));
}

/// True if a file of this name, in the directory of an index, holds what [`Store::lost_rows`]
/// tells: no part of the index, but it holds texts.
pub fn is_of_lost_rows(name: &str) -> bool {
    [FILE, WRITING].contains(&name)
}

impl Store {
    /// What this cache had that the truth has lost, of every loss since
    /// [`forget_lost_rows`](Self::forget_lost_rows); none if there was none.
    ///
    /// # Errors
    /// Those of the file system, and [`Error::Corrupt`] if the file is damaged.
    pub fn lost_rows(&self) -> Result<Option<LostRows>> {
        let path = self.lost_file(FILE);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                let reason = format!("`{}`: {error}", path.display());
                Error::Corrupt { part: Part::Store, reason }
            }),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::io("read", path, error)),
        }
    }

    /// Removes what [`lost_rows`](Self::lost_rows) tells.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn forget_lost_rows(&self) -> Result<()> {
        for name in [FILE, WRITING] {
            let path = self.lost_file(name);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Error::io("remove", path, error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn lost_file(&self, name: &str) -> PathBuf {
        self.path().with_file_name(name)
    }

    /// Keeps what this cache has and the rows in the file `pulled`, which are to take its place,
    /// have not.
    pub(super) fn keep_lost(&self, pulled: &Path, truth: &dyn Truth, lost: Lost) -> Result<()> {
        let since = Since::pull(truth, lost.after)?;
        let (there, units_there) = contents(pulled)?;
        let mut kept = LostRows { at: lost.at, after: lost.after, ..LostRows::default() };
        self.read(KEEP, |tx| {
            let here = digests(tx)?;
            for (path, (row, digest)) in &here {
                let before = there.get(path).map(|(_, digest)| digest);
                if before == Some(digest) {
                    continue;
                }
                if before.is_some() && since.written.contains(path) {
                    kept.rewritten.insert(path.clone());
                } else if before.is_none() && since.gone.contains(row) {
                    kept.removed.insert(path.clone());
                } else if let Some(file) = whole_file(tx, path)? {
                    let (digest, before) = (digest.clone(), before.cloned());
                    kept.documents.push(LostDocument { file, digest, before });
                }
            }
            let is_back =
                |path: &&String| !here.contains_key(*path) && !since.written.contains(*path);
            kept.returned = there.keys().filter(is_back).cloned().collect();
            Ok(())
        })?;
        self.keep_lost_units(&mut kept, &since, &units_there)?;
        if kept.is_empty() {
            return Ok(());
        }
        // What is damaged cannot be put back, and is no reason to keep nothing of this loss.
        if let Ok(Some(earlier)) = self.lost_rows() {
            kept.add_earlier(earlier);
        }
        self.write_lost(&kept)
    }

    /// The same of units of memory.
    fn keep_lost_units(&self, kept: &mut LostRows, since: &Since, there: &Digests) -> Result<()> {
        self.memory_read(KEEP, |memory| {
            let here = memory.sql(KEEP, unit_digests)?;
            for (id, (row, digest)) in &here {
                let before = there.get(id);
                if before.is_some_and(|(_, before)| before == digest) {
                    continue;
                }
                if before.is_some_and(|(row, _)| since.written_units.contains(row)) {
                    kept.rewritten_units.insert(id.clone());
                } else if before.is_none() && since.gone_units.contains(row) {
                    kept.removed_units.insert(id.clone());
                } else {
                    let row = RowId::new(row.cast_unsigned());
                    let before = before.map(|(_, digest)| digest.clone());
                    kept.units.extend(LostUnit::read(memory, row, before)?);
                }
            }
            let is_back = |(id, (row, _)): &(&String, &(i64, String))| {
                !here.contains_key(*id) && !since.written_units.contains(row)
            };
            kept.returned_units = there.iter().filter(is_back).map(|(id, _)| id.clone()).collect();
            let named: BTreeSet<&str> = kept.units.iter().filter_map(LostUnit::session).collect();
            for id in named {
                kept.sessions.extend(memory.session(id)?);
            }
            Ok(())
        })
    }

    fn write_lost(&self, kept: &LostRows) -> Result<()> {
        let (writing, path) = (self.lost_file(WRITING), self.lost_file(FILE));
        let bytes = serde_json::to_vec(kept)
            .map_err(|error| Error::backend(Part::Store, "code lost rows", error))?;
        let write = || {
            let mut file = private_file().write(true).create(true).truncate(true).open(&writing)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            fs::rename(&writing, &path)
        };
        write().map_err(|error| Error::io("write", &path, error))?;
        sync(path.parent().unwrap_or(Path::new(".")))
    }
}

/// The digests of files and of units of memory in the store in a file.
fn contents(path: &Path) -> Result<(Digests, Digests)> {
    let failed = |error| fault(path, KEEP, error);
    let _use = Use::begin();
    let connection = open_writer(path)?;
    let read = || Ok((digests(&connection)?, unit_digests(&connection)?));
    let contents = read().map_err(failed)?;
    // The files next to it go with the connection.
    connection.close().map_err(|(_, error)| failed(error))?;
    Ok(contents)
}

/// What transactions after the loss did to files and units of memory. Where the truth does not tell
/// any more what was removed, all that is there counts as written.
#[derive(Debug, Default)]
struct Since {
    written: BTreeSet<String>,
    /// Row numbers. Another file of a lost transaction may have had the same, and is then not kept.
    gone: BTreeSet<i64>,
    /// Row numbers of units of memory that were written, themselves or their bodies.
    written_units: BTreeSet<i64>,
    /// Row numbers of units that are gone, with the same doubt as for files.
    gone_units: BTreeSet<i64>,
    /// The place of the path in a row of `files`.
    path: usize,
}

/// The tables of units and of their bodies.
const BODIES: [&str; 6] = [
    "units",
    "payload_episode",
    "payload_claim",
    "payload_fact",
    "payload_summary",
    "payload_loop",
];

impl Since {
    fn pull(truth: &dyn Truth, after: u64) -> Result<Self> {
        let epochs = truth.shard()?.epochs;
        let began = epochs.iter().rfind(|began| began.tx <= after);
        let place = began.map_or(Place::NOTHING, |began| Place { tx: after, ..*began });
        let tables = super::tables()?;
        let columns = tables.iter().find(|table| table.name == "files").map(|one| &one.columns);
        let path = columns.and_then(|all| all.iter().position(|column| column.name == "path"));
        let mut since = Self { path: path.unwrap_or_default(), ..Self::default() };
        truth.pull(place, &mut since)?;
        Ok(since)
    }
}

impl RowSink for Since {
    fn begin(&mut self, _: &Start) -> Result<()> {
        Ok(())
    }

    fn gone(&mut self, table: &str, key: &[Value]) -> Result<()> {
        match (table, key) {
            ("files", [Value::Integer(row)]) => self.gone.insert(*row),
            ("units", [Value::Integer(row)]) => self.gone_units.insert(*row),
            _ => false,
        };
        Ok(())
    }

    fn row(&mut self, table: &str, values: &[Value]) -> Result<()> {
        if let ("files", Some(Value::Text(path))) = (table, values.get(self.path)) {
            self.written.insert(path.clone());
        }
        // A unit is the first column of its body.
        if let (true, Some(Value::Integer(row))) = (BODIES.contains(&table), values.first()) {
            self.written_units.insert(*row);
        }
        Ok(())
    }

    fn end(&mut self, _: Place, _: &Sequences) -> Result<()> {
        Ok(())
    }
}
