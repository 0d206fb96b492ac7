/// A stream of random numbers that a seed fixes for ever, on every machine.
///
/// `SplitMix64` (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number
/// generators", figure 17). Its own code and not a crate's: which partition a seed gives
/// must not change with a dependency.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 to `end`, `end` not included; 0 if that is empty.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        // The high half of a product: uneven by less than end ÷ 2⁶⁴.
        let wide = (u128::from(self.bits()) * (end as u128)) >> 64;
        usize::try_from(wide).unwrap_or(0)
    }

    /// From 0 to 1, 1 not included.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Any order of the items, each as likely (Fisher–Yates).
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_that_of_the_paper() {
        // The first outputs of Vigna's splitmix64.c with the state 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(random.bits(), 6_457_827_717_110_365_317);
        assert_eq!(random.bits(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_in_range_and_reach_both_ends() {
        let mut random = Random::new(7);
        let dice: Vec<usize> = (0..1_000).map(|_| random.below(6)).collect();
        assert_eq!((dice.iter().min(), dice.iter().max()), (Some(&0), Some(&5)));
        assert_eq!(random.below(0), 0);
        assert!((0..1_000).map(|_| random.unit()).all(|x| (0.0..1.0).contains(&x)));
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<usize> = (0..100).collect();
        Random::new(1).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}
