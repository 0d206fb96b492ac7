//! 8-bit codes of unit vectors, and their inner products.
//!
//! A code is symmetric: component ≈ `scale` × an integer from -127 to 127, where
//! `scale` is the largest magnitude ÷ 127. Codes are padded with zeros to whole 64-byte
//! lanes.

/// Bytes of a code are a multiple of this.
pub(crate) const LANE: usize = 64;

/// A vector as integers.
#[derive(Clone, Debug)]
pub(crate) struct QuantizedVector {
    /// What an integer is worth.
    pub(crate) scale: f32,
    /// Two's-complement integers, padded.
    pub(crate) bytes: Vec<u8>,
}

impl QuantizedVector {
    /// The nearest code to a vector of finite components.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the quotient lies in -127..=127 by the choice of the scale"
    )]
    pub(crate) fn of(vector: &[f32]) -> Self {
        let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        let scale = largest / 127.0;
        let inverse = if scale > 0.0 { 127.0 / largest } else { 0.0 };
        let mut bytes: Vec<u8> = vector.iter().map(|x| (x * inverse).round() as i8 as u8).collect();
        bytes.resize(stride(vector.len()), 0);
        Self { scale, bytes }
    }
}

/// How far an inner product of two codes may be from that of the unit vectors, given
/// what an integer of each is worth.
///
/// Each component is off by at most half a step, so the product by a sum of roundings
/// with a standard deviation of √(a² + b²) ÷ √12. This is at least three of them, and
/// what counts is that two products together are not off by twice as much.
pub(crate) fn product_error(a_scale: f32, b_scale: f32) -> f32 {
    0.75 * (a_scale + b_scale)
}

/// Bytes of a code of so many dimensions.
pub(crate) const fn stride(dimensions: usize) -> usize {
    dimensions.next_multiple_of(LANE)
}

/// Inner product of two codes of one length.
#[inline]
pub(crate) fn inner_product(a: &[u8], b: &[u8]) -> i32 {
    let mut out = [0];
    inner_products(a, b, &mut out);
    let [product] = out;
    product
}

/// Inner products of `query` with each of the codes that stand back to back in
/// `codes`. Integers: the same on every machine.
#[inline]
pub(crate) fn inner_products(query: &[u8], codes: &[u8], out: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if x86::inner_products(query, codes, out) {
        return;
    }
    inner_products_portable(query, codes, out);
}

/// The same in plain Rust; what other processors run, vectorised by the compiler.
fn inner_products_portable(query: &[u8], codes: &[u8], out: &mut [i32]) {
    for (code, product) in codes.chunks_exact(query.len().max(1)).zip(out) {
        let products = query
            .iter()
            .zip(code)
            .map(|(&a, &b)| i32::from(a.cast_signed()) * i32::from(b.cast_signed()));
        *product = products.sum();
    }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_abs_epi8,
        _mm256_add_epi32, _mm256_castsi256_si128, _mm256_dpbusd_avx_epi32,
        _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16, _mm256_maddubs_epi16,
        _mm256_set1_epi16, _mm256_setzero_si256, _mm256_sign_epi8, _mm512_dpbusd_epi32,
        _mm512_loadu_si512, _mm512_reduce_add_epi32, _mm512_set1_epi8, _mm512_setzero_si512,
        _mm512_xor_si512,
    };

    use super::LANE;

    /// With the best instructions that there are; false if there are none.
    #[inline]
    pub(super) fn inner_products(query: &[u8], codes: &[u8], out: &mut [i32]) -> bool {
        #[expect(unsafe_code, reason = "calls functions that need CPU features")]
        // SAFETY: each is called after its features were detected.
        unsafe {
            if is_x86_feature_detected!("avx512vnni") && is_x86_feature_detected!("avx512f") {
                inner_products_avx512(query, codes, out);
            } else if is_x86_feature_detected!("avxvnni") && is_x86_feature_detected!("avx2") {
                inner_products_avx_vnni(query, codes, out);
            } else if is_x86_feature_detected!("avx2") {
                inner_products_avx2(query, codes, out);
            } else {
                return false;
            }
        }
        true
    }

    /// The instruction multiplies unsigned by signed bytes. A code plus 128 is unsigned, and
    /// makes the product larger by 128 × the sum of the query.
    #[target_feature(enable = "avx512f,avx512vnni")]
    pub(super) fn inner_products_avx512(query: &[u8], codes: &[u8], out: &mut [i32]) {
        let offset = _mm512_set1_epi8(-128);
        let lanes = query.as_chunks::<LANE>().0;
        let mut excess = _mm512_setzero_si512();
        #[expect(unsafe_code, reason = "vector loads take pointers")]
        let load = |lane: &[u8; LANE]| {
            // SAFETY: the load is as long as the lane, and may be unaligned.
            unsafe { _mm512_loadu_si512(lane.as_ptr().cast()) }
        };
        for lane in lanes {
            excess = _mm512_dpbusd_epi32(excess, offset, load(lane));
        }
        let excess = _mm512_reduce_add_epi32(excess);
        for (code, product) in codes.chunks_exact(query.len().max(1)).zip(out) {
            let mut sum = _mm512_setzero_si512();
            for (query, code) in lanes.iter().zip(code.as_chunks::<LANE>().0) {
                let unsigned = _mm512_xor_si512(load(code), offset);
                sum = _mm512_dpbusd_epi32(sum, unsigned, load(query));
            }
            *product = _mm512_reduce_add_epi32(sum).wrapping_sub(excess);
        }
    }

    #[target_feature(enable = "avx2,avxvnni")]
    pub(super) fn inner_products_avx_vnni(query: &[u8], codes: &[u8], out: &mut [i32]) {
        for (code, product) in codes.chunks_exact(query.len().max(1)).zip(out) {
            let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (a, b) in query.as_chunks::<LANE>().0.iter().zip(code.as_chunks::<LANE>().0) {
                let ([a0, a1], [b0, b1]) = (halves(a), halves(b));
                even = _mm256_dpbusd_avx_epi32(even, _mm256_abs_epi8(a0), _mm256_sign_epi8(b0, a0));
                odd = _mm256_dpbusd_avx_epi32(odd, _mm256_abs_epi8(a1), _mm256_sign_epi8(b1, a1));
            }
            *product = sum(_mm256_add_epi32(even, odd));
        }
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn inner_products_avx2(query: &[u8], codes: &[u8], out: &mut [i32]) {
        for (code, product) in codes.chunks_exact(query.len().max(1)).zip(out) {
            let (mut even, mut odd) = (_mm256_setzero_si256(), _mm256_setzero_si256());
            for (a, b) in query.as_chunks::<LANE>().0.iter().zip(code.as_chunks::<LANE>().0) {
                let ([a0, a1], [b0, b1]) = (halves(a), halves(b));
                even = _mm256_add_epi32(even, quadruples(a0, b0));
                odd = _mm256_add_epi32(odd, quadruples(a1, b1));
            }
            *product = sum(_mm256_add_epi32(even, odd));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn halves(lane: &[u8; LANE]) -> [__m256i; 2] {
        let start = lane.as_ptr();
        #[expect(unsafe_code, reason = "vector loads take pointers")]
        // SAFETY: both loads lie within the 64 bytes, and may be unaligned.
        unsafe {
            [_mm256_loadu_si256(start.cast()), _mm256_loadu_si256(start.add(32).cast())]
        }
    }

    /// Sums of four products each. `|a| · (b with the sign of a)` fits the unsigned ×
    /// signed multiply, and two products of at most 127² fit its 16 bits.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn quadruples(a: __m256i, b: __m256i) -> __m256i {
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(a), _mm256_sign_epi8(b, a));
        _mm256_madd_epi16(pairs, _mm256_set1_epi16(1))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum(eight: __m256i) -> i32 {
        let four =
            _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256::<1>(eight));
        let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b0100_1110>(four));
        let one = _mm_add_epi32(two, _mm_shuffle_epi32::<0b1011_0001>(two));
        _mm_cvtsi128_si32(one)
    }
}

