//! Everything that must hold of a store, checked on one snapshot of it. Changes nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use rusqlite::{Connection, Row, params};
use trefoil_core::{ChunkLevel, Error, FileId, Result, TokenCodes};

use crate::{
    Store, chunk_id, codec,
    disk::migration,
    embedding, file_id,
    graph::coding,
    id::{hex, sha256},
    memory::sums,
};

/// Findings of one kind that are told one by one.
const EXAMPLES: usize = 5;
/// Equal pieces of text that one file may hold: beyond it an id is taken to be wrong.
const OCCURRENCES: u32 = 10_000;

/// What was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum StoreCheck {
    /// SQLite's own: every page, every index, every type.
    Pages,
    /// Every table, index and rule is that of this format, and there are no others.
    Schema,
    /// Every row has its owner.
    References,
    /// A text, a path and an id are what their hashes say.
    Hashes,
    /// A vector is finite, not zero, and as long as the others of its model.
    Embeddings,
    /// The change log tells of every unit that there is, and of nothing else.
    Log,
    /// A chunk has its vector, or a job that makes it.
    Jobs,
    /// What chunks say can be read, and the entities and relations of memory are what its units
    /// add up to.
    Graph,
    /// The counters are what a recount tells, and labels are those of their files.
    Counters,
}

impl fmt::Display for StoreCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "pages",
            Self::Schema => "schema",
            Self::References => "references",
            Self::Hashes => "hashes",
            Self::Embeddings => "embeddings",
            Self::Log => "change log",
            Self::Jobs => "jobs",
            Self::Graph => "graph",
            Self::Counters => "counters",
        })
    }
}

/// Something that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreFault {
    /// What was checked.
    pub check: StoreCheck,
    /// What is wrong, as a phrase in the plural.
    pub what: &'static str,
    /// How many there are.
    pub count: usize,
    /// The first of them.
    pub examples: Vec<String>,
}

impl Store {
    /// Checks everything that must hold. Takes time proportional to the store, and shows it
    /// as it was at the beginning however long a writer goes on.
    ///
    /// # Errors
    /// The file cannot be read at all; damage that is met on the way is a finding.
    pub fn verify(&self) -> Result<Vec<StoreFault>> {
        let found = self.read("check the store", |tx| {
            let mut faults = Faults::default();
            let checked = pages(tx, &mut faults).and_then(|()| rows(tx, &mut faults));
            Ok((faults, checked.err()))
        });
        let (mut faults, stopped) = match found {
            Ok(found) => found,
            Err(Error::Corrupt { reason, .. }) => {
                let mut faults = Faults::default();
                faults.add(StoreCheck::Pages, UNREADABLE, reason);
                return Ok(faults.list());
            }
            Err(error) => return Err(error),
        };
        if let Some(error) = stopped {
            faults.add(StoreCheck::Pages, UNREADABLE, error.to_string());
        }
        Ok(faults.list())
    }
}

const UNREADABLE: &str = "pages that cannot be read";

