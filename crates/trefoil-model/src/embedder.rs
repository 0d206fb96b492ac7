use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use trefoil_core::{Embedder, EmbeddingSpace, Error, Pooling, Result, Role, TokenCounter};

use crate::{
    card::{Card, EmbeddingCard},
    home::{self, ModelHome},
    manifest::Manifest,
    parallel,
    session::{Loan, Sessions},
    tokenizer::{Tokenizer, Tokens},
};

/// Name of the model that is used unless another is asked for.
const DEFAULT_MODEL: &str = "multilingual-e5-small";

/// Where a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelSource {
    /// A name of the manifest; the files are in the [`ModelHome`].
    Name(String),
    /// A folder with `model.onnx`, `tokenizer.json` and `card.toml`.
    Folder(PathBuf),
}

impl Default for ModelSource {
    /// The multilingual embedder.
    fn default() -> Self {
        Self::Name(DEFAULT_MODEL.to_owned())
    }
}

/// Texts to unit vectors with an ONNX model, one text a run, as many runs at once as
/// there are threads. Opening it reads the card only; the runtime and the model load
/// at the first text.
#[derive(Debug)]
pub struct OnnxEmbedder {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
    threads: usize,
    tokenizer_path: PathBuf,
    tokenizer: Mutex<Option<Arc<Tokenizer>>>,
    sessions: Sessions,
}

impl OnnxEmbedder {
    /// Finds the files of a model and reads its card. `threads` texts are embedded at
    /// once, each with about 80 MB for its copy of a small model; 0 means one.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a file of the model or the runtime is not there,
    /// [`Error::Corrupt`] for a bad card, [`Error::InvalidConfig`] if the model does
    /// not embed.
    pub fn open(home: &ModelHome, source: &ModelSource, threads: usize) -> Result<Self> {
        let (card, folder) = match source {
            ModelSource::Name(name) => in_home(home, name)?,
            ModelSource::Folder(folder) => in_folder(folder)?,
        };
        let runtime = home.runtime()?;
        let Card { name, max_tokens, sha256, embedding, .. } = card;
        let Some(EmbeddingCard {
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            cosine_range,
        }) = embedding
        else {
            return Err(Error::InvalidConfig {
                field: "model",
                value: name,
                allowed: "a model whose role is `embedder`",
            });
        };
        let model = folder.join("model.onnx");
        let sha256 = sha256.map_or_else(|| home::sha256_of_file(&model), Ok)?;
        let space = EmbeddingSpace {
            model: name,
            sha256,
            dimensions,
            pooling,
            query_prefix,
            passage_prefix,
            quantization,
            max_tokens,
        };
        Ok(Self {
            space,
            cosine_range: cosine_range.into(),
            threads: threads.max(1),
            tokenizer_path: folder.join("tokenizer.json"),
            tokenizer: Mutex::new(None),
            sessions: Sessions::new(runtime, model, threads),
        })
    }

    /// The tokenizer, loaded at first use; a failure is tried again at the next.
    fn tokenizer(&self) -> Result<Arc<Tokenizer>> {
        let mut tokenizer = self.tokenizer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tokenizer) = &*tokenizer {
            return Ok(Arc::clone(tokenizer));
        }
        let loaded = Arc::new(Tokenizer::load(&self.tokenizer_path, self.space.max_tokens)?);
        Ok(Arc::clone(tokenizer.insert(loaded)))
    }

    fn embed_one(&self, session: &mut Loan<'_>, text: &str, tokens: &Tokens) -> Result<Vec<f32>> {
        let failed = |reason: String| Error::EmbeddingFailed {
            model: self.space.model.clone(),
            bytes: text.len(),
            reason,
        };
        session
            .run(tokens, |shape, numbers| {
                let mut vector = pool(self.space.pooling, self.space.dimensions, shape, numbers)
                    .map_err(&failed)?;
                normalize(&mut vector).map_err(&failed)?;
                Ok(vector)
            })
            .map_err(|error| {
                if let Error::Backend { source, .. } = error {
                    failed(source.to_string())
                } else {
                    error
                }
            })
    }
}

