//! Embed jobs whose texts other nodes embed: the node that leads puts them into the queue of the
//! store, and takes their vectors out.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use trefoil_core::{Embedder, IndexInput, Language, Result, RowId, Seq, TokenCodes};
use trefoil_store::{
    EmbedJob, EmbeddedText, KeptTokens,
    truth::{Cluster, EMBED_TRIES, EmbedOutcome, EmbedText, MadeVectors, Place},
};

use crate::{
    default_set::stage_fed_by,
    index::{
        active_model::vectors_are_of,
        embedding::{BATCH, embedded_tokens, kept_tokens, passage},
    },
    ingest::background_thread::Awaited,
    state::State,
};

/// Most texts that wait in the queue at a time: enough for many embedders, little enough to keep
/// in memory.
const MOST: usize = 4_096;

/// Seconds after which a job that nobody finished is taken up again. Its text is in the queue by
/// then, and stays where it is.
const LEASE: u32 = 600;

/// The texts that wait for their vectors, and the jobs that they are of.
#[derive(Debug, Default)]
pub(crate) struct EmbedQueue(Mutex<Asked>);

/// What a step of the queue came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QueueStep {
    /// It did something, and may have more to do.
    Did,
    /// Texts wait, and none has its vector yet.
    Waits,
    /// No text is left.
    Empty,
}

/// A text in the queue: whether the vectors of its tokens are wanted, and its hash.
type Key = (bool, String);

/// What waits for the vectors of a text.
#[derive(Debug, Default)]
struct Waiting {
    /// The language of its tokens, where their vectors are wanted.
    language: Option<Language>,
    /// The jobs and rows that it is of.
    jobs: BTreeMap<i64, RowId>,
}

#[derive(Debug, Default)]
struct Asked {
    /// Since when this node leads, and by which model it asks.
    of: Option<(Place, String)>,
    texts: BTreeMap<Key, Waiting>,
    /// Every job was claimed for which there is room, so that a vector of another text is of none.
    are_all_claimed: bool,
    /// What those who led before had asked for is gone from the queue.
    is_swept: bool,
    /// The last change at which all jobs were looked at for whether they are needed.
    looked_at: Seq,
    /// Something failed: jobs may run that are not known here.
    begins_again: bool,
}

/// How the queue tells which model a text is for. Token vectors of another space do not compare,
/// so texts with tokens are for those who make them in this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueModel {
    plain: String,
    with_tokens: Option<String>,
}

impl QueueModel {
    /// The model of an embedder, whose token vectors are of this space.
    pub(crate) fn new(embedder: &dyn Embedder, token_space: Option<&str>) -> Self {
        let plain = vectors_are_of(embedder.space());
        let with_tokens = token_space.map(|space| format!("{plain} tokens:{space}"));
        Self { plain, with_tokens }
    }

    /// What its texts are found by, with whether they are to have token vectors.
    pub(crate) fn fingerprints(&self) -> impl Iterator<Item = (bool, &str)> {
        let with_tokens = self.with_tokens.as_deref().map(|with_tokens| (true, with_tokens));
        with_tokens.into_iter().chain([(false, self.plain.as_str())])
    }

    fn of(&self, has_tokens: bool) -> &str {
        self.with_tokens.as_deref().filter(|_| has_tokens).unwrap_or(&self.plain)
    }
}

/// What a step works with.
struct Queue<'q> {
    state: &'q State,
    embedder: &'q dyn Embedder,
    truth: &'q dyn Cluster,
    model: QueueModel,
    kept: Option<KeptTokens>,
}

impl EmbedQueue {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the next texts into the queue, or takes out the next vectors. Unless it `is_called`,
    /// nothing was written since the last step.
    pub(crate) fn step(
        &self,
        state: &State,
        embedder: &dyn Embedder,
        is_called: bool,
    ) -> Result<QueueStep> {
        let step = self.try_step(state, embedder, is_called);
        if step.is_err() {
            self.begin_again();
        }
        step
    }

