//! What went wrong with the database, as an error that a caller can act on.

use std::{error::Error as StdError, fmt, iter};

use tokio_postgres::error::{DbError, Severity, SqlState};
use trefoil_core::{BoxError, Error, Part};

/// Why work with a connection ended early.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The driver or the database said so.
    Postgres(tokio_postgres::Error),
    /// There was no answer in time.
    TimedOut,
    /// It is an error already, of a sink or a value; the connection is in the middle of something.
    Ours(Error),
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Postgres(error)
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

/// The message of a database and its code; without details, which may repeat rows.
#[derive(Debug)]
struct Said {
    database: String,
    message: String,
    code: String,
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (SQLSTATE {})", self.database, self.message, self.code)?;
        let missing = [SqlState::UNDEFINED_COLUMN, SqlState::UNDEFINED_FUNCTION];
        if missing.iter().any(|missing| self.code == missing.code()) {
            write!(f, "; {OLDER_TABLES}")?;
        }
        Ok(())
    }
}

impl StdError for Said {}

/// What is wrong with tables that lack something.
pub(crate) const OLDER_TABLES: &str =
    "an older version made its tables: run `trefoil cluster init` again";

impl Fault {
    fn answer(&self) -> Option<&DbError> {
        match self {
            Self::Postgres(error) => error.as_db_error(),
            Self::TimedOut | Self::Ours(_) => None,
        }
    }

    /// True if the connection had ended before the database saw what was asked last, or while it
    /// did it. It is false where the database itself said no.
    pub(crate) fn is_lost_connection(&self) -> bool {
        match self {
            Self::Postgres(error) => match error.as_db_error() {
                Some(answer) => is_of_shutdown(answer.code()),
                None => error.is_closed() || has_source::<std::io::Error>(error),
            },
            Self::TimedOut | Self::Ours(_) => false,
        }
    }

    /// True if a COMMIT that ended so has done nothing: the database said so, and went on.
    pub(crate) fn is_refusal(&self) -> bool {
        self.answer().is_some_and(|said| said.parsed_severity() == Some(Severity::Error))
    }

    /// The error for a caller who was `doing` something with `database`.
    pub(crate) fn into_error(self, database: &dyn fmt::Display, doing: &'static str) -> Error {
        let unavailable =
            |source: BoxError| Error::Unavailable { truth: database.to_string(), doing, source };
        match self {
            Self::Ours(error) => error,
            Self::TimedOut => unavailable("there was no answer in time".into()),
            Self::Postgres(error) => {
                let Some(answer) = error.as_db_error() else {
                    if has_source::<rustls::Error>(&error) {
                        return Error::backend(Part::Store, "trust the database", chain(&error));
                    }
                    if error.is_closed() || has_source::<std::io::Error>(&error) {
                        return unavailable(chain(&error).into());
                    }
                    return Error::backend(Part::Store, doing, chain(&error));
                };
                let said = Said {
                    database: database.to_string(),
                    message: answer.message().to_owned(),
                    code: answer.code().code().to_owned(),
                };
                if is_passing(answer.code()) {
                    unavailable(said.into())
                } else {
                    Error::backend(Part::Store, doing, said)
                }
            }
        }
    }

    /// True if the database has no tables of ours.
    pub(crate) fn is_missing_schema(&self) -> bool {
        let missing = [SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME];
        self.answer().is_some_and(|answer| missing.contains(answer.code()))
    }
}

/// The database shuts down, starts, or ended the session.
fn is_of_shutdown(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    class == "08"
        || [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
        ]
        .contains(code)
}

/// What may succeed when it is tried again, perhaps after somebody has made room.
fn is_passing(code: &SqlState) -> bool {
    let class = code.code().get(..2).unwrap_or_default();
    // 40: serialisation and deadlocks; 53: resources; 55: locks; 57: the operator; 58: the system.
    is_of_shutdown(code)
        || ["40", "53", "55", "57", "58"].contains(&class)
        || *code == SqlState::READ_ONLY_SQL_TRANSACTION
}

fn sources<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// True if an error of this type is among the sources, also within an I/O error.
fn has_source<E: StdError + 'static>(error: &(dyn StdError + 'static)) -> bool {
    sources(error).any(|source| {
        let within = source.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        source.is::<E>() || within.is_some_and(<dyn StdError + Send + Sync>::is::<E>)
    })
}

/// The message of an error with those of its sources; a database's answer is never in it.
fn chain(error: &tokio_postgres::Error) -> String {
    let messages: Vec<String> = sources(error).map(ToString::to_string).collect();
    messages.join(": ")
}
