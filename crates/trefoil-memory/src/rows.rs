//! Claims, observations and what belongs to them as rows of the store, and back.

use std::str::FromStr;

use jiff::Timestamp;
use trefoil::{
    Error, Part, Result, Score,
    index::RowId,
    memory::{
        AffectRow, ClaimId, ClaimPayload, EpisodePayload, FeedbackRow, MemoryUnit, Payload,
        SessionRow, UnitRow,
    },
};

use crate::{
    Affect, Claim, Compressor, Feedback, Importance, Observation, ObservationKind, OpenLoop,
    Rating, Reflection, Session, SourceType, SummaryBody, Tags, Ttl, Unit,
};

/// A claim as its rows.
pub(crate) fn of_claim(claim: &Claim) -> Result<(UnitRow, Payload)> {
    let payload = ClaimPayload {
        text: claim.text.clone(),
        kind: claim.kind.to_string(),
        scope: claim.scope.to_string(),
        session: claim.session.as_ref().map(ToString::to_string),
        origin_json: to_json(&claim.origin)?,
        quality: wide(claim.quality),
        utility: claim.utility,
        recency: wide(claim.recency),
        recency_anchor: claim.recency_anchor.as_second(),
        decayed_at: claim.decayed_at.as_second(),
        content_hash: claim.content_hash.to_string(),
        sources: claim.sources.iter().map(ToString::to_string).collect(),
        epistemic_status: claim.epistemic_status.to_string(),
        last_verified_at: claim.last_verified_at.as_second(),
        ttl: claim.ttl.seconds(),
        importance: claim.importance.code(),
        subject: claim.subject.clone(),
        predicate: claim.predicate.clone(),
        object: claim.object.clone(),
        valid_from: claim.valid_from.map(Timestamp::as_second),
        valid_to: claim.valid_to.map(Timestamp::as_second),
        provenance_json: claim.provenance.as_ref().map(to_json).transpose()?,
    };
    Ok((of_unit(&claim.unit()), Payload::Claim(payload)))
}

/// The claim of rows; absent if they are of something else.
pub(crate) fn to_claim(stored: &MemoryUnit) -> Result<Option<Claim>> {
    let Payload::Claim(row) = &stored.payload else { return Ok(None) };
    let unit = &stored.unit;
    Ok(Some(Claim {
        id: parse(&unit.id)?,
        text: row.text.clone(),
        kind: parse(&row.kind)?,
        scope: parse(&row.scope)?,
        boundary_class: unit.boundary,
        origin: from_json(&row.origin_json)?,
        quality: narrow(row.quality),
        confidence: narrow(unit.confidence),
        utility: row.utility,
        recency: narrow(row.recency),
        content_hash: parse(&row.content_hash)?,
        sources: row.sources.iter().map(|tag| parse(tag)).collect::<Result<_>>()?,
        epistemic_status: parse(&row.epistemic_status)?,
        last_verified_at: time(row.last_verified_at)?,
        ttl: Ttl::from_seconds(row.ttl)?,
        importance: importance(row.importance)?,
        subject: row.subject.clone(),
        predicate: row.predicate.clone(),
        object: row.object.clone(),
        valid_from: row.valid_from.map(time).transpose()?,
        valid_to: row.valid_to.map(time).transpose()?,
        created_at: time(unit.created_at)?,
        updated_at: time(unit.updated_at)?,
        occurred_at: unit.occurred_at.map(time).transpose()?,
        recency_anchor: time(row.recency_anchor)?,
        decayed_at: time(row.decayed_at)?,
        session: row.session.as_deref().map(parse).transpose()?,
        state: unit.state,
        salience: narrow(unit.salience),
        pin: unit.pin,
        tags: Tags::new(&unit.tags)?,
        provenance: row.provenance_json.as_deref().map(from_json).transpose()?,
    }))
}

/// The claims among units, in order.
pub(crate) fn to_claims(stored: &[MemoryUnit]) -> Result<Vec<Claim>> {
    stored.iter().filter_map(|unit| to_claim(unit).transpose()).collect()
}

