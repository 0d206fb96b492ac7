//! Writes that a node asks the one that leads for, by the inbox of the shard.

use std::path::Path;

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use trefoil_core::{Error, ErrorKind, FieldError, Metadata, Part, Result};

use super::{Done, LostDocument, LostUnit, RequestId, lost_units};
use crate::{
    NewFile, Store, Stored, TouchedFile, WriteTx,
    file::{
        digest_at, identify, patch_metadata, put_files, remove_paths, remove_under, touch_files,
    },
    memory::{MemoryWrite, SessionRow},
};

/// What a message says that the node does.
const SERVE: &str = "do what another node asks for";

/// A write of documents, or one that puts back what was lost, which any node can prepare and the
/// one that leads does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteRequest {
    /// [`Store::put_files`].
    PutFiles(Vec<NewFile>),
    /// [`Store::put_files`] of those of which the store has still what the truth had after the
    /// loss.
    RestoreFiles(Vec<LostDocument>),
    /// Units of memory of which the store has still what the truth had after the loss, and which
    /// no other unit says by now.
    RestoreUnits {
        /// The sessions that they name; one that is there stays as it is.
        sessions: Vec<SessionRow>,
        /// The units.
        units: Vec<LostUnit>,
    },
    /// [`Store::touch_files`].
    TouchFiles(Vec<TouchedFile>),
    /// [`Store::remove_files`].
    RemoveFiles(Vec<String>),
    /// [`Store::remove_under`].
    RemoveUnder(String),
    /// [`Store::patch_metadata`].
    PatchMetadata {
        /// Of which files.
        paths: Vec<String>,
        /// The fields.
        patch: Metadata,
    },
}

/// What a write of documents did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Written {
    /// The files as they were stored.
    Stored(Vec<Stored>),
    /// Public ids of the units of memory that were stored.
    Units(Vec<String>),
    /// How many files it concerned.
    Counted(usize),
}

impl Written {
    /// How many files or units it concerned.
    pub fn count(&self) -> usize {
        match self {
            Self::Stored(files) => files.len(),
            Self::Units(units) => units.len(),
            Self::Counted(count) => *count,
        }
    }
}

/// Why the node that leads refused a request: then nothing was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// [`Error::code`] of the error there.
    pub code: String,
    /// Its message.
    pub reason: String,
    /// The [field](Error::field) that it is about. A node of before does not say.
    #[serde(default)]
    pub field: Option<FieldError>,
}

impl From<&Error> for Refusal {
    fn from(error: &Error) -> Self {
        let (code, reason) = (error.code().to_owned(), error.chain());
        Self { code, reason, field: error.field() }
    }
}

impl Refusal {
    /// The same error for whoever asked.
    fn into_error(self) -> Error {
        let Self { code, reason, field } = self;
        match ErrorKind::of_code(&code) {
            Some(kind) => Error::Refused { kind, reason, field: field.map(Box::new) },
            None => Error::backend(Part::Store, "write through the node that leads", reason),
        }
    }
}

/// What a write gave, or why it was refused.
pub type Answer<T> = Result<T, Refusal>;

/// What the answer to a request says.
///
/// # Errors
/// [`Error::Refused`] if the node that leads refused it.
pub fn read_answer<T: DeserializeOwned>(answer: &[u8]) -> Result<T> {
    let answer: Answer<T> = serde_json::from_slice(answer)
        .map_err(|error| Error::backend(Part::Store, "read the answer to a write", error))?;
    answer.map_err(Refusal::into_error)
}

fn done<T: Serialize>(id: RequestId, answer: &Answer<T>) -> Result<Done> {
    let answer = serde_json::to_vec(answer)
        .map_err(|error| Error::backend(Part::Store, "code the answer to a write", error))?;
    Ok(Done { id, answer })
}

