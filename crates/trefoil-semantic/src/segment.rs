//! A segment: vectors that were written together, ascending by row.
//!
//! The payload of a [checksummed file](ChecksummedFile) whose numbers are dimensions, count, and
//! those of its [lists](crate::lists), 0 if it has none. Sections follow each other, each aligned
//! to 64 bytes: how many vectors are of each [language](LanguageCode) (u64 a code), rows (u64), the
//! numbers that order them among equals (u64, [`tie_break`](trefoil_core::tie_break)), languages (u8),
//! scales of the codes (f32), codes (one padded [`QuantizedVector`] each), vectors (f32), lists.

use std::path::Path;

use trefoil_core::{
    ALIGN, ChecksummedFile, ChecksummedWriter, FileKind, Part, Result, RetrieverId, RowId,
};

use crate::{
    language::{LanguageCode, LanguageCodes},
    lists::{self, Lists, Vectors},
    quantize::{QuantizedVector, stride},
    vector::{self, MAX_DIMENSIONS},
};

const KIND: FileKind = FileKind {
    magic: *b"TREFVEC\0",
    version: 3,
    oldest: 3,
    part: Part::Index(RetrieverId::SEMANTIC),
};

/// A vector that waits to be written.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    tie_break: u64,
    language: LanguageCode,
    code: QuantizedVector,
    vector: Vec<u8>,
}

impl Encoded {
    /// Encodes a unit vector of a text in a language; `tie_break` orders it among equals.
    pub(crate) fn of(tie_break: u64, language: LanguageCode, unit: &[f32]) -> Self {
        let (code, vector) = (QuantizedVector::of(unit), vector::to_bytes(unit));
        Self { tie_break, language, code, vector }
    }
}

/// Where a vector of a new segment comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Source<'a> {
    /// Its row.
    pub(crate) row: RowId,
    /// Its content.
    pub(crate) content: Content<'a>,
}

/// The content of a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'a> {
    /// Added since the last commit.
    Added(&'a Encoded),
    /// At an ordinal of an older segment.
    Stored(&'a Segment, usize),
}

impl<'a> Source<'a> {
    fn tie_break(&self) -> Result<u64> {
        match self.content {
            Content::Added(encoded) => Ok(encoded.tie_break),
            Content::Stored(segment, ordinal) => segment.tie_break(ordinal),
        }
    }

    fn language(&self) -> Result<LanguageCode> {
        match self.content {
            Content::Added(encoded) => Ok(encoded.language),
            Content::Stored(segment, ordinal) => segment.language(ordinal),
        }
    }

    fn scale(&self) -> Result<f32> {
        match self.content {
            Content::Added(encoded) => Ok(encoded.code.scale),
            Content::Stored(segment, ordinal) => segment.scale(ordinal),
        }
    }

    fn code(&self) -> Result<&'a [u8]> {
        match self.content {
            Content::Added(encoded) => Ok(&encoded.code.bytes),
            Content::Stored(segment, ordinal) => segment.codes(ordinal, 1),
        }
    }

    fn vector(&self) -> Result<&'a [u8]> {
        match self.content {
            Content::Added(encoded) => Ok(&encoded.vector),
            Content::Stored(segment, ordinal) => segment.vector(ordinal),
        }
    }
}

/// A segment file, mapped. Vectors are addressed by ordinal: their place in the file.
#[derive(Debug)]
pub(crate) struct Segment {
    file: ChecksummedFile,
    layout: Layout,
    /// Where the lists are, if it has any.
    lists: Option<lists::Layout>,
}

impl Segment {
    /// Maps a segment.
    pub(crate) fn open(path: &Path, dimensions: usize) -> Result<Self> {
        let file = ChecksummedFile::open(path, KIND)?;
        let [found, count, lists, blocks] = file.numbers().map(usize::try_from);
        let (Ok(found), Ok(count), Ok(lists), Ok(blocks)) = (found, count, lists, blocks) else {
            return Err(file.damaged("its counts are out of range"));
        };
        if found != dimensions {
            return Err(file.damaged("it holds vectors of another length than its index"));
        }
        let wrong = || file.damaged("it is not as long as its counts say");
        let layout = Layout::of(dimensions, count).ok_or_else(wrong)?;
        let lists = match lists {
            0 => None,
            some => {
                let layout = lists::Layout::of(dimensions, some, blocks, layout.end);
                Some(layout.ok_or_else(wrong)?)
            }
        };
        if lists.as_ref().map_or(layout.end, |lists| lists.end) != file.len() {
            return Err(wrong());
        }
        Ok(Self { file, layout, lists })
    }

