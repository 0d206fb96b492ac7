use std::{
    fs::{self, File},
    io::{Cursor, ErrorKind, Read},
    path::{Path, PathBuf},
};

use trefoil_core::{
    Contents, Digest, Error, IndexEntry, IndexFile, IndexFiles, IndexInput, Indexer, ManifestFile,
    Part, Result, RetrieverId,
};

use crate::{
    VectorConfig, VectorIndex, VectorIndexer, language::LanguageCode, manifest::Manifest,
    snapshot::Snapshot, vector,
};

/// The vector index in a directory, as files and rows, of whatever space its vectors are.
#[derive(Clone, Debug)]
pub struct VectorFiles {
    dir: PathBuf,
}

impl VectorFiles {
    /// Of the index in `dir`, which need not be there.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }

    /// The space of its vectors and their length; none if nothing was ever committed.
    fn committed_space(&self) -> Result<Option<(String, usize)>> {
        let manifest = Manifest::read(&self.dir)?;
        Ok(manifest.map(|(_, manifest)| (manifest.fingerprint, manifest.dimensions)))
    }

    /// As [`VectorIndex::recall`]; none if nothing was ever committed.
    pub fn recall(&self, samples: usize, k: usize) -> Result<Option<f32>> {
        let Some((fingerprint, dimensions)) = self.committed_space()? else { return Ok(None) };
        let config = VectorConfig::default();
        VectorIndex::open(&self.dir, &fingerprint, dimensions, &config)?
            .recall(samples, k)
            .map(Some)
    }

    /// Does `open` with the newest manifest. The writer may remove a file of it meanwhile:
    /// then it is done again with the next.
    fn with_newest<T>(&self, open: impl Fn(Manifest) -> Result<T>) -> Result<Option<T>> {
        loop {
            let Some((header, manifest)) = Manifest::read(&self.dir)? else { return Ok(None) };
            let opened = open(manifest);
            if opened.is_ok() || Manifest::read_header(&self.dir)? == Some(header) {
                return opened.map(Some);
            }
        }
    }
}

/// What stands for a vector and the language of its text.
fn digest(language: LanguageCode, vector: &[u8]) -> u64 {
    Digest::new().with(vector).with(&[language.get()]).get()
}

impl IndexFiles for VectorFiles {
    fn id(&self) -> RetrieverId {
        RetrieverId::SEMANTIC
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Vector]
    }

    fn space(&self) -> Result<Option<String>> {
        Ok(self.committed_space()?.map(|(fingerprint, _)| fingerprint))
    }

    fn contents(&self) -> Result<Option<Contents>> {
        self.with_newest(|manifest| {
            let Snapshot { manifest, views } = Snapshot::open(&self.dir, manifest, None)?;
            let mut rows = Vec::new();
            for view in &views {
                view.verify()?;
                for (ordinal, row) in view.segment.rows()?.iter().enumerate() {
                    if !view.deleted.contains(ordinal) {
                        let language = view.segment.language(ordinal)?;
                        rows.push((row, digest(language, view.segment.vector(ordinal)?)));
                    }
                }
            }
            rows.sort_unstable();
            Ok(Contents { seq: manifest.seq, rows })
        })
    }

    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        let vector = vector::unit(&entry.vector, entry.vector.len())?;
        let language = LanguageCode::from(entry.unit.language());
        Ok(Some(digest(language, &vector::to_bytes(&vector))))
    }

    fn files(&self) -> Result<Vec<IndexFile>> {
        let files = self.with_newest(|manifest| {
            let mut files = Vec::new();
            for entry in &manifest.segments {
                let graph = entry.graph.map(|_| entry.graph_name());
                for name in [entry.segment_name()].into_iter().chain(graph) {
                    files.push(self.file(&name)?);
                }
            }
            let path = self.dir.join(ManifestFile::NAME);
            let bytes = fs::read(&path).map_err(|error| Error::io("read", path, error))?;
            // Of another commit: the files above are not its.
            if !bytes.ends_with(&manifest.json()?) {
                return Err(changed());
            }
            let content = Box::new(Cursor::new(bytes));
            files.push(IndexFile { name: ManifestFile::NAME.to_owned(), content });
            Ok(files)
        });
        Ok(files?.unwrap_or_default())
    }

    fn indexer(&self) -> Result<Box<dyn Indexer>> {
        let Some((fingerprint, dimensions)) = self.committed_space()? else {
            return Err(Error::IndexMissing { path: self.dir.clone() });
        };
        let config = VectorConfig::default();
        Ok(Box::new(VectorIndexer::open(&self.dir, &fingerprint, dimensions, &config)?))
    }
}

impl VectorFiles {
    fn file(&self, name: &str) -> Result<IndexFile> {
        let path = self.dir.join(name);
        let file = File::open(&path).map_err(|error| Error::io("open", path, error))?;
        Ok(IndexFile { name: name.to_owned(), content: Box::new(file) as Box<dyn Read + Send> })
    }
}

fn changed() -> Error {
    let source = std::io::Error::new(ErrorKind::Interrupted, "a commit came in between");
    Error::backend(Part::Index(RetrieverId::SEMANTIC), "list its files", source)
}
