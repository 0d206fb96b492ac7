use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};
use trefoil_core::{
    BoundaryClass, ClaimId, ClaimKind, EpistemicStatus, Error, Importance, ObservationId, Result,
    Scope, Score, SessionId, UnitState,
};

use crate::{
    Claim, ContentHash, Origin, Provenance, SourceTag, Tags,
    unit::{half, whole_seconds},
};
use trefoil_policy::Ttl;

/// What somebody says of a claim that is to be made: only `text` and `origin` are needed. The
/// fields are those of a [`Claim`].
///
/// JSON also takes `claim_id` for `id`, `content` for `text`, and `source`, one or many, for
/// `sources`.
///
/// ```
/// use jiff::Timestamp;
/// use trefoil_core::{ClaimId, EpistemicStatus, Importance, ObservationId};
/// use trefoil_memory_core::{ClaimDraft, IdGenerator};
///
/// let json = r#"{"content": "Mika lives in Kyoto.", "origin": {"observed": "obs_1"}, "source": "test:x"}"#;
/// let draft: ClaimDraft = serde_json::from_str(json)?;
/// let now = Timestamp::UNIX_EPOCH;
/// let (claim, warnings) = draft.into_claim(IdGenerator::seeded(1).generate(now)?, now)?;
/// assert_eq!(claim.epistemic_status, EpistemicStatus::Inferred);
/// assert_eq!((claim.importance, warnings.len()), (Importance::S2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[serde_with::skip_serializing_none]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(extend("anyOf" = [
        {"properties": {"scope": {"enum": ["project", "principle"]}}},
        {"properties": {"session": {"type": "string"}}, "required": ["session"]},
    ]))
)]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(missing_docs, reason = "the fields are described where a claim has them")]
pub struct ClaimDraft {
    /// Its id, if it has one.
    #[serde(alias = "claim_id")]
    pub id: Option<ClaimId>,
    #[serde(alias = "content")]
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = Claim::MAX_TEXT), extend("pattern" = r"\S"))
    )]
    pub text: String,
    #[serde(default)]
    pub kind: ClaimKind,
    #[serde(default)]
    pub scope: Scope,
    #[serde(alias = "boundary_class", default)]
    pub boundary_class: BoundaryClass,
    pub origin: Origin,
    #[serde(default = "half")]
    pub quality: Score,
    #[serde(default = "half")]
    pub confidence: Score,
    #[serde(default)]
    pub utility: f64,
    #[serde(default = "one")]
    pub recency: Score,
    /// Hash of the text; if it is given, it must agree.
    #[serde(alias = "content_hash")]
    pub content_hash: Option<ContentHash>,
    /// What can be looked at, as tags that may be malformed.
    #[serde(default, alias = "source", deserialize_with = "one_or_many")]
    pub sources: Vec<String>,
    /// What is known of whether it is so; inferred if absent or without a source.
    #[serde(alias = "epistemic_status")]
    pub epistemic_status: Option<EpistemicStatus>,
    /// When it was last checked; when it is made, if absent.
    #[serde(alias = "last_verified_at")]
    pub last_verified_at: Option<Timestamp>,
    /// How long it stays fresh; as its scope, if absent.
    pub ttl: Option<Ttl>,
    /// How much is lost with it; S1 for a norm and S2 for the rest, if absent.
    pub importance: Option<Importance>,
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = Claim::MAX_TERM), extend("pattern" = r"\S"))
    )]
    pub subject: Option<String>,
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = Claim::MAX_TERM), extend("pattern" = r"\S"))
    )]
    pub predicate: Option<String>,
    #[cfg_attr(
        feature = "schema",
        schemars(length(min = 1, max = Claim::MAX_TERM), extend("pattern" = r"\S"))
    )]
    pub object: Option<String>,
    #[serde(alias = "valid_from")]
    pub valid_from: Option<Timestamp>,
    #[serde(alias = "valid_to")]
    pub valid_to: Option<Timestamp>,
    /// When it was written; now, if absent.
    #[serde(alias = "created_at")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed; when it was written, if absent.
    #[serde(alias = "updated_at")]
    pub updated_at: Option<Timestamp>,
    #[serde(alias = "occurred_at")]
    pub occurred_at: Option<Timestamp>,
    /// From when its age is counted; when it was written, if absent.
    #[serde(alias = "recency_anchor")]
    pub recency_anchor: Option<Timestamp>,
    /// Up to when decay has been applied; when it was written, if absent.
    #[serde(alias = "decayed_at")]
    pub decayed_at: Option<Timestamp>,
    /// The session it belongs to; needed if its scope is one.
    pub session: Option<SessionId>,
    #[serde(default)]
    pub state: UnitState,
    #[serde(default)]
    pub salience: Score,
    #[serde(default)]
    pub pin: bool,
    #[serde(default)]
    pub tags: Tags,
    pub provenance: Option<Provenance>,
}

