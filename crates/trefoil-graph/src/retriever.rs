use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use trefoil_core::{
    After, Allowed, Error, Hit, IndexInput, KnownName, NameLookup, Question, RankedList, Result,
    Retriever, RetrieverId, RowId, Score, SeedContext, Seq,
};

use crate::{
    GraphConfig, GraphIndex, Node,
    index::evidence::Packed,
    index::format::{self, Header},
};

/// Makes the key under which spellings of a name are one; the extractor's, for that made
/// the names of the graph.
pub type Normalize = fn(&str) -> String;

/// What a hit is worth for the entities of the question that it names, and for how near it
/// is to them.
const RELEVANCE: (f32, f32) = (0.6, 0.4);

/// Passages that a step is taken from: with one or three, Recall@5 of questions that need two
/// passages was up to .018 lower.
const PASSAGES: usize = 2;

/// The confidence in a step from passages that answer a question in another language than
/// theirs: at full confidence .01 nDCG@10 was lost with English questions on Japanese documents,
/// at .4 still .005 of their Recall@5; without the step .007 nDCG@10 was lost with Japanese
/// questions on English ones.
const CROSS_LINGUAL_DISCOUNT: f32 = 0.3;

/// The read half of the graph retriever, as of one commit: finds the entities that a question
/// names, and ranks the chunks that a walk from them is met at.
#[derive(Clone, Debug)]
pub struct GraphRetriever {
    dir: PathBuf,
    config: GraphConfig,
    normalize: Normalize,
    header: Option<Header>,
    index: Arc<GraphIndex>,
}

impl GraphRetriever {
    /// Opens the newest commit in `dir`. Without one, the graph is empty and at [`Seq::ZERO`].
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if it is damaged,
    /// [`UnsupportedFormat`](trefoil_core::Error::UnsupportedFormat),
    /// [`InvalidConfig`](trefoil_core::Error::InvalidConfig), [`Io`](trefoil_core::Error::Io).
    pub fn open(dir: &Path, config: &GraphConfig, normalize: Normalize) -> Result<Self> {
        let (header, index) = read(dir, config)?;
        Ok(Self { dir: dir.to_owned(), config: config.clone(), normalize, header, index })
    }

    /// The same as of the newest commit; none if that is this one.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn newest(&self) -> Result<Option<Self>> {
        if Header::read(&self.dir)? == self.header {
            return Ok(None);
        }
        let (header, index) = read(&self.dir, &self.config)?;
        Ok(Some(Self { header, index, ..self.clone() }))
    }

    /// The graph of the commit.
    pub fn index(&self) -> &Arc<GraphIndex> {
        &self.index
    }

    /// The numbers of the entities that a text names, each once, from left to right.
    pub fn link(&self, text: &str) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (_, entity) in self.index().link(&(self.normalize)(text)) {
            if !nodes.contains(&entity.node) {
                nodes.push(entity.node);
            }
        }
        nodes
    }
}

impl Retriever for GraphRetriever {
    fn id(&self) -> RetrieverId {
        RetrieverId::GRAPH
    }

    /// Ranks by personalised PageRank from the entities that the question names, each as
    /// strongly as it is specific. A question that names none has no hits.
    ///
    /// The relevance is .6 · the share of the named entities that the chunk mentions, by
    /// specificity, and .4 · its score ÷ the best. The confidence is the chance that one of the
    /// entities tells something: 1 − Π (1 − specificity).
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let index = self.index();
        let linked = index.link(&(self.normalize)(&question.text));
        let seeds: BTreeMap<Node, f32> =
            linked.iter().map(|(_, entity)| (entity.node, entity.specificity)).collect();
        let total: f32 = seeds.values().sum();
        let doubt: f32 = seeds.values().map(|specificity| 1.0 - specificity).product();
        let entities: Vec<(Node, f32)> =
            seeds.iter().map(|(&node, &weight)| (node, weight)).collect();
        let best = index.rank(&entities, &[], allowed, depth);
        let top = best.first().map_or(0.0, |&(_, score)| score);
        let hits = best.into_iter().map(|(row, score)| {
            let named = index.entities_of(row).filter_map(|entity| seeds.get(&entity.node));
            let named = named.sum::<f32>() / total;
            let relevance = Score::clamped(RELEVANCE.0 * named + RELEVANCE.1 * score / top);
            Hit { row, raw_score: score, relevance }
        });
        Ok(RankedList::new(RetrieverId::GRAPH, hits.collect()).with_confidence(1.0 - doubt))
    }

    fn after(&self) -> After {
        After::Others
    }

    /// Ranks by one step from the two best passages that the others found ([`GraphIndex::step`]).
    ///
    /// The relevance of what a step leads to is that of the passage that it comes from, times
    /// how well it fits it.
    fn expand(&self, context: &SeedContext<'_>) -> Result<RankedList> {
        let SeedContext { question, depth, allowed, seeds, coverage } = *context;
        let index = self.index();
        let passages: Vec<(RowId, f32)> =
            seeds.iter().take(PASSAGES).map(|one| (one.row, one.combined.get())).collect();
        let steps = index.step(&passages, coverage, allowed, depth)?;
        let relevance = |row: RowId| {
            let from = seeds.iter().find(|one| one.row == row);
            let hits = from.into_iter().flat_map(|one| &one.hits);
            hits.map(|hit| hit.relevance).max().unwrap_or_default()
        };
        let hits = steps.into_iter().map(|one| Hit {
            row: one.row,
            raw_score: one.score,
            relevance: Score::clamped(relevance(one.from).get() * one.fit.min(1.0)),
        });
        let confidence = if question.cross_lingual { CROSS_LINGUAL_DISCOUNT } else { 1.0 };
        let list = RankedList::new(RetrieverId::GRAPH, hits.collect());
        Ok(list.with_floor(0.0).with_confidence(confidence))
    }

    fn mention_strength(&self, from: RowId, to: RowId) -> f32 {
        self.index().names(from, to)
    }

    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(Self::newest(self)?.map(|newest| Arc::new(newest) as _))
    }

    fn seq(&self) -> Seq {
        self.header.map_or(Seq::ZERO, Header::seq)
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Extraction]
    }

    fn rows(&self) -> u64 {
        self.index.chunk_count() as u64
    }
}

/// Names are compared as they are written in a text in NFKC, lower case and single spaces:
/// articles and the like, which normalised names have not, stand before them.
impl NameLookup for GraphRetriever {
    fn names_at(&self, text: &str) -> Vec<KnownName> {
        let index = self.index();
        let known = index.starts(text).into_iter().map(|(len, entity)| {
            let spelling = text.get(..len).unwrap_or_default();
            let named = (entity.normalized_name != spelling).then_some(entity.name);
            let others = index.aliases(entity.node).filter(|&alias| alias != spelling);
            KnownName { len, aliases: named.into_iter().chain(others).map(str::to_owned).collect() }
        });
        known.collect()
    }
}

/// The last commit in `dir`, frozen.
fn read(dir: &Path, config: &GraphConfig) -> Result<(Option<Header>, Arc<GraphIndex>)> {
    let (header, packed) = match format::read(dir)? {
        Some((header, packed)) => (Some(header), packed),
        None => (None, Packed::default()),
    };
    let index = GraphIndex::freeze(packed, config).map_err(|error| {
        // Not by the settings: an entity or relation that cannot be.
        let is_damage = matches!(error, Error::InvalidLabel { .. } | Error::InvalidEdge { .. });
        if is_damage { format::damaged(dir, &error.to_string()) } else { error }
    })?;
    Ok((header, Arc::new(index)))
}
