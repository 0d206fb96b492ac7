//! What each chunk says of entities, row by row, and the entities and relations that
//! these rows add up to.
//!
//! ```text
//! unit_entities, unit_edges (one unit's word) ─▶ entities, entity_aliases, edges (the sum)
//! ```
//!
//! The sum is a function of the rows alone, so a chunk that goes takes with it what only it
//! said, and a store that was changed holds what a new one would.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use trefoil_core::{
    Change, Collection, EntityType, Extraction, Mention, MentionKind, Relation, RelationType,
    Result, RowId, Score,
};

use crate::{
    Store, WriteTx,
    change::log,
    codec::{parsed, spans, spans_to_json, texts, to_json},
    fault::unreadable,
    graph::sums,
    id::{entity_id, memory_entity_id},
};

/// `unit_entities.role` of what a chunk names.
const MENTIONED: i64 = 1;

impl Store {
    /// What the chunks of `rows` mention, in their order; unknown rows are left out.
    pub fn extractions(&self, rows: &[RowId]) -> Result<Vec<(RowId, Extraction)>> {
        self.read("read mentions", |tx| {
            let mut reader = Reader::new(tx)?;
            let mut exists = tx.prepare_cached("SELECT 1 FROM payload_chunk WHERE unit_id = ?1")?;
            let mut found = Vec::with_capacity(rows.len());
            for &row in rows {
                if exists.exists([row.get().cast_signed()])? {
                    found.push((row, reader.extraction(row)?));
                }
            }
            Ok(found)
        })
    }

    /// Replaces what chunks mention, as another extractor finds it; unknown rows are left
    /// out. Tells how many differ from what was stored; those are logged.
    ///
    /// # Errors
    /// A full disk; then nothing was stored.
    pub fn put_extractions(&self, extractions: &[(RowId, Extraction)]) -> Result<usize> {
        self.write("store mentions", |tx, now| {
            let mut graph = GraphWriter::new(tx, now);
            let mut exists = tx.prepare_cached("SELECT 1 FROM payload_chunk WHERE unit_id = ?1")?;
            let mut changed = 0;
            for (row, extraction) in extractions {
                if exists.exists([row.get().cast_signed()])? {
                    changed += usize::from(graph.put(*row, extraction)?);
                }
            }
            graph.finish()?;
            Ok(changed)
        })
    }
}

/// Keeps the graph in step with the units, within one transaction that ends with
/// [`finish`](Self::finish).
#[derive(Debug)]
pub(crate) struct GraphWriter<'c> {
    tx: &'c WriteTx<'c>,
    now: i64,
    /// Whose entities these are.
    collection: Collection,
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
            collection: Collection::Documents,
            entities: BTreeMap::new(),
            touched_entities: BTreeSet::new(),
            touched_edges: BTreeSet::new(),
        }
    }

    /// The same for the units of a collection, which has entities of its own.
    pub(crate) fn of(self, collection: Collection) -> Self {
        Self { collection, ..self }
    }

    /// Stores what a chunk says in place of what it said; true if that is something else,
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

    /// Computes every sum again.
    pub(crate) fn sum_all(tx: &WriteTx<'_>, now: i64) -> rusqlite::Result<()> {
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
    pub(crate) fn finish(self) -> rusqlite::Result<()> {
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
        let id = match self.collection {
            Collection::Documents => entity_id(normalized),
            Collection::Memory => memory_entity_id(normalized),
        };
        let id = id.map_err(|error| unreadable(0, error))?;
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
                    self.collection.code()
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
        let Some(sum) = sums::entity(self.tx, entity)? else {
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
                        canonical_key = ?6, attrs_json = ?7
                 WHERE id = ?1 AND (name, type_label, roles_json, canonical_key, attrs_json)
                     IS NOT (?2, ?3, ?5, ?6, ?7)",
            )?
            .execute(params![
                entity,
                sum.name,
                sum.type_label,
                self.now,
                sum.roles_json,
                sum.canonical_key,
                sum.attrs_json,
            ])?;
        self.tx
            .prepare_cached("DELETE FROM entity_aliases WHERE entity_id = ?1")?
            .execute([entity])?;
        let mut insert = self.tx.prepare_cached("INSERT INTO entity_aliases VALUES (?1, ?2)")?;
        for alias in sum.aliases {
            insert.execute(params![entity, alias])?;
        }
        Ok(())
    }
}

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
        kind: kind_of(row.get(4)?)?,
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

/// A sign as the column holds it; a number is never given to another sign.
const fn number_of(kind: MentionKind) -> i64 {
    match kind {
        MentionKind::Title => 0,
        MentionKind::Heading => 1,
        MentionKind::Link => 2,
        MentionKind::Code => 3,
        MentionKind::Quoted => 4,
        MentionKind::ProperNoun => 5,
        MentionKind::NounPhrase => 6,
    }
}

