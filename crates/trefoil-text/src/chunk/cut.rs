//! Spans of blocks to spans of chunks.

use std::ops::Range;

use text_splitter::{ChunkCapacity, ChunkConfig, ChunkSizer, TextSplitter};

use super::{
    ChunkSizes,
    block::{Block, BlockKind},
};
use crate::tokens::Measure;

/// The sentence splitter looks over all that is left for each chunk it makes; in
/// windows of this many bytes, two or three chunks, its cost stays linear.
const WINDOW_BYTES: usize = 4 * 1024;

/// What ends a sentence without a space after it.
const SENTENCE_ENDS: [char; 3] = ['。', '！', '？'];

/// Cuts sections into spans that are no larger than they may be.
#[derive(Debug)]
pub(super) struct Cutter<'m, 't> {
    measure: &'m Measure<'t>,
    sizes: &'m ChunkSizes,
}

/// What is not cut any further.
struct Unit {
    span: Range<usize>,
    tokens: usize,
}

impl<'m, 't> Cutter<'m, 't> {
    pub(super) fn new(measure: &'m Measure<'t>, sizes: &'m ChunkSizes) -> Self {
        Self { measure, sizes }
    }

    /// Spans in order that tile `span`: one if it is within the maximum, else about
    /// equal ones, cut between `blocks` where possible.
    pub(super) fn cut(&self, span: Range<usize>, blocks: &[Block]) -> Vec<Range<usize>> {
        if self.measure.tokens(span.clone()) <= self.sizes.max {
            return vec![span];
        }
        let mut units = Vec::new();
        self.tile(span, blocks, &mut units);
        self.pack(&units)
    }

    /// Fills units up to an equal share of the target.
    fn pack(&self, units: &[Unit]) -> Vec<Range<usize>> {
        let (start, end) = (*self.sizes.target.start(), *self.sizes.target.end());
        let total: usize = units.iter().map(|unit| unit.tokens).sum();
        let share = (total / total.div_ceil(end).max(1)).max(start);
        let mut pieces: Vec<Range<usize>> = Vec::new();
        let mut filled = 0;
        for Unit { span, tokens } in units {
            match pieces.last_mut() {
                Some(open) if filled < share && filled + tokens <= end => {
                    open.end = span.end;
                    filled += tokens;
                }
                _ => {
                    pieces.push(span.clone());
                    filled = *tokens;
                }
            }
        }
        pieces
    }

    /// Adds the units of a span that holds `blocks`. What stands between two blocks
    /// goes with the second, what follows the last goes with it.
    fn tile(&self, span: Range<usize>, blocks: &[Block], units: &mut Vec<Unit>) {
        let mut start = span.start;
        for (i, block) in blocks.iter().enumerate() {
            let end = if i + 1 == blocks.len() { span.end } else { block.span.end };
            if block.span.start < start || end <= start {
                continue;
            }
            let whole_only_alone = block.kind == BlockKind::Lines
                && !self.fits(start..end)
                && self.fits(block.span.clone());
            if whole_only_alone {
                self.block(start..block.span.start, BlockKind::Prose, &[], units);
                self.block(block.span.clone(), block.kind, &[], units);
                start = block.span.end;
            } else {
                self.block(start..end, block.kind, &block.children, units);
                start = end;
            }
        }
        if start < span.end {
            self.block(start..span.end, BlockKind::Prose, &[], units);
        }
    }

    fn fits(&self, span: Range<usize>) -> bool {
        self.measure.tokens(span) <= self.sizes.max
    }

    fn block(
        &self,
        span: Range<usize>,
        kind: BlockKind,
        children: &[Block],
        units: &mut Vec<Unit>,
    ) {
        let tokens = self.measure.tokens(span.clone());
        let limit = match kind {
            BlockKind::Prose => *self.sizes.target.end(),
            BlockKind::Lines => self.sizes.max,
        };
        if tokens <= limit {
            units.push(Unit { span, tokens });
        } else if !children.is_empty() {
            self.tile(span, children, units);
        } else {
            match kind {
                BlockKind::Prose => self.sentences(span, units),
                BlockKind::Lines => self.lines(span, units),
            }
        }
    }

