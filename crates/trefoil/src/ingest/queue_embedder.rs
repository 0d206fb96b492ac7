//! What embeds the texts that the node that leads has put into the queue of a store.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use trefoil_core::{Embedder, Error, IndexInput, Language, Result};
use trefoil_store::truth::{
    Cluster, EmbedText, MadeVectors, NodeReport, NodeRole, NodeTimes, Place,
};

#[cfg(feature = "graph")]
use crate::config::EntityExtraction;
use crate::{
    background::Work,
    config::{EngineConfig, Rerankers},
    default_set::stage_fed_by,
    index::{
        embedding::{embed_apart, embed_passages, token_spaces},
        node::REPORT,
    },
    ingest::{
        background_thread::{Awaited, Steps, ThreadStatus},
        embed_queue::QueueModel,
    },
    models,
    state::State,
    store_at::StoreAt,
};

/// Texts that are taken at a time.
const AT_ONCE: usize = 64;

/// A text whose embedder has been silent for so long is given to another one.
const LEASE: Duration = Duration::from_mins(2);

/// Embeds texts for the nodes of a store, and needs neither a cache nor any right but to the queue.
/// [`SharedStore::embed`](crate::cluster::SharedStore::embed) says where texts are queued.
#[derive(Debug)]
pub struct QueueEmbedder {
    truth: Arc<dyn Cluster>,
    embedder: Arc<dyn Embedder>,
    times: NodeTimes,
    address: Option<String>,
    reported: Mutex<Option<Instant>>,
}

impl QueueEmbedder {
    /// Opens the model of a configuration, to embed for the store that it names. Nothing is asked
    /// yet.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if it names no store that is shared; [`Error::ModelMissing`] if
    /// there is no model.
    pub fn open(config: &EngineConfig) -> Result<Self> {
        let StoreAt::Shared(shared) = &config.store else {
            return Err(Error::InvalidConfig {
                field: "store",
                value: "here".to_owned(),
                allowed: "a store that nodes share, whose queue it works for",
            });
        };
        let mut config = config.clone();
        // What neither reads passages nor looks for entities needs no models for that.
        config.rerankers = Rerankers::Custom(Vec::new());
        #[cfg(feature = "graph")]
        {
            config.extractor = EntityExtraction::None;
        }
        let embedder = models::models(&config)?.embedder.filter(|model| model.embeds_texts());
        let embedder = embedder.ok_or_else(|| Error::ModelMissing {
            name: "embedding".to_owned(),
            reason: "run `trefoil models pull`, or name one".to_owned(),
        })?;
        Ok(Self {
            truth: Arc::clone(&shared.truth),
            embedder,
            times: shared.times,
            address: shared.address.clone(),
            reported: Mutex::default(),
        })
    }

    /// Takes the next texts, embeds them and stores their vectors. How many have one now; none if
    /// no text is to be had: then ask again a [little later](Self::poll). Tells the other nodes of
    /// itself now and then.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the store does not answer, and what keeps the model from working.
    /// What was taken can be taken again, by others too.
    pub fn step(&self) -> Result<Option<usize>> {
        self.report()?;
        embed_next(self.truth.as_ref(), self.embedder.as_ref())
    }

    /// How long to wait where no text is to be had.
    pub const fn poll(&self) -> Duration {
        self.times.poll
    }

    /// How long to wait after something failed.
    pub const fn retry(&self) -> Duration {
        self.times.retry
    }

    /// Tells the others that it is there, if it is time.
    fn report(&self) -> Result<()> {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        if reported.is_some_and(|at| at.elapsed() < REPORT) {
            return Ok(());
        }
        let (role, address) = (NodeRole::Embedder, self.address.clone());
        let report = NodeReport { role, address, place: Place::NOTHING, erased: 0 };
        self.truth.report(&report)?;
        *reported = Some(Instant::now());
        Ok(())
    }
}

/// Takes the next texts, embeds them and stores their vectors. How many have one now; none if no
/// text is to be had.
fn embed_next(truth: &dyn Cluster, embedder: &dyn Embedder) -> Result<Option<usize>> {
    let token_space = token_spaces(embedder);
    let model = QueueModel::new(embedder, token_space.as_deref());
    for (_, fingerprint) in model.fingerprints() {
        let texts = truth.claim_texts(fingerprint, AT_ONCE, LEASE)?;
        if !texts.is_empty() {
            return embed_texts(truth, embedder, fingerprint, &texts).map(Some);
        }
    }
    Ok(None)
}

fn embed_texts(
    truth: &dyn Cluster,
    embedder: &dyn Embedder,
    fingerprint: &str,
    texts: &[EmbedText],
) -> Result<usize> {
    let passages: Vec<(&str, Option<Language>)> =
        texts.iter().map(|text| (text.text.as_str(), text.language)).collect();
    let embedded = match embed_apart(&passages, |some| embed_passages(embedder, some)) {
        Ok(embedded) => embedded,
        Err(error) => {
            // Others may do better at once. If this fails, they have to wait.
            let all = texts.iter().map(|text| (text.text_hash.clone(), None));
            drop(truth.return_texts(fingerprint, &all.collect::<Vec<_>>()));
            return Err(error);
        }
    };
    let (mut made, mut failed) = (Vec::new(), Vec::new());
    for (text, embedded) in texts.iter().zip(embedded) {
        let hash = text.text_hash.clone();
        match embedded {
            Ok((vector, codes)) => {
                let tokens = codes.map(|codes| codes.bytes().to_vec());
                made.push((hash, MadeVectors { vector, tokens }));
            }
            Err(error) => failed.push((hash, Some(error.chain()))),
        }
    }
    truth.put_vectors(fingerprint, &made)?;
    if !failed.is_empty() {
        truth.return_texts(fingerprint, &failed)?;
    }
    Ok(made.len())
}

/// Embeds for the queue on a thread of an engine.
#[derive(Debug, Default)]
pub(crate) struct EmbedForOthers {
    /// The last step failed.
    has_failed: AtomicBool,
}

impl Steps for EmbedForOthers {
    fn name(&self) -> &'static str {
        "the embedder for other nodes"
    }

    fn step(&self, state: &Arc<State>, _: &ThreadStatus<'_>) -> Result<bool> {
        let (Some(node), Some(embedder)) = (&state.node, state.embedder()) else {
            return Ok(false);
        };
        let embedded = embed_next(node.shared.truth.as_ref(), embedder.as_ref())?;
        self.has_failed.store(false, Ordering::Relaxed);
        state.embedded.fetch_add(embedded.unwrap_or(0), Ordering::Relaxed);
        state.errors.clear_of(Work::Embed, stage_fed_by(IndexInput::Vector));
        Ok(embedded.is_some())
    }

    fn failed(&self, state: &State, error: Error) -> bool {
        self.has_failed.store(true, Ordering::Relaxed);
        // That the store does not answer is told by the node that follows it.
        if !matches!(error, Error::Unavailable { .. }) {
            state.errors.note_of(Work::Embed, stage_fed_by(IndexInput::Vector), error);
        }
        false
    }

    fn next_at(&self, _: &State, _: i64) -> Option<i64> {
        None
    }

    fn awaited(&self, state: &State) -> Option<Awaited> {
        let times = state.node.as_ref()?.shared.times;
        let has_failed = self.has_failed.load(Ordering::Relaxed);
        let every = if has_failed { times.retry } else { state.inbox_poll() };
        Some(Awaited { every, is_left_to_do: false })
    }
}
