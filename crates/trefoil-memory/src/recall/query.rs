//! What is asked of memory, and which claims it may find.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use trefoil_core::{BoundaryClass, Error, Result, SessionId, UnitState, string_enum};

use crate::{AllowTag, Boundary, Claim, ClaimFacts, Payload, Policy, Requester, Scope};

string_enum!(
    /// How memory is searched.
    RecallProfile, "profile" {
        /// Claims, by words and meaning.
        Hybrid = "hybrid",
        /// Claims by words; by meaning too where that finds too little.
        KeywordFirst = "keyword_first",
        /// What happened, by words and meaning of the question and of what was said before.
        Episodes = "episodes",
    }
);

impl RecallProfile {
    /// True if the search by meaning is worth its time, after that by words found claims of
    /// these relevances, 0–1.
    pub fn needs_meaning(self, by_words: &[f64], k_final: usize) -> bool {
        match self {
            Self::Hybrid | Self::Episodes => true,
            Self::KeywordFirst => {
                let good = by_words.iter().filter(|&&one| one >= super::MIN_SCORE).count();
                super::widened(1, good, k_final).is_some()
            }
        }
    }
}

/// What is asked of memory.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct RecallQuery {
    /// The question; empty asks for all that is in scope, the most worthwhile first.
    #[cfg_attr(feature = "schema", schemars(length(max = Self::MAX_BYTES)))]
    pub q: String,
    /// The scopes to look in; all of the boundary's if absent.
    pub scope: Option<BTreeSet<Scope>>,
    /// The classes to look in; all of the boundary's if absent.
    #[serde(alias = "boundary_classes")]
    pub boundary_classes: Option<BTreeSet<BoundaryClass>>,
    /// The tags that the request carries.
    pub allow: Vec<AllowTag>,
    /// Who asks, for rules that want to know, and for the context that is saved.
    pub requester: Requester,
    /// The session that asks: without it, claims of sessions are not found.
    pub session: Option<SessionId>,
    /// How many claims to show, 1–50.
    #[serde(alias = "top_k")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = Self::MAX_TOP_K)))]
    pub top_k: usize,
    /// Whether to tell what each score is made of.
    #[serde(alias = "include_meta")]
    pub include_meta: bool,
    /// Whether to pass over claims that are like better ones, by maximal marginal relevance.
    pub diverse: bool,
    /// Whether to save what was found as a context.
    pub save: bool,
    /// How to search.
    pub profile: RecallProfile,
    /// What was said before, oldest first; used by the profile of episodes.
    #[serde(alias = "recent_turns")]
    pub recent_turns: Vec<String>,
}

impl Default for RecallQuery {
    fn default() -> Self {
        Self {
            q: String::new(),
            scope: None,
            boundary_classes: None,
            allow: Vec::new(),
            requester: Requester::default(),
            session: None,
            top_k: Self::TOP_K,
            include_meta: false,
            diverse: false,
            save: true,
            profile: RecallProfile::Hybrid,
            recent_turns: Vec::new(),
        }
    }
}

impl RecallQuery {
    /// How many claims are shown where nobody says otherwise.
    pub const TOP_K: usize = 12;
    /// The most claims that are shown.
    pub const MAX_TOP_K: usize = 50;
    /// The most bytes of a question.
    pub const MAX_BYTES: usize = 16_384;

    /// Asks `q`.
    pub fn new(q: impl Into<String>) -> Self {
        Self { q: q.into(), ..Self::default() }
    }

