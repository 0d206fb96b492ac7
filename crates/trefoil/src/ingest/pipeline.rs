//! Documents → chunks → store → indexes.

use std::{collections::BTreeSet, ops::ControlFlow, path::PathBuf, sync::Arc};

use serde::Serialize;
use trefoil_core::{
    Document, DocumentFormat, Embedding, Error, Loader, Metadata, Result, map_in_parallel,
};
use trefoil_store::{
    Clock, FileState, NewChunk, NewEmbedding, NewFile, SystemClock, TouchedFile,
    truth::{Place, WriteRequest, Written},
};
use trefoil_text::{
    Skipped, SourceFile, Walk, WalkOptions, contextual_text, is_within, load, stored_name, walk,
};

use crate::{
    background::catch_panics,
    config::Model,
    digest::{self, sha256},
    ingest::redact::redacted,
    progress::Progress,
    state::State,
};

/// Files read, cut and stored in one transaction: bounds memory and the work lost in a crash.
const GROUP: usize = 64;

/// Stands for a time of change that cannot be relied on: no file has it.
const UNSETTLED: i64 = i64::MIN;

/// Characters of a digest in hexadecimal.
const DIGEST: usize = 64;

/// What an ingest did.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingested {
    /// Documents that are new or changed.
    pub written: usize,
    /// Documents that were there already, unchanged.
    pub unchanged: usize,
    /// Documents that are gone from below the given paths.
    pub removed: usize,
    /// Roots whose documents are gone, but were kept: so many at once look like a mistake.
    pub kept: Vec<Kept>,
    /// Chunks added.
    pub chunks_added: usize,
    /// Chunks removed.
    pub chunks_removed: usize,
    /// Files that were not read.
    pub skipped: Vec<Skipped>,
    /// Where the shared store has all of it; none in a directory of its own.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    pub place: Option<Place>,
}

/// What an ingest of paths may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IngestOptions {
    /// Whether documents are removed even if most of a root is gone: a root that is missing or
    /// empty, or one that would lose more than half of its documents and at least ten. False by
    /// default: then nothing of such a root is removed, and [`Ingested::kept`] says so.
    pub prune: bool,
}

/// Documents that were not found below a root and were kept all the same.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The root, as it was given.
    #[serde(rename = "path")]
    pub root: PathBuf,
    /// How many were not found.
    pub missing: usize,
    /// How many the index holds of the root.
    pub indexed: usize,
}

impl State {
    /// Indexes files and folders, and forgets what is gone from below them. Calls `on_stored`
    /// whenever there is something to embed. Where `on_progress` breaks, what was read by then is
    /// indexed, and the rest is left for another time.
    pub(crate) fn ingest_paths(
        self: &Arc<Self>,
        paths: &[PathBuf],
        allowed: IngestOptions,
        mut on_progress: impl FnMut(Progress) -> ControlFlow<()>,
        on_stored: impl Fn(),
    ) -> Result<Ingested> {
        self.updates_indexes("index files")?;
        let config = &self.config;
        let options = WalkOptions {
            max_file_bytes: config.max_file_bytes,
            privacy_globs: config.privacy_globs.clone(),
            extensions: config.loaders.keys().cloned().collect(),
            ..WalkOptions::default()
        };
        let mut report = Ingested::default();
        let indexed = self.store.files()?;
        let indexed: Vec<&str> = indexed.iter().map(|file| file.path.as_str()).collect();
        let roots = Root::look_at(paths, &indexed)?;
        let there: Vec<PathBuf> =
            roots.iter().filter(|root| root.is_there()).map(|root| root.path.clone()).collect();
        let found = walk(&there, &options)?;
        self.forget_vanished(&roots, &found, allowed, &mut report)?;
        report.skipped.extend(roots.into_iter().filter_map(Root::trouble));
        report.skipped.extend(found.skipped);
        let mut progress = Progress { done: 0, total: found.files.len() as u64 };
        let mut touched = Vec::new();
        let mut groups = found.files.chunks(GROUP);
        while on_progress(progress).is_continue()
            && let Some(files) = groups.next()
        {
            let read: Result<Vec<Read>> = map_in_parallel(files, |file| self.read_file(file));
            self.write(read?, &mut touched, &mut report)?;
            on_stored();
            progress.done += files.len() as u64;
        }
        if !touched.is_empty() {
            self.write_documents(&WriteRequest::TouchFiles(touched))?;
        }
        self.show_written()?;
        on_stored();
        report.place = self.written_at()?;
        Ok(report)
    }

