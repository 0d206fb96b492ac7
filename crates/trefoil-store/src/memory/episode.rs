use std::collections::BTreeMap;

use rusqlite::{Connection, Row, params, params_from_iter};
use serde::{Deserialize, Serialize};
use trefoil_core::{Result, RowId};

use super::MemoryRead;

use crate::{
    WriteTx,
    codec::{limit_of, row_ids},
};

/// The body of an episode: an observation fills `input_text`, a turn of a conversation both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EpisodePayload {
    /// What was observed or said to us.
    pub input_text: Option<String>,
    /// What was answered.
    pub reply_text: Option<String>,
    /// What a picture showed.
    pub image_summary: Option<String>,
    /// What it stood in, JSON.
    pub context_note: Option<String>,
    /// What reflection made of it, JSON.
    pub reflection_json: Option<String>,
    /// The content, compressed.
    pub content_compressed: Option<String>,
    /// What was observed: `tool_use`, `bash`, `error`, `success`, `note` or `message`.
    pub observation_kind: Option<String>,
    /// Where it comes from: `chat`, `tool`, `file`, `http` or `system`.
    pub source_type: Option<String>,
    /// Which of its kind.
    pub source_id: Option<String>,
    /// The session in which it happened.
    pub session: Option<String>,
    /// Who told it.
    pub actor: Option<String>,
    /// When its text is to be scrubbed.
    pub expires_at: Option<i64>,
    /// Tokens of its text.
    pub token_count: u64,
    /// SHA-256 of the text that was scrubbed.
    pub digest: Option<String>,
    /// When it was scrubbed.
    pub scrubbed_at: Option<i64>,
}

impl EpisodePayload {
    /// What is searched of it: what was said, what was answered, what was seen.
    pub fn text(&self) -> String {
        let parts = [&self.input_text, &self.reply_text, &self.image_summary];
        let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        parts.join("\n")
    }

    pub(super) fn texts(&self) -> Vec<String> {
        [
            &self.input_text,
            &self.reply_text,
            &self.image_summary,
            &self.context_note,
            &self.reflection_json,
            &self.content_compressed,
            &self.source_id,
            &self.actor,
        ]
        .into_iter()
        .flatten()
        .cloned()
        .collect()
    }
}

impl MemoryRead<'_> {
    /// At most `limit` episodes whose text is still there and was to be scrubbed by `now`,
    /// the oldest first.
    pub fn expired_episodes(&self, now: i64, limit: usize) -> Result<Vec<RowId>> {
        self.sql("list expired episodes", |tx| {
            let sql = "SELECT unit_id FROM payload_episode
                 WHERE expires_at <= ?1 AND scrubbed_at IS NULL ORDER BY expires_at, unit_id LIMIT ?2";
            row_ids(tx, sql, [now, limit_of(limit)])
        })
    }

    /// The episodes since a second whose text is there, in their order.
    pub fn episodes_since(&self, since: i64) -> Result<Vec<RowId>> {
        self.sql("list what happened lately", |tx| {
            let sql = "SELECT p.unit_id FROM payload_episode p JOIN units u ON u.id = p.unit_id
                       WHERE ifnull(u.occurred_at, u.created_at) >= ?1
                         AND p.scrubbed_at IS NULL AND u.state < 3
                       ORDER BY ifnull(u.occurred_at, u.created_at), u.id";
            row_ids(tx, sql, [since])
        })
    }

    /// The episodes, with their text, that mention entities of a type, by the entity's id and
    /// normalised name.
    pub fn episodes_by_entity(
        &self,
        type_label: &str,
    ) -> Result<BTreeMap<(String, String), Vec<RowId>>> {
        let sql = "SELECT DISTINCT p.unit_id, e.public_id, ifnull(e.normalized, e.name)
                   FROM entities e JOIN unit_entities m ON m.entity_id = e.id
                   JOIN payload_episode p ON p.unit_id = m.unit_id
                   JOIN units u ON u.id = p.unit_id
                   WHERE e.collection = 1 AND e.type_label = ?1
                     AND p.scrubbed_at IS NULL AND u.state < 3 ORDER BY p.unit_id";
        self.grouped("list episodes by entity", sql, &[type_label], |columns| {
            Ok((columns.get(1)?, columns.get(2)?))
        })
    }

    /// The episodes, with their text, by each of their tags.
    pub fn episodes_by_tag(&self) -> Result<BTreeMap<String, Vec<RowId>>> {
        let sql = "SELECT p.unit_id, t.value FROM payload_episode p
                   JOIN units u ON u.id = p.unit_id, json_each(u.topic_tags) t
                   WHERE p.scrubbed_at IS NULL AND u.state < 3 ORDER BY p.unit_id";
        self.grouped("list episodes by tag", sql, &[], |columns| columns.get(1))
    }

    fn grouped<K: Ord>(
        &self,
        doing: &'static str,
        sql: &str,
        parameters: &[&str],
        key: impl Fn(&Row<'_>) -> rusqlite::Result<K>,
    ) -> Result<BTreeMap<K, Vec<RowId>>> {
        self.sql(doing, |tx| {
            let mut groups: BTreeMap<K, Vec<RowId>> = BTreeMap::new();
            let mut select = tx.prepare_cached(sql)?;
            let mut found = select.query(params_from_iter(parameters))?;
            while let Some(columns) = found.next()? {
                groups.entry(key(columns)?).or_default().push(RowId::new(columns.get(0)?));
            }
            Ok(groups)
        })
    }
}

pub(super) fn write(
    tx: &WriteTx<'_>,
    row: RowId,
    episode: &EpisodePayload,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "INSERT OR REPLACE INTO payload_episode (unit_id, input_text, reply_text, image_summary,
                context_note, reflection_json, content_compressed, observation_kind, source_type,
                source_id, session_id, actor, expires_at, token_count, digest, scrubbed_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        row.get().cast_signed(),
        episode.input_text,
        episode.reply_text,
        episode.image_summary,
        episode.context_note,
        episode.reflection_json,
        episode.content_compressed,
        episode.observation_kind,
        episode.source_type,
        episode.source_id,
        episode.session,
        episode.actor,
        episode.expires_at,
        episode.token_count,
        episode.digest,
        episode.scrubbed_at,
    ])?;
    Ok(())
}

pub(super) fn read(tx: &Connection, row: RowId) -> rusqlite::Result<EpisodePayload> {
    tx.prepare_cached(
        "SELECT input_text, reply_text, image_summary, context_note, reflection_json,
                content_compressed, observation_kind, source_type, source_id, session_id, actor,
                expires_at, token_count, digest, scrubbed_at
         FROM payload_episode WHERE unit_id = ?1",
    )?
    .query_row([row.get().cast_signed()], |columns| {
        Ok(EpisodePayload {
            input_text: columns.get(0)?,
            reply_text: columns.get(1)?,
            image_summary: columns.get(2)?,
            context_note: columns.get(3)?,
            reflection_json: columns.get(4)?,
            content_compressed: columns.get(5)?,
            observation_kind: columns.get(6)?,
            source_type: columns.get(7)?,
            source_id: columns.get(8)?,
            session: columns.get(9)?,
            actor: columns.get(10)?,
            expires_at: columns.get(11)?,
            token_count: columns.get(12)?,
            digest: columns.get(13)?,
            scrubbed_at: columns.get(14)?,
        })
    })
}
