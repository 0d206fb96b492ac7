//! A database of its own for each test.

use std::{env, mem::ManuallyDrop, sync::LazyLock};

use tokio_postgres::{NoTls, SimpleQueryMessage};
use trefoil_postgres::{PostgresConfig, PostgresTruth};

/// A new database, which goes when this is dropped.
pub(crate) struct Database {
    /// The URL of the server, up to its databases.
    server: String,
    name: String,
}

impl Database {
    /// None where there is no PostgreSQL and need not be one.
    pub(crate) fn new() -> Option<Self> {
        Self::from_template("template1")
    }

    fn from_template(template: &str) -> Option<Self> {
        let Some(url) = variable("TREFOIL_POSTGRES") else {
            let required = variable("TREFOIL_POSTGRES_REQUIRED").is_some();
            assert!(!required, "there is no PostgreSQL: run tests/postgres/start.py");
            return None;
        };
        let server = url.rsplit_once('/').unwrap().0.to_owned();
        let database = Self { server, name: format!("test_{:016x}", fastrand::u64(..)) };
        query(&url, &format!("CREATE DATABASE {} TEMPLATE {template}", database.name)).unwrap();
        Some(database)
    }

    /// One with the tables, and the index `notes` of one part.
    pub(crate) fn with_tables() -> Option<Self> {
        // A copy costs less than to make them, and goes with the server.
        static TEMPLATE: LazyLock<Option<String>> = LazyLock::new(|| {
            let database = Database::new()?;
            trefoil_postgres::init(&database.config(), 1).unwrap();
            Some(ManuallyDrop::new(database).name.clone())
        });
        Self::from_template(TEMPLATE.as_ref()?)
    }

    /// The URL of the database without parameters.
    pub(crate) fn url(&self) -> String {
        format!("{}/{}", self.server, self.name)
    }

    /// The same for another login.
    pub(crate) fn url_of(&self, login: &str) -> String {
        let place = self.server.split_once('@').unwrap().1;
        format!("postgres://{login}:{login}@{place}/{}", self.name)
    }

    /// The port of the server.
    pub(crate) fn port(&self) -> u16 {
        self.server.rsplit_once(':').unwrap().1.parse().unwrap()
    }

    /// The URL by way of another port of this machine.
    pub(crate) fn url_by(&self, port: u16) -> String {
        let start = self.server.rsplit_once(':').unwrap().0;
        format!("{start}:{port}/{}", self.name)
    }

    pub(crate) fn config(&self) -> PostgresConfig {
        format!("{}?index=notes", self.url()).parse().unwrap()
    }

    /// The shard, as a node of this name is connected to it.
    pub(crate) fn truth(&self, node: &str) -> PostgresTruth {
        PostgresTruth::new(self.config().with_node(node).unwrap()).unwrap()
    }

    /// Runs SQL as the owner: the rows of the last statement.
    pub(crate) fn sql(&self, sql: &str) -> Vec<Vec<String>> {
        query(&self.url(), sql).unwrap()
    }

    /// The one value of SQL that the owner runs.
    pub(crate) fn value(&self, sql: &str) -> String {
        self.sql(sql)[0][0].clone()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let admin = format!("{}/postgres", self.server);
        let dropped = query(&admin, &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        if !std::thread::panicking() {
            dropped.unwrap();
        }
    }
}

/// Runs SQL at a URL: the rows, or the message of the database.
pub(crate) fn query(url: &str, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let said = |error: tokio_postgres::Error| {
        error.as_db_error().map_or_else(|| error.to_string(), |said| said.message().to_owned())
    };
    runtime.block_on(async {
        let (client, connection) = tokio_postgres::connect(url, NoTls).await.map_err(said)?;
        let connection = tokio::spawn(connection);
        let messages = client.simple_query(sql).await.map_err(said)?;
        drop(client);
        connection.await.unwrap().map_err(said)?;
        let rows = messages.iter().filter_map(|message| {
            let SimpleQueryMessage::Row(row) = message else { return None };
            let values = 0..row.columns().len();
            Some(values.map(|at| row.get(at).unwrap_or("NULL").to_owned()).collect())
        });
        Ok(rows.collect())
    })
}

#[expect(clippy::disallowed_methods, reason = "how the server is told to the tests")]
pub(crate) fn variable(name: &str) -> Option<String> {
    env::var(name).ok()
}
