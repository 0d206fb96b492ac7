//! Centroids of the vectors of a segment: k-means over their 8-bit codes.
//!
//! Vectors are compared by integers and sums are taken in the order of the vectors, so
//! that the same vectors have the same centroids on every machine.

use trefoil_core::map_in_parallel;

use super::Vectors;
use crate::{
    quantize::{QuantizedVector, inner_products, stride},
    vector,
};

/// Vectors that a centroid is learned from. Twice as many give no better lists.
const SAMPLE: usize = 40;
/// Rounds of moving the centroids; later ones hardly move them.
const ROUNDS: usize = 6;

/// Centroids, as codes: what they stand for is exactly what their codes say.
#[derive(Debug)]
pub(crate) struct Centroids {
    /// Codes, back to back.
    pub(crate) codes: Vec<u8>,
    /// What an integer of each is worth.
    pub(crate) scales: Vec<f32>,
    /// Half of the square of the length of each.
    halves: Vec<f32>,
    stride: usize,
    dimensions: usize,
}

impl Centroids {
    /// So many centroids of vectors, at most as many as there are of them.
    pub(crate) fn of(vectors: &Vectors<'_>, count: usize) -> Self {
        let step = (vectors.len() / (count * SAMPLE).max(1)).max(1);
        let sample: Vec<usize> = (0..vectors.len()).step_by(step).collect();
        let first = sample.iter().step_by((sample.len() / count.max(1)).max(1)).take(count);
        let mut means: Vec<Vec<f32>> = first.map(|&place| vectors.unit(place)).collect();
        let mut centroids = Self::encode(&means, vectors.dimensions);
        for _ in 0..ROUNDS {
            let nearest: Vec<usize> =
                map_in_parallel(&sample, |&place| centroids.nearest(vectors, place));
            let mut sums = vec![(0.0_f32, vec![0.0_f32; vectors.dimensions]); means.len()];
            for (&place, nearest) in sample.iter().zip(nearest) {
                if let Some((members, sum)) = sums.get_mut(nearest) {
                    *members += 1.0;
                    sum.iter_mut().zip(vectors.unit(place)).for_each(|(sum, x)| *sum += x);
                }
            }
            for (mean, (members, sum)) in means.iter_mut().zip(sums) {
                // A centroid without members stays where it was.
                if members > 0.0 {
                    *mean = sum.into_iter().map(|x| x / members).collect();
                }
            }
            centroids = Self::encode(&means, vectors.dimensions);
        }
        centroids
    }

    fn encode(means: &[Vec<f32>], dimensions: usize) -> Self {
        let codes = means.iter().map(|mean| QuantizedVector::of(mean));
        let mut centroids = Self {
            codes: Vec::new(),
            scales: Vec::new(),
            halves: Vec::new(),
            stride: stride(dimensions),
            dimensions,
        };
        for code in codes {
            let square = code.bytes.iter().map(|&x| i32::from(x.cast_signed()).pow(2)).sum::<i32>();
            centroids.halves.push(square as f32 * code.scale * code.scale / 2.0);
            centroids.scales.push(code.scale);
            centroids.codes.extend(code.bytes);
        }
        centroids
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.scales.len()
    }

    /// Which is nearest to a vector.
    pub(crate) fn nearest(&self, vectors: &Vectors<'_>, place: usize) -> usize {
        let Some(&(code, scale)) = vectors.codes.get(place) else { return 0 };
        let mut products = vec![0; self.len()];
        inner_products(code, &self.codes, &mut products);
        let mut nearest = (0, f32::NEG_INFINITY);
        for (list, ((&product, own), half)) in
            products.iter().zip(&self.scales).zip(&self.halves).enumerate()
        {
            let near = product as f32 * scale * own - half;
            if near > nearest.1 {
                nearest = (list, near);
            }
        }
        nearest.0
    }

    /// What a centroid stands for.
    pub(crate) fn vector(&self, list: usize) -> Vec<f32> {
        let scale = self.scales.get(list).copied().unwrap_or_default();
        let code = self.codes.chunks_exact(self.stride).nth(list).unwrap_or_default();
        code.iter().take(self.dimensions).map(|&x| f32::from(x.cast_signed()) * scale).collect()
    }
}

impl Vectors<'_> {
    fn unit(&self, place: usize) -> Vec<f32> {
        self.units.get(place).map(|bytes| vector::from_bytes(bytes)).unwrap_or_default()
    }
}
