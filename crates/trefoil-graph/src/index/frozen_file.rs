//! The frozen form on disk: the payload of a [checksummed file](ChecksummedFile) whose number
//! is a digest of the settings it was made with.
//!
//! Nine numbers, u64 each: of its state the last change of the store, how many chunks had come and
//! how many had gone; entities, bytes of their names, entries of the rows of related entities,
//! of all related ones and of the graph that is walked, and chunks. Then, one after the other:
//! where each name ends (u32), in-degrees (u32), of each of the three graphs where the rows begin
//! and the last ends, the neighbours and the weights (u32, u32, f32), the rows of the chunks
//! (u64), the names (UTF-8).
//!
//! It is no part of a commit: one that is missing, damaged, of other settings or too old is made
//! again from the segments.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
};

use trefoil_core::{
    ChecksummedFile, ChecksummedWriter, Digest, Error, FileKind, Part, Result, RetrieverId, RowId,
    Seq, sync,
};

use super::{
    frozen::{Frozen, FrozenAt, Names},
    manifest::Changes,
};
use crate::{Csr, EntityChunks, GraphConfig, column::Column};

const NAME: &str = "FROZEN";
const TEMPORARY: &str = "FROZEN.tmp";
const KIND: FileKind =
    FileKind { magic: *b"TREFFRO\0", version: 1, oldest: 1, part: Part::Index(RetrieverId::GRAPH) };
const COUNTS: usize = 9;

/// Reads the one in `dir`; none if there is none that can be used.
pub(crate) fn read(dir: &Path, config: &GraphConfig) -> Option<Frozen> {
    let file = open(dir, config)?;
    let bytes = file.bytes(0, file.len()).ok()?;
    let mut sections = Sections(bytes);
    let counts: Vec<u64> = sections.longs(COUNTS)?;
    let &[seq, added, removed, ref counts @ ..] = counts.as_slice() else { return None };
    let counts: Option<Vec<usize>> =
        counts.iter().map(|&count| usize::try_from(count).ok()).collect();
    let &[entities, name_bytes, related, all_related, walked, chunks] = counts?.as_slice() else {
        return None;
    };
    let ends = sections.words(entities)?;
    let in_degrees: Column<u32> = sections.words(entities)?.into_iter().collect();
    let related = sections.graph(entities, related)?;
    let all_related = sections.graph(entities, all_related)?;
    let walked = sections.graph(entities.checked_add(chunks)?, walked)?;
    let rows = sections.longs(chunks)?.into_iter().map(RowId::new).collect();
    let text = String::from_utf8(sections.take(name_bytes)?.to_vec()).ok()?;
    let is_whole = sections.0.is_empty() && ends.is_sorted();
    let entities = related.node_count();
    let chunks = EntityChunks::restored(walked, entities, rows, config.damping).ok()?;
    let names = Names { text, ends };
    let at = FrozenAt { seq: Seq::new(seq), changes: Changes { added, removed } };
    is_whole.then_some(Frozen { at, names, related, all_related, in_degrees, chunks })
}

/// The state of the one in `dir`; none if there is none that can be used.
pub(crate) fn frozen_at(dir: &Path, config: &GraphConfig) -> Option<FrozenAt> {
    let file = open(dir, config)?;
    let counts = Sections(file.bytes(0, COUNTS * 8).ok()?).longs(COUNTS)?;
    match counts.as_slice() {
        &[seq, added, removed, ..] => {
            Some(FrozenAt { seq: Seq::new(seq), changes: Changes { added, removed } })
        }
        _ => None,
    }
}

/// Puts one in the place of the one in `dir`.
pub(crate) fn write(dir: &Path, frozen: &Frozen, config: &GraphConfig) -> Result<()> {
    let temporary = dir.join(TEMPORARY);
    let mut writer = ChecksummedWriter::create(&temporary, KIND)?;
    let Frozen { at, names, related, all_related, in_degrees, chunks } = frozen;
    let walked = chunks.graph();
    let graphs = [related, all_related, walked];
    let [related, all_related, walked] = graphs.map(|graph| graph.edge_count() * 2);
    let counts =
        [names.ends.len(), names.text.len(), related, all_related, walked, chunks.rows().len()];
    for count in [at.seq.get(), at.changes.added, at.changes.removed]
        .into_iter()
        .chain(counts.map(|one| one as u64))
    {
        writer.write(&count.to_le_bytes())?;
    }
    write_words(&mut writer, names.ends.iter().chain(in_degrees.iter()).copied())?;
    for graph in graphs {
        let (offsets, neighbours, weights) = graph.parts();
        write_words(&mut writer, offsets.iter().chain(neighbours).copied())?;
        write_words(&mut writer, weights.iter().map(|weight| weight.to_bits()))?;
    }
    for row in chunks.rows() {
        writer.write(&row.get().to_le_bytes())?;
    }
    writer.write(names.text.as_bytes())?;
    writer.finish([settings(config), 0, 0, 0])?;
    let path = dir.join(NAME);
    std::fs::rename(&temporary, &path).map_err(|error| Error::io("replace", path, error))?;
    sync(dir)
}

