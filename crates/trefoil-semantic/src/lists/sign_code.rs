//! 1-bit codes of residuals, which tell how far a vector may be from a query.
//!
//! After `RaBitQ` (Gao and Long 2024, arXiv 2405.12497): of a residual `r`, rotated at
//! random, the signs `s` are kept, and `|r|² ÷ Σ|r|`, its factor. Then factor × (s · q) is
//! r · q on average, and off by factor × |q| × .6 in the standard deviation, for the
//! components of a random direction have √(1 − 2/π) of their length across their signs.
//!
//! Codes stand in blocks of 32. For each four dimensions a block has 16 bytes, whose low
//! halves are the signs of the first 16 vectors and whose high halves those of the others:
//! one instruction looks 16 or more of them up in a table of what they are worth.

/// Vectors of a block.
pub(crate) const BLOCK: usize = 32;
/// Bytes of a block for four dimensions: entries of a table as well.
const FOUR: usize = 16;
/// Positions whose sum fits 16 bits: 257 × 255 does.
const FITS: usize = 256;
/// How many standard deviations an estimate may be off. What is farther off, one in 40 of
/// the vectors that only just belong to the nearest, is missed.
const REACH: f32 = 2.0;
/// √(1 − 2/π).
const ACROSS: f32 = 0.602_81;

/// Fours of dimensions, in whole lanes of 64 bytes.
const fn positions(dimensions: usize) -> usize {
    dimensions.div_ceil(16) * 4
}

/// Bytes of a block: signs, then of each vector its ordinal (u32), its factor and its
/// product with the mean (f32).
pub(crate) const fn block_bytes(dimensions: usize) -> usize {
    positions(dimensions) * FOUR + BLOCK * 12
}

/// A vector to be encoded.
#[derive(Debug)]
pub(crate) struct Residual {
    /// Place in the segment.
    pub(crate) ordinal: u32,
    /// The vector without its centroid, rotated.
    pub(crate) rotated: Vec<f32>,
    /// Product of the residual and the mean of the segment.
    pub(crate) with_mean: f32,
}

impl Residual {
    fn factor(&self) -> f32 {
        let sum: f32 = self.rotated.iter().map(|x| x.abs()).sum();
        if sum > 0.0 { self.rotated.iter().map(|x| x * x).sum::<f32>() / sum } else { 0.0 }
    }
}

/// Appends a block of up to 32 vectors.
pub(crate) fn write_block(residuals: &[Residual], dimensions: usize, out: &mut Vec<u8>) {
    let mut signs = vec![0_u8; positions(dimensions) * FOUR];
    for (lane, residual) in residuals.iter().enumerate() {
        for (position, four) in signs.chunks_exact_mut(FOUR).zip(residual.rotated.chunks(4)) {
            let half = four.iter().rev().fold(0, |bits, &x| bits << 1 | u8::from(x > 0.0));
            if let Some(byte) = position.get_mut(lane % FOUR) {
                *byte |= half << (lane / FOUR * 4);
            }
        }
    }
    out.extend(signs);
    // What is missing has no ordinal and is as far away as can be.
    let each = |of: &dyn Fn(&Residual) -> [u8; 4], none: [u8; 4], out: &mut Vec<u8>| {
        let there = residuals.iter().map(of).chain(std::iter::repeat(none));
        out.extend(there.take(BLOCK).flatten());
    };
    each(&|it| it.ordinal.to_le_bytes(), u32::MAX.to_le_bytes(), out);
    each(&|it| it.factor().to_le_bytes(), 0.0_f32.to_le_bytes(), out);
    each(&|it| it.with_mean.to_le_bytes(), f32::NEG_INFINITY.to_le_bytes(), out);
}

/// A block that was written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block<'a> {
    signs: &'a [u8],
    ordinals: &'a [[u8; 4]; BLOCK],
    factors: &'a [[u8; 4]; BLOCK],
    with_mean: &'a [[u8; 4]; BLOCK],
}