    /// Indexes documents from memory. Calls `on_stored` whenever there is something to embed. Where
    /// `on_progress` breaks, what was stored by then is indexed, and the rest is not.
    pub(crate) fn ingest(
        self: &Arc<Self>,
        documents: &[Document],
        mut on_progress: impl FnMut(Progress) -> ControlFlow<()>,
        on_stored: impl Fn(),
    ) -> Result<Ingested> {
        self.updates_indexes("index documents")?;
        let mut report = Ingested::default();
        let mut progress = Progress { done: 0, total: documents.len() as u64 };
        for group in documents.chunks(GROUP * 4) {
            if on_progress(progress).is_break() {
                break;
            }
            progress.done += group.len() as u64;
            let read: Result<Vec<Read>> =
                map_in_parallel(group, |document| self.read_document(document));
            self.write(read?, &mut Vec::new(), &mut report)?;
            on_stored();
        }
        self.show_written()?;
        on_stored();
        report.place = self.written_at()?;
        Ok(report)
    }

    /// Where the shared store has what was just written.
    fn written_at(&self) -> Result<Option<Place>> {
        self.node.as_ref().map(|_| self.store.place()).transpose()
    }

    /// Forgets the documents at exactly these paths. How many there were.
    pub(crate) fn remove_documents(self: &Arc<Self>, paths: &[impl AsRef<str>]) -> Result<usize> {
        self.updates_indexes("remove documents")?;
        self.change(&WriteRequest::RemoveFiles(owned(paths)))
    }

    /// Puts fields into the metadata of the documents at exactly these paths. How many there were.
    pub(crate) fn update_metadata(
        self: &Arc<Self>,
        paths: &[impl AsRef<str>],
        patch: &Metadata,
    ) -> Result<usize> {
        self.updates_indexes("change metadata")?;
        self.change(&WriteRequest::PatchMetadata { paths: owned(paths), patch: patch.clone() })
    }

    /// Forgets the document at `path`, and every document below it. How many.
    pub(crate) fn remove(self: &Arc<Self>, path: &str) -> Result<usize> {
        self.updates_indexes("remove documents")?;
        self.change(&WriteRequest::RemoveUnder(path.trim_end_matches('/').to_owned()))
    }

    /// Writes what concerns documents that are stored already. How many.
    fn change(self: &Arc<Self>, request: &WriteRequest) -> Result<usize> {
        let changed = self.write_documents(request)?.count();
        if changed > 0 {
            self.show_written()?;
        }
        Ok(changed)
    }
}

fn owned(paths: &[impl AsRef<str>]) -> Vec<String> {
    paths.iter().map(|path| path.as_ref().to_owned()).collect()
}

