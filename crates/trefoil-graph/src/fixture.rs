//! Graphs, and what they are made from, for tests.

use std::{borrow::Cow, sync::Arc};

use proptest::prelude::*;
use trefoil_core::{
    ByteSpan, EntityType, Extraction, Mention, MentionKind, Relation, RelationType, Result, RowId,
    Score,
};

use crate::{
    Csr, GraphConfig, GraphIndex,
    index::{
        frozen::Frozen,
        snapshot::{Snapshot, View},
    },
    random::Random,
    segment::{
        Segment,
        encode::{Source, encode},
        said::{self, Said},
    },
};

/// Groups of equal size; each pair of nodes is tied with one chance inside a group and
/// another between groups. `node % groups` is the group.
pub(crate) fn planted(nodes: u32, groups: u32, inside: f64, between: f64, seed: u64) -> Csr {
    let mut random = Random::new(seed);
    let mut edges = Vec::new();
    for a in 0..nodes {
        for b in 0..a {
            let chance = if a % groups == b % groups { inside } else { between };
            if random.unit() < chance {
                edges.push((a, b, 1.0));
            }
        }
    }
    Csr::from_edges(nodes, edges).unwrap()
}

/// Any small graph with weights, some of it in pieces.
pub(crate) fn graphs() -> impl Strategy<Value = Csr> {
    let edge = (0..40_u32, 0..40_u32, 0.05..3.0_f32);
    prop::collection::vec(edge, 0..120).prop_map(|edges| {
        Csr::from_edges(40, edges.into_iter().filter(|(a, b, _)| a != b)).unwrap()
    })
}

/// A row and what its chunk says: it mentions the names, and relates each to the next. A
/// name in capitals is another writing of the same; one after a `#` is the title.
pub(crate) fn chunk(row: u64, names: &str) -> (RowId, Extraction) {
    let mentions = names.split_whitespace().map(|name| {
        let (name, kind) = match name.strip_prefix('#') {
            Some(title) => (title, MentionKind::Title),
            None => (name, MentionKind::ProperNoun),
        };
        Mention {
            name: name.to_owned(),
            normalized_name: name.to_lowercase(),
            aliases: Vec::new(),
            entity_type: EntityType::NAME,
            kind,
            confidence: Score::clamped(0.75),
            spans: Vec::new(),
            target: None,
        }
    });
    let mentions: Vec<Mention> = mentions.collect();
    let relations = mentions.windows(2).map(|pair| Relation {
        source: pair[0].normalized_name.clone(),
        target: pair[1].normalized_name.clone(),
        relation_type: RelationType::CO_OCCURS,
        evidence: vec![ByteSpan { start: 0, end: 9 }],
    });
    let relations = relations.collect();
    (RowId::new(row), Extraction::new(mentions).with_relations(relations))
}

/// Names for a [`chunk`].
pub(crate) fn names() -> impl Strategy<Value = String> {
    let name =
        prop::sample::select(vec!["Ada", "ADA", "#Ada", "Babbage", "Engine", "서울", "東京"]);
    prop::collection::vec(name, 0..5).prop_map(|names| names.join(" "))
}

/// An index of names with aliases, however short they are, each mentioned by a chunk of its own,
/// in so many segments.
pub(crate) fn named(names: &[(String, Vec<String>)], segments: usize) -> GraphIndex {
    let views = (0..segments).map(|nth| {
        let names = names.iter().skip(nth).step_by(segments).cloned().collect();
        View::of(Segment::in_memory(encode(&[&Named(names, nth)]).unwrap()).unwrap())
    });
    let snapshot = Snapshot { views: views.collect(), ..Snapshot::default() };
    let config = GraphConfig::default();
    let frozen = Frozen::of(&snapshot, &config).unwrap();
    GraphIndex::new(Arc::new(snapshot), Arc::new(frozen), &config)
}

struct Named(Vec<(String, Vec<String>)>, usize);

impl Named {
    /// All texts: the label, then the names and aliases.
    fn texts(&self) -> Vec<&str> {
        let names = self.0.iter().flat_map(|(name, aliases)| [name].into_iter().chain(aliases));
        ["NAME"].into_iter().chain(names.map(String::as_str)).collect()
    }
}

impl Source for Named {
    fn text_count(&self) -> usize {
        self.texts().len()
    }

    fn text(&self, text: u32) -> Result<&str> {
        Ok(self.texts()[text as usize])
    }

    fn chunks(&self) -> Result<Vec<(RowId, u32)>> {
        Ok((0..self.0.len() as u64)
            .zip(0..)
            .map(|(row, chunk)| (RowId::new(row * 8 + self.1 as u64), chunk))
            .collect())
    }

    fn tie(&self, chunk: u32) -> Result<u64> {
        Ok(u64::from(chunk))
    }

    fn said(&self, chunk: u32) -> Result<Cow<'_, Said>> {
        let before = self.0.iter().take(chunk as usize).map(|(_, aliases)| 1 + aliases.len());
        let key = u32::try_from(1 + before.sum::<usize>()).unwrap();
        let aliases = u32::try_from(self.0[chunk as usize].1.len()).unwrap();
        let mention = said::Named {
            key,
            name: key,
            label: 0,
            confidence: 0.75,
            is_title: false,
            is_above: false,
            aliases: (key + 1..=key + aliases).collect(),
        };
        Ok(Cow::Owned(Said { mentions: vec![mention], relations: Vec::new() }))
    }
}