impl<'a> Block<'a> {
    /// Of its bytes, as many as [`block_bytes`] says.
    #[inline]
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (signs, numbers) = bytes.split_at_checked(bytes.len().checked_sub(BLOCK * 12)?)?;
        let [ordinals, factors, with_mean] = numbers.as_chunks::<4>().0.as_chunks::<BLOCK>().0
        else {
            return None;
        };
        Some(Self { signs, ordinals, factors, with_mean })
    }

    /// Place of a vector in the segment.
    #[inline]
    pub(crate) fn ordinal(&self, lane: u32) -> Option<usize> {
        self.ordinals.get(lane as usize).map(|&ordinal| u32::from_le_bytes(ordinal) as usize)
    }
}

/// A query, without the mean of the segment and rotated, to be compared with codes.
#[derive(Debug)]
pub(crate) struct SignQuery {
    /// What each four signs are worth, in steps above the least.
    table: Vec<u8>,
    /// What a step is worth.
    step: f32,
    /// What signs are worth that are all against the query.
    least: f32,
    /// How far off a product with signs may be.
    error: f32,
    /// Length of the query.
    length: f32,
}

impl SignQuery {
    /// Of a rotated vector.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the quotient lies in 0..=255 by the choice of the step"
    )]
    pub(crate) fn of(rotated: &[f32]) -> Self {
        let reach = |four: &[f32]| four.iter().map(|x| x.abs()).sum::<f32>();
        let step = rotated.chunks(4).map(reach).fold(0.0_f32, f32::max) * 2.0 / 255.0;
        let inverse = if step > 0.0 { step.recip() } else { 0.0 };
        let mut table = Vec::with_capacity(positions(rotated.len()) * FOUR);
        for four in rotated.chunks(4) {
            let least = reach(four);
            for signs in 0..FOUR {
                let worth = four.iter().enumerate().fold(least, |sum, (bit, x)| {
                    if signs >> bit & 1 == 1 { sum + x } else { sum - x }
                });
                table.push((worth * inverse).round() as u8);
            }
        }
        table.resize(positions(rotated.len()) * FOUR, 0);
        let length = rotated.iter().map(|x| x * x).sum::<f32>().sqrt();
        let least = -rotated.chunks(4).map(reach).sum::<f32>();
        Self { table, step, least, error: length * ACROSS, length }
    }

    /// Length of the query.
    pub(crate) fn length(&self) -> f32 {
        self.length
    }

    /// Which vectors of a block, as bits, may have a product with the query of `bar` or
    /// more, given that of their centroid.
    #[inline]
    pub(crate) fn reaching(&self, block: &Block<'_>, centroid: f32, bar: f32) -> u32 {
        #[cfg(target_arch = "x86_64")]
        if let Some(reaching) = x86::reaching(self, block, centroid, bar) {
            return reaching;
        }
        self.those_reaching(&sums_portable(&self.table, block.signs), block, centroid, bar)
    }

    #[expect(clippy::inline_always, reason = "takes on the CPU features of its caller")]
    #[inline(always)]
    fn those_reaching(
        &self,
        sums: &[i32; BLOCK],
        block: &Block<'_>,
        centroid: f32,
        bar: f32,
    ) -> u32 {
        let least = self.least + self.error * REACH;
        let mut most = [0.0_f32; BLOCK];
        for (((most, &sum), &factor), &with_mean) in
            most.iter_mut().zip(sums).zip(block.factors).zip(block.with_mean)
        {
            let product = sum as f32 * self.step + least;
            *most = centroid + f32::from_le_bytes(with_mean) + f32::from_le_bytes(factor) * product;
        }
        most.iter().rev().fold(0, |bits, &most| bits << 1 | u32::from(most >= bar))
    }

    /// Estimated products of the residuals of a block with the query, each with its
    /// standard deviation.
    pub(crate) fn estimates(&self, block: &Block<'_>) -> Vec<(f32, f32)> {
        let sums = sums(&self.table, block.signs);
        let there = block.ordinals.iter().zip(block.factors.iter().zip(block.with_mean));
        sums.into_iter()
            .zip(there.map(|(&ordinal, (&factor, &mean))| (ordinal, factor, mean)))
            .filter(|(_, (ordinal, ..))| u32::from_le_bytes(*ordinal) != u32::MAX)
            .map(|(sum, (_, factor, mean))| {
                let factor = f32::from_le_bytes(factor);
                let product = sum as f32 * self.step + self.least;
                (f32::from_le_bytes(mean) + factor * product, factor * self.error)
            })
            .collect()
    }
}

