use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, Result, RowId, UnitState};

use super::{MemoryRead, MemoryWrite, embedded::MESSAGE};
use crate::{codec::row_ids, fault::unreadable};

/// What speaks for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceRow {
    /// Public id.
    pub id: String,
    /// The claim.
    pub claim: RowId,
    /// The observation that tells it.
    pub observation: Option<RowId>,
    /// `rule`, `llm` or `manual`.
    pub method: String,
    /// What else there is to say.
    pub note: Option<String>,
    /// When it was found.
    pub created_at: i64,
}

/// How a claim stands to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkRelation {
    /// Both cannot be so.
    Contradicts,
    /// It takes the other's place.
    Supersedes,
    /// It says the same.
    Duplicates,
}

impl LinkRelation {
    const ALL: [Self; 3] = [Self::Contradicts, Self::Supersedes, Self::Duplicates];

    /// As the store writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Contradicts => "contradicts",
            Self::Supersedes => "supersedes",
            Self::Duplicates => "duplicates",
        }
    }
}

/// A link from a claim to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimLink {
    /// The claim.
    pub claim: RowId,
    /// The other one.
    pub other: RowId,
    /// How the first stands to the other.
    pub relation: LinkRelation,
    /// When it was found.
    pub created_at: i64,
}

/// A message of a session that tells a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TellingMessage {
    /// The claim.
    pub claim: RowId,
    /// The message.
    pub message: RowId,
    /// The message before it that its vectors hold too, if one may.
    pub before: Option<RowId>,
}

impl MemoryRead<'_> {
    /// The messages of sessions that tell claims, of these classes and neither archived nor secret:
    /// claim by claim, the latest last.
    pub fn messages_of(
        &self,
        claims: &[RowId],
        classes: &[BoundaryClass],
    ) -> Result<Vec<TellingMessage>> {
        let claims: Vec<u64> = claims.iter().map(|claim| claim.get()).collect();
        let classes: Vec<u8> = classes.iter().map(|class| class.code()).collect();
        let [claims, classes] = [serde_json::Value::from(claims), serde_json::Value::from(classes)]
            .map(|all| all.to_string());
        self.sql("read what tells claims", |tx| {
            tx.prepare_cached(
                "SELECT DISTINCT v.claim_unit_id, u.id, ub.id
                 FROM json_each(?1) AS asked
                 JOIN evidences v ON v.claim_unit_id = asked.value
                 JOIN units u ON u.id = v.observation_unit_id AND u.state <> ?4 AND u.boundary <> ?5
                      AND u.boundary IN (SELECT value FROM json_each(?2))
                 JOIN payload_episode e ON e.unit_id = u.id AND e.observation_kind = ?3
                 LEFT JOIN payload_episode b ON b.observation_kind = ?3 AND b.unit_id = (
                      SELECT max(unit_id) FROM payload_episode
                      WHERE session_id = e.session_id AND unit_id < e.unit_id)
                 LEFT JOIN units ub ON ub.id = b.unit_id AND ub.state <> ?4
                      AND ub.boundary = u.boundary
                 WHERE e.session_id IS NOT NULL
                 ORDER BY 1, 2",
            )?
            .query_map(
                params![
                    claims,
                    classes,
                    MESSAGE,
                    UnitState::Archived.code(),
                    BoundaryClass::Secret.code()
                ],
                |row| {
                    let before: Option<u64> = row.get(2)?;
                    Ok(TellingMessage {
                        claim: RowId::new(row.get(0)?),
                        message: RowId::new(row.get(1)?),
                        before: before.map(RowId::new),
                    })
                },
            )?
            .collect()
        })
    }

    /// What speaks for a claim, in the order in which it was found.
    pub fn evidences(&self, claim: RowId) -> Result<Vec<EvidenceRow>> {
        self.sql("read evidence", |tx| {
            tx.prepare_cached(
                "SELECT public_id, claim_unit_id, observation_unit_id, method, note, created_at
                 FROM evidences WHERE claim_unit_id = ?1 ORDER BY id",
            )?
            .query_map([claim.get().cast_signed()], evidence)?
            .collect()
        })
    }

    /// The links from and to a claim.
    pub fn claim_links(&self, claim: RowId) -> Result<Vec<ClaimLink>> {
        self.sql("read the links of a claim", |tx| {
            tx.prepare_cached(
                "SELECT claim_unit_id, other_unit_id, relation, created_at FROM claim_links
                 WHERE claim_unit_id = ?1 OR other_unit_id = ?1
                 ORDER BY claim_unit_id, other_unit_id, relation",
            )?
            .query_map([claim.get().cast_signed()], link)?
            .collect()
        })
    }

    /// What a unit was made from.
    pub fn sources_of(&self, row: RowId) -> Result<Vec<RowId>> {
        let sql = "SELECT source_unit_id FROM unit_sources WHERE unit_id = ?1 ORDER BY 1";
        self.related("read the sources of a unit", sql, row)
    }

    /// What was made from a unit.
    pub fn made_from(&self, row: RowId) -> Result<Vec<RowId>> {
        let sql = "SELECT unit_id FROM unit_sources WHERE source_unit_id = ?1 ORDER BY 1";
        self.related("read what was made from a unit", sql, row)
    }

    fn related(&self, doing: &'static str, sql: &str, row: RowId) -> Result<Vec<RowId>> {
        self.sql(doing, |tx| row_ids(tx, sql, [row.get().cast_signed()]))
    }
}

