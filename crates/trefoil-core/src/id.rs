use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

macro_rules! prefixed_ids {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[cfg_attr(
            feature = "schema",
            schemars(extend("pattern" = concat!("^", $prefix, "[A-Za-z0-9_-]{1,128}$")))
        )]
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// What every id of this type starts with.
            pub const PREFIX: &'static str = $prefix;

            /// Checks the prefix and that 1–128 ASCII letters, digits, `-` or `_` follow it.
            ///
            /// # Errors
            /// [`Error::InvalidId`] otherwise.
            pub fn new(id: impl AsRef<str>) -> Result<Self> {
                let id = id.as_ref();
                let rest = id.strip_prefix($prefix).unwrap_or_default();
                let valid = (1..=128).contains(&rest.len())
                    && rest.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
                if valid {
                    Ok(Self(Arc::from(id)))
                } else {
                    Err(Error::InvalidId { id_type: stringify!($name), provided: id.to_owned() })
                }
            }
        }

        $crate::text_type!($name::new);
    )*};
}

prefixed_ids! {
    /// A file or document: a hash of its path.
    FileId = "fil_";
    /// A chunk: a hash of its file, heading path, text and occurrence, so that
    /// indexing the same text again gives the same id.
    ChunkId = "chk_";
    /// An entity of the graph.
    EntityId = "ent_";
    /// A relation between two entities.
    RelationId = "rel_";
    /// A community of entities.
    CommunityId = "com_";
    /// A claim: something that is held to be so.
    ClaimId = "clm_";
    /// An observation: something that happened, as it was told.
    ObservationId = "obs_";
    /// What one recall brought, as it was saved.
    ContextId = "ac_";
    /// What speaks for a claim.
    EvidenceId = "evd_";
    /// What somebody said of a claim's worth.
    FeedbackId = "fb_";
    /// A stretch of work on one project.
    SessionId = "ses_";
    /// A summary of other units.
    SummaryId = "sum_";
    /// Something that is left to do.
    LoopId = "lop_";
}

/// The number by which rows of equal score are ordered, the smaller first, in every list: the
/// first eight bytes of the hash in a public id, big-endian. Rows are numbered as documents come
/// in; this number is the same in every index of the same documents.
///
/// Of an id without a hash, such as one that begins with the time, it is the first eight bytes of
/// what follows the underscore: what was made earlier goes first.
///
/// ```
/// # use trefoil_core::tie_break;
/// assert_eq!(tie_break("chk_00000000000000ff4b6b5c6f007ae8c9"), 255);
/// assert_eq!(tie_break("chk_a"), 10);
/// assert_ne!(tie_break("clm_my-own"), tie_break("clm_your-own"));
/// ```
pub fn tie_break(public_id: &str) -> u64 {
    let hash = public_id.split_once('_').map_or(public_id, |(_, hash)| hash);
    let digits = hash.get(..16).unwrap_or(hash);
    let is_hash = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    let number = u64::from_str_radix(digits, 16).ok().filter(|_| is_hash);
    number.unwrap_or_else(|| {
        hash.bytes().chain([0; 8]).take(8).fold(0, |number, byte| number << 8 | u64::from(byte))
    })
}

/// A row number of the store: what retrievers rank in. Dense, never reused.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RowId(u64);

impl RowId {
    /// Wraps a row number handed out by the store.
    pub const fn new(row: u64) -> Self {
        Self(row)
    }

    /// The row number.
    pub const fn get(self) -> u64 {
        self.0
    }
}

/// A position in the store's change log; 0 is before the first change.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seq(u64);

impl Seq {
    /// Before the first change.
    pub const ZERO: Self = Self(0);

    /// Wraps a position.
    pub const fn new(seq: u64) -> Self {
        Self(seq)
    }

    /// The position.
    pub const fn get(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prefixes_are_not_interchangeable() {
        assert!(FileId::new("fil_1a").is_ok());
        let error = FileId::new("chk_1a").unwrap_err();
        assert!(
            matches!(&error, Error::InvalidId { id_type: "FileId", provided } if provided == "chk_1a")
        );
        for bad in ["", "fil_", "fil_a b", "fil_日", "FIL_1"] {
            assert!(FileId::new(bad).is_err(), "{bad:?}");
        }
        assert!(FileId::new(format!("fil_{}", "a".repeat(128))).is_ok());
        assert!(FileId::new(format!("fil_{}", "a".repeat(129))).is_err());
    }

    proptest! {
        #[test]
        fn print_and_parse_agree(rest in "[A-Za-z0-9_-]{1,128}") {
            let id = ChunkId::new(format!("chk_{rest}"))?;
            prop_assert_eq!(&id, &id.to_string().parse::<ChunkId>()?);
            let json = serde_json::to_string(&id)?;
            prop_assert_eq!(id, serde_json::from_str::<ChunkId>(&json)?);
        }
    }
}