/// Faults as they are found, one entry a kind.
#[derive(Default)]
struct Faults(BTreeMap<(StoreCheck, &'static str), (usize, Vec<String>)>);

impl Faults {
    fn add(&mut self, check: StoreCheck, what: &'static str, example: impl Into<String>) {
        let (count, examples) = self.0.entry((check, what)).or_default();
        *count += 1;
        if examples.len() < EXAMPLES {
            examples.push(example.into());
        }
    }

    fn list(self) -> Vec<StoreFault> {
        let fault =
            |((check, what), (count, examples))| StoreFault { check, what, count, examples };
        self.0.into_iter().map(fault).collect()
    }
}

fn pages(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let mut check = tx.prepare("PRAGMA integrity_check")?;
    let mut lines = check.query([])?;
    while let Some(line) = lines.next()? {
        let line: String = line.get(0)?;
        if line != "ok" {
            faults.add(StoreCheck::Pages, "pages or indexes that contradict each other", line);
        }
    }
    Ok(())
}

/// What another program put there could act on every write.
fn schema(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let new = Connection::open_in_memory()?;
    migration::migrate(&new)?;
    let of = |connection: &Connection| -> rusqlite::Result<BTreeSet<(String, Option<String>)>> {
        connection
            .prepare("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_stat%'")?
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect()
    };
    let (expected, found) = (of(&new)?, of(tx)?);
    for (name, _) in expected.symmetric_difference(&found) {
        faults.add(StoreCheck::Schema, "tables or rules that are not those of this format", name);
    }
    Ok(())
}

fn rows(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    schema(tx, faults)?;
    let mut orphans = tx.prepare("PRAGMA foreign_key_check")?;
    let mut rows = orphans.query([])?;
    while let Some(row) = rows.next()? {
        let (table, id): (String, Option<i64>) = (row.get(0)?, row.get(1)?);
        let id = id.map_or_else(String::new, |id| format!(" {id}"));
        faults.add(
            StoreCheck::References,
            "rows that have lost their owner",
            format!("{table}{id}"),
        );
    }
    drop(rows);
    paths(tx, faults)?;
    texts(tx, faults)?;
    embeddings(tx, faults)?;
    for (check, what, sql) in COUNTED {
        let mut select = tx.prepare(sql)?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            faults.add(*check, what, named(row)?);
        }
    }
    jobs(tx, faults)?;
    said(tx, faults)?;
    graph(tx, faults)
}

/// What each chunk says, read.
fn said(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let mut select = tx.prepare(
        "SELECT s.unit_id, s.said, EXISTS (SELECT 1 FROM payload_chunk
             WHERE unit_id = s.unit_id AND ordinal >= 0)
         FROM unit_said s ORDER BY s.unit_id",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let unit: i64 = row.get(0)?;
        if !coding::is_sound(row.get_ref(1)?.as_blob()?) {
            faults.add(StoreCheck::Graph, "chunks whose mentions cannot be read", unit.to_string());
        }
        if !row.get::<_, bool>(2)? {
            faults.add(StoreCheck::Graph, "mentions of what is no chunk", unit.to_string());
        }
    }
    Ok(())
}

/// The sums of memory's graph, each made again.
fn graph(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let same = |stored: Option<&str>, summed: Option<&str>| {
        let read = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
        stored.map(read) == summed.map(read)
    };
    let mut edges = tx.prepare(
        "SELECT src_entity_id, relation_label, dst_entity_id, count, evidence_unit_id, weight,
                first_seen_at, last_seen_at, props_json FROM edges",
    )?;
    let mut rows = edges.query([])?;
    while let Some(row) = rows.next()? {
        let (source, label, target): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        // One that nothing says has the wrong count, which is told above.
        let Some(sum) = sums::edge(tx, source, &label, target)? else { continue };
        let props: Option<String> = row.get(8)?;
        let is_sum = row.get::<_, Option<i64>>(4)? == Some(sum.evidence)
            && row.get::<_, Option<f64>>(5)?.is_some_and(|weight| is_near(weight, sum.weight))
            && row.get::<_, Option<i64>>(6)? == Some(sum.first_seen_at)
            && row.get::<_, Option<i64>>(7)? == Some(sum.last_seen_at)
            && same(props.as_deref(), sum.props_json.as_deref());
        if !is_sum {
            let what = "relations that are not what the units add up to";
            faults.add(StoreCheck::Graph, what, format!("{source} {label} {target}"));
        }
    }
    let mut entities = tx.prepare(
        "SELECT id, name, type_label, roles_json, canonical_key,
                (SELECT json_group_array(alias) FROM
                    (SELECT alias FROM entity_aliases WHERE entity_id = e.id ORDER BY alias))
         FROM entities e",
    )?;
    let mut rows = entities.query([])?;
    while let Some(row) = rows.next()? {
        let Some(sum) = sums::entity(tx, row.get(0)?)? else { continue };
        let text = |column| row.get::<_, Option<String>>(column);
        let aliases = serde_json::json!(sum.aliases).to_string();
        let is_sum = text(1)?.as_ref() == Some(&sum.name)
            && text(2)?.as_ref() == Some(&sum.type_label)
            && same(text(3)?.as_deref(), Some(&sum.roles_json))
            && text(4)? == sum.canonical_key
            && same(text(5)?.as_deref(), Some(&aliases));
        if !is_sum {
            let what = "entities that are not what the units add up to";
            faults.add(StoreCheck::Graph, what, text(1)?.unwrap_or_default());
        }
    }
    Ok(())
}

