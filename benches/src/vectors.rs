use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use trefoil::{
    Error, Part, Result,
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace, ModelHome, ModelSource, OnnxEmbedder},
};

use crate::{Fixtures, Outcome, folder};

/// The default model's vectors of the fixtures, embedded once. As an [`Embedder`] it looks
/// texts up, and gives a passage that it does not know a vector grown from its hash.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredVectors {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    questions: Embedded,
    passages: Embedded,
}

/// Texts and their vectors, by text.
type Embedded = Vec<(String, Vec<f32>)>;

impl StoredVectors {
    /// Reads the vectors of the fixtures, or has the model make them.
    pub fn of(fixtures: &Fixtures) -> Outcome<Self> {
        let model = model()?;
        let questions = sorted(fixtures.questions.iter().map(|question| question.text.clone()));
        let passages = sorted(fixtures.passages());
        let mut hasher = DefaultHasher::new();
        (model.space(), &questions, &passages).hash(&mut hasher);
        let path = folder()?.join(format!("vectors-{:016x}.json", hasher.finish()));
        if path.exists() {
            return Ok(serde_json::from_slice(&fs::read(path)?)?);
        }
        let embed = |role, texts: Vec<String>| -> Outcome<Embedded> {
            let vectors =
                model.embed(role, &texts.iter().map(String::as_str).collect::<Vec<_>>())?;
            let vectors = vectors.rows().into_iter().map(|vector| vector.to_vec());
            Ok(texts.into_iter().zip(vectors).collect())
        };
        let stored = Self {
            questions: embed(Role::Query, questions)?,
            passages: embed(Role::Passage, passages)?,
            space: model.space().clone(),
            cosine_range: model.cosine_range(),
        };
        fs::write(path, serde_json::to_vec(&stored)?)?;
        Ok(stored)
    }

    /// The vectors of the questions.
    pub fn questions(&self) -> impl Iterator<Item = &[f32]> {
        self.questions.iter().map(|(_, vector)| vector.as_slice())
    }

    /// The vectors of the fixtures' chunks.
    pub fn passages(&self) -> impl Iterator<Item = &[f32]> {
        self.passages.iter().map(|(_, vector)| vector.as_slice())
    }

    /// `a + b - c` of three of the fixtures' vectors, scaled to length 1: one of them,
    /// moved as far and in such a direction as two others differ.
    pub fn grown(&self, seed: u64) -> Vec<f32> {
        let mut random = Rng::with_seed(seed);
        let mut any = || random.choice(&self.passages).map_or(&[][..], |(_, vector)| vector);
        let [a, b, c] = [any(), any(), any()];
        unit(a.iter().zip(b).zip(c).map(|((a, b), c)| a + b - c).collect())
    }

    /// Differs whenever an index would.
    pub fn hash(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.space.hash(&mut hasher);
        self.passages.iter().for_each(|(text, _)| text.hash(&mut hasher));
        hasher.finish()
    }
}

impl Embedder for StoredVectors {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.cosine_range
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let embed = |text: &&str| match role {
            Role::Query => find(&self.questions, text).ok_or_else(|| Error::EmbeddingFailed {
                model: self.space.model.clone(),
                bytes: text.len(),
                reason: "no vector of this question is stored".to_owned(),
            }),
            Role::Passage => Ok(find(&self.passages, text).unwrap_or_else(|| {
                let mut hasher = DefaultHasher::new();
                text.hash(&mut hasher);
                self.grown(hasher.finish())
            })),
        };
        let vectors: Vec<Vec<f32>> = texts.iter().map(embed).collect::<Result<_>>()?;
        Array2::from_shape_vec((texts.len(), self.space.dimensions), vectors.concat())
            .map_err(|error| Error::backend(Part::Model, "arrange the stored vectors", error))
    }
}

/// The default model, which has to have been pulled.
pub fn model() -> Outcome<OnnxEmbedder> {
    let threads = std::thread::available_parallelism()?.get();
    Ok(OnnxEmbedder::open(&ModelHome::platform()?, &ModelSource::default(), threads)?)
}

/// The vector scaled to length 1.
pub(crate) fn unit(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    for x in &mut vector {
        *x /= length;
    }
    vector
}

fn find(embedded: &Embedded, text: &str) -> Option<Vec<f32>> {
    let place = embedded.binary_search_by(|(known, _)| known.as_str().cmp(text)).ok()?;
    embedded.get(place).map(|(_, vector)| vector.clone())
}

/// In order, each once.
fn sorted(texts: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut texts: Vec<String> = texts.into_iter().collect();
    texts.sort();
    texts.dedup();
    texts
}
