use std::{
    fs::{self, File},
    io::{Cursor, ErrorKind},
    path::{Path, PathBuf},
};

use trefoil_core::{
    Contents, Digest, Error, IndexEntry, IndexFile, IndexFiles, IndexInput, Indexer, ManifestFile,
    Part, Result, RetrieverId,
};

use super::{
    evidence::Evidence,
    manifest::Manifest,
    snapshot::{Snapshot, View},
};
use crate::{
    GraphIndexer,
    segment::{Segment, encode::encode},
};

/// The graph's index in a directory, as files and rows.
#[derive(Clone, Debug)]
pub struct GraphFiles {
    dir: PathBuf,
}

impl GraphFiles {
    /// Of the index in `dir`, which need not be there.
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned() }
    }
}

impl IndexFiles for GraphFiles {
    fn id(&self) -> RetrieverId {
        RetrieverId::GRAPH
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Extraction]
    }

    fn contents(&self) -> Result<Option<Contents>> {
        self.with_newest(|manifest| {
            let Snapshot { manifest, views } = Snapshot::open(&self.dir, manifest, None)?;
            let mut rows = Vec::new();
            for view in &views {
                view.segment.verify()?;
                for (row, chunk) in view.segment.rows()?.zip(0..) {
                    if view.is_live(chunk) {
                        rows.push((row, digest(view, chunk)?));
                    }
                }
            }
            rows.sort_unstable();
            Ok(Contents { seq: manifest.seq, rows })
        })
    }

    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        let mut evidence = Evidence::default();
        evidence.put(entry.unit.row(), 0, &entry.extraction);
        if evidence.len() == 0 {
            return Ok(None);
        }
        let segment = Segment::in_memory(encode(&[&evidence.added()])?)?;
        digest(&View::of(segment), 0).map(Some)
    }

    fn files(&self) -> Result<Vec<IndexFile>> {
        let files = self.with_newest(|manifest| {
            let mut files = Vec::new();
            for entry in &manifest.segments {
                let path = self.dir.join(entry.name());
                let file = File::open(&path).map_err(|error| Error::io("open", path, error))?;
                files.push(IndexFile { name: entry.name(), content: Box::new(file) });
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
        Ok(Box::new(GraphIndexer::open(&self.dir)?))
    }
}

impl GraphFiles {
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

fn changed() -> Error {
    let source = std::io::Error::new(ErrorKind::Interrupted, "a commit came in between");
    Error::backend(Part::Index(RetrieverId::GRAPH), "list its files", source)
}

/// A digest of what a chunk says.
fn digest(view: &View, chunk: u32) -> Result<u64> {
    let segment = &view.segment;
    let said = segment.said(chunk)?;
    let mut digest = Digest::new();
    for mention in &said.mentions {
        let texts = [segment.key(mention.key)?, segment.text(mention.name)?];
        let label = segment.entity_type(mention.label)?.as_str();
        digest =
            texts.into_iter().chain([label]).fold(digest, |one, text| one.with(text.as_bytes()));
        digest = digest.with(&mention.confidence.to_bits().to_le_bytes());
        digest = digest.with(&[u8::from(mention.is_title) | u8::from(mention.is_above) << 1]);
        for &alias in &mention.aliases {
            digest = digest.with(segment.text(alias)?.as_bytes());
        }
    }
    for relation in &said.relations {
        let ends = [segment.key(relation.source)?, segment.key(relation.target)?];
        let label = segment.relation_type(relation.label)?.as_str();
        digest =
            ends.into_iter().chain([label]).fold(digest, |one, text| one.with(text.as_bytes()));
    }
    Ok(digest.get())
}
