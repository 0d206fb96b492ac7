//! The second collection: units of memory, for the layer that governs them.
//!
//! Everything but chunks: episodes, claims, facts, summaries and loops. `search` never sees
//! them. The rows are read and written through the store's transactions ([`MemoryRead`],
//! [`MemoryWrite`]); a unit that was written is found by its words at once, and by its meaning
//! when the worker has embedded it.
//!
//! Who may see what is the caller's to decide, before anything is ranked: [`UnitFilter`] says
//! it, and [`MemoryCollection::recall`] ranks nothing else. Secret units are in no index; the
//! few that a filter admits are read and compared with the question word by word.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
pub use trefoil_core::{
    AffectLabel, BoundaryClass, ClaimId, ClaimKind, ContextId, EpistemicStatus, EvidenceId,
    EvidenceMethod, FeedbackId, FeedbackSignal, Importance, LoopId, ObservationId, ObservationKind,
    Scope, Sensitivity, SessionId, SourceType, SummaryId, UnitKind, UnitState,
};
use trefoil_core::{
    Allowed, Deadline, Degraded, Embedding, Error, Hit, IndexInput, Language, Part, Question,
    Result, RetrieverId, Role, RowId, Score, Stage, TokenCounter,
};
use trefoil_store::JobCounts;
pub use trefoil_store::{
    Job,
    memory::{
        ActiveContextRow, Admitted, AffectRow, ClaimLink, ClaimPayload, ContextItemRow,
        EpisodePayload, Erased, ErasedUnits, EventRow, EvidenceRow, FeedbackRow, LinkRelation,
        LoopPayload, MemoryEdge, MemoryEntity, MemoryRead, MemoryUnit, MemoryWrite, PatchReason,
        Payload, PolicyRow, SessionRow, SessionScope, SummaryPayload, TellingMessage, Tombstone,
        UnitFilter, UnitRow, UnitVersion, UtilityStats,
    },
    memory_entity_id,
};
use trefoil_text::language_of;

use crate::{
    background::catch_panics,
    default_set::{retriever_fed_by, stage_fed_by},
    engine::Engine,
    index::{embedding::EMBEDDER, read_view::ReadView, tokens::asked_tokens},
    search::pool::join,
    state::State,
};
pub use crate::{config::MemoryUpkeep, task_runner::AskedWrite};

/// The memory of an engine.
#[derive(Clone, Copy, Debug)]
pub struct MemoryCollection<'e> {
    pub(crate) engine: &'e Engine,
}

/// How many units each side returns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecallDepth {
    /// Keyword hits.
    pub text: usize,
    /// Vector hits.
    pub vector: usize,
}

/// A hit of keyword or vector search in memory. How relevant it is, is the share of the question's
/// information that its words hold, or its cosine on the model's range; the score behind that is
/// BM25 with what is added for phrases, or the cosine.
pub type MemoryHit = Hit;

/// The hits of both sides, best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recalled {
    /// Keyword hits.
    pub by_text: Vec<MemoryHit>,
    /// Vector hits.
    pub by_vector: Vec<MemoryHit>,
    /// The vector of the question, to look further with; none without a model.
    pub asked: Option<Embedding>,
    /// Sides that could not be searched, or are behind.
    pub degraded: Vec<Degraded>,
}

impl Engine {
    /// The memory, next to the documents.
    pub const fn memory(&self) -> MemoryCollection<'_> {
        MemoryCollection { engine: self }
    }
}

impl<'e> MemoryCollection<'e> {
    /// What counts tokens as the embedder does; approximately, without a model.
    pub fn counter(self) -> &'e dyn TokenCounter {
        self.engine.state().counter.as_ref()
    }
}

