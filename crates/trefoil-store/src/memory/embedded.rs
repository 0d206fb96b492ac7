//! What is embedded of a unit, and when it is embedded again.
//!
//! Before a message stands the one before it in its session: an answer seldom repeats what
//! was asked, and a question asks for both. On conversations this was worth .06 Recall@10.
//! Only a message of the same class stands there, so that the vector of what a reader may
//! see says nothing of what he may not; and when it goes, it goes from the vector after it.

use rusqlite::{Connection, OptionalExtension, params};
use trefoil_core::{Change, Collection, RowId};

use super::{EpisodePayload, MemoryUnit, MemoryWrite, Payload, unit};
use crate::{
    WriteTx,
    change::log,
    embedding,
    id::{hex, sha256},
};

/// Most characters of the message before; of a longer one its end.
const CONTEXT: usize = 400;

/// What an episode of this kind is: something that was said.
pub(super) const MESSAGE: &str = "message";

/// What is embedded of a unit of memory, if it is one.
pub(crate) fn text_of(tx: &Connection, row: RowId) -> rusqlite::Result<Option<String>> {
    let Some(unit) = unit::by_row(tx, row)? else { return Ok(None) };
    let alone = unit.payload.searched();
    let text = in_context(tx, &unit, alone.clone())?;
    // What was written before messages had a context is embedded without it.
    let is_known = known(tx, row)?.is_some_and(|known| known == hash_of(&text));
    Ok(Some(if is_known { text } else { alone }))
}

/// Who embeds, and when.
pub(super) struct Embedding<'t> {
    pub(super) tx: &'t WriteTx<'t>,
    pub(super) now: i64,
    /// The key of the vector space, if there is a model.
    pub(super) space: Option<&'t str>,
}

impl MemoryWrite<'_> {
    /// Embeds what this transaction writes.
    pub(super) fn embedding<'t>(&'t self, tx: &'t WriteTx<'t>) -> Embedding<'t> {
        Embedding { tx, now: self.now, space: self.space.as_deref() }
    }
}

impl Embedding<'_> {
    /// Has a unit that was written embedded, and the message after it.
    pub(super) fn follow(&self, unit: &MemoryUnit) -> rusqlite::Result<()> {
        self.refresh(unit)?;
        next(self.tx, unit)?.map_or(Ok(()), |next| self.refresh(&next))
    }

    /// Has a unit embedded if what is embedded of it has changed. Of what is out of the
    /// indexes, or was scrubbed, no vector is left.
    pub(super) fn refresh(&self, unit: &MemoryUnit) -> rusqlite::Result<()> {
        let text = Some(unit.payload.searched());
        let text = text.filter(|text| !unit.unit.is_hidden() && !text.is_empty());
        let text = text.map(|text| in_context(self.tx, unit, text)).transpose()?;
        let (wanted, known) = (text.as_deref().map(hash_of), known(self.tx, unit.row)?);
        if wanted == known {
            return Ok(());
        }
        self.tx
            .prepare_cached("UPDATE units SET embedding_hash = ?2 WHERE id = ?1")?
            .execute(params![unit.row.get().cast_signed(), wanted])?;
        if let Some(hash) = wanted {
            embedding::want(self.tx, self.now, self.space, Collection::Memory, unit.row, &hash)?;
        }
        known.map_or(Ok(()), |hash| embedding::drop_unused(self.tx, &hash))
    }

    /// Logs the vector of a unit again, where it has one: its class has changed, so a node that is
    /// given units up to a class only gets it, or has it no more.
    pub(super) fn tell_again(&self, unit: &MemoryUnit) -> rusqlite::Result<()> {
        let row = unit.row;
        match known(self.tx, row)? {
            Some(hash) if embedding::is_cached(self.tx, self.space, row, &hash)? => {
                log(self.tx, Change::Vector(row))
            }
            _ => Ok(()),
        }
    }
}

