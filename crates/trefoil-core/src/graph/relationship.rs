use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{ChunkId, EntityId, EntityType, RelationId, RelationType, Score};

/// An entity of the graph, as a result shows it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PathStep {
    /// The relations between them, in either direction; at least one.
    pub relations: Vec<RelationView>,
}

/// How one entity is related to another, and what shows it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RelationView {
    /// The relation.
    pub id: RelationId,
    /// The one.
    pub source: EntityId,
    /// The other.
    pub target: EntityId,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// Chunks that show it; at least one.
    pub proofs: Vec<Proof>,
    /// How often and when all chunks say so; absent where only some of them count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// How often and when chunks state a relation.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seen {
    /// How often.
    pub count: u64,
    /// The same, each time as sure as the less sure of both names.
    pub weight: f64,
    /// The date of the earliest of their documents; when it was indexed, for one without a date.
    pub first_seen_at: Timestamp,
    /// The same of the latest.
    pub last_seen_at: Timestamp,
}

/// A passage that shows a relation.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Proof {
    /// The chunk.
    pub chunk_id: ChunkId,
    /// The sentences that show it, 1–500 characters.
    pub excerpt: String,
}

/// An entity, and how many of the results mention it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntityFacet {
    /// The entity.
    pub entity: NamedEntity,
    /// Results that mention it.
    pub results: usize,
}

/// What the graph knows of the entity that a result is, by the chunks that the filters let
/// through.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntityFacts {
    /// What the chunks take it for, first what most do; at least one.
    pub kinds: Vec<EntityType>,
    /// What else it is called, normalised.
    pub aliases: Vec<String>,
    /// How many chunks mention it.
    pub chunks: usize,
    /// How many entities it is related to.
    pub degree: usize,
    /// How well it is connected, 0–1: a twentieth for each entity that it is related to, and a
    /// tenth, at most two, for each that the text relates to it in this direction, by a link,
    /// a title or heading above it, a citation or a definition.
    pub importance: Score,
}

/// What the graph says of an entity.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EntityView {
    /// The entity.
    pub entity: NamedEntity,
    /// The sentences of its passages that say most about it, at most 600 characters; empty in
    /// a list of entities.
    #[serde(default)]
    pub description: String,
    /// What else it is called.
    pub aliases: Vec<String>,
    /// How many chunks mention it.
    pub chunks: usize,
    /// How many entities it is related to.
    #[serde(default)]
    pub degree: usize,
    /// How well it is connected, 0–1, as in [`EntityFacts::importance`].
    pub importance: Score,
    /// The entities that it is related to, the strongest first.
    pub related: Vec<RelatedEntity>,
}

/// An entity that another is related to.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RelatedEntity {
    /// The entity.
    pub entity: NamedEntity,
    /// How strongly, 0–1.
    pub weight: Score,
    /// How; at least one.
    pub relations: Vec<RelationView>,
}

/// A part of the graph, to be drawn.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Subgraph {
    /// The entities, the most important first.
    pub nodes: Vec<SubgraphNode>,
    /// The relations among them.
    pub edges: Vec<SubgraphEdge>,
}

/// An entity of a drawing.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubgraphNode {
    /// The entity.
    pub entity: NamedEntity,
    /// How many chunks mention it.
    pub chunks: usize,
    /// How well it is connected, 0–1.
    pub importance: Score,
    /// The number of its community among those of the drawing, from 0, the largest first;
    /// absent for the most connected entity of the graph, which is in none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub community: Option<usize>,
}

/// A line of a drawing.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubgraphEdge {
    /// Place of one end in the nodes.
    pub source: usize,
    /// Place of the other.
    pub target: usize,
    /// How strong the relation is, 0–1.
    pub weight: Score,
}
