//! Passages read together with the question.

pub(crate) mod cross_encoder;
mod depth;
pub(crate) mod late_interaction;
pub(crate) mod token_reranker;
pub(crate) mod window;

use std::sync::Arc;

use trefoil_core::{Reranker, Result};

use self::{cross_encoder::OnnxReranker, late_interaction::LateInteractionReranker};
use crate::{
    card::ModelRole,
    home::ModelHome,
    model::{Model, ModelSource},
};

/// Opens whatever reranks: a cross-encoder, or a model of late interaction.
///
/// # Errors
/// As [`OnnxReranker::open`] and [`LateInteractionReranker::open`].
pub fn open_reranker(
    home: &ModelHome,
    source: &ModelSource,
    threads: usize,
) -> Result<Arc<dyn Reranker>> {
    let (model, card) = Model::open(home, source, threads)?;
    Ok(match card.role {
        ModelRole::LateInteraction => Arc::new(LateInteractionReranker::of(model, card)?),
        ModelRole::Reranker | ModelRole::Embedder | ModelRole::Runtime | ModelRole::Dictionary => {
            Arc::new(OnnxReranker::of(model, card)?)
        }
    })
}