    /// A text of a class, which may be that of a claim, as this request asks to see it.
    pub(crate) fn payload<'a>(
        &'a self,
        text: &'a str,
        class: BoundaryClass,
        claim: Option<&'a ClaimFacts<'a>>,
    ) -> Payload<'a> {
        Payload {
            text,
            class,
            scope: claim.map(|claim| claim.scope),
            allow: &self.allow,
            actor: self.requester.actor.as_deref(),
            tool: self.requester.tool.as_deref(),
            claim,
        }
    }

    /// Checks the fields that their types leave open.
    ///
    /// # Errors
    /// [`Error::InvalidQuery`] for a `top_k` outside 1–50 or a question that is too long.
    pub fn check(&self) -> Result<()> {
        if !(1..=Self::MAX_TOP_K).contains(&self.top_k) {
            return Err(Error::invalid_query("topK", self.top_k, "1–50"));
        }
        if self.q.len() > Self::MAX_BYTES {
            let length = format_args!("{} bytes", self.q.len());
            return Err(Error::invalid_query("q", length, "at most 16,384 bytes"));
        }
        Ok(())
    }

    /// What it may find within a boundary, under a policy. A query narrows and never widens:
    /// scopes, classes and tags are those that both have.
    ///
    /// # Errors
    /// Those of [`Self::check`], [`Error::InvalidBoundary`], and [`Error::BoundaryDenied`] if no
    /// scope or no class is left.
    pub fn admission(&self, boundary: &Boundary, policy: &Policy) -> Result<Admission> {
        self.check()?;
        boundary.check()?;
        let wanted =
            |scope: &Scope| self.scope.as_ref().is_none_or(|wanted| wanted.contains(scope));
        let scopes: BTreeSet<Scope> = boundary.scope.iter().copied().filter(wanted).collect();
        if scopes.is_empty() {
            let reason = "none of the scopes asked for is within it";
            return Err(Error::denied("the boundary's scope", reason));
        }
        let classes =
            policy.admitted_classes(boundary, self.boundary_classes.as_ref(), &self.allow);
        if classes.is_empty() {
            let reason = "no tag of the request may see any of them";
            return Err(Error::denied("the boundary's classes", reason));
        }
        Ok(Admission { scopes, classes, session: self.session.clone() })
    }
}

/// Which claims a query may find; at least one scope and one class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admission {
    /// The scopes.
    pub scopes: BTreeSet<Scope>,
    /// The classes.
    pub classes: BTreeSet<BoundaryClass>,
    /// The session whose claims may be found.
    pub session: Option<SessionId>,
}

impl Admission {
    /// True if the claim may be found: asked before any search, and again of its result.
    pub fn admits(&self, claim: &Claim) -> bool {
        claim.state != UnitState::Archived
            && self.scopes.contains(&claim.scope)
            && self.classes.contains(&claim.boundary_class)
            && (claim.scope != Scope::Session
                || claim.session.is_some() && claim.session == self.session)
    }