/// The message after a message of a session.
pub(super) fn next(tx: &Connection, unit: &MemoryUnit) -> rusqlite::Result<Option<MemoryUnit>> {
    let sql = "SELECT min(unit_id) FROM payload_episode WHERE session_id = ?1 AND unit_id > ?2";
    neighbour(tx, unit, sql)
}

/// `text` of a unit, after the message before it.
fn in_context(tx: &Connection, unit: &MemoryUnit, text: String) -> rusqlite::Result<String> {
    let sql = "SELECT max(unit_id) FROM payload_episode WHERE session_id = ?1 AND unit_id < ?2";
    let before = neighbour(tx, unit, sql)?
        .filter(|before| !before.unit.is_hidden() && before.unit.boundary == unit.unit.boundary);
    let context = before.map(|before| before.payload.text()).unwrap_or_default();
    if context.is_empty() {
        return Ok(text);
    }
    let cut = context.char_indices().rev().nth(CONTEXT - 1).map_or(0, |(at, _)| at);
    Ok(format!("{}\n{text}", context.get(cut..).unwrap_or_default().trim_start()))
}

/// The message that `sql` finds next to a message of a session; none if an episode of another
/// kind stands there.
fn neighbour(
    tx: &Connection,
    unit: &MemoryUnit,
    sql: &str,
) -> rusqlite::Result<Option<MemoryUnit>> {
    let Some(session) = session(&unit.payload) else { return Ok(None) };
    let row: Option<i64> = tx
        .prepare_cached(sql)?
        .query_row(params![session, unit.row.get().cast_signed()], |columns| columns.get(0))?;
    let Some(row) = row.and_then(|row| u64::try_from(row).ok()) else { return Ok(None) };
    Ok(unit::by_row(tx, RowId::new(row))?.filter(|other| self::session(&other.payload).is_some()))
}

/// The session of a message.
fn session(payload: &Payload) -> Option<&str> {
    let Payload::Episode(EpisodePayload { session, observation_kind, .. }) = payload else {
        return None;
    };
    session.as_deref().filter(|_| observation_kind.as_deref() == Some(MESSAGE))
}

/// The hash of what is embedded of a unit, if anything is.
pub(super) fn known(tx: &Connection, row: RowId) -> rusqlite::Result<Option<String>> {
    let hash = tx
        .prepare_cached("SELECT embedding_hash FROM units WHERE id = ?1")?
        .query_row([row.get().cast_signed()], |columns| columns.get(0))
        .optional()?;
    Ok(hash.flatten())
}

