use trefoil_core::{Collection, Extraction, Result, RowId};

use super::{MemoryRead, MemoryWrite};
use crate::extraction::{GraphWriter, Reader};

impl MemoryRead<'_> {
    /// What a unit says of entities.
    pub fn mentions(&self, row: RowId) -> Result<Extraction> {
        self.sql("read the mentions of a unit", |tx| Reader::new(tx)?.extraction(row))
    }
}

impl MemoryWrite<'_> {
    /// Stores what a unit says of entities in the place of what it said; true if that is
    /// something else. Entities and relations of memory are apart from those of documents.
    pub fn put_mentions(&self, row: RowId, extraction: &Extraction) -> Result<bool> {
        self.sql("store the mentions of a unit", |tx| {
            let mut graph = GraphWriter::new(tx, self.now()).of(Collection::Memory);
            let changed = graph.put(row, extraction)?;
            graph.finish()?;
            Ok(changed)
        })
    }
}