    /// Writes vectors, which ascend by row, and gives the seal.
    pub(crate) fn write(path: &Path, dimensions: usize, sources: &[Source<'_>]) -> Result<u32> {
        let mut writer = ChecksummedWriter::create(path, KIND)?;
        let languages: Vec<LanguageCode> =
            sources.iter().map(Source::language).collect::<Result<_>>()?;
        for code in LanguageCode::ALL {
            let count = languages.iter().filter(|&&one| one == code).count() as u64;
            writer.write(&count.to_le_bytes())?;
        }
        writer.align()?;
        for source in sources {
            writer.write(&source.row.get().to_le_bytes())?;
        }
        writer.align()?;
        for source in sources {
            writer.write(&source.tie_break()?.to_le_bytes())?;
        }
        writer.align()?;
        for language in languages {
            writer.write(&[language.get()])?;
        }
        writer.align()?;
        for source in sources {
            writer.write(&source.scale()?.to_le_bytes())?;
        }
        writer.align()?;
        for source in sources {
            writer.write(source.code()?)?;
        }
        writer.align()?;
        for source in sources {
            writer.write(source.vector()?)?;
        }
        let vectors = Vectors {
            dimensions,
            codes: sources
                .iter()
                .map(|source| Ok((source.code()?, source.scale()?)))
                .collect::<Result<_>>()?,
            units: sources.iter().map(Source::vector).collect::<Result<_>>()?,
        };
        let [lists, blocks] = lists::write(&vectors, &mut writer)?;
        writer.finish([dimensions as u64, sources.len() as u64, lists, blocks])
    }

    /// What stands for the content.
    pub(crate) fn seal(&self) -> u32 {
        self.file.seal()
    }

    /// Vectors in the file, deleted ones included.
    pub(crate) fn len(&self) -> usize {
        self.layout.count
    }

    /// Bytes of the payload.
    pub(crate) fn bytes(&self) -> usize {
        self.file.len()
    }

    /// Checks every byte.
    pub(crate) fn verify(&self) -> Result<()> {
        self.file.verify()
    }

    /// The rows, ascending.
    pub(crate) fn rows(&self) -> Result<Rows<'_>> {
        let bytes = self.file.bytes(self.layout.rows, self.layout.count * 8)?;
        Ok(Rows(bytes.as_chunks::<8>().0))
    }

    /// The number that orders a vector among equals.
    pub(crate) fn tie_break(&self, ordinal: usize) -> Result<u64> {
        let bytes = self.file.bytes(self.layout.tie_breaks + ordinal * 8, 8)?;
        Ok(bytes.first_chunk().map_or(u64::MAX, |&number| u64::from_le_bytes(number)))
    }

    /// The languages that its vectors are of.
    pub(crate) fn language_codes(&self) -> Result<LanguageCodes> {
        let counts = self.file.bytes(0, LanguageCode::ALL.len() * 8)?.as_chunks::<8>().0;
        let of = counts.iter().zip(LanguageCode::ALL);
        Ok(of.filter(|(count, _)| u64::from_le_bytes(**count) > 0).map(|(_, code)| code).collect())
    }

    /// The language of each vector, a [`LanguageCode`] a byte.
    pub(crate) fn languages(&self) -> Result<&[u8]> {
        self.file.bytes(self.layout.languages, self.layout.count)
    }

    /// The language of one vector.
    pub(crate) fn language(&self, ordinal: usize) -> Result<LanguageCode> {
        let bytes = self.file.bytes(self.layout.languages + ordinal, 1)?;
        Ok(bytes.first().map_or(LanguageCode::NONE, |&code| LanguageCode::from(code)))
    }

