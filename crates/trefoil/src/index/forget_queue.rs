//! What other nodes ask the one that leads to forget. It takes long, so its worker does it, and the
//! thread of the node goes on.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use trefoil_core::RowId;
use trefoil_store::truth::RequestId;

/// What is to be forgotten, with everything that came from it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Forget {
    /// The document at a path.
    Document(String),
    /// Units of memory.
    Units(Vec<RowId>),
    /// Every unit of memory that speaks of a subject.
    Subject(String),
}

/// Requests that are taken from the inbox and not answered yet, in their order.
#[derive(Debug, Default)]
pub(crate) struct ForgetQueue(Mutex<Vec<(RequestId, Forget)>>);

impl ForgetQueue {
    /// How many there are, the one that is being done among them.
    pub(crate) fn len(&self) -> usize {
        self.waiting().len()
    }

    /// Adds one; false if it is there already.
    pub(crate) fn add(&self, id: RequestId, what: Forget) -> bool {
        let mut waiting = self.waiting();
        let is_new = waiting.iter().all(|(known, _)| *known != id);
        if is_new {
            waiting.push((id, what));
        }
        is_new
    }

    /// The first one, which stays until it is [removed](Self::remove).
    pub(crate) fn first(&self) -> Option<(RequestId, Forget)> {
        self.waiting().first().cloned()
    }

    /// Removes one: it is answered, or stays in the inbox.
    pub(crate) fn remove(&self, id: RequestId) {
        self.waiting().retain(|(known, _)| *known != id);
    }

    fn waiting(&self) -> MutexGuard<'_, Vec<(RequestId, Forget)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
