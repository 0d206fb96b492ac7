//! Inverted lists of a segment: its vectors by their nearest centroid, as 1-bit codes.
//!
//! A search compares the query with the centroids, goes through the lists from the most
//! promising on until none can reach what was found, and scores only those vectors again
//! whose 1-bit codes say that they may be among the nearest ([`probe`](crate::probe)).
//!
//! A section of the segment's file. Its parts, each aligned to 64 bytes: the scales of the
//! centroids' codes, how far the vectors of each list are from its centroid in the root mean
//! square (f32), and how many blocks there are up to the end of each list (u32); the
//! centroids, as 8-bit codes; the mean of the segment (f32); the
//! [blocks](sign_code).

mod kmeans;
mod rotation;
mod sign_code;

use trefoil_core::{ALIGN, ChecksummedFile, ChecksummedWriter, Result, map_in_parallel};

use crate::{
    quantize::{QuantizedVector, inner_products, stride},
    vector,
};
use kmeans::Centroids;
use rotation::Rotation;
pub(crate) use sign_code::SignQuery;
use sign_code::{BLOCK, Block, Residual, block_bytes, write_block};

/// A segment of fewer vectors has no lists: to compare all codes is as fast.
const LEAST: usize = 8_192;

/// Vectors of a segment that is being written.
#[derive(Debug)]
pub(crate) struct Vectors<'a> {
    /// Length of each.
    pub(crate) dimensions: usize,
    /// Their 8-bit codes, and what an integer of each is worth.
    pub(crate) codes: Vec<(&'a [u8], f32)>,
    /// Their bytes in `f32`.
    pub(crate) units: Vec<&'a [u8]>,
}

impl Vectors<'_> {
    fn len(&self) -> usize {
        self.codes.len()
    }
}

/// What a segment's header says of its lists: how many there are, and how many blocks.
pub(crate) type Counts = [u64; 2];

/// Writes the lists of vectors, if they are worth it.
pub(crate) fn write(vectors: &Vectors<'_>, writer: &mut ChecksummedWriter) -> Result<Counts> {
    if vectors.len() < LEAST {
        return Ok([0, 0]);
    }
    let centroids = Centroids::of(vectors, vectors.len().isqrt() * 3 / 2);
    let places: Vec<usize> = (0..vectors.len()).collect();
    let nearest: Vec<usize> = map_in_parallel(&places, |&place| centroids.nearest(vectors, place));
    let mut lists: Vec<Vec<usize>> = vec![Vec::new(); centroids.len()];
    for (place, nearest) in nearest.into_iter().enumerate() {
        if let Some(list) = lists.get_mut(nearest) {
            list.push(place);
        }
    }
    let mean = mean(vectors);
    let rotation = Rotation::of(vectors.dimensions);
    let numbered: Vec<(usize, Vec<usize>)> = lists.into_iter().enumerate().collect();
    let lists: Vec<Encoded> = map_in_parallel(&numbered, |(list, places)| {
        Encoded::of(vectors, places, &centroids.vector(*list), &mean, &rotation)
    });

    writer.align()?;
    write_numbers(writer, centroids.scales.iter().map(|x| x.to_le_bytes()))?;
    write_numbers(writer, lists.iter().map(|list| list.spread.to_le_bytes()))?;
    let mut blocks = 0_u32;
    let ends = lists.iter().map(|list| {
        blocks += list.blocks;
        blocks.to_le_bytes()
    });
    write_numbers(writer, ends)?;
    writer.write(&centroids.codes)?;
    write_numbers(writer, mean.iter().map(|x| x.to_le_bytes()))?;
    lists.iter().try_for_each(|list| writer.write(&list.bytes))?;
    Ok([lists.len() as u64, blocks.into()])
}

fn write_numbers(
    writer: &mut ChecksummedWriter,
    mut numbers: impl Iterator<Item = [u8; 4]>,
) -> Result<()> {
    numbers.try_for_each(|number| writer.write(&number))?;
    writer.align()
}

fn mean(vectors: &Vectors<'_>) -> Vec<f32> {
    let mut sums = vec![0.0_f64; vectors.dimensions];
    for bytes in &vectors.units {
        for (sum, x) in sums.iter_mut().zip(vector::from_bytes(bytes)) {
            *sum += f64::from(x);
        }
    }
    #[expect(clippy::cast_possible_truncation, reason = "the mean of unit vectors fits")]
    sums.into_iter().map(|sum| (sum / vectors.len().max(1) as f64) as f32).collect()
}

/// A list to be written.
struct Encoded {
    spread: f32,
    blocks: u32,
    bytes: Vec<u8>,
}

