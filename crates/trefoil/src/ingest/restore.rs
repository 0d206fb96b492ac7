//! Putting back what the shared store has lost and this node has kept.

use std::{collections::BTreeSet, sync::Arc};

use serde::Serialize;
use trefoil_core::{Error, Result};
use trefoil_store::{
    NewEmbedding, file_id,
    truth::{LostDocument, LostRows, WriteRequest, Written},
};

use crate::{config::Model, state::State};

/// How many documents are put back in one transaction.
const GROUP: usize = 16;

/// What was put back of the documents that the shared store had lost.
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
    /// Units of memory that were lost, at most; they are not put back.
    pub memory_units: usize,
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

/// Why a document was not put back.
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
    /// What a message says of the document.
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
        let LostRows { at, after, documents, rewritten, removed, returned, memory_units } = kept;
        let of = |reason| move |path| NotRestored { path, reason };
        let named = rewritten.into_iter().map(of(NotRestoredReason::Rewritten));
        let named = named.chain(removed.into_iter().map(of(NotRestoredReason::Removed)));
        let named = named.chain(returned.into_iter().map(of(NotRestoredReason::Returned)));
        let mut skipped: Vec<NotRestored> = named.collect();
        let mut due = Vec::new();
        for document in documents {
            match self.not_restored(&document)? {
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
            memory_units,
            ..Restored::default()
        };
        if dry_run {
            report.restored = due.into_iter().map(|document| document.file.path).collect();
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
            self.show_written()?;
            self.store.forget_lost_rows()?;
        }
        skipped.sort();
        report.skipped = skipped;
        Ok(report)
    }

    /// Why a document is not to be put back; none if it is.
    fn not_restored(&self, document: &LostDocument) -> Result<Option<NotRestoredReason>> {
        let there = self.store.file_digest(&document.file.path)?;
        Ok(if there.as_ref() == Some(&document.digest) {
            Some(NotRestoredReason::Present)
        } else if there == document.before {
            None
        } else if there.is_some() {
            Some(NotRestoredReason::Rewritten)
        } else {
            Some(NotRestoredReason::Removed)
        })
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
            Written::Counted(_) => Ok(BTreeSet::new()),
        }
    }
}