impl ClaimDraft {
    /// A fact of the project that an observation tells.
    pub fn observed(text: impl Into<String>, observation: ObservationId) -> Self {
        Self::new(text.into(), Origin::Observed(observation))
    }

    /// A fact of the project that follows from other claims, at least one.
    pub fn derived(text: impl Into<String>, claims: impl IntoIterator<Item = ClaimId>) -> Self {
        Self::new(text.into(), Origin::Derived(claims.into_iter().collect()))
    }

    fn new(text: String, origin: Origin) -> Self {
        Self {
            id: None,
            text,
            kind: ClaimKind::Fact,
            scope: Scope::Project,
            boundary_class: BoundaryClass::Internal,
            origin,
            quality: Score::HALF,
            confidence: Score::HALF,
            utility: 0.0,
            recency: Score::ONE,
            content_hash: None,
            sources: Vec::new(),
            epistemic_status: None,
            last_verified_at: None,
            ttl: None,
            importance: None,
            subject: None,
            predicate: None,
            object: None,
            valid_from: None,
            valid_to: None,
            created_at: None,
            updated_at: None,
            occurred_at: None,
            recency_anchor: None,
            decayed_at: None,
            session: None,
            state: UnitState::Raw,
            salience: Score::ZERO,
            pin: false,
            tags: Tags::default(),
            provenance: None,
        }
    }

    /// The claim, made at `now` and called `id` unless the draft says otherwise, and a
    /// warning for each source tag that is malformed and so left out.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for an empty or too long text or term, a hash that is not the
    /// text's, a utility that is not finite, an origin without claims, an end before its
    /// beginning, or a claim of scope session without one.
    pub fn into_claim(self, id: ClaimId, now: Timestamp) -> Result<(Claim, Vec<String>)> {
        self.check()?;
        let content_hash = ContentHash::of(&self.text);
        let agrees = self.content_hash.is_none_or(|given| given == content_hash);
        let (field, allowed) = ("content_hash of a claim", "the text's, or absent");
        Error::check_field(agrees, field, "of another text", allowed)?;
        let (sources, warnings) = SourceTag::keep_valid(&self.sources);
        let created_at = whole_seconds(self.created_at.unwrap_or(now));
        let or_created = |at: Option<Timestamp>| at.map_or(created_at, whole_seconds);
        let claim = Claim {
            id: self.id.unwrap_or(id),
            kind: self.kind,
            scope: self.scope,
            boundary_class: self.boundary_class,
            origin: in_order(self.origin),
            quality: self.quality,
            confidence: self.confidence,
            utility: self.utility,
            recency: self.recency,
            content_hash,
            epistemic_status: match self.epistemic_status {
                Some(EpistemicStatus::Verified) | None if sources.is_empty() => {
                    EpistemicStatus::Inferred
                }
                status => status.unwrap_or(EpistemicStatus::Inferred),
            },
            sources,
            last_verified_at: or_created(self.last_verified_at),
            ttl: self.ttl.unwrap_or_else(|| Ttl::of(self.scope)),
            importance: self.importance.unwrap_or(match self.kind {
                ClaimKind::PolicyHint => Importance::S1,
                ClaimKind::Fact | ClaimKind::Preference | ClaimKind::Task => Importance::S2,
            }),
            subject: self.subject.map(|subject| subject.trim().to_owned()),
            predicate: self.predicate.map(|predicate| predicate.trim().to_lowercase()),
            object: self.object.map(|object| object.trim().to_owned()),
            valid_from: self.valid_from.map(whole_seconds),
            valid_to: self.valid_to.map(whole_seconds),
            created_at,
            updated_at: or_created(self.updated_at),
            occurred_at: self.occurred_at.map(whole_seconds),
            recency_anchor: or_created(self.recency_anchor),
            decayed_at: or_created(self.decayed_at),
            session: self.session,
            state: self.state,
            salience: self.salience,
            pin: self.pin,
            tags: self.tags,
            provenance: self.provenance,
            text: self.text,
        };
        Ok((claim, warnings))
    }