impl MemoryCollection<'_> {
    /// Runs `work` on one snapshot of the rows.
    pub fn read<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryRead<'_>) -> Result<T>,
    ) -> Result<T> {
        self.state().store.memory_read(doing, work)
    }

    /// Runs `work` in one transaction and shows the indexes what it did. When this returns, it
    /// is durable; if it fails, nothing was written. It is found by its words at once, unless an
    /// index cannot be written: then searches name that index in `degraded`, and the next write
    /// or opening brings it up to date.
    ///
    /// # Errors
    /// Those of `work`, [`Error::ReadOnly`], or a full disk.
    pub fn write<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        let written = self.state().store.memory_write(doing, work)?;
        // What is written stays written, whatever becomes of the indexes.
        self.state().show_memory();
        self.engine.wake();
        Ok(written)
    }

    /// Runs `work` as [`write`](Self::write) does and undoes it: what it would have brought.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn rehearse<T>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        self.state().store.memory_rehearse(doing, work)
    }

    /// Does a write `here`, by [`write`](Self::write), or, where the store is shared and this node
    /// follows, has the node that leads do what is `asked`: a
    /// [`BackgroundTask`](crate::admin::BackgroundTask) there is given it. This engine shows at once
    /// what was written there.
    ///
    /// # Errors
    /// [`Error::Refused`] if the node that leads refused it, [`Error::InDoubt`] if none answers in
    /// time: it may have been written; and those of `here` and `asked`.
    pub fn write_or_ask<T: DeserializeOwned>(
        &self,
        here: impl FnOnce() -> Result<T>,
        asked: impl FnOnce() -> Result<Value>,
    ) -> Result<T> {
        let state = self.state();
        let written = state.write_memory(here, asked)?;
        state.show_answered()?;
        Ok(written)
    }

    /// Runs `work` as [`write`](Self::write) does, for a write that another node asks for: what it
    /// gives is what the other one is told, which is noted in the same transaction.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_for<T: Serialize>(
        &self,
        asked: &AskedWrite<'_>,
        doing: &'static str,
        work: impl FnOnce(&MemoryWrite<'_>) -> Result<T>,
    ) -> Result<T> {
        let written = self.state().store.serve_memory(asked.id, doing, work)?;
        self.state().show_memory();
        self.engine.wake();
        Ok(written)
    }

    /// The units that a filter admits, and how useful the claims among them are.
    pub fn admitted(&self, filter: &UnitFilter) -> Result<Admitted> {
        self.state().store.admitted(filter)
    }

    /// The units that a filter admits.
    pub fn allowed(&self, filter: &UnitFilter) -> Result<Allowed> {
        Ok(self.admitted(filter)?.allowed)
    }

    /// What of `allowed` answers a question, from both sides at once. A side that cannot be
    /// asked is empty and named in `degraded`.
    ///
    /// # Errors
    /// Those of the store; or of a side, if both failed.
    pub fn recall(
        &self,
        question: &str,
        allowed: &Allowed,
        depth: RecallDepth,
    ) -> Result<Recalled> {
        let state = self.state();
        state.wait_until_fresh(&Deadline::NEVER)?;
        let view = state.current_view()?;
        let question = asked(question);
        let by_text = {
            let (view, question) = (Arc::clone(&view), question.clone());
            let (allowed, depth) = (allowed.clone(), depth.text);
            move || view.ask(IndexInput::Text, &question, &allowed, depth)
        };
        // An embedder may wait for a server: it has the thread of its caller, as it does in a
        // search.
        let (vector, text) =
            join(|| view.embed_and_ask(&question, allowed, depth.vector), [by_text]);
        let text = text.into_iter().flatten().next().unwrap_or_else(|| {
            let part = Part::MemoryIndex(retriever_fed_by(IndexInput::Text));
            Err(Error::backend(part, "answer", "the retriever panicked"))
        });
        let (vector, asked) = match vector {
            Ok((found, asked)) => (Ok(found), asked),
            Err(error) => (Err(error), None),
        };
        if let (Err(error), Err(_)) = (&text, &vector) {
            let (query, reason) = (question.text.clone(), error.chain());
            return Err(Error::SearchFailed { query, reason });
        }
        let mut degraded: Vec<Degraded> = view.memory.troubles().collect();
        degraded.extend(state.errors.list().into_iter().filter(|one| one.stage == Stage::Memory));
        degraded.extend(state.node_troubles(&view));
        let mut recalled = Recalled { asked, degraded, ..Recalled::default() };
        for (stage, side, found) in [
            (stage_fed_by(IndexInput::Text), text, &mut recalled.by_text),
            (stage_fed_by(IndexInput::Vector), vector, &mut recalled.by_vector),
        ] {
            *found = side.unwrap_or_else(|error| {
                recalled.degraded.push(Degraded { stage, reason: error.chain() });
                Vec::new()
            });
        }
        state.add_secrets(&question, allowed, depth.text, &mut recalled.by_text)?;
        Ok(recalled)
    }

    /// The same by words only: to look deeper on this side.
    pub fn by_text(
        &self,
        question: &str,
        allowed: &Allowed,
        depth: usize,
    ) -> Result<Vec<MemoryHit>> {
        let state = self.state();
        let view = state.current_view()?;
        let question = asked(question);
        let mut found = view.ask(IndexInput::Text, &question, allowed, depth)?;
        state.add_secrets(&question, allowed, depth, &mut found)?;
        Ok(found)
    }

    /// The units nearest to a question by its vector, which [`recall`](Self::recall) gave: to look
    /// deeper on this side, or at the units that words found.
    ///
    /// # Errors
    /// As [`near`](Self::near).
    pub fn by_vector(
        &self,
        question: &str,
        vector: &Embedding,
        allowed: &Allowed,
        depth: usize,
    ) -> Result<Vec<MemoryHit>> {
        let view = self.state().current_view()?;
        let question = Question { embedding: Some(vector.clone()), ..asked(question) };
        view.ask(IndexInput::Vector, &question, allowed, depth)
    }

    /// The units nearest to a vector of the model, such as that of another unit.
    ///
    /// # Errors
    /// [`Error::DimensionMismatch`] for a vector of another model.
    pub fn near(&self, vector: &[f32], allowed: &Allowed, depth: usize) -> Result<Vec<MemoryHit>> {
        let state = self.state();
        let view = state.current_view()?;
        let embedding = Some(Embedding::new(vector.to_vec())?);
        let question = Question { embedding, ..Question::default() };
        view.ask(IndexInput::Vector, &question, allowed, depth)
    }

    /// How well the units at `rows` say what a question does by the vectors of their tokens, 0–1
    /// on the model's range ([`TokenSpace::short_relevance`](crate::model::TokenSpace::short_relevance)); those
    /// of which none are kept are left out.
    pub fn by_tokens(&self, question: &str, rows: &[RowId]) -> Result<BTreeMap<RowId, Score>> {
        let (state, text) = (self.state(), one_line(question));
        let Some(embedder) = state.embedder().filter(|_| !text.is_empty()) else {
            return Ok(BTreeMap::new());
        };
        let mut scores = BTreeMap::new();
        for asked in asked_tokens(embedder.as_ref(), &state.store, &text, language_of(&text), rows)?
        {
            let space = asked.space;
            let found = asked.short_similarities();
            scores.extend(found.map(|(row, found)| (row, space.short_relevance(found))));
        }
        Ok(scores)
    }

    /// The unit vector of a text; none without a model.
    pub fn embed(&self, role: Role, text: &str) -> Result<Option<Vec<f32>>> {
        let Some(embedder) = self.state().embedder() else { return Ok(None) };
        let vectors = catch_panics(EMBEDDER, || embedder.embed_checked(role, &[text]))?;
        Ok(Some(vectors.row(0).to_vec()))
    }

    /// The unit vectors of rows that are embedded by now.
    pub fn vectors(&self, rows: &[RowId]) -> Result<BTreeMap<RowId, Vec<f32>>> {
        Ok(self.state().store.cached_embeddings(rows)?.into_iter().collect())
    }

    /// How relevant a cosine is by the model ([`Embedder::short_relevance`](trefoil_core::Embedder));
    /// as it is without one.
    pub fn relevance_of(&self, cosine: f32) -> Score {
        match self.state().embedder() {
            Some(embedder) => embedder.short_relevance(cosine),
            None => Score::clamped(cosine),
        }
    }

    /// Seconds since 1970, by the engine's clock.
    pub fn now(&self) -> i64 {
        self.state().now()
    }

    /// Takes at most `limit` jobs of a kind that are due; they return to the queue unless
    /// finished or failed within `lease_seconds`.
    pub fn claim_jobs(&self, kind: &str, limit: usize, lease_seconds: u32) -> Result<Vec<Job>> {
        self.state().store.claim_jobs(kind, limit, lease_seconds)
    }

    /// Marks jobs as done.
    pub fn finish_jobs(&self, jobs: &[i64]) -> Result<()> {
        self.state().store.finish_jobs(jobs)
    }

    /// Puts jobs back for another try; the fifth failure is the last.
    pub fn fail_jobs(&self, jobs: &[i64], error: &str) -> Result<()> {
        self.state().store.fail_jobs(jobs, error)
    }

    /// Sets jobs aside: they are not tried again unless they are requested.
    pub fn give_up_jobs(&self, jobs: &[i64], error: &str) -> Result<()> {
        self.state().store.give_up_jobs(jobs, error)
    }

    /// What the worker does for memory by itself.
    pub fn upkeep(&self) -> &MemoryUpkeep {
        &self.state().config.memory
    }

    /// Notes that work in the background failed: [`Engine::wait_until_indexed`] tells it once, and
    /// [`EngineStats::background`](crate::engine::EngineStats) and recalls until
    /// [`note_recovery`](Self::note_recovery).
    pub fn note_failure(&self, error: Error) {
        self.state().errors.note(Stage::Memory, error);
    }

    /// Notes that work in the background succeeds again.
    pub fn note_recovery(&self) {
        self.state().errors.clear(Stage::Memory);
    }

    /// Asks for a job; false if the same one waits or runs.
    pub fn enqueue_job(&self, kind: &str, payload_json: &str) -> Result<bool> {
        self.state().store.enqueue_job(kind, payload_json)
    }

    /// Waits until every unit has its vector, or none more can be had.
    ///
    /// # Errors
    /// What stopped the work in the background, if something did.
    pub fn wait_until_indexed(&self) -> Result<JobCounts> {
        self.engine.wait_until_indexed()
    }

    /// How many units can be found by words and by meaning.
    pub fn rows(&self) -> Vec<(RetrieverId, u64)> {
        let view = self.state().view();
        view.memory.retrievers.iter().map(|retriever| (retriever.id(), retriever.rows())).collect()
    }

    const fn state(&self) -> &Arc<State> {
        self.engine.state()
    }
}

