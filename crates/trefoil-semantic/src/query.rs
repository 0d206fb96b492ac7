//! A query, as the searches of a segment compare it.

use trefoil_core::{QueryVectors, Result, RowId};

use crate::{
    candidates::Candidate,
    language::{LanguageCode, LanguageCodes},
    quantize::{QuantizedVector, inner_product, product_error},
    segment::Segment,
};

/// A query as a unit vector and as a code, and what is compared with it.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    /// A unit vector of the index's dimensions.
    pub(crate) unit: &'a [f32],
    /// Its code.
    pub(crate) code: QuantizedVector,
    /// The languages of the vectors that are compared with it.
    pub(crate) languages: LanguageCodes,
}

impl<'a> Query<'a> {
    /// A query a vector of a question; every vector of an index is compared with one of them.
    pub(crate) fn of(vectors: &'a QueryVectors) -> Vec<Self> {
        let query = |unit, languages| Self { unit, code: QuantizedVector::of(unit), languages };
        let moved = vectors.moved().map(|(language, unit)| {
            query(unit, [LanguageCode::from(language)].into_iter().collect())
        });
        let moved: Vec<Self> = moved.collect();
        let rest = moved.iter().fold(LanguageCodes::ALL, |rest, one| rest.without(one.languages));
        std::iter::once(query(vectors.own(), rest)).chain(moved).collect()
    }

    /// Whether it is to be compared with a vector of a segment with these languages.
    #[inline]
    pub(crate) fn is_for(&self, languages: &[u8], ordinal: usize) -> bool {
        languages.get(ordinal).is_some_and(|&code| self.languages.contains(code))
    }

    /// The cosine of a vector by its code, and how far off it may be, given the product of
    /// the codes.
    #[inline]
    pub(crate) fn cosine(&self, product: i32, scale: f32) -> (f32, f32) {
        (product as f32 * scale * self.code.scale, product_error(scale, self.code.scale))
    }

    /// A vector of a segment as a candidate.
    pub(crate) fn candidate(
        &self,
        segment: &Segment,
        place: usize,
        ordinal: usize,
        row: RowId,
    ) -> Result<Candidate> {
        let product = inner_product(&self.code.bytes, segment.codes(ordinal, 1)?);
        let (score, error) = self.cosine(product, segment.scale(ordinal)?);
        Ok(Candidate { score, error, row, segment: place, ordinal })
    }
}
