//! What lets the tasks of others work on an engine, such as the layer above memory.

use std::{fmt::Debug, sync::Arc};

use serde_json::Value;
use trefoil_core::Result;
use trefoil_store::truth::RequestId;

use crate::state::State;

/// A write of memory that another node asks the one that leads for.
#[derive(Debug)]
pub struct AskedWrite<'a> {
    pub(crate) id: RequestId,
    /// What is asked, as the layer above memory said it on the other node.
    pub what: &'a Value,
}

/// Runs the tasks that somebody keeps for the worker of an engine.
pub(crate) trait TaskRunner: Debug + Send + Sync {
    /// Lets each task do a little; false if nothing is left to do. What fails is noted in `state`.
    fn run(&self, state: &Arc<State>) -> bool;

    /// When it is next to be called although nothing was written, in seconds since 1970.
    fn next_at(&self) -> Option<i64>;

    /// Lets the task whose it is do a write that another node asks for; false if it is nobody's.
    ///
    /// # Errors
    /// Those of the task.
    fn write_for(&self, state: &Arc<State>, asked: &AskedWrite<'_>) -> Result<bool>;
}