impl ReadView {
    /// What the retriever that feeds on this finds; nothing if there is no such retriever.
    fn ask(
        &self,
        input: IndexInput,
        question: &Question,
        allowed: &Allowed,
        depth: usize,
    ) -> Result<Vec<MemoryHit>> {
        self.check_embedding(question.embedding.as_ref())?;
        let Some(retriever) = self.memory.fed_by(input) else { return Ok(Vec::new()) };
        let list = retriever.retrieve(question, depth, allowed)?;
        let relevance = |hit: &Hit| match (&self.embedder, input) {
            (Some(embedder), IndexInput::Vector) => embedder.short_relevance(hit.raw_score),
            _ => hit.relevance,
        };
        // The filter holds also where a retriever forgot it.
        let hits = list.hits().iter().filter(|hit| allowed.contains(hit.row));
        Ok(hits.map(|hit| Hit { relevance: relevance(hit), ..*hit }).collect())
    }

    /// What the semantic retriever finds, and the vector that it was asked with. A question is
    /// embedded once, however often it is asked.
    fn embed_and_ask(
        &self,
        question: &Question,
        allowed: &Allowed,
        depth: usize,
    ) -> Result<(Vec<MemoryHit>, Option<Embedding>)> {
        let nothing = matches!(allowed, Allowed::Only(rows) if rows.is_empty());
        let text = one_line(&question.text);
        let embedding = match &self.embedder {
            Some(embedder) if !nothing && !text.is_empty() && embedder.embeds_texts() => {
                let vectors =
                    catch_panics(EMBEDDER, || embedder.embed_checked(Role::Query, &[&text]))?;
                Some(Embedding::new(vectors.row(0).to_vec())?)
            }
            _ => None,
        };
        let question = Question { embedding, ..question.clone() };
        let found = self.ask(IndexInput::Vector, &question, allowed, depth)?;
        Ok((found, question.embedding))
    }
}

