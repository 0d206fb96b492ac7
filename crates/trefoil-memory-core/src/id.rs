use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use trefoil_core::{
    ClaimId, ContextId, EvidenceId, FeedbackId, LoopId, ObservationId, Result, SessionId, SummaryId,
};
use ulid::Ulid;

/// Makes ids that sort by the time at which they were made.
///
/// An id is a prefix and a ULID: 48 bits of milliseconds since 1970 and 80 random bits.
/// Within a millisecond, and when the clock goes back, each id is the one before it plus 1,
/// so that the ids of one generator always increase. Source: <https://github.com/ulid/spec>.
#[derive(Debug)]
pub struct IdGenerator {
    state: Mutex<(fastrand::Rng, Option<Ulid>)>,
}

impl IdGenerator {
    /// Ids that nobody else makes.
    pub fn new() -> Self {
        Self::from(fastrand::Rng::new())
    }

    /// The same ids for the same seed and the same times.
    pub fn seeded(seed: u64) -> Self {
        Self::from(fastrand::Rng::with_seed(seed))
    }

    /// A new id of type `I`, made at `now`.
    ///
    /// ```
    /// use jiff::Timestamp;
    /// use trefoil_core::{ClaimId, ObservationId};
    /// use trefoil_memory_core::IdGenerator;
    ///
    /// let ids = IdGenerator::seeded(7);
    /// let first: ClaimId = ids.generate(Timestamp::UNIX_EPOCH)?;
    /// let second: ClaimId = ids.generate(Timestamp::UNIX_EPOCH)?;
    /// assert!(first < second && first.as_str().starts_with("clm_0000000000"));
    /// # Ok::<(), trefoil_core::Error>(())
    /// ```
    pub fn generate<I: MemoryId>(&self, now: Timestamp) -> Result<I> {
        I::from_ulid(self.next(now))
    }

    fn next(&self, now: Timestamp) -> Ulid {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (random, previous) = &mut *state;
        let millisecond = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let ulid = match *previous {
            // `increment` fails when all random bits are ones: then the millisecond carries.
            Some(last) if millisecond <= last.timestamp_ms() => {
                last.increment().unwrap_or_else(|_| Ulid::from_parts(last.timestamp_ms() + 1, 0))
            }
            _ => Ulid::from_parts(millisecond, random.u128(..)),
        };
        *previous = Some(ulid);
        ulid
    }
}

impl Default for IdGenerator {
    fn default() -> Self {
        Self::new()
    }
}

impl From<fastrand::Rng> for IdGenerator {
    fn from(random: fastrand::Rng) -> Self {
        Self { state: Mutex::new((random, None)) }
    }
}

/// An id that is a prefix and a ULID.
///
/// ```
/// use jiff::Timestamp;
/// use trefoil_core::Result;
/// use trefoil_memory_core::{IdGenerator, MemoryId};
/// use ulid::Ulid;
///
/// struct TicketId(String);
///
/// impl MemoryId for TicketId {
///     fn from_ulid(ulid: Ulid) -> Result<Self> {
///         Ok(Self(format!("tic_{ulid}")))
///     }
/// }
///
/// let ticket: TicketId = IdGenerator::seeded(7).generate(Timestamp::UNIX_EPOCH)?;
/// assert!(ticket.0.starts_with("tic_0000000000"));
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait MemoryId: Sized {
    /// The id with this ULID.
    ///
    /// # Errors
    /// [`trefoil_core::Error::InvalidId`] if the type does not accept it.
    fn from_ulid(ulid: Ulid) -> Result<Self>;
}

macro_rules! memory_ids {
    ($($id:ident),*) => {
        $(impl MemoryId for $id {
            fn from_ulid(ulid: Ulid) -> Result<Self> {
                Self::new(format!("{}{ulid}", Self::PREFIX))
            }
        })*
    };
}

memory_ids!(
    ClaimId,
    ContextId,
    EvidenceId,
    FeedbackId,
    LoopId,
    ObservationId,
    SessionId,
    SummaryId
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_memory_id_has_its_prefix() {
        let (ids, now) = (IdGenerator::seeded(1), Timestamp::UNIX_EPOCH);
        let made = [
            ids.generate::<ClaimId>(now).unwrap().to_string(),
            ids.generate::<ContextId>(now).unwrap().to_string(),
            ids.generate::<EvidenceId>(now).unwrap().to_string(),
            ids.generate::<FeedbackId>(now).unwrap().to_string(),
            ids.generate::<LoopId>(now).unwrap().to_string(),
            ids.generate::<ObservationId>(now).unwrap().to_string(),
            ids.generate::<SessionId>(now).unwrap().to_string(),
            ids.generate::<SummaryId>(now).unwrap().to_string(),
        ];
        let prefixes: Vec<_> = made.iter().map(|id| id.split_at(id.len() - 26).0).collect();
        assert_eq!(prefixes, ["clm_", "ac_", "evd_", "fb_", "lop_", "obs_", "ses_", "sum_"]);
    }

    #[test]
    fn generators_with_other_seeds_make_other_ids() {
        let id = |ids: IdGenerator| ids.generate::<ClaimId>(Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(id(IdGenerator::seeded(1)), id(IdGenerator::seeded(1)));
        assert_ne!(id(IdGenerator::seeded(1)), id(IdGenerator::seeded(2)));
        assert_ne!(id(IdGenerator::new()), id(IdGenerator::new()));
    }

    proptest! {
        #[test]
        fn ids_increase_whatever_the_clock_does(times in proptest::collection::vec(-9_i64..9_999, 2..40)) {
            let ids = IdGenerator::seeded(3);
            let made: Vec<ClaimId> = times
                .iter()
                .map(|&at| ids.generate(Timestamp::from_millisecond(at).unwrap()).unwrap())
                .collect();
            prop_assert!(made.windows(2).all(|pair| pair[0] < pair[1]));
        }
    }
}
