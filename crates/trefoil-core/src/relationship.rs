use serde::{Deserialize, Serialize};

use crate::{ChunkId, EntityId, EntityType, RelationId, RelationType, Score};

/// An entity of the graph, as a result shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NamedEntity {
    /// The entity.
    pub id: EntityId,
    /// How most of the chunks write it.
    pub name: String,
    /// What most of the chunks take it for.
    pub entity_type: EntityType,
}

/// How two entities that a question names hang together, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RelationshipPath {
    /// From the one to the other, both included.
    pub entities: Vec<NamedEntity>,
    /// How strong it is: the product of the weights of its steps, 0–1.
    pub weight: Score,
    /// What joins each entity with the next; one fewer than the entities.
    pub steps: Vec<PathStep>,
}

/// What joins two entities of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathStep {
    /// The relations between them, in either direction; at least one.
    pub relations: Vec<ShownRelation>,
}

/// How one entity bears on another, and what shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShownRelation {
    /// The relation.
    pub id: RelationId,
    /// The one.
    pub source: EntityId,
    /// The other.
    pub target: EntityId,
    /// How it bears on it.
    pub relation_type: RelationType,
    /// Chunks that show it; at least one.
    pub proofs: Vec<Proof>,
}

/// A passage that shows a relation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proof {
    /// The chunk.
    pub chunk_id: ChunkId,
    /// The sentences that show it, 1–500 characters.
    pub excerpt: String,
}

/// An entity, and how many of the results mention it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntityFacet {
    /// The entity.
    pub entity: NamedEntity,
    /// Results that mention it.
    pub results: usize,
}
