use std::{fmt, path::Path, sync::Arc};

use tantivy::Searcher;
use trefoil_core::{
    Allowed, Analyzer, Hit, IndexInput, Language, QueryRewrite, Question, RankedList, Result,
    Retriever, RetrieverId, RowSet, Score, Seq, TermCoverage,
};

use crate::{
    KeywordConfig,
    candidates::candidates,
    confidence::confidence,
    held::term_coverage,
    index::{Commit, KeywordIndex},
    query::QueryTerms,
    rescore::{FieldQuery, Rescorer, Scored},
    segment::Segment,
    vocabulary::near,
};

/// How many candidates are scored in full, whatever the depth asked for: what stands
/// at this rank counts as nothing in fusion.
const CANDIDATES: usize = 200;

/// The rank whose distance from the first says how sure the list is.
const TENTH: usize = 9;

/// The read half of the keyword retriever: one commit of its index.
#[derive(Clone)]
pub struct KeywordRetriever {
    index: KeywordIndex,
    config: KeywordConfig,
    pub(crate) snapshot: Arc<Snapshot>,
}

/// One commit: its documents and the change that it reaches.
pub(crate) struct Snapshot {
    pub(crate) searcher: Searcher,
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) commit: Commit,
}

impl KeywordRetriever {
    /// Opens the index in `dir` to read it, while a writer in this or another process is at work
    /// or on read-only media. Of its files the ends are read; each block is checked before a
    /// question reads it, which fails with [`Error::Corrupt`](trefoil_core::Error::Corrupt) if it is damaged.
    ///
    /// # Errors
    /// [`Error::IndexMissing`](trefoil_core::Error::IndexMissing) if nothing was ever committed there,
    /// [`Error::Corrupt`](trefoil_core::Error::Corrupt) if a file is cut off, or the index was built by another version or
    /// with another analyser.
    pub fn open(dir: &Path, analyzer: Arc<dyn Analyzer>, config: &KeywordConfig) -> Result<Self> {
        config.validate()?;
        Self::over(KeywordIndex::open(dir, analyzer)?, config)
    }

    pub(crate) fn over(index: KeywordIndex, config: &KeywordConfig) -> Result<Self> {
        let snapshot = Arc::new(Snapshot::newest(&index, &[])?);
        Ok(Self { index, config: *config, snapshot })
    }

    /// The same index as of its newest commit; none if that is this one.
    ///
    /// # Errors
    /// The commit cannot be read.
    pub fn newest(&self) -> Result<Option<Self>> {
        if self.index.last_commit()? == self.snapshot.commit {
            return Ok(None);
        }
        let snapshot = Arc::new(Snapshot::newest(&self.index, &self.snapshot.segments)?);
        Ok(Some(Self { snapshot, ..self.clone() }))
    }

    /// The fields that count, as a question reads them.
    pub(crate) fn rescorer<'q>(
        &self,
        segments: &[Arc<Segment>],
        query: &'q QueryTerms,
    ) -> Result<Rescorer<'q>> {
        let Self { index, config, .. } = self;
        let passage = FieldQuery::new(segments, index.fields.passage, query, config.body_boost)?;
        let mut others = Vec::new();
        for (field, boost) in [
            (index.fields.title, config.title_boost),
            (index.fields.headings, config.heading_boost),
        ] {
            if boost > 0.0 {
                others.push(FieldQuery::new(segments, field, query, boost)?);
            }
        }
        Ok(Rescorer::new(query, passage, others, config.phrase_boost))
    }

    fn search(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        let Self { index, snapshot, .. } = self;
        let segments = &snapshot.segments;

        let mut query = QueryTerms::analyze(index.analyzer.as_ref(), question);
        match &question.rewrite {
            QueryRewrite::None => {}
            QueryRewrite::Expanded(terms) => query.expand(terms),
            QueryRewrite::Fuzzy => {
                query.loosen(|term| near(segments, index.fields.passage, term))?;
            }
        }
        let rescorer = self.rescorer(segments, &query)?;
        let found = candidates(snapshot, &rescorer, allowed, depth.max(CANDIDATES))?;
        let scored = rescorer.score(segments, found)?;
        let is_quoted = scored.iter().any(|scored| scored.literal);
        let list = ranked(scored, rescorer.information(), allowed).truncated(depth);
        // With documents in another language, a question shares what is written alike in both: names
        // and code. In a Japanese or Korean question they are meant, and the rest of it counts as
        // unknown. An English one shares its ordinary words with them by chance.
        let is_chance = question.cross_lingual && question.language == Language::En && !is_quoted;
        Ok(if is_chance { list.with_confidence(0.0) } else { list })
    }
}

