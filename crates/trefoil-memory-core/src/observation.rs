//! Observations: what happened, as it was told.

mod compress;
mod context_note;
mod open_loop;
mod reflect;
mod session;

pub use self::{compress::*, context_note::*, open_loop::*, reflect::*, session::*};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil_core::{
    BoundaryClass, Error, ObservationId, ObservationKind, Result, SessionId, SourceType, UnitKind,
};

use crate::{Tags, Unit, UnitId, unit::whole_seconds};
use trefoil_policy::{Requester, Ttl};

/// Something that happened, as it was told; never altered, only erased as a whole.
///
/// Made from an [`ObservationDraft`], which checks all limits; its JSON is read in the same
/// way.
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", try_from = "ObservationDraft")]
pub struct Observation {
    /// Its id.
    pub id: ObservationId,
    /// What was observed.
    pub kind: ObservationKind,
    /// Where it comes from.
    pub source_type: SourceType,
    /// Which of its kind: a path, an address, a tool; at most 2,048 bytes.
    pub source_id: Option<String>,
    /// The session in which it happened.
    pub session: Option<SessionId>,
    /// What was told, 1–65,536 bytes.
    pub content: String,
    /// What was answered, in a turn of a conversation; 1–65,536 bytes.
    pub reply_text: Option<String>,
    /// What a picture that came with it shows; 1–65,536 bytes.
    pub image_summary: Option<String>,
    /// The circumstances in which it was told.
    pub context_note: Option<ContextNote>,
    /// Who told it, at most 512 bytes.
    pub actor: Option<String>,
    /// Whether the program said it unasked, such as a reminder: it is found like others, and
    /// nothing is learnt from it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub proactive: bool,
    /// Its labels.
    #[serde(skip_serializing_if = "Tags::is_empty")]
    pub tags: Tags,
    /// Who may see it.
    pub boundary_class: BoundaryClass,
    /// For how many days its content is kept, 1–90.
    pub lifetime_days: u8,
    /// When it happened.
    pub occurred_at: Option<Timestamp>,
    /// When it was written.
    pub created_at: Timestamp,
}

impl Observation {
    /// The source of the unit of a message that the program sent unasked.
    pub const PROACTIVE: &str = "proactive";
    /// Most bytes of what was told, of what was answered and of what a picture shows.
    pub const MAX_CONTENT: usize = 65_536;
    /// Most bytes of a source's id.
    pub const MAX_SOURCE_ID: usize = 2_048;
    /// Most bytes of an actor.
    pub const MAX_ACTOR: usize = 512;
    /// For how many days content is kept where nobody says otherwise.
    pub const LIFETIME_DAYS: u8 = 30;
    /// The most days for which content may be kept.
    pub const MAX_LIFETIME_DAYS: u8 = 90;

    /// All that is searched of it: what was told, what was answered, what a picture shows.
    pub fn text(&self) -> String {
        let more = [&self.reply_text, &self.image_summary].into_iter().flatten();
        let parts: Vec<&str> =
            std::iter::once(&self.content).chain(more).map(String::as_str).collect();
        parts.join("\n")
    }

    /// The same with each of its texts as `change` makes it.
    ///
    /// # Errors
    /// The first one of `change`.
    pub fn map_texts(self, change: &mut dyn FnMut(&str) -> Result<String>) -> Result<Self> {
        Ok(Self {
            content: change(&self.content)?,
            reply_text: self.reply_text.map(|text| change(&text)).transpose()?,
            image_summary: self.image_summary.map(|text| change(&text)).transpose()?,
            context_note: self.context_note.map(|note| note.map_texts(change)).transpose()?,
            ..self
        })
    }

    /// Who tells what is learnt from it: its actor, and the tool that it comes from.
    pub fn requester(&self) -> Requester {
        let tool = (self.source_type == SourceType::Tool).then(|| self.source_id.clone());
        Requester { actor: self.actor.clone(), tool: tool.flatten() }
    }

    /// When its content is to be erased.
    pub fn expires_at(&self) -> Timestamp {
        let lifetime = Ttl::days(u32::from(self.lifetime_days)).unwrap_or(Ttl::UNLIMITED);
        lifetime.after(self.created_at).unwrap_or(Timestamp::MAX)
    }

    /// What it has in common with other units.
    pub fn unit(&self) -> Unit {
        let id = UnitId::Observation(self.id.clone());
        Unit {
            occurred_at: self.occurred_at,
            source: Some(if self.proactive {
                Self::PROACTIVE.to_owned()
            } else {
                self.source_type.to_string()
            }),
            boundary: self.boundary_class,
            tags: self.tags.clone(),
            ..Unit::new(id, UnitKind::Episode, self.created_at)
        }
    }
}

