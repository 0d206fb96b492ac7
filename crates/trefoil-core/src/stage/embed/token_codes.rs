use ndarray::{Array2, ArrayView2};

/// The largest number of a code.
const LARGEST: i8 = 7;
/// What a number of a question's vector is multiplied by before it is rounded.
const SCALE: f32 = 1024.0;
/// Vectors of a question that are compared at once, so that a token is loaded once for them.
const AT_ONCE: usize = 4;
/// Numbers that are multiplied at once.
const LANES: usize = 16;

/// The vectors of the tokens of one text, as they are kept: four bits a number.
///
/// A number is about a whole one from −7 to 7, times a factor that makes the vector as long as 1
/// and so need not be kept. A token takes half as many bytes as it has numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCodes(Vec<u8>);

impl TokenCodes {
    /// Codes [centred](super::TokenSpace::centred) vectors, one a row.
    pub fn of(centred: &ArrayView2<'_, f32>) -> Self {
        let row_bytes = bytes_of(centred.ncols());
        let mut bytes = Vec::with_capacity(centred.nrows() * row_bytes);
        for row in centred.rows() {
            let largest = row.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let factor = if largest > 0.0 { f32::from(LARGEST) / largest } else { 0.0 };
            let code = |x: Option<&f32>| nibble(x.map_or(0.0, |x| x * factor));
            let mut numbers = row.iter();
            for _ in 0..row_bytes {
                let low = code(numbers.next());
                bytes.push(low | code(numbers.next()) << 4);
            }
        }
        Self(bytes)
    }

    /// Codes as [`bytes`](Self::bytes) gave them, of vectors of so many numbers; none unless they
    /// are whole.
    pub fn from_bytes(bytes: Vec<u8>, dimensions: usize) -> Option<Self> {
        let is_whole = dimensions > 0 && bytes.len().is_multiple_of(bytes_of(dimensions));
        is_whole.then_some(Self(bytes))
    }

    /// What is kept.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The vectors of so many numbers, one a row, each of length 1, or zero.
    pub fn decoded(&self, dimensions: usize) -> Array2<f32> {
        let row_bytes = bytes_of(dimensions).max(1);
        let tokens = self.0.len() / row_bytes;
        let mut vectors = Array2::zeros((tokens, dimensions));
        for (mut row, codes) in vectors.rows_mut().into_iter().zip(self.0.chunks_exact(row_bytes)) {
            let Some(row) = row.as_slice_mut() else { continue };
            for (numbers, &code) in row.chunks_mut(2).zip(codes) {
                for (number, value) in numbers.iter_mut().zip(halves(code)) {
                    *number = value.into();
                }
            }
            let length = row.iter().map(|x| x * x).sum::<f32>().sqrt();
            if length > 0.0 {
                for x in row {
                    *x /= length;
                }
            }
        }
        vectors
    }
}

/// The vectors of the tokens of a question, as [`TokenCodes`] are compared with: whole numbers,
/// rounded once for all texts.
#[derive(Clone, Debug)]
pub struct QuestionCodes {
    /// Vectors of `padded` numbers each; as many as a multiple of [`AT_ONCE`], zeros at the end.
    numbers: Vec<i16>,
    tokens: usize,
    dimensions: usize,
    padded: usize,
}

impl QuestionCodes {
    /// Rounds [centred](super::TokenSpace::centred) vectors, one a row and of length 1.
    pub fn of(centred: &ArrayView2<'_, f32>) -> Self {
        let (tokens, dimensions) = centred.dim();
        let padded = dimensions.next_multiple_of(LANES);
        let mut numbers = vec![0; tokens.next_multiple_of(AT_ONCE) * padded];
        for (to, from) in numbers.chunks_exact_mut(padded.max(1)).zip(centred.rows()) {
            for (to, &from) in to.iter_mut().zip(from) {
                *to = rounded(from);
            }
        }
        Self { numbers, tokens, dimensions, padded }
    }

