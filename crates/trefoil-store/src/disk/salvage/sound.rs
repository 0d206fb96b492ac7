//! Which saved rows are trusted.

use std::collections::BTreeSet;

use rusqlite::{Connection, Row};
use trefoil_core::RowId;

use crate::{
    WriteTx,
    chunk::Reader,
    file::by_path,
    file_id,
    graph::{coding, community::communities},
    memory::{self, mention_rows, mentions::GraphWriter},
    verify::{are_tokens_of, is_usable, is_what_it_says},
};

/// The rest of a file of which only the path is trusted, and that is read again.
pub(super) const UNREAD: [(&str, &str); 7] = [
    ("size", "0"),
    ("mtime", "-9223372036854775808"),
    ("sha256", "''"),
    ("title", "''"),
    ("tags", "'[]'"),
    ("dates", "'[]'"),
    ("metadata", "'{}'"),
];

/// Leaves out the rows that are not what their hash says, or that cannot be read. Of a file
/// whose path is what its hash says, the path stays, and the file is to be read again.
pub(super) fn drop_unsound(new: &WriteTx<'_>) -> rusqlite::Result<()> {
    let has_its_hash = |row: &Row<'_>| {
        let (id, path): (String, String) = (row.get(1)?, row.get(2)?);
        Ok(file_id(&path).is_ok_and(|expected| expected.as_str() == id))
    };
    drop_unless(new, "files", "id", "SELECT id, public_id, path FROM files", has_its_hash)?;
    let is_read = |row: &Row<'_>| {
        let (file, path): (_, String) = (row.get(0)?, row.get(1)?);
        Ok(Reader::new(new)?.file(file).is_ok() && by_path(new, &path).is_ok())
    };
    let values: Vec<String> =
        UNREAD.iter().map(|(column, value)| format!("{column} = {value}")).collect();
    for file in unsound(new, "SELECT id, path FROM files", is_read)? {
        new.execute(&format!("UPDATE files SET {} WHERE id = ?1", values.join(", ")), [file])?;
    }
    let chunks =
        "SELECT c.unit_id, u.public_id, f.public_id, c.ordinal, c.heading_path, c.text, c.hash
        FROM payload_chunk c JOIN units u ON u.id = c.unit_id JOIN files f ON f.id = c.file_id";
    drop_unless(new, "payload_chunk", "unit_id", chunks, |row| {
        // Its hash covers neither its language nor its place in the file.
        Ok(Reader::new(new)?.chunk(RowId::new(row.get(0)?)).is_ok() && is_what_it_says(row, 1)?)
    })?;
    let said = "SELECT s.unit_id, s.said, c.unit_id IS NOT NULL FROM unit_said s
        LEFT JOIN payload_chunk c ON c.unit_id = s.unit_id AND c.ordinal >= 0";
    drop_unless(new, "unit_said", "unit_id", said, |row| {
        Ok(row.get(2)? && coding::is_sound(row.get_ref(1)?.as_blob()?))
    })?;
    drop_unless(new, "units", "id", "SELECT id FROM units WHERE kind <> 8", |row| {
        Ok(memory::is_readable(new, RowId::new(row.get(0)?)))
    })?;
    let vectors = "SELECT rowid, vector, tokens FROM embedding_cache";
    drop_unless(new, "embedding_cache", "rowid", vectors, |row| {
        let vector = row.get_ref(1)?.as_blob()?;
        Ok(is_usable(vector) && are_tokens_of(vector, row.get_ref(2)?.as_blob_or_null()?))
    })?;
    new.execute_batch(
        "DELETE FROM unit_versions WHERE version NOT BETWEEN 1 AND 4294967295
             OR parent_version NOT BETWEEN 1 AND 4294967295;
         DELETE FROM active_contexts WHERE \"window\" NOT BETWEEN 0 AND 4294967295;
         DELETE FROM active_context_items WHERE rank NOT BETWEEN 0 AND 4294967295;",
    )
}

/// Sums up what the units of memory say of entities. False if what is saved cannot be read, or says
/// something of units that are gone.
pub(super) fn sum_graph(new: &WriteTx<'_>) -> rusqlite::Result<bool> {
    let sum = || {
        let last = "SELECT ifnull(max(updated_at), 0) FROM entities";
        GraphWriter::sum_all(new, new.query_row(last, [], |row| row.get(0))?)?;
        let mut reader = mention_rows::Reader::new(new)?;
        for unit in ids(new, "SELECT DISTINCT unit_id FROM unit_entities")? {
            reader.extraction(RowId::new(unit.cast_unsigned()))?;
        }
        communities(new)
    };
    Ok(!has_orphans_in_graph(new)? && sum().is_ok())
}

