//! The graph of documents: what chunks say of entities, and what that adds up to. There is no row
//! of an entity or a relation: each is derived from what the chunks say that name it, by the code
//! here and nowhere else.

pub(crate) mod as_text;
pub(crate) mod coding;
pub(crate) mod community;
pub(crate) mod said;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::{Connection, Row};
use trefoil_core::{
    ByteSpan, EntityId, EntityType, Extraction, Mention, Relation, RelationId, RelationType,
    Result, RowId, RowSet, Score, Seen,
};

use crate::{
    Store,
    fault::unreadable,
    id::{entity_id, relation_id},
};

/// Every entity and relation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GraphRows {
    /// The entities, by normalised name.
    pub entities: Vec<EntityRow>,
    /// The relations, by the normalised names of their ends and type.
    pub relations: Vec<RelationRow>,
}

/// A thing that chunks name.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityRow {
    /// Hash of the normalised name.
    pub id: EntityId,
    /// How most of the chunks write it, each weighted by how sure it is; of equals the first in
    /// the alphabet.
    pub name: String,
    /// The key under which spellings are one.
    pub normalized_name: String,
    /// What most of the chunks take it for, in the same way.
    pub entity_type: EntityType,
    /// All that any of them takes it for, in small letters and in order.
    pub roles: Vec<String>,
    /// Where most of the links to it lead.
    pub canonical_key: Option<String>,
    /// Normalised names it goes by besides, in order.
    pub aliases: Vec<String>,
    /// How many chunks name it.
    pub chunks: usize,
    /// The same, each as much as it is sure.
    pub weight: f64,
    /// The date of the earliest of their documents; when it was indexed, for one without a date.
    pub first_seen_at: Timestamp,
    /// The same of the latest.
    pub last_seen_at: Timestamp,
}

/// One entity bearing on another.
#[derive(Clone, Debug, PartialEq)]
pub struct RelationRow {
    /// Hash of ends and type.
    pub id: RelationId,
    /// Normalised name of the one.
    pub source: String,
    /// The relation to the other.
    pub relation_type: RelationType,
    /// Normalised name of the other.
    pub target: String,
    /// How often and when chunks state it.
    pub seen: Seen,
    /// Which chunks do, by row, and where in their texts.
    pub evidence: Vec<(RowId, Vec<ByteSpan>)>,
}

impl Store {
    /// The whole graph, in time proportional to it.
    pub fn graph(&self) -> Result<GraphRows> {
        self.read("read the graph", |tx| {
            let mut entities: BTreeMap<String, EntitySum> = BTreeMap::new();
            let mut relations: BTreeMap<(String, String, RelationType), RelationSum> =
                BTreeMap::new();
            each(tx, |said| {
                for mention in said.extraction.mentions() {
                    let key = mention.normalized_name.clone();
                    entities.entry(key).or_default().add(said.happened_at, mention);
                }
                for relation in said.extraction.relations() {
                    let Relation { source, target, relation_type, .. } = relation;
                    let key = (source.clone(), target.clone(), relation_type.clone());
                    relations.entry(key).or_default().add(&said, relation);
                }
            })?;
            let entities = entities.into_iter().filter_map(|(name, sum)| sum.entity(&name));
            let relations = relations
                .into_iter()
                .filter_map(|((source, target, kind), sum)| sum.relation(&source, &kind, &target));
            Ok(GraphRows {
                entities: entities.collect::<rusqlite::Result<_>>()?,
                relations: relations.collect::<rusqlite::Result<_>>()?,
            })
        })
    }

    /// The entity with this normalised name, by the chunks of `rows` that name it; none if none
    /// does. The graph index knows which do.
    pub fn entity(&self, normalized_name: &str, rows: &[RowId]) -> Result<Option<EntityRow>> {
        self.read("read an entity", |tx| {
            let mut sum = EntitySum::default();
            for_each(tx, rows, |said| {
                let mentions = said.extraction.mentions().iter();
                mentions
                    .filter(|one| one.normalized_name == normalized_name)
                    .for_each(|mention| sum.add(said.happened_at, mention));
            })?;
            sum.entity(normalized_name).transpose()
        })
    }

    /// The relation between two entities, by the chunks of `rows` that state it; none if none
    /// does. The graph index knows which do.
    pub fn relation(
        &self,
        source: &str,
        relation_type: &RelationType,
        target: &str,
        rows: &[RowId],
    ) -> Result<Option<RelationRow>> {
        self.read("read a relation", |tx| {
            let mut sum = RelationSum::default();
            for_each(tx, rows, |said| {
                let is_it = |one: &&Relation| {
                    one.source == source
                        && one.target == target
                        && one.relation_type == *relation_type
                };
                let relations = said.extraction.relations().iter();
                relations.filter(is_it).for_each(|relation| sum.add(&said, relation));
            })?;
            sum.relation(source, relation_type, target).transpose()
        })
    }