impl Encoded {
    fn of(
        vectors: &Vectors<'_>,
        places: &[usize],
        centroid: &[f32],
        mean: &[f32],
        rotation: &Rotation,
    ) -> Self {
        let mut list = Self { spread: 0.0, blocks: 0, bytes: Vec::new() };
        for places in places.chunks(BLOCK) {
            let residuals = places.iter().filter_map(|&place| {
                let unit = vector::from_bytes(vectors.units.get(place)?);
                let mut rotated: Vec<f32> = unit.iter().zip(centroid).map(|(x, c)| x - c).collect();
                let with_mean = rotated.iter().zip(mean).map(|(r, m)| r * m).sum();
                list.spread += rotated.iter().map(|r| r * r).sum::<f32>();
                rotation.apply(&mut rotated);
                Some(Residual { ordinal: u32::try_from(place).ok()?, rotated, with_mean })
            });
            let residuals: Vec<Residual> = residuals.collect();
            write_block(&residuals, vectors.dimensions, &mut list.bytes);
            list.blocks += 1;
        }
        list.spread = (list.spread / places.len().max(1) as f32).sqrt();
        list
    }
}

/// Where the lists of a segment are in its file.
#[derive(Debug)]
pub(crate) struct Layout {
    dimensions: usize,
    lists: usize,
    blocks: usize,
    scales: usize,
    spreads: usize,
    ends: usize,
    centroids: usize,
    mean: usize,
    codes: usize,
    /// Where they end.
    pub(crate) end: usize,
    rotation: Rotation,
}

impl Layout {
    /// Of lists that begin after `start`; `None` if the sizes are not those of a file.
    pub(crate) fn of(dimensions: usize, lists: usize, blocks: usize, start: usize) -> Option<Self> {
        let aligned = |end: usize| end.checked_next_multiple_of(ALIGN);
        let scales = aligned(start)?;
        let spreads = aligned(scales.checked_add(lists.checked_mul(4)?)?)?;
        let ends = aligned(spreads.checked_add(lists.checked_mul(4)?)?)?;
        let centroids = aligned(ends.checked_add(lists.checked_mul(4)?)?)?;
        let mean = centroids.checked_add(lists.checked_mul(stride(dimensions))?)?;
        let codes = aligned(mean.checked_add(dimensions.checked_mul(4)?)?)?;
        let end = codes.checked_add(blocks.checked_mul(block_bytes(dimensions))?)?;
        let rotation = Rotation::of(dimensions);
        Some(Self {
            dimensions,
            lists,
            blocks,
            scales,
            spreads,
            ends,
            centroids,
            mean,
            codes,
            end,
            rotation,
        })
    }

    /// The lists.
    pub(crate) fn read<'a>(&'a self, file: &'a ChecksummedFile) -> Result<Lists<'a>> {
        let numbers = |start: usize, count: usize| {
            file.bytes(start, count * 4).map(|bytes| bytes.as_chunks::<4>().0)
        };
        Ok(Lists {
            layout: self,
            scales: numbers(self.scales, self.lists)?,
            spreads: numbers(self.spreads, self.lists)?,
            ends: numbers(self.ends, self.lists)?,
            centroids: file.bytes(self.centroids, self.lists * stride(self.dimensions))?,
            mean: numbers(self.mean, self.dimensions)?,
            codes: file.bytes(self.codes, self.blocks * block_bytes(self.dimensions))?,
        })
    }
}

/// The lists of a segment, mapped.
#[derive(Debug)]
pub(crate) struct Lists<'a> {
    layout: &'a Layout,
    scales: &'a [[u8; 4]],
    spreads: &'a [[u8; 4]],
    ends: &'a [[u8; 4]],
    centroids: &'a [u8],
    mean: &'a [[u8; 4]],
    codes: &'a [u8],
}

impl<'a> Lists<'a> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.layout.lists
    }

    /// Products of the centroids with a query.
    pub(crate) fn products(&self, query: &QuantizedVector) -> Vec<f32> {
        let mut products = vec![0; self.layout.lists];
        inner_products(&query.bytes, self.centroids, &mut products);
        let scaled =
            |(product, &scale): (i32, _)| product as f32 * query.scale * f32::from_le_bytes(scale);
        products.into_iter().zip(self.scales).map(scaled).collect()
    }

    /// A query to be compared with the codes.
    pub(crate) fn sign_query(&self, unit: &[f32]) -> SignQuery {
        let mut centred: Vec<f32> =
            unit.iter().zip(self.mean).map(|(x, &mean)| x - f32::from_le_bytes(mean)).collect();
        self.layout.rotation.apply(&mut centred);
        SignQuery::of(&centred)
    }

    /// How far the vectors of each list are from its centroid.
    pub(crate) fn spreads(&self) -> impl Iterator<Item = f32> + '_ {
        self.spreads.iter().map(|&spread| f32::from_le_bytes(spread))
    }

    /// The blocks of a list.
    pub(crate) fn blocks(&self, list: usize) -> impl Iterator<Item = Block<'a>> + use<'a> {
        let end = |list: usize| self.ends.get(list).map(|&end| u32::from_le_bytes(end) as usize);
        let start = list.checked_sub(1).and_then(end).unwrap_or_default();
        let size = block_bytes(self.layout.dimensions);
        let count = end(list).unwrap_or_default().saturating_sub(start);
        self.codes.chunks_exact(size).skip(start).take(count).filter_map(Block::of)
    }
}