/// Sums of the same numbers may differ in their last digits by their order.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0)
}

/// Each selects what should not be there, in one column.
const COUNTED: &[(StoreCheck, &str, &str)] = &[
    (
        StoreCheck::Log,
        "chunks that the change log does not tell of",
        "SELECT u.public_id FROM payload_chunk c JOIN units u ON u.id = c.unit_id
         WHERE c.ordinal >= 0 AND NOT EXISTS
             (SELECT 1 FROM change_log WHERE unit_id = c.unit_id AND kind = 0 AND removed = 0)",
    ),
    (
        StoreCheck::Log,
        "chunks whose mentions the change log does not tell of",
        "SELECT s.unit_id FROM unit_said s
         WHERE NOT EXISTS (SELECT 1 FROM change_log WHERE unit_id = s.unit_id AND kind = 2)",
    ),
    (
        StoreCheck::Log,
        "changes of units that are gone",
        // The log of a node that is given units up to a class only tells of all.
        "SELECT seq FROM change_log l WHERE removed = 0
             AND NOT EXISTS (SELECT 1 FROM units WHERE id = l.unit_id)
             AND NOT EXISTS (SELECT 1 FROM meta WHERE key = 'boundary')",
    ),
    (
        StoreCheck::Log,
        // A unit of memory that is archived, secret or scrubbed is there and in no index.
        "removals of units that are there",
        "SELECT seq FROM change_log l WHERE removed = 1
             AND EXISTS (SELECT 1 FROM units WHERE id = l.unit_id
                 AND (kind = 8 OR state < 3 AND boundary < 3 AND NOT EXISTS
                     (SELECT 1 FROM payload_episode WHERE unit_id = units.id
                         AND scrubbed_at IS NOT NULL)))",
    ),
    (
        StoreCheck::Log,
        "changes above the last number that was given",
        "SELECT seq FROM change_log
         WHERE seq > ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'change_log'), 0)",
    ),
    (
        StoreCheck::Graph,
        "relations whose count is not the sum of what the units say",
        "SELECT e.src_entity_id || ' ' || e.relation_label || ' ' || e.dst_entity_id FROM edges e
         LEFT JOIN (SELECT src_entity_id s, relation_label l, dst_entity_id d, sum(count) n
                    FROM unit_edges GROUP BY s, l, d) u
             ON u.s = e.src_entity_id AND u.l = e.relation_label AND u.d = e.dst_entity_id
         WHERE u.n IS NOT e.count",
    ),
    (
        StoreCheck::Graph,
        "relations that units state and nobody has summed up",
        "SELECT DISTINCT u.src_entity_id || ' ' || u.relation_label || ' ' || u.dst_entity_id
         FROM unit_edges u WHERE NOT EXISTS (SELECT 1 FROM edges e
             WHERE e.src_entity_id = u.src_entity_id AND e.relation_label = u.relation_label
                 AND e.dst_entity_id = u.dst_entity_id)",
    ),
    (
        StoreCheck::Graph,
        "entities that nothing names",
        "SELECT name FROM entities e
         WHERE NOT EXISTS (SELECT 1 FROM unit_entities WHERE entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM edges WHERE src_entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM edges WHERE dst_entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE subject_entity_id = e.id)
             AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE object_entity_id = e.id)",
    ),
    (
        StoreCheck::Graph,
        "chunks in the tables of memory's graph",
        "SELECT DISTINCT unit_id FROM unit_entities
         WHERE unit_id IN (SELECT unit_id FROM payload_chunk)",
    ),
    (
        StoreCheck::Graph,
        "tallies that are not what the units add up to",
        "SELECT DISTINCT text FROM (
             SELECT * FROM (SELECT * FROM entity_tallies EXCEPT
                 SELECT entity_id, what, text, sum(weight), count(*) FROM tallied GROUP BY 1, 2, 3)
             UNION ALL
             SELECT * FROM (SELECT entity_id, what, text, sum(weight), count(*) FROM tallied
                 GROUP BY 1, 2, 3 EXCEPT SELECT * FROM entity_tallies))",
    ),
    (
        StoreCheck::Counters,
        "counters that are not what a recount tells",
        "SELECT DISTINCT what || ' ' || part FROM (
             SELECT * FROM (SELECT * FROM counters WHERE count <> 0 EXCEPT SELECT * FROM recounted)
             UNION ALL
             SELECT * FROM (SELECT * FROM recounted EXCEPT SELECT * FROM counters))",
    ),
    (
        StoreCheck::Counters,
        "files whose labels are not found by them",
        "SELECT path FROM files f WHERE json_valid(tags) AND (
             SELECT json_group_array(tag) FROM
                 (SELECT tag FROM file_tags WHERE file_id = f.id ORDER BY tag)
         ) IS NOT (
             SELECT json_group_array(value) FROM (SELECT DISTINCT value FROM json_each(f.tags)
                 WHERE type = 'text' ORDER BY value))",
    ),
];

