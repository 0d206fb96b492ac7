//! The faces of memory, on an engine.

use jiff::Timestamp;
use trefoil_core::{ObservationId, Result, SessionId};

use super::{FindOptions, FoundUnits, Memory, MemoryView, Step};
use crate::{
    Boundary, BoundaryValidator, MemoryStore, Observation, ObservationDraft, Payload, Policy,
    PolicyStore, PolicyValidator, PolicyVersion, SearchEngine, Session, Validation,
    extract::Extractor,
};

impl Memory {
    /// What finds claims in observations.
    pub fn extractor(&self) -> &dyn Extractor {
        self.tools.extractor.as_ref()
    }

    /// Whether something may pass a boundary, under the policy that holds.
    ///
    /// # Errors
    /// Those of the store.
    pub fn validate(&self, payload: &Payload<'_>, boundary: &Boundary) -> Result<Validation> {
        let validator = PolicyValidator { now: self.now()? };
        Ok(validator.validate(payload, boundary, &self.policy()?))
    }

    /// A text without what the policy that holds cuts out of everything that is stored.
    ///
    /// # Errors
    /// Those of the store.
    pub fn redact(&self, text: &str) -> Result<String> {
        Ok(self.policy()?.redact.redact(text).text)
    }
}

impl PolicyStore for Memory {
    fn current(&self) -> Result<Policy> {
        self.policy()
    }

    fn version(&self, version: &PolicyVersion) -> Result<Policy> {
        self.policy_of(version)
    }

    fn apply(&self, yaml: &str) -> Result<PolicyVersion> {
        self.apply_policy(yaml, false)
    }
}

impl MemoryStore for Memory {
    fn create_session(&self, project_path: &str) -> Result<Session> {
        Self::create_session(self, project_path)
    }

    fn end_session(&self, id: &SessionId, summary: &str) -> Result<Session> {
        Self::end_session(self, id, summary)
    }

    fn add_observation(&self, draft: ObservationDraft) -> Result<Observation> {
        self.observe(draft)
    }

    fn get_observation(&self, id: &ObservationId) -> Result<Option<Observation>> {
        self.observation(id)
    }

    fn summarize_and_delete(&self, before: Timestamp) -> Result<Vec<Step>> {
        Self::summarize_and_delete(self, before)
    }
}

impl SearchEngine for MemoryView<'_> {
    fn search(&self, query: &str, options: &FindOptions) -> Result<FoundUnits> {
        self.find(query, options)
    }

    fn search_by_embedding(&self, vector: &[f32], options: &FindOptions) -> Result<FoundUnits> {
        self.find_near(vector, options)
    }
}
