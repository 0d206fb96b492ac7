use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use trefoil_core::{Extraction, Mention, MentionKind, RowId};

/// Number of a text in a list of texts.
pub(crate) type Text = u32;

/// What chunks say of entities, chunk by chunk: all that a graph is made from.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Text>,
    chunks: BTreeMap<RowId, Said>,
}

/// What one chunk says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) mentions: Vec<Named>,
    pub(crate) relations: Vec<Related>,
}

/// An entity that a chunk names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    /// Its normalised name.
    pub(crate) key: Text,
    /// As the chunk writes it.
    pub(crate) name: Text,
    /// Its type.
    pub(crate) label: Text,
    /// How sure the mention is.
    pub(crate) confidence: f32,
    /// Whether it is the title of the document.
    pub(crate) is_title: bool,
    /// Whether it only stands above the text, in the title or a heading.
    pub(crate) is_above: bool,
    /// Other normalised names.
    pub(crate) aliases: Vec<Text>,
}

/// Two entities that a chunk relates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Related {
    /// Normalised name of the one.
    pub(crate) source: Text,
    /// Normalised name of the other.
    pub(crate) target: Text,
    /// The type of the relation.
    pub(crate) label: Text,
}

/// The same in its one order: equal evidence is packed alike, however it came about.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Packed {
    /// Ascending, each once, all of them used.
    pub(crate) texts: Vec<Arc<str>>,
    /// Ascending by row; each says something.
    pub(crate) chunks: Vec<(RowId, Said)>,
}

impl Evidence {
    /// Sets what a chunk says; nothing is said by a chunk that mentions nothing.
    pub(crate) fn put(&mut self, row: RowId, extraction: &Extraction) {
        if extraction.mentions().is_empty() {
            self.remove(row);
            return;
        }
        let mentions = extraction.mentions().iter().map(|mention| self.named(mention)).collect();
        let relations = extraction.relations().iter().map(|relation| Related {
            source: self.number(&relation.source),
            target: self.number(&relation.target),
            label: self.number(relation.relation_type.as_str()),
        });
        let relations = relations.collect();
        self.chunks.insert(row, Said { mentions, relations });
    }

    /// Forgets what a chunk said.
    pub(crate) fn remove(&mut self, row: RowId) {
        self.chunks.remove(&row);
    }

    /// The evidence in order, without texts that nothing uses any more.
    pub(crate) fn pack(&self) -> Packed {
        let mut used: BTreeSet<(&str, Text)> = BTreeSet::new();
        let mut is_used = vec![false; self.texts.len()];
        for said in self.chunks.values() {
            said.each_text(&mut |text| {
                if let Some(is_used) = is_used.get_mut(text as usize) {
                    *is_used = true;
                }
            });
        }
        for ((text, number), is_used) in self.texts.iter().zip(0..).zip(is_used) {
            if is_used {
                used.insert((text, number));
            }
        }
        let mut place = vec![0; self.texts.len()];
        for (new, &(_, old)) in (0..).zip(&used) {
            if let Some(place) = place.get_mut(old as usize) {
                *place = new;
            }
        }
        let texts = used.iter().filter_map(|&(_, old)| self.texts.get(old as usize).cloned());
        let moved = |old: Text| place.get(old as usize).copied().unwrap_or(0);
        let chunks = self.chunks.iter().map(|(&row, said)| (row, said.renumbered(moved)));
        Packed { texts: texts.collect(), chunks: chunks.collect() }
    }

    /// Lets go of texts that nothing uses any more, when they are as many as those in use;
    /// `packed` is this evidence.
    pub(crate) fn thin_out(&mut self, packed: Packed) {
        if self.texts.len() > 2 * packed.texts.len() {
            *self = packed.into();
        }
    }

