//! The tables in PostgreSQL: those that every format has, by numbered scripts, and one for each
//! table of the store's format, made from its description.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use trefoil_core::{BoundaryClass, Error, Result};
use trefoil_store::truth::{self, Column, ColumnKind, NodeRole, Table};

use crate::{
    PostgresConfig,
    connection::{Session, Slot, Source},
    fault::Fault,
    policy::{self, given_view},
};

/// One script a version; each runs once in a database.
const SCRIPTS: [&str; 4] = [
    include_str!("../migrations/001.sql"),
    include_str!("../migrations/002.sql"),
    include_str!("../migrations/003.sql"),
    include_str!("../migrations/004.sql"),
];

/// The number of the lock under which tables are made: "TREF" in ASCII.
const LOCK: i64 = 0x5452_4546;

/// How long making a table, or waiting for another who does, may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// How a column stands in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlType {
    Bigint,
    Double,
    Text,
    Bytes,
    /// Bytes that are f32 one after the other.
    Reals,
}

impl SqlType {
    pub(crate) fn of(table: &Table, column: &Column) -> Self {
        match column.kind {
            ColumnKind::Integer => Self::Bigint,
            ColumnKind::Real => Self::Double,
            ColumnKind::Text => Self::Text,
            // Numbers, so that SQL can work with them.
            ColumnKind::Blob if (table.name.as_str(), column.name.as_str()) == VECTOR => {
                Self::Reals
            }
            ColumnKind::Blob => Self::Bytes,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Bigint => "bigint",
            Self::Double => "double precision",
            Self::Text => "text",
            Self::Bytes => "bytea",
            Self::Reals => "real[]",
        }
    }
}

/// The column that holds embeddings.
const VECTOR: (&str, &str) = ("embedding_cache", "vector");

/// What makes the table, and adds columns that it does not have yet. Only the key is declared to have values: a column that comes with a later format has
/// none in rows of before, until they are written again.
fn table_script(table: &Table) -> String {
    let name = &table.name;
    let key: Vec<String> =
        table.key_columns().map(|column| format!("\"{}\"", column.name)).collect();
    let changes = table.columns.iter().map(|column| {
        let kind = SqlType::of(table, column);
        // Keys are compared as bytes, as SQLite does; bytes that are dense stay as they are.
        let order = if kind == SqlType::Text { " COLLATE \"C\"" } else { "" };
        let is_dense = matches!(kind, SqlType::Bytes | SqlType::Reals);
        let (column, kind) = (&column.name, kind.name());
        let storage = format!(", ALTER \"{column}\" SET STORAGE EXTERNAL");
        let storage = if is_dense { storage } else { String::new() };
        format!("ADD COLUMN IF NOT EXISTS \"{column}\" {kind}{order}{storage}")
    });
    let changes: Vec<String> = changes.collect();
    format!(
        "CREATE TABLE IF NOT EXISTS trefoil.\"{name}\" (shard int NOT NULL, tx bigint NOT NULL);
         ALTER TABLE trefoil.\"{name}\" {};
         DO $$ BEGIN
             IF NOT EXISTS (SELECT FROM pg_constraint
                 WHERE conrelid = 'trefoil.\"{name}\"'::regclass AND contype = 'p')
             THEN ALTER TABLE trefoil.\"{name}\" ADD PRIMARY KEY (shard, {}); END IF;
         END $$;
         CREATE INDEX IF NOT EXISTS \"{name}_tx\" ON trefoil.\"{name}\" (shard, tx);",
        changes.join(", "),
        key.join(", "),
    )
}

/// Tables of rows, besides those of the store's format.
const ROW_TABLES: [&str; 2] = ["epoch", "gone"];

/// The privileges of a node that tells of itself.
const TELLS: &str = "INSERT (shard, node, role, address, epoch, by, tx, erased, format, seen),
    UPDATE (role, address, epoch, by, tx, erased, format, seen)";