/// Deletes the rows that `select` gives and that are not sound; its first column is `key`.
fn drop_unless(
    new: &WriteTx<'_>,
    table: &str,
    key: &str,
    select: &str,
    is_sound: impl Fn(&Row<'_>) -> rusqlite::Result<bool>,
) -> rusqlite::Result<()> {
    for row in unsound(new, select, is_sound)? {
        new.execute(&format!("DELETE FROM {table} WHERE {key} = ?1"), [row])?;
    }
    Ok(())
}

/// The first column of the rows that are not sound, or cannot be read.
fn unsound(
    new: &Connection,
    select: &str,
    is_sound: impl Fn(&Row<'_>) -> rusqlite::Result<bool>,
) -> rusqlite::Result<Vec<i64>> {
    let mut select = new.prepare(select)?;
    let mut rows = select.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        if !is_sound(row).unwrap_or(false) {
            found.push(row.get(0)?);
        }
    }
    Ok(found)
}

/// Drops rows whose owner is gone, and units of which nothing else is left.
pub(super) fn drop_orphans(new: &WriteTx<'_>) -> rusqlite::Result<()> {
    let references: Vec<(String, String, String, String, String)> = new
        .prepare(
            "SELECT t.name, f.\"from\", f.\"table\", ifnull(f.\"to\", 'id'), f.on_delete
             FROM pragma_table_list t, pragma_foreign_key_list(t.name) f
             WHERE t.schema = 'main' ORDER BY t.name, f.id",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let bodies: Vec<String> = new
        .prepare(
            "SELECT name FROM pragma_table_list WHERE schema = 'main' AND name LIKE 'payload_%'",
        )?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    loop {
        let mut changed = 0;
        for (table, column, owner, of, rule) in &references {
            let lost =
                format!("{column} IS NOT NULL AND {column} NOT IN (SELECT {of} FROM {owner})");
            changed += new.execute(
                &if rule == "SET NULL" {
                    format!("UPDATE {table} SET {column} = NULL WHERE {lost}")
                } else {
                    format!("DELETE FROM {table} WHERE {lost}")
                },
                [],
            )?;
        }
        let body = |table: &String| format!("SELECT unit_id FROM {table}");
        let bodies: Vec<String> = bodies.iter().map(body).collect();
        changed += new.execute(
            &format!("DELETE FROM units WHERE id NOT IN ({})", bodies.join(" UNION ALL ")),
            [],
        )?;
        if changed == 0 {
            return Ok(());
        }
    }
}

/// True if the graph says something of units that are gone, or sums up other than it says.
fn has_orphans_in_graph(new: &WriteTx<'_>) -> rusqlite::Result<bool> {
    new.query_row(
        "SELECT EXISTS (SELECT 1 FROM unit_edges
             WHERE src_entity_id NOT IN (SELECT id FROM entities)
                OR dst_entity_id NOT IN (SELECT id FROM entities))
         OR EXISTS (SELECT 1 FROM edges e
             LEFT JOIN (SELECT src_entity_id s, relation_label l, dst_entity_id d, sum(count) n
                        FROM unit_edges GROUP BY s, l, d) u
                 ON u.s = e.src_entity_id AND u.l = e.relation_label AND u.d = e.dst_entity_id
             WHERE u.n IS NOT e.count)
         OR EXISTS (SELECT 1 FROM unit_edges u WHERE NOT EXISTS (SELECT 1 FROM edges e
             WHERE e.src_entity_id = u.src_entity_id AND e.relation_label = u.relation_label
                 AND e.dst_entity_id = u.dst_entity_id))
         OR EXISTS (SELECT 1 FROM entities e
             WHERE NOT EXISTS (SELECT 1 FROM unit_entities WHERE entity_id = e.id)
                 AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE subject_entity_id = e.id)
                 AND NOT EXISTS (SELECT 1 FROM payload_fact WHERE object_entity_id = e.id))",
        [],
        |row| row.get(0),
    )
}

/// The numbers that `select` gives.
pub(super) fn ids(connection: &Connection, select: &str) -> rusqlite::Result<BTreeSet<i64>> {
    connection.prepare(select)?.query_map([], |row| row.get(0))?.collect()
}
