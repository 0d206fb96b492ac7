//! The neighbour graph of a segment: the ground layer of an HNSW graph, and the walk.
//!
//! The payload of a [checksummed file](ChecksummedFile) whose numbers are nodes and links:
//! where each node's links begin, and where the last one's end (u32), then, aligned to
//! 64 bytes, the links (u32 ordinals).
//!
//! The upper layers are not kept. They are there to find a start near the query, and a
//! scan of every √n-th code does that as well, at a cost that vanishes in that of the
//! walk. (Munyampirwa, Lakshman, Coleman 2024, "Down with the Hierarchy", arXiv
//! 2412.01940, find no gain from them at these dimensions.)

use std::{cmp::Reverse, collections::BinaryHeap, path::Path};

use trefoil_core::{
    ALIGN, ChecksummedFile, ChecksummedWriter, Error, FileKind, Part, Result, RetrieverId,
};

use crate::{
    VectorConfig,
    hnsw::{Codes, links},
    quantize::{inner_product, stride},
    segment::Segment,
};

const KIND: FileKind = FileKind {
    magic: *b"TREFGRA\0",
    version: 2,
    oldest: 2,
    part: Part::Index(RetrieverId::SEMANTIC),
};

/// A graph file, mapped.
#[derive(Debug)]
pub(crate) struct Graph {
    file: ChecksummedFile,
    nodes: usize,
    /// Where the links begin.
    links: usize,
}

impl Graph {
    /// Builds the graph of a segment, writes it, and gives its seal; none if it was stopped before.
    pub(crate) fn write(
        path: &Path,
        segment: &Segment,
        dimensions: usize,
        config: &VectorConfig,
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<u32>> {
        let codes = Codes {
            bytes: segment.codes(0, segment.len())?,
            stride: stride(dimensions),
            scales: segment.scales(0, segment.len())?.collect(),
        };
        let Some(mut links) = links(&codes, config, is_stopped)? else { return Ok(None) };
        connect(&mut links);
        let mut writer = ChecksummedWriter::create(path, KIND)?;
        let mut end = 0_u64;
        writer.write(&0_u32.to_le_bytes())?;
        for links in &links {
            end += links.len() as u64;
            let end = u32::try_from(end).map_err(|_| Error::InvalidConfig {
                field: "m",
                value: config.m.to_string(),
                allowed: "few enough for 4,294,967,295 links in a segment",
            })?;
            writer.write(&end.to_le_bytes())?;
        }
        writer.align()?;
        for link in links.iter().flatten() {
            writer.write(&link.to_le_bytes())?;
        }
        writer.finish([links.len() as u64, end, 0, 0]).map(Some)
    }

    /// Maps the graph of a segment of so many vectors.
    pub(crate) fn open(path: &Path, count: usize) -> Result<Self> {
        let file = ChecksummedFile::open(path, KIND)?;
        let [nodes, links, ..] = file.numbers().map(usize::try_from);
        let (Ok(nodes), Ok(links)) = (nodes, links) else {
            return Err(file.damaged("its counts are out of range"));
        };
        let begin =
            nodes.checked_add(1).and_then(|n| n.checked_mul(4)?.checked_next_multiple_of(ALIGN));
        let end = begin.and_then(|begin| begin.checked_add(links.checked_mul(4)?));
        match begin {
            Some(links) if nodes == count && end == Some(file.len()) => {
                Ok(Self { file, nodes, links })
            }
            _ => Err(file.damaged("its counts are not those of its segment")),
        }
    }

    /// What stands for the content.
    pub(crate) fn seal(&self) -> u32 {
        self.file.seal()
    }

    /// Bytes of the payload.
    pub(crate) fn bytes(&self) -> usize {
        self.file.len()
    }

    /// Checks every byte.
    pub(crate) fn verify(&self) -> Result<()> {
        self.file.verify()
    }

    /// Up to `ef` of the nearest nodes that `admit` lets pass, in no particular
    /// order. All nodes are walked through, admitted or not; `None` if more
    /// than `budget` had to be compared.
    pub(crate) fn walk(
        &self,
        segment: &Segment,
        query: &[u8],
        ef: usize,
        budget: usize,
        admit: impl Fn(usize) -> bool,
    ) -> Result<Option<Vec<usize>>> {
        let mut walk = Walk {
            segment,
            query,
            ef,
            seen: vec![0; self.nodes.div_ceil(64)],
            compared: 0,
            ahead: BinaryHeap::new(),
            found: BinaryHeap::with_capacity(ef + 1),
        };
        for start in starts(self.nodes) {
            walk.visit(start, &admit)?;
        }
        while let Some(next) = walk.ahead.pop() {
            if walk.is_done(next) {
                break;
            }
            if walk.compared > budget {
                return Ok(None);
            }
            for &link in self.links_of(next.ordinal())? {
                walk.visit(u32::from_le_bytes(link) as usize, &admit)?;
            }
        }
        Ok(Some(walk.found.into_iter().map(|Reverse(node)| node.ordinal()).collect()))
    }

    fn links_of(&self, node: usize) -> Result<&[[u8; 4]]> {
        let ends = self.file.bytes(node * 4, 8)?;
        let &[begin, end] = ends.as_chunks::<4>().0 else { return Ok(&[]) };
        let [begin, end] = [begin, end].map(|n| u32::from_le_bytes(n) as usize);
        let bytes = self.file.bytes(self.links + begin * 4, end.saturating_sub(begin) * 4)?;
        Ok(bytes.as_chunks::<4>().0)
    }
}

/// Where every walk starts.
fn starts(nodes: usize) -> impl Iterator<Item = usize> {
    (0..nodes).step_by(nodes.isqrt().max(1))
}

/// Lets every node be reached from the starts. The builder drops the farthest link of a
/// full node, which may be the only way to its other end.
fn connect(links: &mut [Vec<u32>]) {
    let add = |links: &mut [Vec<u32>], from: usize, to: usize| {
        if let (Some(links), Ok(to)) = (links.get_mut(from), u32::try_from(to))
            && !links.contains(&to)
        {
            links.push(to);
        }
    };
    for node in 0..links.len() {
        if let Some(&nearest) = links.get(node).and_then(|links| links.first()) {
            add(links, nearest as usize, node);
        }
    }
    let mut reached = vec![false; links.len()];
    let mut ahead: Vec<usize> = Vec::new();
    let stride = links.len().isqrt().max(1);
    for node in starts(links.len()).chain(0..links.len()) {
        if reached.get(node) == Some(&false) && !node.is_multiple_of(stride) {
            add(links, node - node % stride, node);
        }
        ahead.push(node);
        while let Some(node) = ahead.pop() {
            match reached.get_mut(node) {
                Some(reached) if !*reached => *reached = true,
                _ => continue,
            }
            ahead.extend(links.get(node).into_iter().flatten().map(|&link| link as usize));
        }
    }
}

/// The state of one walk.
struct Walk<'a> {
    segment: &'a Segment,
    query: &'a [u8],
    ef: usize,
    seen: Vec<u64>,
    compared: usize,
    /// Nodes whose links are yet to be followed, the nearest on top.
    ahead: BinaryHeap<Node>,
    /// The nearest admitted nodes, the farthest on top.
    found: BinaryHeap<Reverse<Node>>,
}

