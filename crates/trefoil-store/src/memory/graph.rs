use std::collections::BTreeMap;

use rusqlite::{Connection, Row};
use serde::{Deserialize, Serialize};
use trefoil_core::{EntityId, EntityType, Extraction, RelationId, RelationType, Result, RowId};

use super::{MemoryRead, MemoryWrite, mention_rows::Reader, mentions::GraphWriter, sums};
use crate::{
    codec::{json, parsed, texts},
    fault::unreadable,
    id::relation_id,
};

/// Who or what units of memory name: the sum of what they say.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MemoryEntity {
    /// Its id.
    pub id: EntityId,
    /// What most of the units take it for, in capitals.
    #[serde(rename = "type")]
    pub entity_type: EntityType,
    /// How most of the units write it.
    pub name: String,
    /// Where most of the links to it lead, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical_key: Option<String>,
    /// All that a unit takes it for, in small letters.
    pub roles: Vec<String>,
    /// What holds of it by claims that count: names by relation, `lives_in` and `Kyoto`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attrs: BTreeMap<String, Vec<String>>,
}

/// How one entity of memory is related to another: the sum of what units say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemoryEdge {
    /// Its id.
    pub id: RelationId,
    /// Normalised name of the one.
    pub source: String,
    /// The relation to the other: `lives_in`.
    pub relation: String,
    /// Normalised name of the other.
    pub target: String,
    /// How often it was said.
    pub count: u64,
    /// The same with each time as sure as the less sure of its ends.
    pub weight: f64,
    /// When the earliest of the units that say it happened, in seconds since 1970.
    pub first_seen_at: i64,
    /// When the latest of them happened, in seconds since 1970.
    pub last_seen_at: i64,
    /// The first claim that says it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence_claim_id: Option<String>,
    /// When it holds.
    pub props: EdgeProps,
}

/// When an edge holds, by the claims that say it and count, in seconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EdgeProps {
    /// From when, as the earliest of them says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<i64>,
    /// Until when, as the latest of them says; absent while one holds without an end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<i64>,
}

impl MemoryRead<'_> {
    /// What a unit says of entities.
    pub fn mentions(&self, row: RowId) -> Result<Extraction> {
        self.sql("read the mentions of a unit", |tx| Reader::new(tx)?.extraction(row))
    }

    /// The entities that a unit names, the surest first, as all units together tell of them.
    pub fn entities_of(&self, row: RowId) -> Result<Vec<MemoryEntity>> {
        self.sql("read the entities of a unit", |tx| {
            tx.prepare_cached(
                "SELECT e.public_id, ifnull(e.type_label, 'NAME'), e.name, e.canonical_key,
                        e.roles_json, e.id
                 FROM unit_entities m JOIN entities e ON e.id = m.entity_id
                 WHERE m.unit_id = ?1 AND m.role = 1 ORDER BY m.weight DESC, e.name",
            )?
            .query_map([row.get().cast_signed()], |row| entity(tx, row))?
            .collect()
        })
    }

    /// The relations that a unit states, in its order, as all units together tell of them.
    pub fn edges_of(&self, row: RowId) -> Result<Vec<MemoryEdge>> {
        self.sql("read the edges of a unit", |tx| {
            tx.prepare_cached(
                "SELECT s.normalized, r.relation_label, t.normalized, r.count, r.weight,
                        ifnull(r.first_seen_at, 0), ifnull(r.last_seen_at, 0),
                        (SELECT c.public_id FROM unit_edges o JOIN units c ON c.id = o.unit_id
                         WHERE o.src_entity_id = r.src_entity_id
                           AND o.relation_label = r.relation_label
                           AND o.dst_entity_id = r.dst_entity_id AND c.kind IN (2, 9)
                         ORDER BY c.id LIMIT 1),
                        ifnull(r.props_json, '{}')
                 FROM unit_edges u JOIN edges r ON r.src_entity_id = u.src_entity_id
                     AND r.relation_label = u.relation_label AND r.dst_entity_id = u.dst_entity_id
                 JOIN entities s ON s.id = r.src_entity_id
                 JOIN entities t ON t.id = r.dst_entity_id
                 WHERE u.unit_id = ?1 ORDER BY u.ordinal",
            )?
            .query_map([row.get().cast_signed()], relation)?
            .collect()
        })
    }
}

fn entity(tx: &Connection, row: &Row<'_>) -> rusqlite::Result<MemoryEntity> {
    Ok(MemoryEntity {
        id: parsed(row, 0, EntityId::new)?,
        entity_type: parsed(row, 1, EntityType::new)?,
        name: row.get(2)?,
        canonical_key: row.get(3)?,
        roles: texts(row, 4)?,
        attrs: sums::attrs(tx, row.get(5)?)?,
    })
}

fn relation(row: &Row<'_>) -> rusqlite::Result<MemoryEdge> {
    let (source, target): (String, String) = (row.get(0)?, row.get(2)?);
    let label: String = row.get(1)?;
    let relation_type = RelationType::new(&label).map_err(|error| unreadable(1, error))?;
    let id = relation_id(&source, &relation_type, &target).map_err(|error| unreadable(0, error))?;
    Ok(MemoryEdge {
        id,
        source,
        relation: label,
        target,
        count: row.get(3)?,
        weight: row.get(4)?,
        first_seen_at: row.get(5)?,
        last_seen_at: row.get(6)?,
        evidence_claim_id: row.get(7)?,
        props: json(row, 8)?,
    })
}

impl MemoryWrite<'_> {
    /// Stores what a unit says of entities in the place of what it said; true if that is
    /// something else. Entities and relations of memory are apart from those of documents.
    pub fn put_mentions(&self, row: RowId, extraction: &Extraction) -> Result<bool> {
        self.sql("store the mentions of a unit", |tx| {
            let mut graph = GraphWriter::new(tx, self.now());
            let changed = graph.put(row, extraction)?;
            graph.finish()?;
            Ok(changed)
        })
    }
}