/// Makes what an index of `parts` parts needs in the database of `config`: the tables, unless they
/// are there, and a row for each part. Doing it again changes nothing. It needs a login that may
/// create a schema in the database, or that owns the one of before.
///
/// # Errors
/// [`Error::InvalidConfig`] if `parts` is no power of two, or the index has another number of
/// parts; [`Error::UnsupportedFormat`] if a newer version made the tables;
/// [`Error::Unavailable`] if the database does not answer; [`Error::Backend`] if it refuses.
pub fn init(config: &PostgresConfig, parts: u32) -> Result<()> {
    let allowed = "a power of two up to 1024, and as many as the index has already";
    let fits = parts.is_power_of_two() && parts <= 1024;
    Error::check_config(fits, "parts", parts, allowed)?;
    let parts = i32::try_from(parts).unwrap_or(i32::MAX);
    let tables = truth::tables()?;
    administer(config, "make the tables", async |session| {
        make_tables(session, &tables).await?;
        let made = "INSERT INTO trefoil.shard (index_name, part, parts, format)
             SELECT $1, part, $2, $3 FROM generate_series(0, $2 - 1) part ON CONFLICT DO NOTHING";
        let format = i32::try_from(truth::format()).unwrap_or(i32::MAX);
        session.execute(made, &[&config.index(), &parts, &format]).await?;
        let there = "SELECT min(parts) FROM trefoil.shard WHERE index_name = $1";
        let there: i32 = session.only(there, &[&config.index()]).await?;
        Ok(Error::check_config(there == parts, "parts", parts, allowed)?)
    })
}

/// Lets a login of the database work with the index of `config` as `role` says, and with nothing
/// else: a writer reads and writes rows, a searcher reads them and tells of its own node, an
/// embedder gets texts and stores vectors. It takes the place of what the login was granted
/// before. The login itself is made by `CREATE ROLE`.
///
/// # Errors
/// [`Error::ShardMissing`] before [`init`]; [`Error::Unavailable`] if the database does not
/// answer; [`Error::Backend`] if it refuses, such as where there is no such login.
pub fn grant(config: &PostgresConfig, login: &str, role: NodeRole) -> Result<()> {
    grant_up_to(config, login, role, BoundaryClass::Secret)
}

/// Lets a login of the database search the index of `config` with all its documents, and with units
/// of memory up to a class: it is given no row of any other. A cache from before is made again as
/// soon as its node looks at the shard. The rest is as for [`grant`].
///
/// # Errors
/// As those of [`grant`].
pub fn grant_within(config: &PostgresConfig, login: &str, boundary: BoundaryClass) -> Result<()> {
    grant_up_to(config, login, NodeRole::Searcher, boundary)
}

fn grant_up_to(
    config: &PostgresConfig,
    login: &str,
    role: NodeRole,
    boundary: BoundaryClass,
) -> Result<()> {
    let tables = truth::tables()?;
    administer(config, "grant a role", async |session| {
        let member = "INSERT INTO trefoil.member (role, index_name, kind, boundary)
             VALUES ($1::text::name, $2, $3, $4) ON CONFLICT (role, index_name)
             DO UPDATE SET kind = excluded.kind, boundary = excluded.boundary";
        let boundary = i32::from(boundary.code());
        session.execute(member, &[&login, &config.index(), &role.as_str(), &boundary]).await?;
        grant_tables(session, login, &tables).await
    })
}

/// Takes from a login of the database what it was granted of the index of `config`.
///
/// # Errors
/// As those of [`grant`].
pub fn revoke(config: &PostgresConfig, login: &str) -> Result<()> {
    let tables = truth::tables()?;
    administer(config, "revoke a role", async |session| {
        let member = "DELETE FROM trefoil.member WHERE role = $1::text::name AND index_name = $2";
        session.execute(member, &[&login, &config.index()]).await?;
        grant_tables(session, login, &tables).await
    })
}

/// Runs `work` in one transaction that no other of this kind runs next to.
fn administer<T>(
    config: &PostgresConfig,
    doing: &'static str,
    mut work: impl AsyncFnMut(&mut Session) -> Result<T, Fault>,
) -> Result<T> {
    let source = Source::new(config.clone())?;
    let done = Slot::new().run(
        &source,
        || false,
        async |session| {
            session.patience = PATIENCE;
            session.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({LOCK})")).await?;
            let value = work(session).await?;
            session.batch("COMMIT").await?;
            Ok(value)
        },
    );
    done.map_err(|fault| match fault {
        fault if fault.is_missing_schema() => Error::ShardMissing { shard: config.shard_name() },
        fault => fault.into_error(config, doing),
    })
}

