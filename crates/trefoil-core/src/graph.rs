//! What the graph of entities is made from, and what it tells.

mod extraction;
mod label;
mod relationship;

pub use self::{
    extraction::{Extraction, Mention, MentionKind, Relation, TitledText},
    label::{EntityType, RelationType},
    relationship::{
        EntityFacet, EntityFacts, EntityView, NamedEntity, PathStep, Proof, RelatedEntity,
        RelationView, RelationshipPath, Seen, Subgraph, SubgraphEdge, SubgraphNode,
    },
};
