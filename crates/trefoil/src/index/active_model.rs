//! The model that answers questions by meaning, and the one that is being made to take its place.

use std::sync::{Arc, Mutex, atomic::AtomicUsize};

use trefoil_core::{Degraded, Embedder, EmbeddingSpace, Error, IndexInput, Result, RowId};
use trefoil_store::{EmbedSource, EmbeddedText, KeptTokens, ModelMigration, Store, Unembedded};
use trefoil_text::CONTEXT_FORM;

use crate::{
    config::{EngineConfig, Model},
    default_set::stage_fed_by,
    index::{
        embedding::{embed, kept_tokens},
        open::OpenIndexes,
    },
    models,
};

/// Vectors that are being made, and what makes them.
#[derive(Debug)]
pub(crate) struct Migration {
    pub(crate) target: ModelMigration,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// The last row that was looked at: what could not be embedded is not tried again.
    pub(crate) after: Mutex<RowId>,
    /// Texts that are yet to be embedded.
    pub(crate) left: AtomicUsize,
    /// Which vectors of their tokens are kept.
    pub(crate) tokens: Option<KeptTokens>,
}

/// What to do with vectors of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnMismatch {
    Refuse,
    /// Make vectors of the configured model next to them.
    Migrate,
}

/// What answers questions by meaning, and what is being made to take its place.
#[derive(Debug, Default)]
pub(crate) struct ActiveModel {
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
    pub(crate) migration: Option<Arc<Migration>>,
}

impl ActiveModel {
    /// Vectors of two models do not compare: the first that is used is the index's, until
    /// another was made to take its place.
    ///
    /// # Errors
    /// [`Error::ModelMismatch`] if the vectors are of another model and `other` refuses, or if
    /// [`EngineConfig::model_before`] is not the model in use either.
    pub(crate) fn agreed(
        store: &Store,
        embedder: Option<Arc<dyn Embedder>>,
        config: &EngineConfig,
        write: bool,
        other: OnMismatch,
    ) -> Result<Self> {
        let Some(embedder) = embedder else { return Ok(Self::default()) };
        let expected = vectors_are_of(embedder.space());
        match store.fingerprint()? {
            Some(found) if found != expected => {
                let begun = store.model_migration()?.is_some_and(|one| one.fingerprint == expected);
                if !write || (other == OnMismatch::Refuse && !begun) {
                    return Err(Error::ModelMismatch { expected, found });
                }
                let target = store.begin_model_migration(&expected)?;
                let left = store.count_unembedded(&target.fingerprint)?.into();
                let after = Mutex::new(RowId::new(0));
                let tokens = kept_tokens(embedder.as_ref(), config);
                Ok(Self {
                    embedder: embedder_before(config, found)?,
                    migration: Some(Arc::new(Migration { target, embedder, after, left, tokens })),
                })
            }
            _ => {
                if other == OnMismatch::Migrate && store.model_migration()?.is_some() {
                    store.abandon_model_migration()?;
                }
                if write {
                    Self::adopt(store, embedder.as_ref(), config)?;
                }
                Ok(Self { embedder: Some(embedder), migration: None })
            }
        }
    }

    /// Makes the model that of the index, if it has none yet, and what is kept of it what is
    /// configured.
    ///
    /// # Errors
    /// [`Error::ModelMismatch`] if the vectors are of another model.
    pub(crate) fn adopt(
        store: &Store,
        embedder: &dyn Embedder,
        config: &EngineConfig,
    ) -> Result<()> {
        let expected = vectors_are_of(embedder.space());
        match store.fingerprint()? {
            None => store.set_fingerprint(&expected)?,
            Some(found) if found != expected => {
                return Err(Error::ModelMismatch { expected, found });
            }
            Some(_) => {}
        }
        store.keep_tokens(kept_tokens(embedder, config).as_ref())
    }

    /// No vectors where nothing embeds a question, and why.
    pub(crate) fn no_vectors(&self) -> OpenIndexes {
        let reason = match &self.migration {
            Some(_) => {
                "its vectors are being made for another model, and the model before was not given"
            }
            None => "no model; run `trefoil models pull`",
        };
        let absent =
            Degraded { stage: stage_fed_by(IndexInput::Vector), reason: reason.to_owned() };
        OpenIndexes { absent: vec![absent], ..OpenIndexes::default() }
    }
}

fn embedder_before(config: &EngineConfig, found: String) -> Result<Option<Arc<dyn Embedder>>> {
    let before = EngineConfig { model: config.model_before.clone(), ..config.clone() };
    if matches!(before.model, Model::None) {
        return Ok(None);
    }
    let Some(embedder) = models::models(&before)?.embedder else { return Ok(None) };
    let expected = vectors_are_of(embedder.space());
    if expected == found {
        Ok(Some(embedder))
    } else {
        Err(Error::ModelMismatch { expected, found })
    }
}

impl Migration {
    /// The embeddings of texts, by hash. One that cannot be embedded must not hold up the
    /// others: a job tries it again once the migration is in use.
    pub(crate) fn embed(&self, texts: &[Unembedded]) -> Result<Vec<(String, EmbeddedText)>> {
        let sources: Vec<&EmbedSource> = texts.iter().map(|text| &text.source).collect();
        let hashes = texts.iter().map(|text| text.hash.clone());
        let embed = |sources: &[_]| embed(self.embedder.as_ref(), self.tokens.as_ref(), sources);
        match embed(&sources) {
            Ok(embedded) => Ok(hashes.zip(embedded).collect()),
            Err(
                Error::EmbeddingFailed { .. }
                | Error::EmbeddingShape { .. }
                | Error::Panicked { .. },
            ) => {
                let alone = |source| embed(&[source]).ok()?.pop();
                let embedded = hashes.zip(sources.into_iter().map(alone));
                Ok(embedded.filter_map(|(hash, text)| Some((hash, text?))).collect())
            }
            Err(error) => Err(error),
        }
    }
}

/// What the vectors of the store are of: the model, and the form of the embedded texts.
pub(crate) fn vectors_are_of(space: &EmbeddingSpace) -> String {
    format!("{} text:{CONTEXT_FORM}", space.fingerprint())
}
