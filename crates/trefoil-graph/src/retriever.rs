use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

use trefoil_core::{
    After, Allowed, Hit, IndexInput, KnownName, ManifestHeader, NameLookup, Question, RankedList,
    Result, Retriever, RetrieverId, RowId, Score, SeedContext, Seq,
};

use crate::{
    GraphConfig, GraphIndex, Node,
    index::{
        frozen::{Frozen, FrozenAt},
        frozen_file,
        manifest::Manifest,
        snapshot::Snapshot,
    },
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

/// The rank whose distance from the first says how sure the best step is.
const TENTH: usize = 9;
/// The margin of the usual question that a corpus answers (decision 023).
const USUAL: f32 = 0.5;

/// A question makes a new frozen form where the last is more than one in so many chunks behind.
const LAG_OF_QUESTIONS: u64 = 2;
/// The graph of fewer chunks is never behind: it is frozen in less time than is worth saving.
const SMALL: usize = 1_000;

/// The read half of the graph retriever, as of one commit: finds the entities that a question
/// names, and ranks the chunks that a walk from them is met at.
#[derive(Clone, Debug)]
pub struct GraphRetriever {
    dir: PathBuf,
    config: GraphConfig,
    normalize: Normalize,
    header: Option<ManifestHeader>,
    /// The commit, with the best frozen form so far.
    current: Arc<RwLock<Arc<GraphIndex>>>,
    /// The form that was made or read last, for whatever commit; locked while one is.
    last: Arc<Mutex<Arc<Frozen>>>,
}

impl GraphRetriever {
    /// At rest, the frozen form is at most one in so many chunks behind.
    pub const LAG: u64 = 20;
    /// The same while documents come in, so that all freezes of an ingest cost about four times
    /// what the last one costs.
    pub const LAG_WHILE_WRITTEN: u64 = 4;

    /// Opens the newest commit in `dir`. Without one, the graph is empty and at [`Seq::ZERO`].
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if it is damaged or an older version wrote it,
    /// [`UnsupportedFormat`](trefoil_core::Error::UnsupportedFormat),
    /// [`InvalidConfig`](trefoil_core::Error::InvalidConfig), [`Io`](trefoil_core::Error::Io).
    pub fn open(dir: &Path, config: &GraphConfig, normalize: Normalize) -> Result<Self> {
        let frozen = Arc::new(Frozen::empty(config)?);
        let (header, snapshot) = newest(dir, &Snapshot::default())?;
        let index = GraphIndex::new(Arc::new(snapshot), Arc::clone(&frozen), config);
        Ok(Self {
            dir: dir.to_owned(),
            config: config.clone(),
            normalize,
            header,
            current: Arc::new(RwLock::new(Arc::new(index))),
            last: Arc::new(Mutex::new(frozen)),
        })
    }

    /// The same as of the newest commit; none if that is this one.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if this one was found to be damaged.
    pub fn newest(&self) -> Result<Option<Self>> {
        let index = self.index();
        if self.header.is_some() && Manifest::read_header(&self.dir)? == self.header {
            index.check()?;
            return Ok(None);
        }
        let (header, snapshot) = newest(&self.dir, index.snapshot())?;
        if header == self.header {
            return Ok(None);
        }
        let index = self.with(&Arc::new(snapshot), Arc::clone(index.frozen()));
        let current = Arc::new(RwLock::new(Arc::new(index)));
        Ok(Some(Self { header, current, ..self.clone() }))
    }

    /// The graph of the commit. Its frozen form may be any number of changes behind: ask this of
    /// entities and chunks.
    pub fn index(&self) -> Arc<GraphIndex> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The same with a frozen form for walks, paths and communities, which may be half of the
    /// chunks behind while documents come in. Where there is none, it is made.
    ///
    /// # Errors
    /// [`Corrupt`](trefoil_core::Error::Corrupt) if what it is made from is damaged.
    pub fn near(&self) -> Result<Arc<GraphIndex>> {
        self.frozen_until(is_near)
    }

    /// The same with a frozen form that is not behind.
    ///
    /// # Errors
    /// As [`near`](Self::near).
    pub fn whole(&self) -> Result<Arc<GraphIndex>> {
        self.frozen_until(|index| index.lag() == 0)
    }

    /// Freezes the graph where the form on disk is more than one in `lag` chunks behind, or, at
    /// [`LAG`](Self::LAG), the index is small, and keeps the new one there. The state of the form
    /// that is kept. For the one process that writes.
    ///
    /// # Errors
    /// As [`near`](Self::near), and [`Io`](trefoil_core::Error::Io).
    pub fn freeze(&self, lag: u64) -> Result<FrozenAt> {
        let index = self.index();
        if let Some(kept) = frozen_file::frozen_at(&self.dir, &self.config)
            && is_few(index.changes().between(kept.changes), index.chunk_count(), lag)
        {
            return Ok(kept);
        }
        let index = self.whole()?;
        let at = index.frozen_at();
        if self.header.is_none() {
            return Ok(at);
        }
        frozen_file::write(&self.dir, index.frozen(), &self.config)?;
        // What went meanwhile may be meant to be erased, names included.
        let now = Manifest::read(&self.dir)?.map(|(_, manifest)| manifest.changes);
        if now.is_none_or(|now| now.removed != at.changes.removed) {
            frozen_file::remove(&self.dir)?;
        }
        Ok(at)
    }

    /// How many chunks came or went since the graph was frozen that walks, paths and communities
    /// would be of now: the form in use or the one on disk.
    pub fn lag(&self) -> u64 {
        let index = self.index();
        let kept = frozen_file::frozen_at(&self.dir, &self.config);
        let lag = index.lag();
        kept.map_or(lag, |kept| index.changes().between(kept.changes).min(lag))
    }

    /// The numbers of the entities that a text names, each once, from left to right, in
    /// [`index`](Self::index).
    pub fn link(&self, text: &str) -> Vec<Node> {
        self.linked(&self.index(), text)
    }

    /// The same in an index that is this retriever's.
    pub fn linked(&self, index: &GraphIndex, text: &str) -> Vec<Node> {
        let mut nodes = Vec::new();
        for (_, entity) in index.link(&(self.normalize)(text)) {
            if !nodes.contains(&entity.node) {
                nodes.push(entity.node);
            }
        }
        nodes
    }

    /// The index with a frozen form that is good enough: the one in use, the last one, the one on
    /// disk, or a new one.
    fn frozen_until(&self, is_enough: impl Fn(&GraphIndex) -> bool) -> Result<Arc<GraphIndex>> {
        let index = self.index();
        if is_enough(&index) {
            return Ok(index);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = || frozen_file::read(&self.dir, &self.config).map(Arc::new);
        let forms = std::iter::once(Arc::clone(&last)).chain(std::iter::once_with(kept).flatten());
        for form in forms {
            let index = self.with(index.snapshot(), form);
            if is_enough(&index) {
                *last = Arc::clone(index.frozen());
                return Ok(self.show(index));
            }
        }
        *last = Arc::new(Frozen::of(index.snapshot(), &self.config)?);
        Ok(self.show(self.with(index.snapshot(), Arc::clone(&last))))
    }

    fn with(&self, snapshot: &Arc<Snapshot>, frozen: Arc<Frozen>) -> GraphIndex {
        GraphIndex::new(Arc::clone(snapshot), frozen, &self.config)
    }

    fn show(&self, index: GraphIndex) -> Arc<GraphIndex> {
        let index = Arc::new(index);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&index);
        index
    }
}

impl Retriever for GraphRetriever {
    fn id(&self) -> RetrieverId {
        RetrieverId::GRAPH
    }

    /// Ranks by personalised PageRank from the entities that the question names, each as
    /// strongly as it is specific, in a graph that may be some changes behind
    /// ([`near`](GraphRetriever::near)). A question that names none has no hits.
    ///
    /// The relevance is .6 · the share of the named entities that the chunk mentions, by
    /// specificity, and .4 · its score ÷ the best. The confidence is the chance that one of the
    /// entities tells something: 1 − Π (1 − specificity).
    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let index = self.near()?;
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
        let list = RankedList::new(RetrieverId::GRAPH, hits.collect());
        index.check()?;
        Ok(list.with_confidence(1.0 - doubt))
    }

    fn after(&self) -> After {
        After::Others
    }

    /// Ranks by one step from the two best passages that the others found ([`GraphIndex::step`]).
    ///
    /// The relevance of what a step leads to is that of the passage that it comes from, times
    /// how well it fits it. The confidence says how surely the two lead on.
    fn expand(&self, context: &SeedContext<'_>) -> Result<RankedList> {
        let SeedContext { depth, allowed, seeds, coverage, .. } = *context;
        let index = self.index();
        let passages: Vec<(RowId, f32)> =
            seeds.iter().take(PASSAGES).map(|one| (one.row, one.combined.get())).collect();
        let steps = index.step(&passages, coverage, allowed, depth)?;
        let led: Vec<f32> =
            steps.iter().filter(|one| one.row != one.from).map(|one| one.score).collect();
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
        let list = RankedList::new(RetrieverId::GRAPH, hits.collect());
        index.check()?;
        Ok(list.with_floor(0.0).with_confidence(sureness(&led)))
    }

    fn mention_strength(&self, from: RowId, to: RowId) -> f32 {
        self.index().names(from, to)
    }

    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(Self::newest(self)?.map(|newest| Arc::new(newest) as _))
    }

    fn seq(&self) -> Seq {
        self.index().snapshot().manifest.seq
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Extraction]
    }

    fn rows(&self) -> u64 {
        self.index().chunk_count() as u64
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

/// How surely steps lead on, by their scores, best first: 0 not at all, 1 as surely as usual.
///
/// (first − tenth)/first, as a multiple of what is usual. The second half of an answer stands out, for
/// little else shares a rare name with the first half and adds to the question; where sections of
/// one page name the same things, each leads to all the others.
fn sureness(scores: &[f32]) -> f32 {
    let at = |rank: usize| scores.get(rank).copied().unwrap_or_default();
    let first = at(0);
    if first > 0.0 { (first - at(TENTH)) / first / USUAL } else { 0.0 }
}

/// The newest commit in `dir`, taking from an earlier state what is the same.
fn newest(dir: &Path, earlier: &Snapshot) -> Result<(Option<ManifestHeader>, Snapshot)> {
    loop {
        let Some((header, manifest)) = Manifest::read(dir)? else {
            return Ok((None, Snapshot::default()));
        };
        let opened = Snapshot::open(dir, manifest, Some(earlier));
        // A commit in between may have removed files before they were mapped.
        if opened.is_ok() || Manifest::read_header(dir)?.as_ref() == Some(&header) {
            return Ok((Some(header), opened?));
        }
    }
}

/// True if the frozen form is near enough for walks, paths and communities.
fn is_near(index: &GraphIndex) -> bool {
    let is_large = index.chunk_count() >= SMALL;
    index.lag() == 0 || (is_large && is_few(index.lag(), index.chunk_count(), LAG_OF_QUESTIONS))
}

/// True if at most one in `lag` chunks came or went; at the usual lag, none of a small index.
fn is_few(changes: u64, chunks: usize, lag: u64) -> bool {
    let may_lag = chunks >= SMALL || lag < GraphRetriever::LAG;
    changes == 0 || (may_lag && changes.saturating_mul(lag) <= chunks as u64)
}
