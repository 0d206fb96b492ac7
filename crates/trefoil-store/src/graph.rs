//! The graph that the chunks add up to, as rows; that of memory is apart.

pub(crate) mod community;
pub(crate) mod extraction;
pub(crate) mod sums;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row};
use trefoil_core::{ByteSpan, EntityId, EntityType, RelationId, RelationType, Result, RowId, Seen};

use crate::{
    Store,
    codec::{parsed, spans, texts},
    fault::unreadable,
    id::relation_id,
};

/// Every entity and relation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphRows {
    /// The entities, by normalised name.
    pub entities: Vec<EntityRow>,
    /// The relations, by the normalised names of their ends and type.
    pub relations: Vec<RelationRow>,
}

/// A thing that chunks name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityRow {
    /// Hash of the normalised name.
    pub id: EntityId,
    /// How most of the chunks write it.
    pub name: String,
    /// The key under which spellings are one.
    pub normalized_name: String,
    /// What most of the chunks take it for.
    pub entity_type: EntityType,
    /// Normalised names it goes by besides, in order.
    pub aliases: Vec<String>,
    /// How many chunks name it.
    pub chunks: usize,
}

/// One entity bearing on another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationRow {
    /// Hash of ends and type.
    pub id: RelationId,
    /// Normalised name of the one.
    pub source: String,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// Normalised name of the other.
    pub target: String,
    /// How often it was seen.
    pub count: u64,
}

impl Store {
    /// The whole graph, in time proportional to it.
    pub fn graph(&self) -> Result<GraphRows> {
        self.read("read the graph", rows)
    }

    /// The entities with these ids, in their order; unknown ones are left out.
    pub fn entities(&self, ids: &[EntityId]) -> Result<Vec<EntityRow>> {
        self.read("read entities", |tx| {
            let mut select = tx.prepare_cached(&format!(
                "{ENTITIES} WHERE e.public_id = ?1 AND e.collection = 0"
            ))?;
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.extend(select.query_map([id.as_str()], entity)?);
            }
            found.into_iter().collect()
        })
    }

    /// How often and when all chunks state a relation; none if no chunk does.
    pub fn seen(
        &self,
        source: &str,
        relation_type: &RelationType,
        target: &str,
    ) -> Result<Option<Seen>> {
        self.read("read when a relation was seen", |tx| {
            tx.prepare_cached(
                "SELECT r.count, r.weight, ifnull(r.first_seen_at, 0), ifnull(r.last_seen_at, 0)
                 FROM entities s JOIN entities t
                 JOIN edges r ON r.src_entity_id = s.id AND r.dst_entity_id = t.id
                 WHERE s.normalized = ?1 AND r.relation_label = ?2 AND t.normalized = ?3
                   AND s.collection = 0 AND t.collection = 0",
            )?
            .query_row([source, relation_type.as_str(), target], |row| {
                let time = |column| {
                    Timestamp::from_second(row.get(column)?).map_err(|e| unreadable(column, e))
                };
                Ok(Seen {
                    count: row.get(0)?,
                    weight: row.get(1)?,
                    first_seen_at: time(2)?,
                    last_seen_at: time(3)?,
                })
            })
            .optional()
        })
    }

    /// Where a relation is shown: chunks, and spans of their texts.
    pub fn evidence(
        &self,
        source: &str,
        relation_type: &RelationType,
        target: &str,
    ) -> Result<Vec<(RowId, Vec<ByteSpan>)>> {
        self.read("read the evidence of a relation", |tx| {
            tx.prepare_cached(
                "SELECT r.unit_id, r.spans
                 FROM entities s JOIN entities t
                 JOIN unit_edges r ON r.src_entity_id = s.id AND r.dst_entity_id = t.id
                 WHERE s.normalized = ?1 AND r.relation_label = ?2 AND t.normalized = ?3
                   AND s.collection = 0 AND t.collection = 0
                 ORDER BY r.unit_id",
            )?
            .query_map([source, relation_type.as_str(), target], |row| {
                Ok((RowId::new(row.get(0)?), spans(row, 1)?))
            })?
            .collect()
        })
    }
}