impl Retriever for KeywordRetriever {
    fn id(&self) -> RetrieverId {
        RetrieverId::KEYWORD
    }

    fn retrieve(&self, question: &Question, depth: usize, allowed: &Allowed) -> Result<RankedList> {
        self.index.note_damage(self.search(question, depth, allowed))
    }

    fn rewrites(&self) -> bool {
        true
    }

    /// The terms that count and that the index knows, the most informative first.
    fn term_coverage(&self, question: &Question, rows: &RowSet) -> Result<TermCoverage> {
        let Self { index, snapshot, .. } = self;
        let query = QueryTerms::analyze(index.analyzer.as_ref(), question);
        term_coverage(&snapshot.segments, index.fields.passage, &query, rows)
    }

    fn newest(&self) -> Result<Option<Arc<dyn Retriever>>> {
        Ok(Self::newest(self)?.map(|newest| Arc::new(newest) as _))
    }

    fn seq(&self) -> Seq {
        self.snapshot.commit.seq
    }

    fn inputs(&self) -> &[IndexInput] {
        &[IndexInput::Text]
    }

    fn rows(&self) -> u64 {
        self.snapshot.searcher.num_docs()
    }
}

impl Snapshot {
    /// The last commit; what it shares with the segments `before` is not read again. Another
    /// process may commit between the two reads that this takes: then they are made again.
    pub(crate) fn newest(index: &KeywordIndex, before: &[Arc<Segment>]) -> Result<Self> {
        let mut commit = index.last_commit()?;
        let searcher = loop {
            let searcher = index.searcher()?;
            let now = index.last_commit()?;
            if now == commit {
                break searcher;
            }
            commit = now;
        };
        let segments = Segment::all(searcher.segment_readers(), index.fields, before);
        Ok(Self { searcher, segments, commit })
    }
}

impl fmt::Debug for KeywordRetriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordRetriever")
            .field("index", &self.index)
            .field("config", &self.config)
            .field("commit", &self.snapshot.commit)
            .finish_non_exhaustive()
    }
}

/// Scored passages as the retriever's answer. `information` is that of the whole question.
fn ranked(mut scored: Vec<Scored>, information: f32, allowed: &Allowed) -> RankedList {
    // Equals keep this order.
    scored.sort_unstable_by_key(|scored| (scored.tie_break, scored.row));
    let covered = |passage: f32| if information > 0.0 { passage / information } else { 0.0 };
    let hits = scored.iter().filter(|scored| allowed.contains(scored.row)).map(|scored| Hit {
        row: scored.row,
        raw_score: scored.ranking,
        relevance: if scored.literal {
            Score::ONE
        } else {
            Score::clamped(covered(scored.passage))
        },
    });
    let list = RankedList::new(RetrieverId::KEYWORD, hits.collect());
    // A rank that the list does not reach is that of a passage without any term.
    let at = |rank: usize| list.hits().get(rank).map_or(0.0, |hit| hit.raw_score);
    let coverage = covered(scored.iter().map(|scored| scored.passage).fold(0.0, f32::max));
    let (floor, confidence) = (at(CANDIDATES - 1), confidence(coverage, at(0), at(TENTH)));
    list.with_floor(floor).with_confidence(confidence)
}
