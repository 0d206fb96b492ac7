//! How claims age.

use std::collections::BTreeMap;

use jiff::Timestamp;
use trefoil_core::{
    BoundaryClass, EpistemicStatus, Error, Importance, Result, Scope, UnitState, string_enum,
};

use crate::{Claim, SourceTag, unit::whole_seconds};

string_enum!(
    /// What is to be done with a claim, from the mildest.
    Action, "action" {
        /// It stays as it is.
        Keep = "keep",
        /// It is folded into a summary with others, and stays recallable.
        Summarize = "summarize",
        /// It is taken out of the indexes, and erased later.
        Discard = "discard",
    }
);

/// What is known of a claim at `now`, from its age since it was last checked: before its ttl
/// what was known, then at most inferred, from twice its ttl on unknown. A source that has
/// changed leaves it at most inferred. Nothing here raises it; see [`verify`].
pub fn status(claim: &Claim, sources_changed: bool, now: Timestamp) -> EpistemicStatus {
    let most = match claim.ttl.seconds() {
        Some(ttl) if age(claim, now) >= 2 * ttl => EpistemicStatus::Unknown,
        Some(ttl) if age(claim, now) >= ttl => EpistemicStatus::Inferred,
        _ if sources_changed => EpistemicStatus::Inferred,
        _ => EpistemicStatus::Verified,
    };
    claim.epistemic_status.min(most)
}

/// True from the moment at which the claim's ttl is over.
pub fn is_stale(claim: &Claim, now: Timestamp) -> bool {
    claim.ttl.seconds().is_some_and(|ttl| age(claim, now) >= ttl)
}

/// What is to be done with a claim at `now`: nothing while it is fresh; when it is stale, S0
/// and S1 are summarised and S2 and S3 discarded. A claim that has `helped` since it was last
/// checked is treated one step milder; no feedback makes it harsher.
pub fn action(claim: &Claim, helped: bool, now: Timestamp) -> Action {
    match (is_stale(claim, now), claim.importance) {
        (false, _) => Action::Keep,
        (true, Importance::S0 | Importance::S1) if helped => Action::Keep,
        (true, Importance::S0 | Importance::S1) => Action::Summarize,
        (true, Importance::S2 | Importance::S3) if helped => Action::Summarize,
        (true, Importance::S2 | Importance::S3) => Action::Discard,
    }
}

/// The claim, checked at `now` against `sources`, which are added to its own.
///
/// # Errors
/// [`Error::InvalidField`] without a source.
pub fn verify(mut claim: Claim, sources: &[SourceTag], now: Timestamp) -> Result<Claim> {
    let allowed = "at least one source that shows it";
    Error::check_field(!sources.is_empty(), "sources of a check", "none", allowed)?;
    let now = whole_seconds(now);
    claim.sources.extend_from_slice(sources);
    claim.sources.sort();
    claim.sources.dedup();
    claim.epistemic_status = EpistemicStatus::Verified;
    claim.last_verified_at = now;
    claim.recency_anchor = claim.recency_anchor.max(now);
    claim.updated_at = claim.updated_at.max(now);
    Ok(claim)
}

/// Claims that are to be folded into one summary.
#[derive(Clone, Debug, PartialEq)]
pub struct SummaryGroup<'c> {
    /// Where they hold and what they have in common: `project/subject:<name>`,
    /// `principle/topic:<tag>`, `<id of a session>/topic:`.
    pub key: String,
    /// The class of the summary: the highest of theirs.
    pub class: BoundaryClass,
    /// The claims, oldest first.
    pub claims: Vec<&'c Claim>,
}

impl SummaryGroup<'_> {
    /// The name of the subject or the topic.
    pub fn name(&self) -> &str {
        self.key
            .split_once('/')
            .and_then(|(_, topic)| topic.split_once(':'))
            .map_or("", |(_, name)| name)
    }
}

/// The claims of which [`action`] says that they are to be summarised, as [`by_topic`]; those
/// that were folded before, and secrets, are left out.
pub fn summary_groups<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> Vec<SummaryGroup<'c>> {
    by_topic(claims.into_iter().filter(|claim| claim.state < UnitState::Consolidated))
}

/// Claims by where they hold and by subject or, without one, by their first tag; those with
/// neither stand together. Secrets are in no group: they are never summarised.
pub fn by_topic<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> Vec<SummaryGroup<'c>> {
    let mut groups: BTreeMap<String, Vec<&Claim>> = BTreeMap::new();
    for claim in claims {
        if claim.boundary_class < BoundaryClass::Secret {
            groups.entry(topic(claim)).or_default().push(claim);
        }
    }
    let fold = |(key, mut claims): (String, Vec<&'c Claim>)| {
        claims.sort_by(|a, b| (a.created_at, &a.id).cmp(&(b.created_at, &b.id)));
        let class = claims.iter().map(|claim| claim.boundary_class).max().unwrap_or_default();
        SummaryGroup { key, class, claims }
    };
    groups.into_iter().map(fold).collect()
}

fn topic(claim: &Claim) -> String {
    let place = match &claim.session {
        Some(session) if claim.scope == Scope::Session => session.as_str(),
        _ => claim.scope.as_str(),
    };
    match (&claim.subject, claim.tags.iter().next()) {
        (Some(subject), _) => format!("{place}/subject:{}", subject.to_lowercase()),
        (None, Some(tag)) => format!("{place}/topic:{tag}"),
        (None, None) => format!("{place}/topic:"),
    }
}

