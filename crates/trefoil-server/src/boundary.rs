//! What of memory a request sees and writes: what its token may, narrowed by what it asks.

use trefoil::{
    Error,
    memory::{BoundaryClass, SessionId},
};
use trefoil_memory::{
    AllowTag, Claim, ClaimDraft, FeedbackInput, Memory, ObservationDraft, Origin, Scope, Session,
    recall::RecallQuery,
};

use crate::{auth::Caller, problem::Problem};

fn denied(what: &'static str, value: impl std::fmt::Display) -> Problem {
    Error::denied(what, format!("`{value}` is not within the boundary of the token")).into()
}

impl Caller {
    /// Whether it sees a class of memory.
    ///
    /// # Errors
    /// `boundary_denied` if it does not.
    pub(crate) fn may_see(&self, class: BoundaryClass) -> Result<(), Problem> {
        let within = self.grant.boundary.boundary_classes.contains(&class);
        if within { Ok(()) } else { Err(denied("the boundary's classes", class)) }
    }

    fn may_use(&self, scope: Scope) -> Result<(), Problem> {
        let within = self.grant.boundary.scope.contains(&scope);
        if within { Ok(()) } else { Err(denied("the boundary's scope", scope)) }
    }

    fn may_carry(&self, tag: &AllowTag) -> Result<(), Problem> {
        let within = self.grant.boundary.allow.iter().any(|pattern| pattern.matches(tag));
        if within { Ok(()) } else { Err(denied("the boundary's allow tags", tag)) }
    }

    /// The session with this id, if it is the caller's; that of another is like none.
    ///
    /// # Errors
    /// `not_found`.
    pub(crate) fn session(&self, memory: &Memory, id: &str) -> Result<Session, Problem> {
        let id = id.parse().map_err(|_| Problem::not_found())?;
        let session = memory.session(&id)?;
        let own = session.filter(|session| session.owner.as_deref() == Some(self.id.as_str()));
        own.ok_or_else(Problem::not_found)
    }

    /// What is asked of memory, as this caller may ask it: all that it names is within the
    /// boundary, and a context is saved only by who may write.
    ///
    /// # Errors
    /// `boundary_denied` for what is not within it, `not_found` for the session of another.
    pub(crate) fn query(
        &self,
        memory: &Memory,
        mut query: RecallQuery,
        saves: bool,
    ) -> Result<RecallQuery, Problem> {
        query.scope.iter().flatten().try_for_each(|scope| self.may_use(*scope))?;
        query.boundary_classes.iter().flatten().try_for_each(|class| self.may_see(*class))?;
        query.allow.iter().try_for_each(|tag| self.may_carry(tag))?;
        if let Some(session) = &query.session {
            self.session(memory, session.as_str())?;
        }
        query.requester.actor = Some(self.name.clone());
        query.save &= saves;
        Ok(query)
    }

    /// An observation, as this caller may tell it.
    ///
    /// # Errors
    /// As [`Self::query`], and `invalid_body` for one that brings its own id.
    pub(crate) fn observation(
        &self,
        memory: &Memory,
        draft: ObservationDraft,
    ) -> Result<ObservationDraft, Problem> {
        self.may_see(draft.boundary_class)?;
        if draft.id.is_some() {
            return Err(Problem::own("invalid_body", "the server gives an observation its id"));
        }
        if let Some(session) = &draft.session {
            self.session(memory, session.as_str())?;
        }
        Ok(ObservationDraft { actor: Some(self.name.clone()), ..draft })
    }

    /// A claim, as this caller may make it.
    ///
    /// # Errors
    /// As [`Self::observation`].
    pub(crate) fn claim(&self, memory: &Memory, draft: ClaimDraft) -> Result<ClaimDraft, Problem> {
        self.may_see(draft.boundary_class)?;
        self.may_use(draft.scope)?;
        if draft.id.is_some() {
            return Err(Problem::own("invalid_body", "the server gives a claim its id"));
        }
        let is_seen = match &draft.origin {
            Origin::Observed(id) => memory
                .observation(id)?
                .is_some_and(|one| self.sees(memory, one.boundary_class, one.session.as_ref())),
            Origin::Derived(ids) => {
                ids.iter().all(|id| memory.claim(id).is_ok_and(|one| self.sees_claim(memory, &one)))
            }
        };
        if !is_seen {
            return Err(Problem::not_found());
        }
        if let Some(session) = &draft.session {
            self.session(memory, session.as_str())?;
        }
        Ok(draft)
    }

    /// What is said of claims, each of which this caller may see.
    ///
    /// # Errors
    /// `unknown_claim` for one that it may not see, as for one that is not there.
    pub(crate) fn feedback(&self, memory: &Memory, input: &FeedbackInput) -> Result<(), Problem> {
        for id in [Some(&input.claim), input.duplicate_of.as_ref()].into_iter().flatten() {
            if !self.sees_claim(memory, &memory.claim(id)?) {
                return Err(Error::UnknownClaim { id: id.clone() }.into());
            }
        }
        Ok(())
    }

    fn sees_claim(&self, memory: &Memory, claim: &Claim) -> bool {
        let session = claim.session.as_ref().filter(|_| claim.scope == Scope::Session);
        self.may_use(claim.scope).is_ok() && self.sees(memory, claim.boundary_class, session)
    }

    fn sees(&self, memory: &Memory, class: BoundaryClass, session: Option<&SessionId>) -> bool {
        self.may_see(class).is_ok()
            && session.is_none_or(|id| self.session(memory, id.as_str()).is_ok())
    }
}