/// What somebody says of an observation: only `content` is needed. The fields are those of an
/// [`Observation`].
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are described where an observation has them")]
pub struct ObservationDraft {
    /// Its id, if it has one.
    pub id: Option<ObservationId>,
    #[serde(default)]
    pub kind: ObservationKind,
    #[serde(alias = "source_type", default)]
    pub source_type: SourceType,
    #[serde(alias = "source_id")]
    #[cfg_attr(feature = "schema", schemars(length(max = Observation::MAX_SOURCE_ID)))]
    pub source_id: Option<String>,
    pub session: Option<SessionId>,
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Observation::MAX_CONTENT)))]
    pub content: String,
    #[serde(alias = "reply_text")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Observation::MAX_CONTENT)))]
    pub reply_text: Option<String>,
    #[serde(alias = "image_summary")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = Observation::MAX_CONTENT)))]
    pub image_summary: Option<String>,
    #[serde(alias = "context_note")]
    pub context_note: Option<ContextNote>,
    #[cfg_attr(feature = "schema", schemars(length(max = Observation::MAX_ACTOR)))]
    pub actor: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub proactive: bool,
    #[serde(default)]
    pub tags: Tags,
    #[serde(alias = "boundary_class", default)]
    pub boundary_class: BoundaryClass,
    #[serde(alias = "lifetime_days", default = "lifetime")]
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = Observation::MAX_LIFETIME_DAYS))
    )]
    pub lifetime_days: u8,
    #[serde(alias = "occurred_at")]
    pub occurred_at: Option<Timestamp>,
    /// When it was written; now, if absent.
    #[serde(alias = "created_at")]
    pub created_at: Option<Timestamp>,
}

impl ObservationDraft {
    /// A message of a conversation.
    pub fn message(content: impl Into<String>) -> Self {
        Self {
            id: None,
            kind: ObservationKind::Message,
            source_type: SourceType::Chat,
            source_id: None,
            session: None,
            content: content.into(),
            reply_text: None,
            image_summary: None,
            context_note: None,
            actor: None,
            proactive: false,
            tags: Tags::default(),
            boundary_class: BoundaryClass::Internal,
            lifetime_days: Observation::LIFETIME_DAYS,
            occurred_at: None,
            created_at: None,
        }
    }

    /// A turn of a conversation: what somebody said and what was answered.
    pub fn turn(content: impl Into<String>, reply: impl Into<String>) -> Self {
        Self { reply_text: Some(reply.into()), ..Self::message(content) }
    }

    /// The same with each of its texts as `change` makes it.
    ///
    /// # Errors
    /// The first one of `change`.
    pub fn map_texts(self, change: &mut dyn FnMut(&str) -> Result<String>) -> Result<Self> {
        Ok(Self {
            content: change(&self.content)?,
            reply_text: self.reply_text.map(|text| change(&text)).transpose()?,
            image_summary: self.image_summary.map(|text| change(&text)).transpose()?,
            context_note: self.context_note.map(|note| note.map_texts(change)).transpose()?,
            ..self
        })
    }

    /// The observation, made at `now` and called `id` unless the draft says otherwise.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for a text that is empty or too long, a note outside of its
    /// limits, a source or an actor that is too long, a source whose path leads upwards, or a
    /// lifetime outside 1–90 days.
    pub fn into_observation(self, id: ObservationId, now: Timestamp) -> Result<Observation> {
        self.check()?;
        Ok(Observation {
            id: self.id.unwrap_or(id),
            kind: self.kind,
            source_type: self.source_type,
            source_id: self.source_id,
            session: self.session,
            content: self.content,
            reply_text: self.reply_text,
            image_summary: self.image_summary,
            context_note: self.context_note,
            actor: self.actor,
            proactive: self.proactive,
            tags: self.tags,
            boundary_class: self.boundary_class,
            lifetime_days: self.lifetime_days,
            occurred_at: self.occurred_at.map(whole_seconds),
            created_at: whole_seconds(self.created_at.unwrap_or(now)),
        })
    }

    fn check(&self) -> Result<()> {
        let texts = [
            ("content of an observation", Some(&self.content)),
            ("reply_text of an observation", self.reply_text.as_ref()),
            ("image_summary of an observation", self.image_summary.as_ref()),
        ];
        for (field, text) in texts {
            let length = text.map_or(1, String::len);
            Error::check_length(length, 1..=Observation::MAX_CONTENT, field, "1–65,536 bytes")?;
        }
        self.context_note.as_ref().map_or(Ok(()), ContextNote::check)?;
        let (length, field) =
            (self.actor.as_ref().map_or(0, String::len), "actor of an observation");
        Error::check_length(length, ..=Observation::MAX_ACTOR, field, "at most 512 bytes")?;
        let source = self.source_id.as_deref().unwrap_or_default();
        let (length, field) = (source.len(), "source_id of an observation");
        Error::check_length(length, ..=Observation::MAX_SOURCE_ID, field, "at most 2,048 bytes")?;
        let allowed = "a path without `..`";
        Error::check_field(!leads_upwards(source), field, "a path upwards", allowed)?;
        let holds = (1..=Observation::MAX_LIFETIME_DAYS).contains(&self.lifetime_days);
        let value = format_args!("{} days", self.lifetime_days);
        Error::check_field(holds, "lifetime of an observation", value, "1–90 days")
    }
}