impl MemoryWrite<'_> {
    /// Keeps what speaks for a claim, also as one of its sources; one with a known id is kept
    /// as it is.
    pub fn add_evidence(&self, evidence: &EvidenceRow) -> Result<()> {
        self.sql("store evidence", |tx| {
            let observation = evidence.observation.map(|row| row.get().cast_signed());
            tx.prepare_cached(
                "INSERT INTO evidences (public_id, claim_unit_id, observation_unit_id, method, note,
                        created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (public_id) DO NOTHING",
            )?
            .execute(params![
                evidence.id,
                evidence.claim.get().cast_signed(),
                observation,
                evidence.method,
                evidence.note,
                evidence.created_at,
            ])?;
            Ok(())
        })?;
        match evidence.observation {
            Some(observation) => self.add_source(evidence.claim, observation),
            None => Ok(()),
        }
    }

    /// Gives the evidence of `from` to `to`, as when both are merged.
    pub fn move_evidences(&self, from: RowId, to: RowId) -> Result<usize> {
        self.sql("move evidence", |tx| {
            let rows = [from.get().cast_signed(), to.get().cast_signed()];
            tx.prepare_cached(
                "INSERT INTO unit_sources SELECT ?2, source_unit_id FROM unit_sources
                 WHERE unit_id = ?1 AND source_unit_id <> ?2 ON CONFLICT DO NOTHING",
            )?
            .execute(rows)?;
            tx.prepare_cached("UPDATE evidences SET claim_unit_id = ?2 WHERE claim_unit_id = ?1")?
                .execute(rows)
        })
    }

    /// Notes what a unit was made from.
    pub fn add_source(&self, row: RowId, source: RowId) -> Result<()> {
        self.sql("note the source of a unit", |tx| {
            tx.prepare_cached("INSERT INTO unit_sources VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute([row.get().cast_signed(), source.get().cast_signed()])?;
            Ok(())
        })
    }

    /// Links a claim to another; a link that is there is kept as it is.
    pub fn link_claims(&self, claim: RowId, other: RowId, relation: LinkRelation) -> Result<()> {
        self.sql("link claims", |tx| {
            tx.prepare_cached(
                "INSERT INTO claim_links VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
            )?
            .execute(params![
                claim.get().cast_signed(),
                other.get().cast_signed(),
                relation.as_str(),
                self.now()
            ])?;
            Ok(())
        })
    }
}

fn evidence(columns: &Row<'_>) -> rusqlite::Result<EvidenceRow> {
    Ok(EvidenceRow {
        id: columns.get(0)?,
        claim: RowId::new(columns.get(1)?),
        observation: columns.get::<_, Option<u64>>(2)?.map(RowId::new),
        method: columns.get(3)?,
        note: columns.get(4)?,
        created_at: columns.get(5)?,
    })
}

fn link(columns: &Row<'_>) -> rusqlite::Result<ClaimLink> {
    let word = columns.get_ref(2)?.as_str()?;
    let relation = LinkRelation::ALL.into_iter().find(|one| one.as_str() == word);
    Ok(ClaimLink {
        claim: RowId::new(columns.get(0)?),
        other: RowId::new(columns.get(1)?),
        relation: relation.ok_or_else(|| unreadable(2, format!("`{word}` is no relation")))?,
        created_at: columns.get(3)?,
    })
}
