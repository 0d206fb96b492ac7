//! Units of memory that the truth has lost: what a node keeps of each, and how it is put back. Row
//! numbers are given again after a loss, so whatever a unit hangs on is named by its public id.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use trefoil_core::{Extraction, Result, RowId};

use crate::{
    Store,
    codec::row_ids,
    file::Digests,
    memory::{
        EvidenceRow, FeedbackRow, LinkRelation, MemoryRead, MemoryWrite, PatchReason, Payload,
        SessionRow, UnitRow, unit_by_row, unit_digest,
    },
};

/// A unit of memory that a lost transaction had written, with what hangs on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LostUnit {
    /// What it has in common with others.
    pub unit: UnitRow,
    /// Its body.
    pub payload: Payload,
    /// What it says of entities.
    #[serde(with = "crate::graph::as_text")]
    pub extraction: Extraction,
    /// What speaks for it.
    pub evidence: Vec<LostEvidence>,
    /// What it was made from, by public id.
    pub sources: Vec<String>,
    /// The claims that it stands to in some way, by public id.
    pub links: Vec<(String, LinkRelation)>,
    /// What was said of its worth.
    pub feedback: Vec<LostFeedback>,
    /// Why it was given up and from when on it may be removed for good, if it was.
    pub buried: Option<(String, i64)>,
    /// Its [`Store::unit_digest`].
    pub digest: String,
    /// That of what the truth had of it after the loss; none if nothing.
    pub before: Option<String>,
}

/// What speaks for a lost claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LostEvidence {
    /// Public id.
    pub id: String,
    /// Public id of the observation that tells it.
    pub observation: Option<String>,
    /// How it was found.
    pub method: String,
    /// What else there is to say.
    pub note: Option<String>,
    /// When it was found.
    pub created_at: i64,
}

/// What was said of a lost claim's worth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LostFeedback {
    /// Public id.
    pub id: String,
    /// When it was said.
    pub ts: i64,
    /// What was said.
    pub signal: String,
    /// How much, −1 to 1.
    pub score: Option<f64>,
}