/// Seconds since the claim was last checked; 0 in its future.
fn age(claim: &Claim, now: Timestamp) -> i64 {
    (now.as_second() - claim.last_verified_at.as_second()).max(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::{ClaimId, ObservationId, Score};

    use super::*;
    use crate::{ClaimDraft, Tags};
    use trefoil_policy::Ttl;

    fn hour(hour: i64) -> Timestamp {
        Timestamp::from_second(hour * 3_600).unwrap()
    }

    /// A verified claim of hour 0 that stays fresh for ten hours.
    fn claim(importance: Importance) -> Claim {
        let draft = ClaimDraft {
            ttl: Some(Ttl::hours(10).unwrap()),
            sources: vec!["test:a".into()],
            epistemic_status: Some(EpistemicStatus::Verified),
            importance: Some(importance),
            ..ClaimDraft::observed("x", ObservationId::new("obs_1").unwrap())
        };
        draft.into_claim(ClaimId::new("clm_1").unwrap(), hour(0)).unwrap().0
    }

    #[test]
    fn status_falls_with_age_and_changed_sources() {
        use EpistemicStatus::{Inferred, Unknown, Verified};
        let claim = claim(Importance::S2);
        let check =
            |changed, at, expected| assert_eq!(status(&claim, changed, hour(at)), expected, "{at}");
        check(false, -5, Verified);
        check(false, 9, Verified);
        check(false, 10, Inferred);
        check(false, 19, Inferred);
        check(false, 20, Unknown);
        check(true, 0, Inferred);
        check(true, 20, Unknown);
        let endless = Claim { ttl: Ttl::UNLIMITED, ..claim.clone() };
        assert_eq!(status(&endless, false, Timestamp::MAX), Verified);
        let unknown = Claim { epistemic_status: Unknown, ..claim };
        assert_eq!(status(&unknown, false, hour(0)), Unknown);
    }

    #[test]
    fn what_is_done_follows_importance() {
        let check = |importance, at, helped, expected| {
            assert_eq!(action(&claim(importance), helped, hour(at)), expected, "{importance} {at}");
        };
        for &importance in Importance::ALL {
            check(importance, 9, false, Action::Keep);
        }
        check(Importance::S0, 10, false, Action::Summarize);
        check(Importance::S1, 99, false, Action::Summarize);
        check(Importance::S2, 10, false, Action::Discard);
        check(Importance::S3, 99, false, Action::Discard);
        check(Importance::S0, 10, true, Action::Keep);
        check(Importance::S3, 10, true, Action::Summarize);
        check(Importance::S3, 9, true, Action::Keep);
    }

    #[test]
    fn only_a_check_against_a_source_raises_the_status() {
        let old = Claim { epistemic_status: EpistemicStatus::Unknown, ..claim(Importance::S2) };
        assert!(matches!(verify(old.clone(), &[], hour(30)), Err(Error::InvalidField { .. })));
        let checked = verify(old, &["test:b".parse().unwrap()], hour(30)).unwrap();
        assert_eq!(status(&checked, false, hour(39)), EpistemicStatus::Verified);
        assert_eq!((checked.sources.len(), checked.recency_anchor), (2, hour(30)));
        assert!(!is_stale(&checked, hour(39)) && is_stale(&checked, hour(40)));
    }

    #[test]
    fn stale_claims_of_one_subject_are_folded_together() {
        use BoundaryClass::{Internal, Pii, Secret};
        let of = |id: &str, subject: Option<&str>, tag: &str, boundary_class| Claim {
            id: ClaimId::new(id).unwrap(),
            subject: subject.map(str::to_owned),
            tags: Tags::new([tag]).unwrap(),
            boundary_class,
            ..claim(Importance::S0)
        };
        let claims = [
            of("clm_1", Some("Mika"), "", Internal),
            of("clm_2", Some("mika"), "work", Pii),
            of("clm_3", None, "work", Internal),
            of("clm_4", Some("Mika"), "", Secret),
            Claim { state: UnitState::Consolidated, ..of("clm_5", Some("Mika"), "", Internal) },
        ];
        let summary_groups = summary_groups(&claims);
        let told: Vec<_> = summary_groups
            .iter()
            .map(|fold| (fold.key.as_str(), fold.class, fold.claims.len()))
            .collect();
        let expected = [("project/subject:mika", Pii, 2), ("project/topic:work", Internal, 1)];
        assert_eq!(told, expected);
        // What holds in one session is told apart from what holds elsewhere.
        let of_session = Claim {
            scope: Scope::Session,
            session: Some("ses_1".parse().unwrap()),
            ..of("clm_6", Some("Mika"), "", Internal)
        };
        let keys: Vec<_> = super::summary_groups([&claims[0], &of_session])
            .into_iter()
            .map(|one| one.key)
            .collect();
        assert_eq!(keys, ["project/subject:mika", "ses_1/subject:mika"]);
    }

    proptest! {
        #[test]
        fn ageing_is_idempotent_and_never_raises(at in -100_i64..100, changed in any::<bool>(), before in 0..3_usize) {
            let before = EpistemicStatus::ALL[before];
            let claim = Claim { epistemic_status: before, ..claim(Importance::S2) };
            let once = status(&claim, changed, hour(at));
            let aged = Claim { epistemic_status: once, ..claim };
            prop_assert_eq!(status(&aged, changed, hour(at)), once);
            prop_assert!(once <= before);
        }

        #[test]
        fn what_matters_most_is_never_discarded(
            importance in 0..4_usize, at in -100_i64..10_000, helped in any::<bool>(), confidence in 0.0_f32..=1.0,
        ) {
            let importance = Importance::ALL[importance];
            let claim = Claim { confidence: Score::clamped(confidence), ..claim(importance) };
            let done = action(&claim, helped, hour(at));
            prop_assert!(importance > Importance::S1 || done != Action::Discard);
            prop_assert!(action(&claim, true, hour(at)) <= action(&claim, false, hour(at)));
        }
    }
}