fn named(row: &Row<'_>) -> rusqlite::Result<String> {
    let value = row.get_ref(0)?;
    let text = || String::from_utf8_lossy(value.as_bytes().unwrap_or_default()).into_owned();
    Ok(value.as_i64().map_or_else(|_| text(), |number| number.to_string()))
}

fn paths(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let mut select = tx.prepare("SELECT public_id, path FROM files")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (id, path): (String, String) = (row.get(0)?, row.get(1)?);
        if file_id(&path).is_ok_and(|expected| expected.as_str() != id) {
            faults.add(StoreCheck::Hashes, "files whose path is not what their id says", path);
        }
    }
    Ok(())
}

fn texts(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let mut select = tx.prepare(
        "SELECT u.public_id, f.public_id, c.ordinal, c.heading_path, c.text, c.hash
         FROM payload_chunk c JOIN units u ON u.id = c.unit_id JOIN files f ON f.id = c.file_id",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        if !is_what_it_says(row, 0)? {
            faults.add(StoreCheck::Hashes, "chunks whose text is not what their hash says", id);
        }
    }
    Ok(())
}

/// True if a chunk's text has its hash, and its id is that of file, headings and text: from
/// the column `at` on are both ids with the chunk's first, ordinal, headings, text and hash.
pub(crate) fn is_what_it_says(row: &Row<'_>, at: usize) -> rusqlite::Result<bool> {
    let (id, file): (String, String) = (row.get(at)?, row.get(at + 1)?);
    let level = if row.get::<_, i64>(at + 2)? < 0 { ChunkLevel::Parent } else { ChunkLevel::Leaf };
    let headings = codec::texts(row, at + 3)?;
    let (text, hash): (String, String) = (row.get(at + 4)?, row.get(at + 5)?);
    if hex(&sha256(text.as_bytes())) != hash {
        return Ok(false);
    }
    let Ok(file) = FileId::new(file) else { return Ok(false) };
    let is = |occurrence| {
        chunk_id(&file, level, &headings, &text, occurrence).is_ok_and(|one| one.as_str() == id)
    };
    Ok((0..OCCURRENCES).any(is))
}