    /// What an integer of each code from ordinal `first` on is worth.
    pub(crate) fn scales(
        &self,
        first: usize,
        count: usize,
    ) -> Result<impl Iterator<Item = f32> + '_> {
        let bytes = self.file.bytes(self.layout.scales + first * 4, count * 4)?;
        Ok(bytes.as_chunks::<4>().0.iter().map(|&x| f32::from_le_bytes(x)))
    }

    /// What an integer of one code is worth.
    pub(crate) fn scale(&self, ordinal: usize) -> Result<f32> {
        Ok(self.scales(ordinal, 1)?.next().unwrap_or(0.0))
    }

    /// Codes from ordinal `first` on, back to back.
    pub(crate) fn codes(&self, first: usize, count: usize) -> Result<&[u8]> {
        let Layout { codes, stride, .. } = self.layout;
        self.file.bytes(codes + first * stride, count * stride)
    }

    /// True if there are lists.
    pub(crate) fn has_lists(&self) -> bool {
        self.lists.is_some()
    }

    /// The lists, if there are any.
    pub(crate) fn lists(&self) -> Result<Option<Lists<'_>>> {
        self.lists.as_ref().map(|lists| lists.read(&self.file)).transpose()
    }

    /// Bytes of one vector.
    pub(crate) fn vector(&self, ordinal: usize) -> Result<&[u8]> {
        let Layout { vectors, dimensions, .. } = self.layout;
        self.file.bytes(vectors + ordinal * dimensions * 4, dimensions * 4)
    }
}

/// Rows of a segment, ascending.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a>(&'a [[u8; 8]]);

impl<'a> Rows<'a> {
    /// The row at a place.
    #[inline]
    pub(crate) fn get(self, ordinal: usize) -> Option<RowId> {
        self.0.get(ordinal).map(|&row| RowId::new(u64::from_le_bytes(row)))
    }

    /// All of them.
    pub(crate) fn iter(self) -> impl Iterator<Item = RowId> + 'a {
        self.0.iter().map(|&row| RowId::new(u64::from_le_bytes(row)))
    }

    /// Where a row is, or where it would be, at or after ordinal `first`. Gallops, so
    /// that what is near is found soon.
    pub(crate) fn find(self, row: RowId, first: usize) -> Result<usize, usize> {
        let (mut first, mut step) = (first, 1);
        while self.get(first + step).is_some_and(|there| there <= row) {
            first += step;
            step *= 2;
        }
        let end = self.0.len().min(first + step);
        let rows = self.0.get(first..end).unwrap_or_default();
        let place = rows.binary_search_by_key(&row.get(), |&row| u64::from_le_bytes(row));
        place.map(|place| first + place).map_err(|place| first + place)
    }
}

#[derive(Clone, Copy, Debug)]
struct Layout {
    dimensions: usize,
    count: usize,
    stride: usize,
    rows: usize,
    tie_breaks: usize,
    languages: usize,
    scales: usize,
    codes: usize,
    vectors: usize,
    end: usize,
}

impl Layout {
    /// `None` if the sizes are not those of a file. Ordinals have 32 bits.
    fn of(dimensions: usize, count: usize) -> Option<Self> {
        if dimensions == 0 || dimensions > MAX_DIMENSIONS || u32::try_from(count).is_err() {
            return None;
        }
        let aligned = |end: usize| end.checked_next_multiple_of(ALIGN);
        let stride = stride(dimensions);
        let rows = aligned(LanguageCode::ALL.len() * 8)?;
        let tie_breaks = aligned(rows.checked_add(count.checked_mul(8)?)?)?;
        let languages = aligned(tie_breaks.checked_add(count.checked_mul(8)?)?)?;
        let scales = aligned(languages.checked_add(count)?)?;
        let codes = aligned(scales.checked_add(count.checked_mul(4)?)?)?;
        let vectors = aligned(codes.checked_add(count.checked_mul(stride)?)?)?;
        let end = vectors.checked_add(count.checked_mul(dimensions.checked_mul(4)?)?)?;
        Some(Self {
            dimensions,
            count,
            stride,
            rows,
            tie_breaks,
            languages,
            scales,
            codes,
            vectors,
            end,
        })
    }
}