impl Embedder for OnnxEmbedder {
    fn space(&self) -> &EmbeddingSpace {
        &self.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.cosine_range
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = match role {
            Role::Query => &self.space.query_prefix,
            Role::Passage => &self.space.passage_prefix,
        };
        let tokenizer = self.tokenizer()?;
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let text = |index: usize| texts.get(index).copied().unwrap_or_default();
        let tokens = parallel::map(
            self.threads,
            &order,
            || Ok(()),
            |(), index| tokenizer.encode(&format!("{prefix}{}", text(index))),
        )?;
        let tokens_of = |index: usize| tokens.get(index).ok_or(Error::EmptyRankedLists);
        // Longest first: the threads then end at about the same time.
        order.sort_by_key(|&index| {
            std::cmp::Reverse(tokens.get(index).map_or(0, |tokens| tokens.ids.len()))
        });
        parallel::map(
            self.threads,
            &order,
            || self.sessions.borrow(),
            |session, index| self.embed_one(session, text(index), tokens_of(index)?),
        )
    }
}

impl TokenCounter for OnnxEmbedder {
    /// Counted by the model's tokenizer. Where that cannot be loaded, a token is taken
    /// for four bytes, which is near the mean of English, Japanese and Korean text.
    fn count(&self, text: &str) -> usize {
        self.tokenizer()
            .and_then(|tokenizer| tokenizer.count(text))
            .unwrap_or_else(|_| text.len().div_ceil(4))
    }
}

/// Card and folder of a model of the manifest.
fn in_home(home: &ModelHome, name: &str) -> Result<(Card, PathBuf)> {
    let entry = Manifest::built_in()?.entry(name)?;
    let folder = home.present(entry)?;
    let sha256 = entry.file("model.onnx").map(|file| file.sha256.clone());
    Ok((Card { sha256, ..entry.card.clone() }, folder))
}

/// Card and folder of a model of the user's own.
fn in_folder(folder: &Path) -> Result<(Card, PathBuf)> {
    let card = Card::read(&folder.join("card.toml"))?;
    for file in ["model.onnx", "tokenizer.json"] {
        let path = folder.join(file);
        std::fs::metadata(&path).map_err(|error| Error::ModelMissing {
            name: card.name.clone(),
            reason: format!("no `{}`: {error}", path.display()),
        })?;
    }
    Ok((card, folder.to_owned()))
}

/// One vector of the model's output: token vectors \[1, tokens, dimensions\], or a
/// vector that the model has pooled itself \[1, dimensions\].
fn pool(
    pooling: Pooling,
    dimensions: usize,
    shape: &[i64],
    numbers: &[f32],
) -> Result<Vec<f32>, String> {
    let (pooled, width) = match *shape {
        [1, _, width] => (false, width),
        [1, width] => (true, width),
        _ => return Err(format!("its output has the shape {shape:?}")),
    };
    if usize::try_from(width) != Ok(dimensions) || numbers.len() < dimensions {
        return Err(format!(
            "its output has the shape {shape:?}, expected {dimensions} dimensions"
        ));
    }
    let mut rows = numbers.chunks_exact(dimensions);
    let mut vector = rows.next().map(<[f32]>::to_vec).unwrap_or_default();
    if !pooled && pooling == Pooling::Mean {
        // The length of the sum does not matter: it is brought to 1 next.
        for row in rows {
            vector.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
    }
    Ok(vector)
}

/// Brings a vector to length 1.
#[expect(clippy::cast_possible_truncation, reason = "components of a unit vector")]
fn normalize(vector: &mut [f32]) -> Result<(), String> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err("its output is not finite".to_owned());
    }
    if length < f64::from(f32::MIN_POSITIVE) {
        return Err("its output is zero".to_owned());
    }
    for value in vector {
        *value = (f64::from(*value) / length) as f32;
    }
    Ok(())
}