fn embeddings(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let mut lengths: BTreeMap<String, usize> = BTreeMap::new();
    let mut select =
        tx.prepare("SELECT fingerprint, text_hash, vector, tokens FROM embedding_cache")?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let (space, hash): (String, String) = (row.get(0)?, row.get(1)?);
        let bytes = row.get_ref(2)?.as_blob()?;
        if !is_usable(bytes) {
            faults.add(StoreCheck::Embeddings, "vectors that are not finite, or zero", hash);
        } else if *lengths.entry(space).or_insert(bytes.len()) != bytes.len() {
            faults.add(StoreCheck::Embeddings, "vectors of another length than others", hash);
        } else if !are_tokens_of(bytes, row.get_ref(3)?.as_blob_or_null()?) {
            faults.add(StoreCheck::Embeddings, "token vectors that are not whole", hash);
        }
    }
    Ok(())
}

/// True if the bytes are a vector that can be searched.
pub(crate) fn is_usable(bytes: &[u8]) -> bool {
    let (numbers, rest) = bytes.as_chunks::<4>();
    let mut numbers = numbers.iter().map(|&number| f32::from_le_bytes(number));
    rest.is_empty() && numbers.clone().all(f32::is_finite) && numbers.any(|number| number != 0.0)
}

/// True if the bytes are codes of tokens whose vectors are as long as `vector`; nothing is.
pub(crate) fn are_tokens_of(vector: &[u8], tokens: Option<&[u8]>) -> bool {
    let dimensions = vector.len() / size_of::<f32>();
    tokens.is_none_or(|bytes| TokenCodes::from_bytes(bytes.to_vec(), dimensions).is_some())
}