impl WriteRequest {
    fn work(
        &self,
        path: &Path,
        tx: &WriteTx<'_>,
        now: i64,
        refused: &mut Option<Error>,
    ) -> rusqlite::Result<Written> {
        let counted = match self {
            Self::PutFiles(files) => return put(tx, now, files, refused),
            Self::RestoreFiles(documents) => {
                let mut files = Vec::new();
                for LostDocument { file, before, .. } in documents {
                    if digest_at(tx, &file.path)? == *before {
                        files.push(file.clone());
                    }
                }
                return put(tx, now, &files, refused);
            }
            Self::RestoreUnits { sessions, units } => {
                let memory = MemoryWrite::new(tx, path, now)?;
                let restored = lost_units::restore(&memory, sessions, units);
                return restored.map(Written::Units).map_err(|error| refuse(refused, error));
            }
            Self::TouchFiles(files) => touch_files(tx, files),
            Self::RemoveFiles(paths) => remove_paths(tx, paths.iter().map(String::as_str)),
            Self::RemoveUnder(prefix) => remove_under(tx, prefix),
            Self::PatchMetadata { paths, patch } => {
                patch_metadata(tx, now, paths.iter().map(String::as_str), patch, refused)
            }
        };
        counted.map(Written::Counted)
    }
}

fn put(
    tx: &WriteTx<'_>,
    now: i64,
    files: &[NewFile],
    refused: &mut Option<Error>,
) -> rusqlite::Result<Written> {
    match files.iter().map(identify).collect() {
        Ok(ids) => put_files(tx, now, files, ids).map(Written::Stored),
        Err(error) => Err(refuse(refused, error)),
    }
}

/// Keeps an error of ours; another one ends the transaction.
fn refuse(refused: &mut Option<Error>, error: Error) -> rusqlite::Error {
    *refused = Some(error);
    rusqlite::Error::QueryReturnedNoRows
}

impl Store {
    /// Does a write of documents here.
    ///
    /// # Errors
    /// As those of the method that the request names.
    pub fn perform(&self, request: &WriteRequest) -> Result<Written> {
        let mut refused = None;
        let answer = self
            .write("write documents", |tx, now| request.work(self.path(), tx, now, &mut refused));
        refused.map_or(answer, Err)
    }

    /// Does a write of the inbox, in the transaction that notes it as done, with its answer. What
    /// the request itself is wrong with is the answer.
    ///
    /// # Errors
    /// What has nothing to do with the request, such as [`Error::Fenced`] or a full disk: nothing
    /// was written, and it stays in the inbox.
    pub fn serve(&self, id: RequestId, request: &WriteRequest) -> Result<()> {
        let mut refused = None;
        let served = self.write_answering(
            SERVE,
            |tx, now| request.work(self.path(), tx, now, &mut refused),
            |written| done(id, &Ok(written)).map(Some),
        );
        match (refused, served) {
            (None, Ok(_)) => Ok(()),
            (Some(refused), _) | (None, Err(refused @ Error::Backend { .. })) => {
                self.refuse(id, &refused)
            }
            (None, Err(error)) => Err(error),
        }
    }

    /// The same for a write of memory: what `work` gives is the answer.
    ///
    /// # Errors
    /// Those of `work`, which is undone and not answered then, and as [`serve`](Self::serve).
    pub fn serve_memory<T: Serialize>(
        &self,
        id: RequestId,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        self.memory_write_answering(doing, work, |written| done(id, &Ok(written)).map(Some))
    }

    /// Notes a request of the inbox as done that writes nothing here.
    ///
    /// # Errors
    /// As those of [`serve`](Self::serve).
    pub fn answer<T: Serialize>(&self, id: RequestId, answer: &Answer<T>) -> Result<()> {
        self.write_answering(SERVE, |_, _| Ok(()), |()| done(id, answer).map(Some))
    }

    /// Notes a request of the inbox as refused.
    ///
    /// # Errors
    /// As those of [`serve`](Self::serve).
    pub fn refuse(&self, id: RequestId, error: &Error) -> Result<()> {
        self.answer::<()>(id, &Err(Refusal::from(error)))
    }
}