/// What `read` makes of a unit, if there is one.
pub(crate) fn body<T>(
    stored: Option<&MemoryUnit>,
    read: impl FnOnce(&MemoryUnit) -> Result<Option<T>>,
) -> Result<Option<T>> {
    stored.map_or(Ok(None), read)
}

/// What a stored unit has in common with others.
pub(crate) fn to_unit(stored: &MemoryUnit) -> Result<Unit> {
    let row = &stored.unit;
    let affect = |affect: &AffectRow| -> Result<Affect> {
        Ok(Affect { label: parse(&affect.label)?, intensity: narrow(affect.intensity) })
    };
    Ok(Unit {
        occurred_at: row.occurred_at.map(time).transpose()?,
        updated_at: time(row.updated_at)?,
        source: row.source.clone(),
        state: row.state,
        confidence: narrow(row.confidence),
        salience: narrow(row.salience),
        boundary: row.boundary,
        pin: row.pin,
        tags: Tags::new(&row.tags)?,
        affect: row.affect.as_ref().map(affect).transpose()?,
        ..Unit::new(parse(&row.id)?, stored.payload.kind(), time(row.created_at)?)
    })
}

/// An observation of so many tokens as its rows.
pub(crate) fn of_observation(
    observation: &Observation,
    tokens: usize,
) -> Result<(UnitRow, Payload)> {
    let payload = EpisodePayload {
        input_text: Some(observation.content.clone()),
        reply_text: observation.reply_text.clone(),
        image_summary: observation.image_summary.clone(),
        context_note: observation.context_note.as_ref().map(to_json).transpose()?,
        content_compressed: Compressor
            .should_compress(observation)
            .then(|| Compressor.compress(observation)),
        observation_kind: Some(observation.kind.to_string()),
        source_type: Some(observation.source_type.to_string()),
        source_id: observation.source_id.clone(),
        session: observation.session.as_ref().map(ToString::to_string),
        actor: observation.actor.clone(),
        expires_at: Some(observation.expires_at().as_second()),
        token_count: tokens as u64,
        ..EpisodePayload::default()
    };
    Ok((of_unit(&observation.unit()), Payload::Episode(payload)))
}

/// The observation of rows; absent if they are of something else, or its content was scrubbed.
pub(crate) fn to_observation(stored: &MemoryUnit) -> Result<Option<Observation>> {
    let Payload::Episode(row) = &stored.payload else { return Ok(None) };
    let unit = &stored.unit;
    let Some(content) = row.input_text.clone() else { return Ok(None) };
    let lifetime = row.expires_at.unwrap_or(unit.created_at).saturating_sub(unit.created_at);
    let lifetime_days = u8::try_from(lifetime / 86_400).unwrap_or(Observation::MAX_LIFETIME_DAYS);
    Ok(Some(Observation {
        id: parse(&unit.id)?,
        kind: row.observation_kind.as_deref().map_or(Ok(ObservationKind::Message), parse)?,
        source_type: row.source_type.as_deref().map_or(Ok(SourceType::Chat), parse)?,
        source_id: row.source_id.clone(),
        session: row.session.as_deref().map(parse).transpose()?,
        content,
        reply_text: row.reply_text.clone(),
        image_summary: row.image_summary.clone(),
        context_note: row.context_note.as_deref().map(from_json).transpose()?,
        actor: row.actor.clone(),
        proactive: unit.source.as_deref() == Some(Observation::PROACTIVE),
        tags: Tags::new(&unit.tags)?,
        boundary_class: unit.boundary,
        lifetime_days,
        occurred_at: unit.occurred_at.map(time).transpose()?,
        created_at: time(unit.created_at)?,
    }))
}

/// What reflection made of an observation; absent for other units, and before its turn.
pub(crate) fn to_reflection(stored: &MemoryUnit) -> Result<Option<Reflection>> {
    let Payload::Episode(row) = &stored.payload else { return Ok(None) };
    row.reflection_json.as_deref().map(from_json).transpose()
}