/// Removes it.
pub(crate) fn remove(dir: &Path) -> Result<()> {
    for path in [dir.join(NAME), dir.join(TEMPORARY)] {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Error::io("remove", path, error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn open(dir: &Path, config: &GraphConfig) -> Option<ChecksummedFile> {
    let path: PathBuf = dir.join(NAME);
    let file = ChecksummedFile::open(&path, KIND).ok()?;
    let [made_with, ..] = file.numbers();
    (made_with == settings(config)).then_some(file)
}

/// A digest of the settings that the form depends on.
fn settings(config: &GraphConfig) -> u64 {
    let GraphConfig { prune, damping, walk: _ } = config;
    let digest = Digest::new().with(&prune.min_count.to_le_bytes());
    digest.with(&prune.percentile.to_le_bytes()).with(&damping.to_le_bytes()).get()
}

fn write_words(writer: &mut ChecksummedWriter, words: impl Iterator<Item = u32>) -> Result<()> {
    for word in words {
        writer.write(&word.to_le_bytes())?;
    }
    Ok(())
}

/// Bytes that are read from front to back.
struct Sections<'a>(&'a [u8]);

impl<'a> Sections<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn words(&mut self, count: usize) -> Option<Vec<u32>> {
        let (words, _) = self.take(count.checked_mul(4)?)?.as_chunks();
        Some(words.iter().map(|&word| u32::from_le_bytes(word)).collect())
    }

    fn longs(&mut self, count: usize) -> Option<Vec<u64>> {
        let (longs, _) = self.take(count.checked_mul(8)?)?.as_chunks();
        Some(longs.iter().map(|&long| u64::from_le_bytes(long)).collect())
    }

    fn graph(&mut self, nodes: usize, entries: usize) -> Option<Csr> {
        let offsets = self.words(nodes.checked_add(1)?)?;
        let neighbours = self.words(entries)?;
        let weights = self.words(entries)?.into_iter().map(f32::from_bits).collect();
        Csr::from_parts(offsets, neighbours, weights)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        GraphIndex, PruneConfig,
        fixture::{chunk, names},
    };

    fn frozen(chunks: &[String]) -> Arc<Frozen> {
        let chunks = (1..).zip(chunks).map(|(row, names)| chunk(row, names));
        Arc::clone(GraphIndex::build(chunks, &config()).unwrap().frozen())
    }

    fn config() -> GraphConfig {
        let prune = PruneConfig { min_count: 1, percentile: 0.0 };
        GraphConfig { prune, ..GraphConfig::default() }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(chunks in prop::collection::vec(names(), 0..9)) {
            let dir = tempfile::tempdir()?;
            let frozen = frozen(&chunks);
            write(dir.path(), &frozen, &config())?;
            let read = read(dir.path(), &config()).unwrap();
            prop_assert_eq!(format!("{read:?}"), format!("{frozen:?}"));
            prop_assert_eq!(frozen_at(dir.path(), &config()), Some(frozen.at));
            let other = GraphConfig { damping: 0.5, ..config() };
            prop_assert!(super::read(dir.path(), &other).is_none());
        }

        #[test]
        fn damage_makes_it_none(at in any::<prop::sample::Index>(), bit in 0..8_u8, cut in any::<bool>()) {
            let dir = tempfile::tempdir()?;
            write(dir.path(), &frozen(&["Ada Babbage".to_owned(), "Babbage Engine".to_owned()]), &config())?;
            let path = dir.path().join(NAME);
            let mut bytes = std::fs::read(&path)?;
            let at = at.index(bytes.len());
            if cut { bytes.truncate(at) } else { bytes[at] ^= 1 << bit }
            std::fs::write(&path, bytes)?;
            prop_assert!(read(dir.path(), &config()).is_none());
        }
    }
}