    /// The chunks that name an entity of one of these types, in capitals: for where no graph index
    /// can be asked, in time proportional to what all chunks say.
    pub fn rows_of_types(&self, types: &BTreeSet<String>) -> Result<RowSet> {
        self.read("look for entities of a type", |tx| {
            let mut labels: BTreeMap<String, BTreeMap<EntityType, f64>> = BTreeMap::new();
            each(tx, |said| {
                for mention in said.extraction.mentions() {
                    let labels = labels.entry(mention.normalized_name.clone()).or_default();
                    weigh(labels, mention.entity_type.clone(), mention.confidence);
                }
            })?;
            let of_type = labels.into_iter().filter_map(|(name, labels)| {
                most(labels).is_some_and(|label| types.contains(label.as_str())).then_some(name)
            });
            let of_type: BTreeSet<String> = of_type.collect();
            let mut rows = RowSet::default();
            each(tx, |said| {
                let mut mentions = said.extraction.mentions().iter();
                if mentions.any(|mention| of_type.contains(&mention.normalized_name)) {
                    rows.insert(said.row);
                }
            })?;
            Ok(rows)
        })
    }
}

/// What one chunk says.
struct Said {
    row: RowId,
    /// The date of its document, or when it was indexed, in seconds since 1970.
    happened_at: i64,
    extraction: Extraction,
}

const SAID: &str = "SELECT s.unit_id, ifnull(u.occurred_at, u.created_at), s.said
     FROM unit_said s JOIN units u ON u.id = s.unit_id";

fn said(columns: &Row<'_>) -> rusqlite::Result<Said> {
    Ok(Said {
        row: RowId::new(columns.get(0)?),
        happened_at: columns.get(1)?,
        extraction: said::extraction(columns, 2)?,
    })
}

/// Shows what each chunk says, by row.
fn each(tx: &Connection, mut show: impl FnMut(Said)) -> rusqlite::Result<()> {
    let mut select = tx.prepare_cached(&format!("{SAID} ORDER BY s.unit_id"))?;
    for said in select.query_map([], said)? {
        show(said?);
    }
    Ok(())
}

/// The same of some chunks.
fn for_each(tx: &Connection, rows: &[RowId], mut show: impl FnMut(Said)) -> rusqlite::Result<()> {
    let mut select = tx.prepare_cached(&format!("{SAID} WHERE s.unit_id = ?1"))?;
    for row in rows {
        for said in select.query_map([row.get().cast_signed()], said)? {
            show(said?);
        }
    }
    Ok(())
}

/// An entity as it is summed up.
#[derive(Default)]
struct EntitySum {
    names: BTreeMap<String, f64>,
    types: BTreeMap<EntityType, f64>,
    targets: BTreeMap<String, f64>,
    aliases: BTreeSet<String>,
    chunks: usize,
    weight: f64,
    period: Option<(i64, i64)>,
}

impl EntitySum {
    fn add(&mut self, happened_at: i64, mention: &Mention) {
        weigh(&mut self.names, mention.name.clone(), mention.confidence);
        weigh(&mut self.types, mention.entity_type.clone(), mention.confidence);
        if let Some(target) = &mention.target {
            weigh(&mut self.targets, target.clone(), mention.confidence);
        }
        self.aliases.extend(mention.aliases.iter().cloned());
        self.chunks += 1;
        self.weight += f64::from(mention.confidence.get());
        self.period = Some(extended(self.period, happened_at));
    }

    /// None if nothing names it.
    fn entity(self, normalized_name: &str) -> Option<rusqlite::Result<EntityRow>> {
        let roles: BTreeSet<String> =
            self.types.keys().map(|label| label.as_str().to_lowercase()).collect();
        let (name, entity_type) = (most(self.names)?, most(self.types)?);
        let (first, last) = self.period?;
        let row = || {
            Ok(EntityRow {
                id: entity_id(normalized_name).map_err(|error| unreadable(0, error))?,
                name,
                normalized_name: normalized_name.to_owned(),
                entity_type,
                roles: roles.into_iter().collect(),
                canonical_key: most(self.targets),
                aliases: self.aliases.into_iter().collect(),
                chunks: self.chunks,
                weight: self.weight,
                first_seen_at: timestamp(first)?,
                last_seen_at: timestamp(last)?,
            })
        };
        Some(row())
    }
}

/// A relation as it is summed up.
#[derive(Default)]
struct RelationSum {
    count: u64,
    weight: f64,
    period: Option<(i64, i64)>,
    evidence: Vec<(RowId, Vec<ByteSpan>)>,
}

impl RelationSum {
    fn add(&mut self, said: &Said, relation: &Relation) {
        let sure = |name: &str| {
            let mentions = said.extraction.mentions().iter();
            let mention = mentions.into_iter().find(|one| one.normalized_name == name);
            mention.map_or(1.0, |one| f64::from(one.confidence.get()))
        };
        let count = relation.evidence.len() as u64;
        self.count += count;
        self.weight += count as f64 * sure(&relation.source).min(sure(&relation.target));
        self.period = Some(extended(self.period, said.happened_at));
        self.evidence.push((said.row, relation.evidence.clone()));
    }

