use std::sync::Arc;

use crate::{BoundaryClass, Language, RowId, StoredChunk, UnitKind, UnitState, tie_break};

/// Which rows an index holds. A row belongs to exactly one collection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Collection {
    /// Chunks of documents: what `search` sees.
    #[default]
    Documents,
    /// Every other kind of unit: what only the memory layer sees.
    Memory,
}

impl Collection {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Documents, Self::Memory];

    /// Name of its directory.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Memory => "memory",
        }
    }

    /// The number that the store and the indexes keep.
    pub const fn code(self) -> u8 {
        match self {
            Self::Documents => 0,
            Self::Memory => 1,
        }
    }
}

/// A unit of memory as an index is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryText {
    /// Its row, which retrievers rank in.
    pub row: RowId,
    /// Its public id.
    pub id: String,
    /// The text that is searched.
    pub text: String,
    /// Its kind.
    pub kind: UnitKind,
    /// Its life-cycle state.
    pub state: UnitState,
    /// Who may see it.
    pub boundary: BoundaryClass,
    /// When it happened: days since 1970.
    pub occurred_day: i64,
}

/// A row of either collection, as an index is given it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexedUnit {
    /// A chunk of a document.
    Chunk(Arc<StoredChunk>),
    /// A unit of memory, and the language of its text.
    Memory(Arc<MemoryText>, Language),
}

impl IndexedUnit {
    /// Its row.
    pub fn row(&self) -> RowId {
        match self {
            Self::Chunk(chunk) => chunk.row,
            Self::Memory(unit, _) => unit.row,
        }
    }

    /// The language of its text.
    pub fn language(&self) -> Language {
        match self {
            Self::Chunk(chunk) => chunk.chunk.language,
            Self::Memory(_, language) => *language,
        }
    }

    /// The number that orders it among units of equal score ([`tie_break`]).
    pub fn tie_break(&self) -> u64 {
        match self {
            Self::Chunk(chunk) => tie_break(chunk.id.as_str()),
            Self::Memory(unit, _) => tie_break(&unit.id),
        }
    }
}