impl TryFrom<ObservationDraft> for Observation {
    type Error = Error;

    /// Reads a whole observation.
    ///
    /// # Errors
    /// [`Error::InvalidField`] without an id or a time, or as
    /// [`ObservationDraft::into_observation`].
    fn try_from(draft: ObservationDraft) -> Result<Self> {
        let id = draft.id.clone();
        let id =
            id.ok_or_else(|| Error::invalid_field("id of an observation", "absent", "an id"))?;
        let at = draft.created_at.ok_or_else(|| {
            Error::invalid_field("created_at of an observation", "absent", "a time as RFC 3339")
        })?;
        draft.into_observation(id, at)
    }
}

/// True if a part of the path is `..`, also as it is written in addresses, or if it holds a
/// NUL.
fn leads_upwards(path: &str) -> bool {
    let plain = path.to_ascii_lowercase();
    let plain = plain.replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    plain.contains('\0') || plain.split(['/', '\\']).any(|part| part.trim() == "..")
}

const fn lifetime() -> u8 {
    Observation::LIFETIME_DAYS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(draft: ObservationDraft) -> Result<Observation> {
        draft.into_observation(ObservationId::new("obs_1").unwrap(), Timestamp::UNIX_EPOCH)
    }

    #[track_caller]
    fn check_refused(draft: ObservationDraft, expected: &str) {
        let error = made(draft).unwrap_err();
        assert!(matches!(error, Error::InvalidField { field, .. } if field == expected), "{error}");
    }

    fn draft() -> ObservationDraft {
        ObservationDraft::message("x")
    }

    #[test]
    fn limits_of_an_observation() {
        let content = "content of an observation";
        check_refused(ObservationDraft::message(""), content);
        check_refused(ObservationDraft::message("x".repeat(65_537)), content);
        assert!(made(ObservationDraft::message("x".repeat(65_536))).is_ok());
        check_refused(ObservationDraft::turn("x", ""), "reply_text of an observation");
        let long = "x".repeat(65_537);
        check_refused(ObservationDraft::turn("x", &*long), "reply_text of an observation");
        let image = ObservationDraft { image_summary: Some(long), ..draft() };
        check_refused(image, "image_summary of an observation");
        let actor = |length| ObservationDraft { actor: Some("x".repeat(length)), ..draft() };
        check_refused(actor(513), "actor of an observation");
        assert!(made(actor(512)).is_ok());
        let source =
            |source: &str| ObservationDraft { source_id: Some(source.to_owned()), ..draft() };
        check_refused(source(&"x".repeat(2_049)), "source_id of an observation");
        assert!(made(source(&"x".repeat(2_048))).is_ok());
        let lifetime = |days| ObservationDraft { lifetime_days: days, ..draft() };
        check_refused(lifetime(0), "lifetime of an observation");
        check_refused(lifetime(91), "lifetime of an observation");
        assert!(made(lifetime(1)).is_ok() && made(lifetime(90)).is_ok());
    }

    #[test]
    fn a_source_leads_nowhere_upwards() {
        let source = |path: &str| ObservationDraft { source_id: Some(path.into()), ..draft() };
        for bad in ["..", "../a", "a/../b", "a\\..\\b", "a/..", "%2e%2E/a", "a%2f..%5Cb", "a\0b"] {
            check_refused(source(bad), "source_id of an observation");
        }
        for good in ["a/b.md", "a..b", "...", "https://example.org/a?b=..c", "C:\\notes"] {
            assert!(made(source(good)).is_ok(), "{good}");
        }
    }

    #[test]
    fn content_is_kept_for_30_days_by_default() {
        let observation = made(draft()).unwrap();
        assert_eq!(observation.lifetime_days, 30);
        assert_eq!(observation.expires_at().as_second(), 30 * 86_400);
    }

    #[test]
    fn observation_json_reads_what_it_writes() {
        let json = r#"{"id":"obs_1","content":"見た","created_at":"2026-11-22T12:00:00Z","tags":["b","a"]}"#;
        let observation: Observation = serde_json::from_str(json).unwrap();
        assert_eq!(observation.kind, ObservationKind::Message);
        assert_eq!(observation.unit().boundary, BoundaryClass::Internal);
        let written = serde_json::to_string(&observation).unwrap();
        assert!(written.contains("createdAt") && !written.contains("created_at"), "{written}");
        assert_eq!(observation, serde_json::from_str(&written).unwrap());
        assert!(written.contains(r#""tags":["a","b"]"#), "{written}");
        let without_id = json.replace(r#""id":"obs_1","#, "");
        assert!(serde_json::from_str::<Observation>(&without_id).is_err());
        assert!(serde_json::from_str::<ObservationDraft>(&without_id).is_ok());
    }
}
