//! What the graph says beside the chunks that it ranks: the entities of a chunk, and how those
//! of a question hang together.

use std::collections::BTreeMap;

use trefoil_core::{
    Allowed, Chunk, NamedEntity, PathStep, Plan, Proof, QueryType, RelationshipPath, Result, RowId,
    Score, ShownRelation, StoredChunk, Strategy,
};
use trefoil_graph::{GraphIndex, Node, ProvenRelation, RelationPath};
use trefoil_store::{entity_id, relation_id};
use trefoil_text::sentences;

use crate::{engine::Inner, relationships::Relationships};

/// Longest paths, in steps.
const HOPS: u32 = 3;
/// Most paths that are shown.
const PATHS: usize = 5;
/// Most chunks that show one relation.
const PROOFS: usize = 3;
/// Most characters of what shows a relation.
const EXCERPT: usize = 500;

impl Inner {
    /// How the entities that a question about a relationship names hang together; nothing
    /// for other questions, and where fewer than two are known.
    pub(crate) fn relationships(&self, plan: &Plan, allowed: &Allowed) -> Result<Relationships> {
        let planned = plan.legs.iter().any(|leg| leg.strategy == Strategy::Graph);
        let Some(graph) = self.graph.as_ref().filter(|_| planned) else {
            return Ok(Relationships::default());
        };
        if plan.query_type != QueryType::Relationship {
            return Ok(Relationships::default());
        }
        let named = graph.link(&plan.question.text);
        if named.len() < 2 {
            return Ok(Relationships::default());
        }
        let index = graph.index();
        let paths = index.relationships(&named, HOPS, PATHS, allowed);
        let rows: Vec<RowId> = paths
            .iter()
            .flat_map(|path| path.steps.iter().flatten())
            .flat_map(|relation| relation.proofs.iter().take(PROOFS).copied())
            .collect();
        let chunks = self.store.chunks(&rows)?;
        let chunks = chunks.iter().map(|chunk| (chunk.row, chunk.as_ref())).collect();
        let mut found = Relationships::default();
        for path in &paths {
            found.push(&index, path, &chunks)?;
        }
        Ok(found)
    }

    /// The entities that a chunk mentions.
    pub(crate) fn entities_of(&self, row: RowId) -> Result<Vec<NamedEntity>> {
        let Some(graph) = &self.graph else { return Ok(Vec::new()) };
        let index = graph.index();
        let nodes: Vec<Node> = index.entities_of(row).map(|entity| entity.node).collect();
        Ok(nodes
            .into_iter()
            .filter_map(|node| named(&index, node).transpose())
            .collect::<Result<_>>()?)
    }
}

impl Relationships {
    fn push(
        &mut self,
        index: &GraphIndex,
        path: &RelationPath,
        chunks: &BTreeMap<RowId, &StoredChunk>,
    ) -> Result<()> {
        let length = path.steps.len();
        let mut steps = Vec::with_capacity(length);
        for relations in &path.steps {
            let mut shown = Vec::with_capacity(relations.len());
            for relation in relations {
                shown.extend(self.relation(index, relation, length, chunks)?);
            }
            steps.push(PathStep { relations: shown });
        }
        // What shows a step may be gone by now.
        if steps.iter().all(|step| !step.relations.is_empty()) {
            let entities: Result<Vec<_>> =
                path.entities.iter().filter_map(|&node| named(index, node).transpose()).collect();
            #[expect(clippy::cast_possible_truncation, reason = "scores are in f32")]
            let weight = Score::clamped(path.weight as f32);
            self.paths.push(RelationshipPath { entities: entities?, weight, steps });
        }
        Ok(())
    }

    fn relation(
        &mut self,
        index: &GraphIndex,
        relation: &ProvenRelation,
        length: usize,
        chunks: &BTreeMap<RowId, &StoredChunk>,
    ) -> Result<Option<ShownRelation>> {
        let ProvenRelation { source, target, relation_type, proofs } = relation;
        let (Some(one), Some(other)) = (index.entity(*source), index.entity(*target)) else {
            return Ok(None);
        };
        let id = relation_id(one.normalized_name, relation_type, other.normalized_name)?;
        let mut shown = Vec::new();
        for row in proofs.iter().take(PROOFS) {
            let Some(chunk) = chunks.get(row) else { continue };
            let excerpt = excerpt(&chunk.chunk, [one.name, other.name]);
            shown.push(Proof { chunk_id: chunk.id.clone(), excerpt });
            let (steps, relations) = self.shown.entry(*row).or_insert_with(|| (length, Vec::new()));
            *steps = length.min(*steps);
            if !relations.contains(&id) {
                relations.push(id.clone());
            }
        }
        Ok((!shown.is_empty()).then_some(ShownRelation {
            id,
            source: entity_id(one.normalized_name)?,
            target: entity_id(other.normalized_name)?,
            relation_type: relation_type.clone(),
            proofs: shown,
        }))
    }
}

fn named(index: &GraphIndex, node: Node) -> Result<Option<NamedEntity>> {
    let Some(entity) = index.entity(node) else { return Ok(None) };
    Ok(Some(NamedEntity {
        id: entity_id(entity.normalized_name)?,
        name: entity.name.to_owned(),
        entity_type: entity.entity_type.clone(),
    }))
}

/// The sentence that names both, or else the first that names one of them and so on, cut to
/// [`EXCERPT`] characters; the beginning of the chunk where none does, as where a name stands
/// in the title only.
fn excerpt(chunk: &Chunk, names: [&str; 2]) -> String {
    let spans = sentences(&chunk.text, chunk.language);
    let text = |at: usize| spans.get(at).and_then(|span| chunk.text.get(span.start..span.end));
    let lower: Vec<String> =
        (0..spans.len()).map(|at| text(at).unwrap_or_default().to_lowercase()).collect();
    let names = names.map(str::to_lowercase);
    let holds = |at: &usize, name: &str| lower.get(*at).is_some_and(|one| one.contains(name));
    let [one, other] = &names;
    let both = (0..spans.len()).find(|at| holds(at, one) && holds(at, other));
    let mut wanted: Vec<usize> = match both {
        Some(at) => vec![at],
        None => {
            names.iter().filter_map(|name| (0..spans.len()).find(|at| holds(at, name))).collect()
        }
    };
    wanted.sort_unstable();
    wanted.dedup();
    if wanted.is_empty() {
        wanted.push(0);
    }
    let shown: Vec<&str> = wanted.into_iter().filter_map(text).map(str::trim).collect();
    let shown = shown.join(" … ");
    shown.chars().take(EXCERPT).collect()
}