    /// The longest-lived scope that is searched.
    pub fn widest_scope(&self) -> Scope {
        self.scopes.last().copied().unwrap_or(Scope::Session)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use trefoil_core::{ClaimId, ObservationId};

    use super::*;
    use crate::ClaimDraft;

    fn policy() -> Policy {
        Policy::built_in().unwrap()
    }

    fn claim(scope: Scope, boundary_class: BoundaryClass, session: &str) -> Claim {
        let draft = ClaimDraft {
            scope,
            boundary_class,
            session: Some(session.parse().unwrap()),
            ..ClaimDraft::observed("x", ObservationId::new("obs_1").unwrap())
        };
        draft.into_claim(ClaimId::new("clm_1").unwrap(), Timestamp::UNIX_EPOCH).unwrap().0
    }

    #[test]
    fn top_k_is_1_to_50_and_12_by_default() {
        assert_eq!(RecallQuery::default().top_k, 12);
        let ask = |top_k| {
            RecallQuery { top_k, ..RecallQuery::new("x") }
                .admission(&Boundary::default(), &policy())
        };
        assert!(ask(1).is_ok() && ask(50).is_ok());
        for top_k in [0, 51] {
            assert!(matches!(ask(top_k), Err(Error::InvalidQuery { field: "topK", .. })));
        }
        let long = RecallQuery::new("x".repeat(16_385)).admission(&Boundary::default(), &policy());
        assert!(matches!(long, Err(Error::InvalidQuery { field: "q", .. })));
    }

    #[test]
    fn what_leaves_nothing_is_denied() {
        let project = Boundary { scope: [Scope::Project].into(), ..Boundary::default() };
        let session = RecallQuery { scope: Some([Scope::Session].into()), ..RecallQuery::new("x") };
        assert!(matches!(
            session.admission(&project, &policy()),
            Err(Error::BoundaryDenied { .. })
        ));
        let tags = vec![AllowTag::new("tool:unknown").unwrap()];
        let other = RecallQuery { allow: tags, ..RecallQuery::new("x") };
        let denied = other.admission(&Boundary::default(), &policy());
        assert!(matches!(denied, Err(Error::BoundaryDenied { .. })));
        let pii = RecallQuery {
            boundary_classes: Some([BoundaryClass::Pii].into()),
            ..RecallQuery::new("x")
        };
        assert!(pii.admission(&Boundary::default(), &policy()).is_err());
    }

    #[test]
    fn claims_of_a_session_are_found_in_it_only() {
        let ask = |session: Option<&str>| {
            let session = session.map(|id| id.parse().unwrap());
            let query = RecallQuery { session, ..RecallQuery::new("x") };
            let admission = query.admission(&Boundary::default(), &policy()).unwrap();
            admission.admits(&claim(Scope::Session, BoundaryClass::Internal, "ses_1"))
        };
        assert!(ask(Some("ses_1")) && !ask(Some("ses_2")) && !ask(None));
    }

    #[test]
    fn archived_claims_are_not_found() {
        let admission = RecallQuery::new("x").admission(&Boundary::default(), &policy()).unwrap();
        let found = claim(Scope::Project, BoundaryClass::Internal, "ses_1");
        assert!(admission.admits(&found));
        let archived = Claim { state: UnitState::Archived, ..found };
        assert!(!admission.admits(&archived));
        assert_eq!(admission.widest_scope(), Scope::Principle);
    }

    #[test]
    fn meaning_is_asked_where_words_find_too_little() {
        let needs = |profile: RecallProfile, found: &[f64]| profile.needs_meaning(found, 4);
        assert!(needs(RecallProfile::Hybrid, &[1.0; 9]));
        assert!(!needs(RecallProfile::KeywordFirst, &[0.9, 0.15]));
        assert!(needs(RecallProfile::KeywordFirst, &[0.9, 0.14]));
    }

    fn set<T: Ord + Copy + std::fmt::Debug>(
        all: &'static [T],
    ) -> impl Strategy<Value = BTreeSet<T>> {
        proptest::sample::subsequence(all.to_vec(), 0..=all.len())
            .prop_map(|some| some.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_query_narrows_and_never_widens(
            scope in set(Scope::ALL), classes in set(BoundaryClass::ALL),
            wanted_scope in set(Scope::ALL), wanted_classes in set(BoundaryClass::ALL),
            tag in "(answer:task|tool:a|tool:contact-lookup|\\*)",
        ) {
            let boundary = Boundary {
                scope,
                boundary_classes: classes,
                allow: [AllowTag::new("*")?].into(),
                invariants: vec![],
            };
            let query = RecallQuery {
                scope: Some(wanted_scope.clone()),
                boundary_classes: Some(wanted_classes.clone()),
                allow: vec![AllowTag::new(tag)?],
                ..RecallQuery::new("x")
            };
            if let Ok(admission) = query.admission(&boundary, &policy()) {
                prop_assert!(admission.scopes.is_subset(&boundary.scope));
                prop_assert!(admission.scopes.is_subset(&wanted_scope));
                prop_assert!(admission.classes.is_subset(&boundary.boundary_classes));
                prop_assert!(admission.classes.is_subset(&wanted_classes));
                prop_assert!(!admission.classes.contains(&BoundaryClass::Secret));
            }
        }
    }
}
