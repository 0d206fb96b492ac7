//! Opening of the indexes. The only place that knows which legs there are.

use std::{path::Path, sync::Arc};

use trefoil_core::{
    Analyzer, Collection, Degraded, Embedder, Error, IndexFiles, Indexer, NameLookup, Part, Result,
    Retriever, Stage, Strategy,
};
#[cfg(feature = "graph")]
use trefoil_graph::GraphRetriever;

#[cfg(feature = "graph")]
use crate::Extractor;
use crate::{EngineConfig, NameTable};

/// The legs of an engine.
#[derive(Debug, Default)]
pub(crate) struct Leaves {
    /// Write halves; none when read-only.
    pub(crate) indexers: Vec<Box<dyn Indexer>>,
    /// Read halves.
    pub(crate) retrievers: Vec<Arc<dyn Retriever>>,
    /// The graph among them, to be asked for more than chunks.
    #[cfg(feature = "graph")]
    pub(crate) graph: Option<Arc<GraphRetriever>>,
    /// Legs that cannot run, and why.
    pub(crate) absent: Vec<Degraded>,
}

/// Opens every leg of a collection that can be opened, below `dir`. A damaged index is set
/// aside and begun anew when `write`; read-only, its leg is absent.
pub(crate) fn open(
    dir: &Path,
    collection: Collection,
    analyzer: &Arc<dyn Analyzer>,
    embedder: Option<&Arc<dyn Embedder>>,
    config: &EngineConfig,
    write: bool,
) -> Result<Leaves> {
    let mut leaves = Leaves::default();
    let dir = dir.join(collection.name());
    #[cfg(not(feature = "semantic"))]
    let _ = embedder;
    #[cfg(not(feature = "graph"))]
    let _ = config;
    #[cfg(feature = "keyword")]
    leaves.keyword(&dir.join(Strategy::Keyword.name()), analyzer, write)?;
    #[cfg(feature = "semantic")]
    match embedder {
        Some(embedder) => leaves.semantic(&dir.join(Strategy::Semantic.name()), embedder, write)?,
        None => leaves.absent.push(Degraded {
            stage: Stage::Semantic,
            reason: "no model; run `trefoil models pull`".to_owned(),
        }),
    }
    #[cfg(feature = "graph")]
    if collection == Collection::Documents && !matches!(config.extractor, Extractor::None) {
        leaves.graph(&dir.join(Strategy::Graph.name()), config, write)?;
    }
    Ok(leaves)
}

/// One index of a collection, as files and rows.
#[derive(Debug)]
pub(crate) struct LeafFiles {
    pub(crate) collection: Collection,
    pub(crate) index: Box<dyn IndexFiles>,
}

impl LeafFiles {
    /// What findings call it.
    pub(crate) fn part(&self) -> Part {
        let leg = self.index.strategy();
        match self.collection {
            Collection::Documents => Part::Index(leg),
            Collection::Memory => Part::MemoryIndex(leg),
        }
    }

    /// Its directory below that of all indexes.
    pub(crate) fn folder(&self) -> String {
        folder(self.collection, self.index.strategy())
    }
}

/// The directory of an index below that of all indexes.
pub(crate) fn folder(collection: Collection, leg: Strategy) -> String {
    format!("{}/{}", collection.name(), leg.name())
}

/// The indexes of both collections below `dir`, whatever model their vectors are of. There
/// may be none of them.
pub(crate) fn files(dir: &Path, analyzer: &Arc<dyn Analyzer>) -> Vec<LeafFiles> {
    Collection::ALL.into_iter().flat_map(|of| files_of(dir, of, analyzer)).collect()
}

fn files_of(dir: &Path, collection: Collection, analyzer: &Arc<dyn Analyzer>) -> Vec<LeafFiles> {
    let mut files: Vec<Box<dyn IndexFiles>> = Vec::new();
    #[cfg(not(feature = "keyword"))]
    let _ = analyzer;
    #[cfg(not(any(feature = "keyword", feature = "semantic", feature = "graph")))]
    let _ = dir;
    #[cfg(feature = "keyword")]
    files.push(Box::new(trefoil_keyword::KeywordFiles::new(
        &dir.join(folder(collection, Strategy::Keyword)),
        Arc::clone(analyzer),
    )));
    #[cfg(feature = "semantic")]
    files.push(Box::new(trefoil_semantic::VectorFiles::new(
        &dir.join(folder(collection, Strategy::Semantic)),
    )));
    #[cfg(feature = "graph")]
    if collection == Collection::Documents {
        let dir = dir.join(folder(collection, Strategy::Graph));
        files.push(Box::new(trefoil_graph::GraphFiles::new(&dir)));
    }
    files.into_iter().map(|index| LeafFiles { collection, index }).collect()
}

impl Leaves {
    /// The names that the corpus is known to speak of: those of the graph.
    pub(crate) fn names(&self) -> Arc<dyn NameLookup> {
        #[cfg(feature = "graph")]
        if let Some(graph) = &self.graph {
            return Arc::clone(graph) as _;
        }
        Arc::new(NameTable::default())
    }

    #[cfg(feature = "keyword")]
    fn keyword(&mut self, dir: &Path, analyzer: &Arc<dyn Analyzer>, write: bool) -> Result<()> {
        use trefoil_keyword::{KeywordConfig, KeywordIndexer, KeywordRetriever};
        let config = KeywordConfig::default();
        if write {
            let open = || KeywordIndexer::open(dir, Arc::clone(analyzer), &config);
            let indexer = or_anew(dir, open)?;
            self.retrievers.push(Arc::new(indexer.retriever()));
            self.indexers.push(Box::new(indexer));
        } else {
            let opened = KeywordRetriever::open(dir, Arc::clone(analyzer), &config);
            self.read(Stage::Keyword, opened.map(|one| Arc::new(one) as _))?;
        }
        Ok(())
    }

    #[cfg(feature = "semantic")]
    fn semantic(&mut self, dir: &Path, embedder: &Arc<dyn Embedder>, write: bool) -> Result<()> {
        use trefoil_semantic::{SemanticRetriever, VectorConfig, VectorIndexer};
        let config = VectorConfig::default();
        if write {
            let space = embedder.space();
            let fingerprint = space.fingerprint();
            let open = || VectorIndexer::open(dir, &fingerprint, space.dimensions, &config);
            self.indexers.push(Box::new(or_anew(dir, open)?));
        }
        let opened = SemanticRetriever::open(dir, Arc::clone(embedder), &config);
        self.read(Stage::Semantic, opened.map(|one| Arc::new(one) as _))
    }

    #[cfg(feature = "graph")]
    fn graph(&mut self, dir: &Path, config: &EngineConfig, write: bool) -> Result<()> {
        use trefoil_graph::GraphIndexer;
        if write {
            self.indexers.push(Box::new(or_anew(dir, || GraphIndexer::open(dir))?));
        }
        let opened = GraphRetriever::open(dir, &config.graph, trefoil_text::normalize_name);
        let opened = opened.map(Arc::new);
        self.graph = opened.as_ref().ok().map(Arc::clone);
        self.read(Stage::Graph, opened.map(|graph| graph as _))
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
fn or_anew<T>(dir: &Path, open: impl Fn() -> Result<T>) -> Result<T> {
    match open() {
        Err(
            error @ (Error::Corrupt { .. }
            | Error::Checksum { .. }
            | Error::ModelMismatch { .. }
            | Error::UnsupportedFormat { .. }),
        ) => {
            let aside = dir.with_extension("damaged");
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
