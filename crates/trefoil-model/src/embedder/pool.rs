//! The output of a model to one vector a text, or to those of its tokens.

use ndarray::{Array2, ArrayView1, ArrayView2, Axis};
use trefoil_core::Pooling;

use crate::session::output::Tensor;

/// The unit vectors of the words at `places`, one a row; of a text without words, of all tokens.
pub(crate) fn word_vectors(
    vectors: &ArrayView2<'_, f32>,
    places: &[usize],
) -> Result<Array2<f32>, String> {
    let all: Vec<usize> = (0..vectors.nrows()).collect();
    let rows = if places.is_empty() { &all } else { places };
    let mut words = vectors.select(Axis(0), rows);
    for mut row in words.rows_mut() {
        let unit = unit(row.to_vec())?;
        row.assign(&ArrayView1::from(&unit));
    }
    Ok(words)
}

/// One vector of the model's output: token vectors \[1, tokens, width\], or a vector that the
/// model has pooled itself \[1, width\].
pub(crate) fn pool(pooling: Pooling, width: usize, tensor: Tensor<'_>) -> Result<Vec<f32>, String> {
    let Tensor { shape, numbers } = tensor;
    let one_row: [i64; 3];
    let (pooled, vectors) = if let [1, found] = *shape {
        one_row = [1, 1, found];
        (true, token_matrix(width, Tensor { shape: &one_row, numbers })?)
    } else {
        (false, token_matrix(width, tensor)?)
    };
    let mut rows = vectors.rows().into_iter();
    let (first, last) = (vectors.rows().into_iter().next(), vectors.rows().into_iter().next_back());
    let (Some(first), Some(last)) = (first, last) else {
        return Err(format!("its output has the shape {shape:?}, without any token"));
    };
    if pooled {
        return Ok(first.to_vec());
    }
    Ok(match pooling {
        Pooling::Cls => first.to_vec(),
        Pooling::LastToken => last.to_vec(),
        // The length of the sum does not matter: it is brought to 1 later.
        Pooling::Mean => {
            let start = rows.next().map_or_else(|| first.to_owned(), |row| row.to_owned());
            rows.fold(start, |sum, row| sum + row).to_vec()
        }
        Pooling::None => {
            return Err(format!(
                "its output has the shape {shape:?}, a vector for each token; set `pooling` or \
                 `output` in its card"
            ));
        }
    })
}

/// The model's output \[1, tokens, width\] as a matrix, one token a row.
pub(crate) fn token_matrix(
    width: usize,
    tensor: Tensor<'_>,
) -> Result<ArrayView2<'_, f32>, String> {
    let Tensor { shape, numbers } = tensor;
    let expected =
        || format!("its output has the shape {shape:?}, expected tokens of {width} dimensions");
    let [1, tokens, found] = *shape else { return Err(expected()) };
    match [tokens, found].map(usize::try_from) {
        [Ok(tokens), Ok(found)] if found == width => {
            ArrayView2::from_shape((tokens, found), numbers).map_err(|_| expected())
        }
        _ => Err(expected()),
    }
}

/// The vector with length 1.
#[expect(clippy::cast_possible_truncation, reason = "components of a unit vector")]
pub(crate) fn unit(mut vector: Vec<f32>) -> Result<Vec<f32>, String> {
    let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
    if !length.is_finite() {
        return Err("its output is not finite".to_owned());
    }
    if length < f64::from(f32::MIN_POSITIVE) {
        return Err("its output is zero".to_owned());
    }
    for value in &mut vector {
        *value = (f64::from(*value) / length) as f32;
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, proptest};

    use super::*;

    /// Three tokens of two dimensions.
    const TOKENS: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 7.0];

    #[test]
    fn each_pooling_takes_what_it_says() {
        let pooled = |pooling| pool(pooling, 2, Tensor { shape: &[1, 3, 2], numbers: &TOKENS });
        assert_eq!(pooled(Pooling::Cls).unwrap(), [1.0, 2.0]);
        assert_eq!(pooled(Pooling::LastToken).unwrap(), [5.0, 7.0]);
        assert_eq!(pooled(Pooling::Mean).unwrap(), [9.0, 13.0], "as a sum");
        assert!(pooled(Pooling::None).unwrap_err().contains("set `pooling`"));
        for pooling in [Pooling::Cls, Pooling::LastToken, Pooling::Mean, Pooling::None] {
            assert_eq!(
                pool(pooling, 2, Tensor { shape: &[1, 2], numbers: &[3.0, 4.0] }).unwrap(),
                [3.0, 4.0]
            );
        }
    }

    #[test]
    fn a_wrong_shape_is_told() {
        for (shape, width) in [
            (&[1, 3, 2][..], 3),
            (&[2, 3, 1], 1),
            (&[1, 6], 5),
            (&[6], 6),
            (&[1, 0, 2], 2),
            (&[1, -3, 2], 2),
            (&[1, 4, 2], 2),
        ] {
            assert!(
                pool(Pooling::Mean, width, Tensor { shape, numbers: &TOKENS }).is_err(),
                "{shape:?}"
            );
        }
    }

    #[test]
    fn what_has_no_direction_is_no_vector() {
        for vector in [vec![0.0, 0.0], vec![f32::NAN, 1.0], vec![f32::INFINITY, 1.0], vec![]] {
            assert!(unit(vector.clone()).is_err(), "{vector:?}");
        }
    }

    proptest! {
        #[test]
        fn a_vector_keeps_its_direction(
            vector in proptest::collection::vec(-1e18_f32..1e18, 1..9)
        ) {
            proptest::prop_assume!(vector.iter().any(|x| x.abs() > 1e-3));
            let unit = unit(vector.clone()).unwrap();
            let length: f32 = unit.iter().map(|x| x * x).sum();
            prop_assert!((length - 1.0).abs() < 1e-4);
            for (a, b) in vector.iter().zip(&unit) {
                prop_assert!(a * b >= 0.0);
            }
        }
    }
}
