use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use tantivy::{
    Directory, Index, IndexSettings, Opstamp, ReloadPolicy, Searcher, TantivyError,
    directory::{
        MmapDirectory,
        error::{LockError, OpenReadError},
    },
    index::SegmentId,
};
use trefoil_core::{Analyzer, Error, Part, Result, RetrieverId, Seq, create_private_folder};

use crate::{
    commit_metadata::CommitMetadata,
    directory::SealedDirectory,
    document::Fields,
    terms::{TERM_READER, TermReader},
};

const PART: Part = Part::Index(RetrieverId::KEYWORD);

/// An index on disk that this version has built with this analyser. Its files are checked block by
/// block before they are read.
#[derive(Clone, Debug)]
pub(crate) struct KeywordIndex {
    pub(crate) index: Index,
    pub(crate) fields: Fields,
    pub(crate) analyzer: Arc<dyn Analyzer>,
    /// What the commits of this version and analyser say of themselves.
    pub(crate) metadata: CommitMetadata,
    damaged: Arc<AtomicBool>,
}

/// What tells one commit from another: a merge changes the segments and not the change that they
/// reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    pub(crate) seq: Seq,
    segments: Vec<(SegmentId, Option<Opstamp>)>,
}

impl KeywordIndex {
    /// Opens the index of a directory to write it, or makes both.
    pub(crate) fn open_or_create(dir: &Path, analyzer: Arc<dyn Analyzer>) -> Result<Self> {
        create_private_folder(dir).map_err(|error| Error::io("create", dir, error))?;
        let directory = SealedDirectory::new(map(dir)?, dir);
        if exists(&directory)? {
            return Self::built(directory, analyzer);
        }
        let damaged = directory.damaged();
        let index = Index::create(directory, Fields::schema().0, IndexSettings::default())
            .map_err(backend("create the index"))?;
        Ok(Self::new(index, analyzer, damaged))
    }

    /// Opens the index of a directory, which may be read-only, to read it.
    pub(crate) fn open(dir: &Path, analyzer: Arc<dyn Analyzer>) -> Result<Self> {
        let missing = || Error::IndexMissing { path: dir.to_owned() };
        if !dir.is_dir() {
            return Err(missing());
        }
        let directory = SealedDirectory::read_only(map(dir)?, dir);
        if !exists(&directory)? {
            return Err(missing());
        }
        Self::built(directory, analyzer)
    }

    /// Whether a file was found to be damaged since the index was opened or last called sound.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// Notes that what was read was damaged: a block may be damaged after it was checked.
    pub(crate) fn note_damage<T>(&self, read: Result<T>) -> Result<T> {
        if let Err(Error::Corrupt { .. }) = &read {
            self.damaged.store(true, Ordering::Relaxed);
        }
        read
    }

    /// After nothing is left of what was found to be damaged.
    pub(crate) fn call_sound(&self) {
        self.damaged.store(false, Ordering::Relaxed);
    }

    /// The change that the last commit reaches.
    pub(crate) fn committed(&self) -> Result<Seq> {
        Ok(self.last_commit()?.seq)
    }

    /// The last commit.
    pub(crate) fn last_commit(&self) -> Result<Commit> {
        let meta = self.index.load_metas().map_err(backend("read the last commit"))?;
        let of_segment = meta.segments.iter().map(|one| (one.id(), one.delete_opstamp()));
        let segments: Vec<_> = of_segment.collect();
        let seq = match meta.payload {
            None if segments.is_empty() => Seq::ZERO,
            None => return Err(corrupt("a commit has no metadata")),
            Some(line) => match CommitMetadata::decode(&line) {
                Some(metadata) if metadata.same_builder(&self.metadata) => metadata.seq,
                _ => {
                    return Err(corrupt(format!(
                        "it was built as `{line}`, this version with this analyser builds `{}`; it must be rebuilt",
                        self.metadata.encode()
                    )));
                }
            },
        };
        Ok(Commit { seq, segments })
    }

    /// What searches the last commit.
    pub(crate) fn searcher(&self) -> Result<Searcher> {
        let reader = self.index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        Ok(reader.map_err(backend("open the last commit"))?.searcher())
    }

    fn built(directory: SealedDirectory, analyzer: Arc<dyn Analyzer>) -> Result<Self> {
        let damaged = directory.damaged();
        let index = Index::open(directory).map_err(backend("open the index"))?;
        if index.schema() != Fields::schema().0 {
            return Err(corrupt(
                "it has other fields than this version writes; it must be rebuilt",
            ));
        }
        let this = Self::new(index, analyzer, damaged);
        this.committed()?;
        Ok(this)
    }

    fn new(index: Index, analyzer: Arc<dyn Analyzer>, damaged: Arc<AtomicBool>) -> Self {
        index.tokenizers().register(TERM_READER, TermReader::default());
        let metadata = CommitMetadata::new(analyzer.as_ref());
        Self { index, fields: Fields::schema().1, analyzer, metadata, damaged }
    }
}

/// Wraps an error of tantivy; `doing` completes "failed to …". What shows that files
/// are damaged or gone becomes [`Error::Corrupt`].
pub(crate) fn backend(doing: &'static str) -> impl Fn(TantivyError) -> Error {
    move |error| {
        if is_damage(&error) {
            corrupt(error.to_string())
        } else {
            Error::backend(PART, doing, error)
        }
    }
}

/// Wraps a failure to become the writer.
pub(crate) fn not_locked(dir: &Path) -> impl Fn(TantivyError) -> Error {
    move |error| {
        if matches!(error, TantivyError::LockFailure(LockError::LockBusy, _)) {
            Error::Locked { path: dir.to_owned() }
        } else {
            backend("open the index for writing")(error)
        }
    }
}

/// The index cannot be trusted and must be rebuilt from the store.
pub(crate) fn corrupt(reason: impl Into<String>) -> Error {
    Error::Corrupt { part: PART, reason: reason.into() }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the other errors say nothing of the files")]
fn is_damage(error: &TantivyError) -> bool {
    let cut_short = |cause: &io::Error| {
        matches!(cause.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
    };
    match error {
        TantivyError::DataCorruption(_) | TantivyError::IncompatibleIndex(_) => true,
        TantivyError::IoError(cause) => cut_short(cause),
        TantivyError::OpenReadError(error) => match error {
            OpenReadError::FileDoesNotExist(_) | OpenReadError::IncompatibleIndex(_) => true,
            OpenReadError::IoError { io_error, .. } => cut_short(io_error),
        },
        _ => false,
    }
}

fn map(dir: &Path) -> Result<MmapDirectory> {
    MmapDirectory::open(dir).map_err(|error| backend("open the index directory")(error.into()))
}

fn exists(directory: &dyn Directory) -> Result<bool> {
    Index::exists(directory).map_err(|error| backend("look for the index")(error.into()))
}
