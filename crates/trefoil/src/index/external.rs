//! A space of vectors that the caller makes.

use trefoil_core::{Array2, Embedder, EmbeddingSpace, Error, Result, Role};

/// The space of vectors that documents and questions bring with them. It embeds nothing.
#[derive(Debug)]
pub(crate) struct ExternalVectors(EmbeddingSpace);

impl ExternalVectors {
    pub(crate) fn new(name: &str, dimensions: usize) -> Self {
        Self(EmbeddingSpace::of_caller(name, "external", dimensions))
    }
}

impl Embedder for ExternalVectors {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    /// Nothing is known of them: unrelated vectors are taken to be at right angles.
    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn embeds_texts(&self) -> bool {
        false
    }

    fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
        Err(Error::EmbeddingFailed {
            model: self.0.model.clone(),
            bytes: texts.iter().map(|text| text.len()).sum(),
            reason: "the vectors of this index are the caller's; give the question an `embedding`"
                .to_owned(),
        })
    }
}
