//! What the memory of the node that leads does for other nodes.

use serde::Deserialize;
use serde_json::Value;
use trefoil::memory::AskedWrite;
use trefoil_core::{Error, Part, Result};

use super::{
    ApplyPolicy, CreateSession, EndSession, Memory, Observe,
    feedback::GiveFeedback,
    learn::{InsertClaims, Integrate},
    operation::{Operation, Writer},
    recall::SaveContext,
    revise::{Promote, Rollback},
};

/// An operation on its way.
#[derive(Deserialize)]
struct Sent {
    name: String,
    operation: Value,
}

/// Does an operation as it was sent.
type Perform = fn(Writer<'_>, Value) -> Result<()>;

/// The operations that other nodes may ask for, by their names.
const OPERATIONS: [(&str, Perform); 10] = [
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
