use std::{
    fs::{self, File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io::{BufWriter, Read as _, Write as _},
    path::{Path, PathBuf},
    sync::OnceLock,
};

use fastrand::Rng;
use serde::{Deserialize, Serialize};
use trefoil::{
    Error, Part, Result,
    index::Role,
    model::{Array2, Embedder, EmbeddingSpace},
};

use crate::{Outcome, folder, model, vectors::unit};

/// Texts that the model embeds in one call.
const BATCH: usize = 256;

/// Vectors of real texts, which the model made once and a file keeps. It is read when the first
/// text is looked up, so that what needs no vectors does not pay for them.
#[derive(Debug)]
pub struct RealVectors {
    about: About,
    path: PathBuf,
    known: OnceLock<std::result::Result<Vec<Keyed>, String>>,
}

/// A vector under the hash of its role and text.
type Keyed = (u64, Vec<f32>);

/// What a process has to know without loading the model.
#[derive(Debug, Serialize, Deserialize)]
struct About {
    space: EmbeddingSpace,
    cosine_range: (f32, f32),
}

impl RealVectors {
    /// Vectors that an earlier process made.
    pub fn open() -> Outcome<Self> {
        let about = serde_json::from_slice(&fs::read(folder()?.join("real-vectors.json"))?)?;
        let path = folder()?.join("real-vectors.f32");
        Ok(Self { about, path, known: OnceLock::new() })
    }

    /// Embeds the texts that are not there yet.
    pub fn make(texts: &[(Role, String)]) -> Outcome {
        let model = model()?;
        let about = About { space: model.space().clone(), cosine_range: model.cosine_range() };
        let described = serde_json::to_vec(&about)?;
        let about_path = folder()?.join("real-vectors.json");
        let path = folder()?.join("real-vectors.f32");
        if fs::read(&about_path).ok().as_ref() != Some(&described) {
            let _ = fs::remove_file(&path);
            fs::write(&about_path, described)?;
        }
        let known = if path.exists() { read(&path, about.space.dimensions)? } else { Vec::new() };
        let mut file = BufWriter::new(OpenOptions::new().create(true).append(true).open(&path)?);
        let missing: Vec<&(Role, String)> =
            texts.iter().filter(|(role, text)| find(&known, key(*role, text)).is_none()).collect();
        for role in [Role::Passage, Role::Query] {
            let of_role: Vec<&str> =
                missing.iter().filter(|it| it.0 == role).map(|it| it.1.as_str()).collect();
            for batch in of_role.chunks(BATCH) {
                for (text, vector) in batch.iter().zip(model.embed(role, batch)?.rows()) {
                    file.write_all(&key(role, text).to_le_bytes())?;
                    for number in vector {
                        file.write_all(&number.to_le_bytes())?;
                    }
                }
            }
        }
        Ok(file.flush()?)
    }

    /// The vector of a text; one between two others for a passage that the model never saw.
    fn vector(&self, role: Role, text: &str) -> Result<Vec<f32>> {
        let known = self.known.get_or_init(|| {
            read(&self.path, self.about.space.dimensions).map_err(|error| error.to_string())
        });
        let failed = |reason: &str| Error::EmbeddingFailed {
            model: self.about.space.model.clone(),
            bytes: text.len(),
            reason: reason.to_owned(),
        };
        let known = known.as_ref().map_err(|reason| failed(reason))?;
        let key = key(role, text);
        if let Some(vector) = find(known, key) {
            return Ok(vector.to_vec());
        }
        let mut random = Rng::with_seed(key);
        let mut any = || random.choice(known).map(|(_, vector)| vector);
        match (any(), any()) {
            (Some(a), Some(b)) => Ok(unit(a.iter().zip(b).map(|(a, b)| a + b).collect())),
            _ => Err(failed("no vectors are stored")),
        }
    }
}

impl Embedder for RealVectors {
    fn space(&self) -> &EmbeddingSpace {
        &self.about.space
    }

    fn cosine_range(&self) -> (f32, f32) {
        self.about.cosine_range
    }

    fn embed(&self, role: Role, texts: &[&str]) -> Result<Array2<f32>> {
        let vectors: Vec<Vec<f32>> =
            texts.iter().map(|text| self.vector(role, text)).collect::<Result<_>>()?;
        Array2::from_shape_vec((texts.len(), self.about.space.dimensions), vectors.concat())
            .map_err(|error| Error::backend(Part::Model, "arrange the stored vectors", error))
    }
}

fn key(role: Role, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (matches!(role, Role::Query), text).hash(&mut hasher);
    hasher.finish()
}

fn find(known: &[Keyed], key: u64) -> Option<&[f32]> {
    let place = known.binary_search_by_key(&key, |(key, _)| *key).ok()?;
    known.get(place).map(|(_, vector)| vector.as_slice())
}

/// Records of a key of 8 bytes and the numbers of its vector, all little endian.
fn read(path: &Path, dimensions: usize) -> Outcome<Vec<Keyed>> {
    let mut bytes = Vec::new();
    File::open(path)?.read_to_end(&mut bytes)?;
    let record = |bytes: &[u8]| -> Option<Keyed> {
        let (key, numbers) = bytes.split_first_chunk::<8>()?;
        let (numbers, _) = numbers.as_chunks::<4>();
        Some((u64::from_le_bytes(*key), numbers.iter().map(|x| f32::from_le_bytes(*x)).collect()))
    };
    let mut known: Vec<Keyed> = bytes.chunks_exact(8 + 4 * dimensions).filter_map(record).collect();
    known.sort_unstable_by_key(|(key, _)| *key);
    Ok(known)
}
