//! Putting back what the shared store has lost and this node has kept.

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;
use trefoil_core::{Error, Result};
use trefoil_store::{
    NewEmbedding, file_id,
    memory::SessionRow,
    truth::{LostDocument, LostRows, LostUnit, WriteRequest, Written},
};

use crate::{config::Model, state::State};

/// How many documents are put back in one transaction.
const GROUP: usize = 16;

/// What was put back of the documents and the units of memory that the shared store had lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// The transaction after which all were lost.
    pub lost_after: u64,
    /// The last transaction of those that this node had.
    pub lost_upto: u64,
    /// Nothing was written: this is what would be.
    pub dry_run: bool,
    /// Paths of the documents that were put back.
    pub restored: Vec<String>,
    /// The documents that were not.
    pub skipped: Vec<NotRestored>,
    /// Ids of the units of memory that were put back.
    pub units: Vec<String>,
    /// The units that were not.
    pub skipped_units: Vec<UnitNotRestored>,
}

/// A document that was not put back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NotRestored {
    /// Its path.
    pub path: String,
    /// Why not.
    pub reason: NotRestoredReason,
}

/// A unit of memory that was not put back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnitNotRestored {
    /// Its id.
    pub id: String,
    /// Why not.
    pub reason: NotRestoredReason,
}

/// Why a document or a unit was not put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum NotRestoredReason {
    /// It is there already as it was.
    Present,
    /// It was written since the loss.
    Rewritten,
    /// It was removed since the loss.
    Removed,
    /// It was its removal that was lost: it is there again.
    Returned,
}

impl NotRestoredReason {
    /// What a message says of it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Present => "is there as it was",
            Self::Rewritten => "was written since the loss",
            Self::Removed => "was removed since the loss",
            Self::Returned => "had been removed, which was lost: remove it again",
        }
    }
}

impl State {
    /// Puts back what the shared store has lost and this node has kept, which it forgets then.
    ///
    /// # Errors
    /// [`Error::NothingLost`] if it has kept nothing, and those of a write; what was not put back
    /// by then stays kept.
    pub(crate) fn restore_lost(self: &Arc<Self>, dry_run: bool) -> Result<Restored> {
        self.updates_indexes("put back what was lost")?;
        if self.node.is_some() {
            self.follow()?;
        }
        let kept = self.store.lost_rows()?;
        let kept = kept.ok_or_else(|| Error::NothingLost { path: self.dir.clone() })?;
        let (units, skipped_units) = self.due_units(&kept)?;
        let LostRows { at, after, documents, rewritten, removed, returned, sessions, .. } = kept;
        let of = |reason| move |path| NotRestored { path, reason };
        let named = rewritten.into_iter().map(of(NotRestoredReason::Rewritten));
        let named = named.chain(removed.into_iter().map(of(NotRestoredReason::Removed)));
        let named = named.chain(returned.into_iter().map(of(NotRestoredReason::Returned)));
        let mut skipped: Vec<NotRestored> = named.collect();
        let mut due = Vec::new();
        for document in documents {
            let there = self.store.file_digest(&document.file.path)?;
            match not_restored(there.as_ref(), &document.digest, document.before.as_ref()) {
                Some(reason) => {
                    skipped.push(NotRestored { path: document.file.path, reason });
                }
                None => due.push(self.as_given(document)),
            }
        }
        let mut report = Restored {
            lost_after: after,
            lost_upto: at.tx,
            dry_run,
            skipped_units,
            ..Restored::default()
        };
        if dry_run {
            report.restored = due.into_iter().map(|document| document.file.path).collect();
            report.units = units.into_iter().map(|lost| lost.unit.id).collect();
        } else {
            for group in due.chunks(GROUP) {
                let stored = self.put_back(group)?;
                for LostDocument { file, .. } in group {
                    if stored.contains(file_id(&file.path)?.as_str()) {
                        report.restored.push(file.path.clone());
                    } else {
                        let reason = NotRestoredReason::Rewritten;
                        skipped.push(NotRestored { path: file.path.clone(), reason });
                    }
                }
            }
            if !units.is_empty() {
                let restored = self.put_back_units(&units, sessions)?;
                for LostUnit { unit, .. } in units {
                    if restored.contains(&unit.id) {
                        report.units.push(unit.id);
                    } else {
                        let reason = NotRestoredReason::Rewritten;
                        report.skipped_units.push(UnitNotRestored { id: unit.id, reason });
                    }
                }
            }
            self.show_written()?;
            self.store.forget_lost_rows()?;
        }
        skipped.sort();
        report.skipped = skipped;
        report.skipped_units.sort();
        Ok(report)
    }

