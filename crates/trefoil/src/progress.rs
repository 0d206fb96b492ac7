use std::ops::ControlFlow;

use trefoil_core::{Error, Result};

/// How far a long call has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How much is done, in the unit of the call.
    pub done: u64,
    /// How much there is; 0 as long as nobody knows.
    pub total: u64,
}

/// Is told how far a call has come, and says whether it goes on.
pub(crate) type OnProgress<'f> = dyn FnMut(Progress) -> ControlFlow<()> + 'f;

/// Tells how far a call has come that is undone, or goes on another time, when it is given up.
///
/// # Errors
/// [`Error::Cancelled`] if it is given up.
pub(crate) fn tell(on_progress: &mut OnProgress<'_>, done: u64, total: u64) -> Result<()> {
    match on_progress(Progress { done, total }) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(()) => Err(Error::Cancelled),
    }
}
