use std::sync::Arc;

use ndarray::{ArrayView1, ArrayView2};
use trefoil_core::{Deadline, Embedder, Reranker, Result, Role, Score};

use crate::{
    cross_encoder::{WINDOW, sigmoid},
    embedder::OnnxEmbedder,
};

/// What the ends of the card's range stand for: about as far as the logits of the
/// cross-encoder reach, so that one blend with the fused score suits both.
const LOGITS: f32 = 10.0;

/// Scores passages for a question with the token vectors of an embedder, in every
/// language that it knows: each token of the question is matched with the passage's
/// nearest, which the pooled vector of a passage blurs.
///
/// The mean of those cosines over the question's tokens is late interaction; source:
/// Khattab, Zaharia: `ColBERT`, SIGIR 2020, there with vectors trained for it. Here it is the
/// mean over the half that is matched worst, which ranks better and tells better whether
/// a question is answered at all (`docs/decisions/006-reranking.md`). It reads
/// the same window of 128 tokens as [`OnnxReranker`](crate::OnnxReranker), and runs on
/// the embedder's own copies of the model.
#[derive(Debug)]
pub struct TokenReranker {
    embedder: Arc<OnnxEmbedder>,
    unrelated: f32,
    perfect: f32,
}

impl TokenReranker {
    /// Takes an embedder whose card says how to read the cosines of its tokens
    /// (`token-cosine-range`); none if it does not.
    pub fn new(embedder: Arc<OnnxEmbedder>) -> Option<Self> {
        let (unrelated, perfect) = embedder.token_cosine_range()?;
        Some(Self { embedder, unrelated, perfect })
    }

    /// A cosine on the scale of a cross-encoder's logits: −[`LOGITS`] for the one that
    /// counts as unrelated, [`LOGITS`] for that of a perfect match.
    fn logit(&self, cosine: f32) -> f32 {
        let place = (cosine - self.unrelated) / (self.perfect - self.unrelated);
        (2.0 * place - 1.0) * LOGITS
    }
}

impl Reranker for TokenReranker {
    fn model(&self) -> &str {
        &self.embedder.space().model
    }

    /// Everything: what the embedder does not know, it has not found either.
    fn reads(&self, _: &str) -> bool {
        true
    }

    /// Further down the list is little to gain, and each passage costs an embedding.
    fn top_k(&self) -> usize {
        10
    }

    fn load(&self) -> Result<()> {
        self.embedder.load()
    }

    /// The sigmoid of the cosine of the weaker half, moved to the scale of a cross-encoder's logits.
    fn score(&self, question: &str, passages: &[&str]) -> Result<Vec<Score>> {
        self.score_until(question, passages, &Deadline::NEVER)
    }

    /// The clock is looked at before each passage.
    fn score_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<Score>> {
        if passages.is_empty() {
            return Ok(Vec::new());
        }
        let vectors = |role, texts: &[&str]| {
            self.embedder.token_vectors(role, question, texts, WINDOW, deadline)
        };
        let asked = vectors(Role::Query, &[question])?;
        // There was no time for the question.
        let Some(asked) = asked.first() else { return Ok(Vec::new()) };
        let read = vectors(Role::Passage, passages)?;
        let cosines = read.iter().map(|passage| weaker_half(&asked.view(), &passage.view()));
        Ok(cosines.map(|cosine| Score::clamped(sigmoid(self.logit(cosine)))).collect())
    }
}

/// Each of the question's tokens against the passage's nearest; the mean of the half that is
/// matched worst. A passage that is about the same and lacks what is asked for has most
/// tokens and misses some.
fn weaker_half(question: &ArrayView2<'_, f32>, passage: &ArrayView2<'_, f32>) -> f32 {
    let best = |token: ArrayView1<'_, f32>| {
        let cosines = passage.rows().into_iter().map(|other| dot(&token, &other));
        cosines.fold(-1.0_f32, f32::max)
    };
    let mut matched: Vec<f32> = question.rows().into_iter().map(best).collect();
    matched.sort_unstable_by(f32::total_cmp);
    matched.truncate(matched.len().div_ceil(2));
    matched.iter().sum::<f32>() / matched.len().max(1) as f32
}

fn dot(a: &ArrayView1<'_, f32>, b: &ArrayView1<'_, f32>) -> f32 {
    // Rows of a matrix are contiguous; for a view that is not, ndarray has its own way.
    let (Some(a), Some(b)) = (a.to_slice(), b.to_slice()) else { return a.dot(b) };
    // Eight sums at a time, which the compiler turns into one of vectors.
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    let mut sums = [0.0_f32; 8];
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum::<f32>();
    sums.iter().sum::<f32>() + rest
}