async fn make_tables(session: &mut Session, tables: &[Arc<Table>]) -> Result<(), Fault> {
    let start = "CREATE SCHEMA IF NOT EXISTS trefoil;
         CREATE TABLE IF NOT EXISTS trefoil.version (scripts int NOT NULL, format int NOT NULL);
         ALTER TABLE trefoil.version ENABLE ROW LEVEL SECURITY;
         INSERT INTO trefoil.version SELECT 0, 0 WHERE NOT EXISTS (SELECT FROM trefoil.version)";
    let there = "SELECT to_regclass('trefoil.version') IS NOT NULL";
    // Who may not create a schema may still add an index where it is there.
    if !session.only::<bool>(there, &[]).await? {
        session.batch(start).await?;
    }
    let scripts: i32 = session.only("SELECT scripts FROM trefoil.version", &[]).await?;
    let format: i32 = session.only("SELECT format FROM trefoil.version", &[]).await?;
    let found = u32::try_from(format).unwrap_or(u32::MAX);
    let scripts = usize::try_from(scripts).unwrap_or(usize::MAX);
    if found > truth::format() || scripts > SCRIPTS.len() {
        return Err(Error::UnsupportedFormat { found, supported: truth::format() }.into());
    }
    for script in SCRIPTS.iter().skip(scripts) {
        session.batch(script).await?;
    }
    if scripts < SCRIPTS.len() || found < truth::format() {
        for table in tables {
            session.batch(&table_script(table)).await?;
        }
        session.batch(&policy::script(tables)).await?;
        let versions = (SCRIPTS.len(), truth::format());
        let now =
            format!("UPDATE trefoil.version SET scripts = {}, format = {}", versions.0, versions.1);
        session.batch(&now).await?;
        let logins = session.rows("SELECT DISTINCT role::text FROM trefoil.member", &[]).await?;
        for login in logins {
            grant_tables(session, login.try_get(0)?, tables).await?;
        }
    }
    Ok(())
}

/// Gives a login the privileges on tables that its roles in all indexes together need; which rows
/// they hold for is told by policies.
async fn grant_tables(
    session: &mut Session,
    login: &str,
    tables: &[Arc<Table>],
) -> Result<(), Fault> {
    let kinds = "SELECT DISTINCT kind FROM trefoil.member WHERE role = $1::text::name";
    let kinds = session.rows(kinds, &[&login]).await?;
    let kinds: BTreeSet<String> =
        kinds.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
    let name = session.only::<String>("SELECT quote_ident($1)", &[&login]).await?;
    let rows: Vec<String> = tables
        .iter()
        .map(|table| table.name.as_str())
        .chain(ROW_TABLES)
        .map(|table| format!("trefoil.\"{table}\""))
        .collect();
    let rows = rows.join(", ");
    let views: Vec<String> = tables.iter().filter_map(|table| given_view(table)).collect();
    let views = views.join(", ");
    let mut script = vec![format!(
        "REVOKE ALL ON ALL TABLES IN SCHEMA trefoil FROM {name};
         REVOKE ALL ON SCHEMA trefoil FROM {name}"
    )];
    if !kinds.is_empty() {
        script.push(format!(
            "GRANT USAGE ON SCHEMA trefoil TO {name};
             GRANT SELECT ON trefoil.granted, trefoil.granted_class, trefoil.version TO {name};
             GRANT SELECT (shard, index_name, part, format) ON trefoil.shard TO {name}"
        ));
    }
    if kinds.contains("embedder") {
        script.push(format!(
            "GRANT SELECT ON trefoil.embed TO {name};
             GRANT UPDATE (vector, tokens, tries, error, owner, until) ON trefoil.embed TO {name};
             GRANT SELECT, {TELLS} ON trefoil.node TO {name}"
        ));
    }
    if kinds.contains("searcher") || kinds.contains("writer") {
        script.push(format!(
            "GRANT SELECT ON trefoil.shard, trefoil.node, {rows}, {views} TO {name};
             GRANT {TELLS} ON trefoil.node TO {name}"
        ));
    }
    if kinds.contains("writer") {
        script.push(format!(
            "GRANT UPDATE (format, epoch, by, tx, pruned, sequences, touched, writer, until)
                 ON trefoil.shard TO {name};
             GRANT INSERT, UPDATE, DELETE ON {rows} TO {name};
             GRANT DELETE ON trefoil.node TO {name};
             GRANT SELECT, INSERT, UPDATE, DELETE ON trefoil.inbox, trefoil.embed TO {name}"
        ));
        let version = "SELECT current_setting('server_version_num')::int";
        if session.only::<i32>(version, &[]).await? >= 170_000 {
            // To vacuum what was erased; before, only the owner may.
            let tables = format!("{rows}, trefoil.inbox, trefoil.embed");
            script.push(format!("GRANT MAINTAIN ON {tables} TO {name}"));
        }
    }
    session.batch(&script.join(";\n")).await
}
