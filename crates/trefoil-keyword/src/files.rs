use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::Cursor,
    path::{Path, PathBuf},
    sync::Arc,
};

use tantivy::{Directory, HasLen, TantivyError, directory::META_LOCK};
use trefoil_core::{
    Analyzer, Contents, Error, IndexEntry, IndexFile, IndexFiles, IndexInput, Indexer, Result,
    RetrieverId, RowId,
};

use crate::{
    KeywordConfig, KeywordIndexer,
    directory::with_checksum,
    document::{DIGEST, ROW, digest},
    index::{KeywordIndex, backend, corrupt},
    retriever::Snapshot,
};

/// tantivy's own files: what the last commit consists of, and every file that it made.
const META: &str = "meta.json";
const MANAGED: &str = ".managed.json";

/// The keyword index in a directory, as files and rows.
#[derive(Clone, Debug)]
pub struct KeywordFiles {
    dir: PathBuf,
    analyzer: Arc<dyn Analyzer>,
}

impl KeywordFiles {
    /// Of the index in `dir`, which need not be there.
    pub fn new(dir: &Path, analyzer: Arc<dyn Analyzer>) -> Self {
        Self { dir: dir.to_owned(), analyzer }
    }

    fn open(&self) -> Result<Option<KeywordIndex>> {
        match KeywordIndex::open(&self.dir, Arc::clone(&self.analyzer)) {
            Ok(index) => Ok(Some(index)),
            Err(Error::IndexMissing { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl IndexFiles for KeywordFiles {
    fn id(&self) -> RetrieverId {
        RetrieverId::KEYWORD
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Text]
    }

    fn contents(&self) -> Result<Option<Contents>> {
        let Some(index) = self.open()? else { return Ok(None) };
        index.check_files(u64::MAX)?;
        let Snapshot { searcher, commit, .. } = Snapshot::newest(&index, &[])?;
        let mut rows = Vec::new();
        for segment in searcher.segment_readers() {
            let column = |name| segment.fast_fields().u64(name).map_err(backend("open a column"));
            let (row, digest) = (column(ROW)?, column(DIGEST)?);
            for doc in segment.doc_ids_alive() {
                let (Some(row), Some(digest)) = (row.first(doc), digest.first(doc)) else {
                    return Err(corrupt(format!("document {doc} has no row")));
                };
                rows.push((RowId::new(row), digest));
            }
        }
        rows.sort_unstable();
        Ok(Some(Contents { seq: commit.seq, rows }))
    }

    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        Ok(Some(digest(&entry.unit)))
    }

    fn files(&self) -> Result<Vec<IndexFile>> {
        let Some(index) = self.open()? else { return Ok(Vec::new()) };
        // Held until every file is open, so that the writer does not remove one before.
        let _lock = lock(&index)?;
        let meta = self.dir.join(META);
        let read = || fs::read(&meta).map_err(|error| Error::io("read", &meta, error));
        let (mut bytes, mut names);
        loop {
            bytes = read()?;
            names = index.commit_files()?;
            // The writer may commit in between.
            if read()? == bytes {
                break;
            }
        }
        let mut files = Vec::with_capacity(names.len() + 2);
        for name in &names {
            let path = self.dir.join(name);
            let file = File::open(&path).map_err(|error| Error::io("open", path, error))?;
            files.push(IndexFile { name: name.clone(), content: Box::new(file) });
        }
        names.push(META.to_owned());
        let managed = serde_json::to_vec(&names).map_err(|error| {
            backend("list the files")(TantivyError::InternalError(error.to_string()))
        })?;
        for (name, bytes) in [(META, bytes), (MANAGED, with_checksum(&managed))] {
            files.push(IndexFile { name: name.to_owned(), content: Box::new(Cursor::new(bytes)) });
        }
        Ok(files)
    }

    fn indexer(&self) -> Result<Box<dyn Indexer>> {
        let analyzer = Arc::clone(&self.analyzer);
        Ok(Box::new(KeywordIndexer::open(&self.dir, analyzer, &KeywordConfig::default())?))
    }
}

/// The files that each segment has: postings, positions, terms, columns, lengths and documents.
const NEEDED: [&str; 6] = ["idx", "pos", "term", "fast", "fieldnorm", "store"];

impl KeywordIndex {
    /// Compares the checksum of every file of the last commit, if they have at most this number of
    /// bytes, also of those that tantivy does not know to be its own. A writer waits meanwhile.
    pub(crate) fn check_files(&self, most: u64) -> Result<()> {
        let _lock = lock(self)?;
        let failed = || backend("read a file of the index");
        let files = self.commit_files()?;
        let mut bytes = 0;
        for file in &files {
            let file = self.index.directory().open_read(Path::new(file));
            bytes += file.map_err(|error| failed()(error.into()))?.len() as u64;
        }
        if bytes > most {
            return Ok(());
        }
        for file in files {
            let same = self.index.directory().validate_checksum(Path::new(&file));
            if !same.map_err(|error| failed()(error.into()))? {
                return Err(corrupt(format!("`{file}` does not have its checksum")));
            }
        }
        Ok(())
    }

    /// Names of the files that the last commit consists of, in order.
    fn commit_files(&self) -> Result<Vec<String>> {
        let metas = self.index.load_metas().map_err(backend("read the last commit"))?;
        let mut names = Vec::new();
        let paths: BTreeSet<PathBuf> = metas.list_segment_files().into_iter().collect();
        for path in paths {
            // Names are of all the kinds of files that a segment may have.
            let is_needed =
                path.extension().is_some_and(|kind| NEEDED.iter().any(|one| kind == *one));
            let exists = self.index.directory().exists(&path);
            if exists.map_err(|error| backend("look for a file")(error.into()))? || is_needed {
                names.push(path.to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }
}

fn lock(index: &KeywordIndex) -> Result<tantivy::directory::DirectoryLock> {
    index
        .index
        .directory()
        .acquire_lock(&META_LOCK)
        .map_err(|error| backend("lock the index")(TantivyError::LockFailure(error, None)))
}
