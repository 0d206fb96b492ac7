use rusqlite::{OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use trefoil_core::Result;

use super::{MemoryRead, MemoryWrite};

/// A stretch of work on one project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Its id.
    pub id: String,
    /// The folder of the project.
    pub project_path: String,
    /// When it began.
    pub started_at: i64,
    /// When it ended.
    pub ended_at: Option<i64>,
    /// What was done in it.
    pub summary: Option<String>,
    /// Whose it is, as the caller names it.
    pub owner: Option<String>,
    /// Tokens of its observations together; counted by the store, not written.
    pub token_count: u64,
}

const SELECT: &str = "SELECT id, project_path, started_at, ended_at, summary, owner,
        (SELECT ifnull(sum(token_count), 0) FROM payload_episode WHERE session_id = s.id)
    FROM sessions s";

impl MemoryRead<'_> {
    /// The session with this id.
    pub fn session(&self, id: &str) -> Result<Option<SessionRow>> {
        self.sql("read a session", |tx| {
            tx.prepare_cached(&format!("{SELECT} WHERE id = ?1"))?
                .query_row([id], session)
                .optional()
        })
    }

    /// Every session, by when it began.
    pub fn sessions(&self) -> Result<Vec<SessionRow>> {
        self.sql("list the sessions", |tx| {
            tx.prepare_cached(&format!("{SELECT} ORDER BY started_at, id"))?
                .query_map([], session)?
                .collect()
        })
    }
}

impl MemoryWrite<'_> {
    /// Stores a session in the place of the one with its id, if there is one.
    pub fn put_session(&self, session: &SessionRow) -> Result<()> {
        self.sql("store a session", |tx| {
            tx.prepare_cached(
                "INSERT INTO sessions (id, project_path, started_at, ended_at, summary, owner)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)
                 ON CONFLICT (id) DO UPDATE SET
                     project_path = excluded.project_path, ended_at = excluded.ended_at,
                     summary = excluded.summary, owner = excluded.owner",
            )?
            .execute(params![
                session.id,
                session.project_path,
                session.started_at,
                session.ended_at,
                session.summary,
                session.owner
            ])?;
            Ok(())
        })
    }
}

fn session(columns: &Row<'_>) -> rusqlite::Result<SessionRow> {
    Ok(SessionRow {
        id: columns.get(0)?,
        project_path: columns.get(1)?,
        started_at: columns.get(2)?,
        ended_at: columns.get(3)?,
        summary: columns.get(4)?,
        owner: columns.get(5)?,
        token_count: columns.get(6)?,
    })
}
