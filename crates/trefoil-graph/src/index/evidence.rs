use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use trefoil_core::{Extraction, Mention, MentionKind, Result, RowId};

use crate::segment::{
    encode::Source,
    said::{Named, Related, Said, Text},
};

/// What chunks say of entities, chunk by chunk, before it is in a segment.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    texts: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, Text>,
    /// With what orders each chunk among equals.
    chunks: BTreeMap<RowId, (u64, Said)>,
}

/// The same in the form of a source of a segment.
#[derive(Debug)]
pub(crate) struct Added<'e> {
    texts: &'e [Arc<str>],
    chunks: Vec<(RowId, u64, &'e Said)>,
}

impl Evidence {
    /// Sets what a chunk says; nothing is said by a chunk that mentions nothing.
    pub(crate) fn put(&mut self, row: RowId, tie: u64, extraction: &Extraction) {
        if extraction.mentions().is_empty() {
            self.remove(row);
            return;
        }
        let mentions: Vec<Named> =
            extraction.mentions().iter().map(|mention| self.named(mention)).collect();
        let mut relations = Vec::with_capacity(extraction.relations().len());
        for relation in extraction.relations() {
            let related = Related {
                source: self.number(&relation.source),
                target: self.number(&relation.target),
                label: self.number(relation.relation_type.as_str()),
            };
            // An extraction relates what it mentions.
            let is_mentioned = |end| mentions.iter().any(|mention| mention.key == end);
            if is_mentioned(related.source) && is_mentioned(related.target) {
                relations.push(related);
            }
        }
        self.chunks.insert(row, (tie, Said { mentions, relations }));
    }

    /// Forgets what a chunk said.
    pub(crate) fn remove(&mut self, row: RowId) {
        self.chunks.remove(&row);
    }

    /// How many chunks say something.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// All of it.
    pub(crate) fn added(&self) -> Added<'_> {
        let chunks = self.chunks.iter().map(|(&row, (tie, said))| (row, *tie, said));
        Added { texts: &self.texts, chunks: chunks.collect() }
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

impl FromIterator<(RowId, Extraction)> for Evidence {
    /// Equals are in the order of their rows.
    fn from_iter<I: IntoIterator<Item = (RowId, Extraction)>>(chunks: I) -> Self {
        let mut evidence = Self::default();
        for (row, extraction) in chunks {
            evidence.put(row, row.get(), &extraction);
        }
        evidence
    }
}

impl Source for Added<'_> {
    fn text_count(&self) -> usize {
        self.texts.len()
    }

    fn text(&self, text: Text) -> Result<&str> {
        Ok(self.texts.get(text as usize).map_or("", |text| text))
    }

    fn chunks(&self) -> Result<Vec<(RowId, u32)>> {
        Ok(self.chunks.iter().zip(0..).map(|(&(row, ..), chunk)| (row, chunk)).collect())
    }

    fn tie(&self, chunk: u32) -> Result<u64> {
        Ok(self.chunks.get(chunk as usize).map_or(0, |&(_, tie, _)| tie))
    }

    fn said(&self, chunk: u32) -> Result<Cow<'_, Said>> {
        let said = self.chunks.get(chunk as usize).map(|&(.., said)| Cow::Borrowed(said));
        Ok(said.unwrap_or_default())
    }
}