/// A summary in parts; absent for other units, and for summaries that were made without.
pub(crate) fn to_summary(stored: &MemoryUnit) -> Result<Option<SummaryBody>> {
    let Payload::Summary(row) = &stored.payload else { return Ok(None) };
    row.json.as_deref().map(from_json).transpose()
}

/// A session as its row.
pub(crate) fn of_session(session: &Session) -> SessionRow {
    SessionRow {
        id: session.id.to_string(),
        project_path: session.project_path.clone(),
        started_at: session.started_at.as_second(),
        ended_at: session.ended_at.map(Timestamp::as_second),
        summary: session.summary.clone(),
        owner: session.owner.clone(),
        token_count: session.token_count,
    }
}

/// The session of a row.
pub(crate) fn to_session(row: &SessionRow) -> Result<Session> {
    Ok(Session {
        id: parse(&row.id)?,
        project_path: row.project_path.clone(),
        started_at: time(row.started_at)?,
        ended_at: row.ended_at.map(time).transpose()?,
        summary: row.summary.clone(),
        owner: row.owner.clone(),
        token_count: row.token_count,
    })
}

/// The loop of rows; absent if they are of something else.
pub(crate) fn to_loop(stored: &MemoryUnit) -> Result<Option<OpenLoop>> {
    let Payload::Loop(row) = &stored.payload else { return Ok(None) };
    Ok(Some(OpenLoop {
        id: parse(&stored.unit.id)?,
        text: row.text.clone(),
        due_at: row.due_at.map(time).transpose()?,
        expires_at: time(row.expires_at)?,
        boundary_class: stored.unit.boundary,
        created_at: time(stored.unit.created_at)?,
    }))
}

/// What a row says of a claim.
pub(crate) fn to_feedback(row: &FeedbackRow, claim: &ClaimId) -> Result<Feedback> {
    #[expect(clippy::cast_possible_truncation, reason = "a rating is kept in single precision")]
    let rating = |score: f64| Rating::new(score as f32);
    Ok(Feedback {
        id: parse(&row.id)?,
        claim_id: claim.clone(),
        ts: time(row.ts)?,
        signal: parse(&row.signal)?,
        score: row.score.map(rating).transpose()?,
    })
}

/// The row that a job is about.
pub(crate) fn job_row(payload_json: &str) -> Result<RowId> {
    #[derive(serde::Deserialize)]
    struct About {
        row: RowId,
    }
    from_json(payload_json).map(|About { row }| row)
}

fn of_unit(unit: &Unit) -> UnitRow {
    UnitRow {
        occurred_at: unit.occurred_at.map(Timestamp::as_second),
        updated_at: unit.updated_at.as_second(),
        source: unit.source.clone(),
        state: unit.state,
        confidence: wide(unit.confidence),
        salience: wide(unit.salience),
        boundary: unit.boundary,
        pin: unit.pin,
        tags: unit.tags.iter().map(str::to_owned).collect(),
        affect: unit.affect.map(|Affect { label, intensity }| AffectRow {
            label: label.to_string(),
            intensity: wide(intensity),
        }),
        ..UnitRow::new(unit.id.as_str(), unit.created_at.as_second())
    }
}

fn importance(number: u8) -> Result<Importance> {
    Importance::from_code(number).ok_or_else(|| corrupt(format!("{number} is no importance")))
}

fn wide(score: Score) -> f64 {
    f64::from(score.get())
}

#[expect(clippy::cast_possible_truncation, reason = "a score is kept in single precision")]
pub(crate) fn narrow(score: f64) -> Score {
    Score::clamped(score as f32)
}

pub(crate) fn time(second: i64) -> Result<Timestamp> {
    Timestamp::from_second(second).map_err(|_| corrupt(format!("{second} is no time")))
}

fn parse<T: FromStr<Err = Error>>(text: &str) -> Result<T> {
    text.parse().map_err(|error: Error| corrupt(error.to_string()))
}

pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    serde_json::to_string(value).map_err(|error| Error::backend(Part::Store, "write JSON", error))
}

pub(crate) fn from_json<T: serde::de::DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| corrupt(error.to_string()))
}

fn corrupt(reason: String) -> Error {
    Error::Corrupt { part: Part::Store, reason }
}
