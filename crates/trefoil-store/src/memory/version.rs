use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, params};
use serde_json::Value;
use trefoil_core::{Result, RowId};

use super::{MemoryRead, MemoryUnit};
use crate::{
    WriteTx,
    fault::unreadable,
    id::{hex, sha256},
};

/// Why a unit was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchReason {
    /// A look back at it.
    Reflect,
    /// Something was extracted.
    ExtractUpdate,
    /// It was integrated with what was there.
    IntegrateMerge,
    /// Somebody said what it is worth.
    Feedback,
    /// Time has passed.
    Decay,
    /// It was not verified for too long.
    Downgrade,
    /// It was summarised, or is a summary.
    Summarize,
    /// A person changed what is known of it.
    AdminUpdateUnitMeta,
    /// Something that it rested on was forgotten.
    Forget,
}

impl PatchReason {
    /// As the store writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reflect => "reflect",
            Self::ExtractUpdate => "extract_update",
            Self::IntegrateMerge => "integrate_merge",
            Self::Feedback => "feedback",
            Self::Decay => "decay",
            Self::Downgrade => "downgrade",
            Self::Summarize => "summarize",
            Self::AdminUpdateUnitMeta => "admin_update_unit_meta",
            Self::Forget => "forget",
        }
    }
}

/// One version of a unit: what it was is not kept, only that it was another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitVersion {
    /// Its number, from 1.
    pub version: u32,
    /// The one before.
    pub parent: Option<u32>,
    /// Why it was made; one of [`PatchReason`].
    pub patch_reason: String,
    /// SHA-256 of the unit as canonical JSON.
    pub payload_hash: String,
    /// When it was made.
    pub created_at: i64,
}

impl MemoryRead<'_> {
    /// The versions of a unit, the oldest first.
    pub fn versions(&self, row: RowId) -> Result<Vec<UnitVersion>> {
        self.sql("read the versions of a unit", |tx| {
            tx.prepare_cached(
                "SELECT version, parent_version, patch_reason, payload_hash, created_at
                 FROM unit_versions WHERE unit_id = ?1 ORDER BY version",
            )?
            .query_map([row.get().cast_signed()], |columns| {
                Ok(UnitVersion {
                    version: columns.get(0)?,
                    parent: columns.get(1)?,
                    patch_reason: columns.get(2)?,
                    payload_hash: columns.get(3)?,
                    created_at: columns.get(4)?,
                })
            })?
            .collect()
        })
    }
}

/// Adds a version, unless the last one has the same content.
pub(super) fn append(
    tx: &WriteTx<'_>,
    unit: &MemoryUnit,
    reason: PatchReason,
    now: i64,
) -> rusqlite::Result<()> {
    let hash = content_hash(unit)?;
    let row = unit.row.get().cast_signed();
    let last: Option<(u32, String)> = tx
        .prepare_cached(
            "SELECT version, payload_hash FROM unit_versions WHERE unit_id = ?1
             ORDER BY version DESC LIMIT 1",
        )?
        .query_row([row], |columns| Ok((columns.get(0)?, columns.get(1)?)))
        .optional()?;
    if last.as_ref().is_some_and(|(_, known)| *known == hash) {
        return Ok(());
    }
    let parent = last.map(|(version, _)| version);
    tx.prepare_cached("INSERT INTO unit_versions VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?
        .execute(params![row, parent.unwrap_or(0) + 1, parent, reason.as_str(), hash, now])?;
    Ok(())
}

/// SHA-256 of the unit as JSON with sorted keys and without white space; when it was last
/// changed is no part of it.
pub(crate) fn content_hash(unit: &MemoryUnit) -> rusqlite::Result<String> {
    let unreadable = |error: serde_json::Error| unreadable(0, error);
    let mut value = serde_json::to_value(unit).map_err(unreadable)?;
    if let Some(unit) = value.get_mut("unit").and_then(Value::as_object_mut) {
        unit.remove("updated_at");
    }
    let json = serde_json::to_vec(&canonical(value)).map_err(unreadable)?;
    Ok(hex(&sha256(&json)))
}

/// The same with the keys of every object sorted.
fn canonical(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<String, Value> =
                map.into_iter().map(|(key, value)| (key, canonical(value))).collect();
            Value::Object(sorted.into_iter().collect())
        }
        Value::Array(values) => Value::Array(values.into_iter().map(canonical).collect()),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other,
    }
}
