use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng as _, SeedableRng as _},
};

/// Pseudo-random numbers, the same everywhere for the same seed, so that every interval and
/// p-value can be repeated.
#[derive(Clone, Debug)]
pub(crate) struct Random(Xoshiro256PlusPlus);

impl Random {
    pub(crate) fn seeded(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    /// 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; 0 if that is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        // The high half of the product: uneven by less than bound / 2⁶⁴.
        let product = u128::from(self.bits()) * bound as u128;
        usize::try_from(product >> 64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_reference() {
        // Computed with the authors' C code, seeded by their splitmix64 from 42.
        let mut random = Random::seeded(42);
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        let reference = [0xd076_4d4f_4476_689f, 0x519e_4174_576f_3791, 0xfbe0_7cfb_0c24_ed8c];
        assert_eq!(found, reference);
    }

    #[test]
    fn every_number_below_the_bound_is_as_likely() {
        let mut random = Random::seeded(1);
        let mut counts = [0_u32; 7];
        for _ in 0..70_000 {
            counts[random.below(7)] += 1;
        }
        assert!(counts.iter().all(|count| count.abs_diff(10_000) < 400), "{counts:?}");
        assert_eq!(random.below(0), 0);
        assert_eq!(random.below(1), 0);
    }
}
