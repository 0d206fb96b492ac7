//! What is embedded of a row, and how many at a time.

use std::borrow::Cow;

use trefoil_store::EmbedSource;
use trefoil_text::contextual_text;

/// Texts embedded between two commits. Large enough that the cores are idle for less
/// than one text in a hundred, small enough that a stop waits a few seconds at most.
pub(crate) const BATCH: usize = 192;

/// What errors call the embedder where it panics.
pub(crate) const EMBEDDER: &str = "the embedder";

/// What is embedded.
pub(crate) fn text_of(source: &EmbedSource) -> Cow<'_, str> {
    match source {
        EmbedSource::Chunk(chunk) => {
            let (file, chunk) = (&chunk.file, &chunk.chunk);
            contextual_text(&file.title, &chunk.heading_path, &chunk.text).into()
        }
        EmbedSource::Text(text) => text.into(),
    }
}
