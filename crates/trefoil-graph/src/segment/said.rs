//! What a chunk says, in numbers.

/// What a mention that is the title of its document weighs; any other weighs its confidence.
pub(crate) const TITLE: f32 = 2.0;

/// Number of a text in a list of texts.
pub(crate) type Text = u32;

/// What one chunk says. What the numbers mean depends on where it is from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) mentions: Vec<Named>,
    pub(crate) relations: Vec<Related>,
}

/// An entity that a chunk names.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Named {
    /// Its normalised name.
    pub(crate) key: u32,
    /// As the chunk writes it.
    pub(crate) name: Text,
    /// Its type.
    pub(crate) label: u32,
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
    pub(crate) source: u32,
    /// Normalised name of the other.
    pub(crate) target: u32,
    /// The type of the relation.
    pub(crate) label: u32,
}

impl Named {
    /// What the mention weighs.
    pub(crate) const fn strength(&self) -> f32 {
        if self.is_title { TITLE } else { self.confidence }
    }
}

impl Said {
    /// The same with every number replaced: keys, texts and labels of entities, labels of
    /// relations.
    pub(crate) fn renumbered<E>(
        &self,
        key: impl Fn(u32) -> Result<Text, E>,
        text: impl Fn(Text) -> Result<Text, E>,
        entity_label: impl Fn(u32) -> Result<Text, E>,
        relation_label: impl Fn(u32) -> Result<Text, E>,
    ) -> Result<Self, E> {
        let mentions = self.mentions.iter().map(|mention| {
            Ok(Named {
                key: key(mention.key)?,
                name: text(mention.name)?,
                label: entity_label(mention.label)?,
                aliases: mention
                    .aliases
                    .iter()
                    .map(|&alias| text(alias))
                    .collect::<Result<_, E>>()?,
                ..*mention
            })
        });
        let relations = self.relations.iter().map(|relation| {
            Ok(Related {
                source: key(relation.source)?,
                target: key(relation.target)?,
                label: relation_label(relation.label)?,
            })
        });
        Ok(Self {
            mentions: mentions.collect::<Result<_, E>>()?,
            relations: relations.collect::<Result<_, E>>()?,
        })
    }

    /// Tells every number that is a text, where all are.
    pub(crate) fn each_text(&self, sink: &mut dyn FnMut(Text)) {
        for mention in &self.mentions {
            [mention.key, mention.name, mention.label].into_iter().for_each(&mut *sink);
            mention.aliases.iter().copied().for_each(&mut *sink);
        }
        for relation in &self.relations {
            [relation.source, relation.target, relation.label].into_iter().for_each(&mut *sink);
        }
    }
}