impl State {
    /// Adds the secret units that are allowed: relevant by the share of the question's terms
    /// that they hold, and those that hold none not at all.
    fn add_secrets(
        &self,
        question: &Question,
        allowed: &Allowed,
        depth: usize,
        found: &mut Vec<MemoryHit>,
    ) -> Result<()> {
        let secrets = self.store.secret_texts(allowed)?;
        if secrets.is_empty() {
            return Ok(());
        }
        let asked = self.terms(&question.text, question.language);
        for (row, text) in secrets {
            let held = self.terms(&text, language_of(&text));
            let share = asked.intersection(&held).count() as f32 / asked.len().max(1) as f32;
            if share > 0.0 {
                found.push(MemoryHit { row, relevance: Score::clamped(share), raw_score: share });
            }
        }
        found.sort_by(|a, b| b.relevance.cmp(&a.relevance).then(a.row.cmp(&b.row)));
        found.truncate(depth);
        Ok(())
    }

    /// The terms of a text that carry meaning; all, if none does.
    fn terms(&self, text: &str, language: Language) -> BTreeSet<String> {
        let (mut all, mut meant) = (BTreeSet::new(), BTreeSet::new());
        self.analyzer().analyze(text, language, &mut |token| {
            all.insert(token.term.to_string());
            if !token.stop {
                meant.insert(token.term.into_owned());
            }
        });
        if meant.is_empty() { all } else { meant }
    }
}

/// What is embedded of a question.
fn one_line(question: &str) -> String {
    question.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn asked(question: &str) -> Question {
    let language = language_of(question);
    Question {
        text: question.to_owned(),
        language,
        other_languages: Language::ALL.into_iter().filter(|&one| one != language).collect(),
        ..Question::default()
    }
}