    fn check(&self) -> Result<()> {
        let most = if self.text.trim().is_empty() { 0 } else { Claim::MAX_TEXT };
        let allowed = "1–65,536 bytes that are not all white space";
        Error::check_length(self.text.len(), 1..=most, "text of a claim", allowed)?;
        for (field, term) in [
            ("subject of a claim", &self.subject),
            ("predicate of a claim", &self.predicate),
            ("object of a claim", &self.object),
        ] {
            let length = term.as_deref().map_or(1, |term| term.trim().len());
            Error::check_length(length, 1..=Claim::MAX_TERM, field, "1–2,048 bytes, or absent")?;
        }
        let utility = self.utility;
        Error::check_field(utility.is_finite(), "utility of a claim", utility, "a finite number")?;
        let derives = !matches!(&self.origin, Origin::Derived(claims) if claims.is_empty());
        let allowed = "an observation, or at least one claim";
        Error::check_field(derives, "origin of a claim", "no claim at all", allowed)?;
        if let (Some(from), Some(to)) = (self.valid_from, self.valid_to) {
            let allowed = "a time at or after valid_from";
            Error::check_field(from <= to, "valid_to of a claim", to, allowed)?;
        }
        let placed = self.scope != Scope::Session || self.session.is_some();
        let allowed = "the session that a claim of scope session belongs to";
        Error::check_field(placed, "session of a claim", "absent", allowed)
    }
}

fn in_order(origin: Origin) -> Origin {
    match origin {
        Origin::Derived(mut claims) => {
            claims.sort();
            claims.dedup();
            Origin::Derived(claims)
        }
        observed @ Origin::Observed(_) => observed,
    }
}

fn one_or_many<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrMany {
        One(String),
        Many(Vec<String>),
    }
    Ok(match OneOrMany::deserialize(deserializer)? {
        OneOrMany::One(one) => vec![one],
        OneOrMany::Many(many) => many,
    })
}

