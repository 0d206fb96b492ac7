use std::path::{Path, PathBuf};

use trefoil_core::{Allowed, ManifestHeader, QueryVectors, Result, RowId, Seq};

use crate::{
    VectorConfig,
    manifest::Manifest,
    snapshot::{Search, Snapshot, View},
    vector,
};

/// One commit of the vectors of a directory, to be searched from any number of threads.
#[derive(Clone, Debug)]
pub struct VectorIndex {
    dir: PathBuf,
    config: VectorConfig,
    header: Option<ManifestHeader>,
    snapshot: Snapshot,
}

impl VectorIndex {
    /// Opens the newest commit in `dir`. Without one, the index is empty and at [`Seq::ZERO`].
    ///
    /// # Errors
    /// [`ModelMismatch`](trefoil_core::Error::ModelMismatch) or
    /// [`DimensionMismatch`](trefoil_core::Error::DimensionMismatch) if it holds vectors
    /// of another space, [`Corrupt`](trefoil_core::Error::Corrupt) if it is damaged,
    /// [`UnsupportedFormat`](trefoil_core::Error::UnsupportedFormat),
    /// [`InvalidConfig`](trefoil_core::Error::InvalidConfig), [`Io`](trefoil_core::Error::Io).
    pub fn open(
        dir: &Path,
        fingerprint: &str,
        dimensions: usize,
        config: &VectorConfig,
    ) -> Result<Self> {
        config.validate()?;
        let manifest = Manifest::empty(fingerprint, dimensions);
        let snapshot = Snapshot { manifest, views: Vec::new() };
        let empty = Self { dir: dir.to_owned(), config: *config, header: None, snapshot };
        Ok(empty.newest()?.unwrap_or(empty))
    }

    /// The same index as of its newest commit; none if that is this one. Costs a read of 48 bytes
    /// if nothing is new, and takes from this one what has not changed.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn newest(&self) -> Result<Option<Self>> {
        let mut header = Manifest::read_header(&self.dir)?;
        loop {
            if header == self.header {
                return Ok(None);
            }
            let opened = self.open_newest();
            let now = Manifest::read_header(&self.dir)?;
            // A commit in between may have removed files before they were mapped.
            if opened.is_ok() || now == header {
                return opened.map(Some);
            }
            header = now;
        }
    }

    /// The change that the commit reaches.
    pub fn seq(&self) -> Seq {
        self.snapshot.manifest.seq
    }

    /// The `k` nearest allowed rows with their cosines (-1 to 1), best first, equals by
    /// [`tie_break`](trefoil_core::tie_break); fewer only if fewer are allowed. `vector` may have any length but 0.
    ///
    /// Vectors are compared as 8-bit codes, and those that may be among the `k` nearest by the
    /// error of the codes again in `f32`. Up to [`VectorConfig::exact_limit`] allowed vectors
    /// of a segment nothing is missed; above, the lists that are left out are chosen by
    /// bounds that hold nearly always: [`recall`](Self::recall) measures it.
    ///
    /// # Errors
    /// [`DimensionMismatch`](trefoil_core::Error::DimensionMismatch),
    /// [`InvalidEmbedding`](trefoil_core::Error::InvalidEmbedding), or
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if what had to be read is damaged.
    pub fn search(&self, vector: &[f32], k: usize, allowed: &Allowed) -> Result<Vec<(RowId, f32)>> {
        self.search_by_language(&QueryVectors::from(vector), k, allowed)
    }

    /// The same with a vector of its own for the texts of some languages.
    ///
    /// # Errors
    /// As [`search`](Self::search).
    pub fn search_by_language(
        &self,
        vectors: &QueryVectors,
        k: usize,
        allowed: &Allowed,
    ) -> Result<Vec<(RowId, f32)>> {
        let dimensions = self.snapshot.manifest.dimensions;
        let vectors = &vectors.try_map(|vector| vector::unit(vector, dimensions))?;
        let search = Search { vectors, k, allowed, exact: false, config: &self.config };
        self.snapshot.search(&search)
    }

    /// Rows that can be found.
    pub fn len(&self) -> usize {
        self.snapshot.len()
    }

    /// True if there is nothing to find.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Reads everything and checks it; opening and searching check what they use.
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) with the first damaged file.
    pub fn verify(&self) -> Result<()> {
        self.snapshot.views.iter().try_for_each(View::verify)
    }

    /// Recall of a search of the `k` nearest: the share of the true ones that it finds,
    /// 0–1, over `samples` of the stored vectors taken as queries. 1 if each segment is
    /// too small for lists and for a graph.
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if what had to be read is damaged.
    pub fn recall(&self, samples: usize, k: usize) -> Result<f32> {
        let (mut found, mut wanted) = (0_usize, 0_usize);
        for view in self.snapshot.views.iter().filter(|view| view.has_shortcut()) {
            let step = view.segment.len() / samples.max(1) + 1;
            for ordinal in (0..view.segment.len()).step_by(step) {
                let vector = vector::from_bytes(view.segment.vector(ordinal)?);
                let search = Search {
                    vectors: &QueryVectors::from(vector.as_slice()),
                    k,
                    allowed: &Allowed::All,
                    exact: false,
                    config: &self.config,
                };
                let near = self.snapshot.search(&search)?;
                let exact = self.snapshot.search(&Search { exact: true, ..search })?;
                // Counted by cosine, so that ties may be broken either way.
                let worst = exact.last().map_or(1.0, |&(_, cosine)| cosine);
                found += near.iter().filter(|&&(_, cosine)| cosine >= worst).count();
                wanted += exact.len();
            }
        }
        Ok(if wanted == 0 { 1.0 } else { found as f32 / wanted as f32 })
    }

    fn open_newest(&self) -> Result<Self> {
        let Manifest { fingerprint, dimensions, .. } = &self.snapshot.manifest;
        let (header, snapshot) = if let Some((header, manifest)) = Manifest::read(&self.dir)? {
            manifest.check_space(fingerprint, *dimensions)?;
            (Some(header), Snapshot::open(&self.dir, manifest, Some(&self.snapshot))?)
        } else {
            let manifest = Manifest::empty(fingerprint, *dimensions);
            (None, Snapshot { manifest, views: Vec::new() })
        };
        Ok(Self { dir: self.dir.clone(), config: self.config, header, snapshot })
    }
}
