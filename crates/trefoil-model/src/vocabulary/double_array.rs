//! A trie of byte strings as one array of nodes, which is read where it lies.
//!
//! Of a node `n`, the child by the byte `b` is `base(n) ^ b`, if its parent is `n`. The child by 0
//! says what the string that ends in `n` stands for: its base is the value. Source: Aoe, An
//! Efficient Digital Search Algorithm by Using a Double-Array Structure, 1989; the exclusive or is
//! of Yata's darts-clone.

use std::collections::BTreeMap;

/// Bytes of a node: its base and its parent, u32 each, little endian.
pub(crate) const NODE: usize = 8;
/// The parent of a place that is no node, and of the root.
const NONE: u32 = u32::MAX;

/// A trie in the bytes of its nodes. Bytes that are none find too little, and do nothing worse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoubleArray<'a>(pub(crate) &'a [u8]);

/// A place in a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node(u32);

impl DoubleArray<'_> {
    pub(crate) const ROOT: Node = Node(0);

    /// The place after one more byte; none if no string goes on so.
    #[inline]
    pub(crate) fn step(self, node: Node, byte: u8) -> Option<Node> {
        let (base, _) = self.node(node.0)?;
        let child = base ^ u32::from(byte);
        let (_, parent) = self.node(child)?;
        (parent == node.0).then_some(Node(child))
    }

    /// The place after these bytes.
    pub(crate) fn walk(self, node: Node, bytes: &[u8]) -> Option<Node> {
        bytes.iter().try_fold(node, |node, &byte| self.step(node, byte))
    }

    /// What the string that ends here stands for.
    #[inline]
    pub(crate) fn value(self, node: Node) -> Option<u32> {
        self.node(self.step(node, 0)?.0).map(|(value, _)| value)
    }

    /// The strings from `node` that `bytes` begin with, shortest first: their lengths and values.
    pub(crate) fn prefixes(
        self,
        mut node: Node,
        bytes: &[u8],
    ) -> impl Iterator<Item = (usize, u32)> {
        (1..)
            .zip(bytes)
            .map_while(move |(length, &byte)| {
                node = self.step(node, byte)?;
                Some((length, self.value(node)))
            })
            .filter_map(|(length, value)| Some((length, value?)))
    }

    /// Base and parent.
    #[inline]
    fn node(self, index: u32) -> Option<(u32, u32)> {
        let at = usize::try_from(index).ok()?.checked_mul(NODE)?;
        let (base, parent) = self.0.get(at..)?.first_chunk::<NODE>()?.split_first_chunk::<4>()?;
        Some((u32::from_le_bytes(*base), u32::from_le_bytes(*parent.first_chunk::<4>()?)))
    }
}

/// The nodes of a trie of `strings` and what they stand for. None if a string holds the byte 0 or
/// there are too many.
pub(crate) fn build(strings: &BTreeMap<&[u8], u32>) -> Option<Vec<u8>> {
    if strings.keys().any(|string| string.contains(&0)) {
        return None;
    }
    let strings: Vec<(&[u8], u32)> =
        strings.iter().map(|(string, value)| (*string, *value)).collect();
    let mut builder = Builder::default();
    builder.use_place(0, NONE);
    // Strings from `start` to `end` begin with the same `depth` bytes, which lead to `node`.
    let mut open = vec![(0_usize, 0_usize, strings.len(), 0_usize)];
    while let Some((node, start, end, depth)) = open.pop() {
        let group = strings.get(start..end)?;
        let mut children: Vec<(u8, usize, usize)> = Vec::new();
        for (place, (string, _)) in (start..).zip(group) {
            let label = string.get(depth).copied().unwrap_or(0);
            match children.last_mut() {
                Some((last, _, end)) if *last == label => *end = place + 1,
                _ => children.push((label, place, place + 1)),
            }
        }
        let base = builder.free_base(&children);
        builder.set_base(node, u32::try_from(base).ok()?);
        for &(label, ..) in &children {
            builder.use_place(base ^ usize::from(label), u32::try_from(node).ok()?);
        }
        for (label, start, end) in children {
            let child = base ^ usize::from(label);
            match label {
                0 => builder.set_base(child, strings.get(start)?.1),
                _ => open.push((child, start, end, depth + 1)),
            }
        }
    }
    let bytes = |&(base, parent): &(u32, u32)| [base.to_le_bytes(), parent.to_le_bytes()].concat();
    Some(builder.nodes.iter().flat_map(bytes).collect())
}

