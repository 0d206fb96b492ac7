//! One connection to the database, its prepared statements, and when it is given up.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{runtime::Runtime, time::timeout};
use tokio_postgres::{
    Client, Row, Statement,
    types::{FromSqlOwned, ToSql},
};
use tokio_postgres_rustls::MakeRustlsConnect;
use trefoil_core::{Error, Part, Result};

use crate::{PostgresConfig, fault::Fault};

/// How long a short answer may take, a wait for another's lock included.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
/// How long a statement over many rows, or the next of its rows, may take.
pub(crate) const BATCH: Duration = Duration::from_mins(1);

/// A parameter of a statement.
pub(crate) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// What statements run on. Each is prepared once a connection.
pub(crate) struct Session {
    client: Client,
    statements: HashMap<String, Statement>,
    /// How long an answer may take.
    pub(crate) patience: Duration,
    /// The number of the shard in this database, once it was asked for.
    pub(crate) shard: Option<i32>,
}

impl Session {
    /// Runs statements without parameters and without rows.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), Fault> {
        in_time(self.patience, self.client.batch_execute(sql)).await
    }

    pub(crate) async fn prepare(&mut self, sql: &str) -> Result<Statement, Fault> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = in_time(self.patience, self.client.prepare(sql)).await?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    pub(crate) async fn rows(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        in_time(self.patience, self.client.query(&statement, parameters)).await
    }

    pub(crate) async fn row(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Fault> {
        let statement = self.prepare(sql).await?;
        in_time(self.patience, self.client.query_opt(&statement, parameters)).await
    }

    /// The one value of the one row of a statement.
    pub(crate) async fn only<T: FromSqlOwned>(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<T, Fault> {
        let statement = self.prepare(sql).await?;
        in_time(self.patience, self.client.query_one_scalar(&statement, parameters)).await
    }

    /// How many rows a statement changed.
    pub(crate) async fn execute(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<u64, Fault> {
        let statement = self.prepare(sql).await?;
        in_time(BATCH, self.client.execute(&statement, parameters)).await
    }

    /// The client, for what is streamed or sent without waiting for the answer before.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }
}

/// Gives up what takes too long; the connection is then in the middle of something.
pub(crate) async fn in_time<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Fault> {
    timeout(limit, work).await.map_err(|_| Fault::TimedOut)?.map_err(Fault::Postgres)
}

struct Connection {
    /// None only while it is dropped.
    runtime: Option<Runtime>,
    session: Session,
}

impl Drop for Connection {
    fn drop(&mut self) {
        // An ordinary drop would wait, which a thread of another runtime must not.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// A place for one connection, which is made when it is needed and again when it was lost.
pub(crate) struct Slot(Mutex<Option<Connection>>);

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Slot")
    }
}

/// Where connections come from.
pub(crate) struct Source {
    pub(crate) config: PostgresConfig,
    tls: MakeRustlsConnect,
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.config.fmt(f)
    }
}

impl Source {
    pub(crate) fn new(config: PostgresConfig) -> Result<Self> {
        let tls = crate::tls::connector(&config)?;
        Ok(Self { config, tls })
    }

    fn connect(&self) -> Result<Connection, Fault> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime
            .map_err(|error| Error::backend(Part::Store, "start a connection's runtime", error))?;
        let connected = self.config.client.connect(self.tls.clone());
        // Several hosts may each take their time.
        let (client, driver) = runtime.block_on(async { in_time(ANSWER * 2, connected).await })?;
        // It ends with the connection; whoever waits for an answer is told then.
        runtime.spawn(driver);
        let session = Session { client, statements: HashMap::new(), patience: ANSWER, shard: None };
        Ok(Connection { runtime: Some(runtime), session })
    }
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Runs `work` on the connection. A database that was restarted has closed it without a word:
    /// then it is replaced, and the work done again if `again` says that it may be.
    pub(crate) fn run<T>(
        &self,
        source: &Source,
        again: impl Fn() -> bool,
        mut work: impl AsyncFnMut(&mut Session) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut is_used = slot.is_some();
        loop {
            let mut connection = match slot.take() {
                Some(connection) => connection,
                None => source.connect()?,
            };
            let Some(runtime) = &connection.runtime else { continue };
            match runtime.block_on(work(&mut connection.session)) {
                Ok(value) => {
                    *slot = Some(connection);
                    return Ok(value);
                }
                // A transaction may be open: a new connection is the sure way out of it.
                Err(fault) if is_used && fault.is_lost_connection() && again() => {
                    is_used = false;
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}