    /// The units of memory that are to be put back, and those that are not.
    fn due_units(&self, kept: &LostRows) -> Result<(Vec<LostUnit>, Vec<UnitNotRestored>)> {
        let of = |reason| move |id: &String| UnitNotRestored { id: id.clone(), reason };
        let named = kept.rewritten_units.iter().map(of(NotRestoredReason::Rewritten));
        let named = named.chain(kept.removed_units.iter().map(of(NotRestoredReason::Removed)));
        let named = named.chain(kept.returned_units.iter().map(of(NotRestoredReason::Returned)));
        let mut skipped: Vec<UnitNotRestored> = named.collect();
        let mut due = Vec::new();
        for lost in &kept.units {
            let there = self.store.unit_digest(&lost.unit.id)?;
            match not_restored(there.as_ref(), &lost.digest, lost.before.as_ref()) {
                Some(reason) => skipped.push(UnitNotRestored { id: lost.unit.id.clone(), reason }),
                None => due.push(lost.clone()),
            }
        }
        Ok((due, skipped))
    }

    /// Writes units with the sessions that they name, unless others have written them by now, in one
    /// transaction, for they hang on each other; the ids of those that it wrote.
    fn put_back_units(
        self: &Arc<Self>,
        units: &[LostUnit],
        sessions: Vec<SessionRow>,
    ) -> Result<BTreeSet<String>> {
        let units = units.to_vec();
        match self.write_documents(&WriteRequest::RestoreUnits { sessions, units })? {
            Written::Units(ids) => Ok(ids.into_iter().collect()),
            Written::Stored(_) | Written::Counted(_) => Ok(BTreeSet::new()),
        }
    }

    /// A document as it comes in: with vectors if they are the caller's; a model makes its own.
    fn as_given(&self, mut document: LostDocument) -> LostDocument {
        let is_external = matches!(self.config.model, Model::External { .. });
        for chunk in &mut document.file.chunks {
            match &chunk.embedding {
                NewEmbedding::Given(_) if !is_external => chunk.embedding = NewEmbedding::Model,
                NewEmbedding::Model if is_external => chunk.embedding = NewEmbedding::Absent,
                NewEmbedding::Given(_) | NewEmbedding::Model | NewEmbedding::Absent => {}
            }
        }
        document
    }

    /// Writes documents, unless others have written them by now; the ids of those that it wrote.
    fn put_back(self: &Arc<Self>, group: &[LostDocument]) -> Result<BTreeSet<String>> {
        match self.write_documents(&WriteRequest::RestoreFiles(group.to_vec()))? {
            Written::Stored(stored) => {
                Ok(stored.into_iter().map(|one| one.file.to_string()).collect())
            }
            Written::Units(_) | Written::Counted(_) => Ok(BTreeSet::new()),
        }
    }
}

/// Why what was lost is not to be put back; none if it is: `there` is what the store has of it,
/// `before` what it had after the loss.
fn not_restored(
    there: Option<&String>,
    lost: &String,
    before: Option<&String>,
) -> Option<NotRestoredReason> {
    if there == Some(lost) {
        Some(NotRestoredReason::Present)
    } else if there == before {
        None
    } else if there.is_some() {
        Some(NotRestoredReason::Rewritten)
    } else {
        Some(NotRestoredReason::Removed)
    }
}