    /// The cosine of each of the question's vectors with the nearest of the text's; empty where
    /// one of the two has none.
    pub(super) fn nearest(&self, text: &TokenCodes) -> Vec<f32> {
        if self.numbers.is_empty() || text.0.is_empty() {
            return Vec::new();
        }
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") {
            #[expect(unsafe_code, reason = "calls a function that needs a CPU feature")]
            // SAFETY: the feature was detected.
            return unsafe { x86::nearest(self, text) };
        }
        self.nearest_by(text, portable)
    }

    /// The same by `products`: of vectors of a question with that of a token, each summed.
    #[expect(clippy::inline_always, reason = "it is compiled with the features of its caller")]
    #[inline(always)]
    fn nearest_by(
        &self,
        text: &TokenCodes,
        products: impl Fn([&[i16]; AT_ONCE], &[i16]) -> [i32; AT_ONCE],
    ) -> Vec<f32> {
        let mut nearest = vec![-1.0_f32; self.numbers.len() / self.padded];
        let mut token = vec![0_i16; self.padded];
        for codes in text.0.chunks_exact(bytes_of(self.dimensions)) {
            for (numbers, &code) in token.as_chunks_mut().0.iter_mut().zip(codes) {
                *numbers = halves(code).map(i16::from);
            }
            let length = (dot(&token, &token) as f32).sqrt();
            let factor = if length > 0.0 { 1.0 / (SCALE * length) } else { 0.0 };
            let asked = self.numbers.chunks_exact(AT_ONCE * self.padded);
            for (nearest, asked) in nearest.as_chunks_mut::<AT_ONCE>().0.iter_mut().zip(asked) {
                let mut vectors = asked.chunks_exact(self.padded);
                let vectors = [(); AT_ONCE].map(|()| vectors.next().unwrap_or_default());
                for (nearest, product) in nearest.iter_mut().zip(products(vectors, &token)) {
                    *nearest = nearest.max(product as f32 * factor);
                }
            }
        }
        nearest.truncate(self.tokens);
        nearest
    }
}

#[inline]
fn portable(asked: [&[i16]; AT_ONCE], token: &[i16]) -> [i32; AT_ONCE] {
    asked.map(|asked| dot(asked, token))
}