/// What the signs of each vector of a block are worth, in steps. Integers: the same on
/// every machine.
fn sums(table: &[u8], signs: &[u8]) -> [i32; BLOCK] {
    #[cfg(target_arch = "x86_64")]
    if let Some(sums) = x86::sums(table, signs) {
        return sums;
    }
    sums_portable(table, signs)
}

/// The same in plain Rust.
fn sums_portable(table: &[u8], signs: &[u8]) -> [i32; BLOCK] {
    let mut sums = [0; BLOCK];
    let (low, high) = sums.split_at_mut(FOUR);
    for (worth, signs) in table.as_chunks::<FOUR>().0.iter().zip(signs.as_chunks::<FOUR>().0) {
        let worth = |half: u8| i32::from(worth.get(usize::from(half)).copied().unwrap_or_default());
        for ((low, high), &both) in low.iter_mut().zip(high.iter_mut()).zip(signs) {
            *low += worth(both & 15);
            *high += worth(both >> 4);
        }
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, __m512i, _mm_add_epi16, _mm_slli_epi16, _mm_storeu_si128, _mm_sub_epi16,
        _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_add_epi16, _mm256_and_si256,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_set1_epi8,
        _mm256_setzero_si256, _mm256_shuffle_epi8, _mm256_srli_epi16, _mm512_add_epi16,
        _mm512_and_si512, _mm512_castsi512_si256, _mm512_extracti64x4_epi64, _mm512_loadu_si512,
        _mm512_set1_epi8, _mm512_setzero_si512, _mm512_shuffle_epi8, _mm512_srli_epi16,
    };

    use super::{BLOCK, Block, FITS, FOUR, SignQuery};

    /// With the best instructions that there are; `None` if there are none.
    #[inline]
    pub(super) fn reaching(
        query: &SignQuery,
        block: &Block<'_>,
        centroid: f32,
        bar: f32,
    ) -> Option<u32> {
        #[expect(unsafe_code, reason = "calls functions that need CPU features")]
        // SAFETY: each is called after its features were detected.
        unsafe {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2") {
                Some(reaching_avx512(query, block, centroid, bar))
            } else if is_x86_feature_detected!("avx2") {
                Some(reaching_avx2(query, block, centroid, bar))
            } else {
                None
            }
        }
    }

    /// The same for sums.
    pub(super) fn sums(table: &[u8], signs: &[u8]) -> Option<[i32; BLOCK]> {
        #[expect(unsafe_code, reason = "calls functions that need CPU features")]
        // SAFETY: each is called after its features were detected.
        unsafe {
            if is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("avx2") {
                Some(sums_avx512(table, signs))
            } else if is_x86_feature_detected!("avx2") {
                Some(sums_avx2(table, signs))
            } else {
                None
            }
        }
    }

    #[target_feature(enable = "avx2,avx512f,avx512bw")]
    fn reaching_avx512(query: &SignQuery, block: &Block<'_>, centroid: f32, bar: f32) -> u32 {
        query.those_reaching(&sums_avx512(&query.table, block.signs), block, centroid, bar)
    }

    #[target_feature(enable = "avx2")]
    fn reaching_avx2(query: &SignQuery, block: &Block<'_>, centroid: f32, bar: f32) -> u32 {
        query.those_reaching(&sums_avx2(&query.table, block.signs), block, centroid, bar)
    }

    /// Looks four positions up at a time.
    #[inline]
    #[target_feature(enable = "avx2,avx512f,avx512bw")]
    pub(super) fn sums_avx512(table: &[u8], signs: &[u8]) -> [i32; BLOCK] {
        let (mut sums, mask) = ([0; BLOCK], _mm512_set1_epi8(15));
        #[expect(unsafe_code, reason = "vector loads take pointers")]
        let load = |lane: &[u8; 64]| {
            // SAFETY: the load is as long as the lane, and may be unaligned.
            unsafe { _mm512_loadu_si512(lane.as_ptr().cast()) }
        };
        for (table, signs) in table.chunks(FITS * FOUR).zip(signs.chunks(FITS * FOUR)) {
            let mut low = [_mm512_setzero_si512(); 2];
            let mut high = [_mm512_setzero_si512(); 2];
            let add = |[both, odd]: &mut [__m512i; 2], worth: __m512i| {
                *both = _mm512_add_epi16(*both, worth);
                *odd = _mm512_add_epi16(*odd, _mm512_srli_epi16::<8>(worth));
            };
            for (table, signs) in table.as_chunks().0.iter().zip(signs.as_chunks().0) {
                let (table, signs) = (load(table), load(signs));
                add(&mut low, _mm512_shuffle_epi8(table, _mm512_and_si512(signs, mask)));
                let signs = _mm512_srli_epi16::<4>(signs);
                add(&mut high, _mm512_shuffle_epi8(table, _mm512_and_si512(signs, mask)));
            }
            let fold = |sum: __m512i| {
                _mm256_add_epi16(_mm512_castsi512_si256(sum), _mm512_extracti64x4_epi64::<1>(sum))
            };
            settle(&mut sums, low.map(fold), high.map(fold));
        }
        sums
    }

    /// Looks two positions up at a time.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn sums_avx2(table: &[u8], signs: &[u8]) -> [i32; BLOCK] {
        let (mut sums, mask) = ([0; BLOCK], _mm256_set1_epi8(15));
        #[expect(unsafe_code, reason = "vector loads take pointers")]
        let load = |lane: &[u8; 32]| {
            // SAFETY: the load is as long as the lane, and may be unaligned.
            unsafe { _mm256_loadu_si256(lane.as_ptr().cast()) }
        };
        for (table, signs) in table.chunks(FITS * FOUR).zip(signs.chunks(FITS * FOUR)) {
            let mut low = [_mm256_setzero_si256(); 2];
            let mut high = [_mm256_setzero_si256(); 2];
            let add = |[both, odd]: &mut [__m256i; 2], worth: __m256i| {
                *both = _mm256_add_epi16(*both, worth);
                *odd = _mm256_add_epi16(*odd, _mm256_srli_epi16::<8>(worth));
            };
            for (table, signs) in table.as_chunks().0.iter().zip(signs.as_chunks().0) {
                let (table, signs) = (load(table), load(signs));
                add(&mut low, _mm256_shuffle_epi8(table, _mm256_and_si256(signs, mask)));
                let signs = _mm256_srli_epi16::<4>(signs);
                add(&mut high, _mm256_shuffle_epi8(table, _mm256_and_si256(signs, mask)));
            }
            settle(&mut sums, low, high);
        }
        sums
    }

    /// Adds what the first and the last 16 vectors have. The first of each pair of sums took
    /// in two neighbouring bytes, one of them 256 times; the second took in that one alone.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn settle(sums: &mut [i32; BLOCK], low: [__m256i; 2], high: [__m256i; 2]) {
        for (sums, pair) in sums.as_chunks_mut::<FOUR>().0.iter_mut().zip([low, high]) {
            let [both, odd] = pair.map(|sum| {
                _mm_add_epi16(_mm256_castsi256_si128(sum), _mm256_extracti128_si256::<1>(sum))
            });
            let even = _mm_sub_epi16(both, _mm_slli_epi16::<8>(odd));
            let mut settled = [0_u16; FOUR];
            let (first, last) = settled.split_at_mut(FOUR / 2);
            #[expect(unsafe_code, reason = "vector stores take pointers")]
            // SAFETY: each store is as long as its half, and may be unaligned.
            unsafe {
                _mm_storeu_si128(first.as_mut_ptr().cast(), _mm_unpacklo_epi16(even, odd));
                _mm_storeu_si128(last.as_mut_ptr().cast(), _mm_unpackhi_epi16(even, odd));
            }
            for (sum, settled) in sums.iter_mut().zip(settled) {
                *sum += i32::from(settled);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lists::rotation::Rotation;

    /// Each way of this processor to sum what signs are worth.
    fn ways(table: &[u8], signs: &[u8]) -> Vec<[i32; BLOCK]> {
        let mut ways = vec![sums_portable(table, signs)];
        #[cfg(target_arch = "x86_64")]
        #[expect(unsafe_code, reason = "calls functions that need CPU features")]
        // SAFETY: each is called after its features were detected.
        unsafe {
            if is_x86_feature_detected!("avx512bw") {
                ways.push(x86::sums_avx512(table, signs));
            }
            if is_x86_feature_detected!("avx2") {
                ways.push(x86::sums_avx2(table, signs));
            }
        }
        ways
    }

    proptest! {
        #[test]
        fn every_way_gives_the_same_integers(
            lanes in 1..200_usize, seed in prop::collection::vec(any::<u8>(), 200..400)
        ) {
            let bytes: Vec<u8> = seed.iter().cycle().copied().take(lanes * 64 + 77).collect();
            let ways = ways(&bytes[..lanes * 64], &bytes[77..]);
            prop_assert!(ways.iter().all(|way| *way == ways[0]), "{:?}", ways);
        }

        #[test]
        fn few_products_are_out_of_reach(
            dimensions in 64..700_usize, seed in any::<u64>(), one_axis in any::<bool>()
        ) {
            let mut random = noise(seed);
            let mut vector = |sparse: bool| -> Vec<f32> {
                let mut vector: Vec<f32> = (0..dimensions).map(|_| random()).collect();
                if sparse {
                    // All on few axes, which a rotation has to spread.
                    let axis = (random().to_bits() >> 3) as usize % dimensions;
                    vector.iter_mut().enumerate().for_each(|(i, x)| if i != axis { *x *= 0.01 });
                }
                vector
            };
            let rotation = Rotation::of(dimensions);
            let query = vector(one_axis);
            let mut rotated = query.clone();
            rotation.apply(&mut rotated);
            let sign_query = SignQuery::of(&rotated);
            let (mut missed, mut all) = (0, 0);
            for _ in 0..20 {
                let vectors: Vec<Vec<f32>> = (0..BLOCK).map(|_| vector(one_axis)).collect();
                let residuals: Vec<Residual> = (0..).zip(&vectors).map(|(ordinal, vector)| {
                    let mut rotated = vector.clone();
                    rotation.apply(&mut rotated);
                    Residual { ordinal, rotated, with_mean: 0.0 }
                }).collect();
                let mut bytes = Vec::new();
                write_block(&residuals, dimensions, &mut bytes);
                prop_assert_eq!(bytes.len(), block_bytes(dimensions));
                let block = Block::of(&bytes).unwrap();
                for (lane, vector) in (0..).zip(&vectors) {
                    let product: f32 = query.iter().zip(vector).map(|(x, y)| x * y).sum();
                    // What only just belongs to the nearest.
                    let reaching = sign_query.reaching(&block, 0.0, product);
                    missed += u32::from(reaching >> lane & 1 == 0);
                    all += 1;
                }
            }
            // 2.3 % of a normal distribution are more than two deviations below; for a single
            // query it may be a few times as many.
            prop_assert!(missed * 8 <= all, "{} of {}", missed, all);
        }
    }

    /// Numbers from -1 to 1.
    fn noise(seed: u64) -> impl FnMut() -> f32 {
        let mut state = seed;
        move || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
        }
    }

    #[test]
    fn a_block_that_is_not_full_reaches_nothing_that_is_not_there() {
        let residual = Residual { ordinal: 7, rotated: vec![0.5; 64], with_mean: 0.0 };
        let mut bytes = Vec::new();
        write_block(&[residual], 64, &mut bytes);
        let block = Block::of(&bytes).unwrap();
        assert_eq!(SignQuery::of(&[1.0; 64]).reaching(&block, 0.0, 1.0), 1);
        assert_eq!((block.ordinal(0), block.ordinal(1)), (Some(7), Some(u32::MAX as usize)));
    }
}
