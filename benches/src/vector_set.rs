use std::{
    env, fs,
    hash::{DefaultHasher, Hasher},
    path::{Path, PathBuf},
};

use rayon::prelude::*;
use trefoil::index::{Allowed, Indexer, RowId, Seq, merge_all};
use trefoil_semantic::{VectorConfig, VectorIndex, VectorIndexer};

use crate::{Outcome, SIZES, StoredVectors, folder, label, vectors::unit};

/// Neighbours that are looked for.
pub const NEIGHBOURS: usize = 10;
/// Our own vectors are 384 numbers long: the graph of more takes minutes to build.
const OWN: usize = 30_000;
/// More give no more digits of recall: its standard error is below .005.
const QUERIES: usize = 200;

/// Unit vectors to index and others to search for.
#[derive(Debug)]
pub struct VectorSet {
    /// What it is called.
    pub name: &'static str,
    base: Vec<Vec<f32>>,
    /// Vectors that are not in the base.
    pub queries: Vec<Vec<f32>>,
}

impl VectorSet {
    /// The fixtures' questions and chunks by the default model, and chunks
    /// [grown](StoredVectors::grown) from those.
    pub fn of_fixtures(vectors: &StoredVectors) -> Self {
        let real = vectors.passages().map(<[f32]>::to_vec);
        let grown = (0..).map(|seed| vectors.grown(seed));
        let queries = vectors.questions().map(<[f32]>::to_vec);
        Self::new("vector e5", real.chain(grown).take(OWN), queries)
    }

    /// `ann-glove100` of the folder of collections that the variable `TREFOIL_DATA` names.
    pub fn glove() -> Outcome<Option<Self>> {
        let Some(data) = env::var_os("TREFOIL_DATA") else { return Ok(None) };
        let folder = Path::new(&data).join("ann-glove100");
        let base = read_fvecs(&folder.join("base100k.fvecs"))?;
        let queries = read_fvecs(&folder.join("query1k.fvecs"))?;
        Ok(Some(Self::new("vector glove", base.into_iter(), queries.into_iter())))
    }

    fn new(
        name: &'static str,
        base: impl Iterator<Item = Vec<f32>>,
        queries: impl Iterator<Item = Vec<f32>>,
    ) -> Self {
        let largest = SIZES.into_iter().max().unwrap_or_default();
        let base = base.take(largest).map(unit).collect();
        Self { name, base, queries: queries.take(QUERIES).map(unit).collect() }
    }

    /// The folder of an index of the first `size` vectors, made if it is not there. Every
    /// segment has a graph, so that the configuration of a reader decides whether it is walked.
    pub fn build(&self, size: usize) -> Outcome<PathBuf> {
        let base = self.base.get(..size).ok_or("the set is smaller than that")?;
        let mut hasher = DefaultHasher::new();
        base.iter().flatten().for_each(|x| hasher.write_u32(x.to_bits()));
        let name = format!("{}-{}-{:016x}", self.name, label(size), hasher.finish());
        let dir = folder()?.join(name.replace(' ', "-"));
        let always = VectorConfig { graph_limit: 0, ..VectorConfig::default() };
        let mut indexer = VectorIndexer::open(&dir, self.name, self.dimensions(), &always)?;
        if indexer.is_empty() {
            indexer.put((0..).map(RowId::new).zip(base.iter().map(Vec::as_slice)))?;
        }
        indexer.commit(Seq::new(1))?;
        merge_all(&mut indexer, &|| false)?;
        Ok(dir)
    }

    /// Opens an index to search it as `config` says.
    pub fn open(&self, dir: &Path, config: &VectorConfig) -> Outcome<VectorIndex> {
        Ok(VectorIndex::open(dir, self.name, self.dimensions(), config)?)
    }

    /// The nearest allowed rows of the first `size`, for each query, by comparing all.
    pub fn nearest(&self, size: usize, allowed: &Allowed) -> Vec<Vec<RowId>> {
        let base = self.base.get(..size).unwrap_or(&self.base);
        self.queries.par_iter().map(|query| nearest(base, query, allowed)).collect()
    }

    /// How many vectors there are to index.
    pub fn len(&self) -> usize {
        self.base.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.base.is_empty()
    }

    fn dimensions(&self) -> usize {
        self.base.first().map_or(0, Vec::len)
    }
}

/// The nearest allowed rows to a query, by comparing all.
pub fn nearest(base: &[Vec<f32>], query: &[f32], allowed: &Allowed) -> Vec<RowId> {
    let rows = (0..).map(RowId::new).zip(base).filter(|(row, _)| allowed.contains(*row));
    let mut scored: Vec<(f32, RowId)> =
        rows.map(|(row, vector)| (inner_product(query, vector), row)).collect();
    scored.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(NEIGHBOURS).map(|(_, row)| row).collect()
}

/// Vectors of so many numbers back to back, little endian.
pub fn vector_file(path: &Path, dimensions: usize) -> Outcome<Vec<Vec<f32>>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let vectors = bytes.as_chunks::<4>().0.chunks_exact(dimensions.max(1));
    Ok(vectors.map(|vector| vector.iter().map(|x| f32::from_le_bytes(*x)).collect()).collect())
}

/// Vectors in the texmex layout: each is its length as an integer of 32 bits, then its
/// components, all little endian.
fn read_fvecs(path: &Path) -> Outcome<Vec<Vec<f32>>> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let (words, _) = bytes.as_chunks::<4>();
    let dimensions = words.first().map_or(0, |word| u32::from_le_bytes(*word) as usize);
    let vectors = words.chunks_exact(dimensions + 1);
    Ok(vectors.map(|v| v.iter().skip(1).map(|x| f32::from_le_bytes(*x)).collect()).collect())
}

/// In eight sums, which the compiler turns into vector instructions.
fn inner_product(a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0_f32; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f32>() + rest
}
