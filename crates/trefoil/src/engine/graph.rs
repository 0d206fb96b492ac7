//! The graph, for those who browse it.

use std::sync::Arc;

use trefoil_core::{EntityView, Result, SearchFilters, Subgraph};
use trefoil_graph::{EntityNode, GraphIndex, RelationEdge, petgraph::Graph};
use trefoil_store::{CommunityRow, entity_id};

use crate::engine::Engine;

impl Engine {
    /// The graph of what the chunks mention that `filters` let through, as one of petgraph, for
    /// its algorithms and exports; none in an engine without an extractor.
    ///
    /// ```
    /// use trefoil::{
    ///     Document, Engine, EngineConfig, Model, SearchFilters,
    ///     graph::petgraph::{Undirected, algo::has_path_connecting},
    /// };
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let index = folder.path().join("notes.trefoil");
    /// let config = EngineConfig { model: Model::None, ..Default::default() };
    /// let engine = Engine::open_with(index, config)?;
    /// engine.ingest(&[
    ///     Document::new("ada", "Ada Lovelace worked with Charles Babbage."),
    ///     Document::new("rail", "Tokyo and Osaka are joined by the Shinkansen."),
    /// ])?;
    /// let graph = engine.graph(&SearchFilters::default())?.unwrap();
    /// let [ada, charles] = ["Ada Lovelace", "Charles Babbage"]
    ///     .map(|name| graph.node_indices().find(|&node| graph[node].name == name).unwrap());
    /// let graph = graph.into_edge_type::<Undirected>();
    /// assert!(has_path_connecting(&graph, ada, charles, None));
    /// # Ok::<(), trefoil::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Engine::graph_index_within`].
    pub fn graph(
        &self,
        filters: &SearchFilters,
    ) -> Result<Option<Graph<EntityNode, RelationEdge>>> {
        let index = self.graph_index_within(filters)?;
        index.map(|index| index.to_petgraph(entity_id)).transpose()
    }

    /// The index of what the chunks mention, as the searches see it that start now; none in an
    /// engine without an extractor.
    pub fn graph_index(&self) -> Option<Arc<GraphIndex>> {
        self.state.graph_index()
    }

    /// The communities of the graph and their reports, by level and id; the parts of a
    /// community name it as their parent. [`Engine::wait_until_indexed`] waits until they are
    /// made.
    ///
    /// # Errors
    /// Those of the store.
    pub fn communities(&self) -> Result<Vec<CommunityRow>> {
        self.state.store.communities()
    }

    /// The graph of what the chunks mention that `filters` let through; none in an engine without
    /// an extractor. Under filters it is made of their mentions alone, in time that grows with
    /// them, so that it tells nothing of other chunks.
    ///
    /// # Errors
    /// As the store's, and those of a filter that cannot be read.
    pub fn graph_index_within(&self, filters: &SearchFilters) -> Result<Option<Arc<GraphIndex>>> {
        self.state.graph_index_within(filters)
    }

    /// The `most` most important entities of what the filters let through, each without a
    /// description and what it is related to: those that most chunks mention, each weighted by how strongly
    /// it does, and names a little before common nouns.
    ///
    /// # Errors
    /// As [`Engine::graph_index_within`].
    pub fn entities(&self, filters: &SearchFilters, most: usize) -> Result<Vec<EntityView>> {
        self.state.important_entities(filters, most)
    }

    /// The entity that goes by this name, however it is spelt, with what its passages say of it
    /// and the `most` entities that it is related to most strongly; none if what the filters let
    /// through does not speak of it.
    ///
    /// # Errors
    /// As [`Engine::graph_index_within`].
    pub fn entity(
        &self,
        name: &str,
        filters: &SearchFilters,
        most: usize,
    ) -> Result<Option<EntityView>> {
        self.state.entity(name, filters, most)
    }

    /// The `most` most important entities, or the one that goes by the name of `around` and
    /// those that it is related to most strongly, with the relations among them, in what the
    /// filters let through.
    ///
    /// # Errors
    /// As [`Engine::graph_index_within`].
    pub fn subgraph(
        &self,
        around: Option<&str>,
        filters: &SearchFilters,
        most: usize,
    ) -> Result<Subgraph> {
        self.state.subgraph(around, filters, most)
    }
}