    fn try_step(
        &self,
        state: &State,
        embedder: &dyn Embedder,
        is_called: bool,
    ) -> Result<QueueStep> {
        let (Some(node), Some(place)) = (&state.node, state.store.leads()) else {
            return Ok(QueueStep::Empty);
        };
        let kept = kept_tokens(embedder, &state.config);
        let model = QueueModel::new(embedder, kept.as_ref().map(|kept| kept.space.as_str()));
        let truth = node.shared.truth.as_ref();
        let queue = Queue { state, embedder, truth, model, kept };
        let asked = &mut *self.asked();
        let of = Place { tx: 0, ..place };
        let model = format!("{:?}", queue.model);
        if asked.of.as_ref() != Some(&(of, model.clone())) {
            *asked = Asked { of: Some((of, model)), begins_again: true, ..Asked::default() };
        }
        if asked.begins_again {
            state.errors.try_again();
            state.store.release_embed_jobs()?;
            asked.begins_again = false;
        }
        if (is_called || !asked.are_all_claimed) && queue.ask(asked)? > 0 {
            return Ok(QueueStep::Did);
        }
        if is_called {
            queue.forget_unneeded(asked)?;
        }
        let taken = queue.take(asked)?;
        state.errors.clear(stage_fed_by(IndexInput::Vector));
        if taken > 0 {
            // There is room for more.
            asked.are_all_claimed = false;
            return Ok(QueueStep::Did);
        }
        Ok(if asked.texts.is_empty() { QueueStep::Empty } else { QueueStep::Waits })
    }

    /// Something failed: the next step begins with what the store says.
    pub(crate) fn begin_again(&self) {
        let mut asked = self.asked();
        let of = asked.of.take();
        *asked = Asked { of, begins_again: true, ..Asked::default() };
    }

    /// How often it looks for vectors, if it waits for some.
    pub(crate) fn awaited(&self, state: &State) -> Option<Awaited> {
        let node = state.node.as_ref().filter(|_| state.leads())?;
        let asked = self.asked();
        if asked.begins_again {
            return Some(Awaited { every: node.shared.times.retry, is_left_to_do: false });
        }
        let every = state.inbox_poll();
        (!asked.texts.is_empty()).then_some(Awaited { every, is_left_to_do: true })
    }
}