fn kind_of(number: i64) -> rusqlite::Result<MentionKind> {
    Ok(match number {
        0 => MentionKind::Title,
        1 => MentionKind::Heading,
        2 => MentionKind::Link,
        3 => MentionKind::Code,
        4 => MentionKind::Quoted,
        5 => MentionKind::ProperNoun,
        6 => MentionKind::NounPhrase,
        _ => return Err(unreadable(4, format!("{number} is no sign"))),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::Seq;

    use super::*;
    use crate::{
        GraphRows, NewFile,
        fixture::{Fixture, extraction, file},
    };

    #[test]
    fn what_a_chunk_mentions_comes_back_as_it_was() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["Ada met Babbage", "nobody", "서울 東京"]);
        let mut link = extraction(&["Ada", "Babbage"]).into_parts();
        link.0[0].target = Some("ada.md".to_owned());
        link.0[1].kind = MentionKind::Link;
        link.0[1].confidence = Score::clamped(0.512_345_7);
        doc.chunks[0].extraction = Extraction::new(link.0).with_relations(link.1);
        doc.chunks[2].extraction = extraction(&["서울", "東京"]);
        let rows = fixture.put(&doc);
        let asked = [rows[2], RowId::new(99), rows[0], rows[1]];
        let expected: Vec<_> =
            [2, 0, 1].map(|n: usize| (rows[n], doc.chunks[n].extraction.clone())).into();
        assert_eq!(fixture.store.extractions(&asked).unwrap(), expected);
    }

    #[test]
    fn only_what_changed_is_logged() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two"]);
        doc.chunks[0].extraction = extraction(&["Ada"]);
        let rows = fixture.put(&doc);
        let of = |after| {
            let changes = fixture.changes(after).into_iter();
            changes.filter(|change| matches!(change, Change::Extraction(_))).collect::<Vec<_>>()
        };
        assert_eq!(of(Seq::ZERO), [Change::Extraction(rows[0])]);
        let before = fixture.store.seq().unwrap();
        fixture.put(&doc);
        assert_eq!(of(before), []);
        let new = [(rows[0], extraction(&["Ada"])), (rows[1], extraction(&["Byron", "Ada"]))];
        assert_eq!(fixture.store.put_extractions(&new).unwrap(), 1);
        assert_eq!(of(before), [Change::Extraction(rows[1])]);
        assert_eq!(
            fixture.store.put_extractions(&[(RowId::new(99), extraction(&["X1"]))]).unwrap(),
            0
        );
        let before = fixture.store.seq().unwrap();
        doc.chunks[1].extraction = extraction(&["Byron", "Ada"]);
        doc.chunks[0].extraction = Extraction::default();
        fixture.put(&doc);
        assert_eq!(of(before), [Change::Extraction(rows[0])]);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8, Vec<Vec<usize>>),
        Remove(u8),
        Extract(u8, Vec<usize>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let names = || prop::collection::vec(0..NAMES.len(), 0..4);
        prop_oneof![
            4 => (0..4_u8, prop::collection::vec(names(), 0..4)).prop_map(|(path, chunks)| Step::Put(path, chunks)),
            1 => (0..4_u8).prop_map(Step::Remove),
            1 => (0..4_u8, names()).prop_map(|(path, names)| Step::Extract(path, names)),
        ]
    }

    const NAMES: &[&str] = &["Ada", "ADA", "Babbage", "Engine", "ENGINE", "서울", "東京"];

    fn said(names: &[usize]) -> Extraction {
        extraction(&names.iter().map(|&name| NAMES[name]).collect::<Vec<_>>())
    }

    fn document(path: u8, chunks: &[Vec<usize>]) -> NewFile {
        let texts: Vec<String> = (0..chunks.len()).map(|n| format!("text {n}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut file = file(&path.to_string(), &texts);
        for (chunk, names) in file.chunks.iter_mut().zip(chunks) {
            chunk.extraction = said(names);
        }
        file
    }

    /// The graph that a new store has after storing the files.
    fn built_new(files: &BTreeMap<u8, Vec<Vec<usize>>>) -> GraphRows {
        let fixture = Fixture::new();
        let files: Vec<_> = files.iter().map(|(path, chunks)| document(*path, chunks)).collect();
        fixture.store.put_files(&files).unwrap();
        fixture.store.graph().unwrap()
    }

    proptest! {
        #[test]
        fn a_changed_store_holds_the_graph_of_a_new_one(steps in prop::collection::vec(step(), 1..12)) {
            let fixture = Fixture::new();
            let mut files: BTreeMap<u8, Vec<Vec<usize>>> = BTreeMap::new();
            for step in steps {
                match step {
                    Step::Put(path, chunks) => {
                        fixture.put(&document(path, &chunks));
                        files.insert(path, chunks);
                    }
                    Step::Remove(path) => {
                        fixture.store.remove_file(&path.to_string()).unwrap();
                        files.remove(&path);
                    }
                    Step::Extract(path, names) => {
                        let rows = fixture.rows(&path.to_string());
                        let first = rows.first().map(|&row| (row, said(&names)));
                        fixture.store.put_extractions(&first.into_iter().collect::<Vec<_>>()).unwrap();
                        if let Some(first) = files.get_mut(&path).and_then(|file| file.first_mut()) {
                            *first = names;
                        }
                    }
                }
            }
            prop_assert_eq!(fixture.store.graph().unwrap(), built_new(&files));
            fixture.store.check().unwrap();
        }
    }
}
