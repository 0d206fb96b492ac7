//! Opening of the indexes. The only place that knows which retrievers there are.

#[cfg(feature = "graph")]
use std::any::Any;
use std::{path::Path, sync::Arc};

use trefoil_core::{
    Collection, Degraded, Embedder, Error, IndexFiles, Indexer, KnownName, NameLookup, Part,
    Result, Retriever, Stage,
};
#[cfg(feature = "graph")]
use trefoil_graph::GraphRetriever;
use trefoil_store::{Access, Store, SystemClock};

#[cfg(feature = "graph")]
use crate::config::EntityExtraction;
use crate::{
    background::catch_panics,
    config::{CustomRetriever, EngineConfig},
    layout::{self, DAMAGED},
};

/// The retrievers of an engine.
#[derive(Debug, Default)]
pub(crate) struct OpenIndexes {
    /// Write halves; none when read-only.
    pub(crate) indexers: Vec<Box<dyn Indexer>>,
    /// Read halves.
    pub(crate) retrievers: Vec<Arc<dyn Retriever>>,
    /// Retrievers that cannot run, and why.
    pub(crate) absent: Vec<Degraded>,
}

/// Opens every retriever of a collection that can be opened, below `dir`, together with its
/// `vectors`. A damaged index is set aside and started again when `write`; read-only, its retriever is
/// absent.
pub(crate) fn open(
    dir: &Path,
    collection: Collection,
    vectors: OpenIndexes,
    config: &EngineConfig,
    write: bool,
) -> Result<OpenIndexes> {
    let mut opened = OpenIndexes::default();
    let folder = |retriever| dir.join(layout::index_folder(collection, retriever));
    #[cfg(feature = "keyword")]
    opened.keyword(&folder(trefoil_core::RetrieverId::KEYWORD), config, write)?;
    opened.indexers.extend(vectors.indexers);
    opened.retrievers.extend(vectors.retrievers);
    opened.absent.extend(vectors.absent);
    if collection == Collection::Documents {
        #[cfg(feature = "graph")]
        if !matches!(config.extractor, EntityExtraction::None) {
            opened.graph(&folder(trefoil_core::RetrieverId::GRAPH), config, write)?;
        }
        for CustomRetriever { retriever, .. } in &config.retrievers {
            opened.own(&folder(retriever.id()), retriever, write)?;
        }
    }
    Ok(opened)
}

/// Opens the vectors of a collection with this number, below `dir`, in the same way.
pub(crate) fn vectors(
    dir: &Path,
    collection: Collection,
    generation: u64,
    embedder: &Arc<dyn Embedder>,
    config: &EngineConfig,
    write: bool,
) -> Result<OpenIndexes> {
    #[cfg(feature = "semantic")]
    {
        let mut opened = OpenIndexes::default();
        let folder = dir.join(layout::vector_folder(collection, generation));
        opened.semantic(&folder, embedder, config, write)?;
        Ok(opened)
    }
    #[cfg(not(feature = "semantic"))]
    {
        let _ = (dir, collection, generation, embedder, config, write);
        Ok(OpenIndexes::default())
    }
}

/// One index of a collection, as files and rows.
#[derive(Debug)]
pub(crate) struct IndexOnDisk {
    pub(crate) collection: Collection,
    pub(crate) index: Box<dyn IndexFiles>,
    /// Its directory below that of all indexes.
    pub(crate) folder: String,
}

impl IndexOnDisk {
    /// What findings call it.
    pub(crate) fn part(&self) -> Part {
        let retriever = self.index.id();
        match self.collection {
            Collection::Documents => Part::Index(retriever),
            Collection::Memory => Part::MemoryIndex(retriever),
        }
    }
}

/// The number of the vectors in use below `dir`; the first if the store cannot tell.
pub(crate) fn generation(dir: &Path) -> u64 {
    let store = Store::open(dir, Access::ReadOnly, Arc::new(SystemClock));
    store.and_then(|store| store.vectors_generation()).unwrap_or(0)
}

/// The indexes of both collections below `dir`, their vectors with this number and of whatever
/// model. There may be none of them.
pub(crate) fn files(dir: &Path, generation: u64, config: &EngineConfig) -> Vec<IndexOnDisk> {
    let mut files: Vec<IndexOnDisk> = Vec::new();
    for collection in Collection::ALL {
        let mut add = |folder: String, index: Box<dyn IndexFiles>| {
            files.push(IndexOnDisk { collection, index, folder });
        };
        #[cfg(not(any(feature = "keyword", feature = "semantic", feature = "graph")))]
        let _ = generation;
        #[cfg(feature = "keyword")]
        {
            let folder = layout::index_folder(collection, trefoil_core::RetrieverId::KEYWORD);
            let analyzer = Arc::clone(&config.analyzer);
            let index = trefoil_keyword::KeywordFiles::new(&dir.join(&folder), analyzer);
            add(folder, Box::new(index));
        }
        #[cfg(feature = "semantic")]
        {
            let folder = layout::vector_folder(collection, generation);
            let index = trefoil_semantic::VectorFiles::new(&dir.join(&folder));
            add(folder, Box::new(index));
        }
        if collection == Collection::Documents {
            #[cfg(feature = "graph")]
            {
                let folder = layout::index_folder(collection, trefoil_core::RetrieverId::GRAPH);
                let index = trefoil_graph::GraphFiles::new(&dir.join(&folder));
                add(folder, Box::new(index));
            }
            for CustomRetriever { retriever, .. } in &config.retrievers {
                let folder = layout::index_folder(collection, retriever.id());
                if let Some(index) = retriever.index(&dir.join(&folder)) {
                    add(folder, index);
                }
            }
        }
    }
    files
}

