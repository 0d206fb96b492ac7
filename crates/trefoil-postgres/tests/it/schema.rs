use std::{thread, time::Duration};

use trefoil_core::Error;
use trefoil_postgres::{PostgresConfig, PostgresTruth};
use trefoil_store::truth::{Cluster, ColumnKind, Truth, format};

use crate::{collected::TABLES, database::Database};

#[test]
fn an_index_is_made_once_whoever_asks_how_often() {
    let Some(database) = Database::new() else { return };
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| trefoil_postgres::init(&database.config(), 4).unwrap());
        }
    });
    trefoil_postgres::init(&database.config(), 4).unwrap();
    let parts = database.sql("SELECT part, parts, format FROM trefoil.shard ORDER BY part");
    let expected = (0..4).map(|part| vec![part.to_string(), "4".into(), format().to_string()]);
    assert_eq!(parts, expected.collect::<Vec<_>>());
    for parts in [0, 3, 2, 8, 2048] {
        let error = trefoil_postgres::init(&database.config(), parts).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { field: "parts", .. }), "{parts}: {error}");
    }
    let other: PostgresConfig = format!("{}?index=other", database.url()).parse().unwrap();
    trefoil_postgres::init(&other, 1).unwrap();
    assert_eq!(database.value("SELECT count(*) FROM trefoil.shard"), "5");
}

#[test]
fn each_table_of_the_format_has_its_columns_key_and_index() {
    let Some(database) = Database::with_tables() else { return };
    for table in TABLES.iter() {
        let columns = database.sql(&format!(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute
             WHERE attrelid = 'trefoil.\"{}\"'::regclass AND attnum > 0 ORDER BY attnum",
            table.name
        ));
        let mut expected = vec![["shard", "integer"], ["tx", "bigint"]];
        for column in &table.columns {
            let kind = match column.kind {
                ColumnKind::Integer => "bigint",
                ColumnKind::Real => "double precision",
                ColumnKind::Text => "text",
                ColumnKind::Blob if column.name == "vector" => "real[]",
                ColumnKind::Blob => "bytea",
            };
            expected.push([&column.name, kind]);
        }
        assert_eq!(columns, expected, "{}", table.name);
        let key = database.value(&format!(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint
             WHERE conrelid = 'trefoil.\"{}\"'::regclass AND contype = 'p'",
            table.name
        ));
        let names: Vec<&str> = table.key_columns().map(|column| column.name.as_str()).collect();
        assert_eq!(key, format!("PRIMARY KEY (shard, {})", names.join(", ")));
        let index = format!("SELECT to_regclass('trefoil.\"{}_tx\"') IS NOT NULL", table.name);
        assert_eq!(database.value(&index), "t");
    }
}

#[test]
fn a_column_of_a_later_format_is_added_to_rows_that_are_there() {
    let Some(database) = Database::with_tables() else { return };
    database.sql(
        "INSERT INTO trefoil.units (shard, tx, id, state) VALUES (1, 1, 5, 2);
         ALTER TABLE trefoil.units DROP COLUMN salience;
         DROP TABLE trefoil.files;
         UPDATE trefoil.version SET format = format - 1;",
    );
    trefoil_postgres::init(&database.config(), 1).unwrap();
    let there = database.sql("SELECT id, state, salience FROM trefoil.units");
    assert_eq!(there, [["5", "2", "NULL"]]);
    assert_eq!(database.value("SELECT count(*) FROM trefoil.files"), "0");
    assert_eq!(database.value("SELECT format FROM trefoil.version"), format().to_string());
}

#[test]
fn what_a_newer_version_made_is_refused_untouched() {
    let Some(database) = Database::with_tables() else { return };
    database.sql("UPDATE trefoil.version SET format = 99");
    let error = trefoil_postgres::init(&database.config(), 1).unwrap_err();
    assert!(matches!(error, Error::UnsupportedFormat { found: 99, .. }), "{error}");
    database.sql("UPDATE trefoil.shard SET format = 99");
    let truth = database.truth("a");
    let from = truth.shard().unwrap();
    assert_eq!(from.format, 99);
    let refused = [
        truth.head().map(drop),
        truth.lead(from.head, Duration::ZERO).map(drop),
        truth.append(from.head, &crate::collected::setting("a", "b")).map(drop),
        truth.pull(from.head, &mut crate::collected::Collected::default()).map(drop),
    ];
    for answer in refused {
        let error = answer.unwrap_err();
        assert!(matches!(error, Error::UnsupportedFormat { found: 99, .. }), "{error}");
    }
    assert_eq!(truth.shard().unwrap(), from);
}

#[test]
fn tables_of_an_older_version_are_told_and_brought_up_to_date() {
    let Some(database) = Database::with_tables() else { return };
    // What the second script does is undone.
    database.sql("ALTER TABLE trefoil.embed DROP language, DROP tokens, DROP error CASCADE");
    database.sql("DROP INDEX IF EXISTS trefoil.embed_made, trefoil.embed_tried");
    for policy in ["sees_own", "adds_embedder", "changes_embedder"] {
        database.sql(&format!("DROP POLICY {policy} ON trefoil.node"));
    }
    database.sql("UPDATE trefoil.version SET scripts = 1");
    let truth = database.truth("a");
    let error = truth.outcomes("model", 1).unwrap_err().chain();
    assert!(error.contains("run `trefoil cluster init` again"), "{error}");
    trefoil_postgres::init(&database.config(), 1).unwrap();
    assert_eq!(truth.outcomes("model", 1).unwrap(), []);
}

#[test]
fn an_index_that_is_not_there_is_named() {
    let Some(database) = Database::new() else { return };
    let missing = |truth: &PostgresTruth| {
        let error = truth.head().unwrap_err();
        assert!(matches!(error, Error::ShardMissing { .. }), "{}", error.chain());
        error.to_string()
    };
    let truth = database.truth("a");
    assert!(missing(&truth).contains("notes/0"));
    let login = trefoil_store::truth::NodeRole::Writer;
    let error = trefoil_postgres::grant(&database.config(), "postgres", login).unwrap_err();
    assert!(matches!(error, Error::ShardMissing { .. }), "{}", error.chain());
    trefoil_postgres::init(&database.config(), 1).unwrap();
    // The same connection sees it as soon as it is there.
    truth.head().unwrap();
    let other = format!("{}?index=notes&part=1", database.url()).parse().unwrap();
    assert!(missing(&PostgresTruth::new(other).unwrap()).contains("notes/1"));
}
