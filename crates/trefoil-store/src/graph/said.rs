//! What chunks say of entities: one row a chunk that says anything.

use rusqlite::{CachedStatement, Connection, OptionalExtension, Row, params};
use trefoil_core::{Change, Extraction, Result, RowId};

use super::coding::{EntityMention, bytes_of, decode, decode_mention};
use crate::{Store, WriteTx, change::log, fault::unreadable};

impl Store {
    /// What the chunks of `rows` mention, in their order; unknown rows are left out.
    pub fn extractions(&self, rows: &[RowId]) -> Result<Vec<(RowId, Extraction)>> {
        self.read("read mentions", |tx| {
            let mut reader = Reader::new(tx)?;
            let found = rows.iter().map(|&row| Ok(reader.extraction(row)?.map(|said| (row, said))));
            found.filter_map(rusqlite::Result::transpose).collect()
        })
    }

    /// How the chunks of `rows` mention the entity with a normalised name, in their order; those
    /// that do not are left out.
    pub fn mentions_of(
        &self,
        rows: &[RowId],
        normalized_name: &str,
    ) -> Result<Vec<(RowId, EntityMention)>> {
        self.read("read mentions of an entity", |tx| {
            let mut reader = Reader::new(tx)?;
            let found = rows.iter().map(|&row| {
                Ok(reader.mention(row, normalized_name)?.map(|mention| (row, mention)))
            });
            found.filter_map(rusqlite::Result::transpose).collect()
        })
    }

    /// Replaces what chunks mention, as another extractor finds it; unknown rows are left
    /// out. Tells how many differ from what was stored; those are logged.
    ///
    /// # Errors
    /// A full disk; then nothing was stored.
    pub fn put_extractions(&self, extractions: &[(RowId, Extraction)]) -> Result<usize> {
        self.write("store mentions", |tx, _| {
            let mut exists = tx.prepare_cached("SELECT 1 FROM payload_chunk WHERE unit_id = ?1")?;
            let mut changed = 0;
            for (row, extraction) in extractions {
                if exists.exists([row.get().cast_signed()])? {
                    changed += usize::from(put(tx, *row, extraction)?);
                }
            }
            Ok(changed)
        })
    }
}

/// Stores what a chunk says in place of what it said; true if that is something else, which is
/// logged.
pub(crate) fn put(tx: &WriteTx<'_>, row: RowId, extraction: &Extraction) -> rusqlite::Result<bool> {
    let unit = row.get().cast_signed();
    let said = bytes_of(extraction);
    let before: Option<Vec<u8>> = tx
        .prepare_cached("SELECT said FROM unit_said WHERE unit_id = ?1")?
        .query_row([unit], |columns| columns.get(0))
        .optional()?;
    if before == said {
        return Ok(false);
    }
    match said {
        Some(said) => insert(tx, unit, &said)?,
        None => {
            tx.prepare_cached("DELETE FROM unit_said WHERE unit_id = ?1")?.execute([unit])?;
        }
    }
    log(tx, Change::Extraction(row))?;
    Ok(true)
}

/// The same of a chunk that has just been stored.
pub(crate) fn put_first(
    tx: &WriteTx<'_>,
    row: RowId,
    extraction: &Extraction,
) -> rusqlite::Result<()> {
    let Some(said) = bytes_of(extraction) else { return Ok(()) };
    insert(tx, row.get().cast_signed(), &said)?;
    log(tx, Change::Extraction(row))
}

fn insert(tx: &WriteTx<'_>, unit: i64, said: &[u8]) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT INTO unit_said (unit_id, said) VALUES (?1, ?2)
         ON CONFLICT (unit_id) DO UPDATE SET said = excluded.said",
    )?
    .execute(params![unit, said])?;
    Ok(())
}

/// Reads what chunks say.
pub(crate) struct Reader<'c> {
    select: CachedStatement<'c>,
}