impl Walk<'_> {
    fn visit(&mut self, ordinal: usize, admit: &impl Fn(usize) -> bool) -> Result<()> {
        let bit = 1 << (ordinal % 64);
        match self.seen.get_mut(ordinal / 64) {
            Some(word) if *word & bit == 0 => *word |= bit,
            _ => return Ok(()),
        }
        self.compared += 1;
        let scale = self.segment.scale(ordinal)?;
        let product = inner_product(self.query, self.segment.codes(ordinal, 1)?);
        let node = Node::new(product as f32 * scale, ordinal);
        if self.is_done(node) {
            return Ok(());
        }
        self.ahead.push(node);
        if admit(ordinal) {
            self.found.push(Reverse(node));
            if self.found.len() > self.ef {
                self.found.pop();
            }
        }
        Ok(())
    }

    /// True if a node is farther than all that will be returned.
    fn is_done(&self, node: Node) -> bool {
        self.found.len() >= self.ef && self.found.peek().is_some_and(|&Reverse(worst)| node < worst)
    }
}

/// A score and an ordinal in one integer that orders by score, then by lower ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Node(u64);

impl Node {
    #[expect(clippy::cast_possible_truncation, reason = "ordinals have 32 bits")]
    fn new(score: f32, ordinal: usize) -> Self {
        let bits = score.to_bits();
        let sortable = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        Self(u64::from(sortable) << 32 | u64::from(!(ordinal as u32)))
    }

    #[expect(clippy::cast_possible_truncation, reason = "takes the halves apart")]
    fn ordinal(self) -> usize {
        !(self.0 as u32) as usize
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_node_is_reached(
            mut links in prop::collection::vec(prop::collection::vec(0..40_u32, 0..2), 40)
        ) {
            connect(&mut links);
            let mut reached: BTreeSet<usize> = starts(40).collect();
            for _ in 0..40 {
                let next: Vec<usize> =
                    reached.iter().flat_map(|&node| &links[node]).map(|&link| link as usize).collect();
                reached.extend(next);
            }
            prop_assert_eq!(reached.len(), 40);
        }

        #[test]
        fn nodes_order_by_score_then_ordinal(
            a in (-2.0..2.0_f32, 0..5_usize), b in (-2.0..2.0_f32, 0..5_usize), same in any::<bool>()
        ) {
            let b = if same { (a.0, b.1) } else { b };
            let (x, y) = (Node::new(a.0, a.1), Node::new(b.0, b.1));
            prop_assert_eq!(x.cmp(&y), a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            prop_assert_eq!(x.ordinal(), a.1);
        }
    }
}
