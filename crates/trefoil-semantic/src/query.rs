//! A query, as the searches of a segment compare it.

use trefoil_core::{Result, RowId};

use crate::{
    candidates::Candidate,
    quantize::{QuantizedVector, inner_product, product_error},
    segment::Segment,
};

/// A query as a unit vector and as a code.
#[derive(Debug)]
pub(crate) struct Query<'a> {
    /// A unit vector of the index's dimensions.
    pub(crate) unit: &'a [f32],
    /// Its code.
    pub(crate) code: QuantizedVector,
}

impl<'a> Query<'a> {
    /// Of a unit vector.
    pub(crate) fn of(unit: &'a [f32]) -> Self {
        Self { unit, code: QuantizedVector::of(unit) }
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
