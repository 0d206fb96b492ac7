//! What each unit of memory says of entities, row by row, and the entities and relations that
//! these rows add up to. Claims and facts refer to them, so that they have rows, which those of
//! documents have not.
//!
//! ```text
//! unit_entities, unit_edges (one unit's word) ─▶ entities, entity_aliases, edges (the sum)
//! ```
//!
//! Triggers keep tallies of how an entity is written (`entity_tallies`), so that a unit more that
//! names it costs what it says and not what all the others do.
//!
//! The sum is a function of the rows alone, so a unit that goes takes with it what only it
//! said, and a store that was changed holds what a new one would.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{OptionalExtension, params};
use trefoil_core::{Change, Collection, Extraction, Mention, Relation, RowId};

use super::{mention_rows::Reader, sums};
use crate::{
    WriteTx,
    change::log,
    codec::{spans_to_json, to_json},
    fault::unreadable,
    graph::coding::number_of,
    id::memory_entity_id,
};

/// `unit_entities.role` of what a unit names.
const MENTIONED: i64 = 1;

/// Keeps the graph in step with the units, within one transaction that ends with
/// [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct GraphWriter<'c> {
    tx: &'c WriteTx<'c>,
    now: i64,
    /// Rows of `entities`, by normalised name.
    entities: BTreeMap<String, i64>,
    /// What has to be summed up again.
    touched_entities: BTreeSet<i64>,
    touched_edges: BTreeSet<(i64, String, i64)>,
}

impl<'c> GraphWriter<'c> {
    pub(crate) fn new(tx: &'c WriteTx<'c>, now: i64) -> Self {
        Self {
            tx,
            now,
            entities: BTreeMap::new(),
            touched_entities: BTreeSet::new(),
            touched_edges: BTreeSet::new(),
        }
    }

    /// Stores what a unit says in place of what it said; true if that is something else,
    /// which is logged.
    pub(crate) fn put(&mut self, row: RowId, extraction: &Extraction) -> rusqlite::Result<bool> {
        if Reader::new(self.tx)?.extraction(row)? == *extraction {
            return Ok(false);
        }
        self.touch(row)?;
        let unit = row.get().cast_signed();
        for table in ["unit_entities", "unit_edges"] {
            let delete = format!("DELETE FROM {table} WHERE unit_id = ?1");
            self.tx.prepare_cached(&delete)?.execute([unit])?;
        }
        for mention in extraction.mentions() {
            self.mention(unit, mention)?;
        }
        for (ordinal, relation) in extraction.relations().iter().enumerate() {
            self.relation(unit, ordinal, relation)?;
        }
        log(self.tx, Change::Extraction(row))?;
        Ok(true)
    }

