//! Memory as others see it: what a host program can put in its place, or ask for by itself.

use std::fmt::Debug;

use jiff::Timestamp;
use trefoil_core::{ObservationId, Result, SessionId};

use crate::{
    FindOptions, FoundUnits, Observation, ObservationDraft, Policy, PolicyVersion, Session, Step,
};

/// Keeps policies, every version of them.
pub trait PolicyStore: Debug + Send + Sync {
    /// The policy that holds.
    ///
    /// # Errors
    /// Those of the store.
    fn current(&self) -> Result<Policy>;

    /// The policy of a version.
    ///
    /// # Errors
    /// [`Error::PolicyMissing`](trefoil_core::Error::PolicyMissing) if there is none.
    fn version(&self, version: &PolicyVersion) -> Result<Policy>;

    /// Makes a policy the one that holds.
    ///
    /// # Errors
    /// [`Error::InvalidPolicy`](trefoil_core::Error::InvalidPolicy) with every mistake in it.
    fn apply(&self, yaml: &str) -> Result<PolicyVersion>;
}

/// Keeps sessions and what happened in them.
pub trait MemoryStore: Debug + Send + Sync {
    /// Begins a session of work on the project in a folder.
    ///
    /// # Errors
    /// Those of the store.
    fn create_session(&self, project_path: &str) -> Result<Session>;

    /// Ends a session with what was done in it.
    ///
    /// # Errors
    /// [`Error::InvalidState`](trefoil_core::Error::InvalidState) if it has ended, or was
    /// never begun.
    fn end_session(&self, id: &SessionId, summary: &str) -> Result<Session>;

    /// Stores what happened.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`](trefoil_core::Error::BoundaryDenied) for what may not be
    /// stored.
    fn add_observation(&self, draft: ObservationDraft) -> Result<Observation>;

    /// What happened; absent if it is not there, or was scrubbed.
    ///
    /// # Errors
    /// Those of the store.
    fn get_observation(&self, id: &ObservationId) -> Result<Option<Observation>>;

    /// Scrubs what was to be kept until `before` at most, each after a summary of it was
    /// stored.
    ///
    /// # Errors
    /// Those of the store and of the summariser; without a summary nothing is scrubbed.
    fn summarize_and_delete(&self, before: Timestamp) -> Result<Vec<Step>>;
}

/// Finds what is remembered, for one request within its boundary.
pub trait SearchEngine: Debug + Send + Sync {
    /// The units that answer a question.
    ///
    /// # Errors
    /// [`Error::BoundaryDenied`](trefoil_core::Error::BoundaryDenied) if the request may see
    /// nothing, [`Error::InvalidQuery`](trefoil_core::Error::InvalidQuery).
    fn search(&self, query: &str, options: &FindOptions) -> Result<FoundUnits>;

    /// The units that are nearest to a vector of the engine's model.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`](trefoil_core::Error::DimensionMismatch) for a vector of
    /// another model, and as [`SearchEngine::search`].
    fn search_by_embedding(&self, vector: &[f32], options: &FindOptions) -> Result<FoundUnits>;
}