/// A vector as bytes, for a digest.
fn bytes(embedding: &Embedding) -> Vec<u8> {
    embedding.as_slice().iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// What became of one file or document.
enum Read {
    Unchanged,
    /// Same text, another time of change.
    Touched(TouchedFile),
    New(Box<NewFile>),
    Skipped(Skipped),
}

impl State {
    /// Reads and cuts a file, unless the store has it as it is. Parallel: touches no index.
    fn read_file(&self, file: &SourceFile) -> Result<Read> {
        let known = self.store.file(&file.name)?;
        let loader = self.config.loader(&file.path);
        let mark = self.mark(loader);
        let same_stamp = |known: &FileState| {
            known.size == file.size
                && known.mtime == file.mtime
                && known.sha256.get(..known.sha256.len().saturating_sub(DIGEST)) == Some(&*mark)
        };
        if known.as_ref().is_some_and(same_stamp) {
            return Ok(Read::Unchanged);
        }
        // A file that changed just now may change again within the same second: its stamp
        // is not remembered, so that the next look compares the text.
        let settled = file.mtime < SystemClock.now() - 1;
        let mtime = if settled { file.mtime } else { UNSETTLED };
        let bytes = match std::fs::read(&file.path) {
            Ok(bytes) => bytes,
            Err(error) => return Ok(skipped(&file.name, error.to_string())),
        };
        let sha256 = format!("{mark}{}", sha256(&[&bytes]));
        if known.is_some_and(|known| known.sha256 == sha256) {
            let path = file.name.clone();
            return Ok(Read::Touched(TouchedFile { path, size: file.size, mtime }));
        }
        let loaded = match loader {
            Some(loader) => catch_panics("the loader", || loader.load(&file.name, &bytes)),
            None => load(&file.path, &file.name, self.config.max_file_bytes),
        };
        match loaded {
            Ok(document) => Ok(Read::New(Box::new(self.cut(&document, file.size, mtime, sha256)?))),
            Err(Error::UnreadableDocument { reason, .. }) => Ok(skipped(&file.name, reason)),
            Err(error @ (Error::Io { .. } | Error::Panicked { .. })) => {
                Ok(skipped(&file.name, error.chain()))
            }
            Err(error) => Err(error),
        }
    }

    fn read_document(&self, document: &Document) -> Result<Read> {
        if document.path.trim().is_empty() || document.path.len() > 4_096 {
            let path = document.path.clone();
            let reason = "its path must have 1–4,096 bytes".to_owned();
            return Err(Error::UnreadableDocument { path, reason });
        }
        let size = document.body.len() as u64;
        if size > self.config.max_file_bytes {
            let reason = format!("{size} bytes, the limit is {}", self.config.max_file_bytes);
            return Ok(skipped(&document.path, reason));
        }
        self.check_embedding(document)?;
        let Document { title, body, format, language, tags, date, metadata, .. } = document;
        let mut rest = format!("{format:?} {language:?} {tags:?} {date:?}");
        if !metadata.is_empty() {
            rest.extend([" ", &metadata.to_json()]);
        }
        let parts = [title.as_bytes(), b"\0", body.as_bytes(), b"\0", rest.as_bytes()];
        let embedding = document.embedding.as_ref().map(bytes).unwrap_or_default();
        let parts = parts.into_iter().chain([embedding.as_slice()]).collect::<Vec<_>>();
        let sha256 = format!("{}{}", self.mark(None), sha256(&parts));
        let known = self.store.file(&document.path)?;
        if known.is_some_and(|known| known.sha256 == sha256) {
            return Ok(Read::Unchanged);
        }
        Ok(Read::New(Box::new(self.cut(document, size, 0, sha256)?)))
    }

    /// A vector of the caller needs an engine that has such vectors, of its length, and one chunk
    /// that it is of.
    fn check_embedding(&self, document: &Document) -> Result<()> {
        let Some(embedding) = &document.embedding else { return Ok(()) };
        let refused = |reason: &str| {
            let (path, reason) = (document.path.clone(), reason.to_owned());
            Err(Error::UnreadableDocument { path, reason })
        };
        let Model::External { dimensions, .. } = self.config.model else {
            return refused(
                "it has a vector, but the engine makes its own; open it with an external model",
            );
        };
        if document.format != DocumentFormat::Whole {
            return refused("a document with a vector is one chunk; give it the format `whole`");
        }
        let provided = embedding.as_slice().len();
        if provided != dimensions {
            return Err(Error::DimensionMismatch { expected: dimensions, provided });
        }
        Ok(())
    }

    fn has_external_vectors(&self) -> bool {
        matches!(self.config.model, Model::External { .. })
    }

    /// What stands before the digest of a content: how it is made into chunks, as far as that is
    /// not as usual. What was stored with another mark is read again.
    fn mark(&self, loader: Option<&dyn Loader>) -> String {
        let mut mark = String::new();
        if self.config.redact_documents {
            mark.push_str("redacted:");
        }
        let own = [
            ("chunker", self.config.chunker.own_fingerprint()),
            ("loader", loader.map(Loader::fingerprint)),
        ];
        for (what, fingerprint) in own {
            if let Some(fingerprint) = fingerprint {
                let digest = sha256(&[fingerprint.as_bytes()]);
                let digest = digest.get(..16).unwrap_or_default();
                mark.extend([what, "-", digest, ":"]);
            }
        }
        mark
    }

    fn cut(&self, document: &Document, size: u64, mtime: i64, sha256: String) -> Result<NewFile> {
        let document = if self.config.redact_documents { &redacted(document)? } else { document };
        let chunks = catch_panics("the chunker", || Ok(self.chunker.chunk(document)))?;
        let extractions = self.extract(&document.title, &chunks)?;
        let chunks = chunks.into_iter().zip(extractions).map(|(chunk, extraction)| {
            let embedded = contextual_text(&document.title, &chunk.heading_path, &chunk.text);
            let vector = document.embedding.as_ref().map(bytes).unwrap_or_default();
            let embedding = match &document.embedding {
                Some(embedding) => NewEmbedding::Given(embedding.as_slice().to_vec()),
                None if self.has_external_vectors() => NewEmbedding::Absent,
                None => NewEmbedding::Model,
            };
            NewChunk {
                embedding_hash: digest::sha256(&[embedded.as_bytes(), &vector]),
                embedding,
                chunk,
                extraction,
            }
        });
        Ok(NewFile {
            chunks: chunks.collect(),
            path: document.path.clone(),
            title: document.title.clone(),
            tags: document.tags.clone(),
            date: document.date,
            metadata: document.metadata.clone(),
            size,
            mtime,
            sha256,
        })
    }

    /// Stores what was read, in one transaction, and puts aside what was touched: all of that is
    /// one transaction in the end.
    fn write(
        self: &Arc<Self>,
        read: Vec<Read>,
        touched: &mut Vec<TouchedFile>,
        report: &mut Ingested,
    ) -> Result<()> {
        let mut new = Vec::new();
        for read in read {
            match read {
                Read::Unchanged => report.unchanged += 1,
                Read::Touched(file) => {
                    touched.push(file);
                    report.unchanged += 1;
                }
                Read::New(file) => new.push(*file),
                Read::Skipped(skipped) => report.skipped.push(skipped),
            }
        }
        if new.is_empty() {
            return Ok(());
        }
        if let Written::Stored(files) = self.write_documents(&WriteRequest::PutFiles(new))? {
            for stored in files {
                report.written += 1;
                report.chunks_added += stored.added;
                report.chunks_removed += stored.removed;
            }
        }
        Ok(())
    }

    /// Removes stored files that are below `roots` but were not found there. What was
    /// found and skipped is kept as it was last read, and so is what could not be looked at.
    fn forget_vanished(
        self: &Arc<Self>,
        roots: &[Root<'_>],
        found: &Walk,
        allowed: IngestOptions,
        report: &mut Ingested,
    ) -> Result<()> {
        let files = found.files.iter().map(|file| file.name.as_str());
        let seen: BTreeSet<&str> =
            files.chain(found.skipped.iter().map(|skip| skip.path.as_str())).collect();
        let (mut vanished, mut kept) = (BTreeSet::new(), BTreeSet::new());
        for root in roots {
            let missing: Vec<&str> = match root.state {
                RootState::Unknown(_) => continue,
                RootState::Missing => root.indexed.clone(),
                RootState::Empty | RootState::There => {
                    let gone = |path: &&str| !seen.contains(path) && found.knows(path);
                    root.indexed.iter().copied().filter(gone).collect()
                }
            };
            if missing.is_empty() {
                continue;
            }
            if allowed.prune || !root.loses_too_much(missing.len()) {
                vanished.extend(missing);
            } else {
                let (missing, indexed) = (missing.len(), root.indexed.len());
                report.kept.push(Kept { root: root.path.clone(), missing, indexed });
                kept.extend(root.indexed.iter().copied());
            }
        }
        let mut gone = vanished.difference(&kept).copied().peekable();
        if gone.peek().is_some() {
            let gone = WriteRequest::RemoveFiles(gone.map(str::to_owned).collect());
            report.removed += self.write_documents(&gone)?.count();
        }
        Ok(())
    }
}

/// A path that is to be indexed, and what the index has of it.
struct Root<'f> {
    path: PathBuf,
    state: RootState,
    indexed: Vec<&'f str>,
}

enum RootState {
    There,
    /// A folder with nothing in it, such as the place of a file system that is not mounted.
    Empty,
    Missing,
    /// It could not be looked at.
    Unknown(std::io::Error),
}

/// Fewer documents than this go without a question.
const MANY: usize = 10;

impl<'f> Root<'f> {
    /// Looks at every root before anything is changed.
    ///
    /// # Errors
    /// [`Error::Io`] for one that cannot be looked at, unless the index has documents of it.
    fn look_at(paths: &[PathBuf], indexed: &[&'f str]) -> Result<Vec<Self>> {
        let look_at = |path: &PathBuf| {
            let failed = |error| Error::io("read", path, error);
            let (state, name) = match std::fs::metadata(path) {
                Ok(metadata) if metadata.is_dir() => {
                    let state = match std::fs::read_dir(path).map(|mut entries| entries.next()) {
                        Ok(None) => RootState::Empty,
                        Ok(Some(Ok(_))) => RootState::There,
                        Ok(Some(Err(error))) | Err(error) => RootState::Unknown(error),
                    };
                    (state, stored_name(path)?)
                }
                Ok(_) => (RootState::There, stored_name(path)?),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    let Ok(name) = stored_name(path) else { return Err(failed(error)) };
                    (RootState::Missing, name)
                }
                Err(error) => {
                    let Ok(name) = stored_name(path) else { return Err(failed(error)) };
                    (RootState::Unknown(error), name)
                }
            };
            let below = indexed.iter().copied().filter(|path| is_within(path, &name));
            let root = Self { path: path.clone(), state, indexed: below.collect() };
            match root.state {
                RootState::Unknown(error) if root.indexed.is_empty() => Err(failed(error)),
                RootState::Missing if root.indexed.is_empty() => {
                    Err(failed(std::io::ErrorKind::NotFound.into()))
                }
                RootState::There
                | RootState::Empty
                | RootState::Missing
                | RootState::Unknown(_) => Ok(root),
            }
        };
        paths.iter().map(look_at).collect()
    }

    fn is_there(&self) -> bool {
        matches!(self.state, RootState::There | RootState::Empty)
    }

    /// Whether it looks like a mistake that so many documents are gone.
    fn loses_too_much(&self, missing: usize) -> bool {
        !matches!(self.state, RootState::There)
            || missing >= MANY && missing * 2 > self.indexed.len()
    }

    /// What is to be said of a root that could not be looked at.
    fn trouble(self) -> Option<Skipped> {
        let path = self.path.display().to_string();
        match self.state {
            RootState::Unknown(error) => Some(Skipped { path, reason: error.to_string() }),
            RootState::There | RootState::Empty | RootState::Missing => None,
        }
    }
}

fn skipped(path: &str, reason: String) -> Read {
    Read::Skipped(Skipped { path: path.to_owned(), reason })
}