/// The sum of the products. Numbers of at most 1,024 and 7 do not overflow it.
#[inline]
fn dot(a: &[i16], b: &[i16]) -> i32 {
    a.iter().zip(b).map(|(&a, &b)| i32::from(a) * i32::from(b)).sum()
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_hadd_epi32, _mm256_add_epi32,
        _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_madd_epi16,
        _mm256_setzero_si256,
    };

    use super::{AT_ONCE, LANES, QuestionCodes, TokenCodes};

    /// [`QuestionCodes::nearest`] with sixteen products at once.
    #[target_feature(enable = "avx2")]
    pub(super) fn nearest(question: &QuestionCodes, text: &TokenCodes) -> Vec<f32> {
        question.nearest_by(text, |asked, token| products(asked, token))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn products(asked: [&[i16]; AT_ONCE], token: &[i16]) -> [i32; AT_ONCE] {
        let mut sums = [_mm256_setzero_si256(); AT_ONCE];
        let asked = asked.map(|asked| asked.as_chunks::<LANES>().0);
        for (i, token) in token.as_chunks().0.iter().enumerate() {
            let token = load(token);
            for (sum, asked) in sums.iter_mut().zip(asked) {
                if let Some(asked) = asked.get(i) {
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(load(asked), token));
                }
            }
        }
        sums.map(|sum| total(sum))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn load(numbers: &[i16; LANES]) -> __m256i {
        #[expect(unsafe_code, reason = "vector loads take pointers")]
        // SAFETY: the load is as long as the array, and may be unaligned.
        unsafe {
            _mm256_loadu_si256(numbers.as_ptr().cast())
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn total(sums: __m256i) -> i32 {
        let four = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256::<1>(sums));
        let two = _mm_hadd_epi32(four, four);
        _mm_cvtsi128_si32(_mm_hadd_epi32(two, two))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn rounded(x: f32) -> i16 {
    (x * SCALE).round().clamp(-SCALE, SCALE) as i16
}

/// The two numbers of a byte, the lower half first.
fn halves(code: u8) -> [i8; 2] {
    [code << 4, code].map(|half| half.cast_signed() >> 4)
}

/// Bytes of the code of a vector of so many numbers.
const fn bytes_of(dimensions: usize) -> usize {
    dimensions.div_ceil(2)
}

/// A number between −7 and 7 as half a byte.
#[expect(clippy::cast_possible_truncation, reason = "clamped")]
fn nibble(x: f32) -> u8 {
    let largest = f32::from(LARGEST);
    (x.round().clamp(-largest, largest) as i8).cast_unsigned() & 0xF
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use proptest::prelude::*;

    use super::*;

    fn matrix(rows: &[Vec<f32>]) -> Array2<f32> {
        let mut all = Array2::from_shape_fn((rows.len(), rows[0].len()), |(i, j)| rows[i][j]);
        for mut row in all.rows_mut() {
            let length = row.dot(&row).sqrt();
            row.mapv_inplace(|x| if length > 0.0 { x / length } else { 0.0 });
        }
        all
    }

    #[test]
    fn broken_codes_are_not_taken() {
        assert_eq!(TokenCodes::from_bytes(vec![0; 3], 4), None);
        assert_eq!(TokenCodes::from_bytes(vec![0; 3], 0), None);
        assert!(TokenCodes::from_bytes(vec![0; 4], 3).is_some());
    }

    #[test]
    fn what_has_no_vectors_is_near_nothing() {
        let one = array![[0.0, 1.0, 0.0]];
        let (question, text) = (QuestionCodes::of(&one.view()), TokenCodes::of(&one.view()));
        assert_eq!(question.nearest(&text), [1.0]);
        assert!(question.nearest(&TokenCodes::default()).is_empty());
        for nothing in [Array2::zeros((0, 3)), Array2::zeros((3, 0))] {
            assert!(QuestionCodes::of(&nothing.view()).nearest(&text).is_empty());
        }
    }

    proptest! {
        #[test]
        fn a_code_points_where_the_vector_does(
            rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 33), 1..5)
        ) {
            let vectors = matrix(&rows);
            let codes = TokenCodes::of(&vectors.view());
            let decoded = codes.decoded(33);
            prop_assert_eq!(TokenCodes::from_bytes(codes.bytes().to_vec(), 33), Some(codes.clone()));
            for (vector, decoded) in vectors.rows().into_iter().zip(decoded.rows()) {
                if vector.dot(&vector) > 0.0 {
                    prop_assert!((decoded.dot(&decoded) - 1.0).abs() < 1e-4);
                    // Steps of a seventh of the largest number: at most 1 in 14 off each.
                    prop_assert!(vector.dot(&decoded) > 0.97, "{}", vector.dot(&decoded));
                }
            }
            let nearest = QuestionCodes::of(&decoded.view()).nearest(&codes);
            for (vector, nearest) in decoded.rows().into_iter().zip(nearest) {
                let expected = vector.dot(&vector);
                prop_assert!((nearest - expected).abs() < 1e-2, "{nearest} {expected}");
            }
        }

        #[test]
        fn every_way_gives_the_same_cosines(
            dimensions in 1..100_usize,
            rows in prop::collection::vec(prop::collection::vec(-1.0_f32..1.0, 100), 2..12),
            cut in 1..11_usize,
        ) {
            let rows: Vec<Vec<f32>> =
                rows.into_iter().map(|row| row[..dimensions].to_vec()).collect();
            let (question, text) = rows.split_at(cut.min(rows.len() - 1));
            let (question, text) = (matrix(question), TokenCodes::of(&matrix(text).view()));
            let codes = QuestionCodes::of(&question.view());
            let nearest = codes.nearest(&text);
            prop_assert_eq!(&nearest, &codes.nearest_by(&text, portable));
            let cosines = question.dot(&text.decoded(dimensions).t());
            prop_assert_eq!(nearest.len(), question.nrows());
            for (nearest, cosines) in nearest.iter().zip(cosines.rows()) {
                let most = cosines.iter().copied().fold(-1.0, f32::max);
                prop_assert!((nearest - most).abs() < 5e-3, "{nearest} {most}");
            }
        }
    }
}
