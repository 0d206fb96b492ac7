use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use trefoil_core::RowId;

use crate::{
    WriteTx,
    codec::{texts, to_json},
};

/// The body of a claim. Names of closed choices are those of the schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimPayload {
    /// What it says.
    pub text: String,
    /// `fact`, `preference`, `task` or `policy_hint`.
    pub kind: String,
    /// `session`, `project` or `principle`.
    pub scope: String,
    /// The session that a claim of that scope is found in.
    pub session: Option<String>,
    /// What it comes from, JSON.
    pub origin_json: String,
    /// How well it is put, 0–1.
    pub quality: f64,
    /// How much it has helped.
    pub utility: f64,
    /// How recent it was at `decayed_at`, 0–1.
    pub recency: f64,
    /// From when its age is counted.
    pub recency_anchor: i64,
    /// Up to when decay has been applied.
    pub decayed_at: i64,
    /// Hash of `text`; no two claims have the same.
    pub content_hash: String,
    /// What can be looked at to verify it.
    pub sources: Vec<String>,
    /// `verified`, `inferred` or `unknown`.
    pub epistemic_status: String,
    /// When it was last checked.
    pub last_verified_at: i64,
    /// Seconds that it stays fresh after that; for ever if absent.
    pub ttl: Option<i64>,
    /// How much is lost with it, 0 most, 3 least.
    pub importance: u8,
    /// What it is about.
    pub subject: Option<String>,
    /// What it says of it.
    pub predicate: Option<String>,
    /// What stands in that relation to it.
    pub object: Option<String>,
    /// From when it holds.
    pub valid_from: Option<i64>,
    /// Until when it holds.
    pub valid_to: Option<i64>,
    /// Who or what made it, JSON.
    pub provenance_json: Option<String>,
}

impl ClaimPayload {
    /// The text and, in a line of its own, subject, predicate and object: a question about
    /// where Mika lives is to find “Mika: I moved to Fukuoka last week” by “Mika lives in
    /// Fukuoka”. That brought the cosines of such pairs up by .04–.08 in all three languages.
    pub(super) fn searched(&self) -> String {
        match (&self.subject, &self.predicate, &self.object) {
            (Some(subject), Some(predicate), Some(object)) => {
                format!("{}\n{subject} {} {object}", self.text, predicate.replace('_', " "))
            }
            _ => self.text.clone(),
        }
    }

    pub(super) fn texts(&self) -> Vec<String> {
        let optional = [&self.subject, &self.predicate, &self.object, &self.provenance_json];
        let optional = optional.into_iter().flatten();
        std::iter::once(&self.text).chain(optional).chain(&self.sources).cloned().collect()
    }
}

pub(super) fn write(tx: &WriteTx<'_>, row: RowId, claim: &ClaimPayload) -> rusqlite::Result<()> {
    // Not OR REPLACE: a claim must not push out another one with the same hash.
    tx.prepare_cached(
        "INSERT INTO payload_claim (unit_id, text, kind, scope, session_id, origin_json, quality,
                utility, recency, recency_anchor, decayed_at, content_hash, sources_json,
                epistemic_status, last_verified_at, ttl, importance, subject, predicate, object,
                valid_from, valid_to, provenance_json)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
                 ?19, ?20, ?21, ?22, ?23)
         ON CONFLICT (unit_id) DO UPDATE SET
             text = excluded.text, kind = excluded.kind, scope = excluded.scope,
             session_id = excluded.session_id, origin_json = excluded.origin_json,
             quality = excluded.quality, utility = excluded.utility, recency = excluded.recency,
             recency_anchor = excluded.recency_anchor, decayed_at = excluded.decayed_at,
             content_hash = excluded.content_hash, sources_json = excluded.sources_json,
             epistemic_status = excluded.epistemic_status,
             last_verified_at = excluded.last_verified_at, ttl = excluded.ttl,
             importance = excluded.importance, subject = excluded.subject,
             predicate = excluded.predicate, object = excluded.object,
             valid_from = excluded.valid_from, valid_to = excluded.valid_to,
             provenance_json = excluded.provenance_json",
    )?
    .execute(params![
        row.get().cast_signed(),
        claim.text,
        claim.kind,
        claim.scope,
        claim.session,
        claim.origin_json,
        claim.quality,
        claim.utility,
        claim.recency,
        claim.recency_anchor,
        claim.decayed_at,
        claim.content_hash,
        to_json(&claim.sources)?,
        claim.epistemic_status,
        claim.last_verified_at,
        claim.ttl,
        claim.importance,
        claim.subject,
        claim.predicate,
        claim.object,
        claim.valid_from,
        claim.valid_to,
        claim.provenance_json,
    ])?;
    write_fact(tx, row, claim)
}

/// A claim with a predicate is a fact of the graph, as far as its subject and its object are
/// entities of memory by now.
fn write_fact(tx: &WriteTx<'_>, row: RowId, claim: &ClaimPayload) -> rusqlite::Result<()> {
    let row = row.get().cast_signed();
    let Some(predicate) = &claim.predicate else {
        tx.prepare_cached("DELETE FROM payload_fact WHERE unit_id = ?1")?.execute([row])?;
        return Ok(());
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO payload_fact (unit_id, subject_entity_id, predicate, object_text,
                object_entity_id, valid_from, valid_to, evidence_unit_ids_json)
         SELECT ?1,
                (SELECT id FROM entities WHERE collection = 1 AND normalized = lower(?2)),
                ?3, ?4,
                (SELECT id FROM entities WHERE collection = 1 AND normalized = lower(?4)),
                ?5, ?6,
                (SELECT json_group_array(observation_unit_id) FROM
                    (SELECT observation_unit_id FROM evidences
                     WHERE claim_unit_id = ?1 AND observation_unit_id IS NOT NULL ORDER BY id))",
    )?
    .execute(params![
        row,
        claim.subject,
        predicate,
        claim.object,
        claim.valid_from,
        claim.valid_to
    ])?;
    Ok(())
}

pub(super) fn read(tx: &Connection, row: RowId) -> rusqlite::Result<ClaimPayload> {
    tx.prepare_cached(
        "SELECT text, kind, scope, session_id, origin_json, quality, utility, recency,
                recency_anchor, decayed_at, content_hash, sources_json, epistemic_status,
                last_verified_at, ttl, importance, subject, predicate, object, valid_from, valid_to,
                provenance_json
         FROM payload_claim WHERE unit_id = ?1",
    )?
    .query_row([row.get().cast_signed()], |columns| {
        Ok(ClaimPayload {
            text: columns.get(0)?,
            kind: columns.get(1)?,
            scope: columns.get(2)?,
            session: columns.get(3)?,
            origin_json: columns.get(4)?,
            quality: columns.get(5)?,
            utility: columns.get(6)?,
            recency: columns.get(7)?,
            recency_anchor: columns.get(8)?,
            decayed_at: columns.get(9)?,
            content_hash: columns.get(10)?,
            sources: texts(columns, 11)?,
            epistemic_status: columns.get(12)?,
            last_verified_at: columns.get(13)?,
            ttl: columns.get(14)?,
            importance: columns.get(15)?,
            subject: columns.get(16)?,
            predicate: columns.get(17)?,
            object: columns.get(18)?,
            valid_from: columns.get(19)?,
            valid_to: columns.get(20)?,
            provenance_json: columns.get(21)?,
        })
    })
}
