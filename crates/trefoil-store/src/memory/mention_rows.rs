//! What a unit of memory says of entities, as it is read from its rows.

use rusqlite::{CachedStatement, Connection, Row};
use trefoil_core::{EntityType, Extraction, Mention, Relation, RelationType, RowId, Score};

use crate::{
    codec::{coded, parsed, spans, texts},
    fault::unreadable,
    graph::coding::kind_of,
};

/// Reads what units say.
pub(crate) struct Reader<'c> {
    mentions: CachedStatement<'c>,
    relations: CachedStatement<'c>,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(tx: &'c Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            mentions: tx.prepare_cached(
                "SELECT m.name, e.normalized, m.aliases, m.type_label, m.kind, m.weight, m.spans, m.target
                 FROM unit_entities m JOIN entities e ON e.id = m.entity_id
                 WHERE m.unit_id = ?1 AND m.role = 1",
            )?,
            relations: tx.prepare_cached(
                "SELECT s.normalized, t.normalized, r.relation_label, r.spans
                 FROM unit_edges r JOIN entities s ON s.id = r.src_entity_id
                                   JOIN entities t ON t.id = r.dst_entity_id
                 WHERE r.unit_id = ?1 ORDER BY r.ordinal",
            )?,
        })
    }

    pub(crate) fn extraction(&mut self, row: RowId) -> rusqlite::Result<Extraction> {
        let unit = row.get().cast_signed();
        let mentions = self.mentions.query_map([unit], mention)?;
        let mentions = mentions.collect::<rusqlite::Result<Vec<_>>>()?;
        let relations = self.relations.query_map([unit], relation)?;
        let relations = relations.collect::<rusqlite::Result<Vec<_>>>()?;
        Ok(Extraction::new(mentions).with_relations(relations))
    }
}

fn mention(row: &Row<'_>) -> rusqlite::Result<Mention> {
    Ok(Mention {
        name: row.get(0)?,
        normalized_name: row.get(1)?,
        aliases: texts(row, 2)?,
        entity_type: parsed(row, 3, EntityType::new)?,
        kind: coded(row, 4, kind_of)?,
        confidence: Score::new(row.get(5)?).map_err(|error| unreadable(5, error))?,
        spans: spans(row, 6)?,
        target: row.get(7)?,
    })
}

fn relation(row: &Row<'_>) -> rusqlite::Result<Relation> {
    Ok(Relation {
        source: row.get(0)?,
        target: row.get(1)?,
        relation_type: parsed(row, 2, RelationType::new)?,
        evidence: spans(row, 3)?,
    })
}