    /// None if nothing states it.
    fn relation(
        self,
        source: &str,
        relation_type: &RelationType,
        target: &str,
    ) -> Option<rusqlite::Result<RelationRow>> {
        let (first, last) = self.period?;
        let row = || {
            let id = relation_id(source, relation_type, target);
            Ok(RelationRow {
                id: id.map_err(|error| unreadable(0, error))?,
                source: source.to_owned(),
                relation_type: relation_type.clone(),
                target: target.to_owned(),
                seen: Seen {
                    count: self.count,
                    weight: self.weight,
                    first_seen_at: timestamp(first)?,
                    last_seen_at: timestamp(last)?,
                },
                evidence: self.evidence,
            })
        };
        Some(row())
    }
}

fn weigh<K: Ord>(weights: &mut BTreeMap<K, f64>, key: K, confidence: Score) {
    *weights.entry(key).or_insert(0.0) += f64::from(confidence.get());
}

fn extended(period: Option<(i64, i64)>, by: i64) -> (i64, i64) {
    period.map_or((by, by), |(first, last)| (first.min(by), last.max(by)))
}

fn timestamp(second: i64) -> rusqlite::Result<Timestamp> {
    Timestamp::from_second(second).map_err(|error| unreadable(1, error))
}

/// The key of the greatest weight; of equals the first.
pub(crate) fn most<K>(weights: BTreeMap<K, f64>) -> Option<K> {
    // A later one has to be above it.
    let more = |best: (K, f64), next: (K, f64)| if next.1 > best.1 { next } else { best };
    weights.into_iter().reduce(more).map(|(key, _)| key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, extraction, file};

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
        assert_eq!(graph.entities[0].roles, ["code", "name"]);
        assert!((graph.entities[0].weight - 2.1).abs() < 1e-6);
        let found: Vec<_> = graph
            .relations
            .iter()
            .map(|one| (&*one.source, &*one.target, one.seen.count))
            .collect();
        let expected = [
            ("ada", "babbage", 2),
            ("ada", "engine", 1),
            ("babbage", "engine", 1),
            ("engine", "babbage", 1),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn one_of_its_parts_is_summed_up_alone() {
        let fixture = Fixture::new();
        let mut dated = names("a", &[&["Ada", "Babbage"], &["ADA", "Engine", "Babbage"]]);
        dated.date = Some(jiff::civil::date(1843, 9, 1));
        let mut rows = fixture.put(&dated);
        rows.extend(fixture.put(&names("b", &[&["Ada", "Babbage", "Engine"], &["Byron"]])));
        let graph = fixture.store.graph().unwrap();
        for entity in &graph.entities {
            let found = fixture.store.entity(&entity.normalized_name, &rows).unwrap();
            assert_eq!(found.as_ref(), Some(entity));
        }
        for one in &graph.relations {
            let RelationRow { source, relation_type, target, .. } = one;
            let found = fixture.store.relation(source, relation_type, target, &rows).unwrap();
            assert_eq!(found.as_ref(), Some(one));
        }
        let co_occurs = RelationType::CO_OCCURS;
        let found = fixture.store.relation("ada", &co_occurs, "babbage", &rows).unwrap().unwrap();
        let spans = vec![ByteSpan { start: 0, end: 11 }];
        assert_eq!(found.evidence, [(rows[0], spans.clone()), (rows[2], spans)]);
        assert_eq!(found.seen.first_seen_at.to_string(), "1843-09-01T00:00:00Z");
        assert_eq!(found.seen.last_seen_at, Timestamp::from_second(1_000_000).unwrap());
        // By those that are named only.
        let of_one = fixture.store.entity("ada", &rows[1..2]).unwrap().unwrap();
        assert_eq!((of_one.name.as_str(), of_one.chunks), ("ADA", 1));
        assert_eq!(fixture.store.entity("ada", &rows[3..]).unwrap(), None);
        assert_eq!(fixture.store.entity("nobody", &rows).unwrap(), None);
        assert_eq!(fixture.store.relation("ada", &co_occurs, "byron", &rows).unwrap(), None);
    }

    #[test]
    fn chunks_are_found_by_what_their_entities_are_taken_for() {
        let fixture = Fixture::new();
        let rows = fixture.put(&names("a", &[&["Ada", "ENIAC"], &["ADA"], &["Ada"], &["Byron"]]));
        let of = |label: &str| {
            let found = fixture.store.rows_of_types(&[label.to_owned()].into()).unwrap();
            found.iter().collect::<Vec<_>>()
        };
        // Most take Ada for a name.
        assert_eq!(of("NAME"), rows);
        assert_eq!(of("CODE"), rows[..1]);
        assert_eq!(of("EVENT"), []);
    }
}