fn hash_of(text: &str) -> String {
    hex(&sha256(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use trefoil_core::{BoundaryClass, UnitState};

    use super::*;
    use crate::{
        EmbedSource,
        fixture::{Fixture, vector},
        memory::{MemoryWrite, PatchReason, SessionRow, UnitRow},
    };

    fn session(fixture: &Fixture) {
        let session = SessionRow {
            id: "ses_1".to_owned(),
            project_path: "/work".to_owned(),
            started_at: 1,
            ended_at: None,
            summary: None,
            owner: None,
            token_count: 0,
        };
        fixture.store.memory_write("test", |write| write.put_session(&session)).unwrap();
    }

    fn put(fixture: &Fixture, unit: &UnitRow, text: &str, kind: &str) -> RowId {
        let episode = EpisodePayload {
            input_text: (!text.is_empty()).then(|| text.to_owned()),
            session: Some("ses_1".to_owned()),
            observation_kind: Some(kind.to_owned()),
            ..EpisodePayload::default()
        };
        let payload = Payload::Episode(episode);
        let put =
            |write: &MemoryWrite<'_>| write.put_unit(unit, &payload, PatchReason::ExtractUpdate);
        fixture.store.memory_write("test", put).unwrap()
    }

    fn say(fixture: &Fixture, id: &str, text: &str) -> RowId {
        put(fixture, &UnitRow::new(id, 10), text, MESSAGE)
    }

    /// Embeds what waits, and tells of what.
    fn embed(fixture: &Fixture) -> Vec<(RowId, String)> {
        let jobs = fixture.store.claim_embed_jobs(9, 60).unwrap();
        let done: Vec<_> =
            jobs.iter().map(|job| (job.job, job.row, vector(job.row).into())).collect();
        fixture.store.finish_embed_jobs(&done).unwrap();
        let text = |source| match source {
            EmbedSource::Text(text) => text,
            EmbedSource::Chunk(chunk) => panic!("{chunk:?} is no unit of memory"),
        };
        jobs.into_iter().map(|job| (job.row, text(job.source))).collect()
    }

    fn asked_and_answered() -> (Fixture, RowId, RowId) {
        let fixture = Fixture::new();
        fixture.store.set_fingerprint("model").unwrap();
        session(&fixture);
        let asked = say(&fixture, "obs_1", "What do you drink?");
        let answered = say(&fixture, "obs_2", "Green tea.");
        let expected = [
            (asked, "What do you drink?".into()),
            (answered, "What do you drink?\nGreen tea.".into()),
        ];
        assert_eq!(embed(&fixture), expected);
        (fixture, asked, answered)
    }

    #[test]
    fn a_message_is_embedded_after_the_one_before_it() {
        let (fixture, ..) = asked_and_answered();
        let tool = put(&fixture, &UnitRow::new("obs_3", 10), "cargo test", "bash");
        let after = say(&fixture, "obs_4", "It passes.");
        let long = say(&fixture, "obs_5", &"長".repeat(CONTEXT + 9));
        let last = say(&fixture, "obs_6", "End.");
        let expected = [
            (tool, "cargo test".to_owned()),
            (after, "It passes.".to_owned()),
            (long, format!("It passes.\n{}", "長".repeat(CONTEXT + 9))),
            (last, format!("{}\nEnd.", "長".repeat(CONTEXT))),
        ];
        assert_eq!(embed(&fixture), expected);
    }

    #[test]
    fn a_message_of_another_class_is_no_context() {
        let (fixture, ..) = asked_and_answered();
        let boundary = BoundaryClass::Pii;
        let private = UnitRow { boundary, ..UnitRow::new("obs_3", 10) };
        let told = put(&fixture, &private, "My number is 555.", MESSAGE);
        let after = say(&fixture, "obs_4", "Thanks.");
        let expected = [(told, "My number is 555.".into()), (after, "Thanks.".into())];
        assert_eq!(embed(&fixture), expected);
        // As soon as it is of the same class, it is.
        put(&fixture, &UnitRow::new("obs_3", 10), "My number is 555.", MESSAGE);
        let expected = [
            (told, "Green tea.\nMy number is 555.".into()),
            (after, "My number is 555.\nThanks.".into()),
        ];
        assert_eq!(embed(&fixture), expected);
    }

    #[test]
    fn what_goes_leaves_the_vector_of_what_was_said_next() {
        type Goes = fn(&Fixture, RowId);
        let removed: Goes = |fixture, row| {
            fixture.store.memory_write("test", |write| write.remove_units(&[row])).unwrap();
        };
        let scrubbed: Goes = |fixture, _| _ = put(fixture, &UnitRow::new("obs_1", 10), "", MESSAGE);
        let archived: Goes = |fixture, _| {
            let state = UnitState::Archived;
            let unit = UnitRow { state, ..UnitRow::new("obs_1", 10) };
            put(fixture, &unit, "What do you drink?", MESSAGE);
        };
        for goes in [removed, scrubbed, archived] {
            let (fixture, asked, answered) = asked_and_answered();
            goes(&fixture, asked);
            assert_eq!(fixture.store.stats().unwrap().cached_embeddings, 0);
            assert_eq!(embed(&fixture), [(answered, "Green tea.".to_owned())]);
            assert_eq!(fixture.store.stats().unwrap().cached_embeddings, 1);
        }
    }
}