/// The names that the corpus is known to speak of: those of the graph.
#[cfg_attr(not(feature = "graph"), expect(unused_variables, reason = "there are no names"))]
pub(crate) fn names(retrievers: &[Arc<dyn Retriever>]) -> &dyn NameLookup {
    #[cfg(feature = "graph")]
    if let Some(graph) = graph(retrievers) {
        return graph;
    }
    &NoNames
}

/// The names of a corpus of which none are known.
#[derive(Debug)]
struct NoNames;

impl NameLookup for NoNames {
    fn names_at(&self, _: &str) -> Vec<KnownName> {
        Vec::new()
    }
}

/// The graph among some retrievers.
#[cfg(feature = "graph")]
pub(crate) fn graph(retrievers: &[Arc<dyn Retriever>]) -> Option<&GraphRetriever> {
    retrievers.iter().find_map(|one| (one.as_ref() as &dyn Any).downcast_ref())
}

impl OpenIndexes {
    #[cfg(feature = "keyword")]
    fn keyword(&mut self, dir: &Path, config: &EngineConfig, write: bool) -> Result<()> {
        use trefoil_keyword::{KeywordIndexer, KeywordRetriever};
        let EngineConfig { analyzer, keyword: config, .. } = config;
        if write {
            let open = || {
                let indexer = KeywordIndexer::open(dir, Arc::clone(analyzer), config)?;
                let retriever = indexer.retriever()?;
                Ok((indexer, retriever))
            };
            let (indexer, retriever) = or_start_again(dir, open)?;
            self.retrievers.push(Arc::new(retriever));
            self.indexers.push(Box::new(indexer));
        } else {
            let opened = KeywordRetriever::open(dir, Arc::clone(analyzer), config);
            self.read(
                Stage::Retriever(trefoil_core::RetrieverId::KEYWORD),
                opened.map(|one| Arc::new(one) as _),
            )?;
        }
        Ok(())
    }

    #[cfg(feature = "semantic")]
    fn semantic(
        &mut self,
        dir: &Path,
        embedder: &Arc<dyn Embedder>,
        config: &EngineConfig,
        write: bool,
    ) -> Result<()> {
        use trefoil_semantic::{SemanticRetriever, VectorIndexer};
        let config = &config.vectors;
        if write {
            let space = embedder.space();
            let fingerprint = space.fingerprint();
            let open = || VectorIndexer::open(dir, &fingerprint, space.dimensions, config);
            self.indexers.push(Box::new(or_start_again(dir, open)?));
        }
        let opened = SemanticRetriever::open(dir, Arc::clone(embedder), config);
        self.read(
            Stage::Retriever(trefoil_core::RetrieverId::SEMANTIC),
            opened.map(|one| Arc::new(one) as _),
        )
    }

    #[cfg(feature = "graph")]
    fn graph(&mut self, dir: &Path, config: &EngineConfig, write: bool) -> Result<()> {
        use trefoil_graph::GraphIndexer;
        if write {
            self.indexers.push(Box::new(or_start_again(dir, || GraphIndexer::open(dir))?));
        }
        let opened = GraphRetriever::open(dir, &config.graph, trefoil_text::normalize_name);
        self.read(
            Stage::Retriever(trefoil_core::RetrieverId::GRAPH),
            opened.map(|graph| Arc::new(graph) as _),
        )
    }

    fn own(&mut self, dir: &Path, retriever: &Arc<dyn Retriever>, write: bool) -> Result<()> {
        let name = retriever.id();
        if write {
            let index = || retriever.index(dir).map(|index| index.indexer()).transpose();
            self.indexers.extend(or_start_again(dir, || catch_panics(name.name(), index))?);
        }
        let opened = catch_panics(name.name(), || retriever.open(dir));
        let opened = opened.map(|opened| opened.unwrap_or_else(|| Arc::clone(retriever)));
        self.read(name.into(), opened)
    }

    fn read(&mut self, stage: Stage, opened: Result<Arc<dyn Retriever>>) -> Result<()> {
        match opened {
            Ok(retriever) => self.retrievers.push(retriever),
            Err(error @ Error::ModelMismatch { .. }) => return Err(error),
            Err(error) => self.absent.push(Degraded { stage, reason: error.chain() }),
        }
        Ok(())
    }
}

/// Opens an index; one that is damaged, of another model or of another version is set aside
/// first, since the store holds all that is needed to build it again.
fn or_start_again<T>(dir: &Path, open: impl Fn() -> Result<T>) -> Result<T> {
    match open() {
        Err(
            error @ (Error::Corrupt { .. }
            | Error::Checksum { .. }
            | Error::ModelMismatch { .. }
            | Error::UnsupportedFormat { .. }),
        ) => {
            let aside = dir.with_extension(DAMAGED);
            tracing::warn!(index = %dir.display(), reason = error.chain(), "index set aside, rebuilding");
            if aside.exists() {
                std::fs::remove_dir_all(&aside)
                    .map_err(|source| Error::io("remove the damaged index", &aside, source))?;
            }
            std::fs::rename(dir, &aside)
                .map_err(|source| Error::io("set aside the damaged index", dir, source))?;
            open()
        }
        opened => opened,
    }
}