impl Queue<'_> {
    /// Puts the texts of the next jobs into the queue. How many jobs.
    fn ask(&self, asked: &mut Asked) -> Result<usize> {
        let room = MOST.saturating_sub(asked.texts.len()).min(BATCH);
        let seq = self.state.store.seq()?;
        let jobs = match room {
            0 => Vec::new(),
            room => self.state.store.claim_embed_jobs(room, LEASE)?,
        };
        if self.state.store.seq()? != seq {
            // Jobs whose vectors turned out to be cached are closed at once.
            self.state.replay_vectors()?;
        }
        if jobs.is_empty() {
            asked.are_all_claimed = true;
            if !asked.is_swept {
                let texts = asked.texts.keys();
                let texts = texts.map(|(tokens, hash)| (self.model.of(*tokens), hash.as_str()));
                self.truth.retain_texts(&texts.collect::<Vec<_>>())?;
                asked.is_swept = true;
            }
            return Ok(0);
        }
        let mut wanted: BTreeMap<bool, Vec<EmbedText>> = BTreeMap::new();
        for EmbedJob { job, row, hash, source } in &jobs {
            let (text, language) = passage(source, self.kept.as_ref());
            let key = (language.is_some(), hash.clone());
            let waiting = asked.texts.entry(key).or_default();
            waiting.language = language;
            waiting.jobs.insert(*job, *row);
            wanted.entry(language.is_some()).or_default().push(EmbedText {
                text_hash: hash.clone(),
                text: text.into_owned(),
                language,
            });
        }
        for (has_tokens, texts) in wanted {
            self.truth.want_vectors(self.model.of(has_tokens), &texts)?;
        }
        Ok(jobs.len())
    }

    /// Takes texts out of the queue whose rows are gone or say something else by now.
    fn forget_unneeded(&self, asked: &mut Asked) -> Result<()> {
        let seq = self.state.store.seq()?;
        if asked.texts.is_empty() || asked.looked_at == seq {
            return Ok(());
        }
        let jobs = asked.texts.values().flat_map(|waiting| waiting.jobs.keys());
        let jobs: Vec<i64> = jobs.copied().collect();
        let needed: BTreeSet<i64> = self.state.store.needed_embed_jobs(&jobs)?;
        let mut gone: BTreeMap<bool, Vec<String>> = BTreeMap::new();
        asked.texts.retain(|(has_tokens, hash), Waiting { jobs, .. }| {
            jobs.retain(|job, _| needed.contains(job));
            if jobs.is_empty() {
                gone.entry(*has_tokens).or_default().push(hash.clone());
            }
            !jobs.is_empty()
        });
        for (has_tokens, hashes) in gone {
            self.truth.forget_vectors(self.model.of(has_tokens), &hashes)?;
        }
        asked.looked_at = seq;
        Ok(())
    }

    /// Takes out of the queue what has become of texts, and ends their jobs. How many texts.
    fn take(&self, asked: &mut Asked) -> Result<usize> {
        let mut taken = 0;
        for (has_tokens, fingerprint) in self.model.fingerprints() {
            let outcomes = self.truth.outcomes(fingerprint, BATCH)?;
            if outcomes.is_empty() {
                continue;
            }
            taken += outcomes.len();
            let (mut done, mut hashes) = (Vec::new(), Vec::new());
            for (hash, outcome) in outcomes {
                let key = (has_tokens, hash);
                // What nobody asked for any more goes with the others.
                let Waiting { language, jobs } = asked.texts.remove(&key).unwrap_or_default();
                match self.checked(outcome, language) {
                    Ok(text) => {
                        done.extend(jobs.iter().map(|(&job, &row)| (job, row, text.clone())));
                    }
                    Err(reason) => {
                        let jobs: Vec<i64> = jobs.into_keys().collect();
                        self.state.store.fail_jobs(&jobs, &reason)?;
                    }
                }
                hashes.push(key.1);
            }
            self.state.store.finish_embed_jobs(&done)?;
            self.truth.forget_vectors(fingerprint, &hashes)?;
        }
        if taken > 0 {
            self.state.replay_vectors()?;
        }
        Ok(taken)
    }

    /// What an embedder made of a text; why not, if it cannot be used.
    fn checked(
        &self,
        outcome: EmbedOutcome,
        language: Option<Language>,
    ) -> Result<EmbeddedText, String> {
        let MadeVectors { vector, tokens } = match outcome {
            EmbedOutcome::Made(made) => made,
            EmbedOutcome::Failed(reason) => {
                let silent = || {
                    format!("embedders took the text {EMBED_TRIES} times and gave no vector back")
                };
                return Err(reason.unwrap_or_else(silent));
            }
        };
        let (found, wanted) = (vector.len(), self.embedder.space().dimensions);
        if found != wanted {
            return Err(format!(
                "an embedder gave a vector of {found} numbers instead of {wanted}"
            ));
        }
        if !vector.iter().all(|number| number.is_finite()) {
            return Err("an embedder gave a vector that is not finite".to_owned());
        }
        let tokens = match language {
            Some(language) => {
                let codes = tokens.and_then(|bytes| TokenCodes::from_bytes(bytes, wanted));
                let missing = || "an embedder gave no whole vectors of the tokens".to_owned();
                Some(embedded_tokens(self.embedder, language, codes.ok_or_else(missing)?))
            }
            None => None,
        };
        Ok(EmbeddedText { vector, tokens })
    }
}
