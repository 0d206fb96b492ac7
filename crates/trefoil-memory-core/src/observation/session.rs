use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result, SessionId};

use crate::unit::whole_seconds;

/// A stretch of work on one project.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The folder of the project.
    #[serde(alias = "project_path")]
    pub project_path: String,
    /// When it began.
    #[serde(alias = "started_at")]
    pub started_at: Timestamp,
    /// When it ended; it goes on if absent.
    #[serde(alias = "ended_at")]
    pub ended_at: Option<Timestamp>,
    /// What was done in it.
    pub summary: Option<String>,
    /// Whose it is, a word that means something to the caller alone; nobody's in particular if
    /// absent.
    pub owner: Option<String>,
    /// Tokens of its observations together.
    #[serde(alias = "token_count", default)]
    pub token_count: u64,
}

impl Session {
    /// A session that begins now.
    pub fn new(id: SessionId, project_path: impl Into<String>, now: Timestamp) -> Self {
        Self {
            id,
            project_path: project_path.into(),
            started_at: whole_seconds(now),
            ended_at: None,
            summary: None,
            owner: None,
            token_count: 0,
        }
    }

    /// The same, ended now with a summary of what was done.
    ///
    /// # Errors
    /// [`Error::InvalidState`] if it has ended before.
    pub fn ended(self, summary: impl Into<String>, now: Timestamp) -> Result<Self> {
        if let Some(at) = self.ended_at {
            let state = format!("session {} that ended at {at}", self.id);
            return Err(Error::InvalidState { state, call: "end a session" });
        }
        let ended_at = Some(whole_seconds(now).max(self.started_at));
        Ok(Self { ended_at, summary: Some(summary.into()), ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_once() {
        let now = Timestamp::UNIX_EPOCH;
        let session = Session::new(SessionId::new("ses_1").unwrap(), "/work", now);
        let ended = session.ended("done", now).unwrap();
        assert_eq!((ended.ended_at, ended.summary.as_deref()), (Some(now), Some("done")));
        assert!(matches!(ended.ended("again", now), Err(Error::InvalidState { .. })));
    }
}
