//! Writes of memory on any node: the one that leads does them, others ask it to.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use trefoil::memory::{AskedWrite, MemoryWrite};
use trefoil_core::{Error, Part, Result};

use super::{
    ApplyPolicy, CreateSession, EndSession, Memory, Observe,
    feedback::GiveFeedback,
    learn::{InsertClaims, Integrate},
    recall::SaveContext,
    revise::{Promote, Rollback},
};

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
    asked: Option<&'a AskedWrite<'a>>,
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

/// An operation on its way.
#[derive(Deserialize)]
struct Sent {
    name: String,
    operation: Value,
}

/// The operations that other nodes may ask for, by their names.
const OPERATIONS: [(&str, fn(Writer<'_>, Value) -> Result<()>); 10] = [
    (ApplyPolicy::NAME, perform::<ApplyPolicy>),
    (CreateSession::NAME, perform::<CreateSession>),
    (EndSession::NAME, perform::<EndSession>),
    (Observe::NAME, perform::<Observe>),
    (InsertClaims::NAME, perform::<InsertClaims>),
    (Integrate::NAME, perform::<Integrate>),
    (GiveFeedback::NAME, perform::<GiveFeedback>),
    (Promote::NAME, perform::<Promote>),
    (Rollback::NAME, perform::<Rollback>),
    (SaveContext::NAME, perform::<SaveContext>),
];

fn perform<O: Operation>(writer: Writer<'_>, operation: Value) -> Result<()> {
    let operation: O = serde_json::from_value(operation).map_err(not_understood)?;
    operation.perform(writer).map(drop)
}

fn not_understood(error: serde_json::Error) -> Error {
    Error::backend(Part::Store, "understand what another node asks of memory", error)
}

impl Memory {
    /// Does an operation here, or has the node that leads do it.
    pub(super) fn perform<O: Operation>(&self, operation: &O) -> Result<O::Done> {
        let here = || operation.perform(Writer { memory: self, asked: None });
        let sent = || Ok(json!({ "name": O::NAME, "operation": operation.redacted(self)? }));
        self.engine.memory().write_or_ask(here, sent)
    }

    /// Does what another node asks for.
    pub(super) fn perform_for(&self, asked: &AskedWrite<'_>) -> Result<()> {
        let Sent { name, operation } = Sent::deserialize(asked.what).map_err(not_understood)?;
        let known = OPERATIONS.iter().find(|(one, _)| *one == name);
        let Some((_, perform)) = known else {
            let reason = format!("this version knows no operation `{name}`");
            return Err(Error::backend(Part::Store, "do what another node asks of memory", reason));
        };
        perform(Writer { memory: self, asked: Some(asked) }, operation)
    }
}