#[derive(Default)]
struct Builder {
    nodes: Vec<(u32, u32)>,
    used: Vec<bool>,
    /// Where the search for free places starts: what is before is nearly full.
    from: usize,
}

impl Builder {
    /// A base with which the places of all children are free.
    fn free_base(&mut self, children: &[(u8, usize, usize)]) -> usize {
        let first = children.first().map_or(0, |child| usize::from(child.0));
        let is_free = |place: usize| !self.used.get(place).copied().unwrap_or(false);
        let mut full = 0;
        let mut place = self.from;
        loop {
            if is_free(place) {
                let base = place ^ first;
                if children.iter().all(|child| is_free(base ^ usize::from(child.0))) {
                    break;
                }
            } else {
                full += 1;
            }
            place += 1;
        }
        if full * 20 >= (place - self.from + 1) * 19 {
            self.from = place;
        }
        place ^ first
    }

    fn use_place(&mut self, place: usize, parent: u32) {
        if place >= self.nodes.len() {
            // Whole blocks: a child is in the block of its base.
            let length = (place | 255) + 1;
            self.nodes.resize(length, (0, NONE));
            self.used.resize(length, false);
        }
        if let Some(node) = self.nodes.get_mut(place) {
            node.1 = parent;
        }
        if let Some(used) = self.used.get_mut(place) {
            *used = true;
        }
    }

    fn set_base(&mut self, place: usize, base: u32) {
        if let Some(node) = self.nodes.get_mut(place) {
            node.0 = base;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    fn prefixes(trie: &[u8], text: &str) -> Vec<(usize, u32)> {
        DoubleArray(trie).prefixes(DoubleArray::ROOT, text.as_bytes()).collect()
    }

    #[test]
    fn every_prefix_is_found_shortest_first() {
        let strings = ["東", "東京", "東京都", "t", "to"].map(str::as_bytes);
        let trie = build(&strings.into_iter().zip(7..).collect()).unwrap();
        assert_eq!(prefixes(&trie, "東京都庁"), [(3, 7), (6, 8), (9, 9)]);
        assert_eq!(prefixes(&trie, "tokyo"), [(1, 10), (2, 11)]);
        assert_eq!(prefixes(&trie, "京"), []);
        assert_eq!(prefixes(&trie, ""), []);
        let root = DoubleArray::ROOT;
        let node = DoubleArray(&trie).walk(root, "東京".as_bytes()).unwrap();
        assert_eq!(DoubleArray(&trie).value(node), Some(8));
        assert!(DoubleArray(&trie).walk(root, "都".as_bytes()).is_none());
        assert!(build(&BTreeMap::from([(&b"a\0"[..], 1)])).is_none());
    }

    proptest! {
        #[test]
        fn a_trie_finds_what_a_map_holds(
            strings in proptest::collection::btree_set("[a-cあ-え가]{1,6}", 0..200),
            text in "[a-cあ-え가]{0,12}",
        ) {
            let map: BTreeMap<&[u8], u32> = strings.iter().map(String::as_bytes).zip(0..).collect();
            let trie = build(&map).unwrap();
            let expected: Vec<(usize, u32)> = (1..=text.len())
                .filter_map(|end| Some((end, *map.get(text.as_bytes().get(..end)?)?)))
                .collect();
            prop_assert_eq!(prefixes(&trie, &text), expected);
        }

        #[test]
        fn any_bytes_may_be_read(bytes: Vec<u8>, text: String) {
            prefixes(&bytes, &text);
        }
    }
}
