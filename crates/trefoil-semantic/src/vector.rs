//! Unit vectors in `f32`: the check at the door, and the cosine that counts.

use trefoil_core::{Error, Result};

/// Most dimensions that an index takes: inner products of codes stay within 32 bits.
pub(crate) const MAX_DIMENSIONS: usize = 65_536;

/// The vector with length 1, if it can be used.
///
/// # Errors
/// [`Error::DimensionMismatch`], or [`Error::InvalidEmbedding`] if a component is not
/// finite or the length is 0.
pub(crate) fn unit(vector: &[f32], dimensions: usize) -> Result<Vec<f32>> {
    if vector.len() != dimensions {
        return Err(Error::DimensionMismatch { expected: dimensions, provided: vector.len() });
    }
    if vector.iter().any(|x| !x.is_finite()) {
        return Err(Error::InvalidEmbedding { reason: "it holds NaN or an infinity" });
    }
    let length = vector.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>().sqrt();
    if length == 0.0 {
        return Err(Error::InvalidEmbedding { reason: "it is all zero" });
    }
    // A vector that is a unit vector but for rounding is kept bit for bit.
    if (length - 1.0).abs() < 1e-6 {
        return Ok(vector.to_vec());
    }
    #[expect(clippy::cast_possible_truncation, reason = "the components of a unit vector fit")]
    Ok(vector.iter().map(|&x| (f64::from(x) / length) as f32).collect())
}

/// Little-endian bytes of a vector.
pub(crate) fn to_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|x| x.to_le_bytes()).collect()
}

/// The vector of little-endian bytes.
pub(crate) fn from_bytes(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks::<4>().0.iter().map(|&x| f32::from_le_bytes(x)).collect()
}

/// Cosine of a unit vector and a stored one. The order of the additions is fixed, so
/// that the result is the same on every machine.
pub(crate) fn cosine(unit: &[f32], stored: &[u8]) -> f32 {
    const LANES: usize = 16;
    let stored = stored.as_chunks::<4>().0;
    let ((a, a_rest), (b, b_rest)) = (unit.as_chunks::<LANES>(), stored.as_chunks::<LANES>());
    let mut sums = [0.0_f32; LANES];
    for (a, b) in a.iter().zip(b) {
        for ((sum, x), &y) in sums.iter_mut().zip(a).zip(b) {
            *sum += x * f32::from_le_bytes(y);
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(x, &y)| x * f32::from_le_bytes(y)).sum::<f32>();
    (sums.iter().sum::<f32>() + rest).clamp(-1.0, 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_cannot_be_compared_is_refused() {
        let refused = |vector: &[f32]| unit(vector, 2).unwrap_err();
        assert!(matches!(refused(&[1.0]), Error::DimensionMismatch { expected: 2, provided: 1 }));
        for bad in [[f32::NAN, 1.0], [f32::INFINITY, 1.0], [0.0, -0.0]] {
            assert!(matches!(refused(&bad), Error::InvalidEmbedding { .. }), "{bad:?}");
        }
    }

    #[test]
    fn any_length_becomes_one_and_units_stay() {
        assert_eq!(unit(&[3.0, 4.0], 2).unwrap(), [0.6, 0.8]);
        assert_eq!(unit(&[f32::MAX, f32::MAX], 2).unwrap(), [0.5_f32.sqrt(); 2]);
        assert_eq!(unit(&[1e-45, 0.0], 2).unwrap(), [1.0, 0.0]);
        assert_eq!(unit(&[0.6, 0.8], 2).unwrap(), [0.6, 0.8]);
    }

    proptest! {
        #[test]
        fn cosine_is_the_inner_product(pairs in prop::collection::vec((-1.0..1.0_f32, -1.0..1.0_f32), 2..90)) {
            let (a, b): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            prop_assume!(a.iter().any(|x| x.abs() > 0.01) && b.iter().any(|x| x.abs() > 0.01));
            let (a, b) = (unit(&a, a.len())?, unit(&b, b.len())?);
            let expected: f64 = a.iter().zip(&b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum();
            prop_assert!((f64::from(cosine(&a, &to_bytes(&b))) - expected).abs() < 1e-5);
            prop_assert_eq!(from_bytes(&to_bytes(&a)), a);
        }
    }
}