    fn lines(&self, span: Range<usize>, units: &mut Vec<Unit>) {
        let mut start = span.start;
        for line in self.measure.text().get(span).unwrap_or_default().split_inclusive('\n') {
            let end = start + line.len();
            self.block(start..end, BlockKind::Prose, &[], units);
            start = end;
        }
    }

    fn sentences(&self, span: Range<usize>, units: &mut Vec<Unit>) {
        let (start, end) = (*self.sizes.target.start(), *self.sizes.target.end());
        let capacity =
            ChunkCapacity::new(start).with_max(end).unwrap_or_else(|_| ChunkCapacity::new(end));
        let splitter =
            TextSplitter::new(ChunkConfig::new(capacity).with_sizer(self).with_trim(false));
        for window in windows(self.measure.text(), span) {
            let text = self.measure.text().get(window.clone()).unwrap_or_default();
            if !text.contains(char::is_whitespace) && !text.contains(SENTENCE_ENDS) {
                self.halves(window, units);
                continue;
            }
            for (offset, part) in splitter.chunk_indices(text) {
                let start = window.start + offset;
                let span = start..start + part.len();
                units.push(Unit { tokens: self.measure.tokens(span.clone()), span });
            }
        }
    }

    /// Cuts a run without words or sentences anywhere: looking for words in it would
    /// take long and find none.
    fn halves(&self, span: Range<usize>, units: &mut Vec<Unit>) {
        let tokens = self.measure.tokens(span.clone());
        let middle = self.measure.text().ceil_char_boundary(span.start.midpoint(span.end));
        if tokens <= *self.sizes.target.end() || middle == span.end {
            units.push(Unit { span, tokens });
        } else {
            self.halves(span.start..middle, units);
            self.halves(middle..span.end, units);
        }
    }
}

impl ChunkSizer for Cutter<'_, '_> {
    fn size(&self, chunk: &str) -> usize {
        self.measure.tokens_of(chunk)
    }
}

/// Tiles a span with windows that end at a line, a sentence, a word or at least a character.
fn windows(text: &str, span: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut start = span.start;
    std::iter::from_fn(move || {
        let rest = text.get(start..span.end).filter(|rest| !rest.is_empty())?;
        let window = rest.get(..rest.floor_char_boundary(WINDOW_BYTES)).unwrap_or(rest);
        let length = if window.len() == rest.len() { rest.len() } else { last_break(window) };
        let window = start..start + length;
        start = window.end;
        Some(window)
    })
}

/// Where the last line of a text ends; where it is one line the last sentence, the
/// last word, the text itself.
fn last_break(text: &str) -> usize {
    let after = |(at, mark): (usize, &str)| at + mark.len();
    let last = |mark: &str| text.rmatch_indices(mark).next().map(after);
    let sentence = || {
        let spaced = [". ", "! ", "? "].into_iter().filter_map(last).max();
        spaced.max(text.rmatch_indices(SENTENCE_ENDS).next().map(after))
    };
    let word = || text.rmatch_indices(char::is_whitespace).next().map(after);
    last("\n").or_else(sentence).or_else(word).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_tile_and_end_where_a_reader_would() {
        let check = |text: &str, ends: &[usize]| {
            let found: Vec<_> = windows(text, 0..text.len()).map(|window| window.end).collect();
            assert_eq!(found, ends);
        };
        check("", &[]);
        check("short", &[5]);
        check(&"x".repeat(WINDOW_BYTES + 9), &[WINDOW_BYTES, WINDOW_BYTES + 9]);
        check(
            &"東".repeat(WINDOW_BYTES / 3 + 2),
            &[WINDOW_BYTES / 3 * 3, WINDOW_BYTES / 3 * 3 + 6],
        );
        check(&format!("a b\n{}", "x y".repeat(WINDOW_BYTES / 3)), &[4, 4 + WINDOW_BYTES / 3 * 3]);
        check(&format!("東。 b {}", "x".repeat(WINDOW_BYTES)), &[6, 9, 9 + WINDOW_BYTES]);
        check(&format!("a b {}", "x".repeat(WINDOW_BYTES)), &[4, 4 + WINDOW_BYTES]);
    }
}
