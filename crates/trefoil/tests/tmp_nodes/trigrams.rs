//! An embedder that needs no model, for tests that open an index thousands of times:
//! the trigrams of a text's characters, hashed into a few dimensions.

use std::sync::Arc;

use trefoil::{
    EngineConfig, Model, Result,
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace, Pooling, Quantization},
};

use crate::models::by_script;

const DIMENSIONS: usize = 64;

/// A configuration that embeds by trigrams and reranks nothing.
pub(crate) fn with_trigrams() -> EngineConfig {
    let model = Model::Custom(Arc::new(Trigrams::default()));
    let mut config = EngineConfig { model, ..by_script() };
    config.rerank.enabled = false;
    config
}

#[derive(Debug)]
struct Trigrams {
    space: EmbeddingSpace,
}

impl Default for Trigrams {
    fn default() -> Self {
        let space = EmbeddingSpace {
            model: "hashed-trigrams".to_owned(),
            sha256: "0".repeat(64),
            dimensions: DIMENSIONS,
            pooling: Pooling::Mean,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            quantization: Quantization::F32,
            max_tokens: 512,
        };
        Self { space }
    }
}

impl Embedder for Trigrams {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.2, 1.0)
    }

    fn embed(&self, _: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let numbers = texts.iter().flat_map(|text| vector(text)).collect();
        Ok(Array2::from_shape_vec((texts.len(), DIMENSIONS), numbers).unwrap())
    }
}

/// Counts each trigram up or down in one dimension, both by its hash (FNV-1a).
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    let characters: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    for trigram in characters.windows(3.min(characters.len().max(1))) {
        let hash = trigram.iter().fold(0x811C_9DC5_u32, |hash, &character| {
            (hash ^ u32::from(character)).wrapping_mul(0x0100_0193)
        });
        let sign = if hash >> 31 == 0 { 1.0 } else { -1.0 };
        vector[hash as usize % DIMENSIONS] += sign;
    }
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length == 0.0 {
        vector[0] = 1.0;
    } else {
        for x in &mut vector {
            *x /= length;
        }
    }
    vector
}