    fn named(&mut self, mention: &Mention) -> Named {
        Named {
            key: self.number(&mention.normalized_name),
            name: self.number(&mention.name),
            label: self.number(mention.entity_type.as_str()),
            confidence: mention.confidence.get(),
            is_title: mention.kind == MentionKind::Title,
            is_above: mention.spans.is_empty(),
            aliases: mention.aliases.iter().map(|alias| self.number(alias)).collect(),
        }
    }

    fn number(&mut self, text: &str) -> Text {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = Text::try_from(self.texts.len()).unwrap_or(Text::MAX);
        let text: Arc<str> = Arc::from(text);
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }
}

impl From<Packed> for Evidence {
    fn from(packed: Packed) -> Self {
        let numbers = packed.texts.iter().cloned().zip(0..).collect();
        Self { texts: packed.texts, numbers, chunks: packed.chunks.into_iter().collect() }
    }
}

impl FromIterator<(RowId, Extraction)> for Evidence {
    fn from_iter<I: IntoIterator<Item = (RowId, Extraction)>>(chunks: I) -> Self {
        let mut evidence = Self::default();
        for (row, extraction) in chunks {
            evidence.put(row, &extraction);
        }
        evidence
    }
}

impl Said {
    fn each_text(&self, sink: &mut dyn FnMut(Text)) {
        for mention in &self.mentions {
            [mention.key, mention.name, mention.label].into_iter().for_each(&mut *sink);
            mention.aliases.iter().copied().for_each(&mut *sink);
        }
        for relation in &self.relations {
            [relation.source, relation.target, relation.label].into_iter().for_each(&mut *sink);
        }
    }

    fn renumbered(&self, number: impl Fn(Text) -> Text) -> Self {
        let mentions = self.mentions.iter().map(|mention| Named {
            key: number(mention.key),
            name: number(mention.name),
            label: number(mention.label),
            aliases: mention.aliases.iter().map(|&alias| number(alias)).collect(),
            ..*mention
        });
        let relations = self.relations.iter().map(|relation| Related {
            source: number(relation.source),
            target: number(relation.target),
            label: number(relation.label),
        });
        Self { mentions: mentions.collect(), relations: relations.collect() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::fixture::{chunk, names};

    #[test]
    fn texts_that_nothing_uses_are_not_packed() {
        let mut evidence: Evidence =
            [chunk(1, "Ada Babbage"), chunk(2, "Ada Engine")].into_iter().collect();
        evidence.remove(RowId::new(1));
        let packed = evidence.pack();
        let texts: Vec<&str> = packed.texts.iter().map(|text| &**text).collect();
        assert_eq!(texts, ["Ada", "Engine", "NAME", "ada", "co_occurs", "engine"]);
        assert_eq!(packed, [chunk(2, "Ada Engine")].into_iter().collect::<Evidence>().pack());
    }

    #[test]
    fn texts_that_nothing_uses_do_not_pile_up() {
        let mut evidence = Evidence::default();
        for round in 0..100 {
            let (row, extraction) = chunk(1, &format!("Ada Babbage{round}"));
            evidence.put(row, &extraction);
            let packed = evidence.pack();
            let in_use = packed.texts.len();
            evidence.thin_out(packed);
            assert!(evidence.texts.len() <= 2 * in_use, "{}", evidence.texts.len());
            assert_eq!(
                evidence.pack(),
                [(row, extraction)].into_iter().collect::<Evidence>().pack()
            );
        }
    }

    proptest! {
        #[test]
        fn equal_evidence_is_packed_alike(
            steps in prop::collection::vec((0..6_u64, names()), 0..20),
            repack in any::<bool>(),
        ) {
            let (mut changed, mut last) = (Evidence::default(), BTreeMap::new());
            for (row, names) in steps {
                let (row, extraction) = chunk(row, &names);
                changed.put(row, &extraction);
                if repack {
                    changed = changed.pack().into();
                }
                last.insert(row, extraction);
            }
            let new: Evidence = last.into_iter().collect();
            prop_assert_eq!(changed.pack(), new.pack());
        }
    }
}