#[cfg(test)]
type Way = fn(&[u8], &[u8], &mut [i32]);

/// Each way of this processor to compute inner products.
#[cfg(test)]
fn ways() -> Vec<Way> {
    let mut ways: Vec<Way> = vec![inner_products, inner_products_portable];
    #[cfg(target_arch = "x86_64")]
    #[expect(unsafe_code, reason = "calls functions that need CPU features")]
    // SAFETY: each is called after its features were detected.
    {
        if is_x86_feature_detected!("avx512vnni") {
            ways.push(|q, c, out| unsafe { x86::inner_products_avx512(q, c, out) });
        }
        if is_x86_feature_detected!("avxvnni") {
            ways.push(|q, c, out| unsafe { x86::inner_products_avx_vnni(q, c, out) });
        }
        if is_x86_feature_detected!("avx2") {
            ways.push(|q, c, out| unsafe { x86::inner_products_avx2(q, c, out) });
        }
    }
    ways
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_way_gives_the_same_integers(
            lanes in 1..9_usize, count in 1..6_usize, seed in prop::collection::vec(-127..=127_i8, 64 * 9 * 7)
        ) {
            let bytes: Vec<u8> = seed.iter().map(|x| x.cast_unsigned()).collect();
            let (query, codes) = bytes.split_at(lanes * LANE);
            let codes = &codes[..count * lanes * LANE];
            let products = ways().into_iter().map(|way| {
                let mut out = vec![0; count];
                way(query, codes, &mut out);
                out
            });
            let products: Vec<Vec<i32>> = products.collect();
            prop_assert!(products.iter().all(|one| *one == products[0]), "{:?}", products);
        }

        #[test]
        fn a_code_is_within_half_a_step(vector in prop::collection::vec(-1.0..1.0_f32, 1..200)) {
            let code = QuantizedVector::of(&vector);
            prop_assert_eq!(code.bytes.len() % LANE, 0);
            for (x, &byte) in vector.iter().zip(&code.bytes) {
                let near = f32::from(byte.cast_signed()) * code.scale;
                prop_assert!((x - near).abs() <= code.scale * 0.501, "{} {}", x, near);
            }
        }
    }

    #[test]
    fn the_extremes_do_not_overflow() {
        for (a, b) in [(127_i8, 127_i8), (127, -127), (-127, -127), (0, -127)] {
            let lane = |x: i8| vec![x.cast_unsigned(); 4096];
            for way in ways() {
                let mut out = [0];
                way(&lane(a), &lane(b), &mut out);
                assert_eq!(out, [4096 * i32::from(a) * i32::from(b)]);
            }
        }
    }
}