fn jobs(tx: &Connection, faults: &mut Faults) -> rusqlite::Result<()> {
    let space = embedding::space(tx)?;
    let mut cached = tx.prepare(
        "SELECT EXISTS (SELECT 1 FROM embedding_cache WHERE text_hash = ?1 AND fingerprint = ?2),
                EXISTS (SELECT 1 FROM change_log WHERE unit_id = ?3 AND kind = 1)",
    )?;
    let mut job = tx.prepare(
        "SELECT 1 FROM jobs WHERE kind = 'embed' AND payload_json = ?1 AND status IN (0, 1, 3)",
    )?;
    let mut leaves =
        tx.prepare("SELECT unit_id, embedding_hash FROM payload_chunk WHERE ordinal >= 0")?;
    let mut leaves = leaves.query([])?;
    while let Some(leaf) = leaves.next()? {
        let (row, hash): (i64, String) = (leaf.get(0)?, leaf.get(1)?);
        let (cached, logged): (bool, bool) = cached
            .query_row(params![hash, space, row], |found| Ok((found.get(0)?, found.get(1)?)))?;
        let done = cached && logged;
        if !done && !job.exists([embedding::payload_of(row, &hash)])? {
            let what = "chunks without a vector that no job makes one for";
            faults.add(StoreCheck::Jobs, what, row.to_string());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{Fixture, extraction, file, parent};

    fn filled() -> Fixture {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        let mut doc = file("a", &["one", "two", "one"]);
        doc.chunks[0].extraction = extraction(&["Ada", "Babbage"]);
        doc.chunks.push(parent(0, "all", 0, 300));
        doc.tags = vec!["red".to_owned(), "blue".to_owned()];
        fixture.put(&doc);
        fixture.put(&file("b", &["three"]));
        fixture.store.claim_embed_jobs(1, 60).unwrap();
        fixture
    }

    #[test]
    fn a_store_in_any_stage_of_work_is_sound() {
        let fixture = filled();
        assert_eq!(fixture.store.verify().unwrap(), []);
        fixture.embed_all();
        assert_eq!(fixture.store.verify().unwrap(), []);
        fixture.store.remove_file("a").unwrap();
        assert_eq!(fixture.store.verify().unwrap(), []);
    }

    #[test]
    fn each_contradiction_is_found_by_its_check() {
        use StoreCheck::{Counters, Embeddings, Graph, Hashes, Jobs, Log, References, Schema};
        for (sql, check, count) in [
            ("DROP INDEX units_state", Schema, 1),
            ("CREATE TRIGGER t AFTER INSERT ON units BEGIN DELETE FROM files; END", Schema, 1),
            ("UPDATE payload_chunk SET text = 'eins' WHERE text = 'one'", Hashes, 2),
            ("UPDATE payload_chunk SET heading_path = '[\"x\"]' WHERE text = 'two'", Hashes, 1),
            ("UPDATE files SET path = 'c' WHERE path = 'b'", Hashes, 1),
            ("UPDATE embedding_cache SET vector = x'0000c07f'", Embeddings, 3),
            ("UPDATE embedding_cache SET vector = x'0000803f' WHERE rowid = 2", Embeddings, 1),
            ("UPDATE embedding_cache SET tokens = x'00' WHERE rowid = 2", Embeddings, 1),
            ("DELETE FROM change_log WHERE kind = 0 AND unit_id = 2", Log, 1),
            ("DELETE FROM change_log WHERE kind = 2", Log, 1),
            ("INSERT INTO change_log (unit_id, kind) VALUES (99, 0)", Log, 1),
            ("INSERT OR REPLACE INTO change_log (unit_id, kind, removed) VALUES (2, 0, 1)", Log, 1),
            ("UPDATE unit_said SET said = x'01ff'", Graph, 1),
            ("UPDATE unit_said SET said = x'01000000'", Graph, 1),
            ("INSERT INTO unit_said VALUES (4, x'010000')", Graph, 1),
            (
                "INSERT INTO entities (public_id, name, created_at, updated_at) VALUES ('e', 'E', 1, 1);
                 INSERT INTO unit_entities VALUES (1, 1, 1, 0.5, 'E', 'NAME', 5, '[]', '[]', NULL)",
                Graph,
                1,
            ),
            ("UPDATE counters SET count = count + 1 WHERE what = 'chunk'", Counters, 1),
            ("DELETE FROM counters WHERE what = 'file'", Counters, 1),
            ("INSERT INTO counters VALUES ('job', 'none', 0, 0, 1)", Counters, 1),
            ("DELETE FROM file_tags WHERE tag = 'red'", Counters, 1),
            ("INSERT INTO file_tags VALUES ('green', 1)", Counters, 1),
            ("DELETE FROM embedding_cache WHERE rowid = 1", Jobs, 1),
            ("PRAGMA foreign_keys = OFF; DELETE FROM units WHERE id = 3", References, 1),
        ] {
            let fixture = filled();
            fixture.embed_all();
            let path = fixture.path();
            Connection::open(&path).unwrap().execute_batch(sql).unwrap();
            let faults = fixture.store.verify().unwrap();
            let found = faults.iter().find(|fault| fault.check == check);
            assert!(found.is_some_and(|fault| fault.count >= count), "{sql}: {faults:?}");
        }
    }

    #[test]
    fn a_damaged_page_is_found() {
        let fixture = filled();
        let path = fixture.path();
        drop(fixture.store);
        let mut bytes = std::fs::read(&path).unwrap();
        let text = bytes.windows(5).position(|window| window == b"three").unwrap();
        bytes[text..text + 5].copy_from_slice(b"throw");
        let page = text / 4096 * 4096;
        std::fs::write(&path, &bytes).unwrap();
        let open = || {
            crate::Store::open_file(
                &path,
                crate::Access::ReadOnly,
                std::sync::Arc::new(crate::SystemClock),
            )
        };
        let faults = open().unwrap().verify().unwrap();
        assert!(faults.iter().any(|fault| fault.check == StoreCheck::Pages), "{faults:?}");
        bytes[page..page + 64].fill(0xff);
        std::fs::write(&path, &bytes).unwrap();
        let faults = open().unwrap().verify().unwrap();
        assert!(faults.iter().any(|fault| fault.check == StoreCheck::Pages), "{faults:?}");
    }
}