impl<'c> Reader<'c> {
    pub(crate) fn new(tx: &'c Connection) -> rusqlite::Result<Self> {
        let select = tx.prepare_cached(
            "SELECT s.said FROM payload_chunk c LEFT JOIN unit_said s ON s.unit_id = c.unit_id
             WHERE c.unit_id = ?1",
        )?;
        Ok(Self { select })
    }

    /// What a chunk says; none if there is no such chunk.
    pub(crate) fn extraction(&mut self, row: RowId) -> rusqlite::Result<Option<Extraction>> {
        let unit = row.get().cast_signed();
        self.select.query_row([unit], |columns| extraction(columns, 0)).optional()
    }

    /// How a chunk mentions the entity with a normalised name, if it does.
    fn mention(&mut self, row: RowId, name: &str) -> rusqlite::Result<Option<EntityMention>> {
        let unit = row.get().cast_signed();
        let found = self.select.query_row([unit], |columns| {
            let said = columns.get_ref(0)?.as_blob_or_null()?;
            let mention = said.map(|said| decode_mention(said, name)).transpose();
            mention.map(Option::flatten).map_err(|reason| unreadable(0, reason))
        });
        Ok(found.optional()?.flatten())
    }
}

/// Reads a column that holds what a chunk says, or NULL.
pub(crate) fn extraction(row: &Row<'_>, column: usize) -> rusqlite::Result<Extraction> {
    match row.get_ref(column)?.as_blob_or_null()? {
        Some(said) => decode(said).map_err(|reason| unreadable(column, reason)),
        None => Ok(Extraction::default()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use trefoil_core::{MentionKind, Score, Seq};

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
        let ada = doc.chunks[0].extraction.mentions()[0].clone();
        let found = fixture.store.mentions_of(&asked, &ada.normalized_name).unwrap();
        let expected = EntityMention { mention: ada, definitions: Vec::new() };
        assert_eq!(found, [(rows[0], expected)]);
        assert_eq!(fixture.store.mentions_of(&asked, "eve").unwrap(), []);
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

    #[test]
    fn damage_is_told_and_harms_no_other_chunk() {
        let fixture = Fixture::new();
        let mut doc = file("a", &["one", "two"]);
        doc.chunks[0].extraction = extraction(&["Ada"]);
        doc.chunks[1].extraction = extraction(&["Byron"]);
        let rows = fixture.put(&doc);
        fixture
            .store
            .write("damage", |tx, _| {
                tx.execute(
                    "UPDATE unit_said SET said = x'01ff' WHERE unit_id = ?1",
                    [rows[0].get().cast_signed()],
                )
            })
            .unwrap();
        let error = fixture.store.extractions(&rows).unwrap_err();
        let of_one = fixture.store.mentions_of(&rows, "ada").unwrap_err();
        for error in [error, of_one] {
            assert!(matches!(error, trefoil_core::Error::Corrupt { .. }), "{error}");
        }
        let other = fixture.store.extractions(&rows[1..]).unwrap();
        assert_eq!(other, [(rows[1], extraction(&["Byron"]))]);
        // Another extraction takes its place.
        fixture.store.put_extractions(&[(rows[0], extraction(&["Ada"]))]).unwrap();
        assert_eq!(fixture.store.extractions(&rows).unwrap().len(), 2);
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

    /// The graph without its rows, which differ from store to store.
    fn without_rows(mut graph: GraphRows) -> GraphRows {
        for relation in &mut graph.relations {
            relation.evidence.iter_mut().for_each(|(row, _)| *row = RowId::new(0));
            relation.evidence.sort_by_key(|(_, spans)| spans.first().map(|span| span.start));
        }
        graph
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
            let found = without_rows(fixture.store.graph().unwrap());
            prop_assert_eq!(found, without_rows(built_new(&files)));
            prop_assert_eq!(fixture.store.verify().unwrap(), []);
        }
    }
}
