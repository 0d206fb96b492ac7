use std::{
    fs::File,
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil_core::{
    Contents, Digest, Error, IndexEntry, IndexFile, IndexFiles, IndexInput, Indexer, Result,
    RetrieverId,
};

use crate::{
    GraphIndexer,
    index::{
        evidence::{Evidence, Packed, Said, Text},
        format,
    },
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
        let Some((header, Packed { texts, chunks })) = format::read(&self.dir)? else {
            return Ok(None);
        };
        let rows = chunks.iter().map(|(row, said)| (*row, digest(said, &texts)));
        Ok(Some(Contents { seq: header.seq(), rows: rows.collect() }))
    }

    fn digest(&self, entry: &IndexEntry) -> Result<Option<u64>> {
        let mut evidence = Evidence::default();
        evidence.put(entry.unit.row(), &entry.extraction);
        let Packed { texts, chunks } = evidence.pack();
        Ok(chunks.first().map(|(_, said)| digest(said, &texts)))
    }

    fn files(&self) -> Result<Vec<IndexFile>> {
        // One file, replaced as a whole: once it is open it stays what it is.
        let path = self.dir.join(format::NAME);
        match File::open(&path) {
            Ok(file) => {
                let name = format::NAME.to_owned();
                Ok(vec![IndexFile { name, content: Box::new(file) }])
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io("open", path, error)),
        }
    }

    fn indexer(&self) -> Result<Box<dyn Indexer>> {
        Ok(Box::new(GraphIndexer::open(&self.dir)?))
    }
}

/// A digest of what a chunk says, whatever the numbers of its texts are.
fn digest(said: &Said, texts: &[Arc<str>]) -> u64 {
    let part = |digest: Digest, text: Text| {
        digest.with(texts.get(text as usize).map_or(&[][..], |text| text.as_bytes()))
    };
    let mut digest = Digest::new();
    for mention in &said.mentions {
        digest = [mention.key, mention.name, mention.label].into_iter().fold(digest, part);
        digest = digest.with(&mention.confidence.to_bits().to_le_bytes());
        // Images from before it was noted do not say what only stands above the text.
        digest = digest.with(&[u8::from(mention.is_title)]);
        digest = mention.aliases.iter().copied().fold(digest, part);
    }
    for relation in &said.relations {
        digest = [relation.source, relation.target, relation.label].into_iter().fold(digest, part);
    }
    digest.get()
}
