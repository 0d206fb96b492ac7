//! The domain on an engine: observe, remember, recall, forget.

mod ageing;
mod context;
mod digest;
mod diverse;
mod episodes;
mod fact;
mod feedback;
mod for_others;
mod learn;
mod maintain;
mod operation;
mod recall;
mod record;
mod revise;
mod roll;
mod scrub;
mod search;
#[cfg(test)]
mod tests;
mod upkeep;
mod view;
mod visibility;
mod work;

use std::sync::{Arc, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use trefoil::{
    Engine,
    admin::{BackgroundTask, ForgetReceipt, JobCounts},
    graph::Summarizer,
    memory::{MemoryRead, MemoryWrite, PatchReason},
};
use trefoil_core::{ClaimId, Error, ObservationId, Result, SessionId};

pub use self::{
    context::*, episodes::*, feedback::*, maintain::*, recall::*, record::*, view::*, work::*,
};
use self::{
    operation::{Operation, Writer},
    upkeep::Services,
};
use crate::{
    Boundary, Claim, IdGenerator, MemoryId, Observation, ObservationDraft, Payload, Policy,
    PolicyValidator, PolicyVersion, Session, SourceProbe, Validation, admit, rows,
};
use trefoil_memory_core::extract::ClaimExtractor;

/// Governed memory on an engine. Share it by reference; what it writes is durable when the
/// call returns.
///
/// Where nodes share a store, each may be asked for anything: one that follows has the memory of the
/// node that leads do what is to be written, but for [`Memory::work`] and [`Memory::maintain`],
/// which are for the node that leads.
///
/// While it is kept, the worker of an engine that is open to write learns what was observed and
/// looks after memory, as [`MemoryUpkeep`](trefoil::memory::MemoryUpkeep) says.
#[derive(Debug)]
pub struct Memory {
    engine: Arc<Engine>,
    services: Arc<Services>,
}

impl Memory {
    /// The memory of an engine, with ids that nobody else makes.
    pub fn new(engine: Arc<Engine>) -> Self {
        Self::with_ids(engine, IdGenerator::new())
    }

    /// The same with ids of a generator.
    pub fn with_ids(engine: Arc<Engine>, ids: IdGenerator) -> Self {
        Self::with_services(engine, Services::new(Arc::new(ids)))
    }

    /// The same with what finds claims in observations.
    #[must_use]
    pub fn with_extractor(self, extractor: Arc<dyn ClaimExtractor>) -> Self {
        let services = Services { extractor, ..self.services.again() };
        Self::with_services(self.engine, services)
    }

    /// The same with what says in short what several units say.
    #[must_use]
    pub fn with_summarizer(self, summarizer: Arc<dyn Summarizer>) -> Self {
        let services = Services { summarizer, ..self.services.again() };
        Self::with_services(self.engine, services)
    }

    /// The same with what looks at the sources of claims when the worker looks after memory;
    /// [`NoProbe`](crate::NoProbe) otherwise.
    #[must_use]
    pub fn with_probe(self, probe: Arc<dyn SourceProbe>) -> Self {
        let services = Services { probe, ..self.services.again() };
        Self::with_services(self.engine, services)
    }

    fn with_services(engine: Arc<Engine>, services: Services) -> Self {
        let services = Arc::new(services);
        let task: Arc<dyn BackgroundTask> = Arc::<Services>::clone(&services);
        engine.run_in_background(&task);
        Self { engine, services }
    }

    /// What finds claims in observations.
    pub fn extractor(&self) -> &dyn ClaimExtractor {
        self.services.extractor.as_ref()
    }

    /// Whether something may pass a boundary, under the policy that holds.
    pub fn validate(&self, payload: &Payload<'_>, boundary: &Boundary) -> Result<Validation> {
        let validator = PolicyValidator { now: self.now()? };
        Ok(validator.validate(payload, boundary, &self.policy()?))
    }

    /// A text without what the policy that holds cuts out of everything that is stored.
    pub fn redact(&self, text: &str) -> Result<String> {
        Ok(self.policy()?.redact.redact(text).text)
    }

    /// The policy that was applied last; the built-in one before any was.
    pub fn policy(&self) -> Result<Policy> {
        let text = self.policy_text(None)?;
        let mut last = self.services.policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, policy)) = last.as_ref().filter(|(known, _)| *known == text) {
            return Ok(policy.clone());
        }
        let policy = Policy::from_yaml(&text)?;
        *last = Some((text, policy.clone()));
        Ok(policy)
    }

    /// The policy of a version.
    ///
    /// # Errors
    /// [`Error::PolicyMissing`] if there is none.
    pub fn policy_of(&self, version: &PolicyVersion) -> Result<Policy> {
        Policy::from_yaml(&self.policy_text(Some(version))?)
    }

    /// A policy as it was written, with its comments; the one that holds if `version` is absent.
    ///
    /// # Errors
    /// [`Error::PolicyMissing`] if there is none of that version.
    pub fn policy_text(&self, version: Option<&PolicyVersion>) -> Result<String> {
        let stored = self.read("read a policy", |rows| match version {
            Some(version) => rows.policy(version.as_str()),
            None => rows.current_policy(),
        })?;
        match (stored, version) {
            (Some(policy), _) => Ok(policy.yaml),
            (None, Some(version)) if *version != Policy::built_in()?.version => {
                Err(Error::PolicyMissing { version: Some(version.to_string()) })
            }
            (None, _) => Ok(Policy::BUILT_IN.to_owned()),
        }
    }

    /// Makes a policy the current one, unless this is a `dry_run`. Its version.
    ///
    /// # Errors
    /// [`Error::InvalidPolicy`] with every mistake in it.
    pub fn apply_policy(&self, yaml: &str, dry_run: bool) -> Result<PolicyVersion> {
        let version = Policy::from_yaml(yaml)?.version;
        if dry_run {
            return Ok(version);
        }
        self.perform(&ApplyPolicy { yaml: yaml.to_owned() })
    }

    /// Begins a session of work on the project in a folder.
    pub fn create_session(&self, project_path: &str) -> Result<Session> {
        self.create_session_of(project_path, None)
    }

    /// The same with an owner: a word of the caller's own, 1–256 bytes, which
    /// [`Memory::session`] tells. Memory itself asks nobody whether a session is theirs.
    ///
    /// # Errors
    /// [`Error::InvalidField`] for an owner that is empty or too long.
    pub fn create_session_of(&self, project_path: &str, owner: Option<&str>) -> Result<Session> {
        if let Some(owner) = owner {
            Error::check_length(owner.len(), 1..=256, "owner", "1–256 bytes")?;
        }
        let owner = owner.map(str::to_owned);
        let session = Session { owner, ..Session::new(self.id()?, project_path, self.now()?) };
        self.perform(&CreateSession(session))
    }

    /// The session with this id.
    pub fn session(&self, id: &SessionId) -> Result<Option<Session>> {
        let row = self.read("read a session", |rows| rows.session(id.as_str()))?;
        row.as_ref().map(rows::to_session).transpose()
    }

    /// Ends a session with what was done in it, without what the policy cuts out.
    ///
    /// # Errors
    /// [`Error::InvalidState`] if it has ended, or was never begun.
    pub fn end_session(&self, id: &SessionId, summary: &str) -> Result<Session> {
        self.perform(&EndSession { id: id.clone(), summary: self.redact(summary)? })
    }

    /// Stores what happened, without what the policy cuts out of it. It is found by its words
    /// at once; what it says is learnt by the worker of the engine, or by [`Memory::work`].
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`] for what may not be stored, [`Error::InvalidField`] for what
    /// is out of range.
    pub fn observe(&self, draft: ObservationDraft) -> Result<Observation> {
        self.perform(&Observe(draft))
    }

    /// Waits until the worker has learnt and embedded all that was observed, or can do no more.
    /// Where it does not learn by itself ([`MemoryUpkeep`](trefoil::memory::MemoryUpkeep)), it waits
    /// for vectors only.
    ///
    /// # Errors
    /// What stopped the work in the background, if something did.
    pub fn wait_until_indexed(&self) -> Result<JobCounts> {
        self.engine.wait_until_indexed()
    }

    /// The observation with this id; absent if there is none, or its content was scrubbed.
    pub fn observation(&self, id: &ObservationId) -> Result<Option<Observation>> {
        let unit = self.read("read an observation", |rows| rows.unit(id.as_str()))?;
        rows::body(unit.as_ref(), rows::to_observation)
    }

    /// The claim with this id.
    ///
    /// # Errors
    /// [`Error::UnknownClaim`] if there is none.
    pub fn claim(&self, id: &ClaimId) -> Result<Claim> {
        let unit = self.read("read a claim", |rows| rows.unit(id.as_str()))?;
        let claim = rows::body(unit.as_ref(), rows::to_claim)?;
        claim.ok_or_else(|| Error::UnknownClaim { id: id.clone() })
    }

    /// Forgets all that speaks of a subject, and proves it.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_subject(&self, subject: &str) -> Result<ForgetReceipt> {
        self.engine.memory().forget_subject(subject)
    }

    /// Forgets the unit with this id and all that was made from it.
    ///
    /// # Errors
    /// As [`Engine::forget_document`].
    pub fn forget_unit(&self, id: &str) -> Result<ForgetReceipt> {
        let row = self.read("look up a unit", |rows| rows.row_of(id))?;
        self.engine.memory().forget_units(row.as_slice())
    }

    fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.engine.memory().read(doing, work)
    }

    fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        self.engine.memory().write(doing, work)
    }

    fn id<I: MemoryId>(&self) -> Result<I> {
        self.services.ids.generate(self.now()?)
    }

    fn now(&self) -> Result<Timestamp> {
        rows::time(self.engine.memory().now())
    }
}

/// [`Memory::apply_policy`].
#[derive(Clone, Serialize, Deserialize)]
struct ApplyPolicy {
    yaml: String,
}

impl Operation for ApplyPolicy {
    type Done = PolicyVersion;
    const NAME: &'static str = "applyPolicy";

    fn perform(&self, writer: Writer<'_>) -> Result<PolicyVersion> {
        let version = Policy::from_yaml(&self.yaml)?.version;
        writer.write("apply a policy", |rows| {
            rows.apply_policy(&version.to_string(), &self.yaml)?;
            Ok(version)
        })
    }
}

/// [`Memory::create_session_of`].
#[derive(Clone, Serialize, Deserialize)]
struct CreateSession(Session);

impl Operation for CreateSession {
    type Done = Session;
    const NAME: &'static str = "createSession";

    fn perform(&self, writer: Writer<'_>) -> Result<Session> {
        writer.write("begin a session", |write| {
            write.put_session(&rows::of_session(&self.0))?;
            Ok(self.0.clone())
        })
    }
}

/// [`Memory::end_session`].
#[derive(Clone, Serialize, Deserialize)]
struct EndSession {
    id: SessionId,
    summary: String,
}

impl Operation for EndSession {
    type Done = Session;
    const NAME: &'static str = "endSession";

    fn perform(&self, writer: Writer<'_>) -> Result<Session> {
        const CALL: &str = "end a session";
        let now = writer.memory.now()?;
        writer.write(CALL, |write| {
            let stored = write.session(self.id.as_str())?;
            let session = stored.as_ref().map(rows::to_session).transpose()?;
            let state = || format!("session {} that was never begun", self.id);
            let unknown = || Error::InvalidState { state: state(), call: CALL };
            let ended = session.ok_or_else(unknown)?.ended(&self.summary, now)?;
            write.put_session(&rows::of_session(&ended))?;
            Ok(ended)
        })
    }
}

/// [`Memory::observe`].
#[derive(Clone, Serialize, Deserialize)]
struct Observe(ObservationDraft);

impl Operation for Observe {
    type Done = Observation;
    const NAME: &'static str = "observe";

    fn perform(&self, writer: Writer<'_>) -> Result<Observation> {
        let memory = writer.memory;
        let draft = admit(self.0.clone(), &memory.policy()?)?;
        let observation = draft.into_observation(memory.id()?, memory.now()?)?;
        let tokens = memory.engine.memory().counter().count(&observation.text());
        let (unit, payload) = rows::of_observation(&observation, tokens)?;
        writer.write("store an observation", |write| {
            let row = write.put_unit(&unit, &payload, PatchReason::ExtractUpdate)?;
            roll::ask_for_narrative(write, &observation)?;
            write.add_event("observed", Some(row), "{}")?;
            Ok(observation)
        })
    }

    fn redacted(&self, memory: &Memory) -> Result<Self> {
        admit(self.0.clone(), &memory.policy()?).map(Self)
    }
}