    /// Notes that what a unit says is about to be deleted, or counts otherwise from now on.
    pub(crate) fn touch(&mut self, row: RowId) -> rusqlite::Result<()> {
        let unit = row.get().cast_signed();
        let mut entities =
            self.tx.prepare_cached("SELECT entity_id FROM unit_entities WHERE unit_id = ?1")?;
        for entity in entities.query_map([unit], |row| row.get(0))? {
            self.touched_entities.insert(entity?);
        }
        let mut edges = self.tx.prepare_cached(
            "SELECT src_entity_id, relation_label, dst_entity_id FROM unit_edges WHERE unit_id = ?1",
        )?;
        for edge in edges.query_map([unit], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))? {
            self.touched_edges.insert(edge?);
        }
        Ok(())
    }

    /// Notes that an entity is to be summed up again.
    pub(crate) fn touch_entity(&mut self, entity: i64) {
        self.touched_entities.insert(entity);
    }

    /// Computes every sum again.
    pub(crate) fn sum_all(tx: &WriteTx<'_>, now: i64) -> rusqlite::Result<()> {
        tx.execute_batch(
            "DELETE FROM entity_tallies;
             INSERT INTO entity_tallies
                 SELECT entity_id, what, text, sum(weight), count(*) FROM tallied GROUP BY 1, 2, 3;",
        )?;
        let mut graph = GraphWriter::new(tx, now);
        let mut edges =
            tx.prepare("SELECT src_entity_id, relation_label, dst_entity_id FROM edges")?;
        for edge in edges.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))? {
            graph.touched_edges.insert(edge?);
        }
        let mut entities = tx.prepare("SELECT id FROM entities")?;
        for entity in entities.query_map([], |row| row.get(0))? {
            graph.touched_entities.insert(entity?);
        }
        graph.finish()
    }

    /// Brings the sums up to date.
    pub(crate) fn finish(&self) -> rusqlite::Result<()> {
        // Edges first: an entity stays while an edge leads to it.
        for (source, label, target) in &self.touched_edges {
            self.sum_edge(*source, label, *target)?;
        }
        for &entity in &self.touched_entities {
            self.sum_entity(entity)?;
        }
        Ok(())
    }

    fn mention(&mut self, unit: i64, mention: &Mention) -> rusqlite::Result<()> {
        let entity = self.entity(&mention.normalized_name, mention)?;
        self.touched_entities.insert(entity);
        self.tx
            .prepare_cached(
                "INSERT INTO unit_entities (unit_id, entity_id, role, weight, name, type_label, kind,
                        aliases, spans, target)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            )?
            .execute(params![
                unit,
                entity,
                MENTIONED,
                mention.confidence.get(),
                mention.name,
                mention.entity_type.as_str(),
                number_of(mention.kind),
                to_json(&mention.aliases)?,
                spans_to_json(&mention.spans),
                mention.target,
            ])?;
        Ok(())
    }

    fn relation(&mut self, unit: i64, ordinal: usize, relation: &Relation) -> rusqlite::Result<()> {
        // Both ends are mentions of the same unit, so they are known.
        let ends = [&relation.source, &relation.target].map(|name| self.entities.get(name));
        let [Some(&source), Some(&target)] = ends else { return Ok(()) };
        let label = relation.relation_type.as_str();
        self.touched_edges.insert((source, label.to_owned(), target));
        self.tx
            .prepare_cached(
                "INSERT INTO unit_edges (unit_id, ordinal, src_entity_id, relation_label, dst_entity_id,
                        count, spans)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                unit,
                ordinal,
                source,
                label,
                target,
                relation.evidence.len(),
                spans_to_json(&relation.evidence),
            ])?;
        Ok(())
    }

    /// The row of an entity, which is made if it is new.
    fn entity(&mut self, normalized: &str, mention: &Mention) -> rusqlite::Result<i64> {
        if let Some(&entity) = self.entities.get(normalized) {
            return Ok(entity);
        }
        let id = memory_entity_id(normalized).map_err(|error| unreadable(0, error))?;
        let known = self
            .tx
            .prepare_cached("SELECT id FROM entities WHERE public_id = ?1")?
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        let entity = match known {
            Some(entity) => entity,
            None => self
                .tx
                .prepare_cached(
                    "INSERT INTO entities (public_id, type_label, name, normalized, created_at, updated_at,
                            collection)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6)",
                )?
                .insert(params![
                    id.as_str(),
                    mention.entity_type.as_str(),
                    mention.name,
                    normalized,
                    self.now,
                    Collection::Memory.code()
                ])?,
        };
        self.entities.insert(normalized.to_owned(), entity);
        Ok(entity)
    }

    fn sum_edge(&self, source: i64, label: &str, target: i64) -> rusqlite::Result<()> {
        let Some(sum) = sums::edge(self.tx, source, label, target)? else {
            self.tx
                .prepare_cached(
                    "DELETE FROM edges
                     WHERE src_entity_id = ?1 AND relation_label = ?2 AND dst_entity_id = ?3",
                )?
                .execute(params![source, label, target])?;
            return Ok(());
        };
        self.tx
            .prepare_cached(
                "INSERT INTO edges (src_entity_id, relation_label, dst_entity_id, count,
                        evidence_unit_id, weight, first_seen_at, last_seen_at, props_json)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
                 ON CONFLICT DO UPDATE SET
                     count = excluded.count, evidence_unit_id = excluded.evidence_unit_id,
                     weight = excluded.weight, first_seen_at = excluded.first_seen_at,
                     last_seen_at = excluded.last_seen_at, props_json = excluded.props_json",
            )?
            .execute(params![
                source,
                label,
                target,
                sum.count,
                sum.evidence,
                sum.weight,
                sum.first_seen_at,
                sum.last_seen_at,
                sum.props_json,
            ])?;
        Ok(())
    }

    /// An entity goes when nothing names it any more.
    fn sum_entity(&self, entity: i64) -> rusqlite::Result<()> {
        let forget_aliases = || {
            let delete = "DELETE FROM entity_aliases WHERE entity_id = ?1";
            self.tx.prepare_cached(delete)?.execute([entity])
        };
        let Some(sum) = sums::entity(self.tx, entity)? else {
            forget_aliases()?;
            self.tx
                .prepare_cached(
                    "DELETE FROM entities WHERE id = ?1
                       AND NOT EXISTS (SELECT 1 FROM edges WHERE src_entity_id = ?1)
                       AND NOT EXISTS (SELECT 1 FROM edges WHERE dst_entity_id = ?1)
                       AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE subject_entity_id = ?1)
                       AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE object_entity_id = ?1)",
                )?
                .execute([entity])?;
            return Ok(());
        };
        self.tx
            .prepare_cached(
                "UPDATE entities SET name = ?2, type_label = ?3, updated_at = ?4, roles_json = ?5,
                        canonical_key = ?6
                 WHERE id = ?1 AND (name, type_label, roles_json, canonical_key)
                     IS NOT (?2, ?3, ?5, ?6)",
            )?
            .execute(params![
                entity,
                sum.name,
                sum.type_label,
                self.now,
                sum.roles_json,
                sum.canonical_key,
            ])?;
        forget_aliases()?;
        let mut insert = self.tx.prepare_cached("INSERT INTO entity_aliases VALUES (?1, ?2)")?;
        for alias in sum.aliases {
            insert.execute(params![entity, alias])?;
        }
        Ok(())
    }
}