pub(crate) fn rows(tx: &Connection) -> rusqlite::Result<GraphRows> {
    let mut entities =
        tx.prepare_cached(&format!("{ENTITIES} WHERE e.collection = 0 ORDER BY e.normalized"))?;
    let mut relations = tx.prepare_cached(
        "SELECT s.normalized, r.relation_label, t.normalized, r.count
         FROM edges r JOIN entities s ON s.id = r.src_entity_id
                      JOIN entities t ON t.id = r.dst_entity_id
         WHERE s.collection = 0
         ORDER BY s.normalized, t.normalized, r.relation_label",
    )?;
    Ok(GraphRows {
        entities: entities.query_map([], entity)?.collect::<rusqlite::Result<_>>()?,
        relations: relations.query_map([], relation)?.collect::<rusqlite::Result<_>>()?,
    })
}

const ENTITIES: &str =
    "SELECT e.public_id, e.name, ifnull(e.normalized, e.name), ifnull(e.type_label, 'NAME'),
        (SELECT json_group_array(alias) FROM
            (SELECT alias FROM entity_aliases WHERE entity_id = e.id ORDER BY alias)),
        (SELECT count(DISTINCT unit_id) FROM unit_entities WHERE entity_id = e.id)
    FROM entities e";

fn entity(row: &Row<'_>) -> rusqlite::Result<EntityRow> {
    Ok(EntityRow {
        id: parsed(row, 0, EntityId::new)?,
        name: row.get(1)?,
        normalized_name: row.get(2)?,
        entity_type: parsed(row, 3, EntityType::new)?,
        aliases: texts(row, 4)?,
        chunks: row.get(5)?,
    })
}

fn relation(row: &Row<'_>) -> rusqlite::Result<RelationRow> {
    let (source, target): (String, String) = (row.get(0)?, row.get(2)?);
    let relation_type = parsed(row, 1, RelationType::new)?;
    let id = relation_id(&source, &relation_type, &target).map_err(|error| unreadable(0, error))?;
    Ok(RelationRow { id, source, relation_type, target, count: row.get(3)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        entity_id,
        fixture::{Fixture, extraction, file},
    };

    /// A file with one leaf for each list of names, which are related in a chain.
    fn names(path: &str, chunks: &[&[&str]]) -> crate::NewFile {
        let texts: Vec<String> = chunks.iter().map(|names| names.join(" ")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut file = file(path, &texts);
        for (chunk, names) in file.chunks.iter_mut().zip(chunks) {
            chunk.extraction = extraction(names);
        }
        file
    }

    #[test]
    fn the_graph_is_the_sum_of_what_the_chunks_say() {
        let fixture = Fixture::new();
        fixture.put(&names("a", &[&["Ada", "Babbage"], &["ADA", "Engine", "Babbage"]]));
        fixture.put(&names("b", &[&["Ada", "Babbage", "Engine"]]));
        let graph = fixture.store.graph().unwrap();
        let found: Vec<_> = graph
            .entities
            .iter()
            .map(|one| (&*one.name, &*one.normalized_name, one.aliases.join(" "), one.chunks))
            .collect();
        let expected = [("Ada", "ada", 3), ("Babbage", "babbage", 3), ("Engine", "engine", 2)];
        assert_eq!(found, expected.map(|(name, key, n)| (name, key, format!("the {key}"), n)));
        let found: Vec<_> =
            graph.relations.iter().map(|one| (&*one.source, &*one.target, one.count)).collect();
        let expected = [
            ("ada", "babbage", 2),
            ("ada", "engine", 1),
            ("babbage", "engine", 1),
            ("engine", "babbage", 1),
        ];
        assert_eq!(found, expected);
        let ids = [entity_id("engine").unwrap(), entity_id("no").unwrap()];
        assert_eq!(fixture.store.entities(&ids).unwrap(), graph.entities[2..]);
        let evidence = fixture.store.evidence("ada", &RelationType::CO_OCCURS, "babbage").unwrap();
        let rows: Vec<_> = evidence.iter().map(|(row, _)| *row).collect();
        assert_eq!(rows, [fixture.rows("a")[0], fixture.rows("b")[0]]);
        assert_eq!(evidence[0].1, [ByteSpan { start: 0, end: 11 }]);
        let seen = |target| fixture.store.seen("ada", &RelationType::CO_OCCURS, target).unwrap();
        let twice = seen("babbage").unwrap();
        assert_eq!((twice.count, twice.first_seen_at <= twice.last_seen_at), (2, true));
        assert_eq!((seen("engine").unwrap().count, seen("ada")), (1, None));
    }
}
