//! What was looked up of a state, kept for as long as it is asked: questions begin with the same
//! letters, results mention the same entities, and the postings of a hub are many.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

use trefoil_core::Result;

use super::Located;
use crate::{Node, segment::said::Text};

/// Answers of each kind that are kept, some dozen bytes each; all are dropped when there are more.
const KEPT: usize = 1 << 15;

/// What chunks say of an entity. The texts are told by the place of a segment and their ordinal
/// there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Summed {
    pub(super) name: (usize, Text),
    pub(super) label: (usize, u32),
    pub(super) chunks: u32,
    pub(super) mentioned: f32,
}

/// A thing with the place of a segment and its ordinal there. Two are equal if the things are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed<T> {
    pub(super) what: T,
    pub(super) at: (usize, u32),
}

impl<T: PartialEq> PartialEq for Placed<T> {
    fn eq(&self, other: &Self) -> bool {
        self.what == other.what
    }
}

/// An entity of a segment.
#[derive(Debug)]
pub(super) struct Known {
    /// Its number.
    pub(super) node: Node,
    /// Where the segments have it.
    pub(super) located: Located,
}

/// How far a text is the beginning of spellings.
#[derive(Debug, Default)]
pub(super) struct Beginning {
    /// The segments in which it is, by place, each with its first spelling that begins so.
    pub(super) places: Vec<(usize, u32)>,
    /// True if it is a spelling itself.
    pub(super) is_known: bool,
}

#[derive(Debug, Default)]
pub(super) struct EntityCache {
    /// By number; none for one that no chunk mentions any more.
    pub(super) summed: Kept<Node, Option<Summed>>,
    /// By place of a segment and ordinal there.
    pub(super) known: Kept<(usize, u32), Arc<Known>>,
    pub(super) beginnings: Kept<String, Arc<Beginning>>,
}

/// Answers by what was asked.
#[derive(Debug)]
pub(super) struct Kept<Q, A>(Mutex<HashMap<Q, A>>);

impl<Q, A> Default for Kept<Q, A> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<Q: Eq + Hash, A: Clone> Kept<Q, A> {
    /// The answer that is kept, or else what `read` gives, which is kept. The lock is not held
    /// meanwhile.
    pub(super) fn get(&self, asked: Q, read: impl FnOnce() -> Result<A>) -> Result<A> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&asked).cloned();
        if let Some(answer) = kept {
            return Ok(answer);
        }
        let answer = read()?;
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= KEPT {
            all.clear();
        }
        all.insert(asked, answer.clone());
        Ok(answer)
    }
}
