//! What the rows of units of memory add up to: one entity, one edge. A function of the rows
//! alone.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, params};

/// How one entity is related to another, by all the units that say so.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EdgeSum {
    /// How often it is said.
    pub(crate) count: i64,
    /// The first unit that says it.
    pub(crate) evidence: i64,
    /// The count, each time as sure as the less sure of its ends.
    pub(crate) weight: f64,
    /// When the earliest and the latest of the units happened.
    pub(crate) first_seen_at: i64,
    pub(crate) last_seen_at: i64,
    /// Since when and until when it holds, as claims that count say; absent where none says so.
    pub(crate) props_json: Option<String>,
}

/// Who or what units name, by all of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EntitySum {
    /// What most of the units call it and take it for, each weighted by how strongly it says it; of equals
    /// the first in the alphabet.
    pub(crate) name: String,
    pub(crate) type_label: String,
    /// All that any of them takes it for, in small letters.
    pub(crate) roles_json: String,
    /// Where most of their links to it lead.
    pub(crate) canonical_key: Option<String>,
    pub(crate) aliases: BTreeSet<String>,
}

/// The sum of an edge; absent if no unit says it any more.
pub(crate) fn edge(
    tx: &Connection,
    source: i64,
    label: &str,
    target: i64,
) -> rusqlite::Result<Option<EdgeSum>> {
    let key = params![source, label, target];
    let found = tx
        .prepare_cached(
            "SELECT sum(e.count), min(e.unit_id),
                    sum(e.count * min(ifnull(s.weight, 1), ifnull(t.weight, 1))),
                    min(ifnull(u.occurred_at, u.created_at)),
                    max(ifnull(u.occurred_at, u.created_at))
             FROM unit_edges e JOIN units u ON u.id = e.unit_id
             LEFT JOIN unit_entities s ON s.unit_id = e.unit_id AND s.role = 1
                 AND s.entity_id = e.src_entity_id
             LEFT JOIN unit_entities t ON t.unit_id = e.unit_id AND t.role = 1
                 AND t.entity_id = e.dst_entity_id
             WHERE e.src_entity_id = ?1 AND e.relation_label = ?2 AND e.dst_entity_id = ?3",
        )?
        .query_row(key, |row| {
            let Some(count) = row.get(0)? else { return Ok(None) };
            Ok(Some(EdgeSum {
                count,
                evidence: row.get(1)?,
                weight: row.get(2)?,
                first_seen_at: row.get(3)?,
                last_seen_at: row.get(4)?,
                props_json: None,
            }))
        })?;
    let Some(sum) = found else { return Ok(None) };
    let props_json = tx
        .prepare_cached(
            "SELECT min(c.valid_from),
                    CASE WHEN count(c.valid_to) = count(*) THEN max(c.valid_to) END
             FROM unit_edges e JOIN units u ON u.id = e.unit_id AND u.state < 3
             JOIN payload_claim c ON c.unit_id = e.unit_id
             WHERE e.src_entity_id = ?1 AND e.relation_label = ?2 AND e.dst_entity_id = ?3",
        )?
        .query_row(key, |row| Ok(props(row.get(0)?, row.get(1)?)))?;
    Ok(Some(EdgeSum { props_json, ..sum }))
}

fn props(valid_from: Option<i64>, valid_to: Option<i64>) -> Option<String> {
    let named = [("valid_from", valid_from), ("valid_to", valid_to)];
    let known: BTreeMap<&str, i64> =
        named.into_iter().filter_map(|(name, second)| Some((name, second?))).collect();
    (!known.is_empty()).then(|| serde_json::json!(known).to_string())
}

/// The sum of an entity, as its tallies tell it, however many units name it; absent if nothing
/// names it any more.
pub(crate) fn entity(tx: &Connection, entity: i64) -> rusqlite::Result<Option<EntitySum>> {
    let all = |what: i64| {
        tx.prepare_cached(
            "SELECT text FROM entity_tallies WHERE entity_id = ?1 AND what = ?2
             ORDER BY weight DESC, text",
        )?
        .query_map([entity, what], |row| row.get(0))?
        .collect::<rusqlite::Result<Vec<String>>>()
    };
    let (names, types, targets) = (all(NAME)?, all(TYPE)?, all(TARGET)?);
    let roles: BTreeSet<String> = types.iter().map(|label| label.to_lowercase()).collect();
    let (Some(name), Some(type_label)) = (first(names), first(types)) else { return Ok(None) };
    Ok(Some(EntitySum {
        name,
        type_label,
        roles_json: serde_json::json!(roles).to_string(),
        canonical_key: first(targets),
        aliases: all(ALIAS)?.into_iter().collect(),
    }))
}

/// `entity_tallies.what`.
const NAME: i64 = 0;
const TYPE: i64 = 1;
const TARGET: i64 = 2;
const ALIAS: i64 = 3;

fn first(texts: Vec<String>) -> Option<String> {
    texts.into_iter().next()
}

/// What claims say of an entity that count and hold: names by relation. Read when it is asked
/// for, as it may be as much as all that is known.
pub(crate) fn attrs(
    tx: &Connection,
    entity: i64,
) -> rusqlite::Result<BTreeMap<String, Vec<String>>> {
    let mut said: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut select = tx.prepare_cached(
        "SELECT e.relation_label, t.name
         FROM unit_edges e JOIN units u ON u.id = e.unit_id AND u.state < 3
         JOIN payload_claim c ON c.unit_id = e.unit_id AND c.valid_to IS NULL
         JOIN unit_entities t ON t.unit_id = e.unit_id AND t.role = 1
             AND t.entity_id = e.dst_entity_id
         WHERE e.src_entity_id = ?1",
    )?;
    let mut rows = select.query([entity])?;
    while let Some(row) = rows.next()? {
        said.entry(row.get(0)?).or_default().insert(row.get(1)?);
    }
    Ok(said.into_iter().map(|(label, names)| (label, Vec::from_iter(names))).collect())
}
