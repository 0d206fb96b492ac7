//! Writes of memory on any node: the one that leads does them, others ask it to.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::json;
use trefoil::memory::{AskedWrite, MemoryWrite};
use trefoil_core::Result;

use super::Memory;

/// A write that a caller asks for, done in one transaction.
pub(super) trait Operation: Clone + Serialize + DeserializeOwned {
    /// What the caller is told.
    type Done: Serialize + DeserializeOwned;
    /// What it is called on its way to the node that leads.
    const NAME: &'static str;

    /// Does it: all that it writes, by one call of [`Writer::write`].
    fn perform(&self, writer: Writer<'_>) -> Result<Self::Done>;

    /// The same as another node may read it: without what the policy cuts out.
    fn redacted(&self, memory: &Memory) -> Result<Self> {
        let _ = memory;
        Ok(self.clone())
    }
}

/// What an operation writes with: for a caller here, or for another node, which is told what it
/// gave in the same transaction.
pub(super) struct Writer<'a> {
    pub(super) memory: &'a Memory,
    pub(super) asked: Option<&'a AskedWrite<'a>>,
}

impl Writer<'_> {
    pub(super) fn write<T: Serialize>(
        self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        let rows = self.memory.engine.memory();
        match self.asked {
            None => rows.write(doing, work),
            Some(asked) => rows.write_for(asked, doing, work),
        }
    }
}

impl Memory {
    /// Does an operation here, or has the node that leads do it.
    pub(super) fn perform<O: Operation>(&self, operation: &O) -> Result<O::Done> {
        let here = || operation.perform(Writer { memory: self, asked: None });
        let sent = || Ok(json!({ "name": O::NAME, "operation": operation.redacted(self)? }));
        self.engine.memory().write_or_ask(here, sent)
    }
}
