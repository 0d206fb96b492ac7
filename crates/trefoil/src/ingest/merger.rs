//! The thread that merges: segments into larger ones, with what makes them fast. Nothing waits for
//! it that writes or searches.

use std::sync::Arc;

use trefoil_core::{Collection, Error, IndexInput, Result};

use crate::{
    background::Work,
    default_set::stage_fed_by,
    ingest::background_thread::{Steps, ThreadStatus},
    state::State,
};

/// Does the merges that the indexes of an engine ask for, one at a time.
#[derive(Debug)]
pub(crate) struct Merger;

impl Steps for Merger {
    fn name(&self) -> &'static str {
        "the merging of an index"
    }

    /// Does the next merge and shows the result to new searches. An index that cannot be merged
    /// holds up no other.
    fn step(&self, state: &Arc<State>, thread: &ThreadStatus<'_>) -> Result<bool> {
        for collection in Collection::ALL {
            for writer in state.indexed(collection).writers() {
                match writer.merge_next(&|| thread.is_stopped()) {
                    Ok(false) => {}
                    Ok(true) => {
                        state.errors.clear_of(Work::Merge, writer.id().into());
                        state.show_merged(collection, writer.id())?;
                        return Ok(true);
                    }
                    Err(error) => state.errors.note_of(Work::Merge, writer.id().into(), error),
                }
            }
        }
        Ok(false)
    }

    fn failed(&self, state: &State, error: Error) -> bool {
        state.errors.note_of(Work::Merge, stage_fed_by(IndexInput::Vector), error);
        false
    }

    fn next_at(&self, _: &State, _: i64) -> Option<i64> {
        None
    }
}