const fn one() -> Score {
    Score::ONE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(text: &str) -> ClaimDraft {
        ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap())
    }

    fn made(draft: ClaimDraft) -> Result<(Claim, Vec<String>)> {
        draft.into_claim(ClaimId::new("clm_1").unwrap(), Timestamp::new(60, 5).unwrap())
    }

    #[track_caller]
    fn check_refused(draft: ClaimDraft, expected: &str) {
        let error = made(draft).unwrap_err();
        assert!(matches!(error, Error::InvalidField { field, .. } if field == expected), "{error}");
    }

    #[test]
    fn what_nobody_sets_has_the_defaults_of_the_domain() {
        let (claim, warnings) = made(draft("Owls hunt.")).unwrap();
        let minute = Timestamp::from_second(60).unwrap();
        assert!(warnings.is_empty());
        assert_eq!(
            (claim.utility, claim.confidence, claim.quality),
            (0.0, Score::HALF, Score::HALF)
        );
        assert_eq!(claim.last_verified_at, minute);
        assert_eq!(
            (claim.created_at, claim.recency_anchor, claim.decayed_at),
            (minute, minute, minute)
        );
        assert_eq!((claim.importance, claim.ttl), (Importance::S2, Ttl::days(120).unwrap()));
        assert_eq!(claim.epistemic_status, EpistemicStatus::Inferred);
        assert_eq!(claim.content_hash, ContentHash::of("Owls hunt."));
        let of_scope = |scope| {
            let session = Some(SessionId::new("ses_1").unwrap());
            made(ClaimDraft { scope, session, ..draft("x") }).unwrap().0.ttl
        };
        assert_eq!(of_scope(Scope::Session), Ttl::days(7).unwrap());
        assert_eq!(of_scope(Scope::Principle), Ttl::UNLIMITED);
        let norm = ClaimDraft { kind: ClaimKind::PolicyHint, ..draft("Never push.") };
        assert_eq!(made(norm).unwrap().0.importance, Importance::S1);
    }

    #[test]
    fn limits_of_a_claim() {
        let text = "text of a claim";
        check_refused(draft(""), text);
        check_refused(draft(" \n"), text);
        check_refused(draft(&"x".repeat(65_537)), text);
        assert!(made(draft(&"x".repeat(65_536))).is_ok());
        let term = |length: usize| ClaimDraft { object: Some("x".repeat(length)), ..draft("x") };
        check_refused(term(2_049), "object of a claim");
        check_refused(term(0), "object of a claim");
        assert!(made(term(2_048)).is_ok());
        check_refused(ClaimDraft { utility: f64::NAN, ..draft("x") }, "utility of a claim");
        check_refused(ClaimDraft::derived("x", []), "origin of a claim");
        check_refused(ClaimDraft { scope: Scope::Session, ..draft("x") }, "session of a claim");
        let (from, to) = (Some(Timestamp::UNIX_EPOCH), Some(Timestamp::MIN));
        check_refused(
            ClaimDraft { valid_from: from, valid_to: to, ..draft("x") },
            "valid_to of a claim",
        );
        let other = Some(ContentHash::of("y"));
        check_refused(ClaimDraft { content_hash: other, ..draft("x") }, "content_hash of a claim");
    }

    #[test]
    fn an_error_tells_no_text() {
        let secret = "s3cret".repeat(20_000);
        let error = made(draft(&secret)).unwrap_err().to_string();
        assert!(!error.contains("s3cret"), "{error}");
    }

    #[test]
    fn verified_needs_a_source() {
        let verified = |sources: &[&str]| {
            let sources = sources.iter().map(|&source| source.to_owned()).collect();
            let status = Some(EpistemicStatus::Verified);
            made(ClaimDraft { sources, epistemic_status: status, ..draft("x") }).unwrap()
        };
        assert_eq!(verified(&["test:a"]).0.epistemic_status, EpistemicStatus::Verified);
        let (claim, warnings) = verified(&["file:a"]);
        assert_eq!(claim.epistemic_status, EpistemicStatus::Inferred);
        assert_eq!((claim.sources.len(), warnings.len()), (0, 1));
    }

    #[test]
    fn claim_json_takes_other_names_and_reads_what_it_writes() {
        let json = r#"{"claim_id": "clm_9", "content": "Owls hunt.", "source": ["test:a", "bad"],
            "origin": {"derived": ["clm_2", "clm_1", "clm_2"]}, "predicate": " Lives_In ",
            "created_at": "2026-11-22T12:00:00.5+09:00", "ttl": "24h", "importance": "S0"}"#;
        let claim: Claim = serde_json::from_str(json).unwrap();
        let ids = ["clm_1", "clm_2"].map(|id| ClaimId::new(id).unwrap());
        assert_eq!(claim.origin, Origin::Derived(ids.to_vec()));
        assert_eq!(claim.predicate.as_deref(), Some("lives_in"));
        assert_eq!(claim.sources, [SourceTag::Test("a".into())]);
        let written = serde_json::to_value(&claim).unwrap();
        assert_eq!(written["createdAt"], "2026-11-22T03:00:00Z");
        assert_eq!((&written["id"], &written["ttl"]), (&"clm_9".into(), &"24h".into()));
        assert_eq!(written["sources"], serde_json::json!(["test:a"]));
        assert_eq!(claim, serde_json::from_value(written).unwrap());
    }

    #[test]
    fn claim_json_without_what_it_needs_is_refused() {
        for json in [
            r#"{"id": "clm_1", "text": "x", "created_at": "2026-11-22T12:00:00Z"}"#,
            r#"{"text": "x", "origin": {"observed": "obs_1"}, "created_at": "2026-11-22T12:00:00Z"}"#,
            r#"{"id": "clm_1", "text": "x", "origin": {"observed": "obs_1"}}"#,
            r#"{"id": "obs_1", "text": "x", "origin": {"observed": "obs_1"}, "created_at": "2026-11-22T12:00:00Z"}"#,
            r#"{"id": "clm_1", "text": "x", "origin": {"observed": "obs_1"}, "created_at": "2026-11-22T12:00:00Z", "no": 1}"#,
            r#"{"id": "clm_1", "text": "x", "origin": {"observed": "obs_1"}, "created_at": "2026-11-22T12:00:00Z", "confidence": 1.5}"#,
        ] {
            assert!(serde_json::from_str::<Claim>(json).is_err(), "{json}");
        }
    }
}
