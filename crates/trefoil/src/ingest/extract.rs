//! Chunks to what they mention: what the graph is made from.

#[cfg(feature = "graph")]
use trefoil_core::RowId;
use trefoil_core::{Chunk, ChunkLevel, Extraction, Result, TitledText};
use trefoil_store::Store;
#[cfg(feature = "graph")]
use trefoil_text::resolve_names;

#[cfg(feature = "graph")]
use crate::background::catch_panics;
#[cfg(feature = "graph")]
use crate::index::refresh::EXTRACTOR;
use crate::state::State;

/// Chunks that are written again in one transaction.
#[cfg(feature = "graph")]
const GROUP: usize = 512;

impl State {
    /// Forgets the indexes and rebuilds them from the store.
    pub(crate) fn rebuild(&self) -> Result<()> {
        self.accepts_writes("rebuild the indexes")?;
        self.documents.clear()?;
        self.memory.clear()?;
        self.store.requeue_embeddings()?;
        self.extract_again()?;
        self.replay_all()
    }

    /// What each chunk of a document mentions; nothing for those that are not ranked.
    ///
    /// # Errors
    /// Those of the extractor.
    pub(crate) fn extract(&self, title: &str, chunks: &[Chunk]) -> Result<Vec<Extraction>> {
        let leaves = || chunks.iter().filter(|chunk| chunk.level == ChunkLevel::Leaf);
        let texts: Vec<TitledText<'_>> = leaves().map(|chunk| titled(title, chunk)).collect();
        let mut found = self.extractions(&texts)?.into_iter();
        let each = chunks.iter().map(|chunk| match chunk.level {
            ChunkLevel::Leaf => found.next().unwrap_or_default(),
            ChunkLevel::Parent => Extraction::default(),
        });
        Ok(each.collect())
    }

    /// In an index from before there was a graph: makes what the graph is made from. Another
    /// extractor's work stays until a reindex, so that two processes do not undo each other's.
    pub(crate) fn extract_first(&self) -> Result<()> {
        #[cfg(feature = "graph")]
        if self.store.meta(EXTRACTOR)?.is_none() {
            self.extract_again()?;
        }
        Ok(())
    }

    /// Extracts again what every stored chunk mentions.
    pub(crate) fn extract_again(&self) -> Result<()> {
        #[cfg(feature = "graph")]
        if let Some(extractor) = &self.extractor {
            for file in self.store.files()? {
                let chunks = self.store.chunks_of(&file.path)?;
                let texts: Vec<TitledText<'_>> =
                    chunks.iter().map(|one| titled(&one.file.title, &one.chunk)).collect();
                let rows = chunks.iter().map(|one| one.row);
                let found: Vec<(RowId, Extraction)> = rows.zip(self.extractions(&texts)?).collect();
                for group in found.chunks(GROUP) {
                    self.store.put_extractions(group)?;
                }
            }
            self.store.set_meta(EXTRACTOR, &extractor.fingerprint())?;
        }
        Ok(())
    }

    /// What each of the texts of one document mentions.
    #[cfg(feature = "graph")]
    fn extractions(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        let Some(extractor) = &self.extractor else { return Ok(Vec::new()) };
        catch_panics("the extractor", || extractor.extract(texts))
            .map(|found| resolve_names(texts, found))
    }

    #[cfg(not(feature = "graph"))]
    fn extractions(&self, _: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
        Ok(Vec::new())
    }
}

/// Lets the next engine that writes to `store` extract again what its chunks mention.
pub(crate) fn forget_extractor(store: &Store) -> Result<()> {
    #[cfg(feature = "graph")]
    store.forget_meta(EXTRACTOR)?;
    #[cfg(not(feature = "graph"))]
    let _ = store;
    Ok(())
}

fn titled<'a>(title: &'a str, chunk: &'a Chunk) -> TitledText<'a> {
    let Chunk { heading_path, text, language, .. } = chunk;
    TitledText { title, heading_path, text, language: *language }
}