impl LostUnit {
    /// The unit in a row with what hangs on it; `before` is what the truth has of it.
    pub(super) fn read(
        memory: &MemoryRead<'_>,
        row: RowId,
        before: Option<String>,
    ) -> Result<Option<Self>> {
        let Some(found) = memory.units(&[row])?.pop() else { return Ok(None) };
        let id_of = |row: RowId| public_id(memory, row);
        let evidence = memory.evidences(row)?.into_iter().map(|one| {
            let EvidenceRow { id, observation, method, note, created_at, .. } = one;
            let observation = observation.map(id_of).transpose()?.flatten();
            Ok(LostEvidence { id, observation, method, note, created_at })
        });
        let links = memory.claim_links(row)?.into_iter().filter(|link| link.claim == row);
        let links = links.map(|link| Ok(id_of(link.other)?.map(|id| (id, link.relation))));
        let feedback = memory.feedbacks(row)?.into_iter().map(|one| {
            let FeedbackRow { id, ts, signal, score, .. } = one;
            LostFeedback { id, ts, signal, score }
        });
        let buried = memory.sql("read a tombstone", |tx| {
            tx.prepare_cached("SELECT reason, purge_after FROM tombstones WHERE unit_id = ?1")?
                .query_row([row.get().cast_signed()], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        });
        Ok(Some(Self {
            digest: memory.sql("read a unit", |_| unit_digest(&found))?,
            extraction: memory.mentions(row)?,
            evidence: evidence.collect::<Result<_>>()?,
            sources: given(memory.sources_of(row)?.into_iter().map(id_of))?,
            links: given(links)?,
            feedback: feedback.collect(),
            buried: buried?,
            before,
            unit: found.unit,
            payload: found.payload,
        }))
    }

    /// The session that it names.
    pub(super) fn session(&self) -> Option<&str> {
        match &self.payload {
            Payload::Episode(episode) => episode.session.as_deref(),
            Payload::Claim(claim) => claim.session.as_deref(),
            Payload::Summary(_) | Payload::Loop(_) => None,
        }
    }

    /// Whether another unit says by now what only one may say.
    fn is_said_by_another(&self, memory: &MemoryRead<'_>) -> Result<bool> {
        let other = match &self.payload {
            Payload::Claim(claim) => memory.claim_by_hash(&claim.content_hash)?,
            Payload::Loop(open) => memory.loop_by_text(&open.text)?,
            Payload::Episode(_) | Payload::Summary(_) => None,
        };
        Ok(other.is_some_and(|other| other.unit.id != self.unit.id))
    }

    /// Stores what hangs on it, as far as what that names is there.
    fn put_what_hangs_on_it(&self, memory: &MemoryWrite<'_>, claim: RowId) -> Result<()> {
        for LostEvidence { id, observation, method, note, created_at } in self.evidence.clone() {
            let observation = observation.map(|id| row_of(memory, &id)).transpose()?.flatten();
            memory.add_evidence(&EvidenceRow {
                id,
                claim,
                observation,
                method,
                note,
                created_at,
            })?;
        }
        for source in &self.sources {
            if let Some(source) = row_of(memory, source)? {
                memory.add_source(claim, source)?;
            }
        }
        for (other, relation) in &self.links {
            if let Some(other) = row_of(memory, other)? {
                memory.link_claims(claim, other, *relation)?;
            }
        }
        for LostFeedback { id, ts, signal, score } in self.feedback.clone() {
            memory.add_feedback(&FeedbackRow { id, claim, ts, signal, score })?;
        }
        match &self.buried {
            Some((reason, purge_after)) => memory.bury(claim, reason, *purge_after),
            None => Ok(()),
        }
    }
}

/// Puts back units of which the store has what the truth had after the loss, unless another one
/// says the same by now: the ids of those that it put back.
pub(super) fn restore(
    memory: &MemoryWrite<'_>,
    sessions: &[SessionRow],
    units: &[LostUnit],
) -> Result<Vec<String>> {
    for session in sessions {
        if memory.session(&session.id)?.is_none() {
            memory.put_session(session)?;
        }
    }
    let mut restored = Vec::new();
    for lost in units {
        if digest_of(memory, &lost.unit.id)? == lost.before && !lost.is_said_by_another(memory)? {
            let reason = PatchReason::AdminUpdateUnitMeta;
            let row = memory.put_unit(&lost.unit, &lost.payload, reason)?;
            memory.put_mentions(row, &lost.extraction)?;
            restored.push((row, lost));
        }
    }
    // One may hang on another.
    for (row, lost) in &restored {
        lost.put_what_hangs_on_it(memory, *row)?;
    }
    Ok(restored.into_iter().map(|(_, lost)| lost.unit.id.clone()).collect())
}

impl Store {
    /// A digest of a unit of memory, without what hangs on it; none if it is not there.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn unit_digest(&self, id: &str) -> Result<Option<String>> {
        self.memory_read("read a unit", |memory| digest_of(memory, id))
    }
}

fn digest_of(memory: &MemoryRead<'_>, id: &str) -> Result<Option<String>> {
    let Some(unit) = memory.unit(id)? else { return Ok(None) };
    memory.sql("read a unit", |_| unit_digest(&unit)).map(Some)
}

/// The digests of all units, with their rows; without those that cannot be read.
pub(super) fn unit_digests(tx: &Connection) -> rusqlite::Result<Digests> {
    let mut found = BTreeMap::new();
    for row in row_ids(tx, "SELECT id FROM units WHERE kind <> 8 ORDER BY id", [])? {
        if let Ok(Some(unit)) = unit_by_row(tx, row) {
            let digest = unit_digest(&unit)?;
            found.insert(unit.unit.id, (row.get().cast_signed(), digest));
        }
    }
    Ok(found)
}

/// Of a unit of any kind, also of a chunk.
fn public_id(memory: &MemoryRead<'_>, row: RowId) -> Result<Option<String>> {
    memory.sql("read the id of a unit", |tx| {
        tx.prepare_cached("SELECT public_id FROM units WHERE id = ?1")?
            .query_row([row.get().cast_signed()], |row| row.get(0))
            .optional()
    })
}

fn row_of(memory: &MemoryRead<'_>, id: &str) -> Result<Option<RowId>> {
    memory.sql("look up a unit", |tx| {
        tx.prepare_cached("SELECT id FROM units WHERE public_id = ?1")?
            .query_row([id], |row| row.get(0).map(RowId::new))
            .optional()
    })
}

/// Those that are there.
fn given<T>(all: impl Iterator<Item = Result<Option<T>>>) -> Result<Vec<T>> {
    all.filter_map(Result::transpose).collect()
}
