use ndarray::{Array2, ArrayView1, Axis};
use trefoil_core::{Deadline, Error, Reranker, Result, Role, Score, TokenSpace};

use super::{
    cross_encoder::{WINDOW, on_scale, reads, sigmoid},
    depth::at_least,
};
use crate::{
    card::{Card, LateInteractionCard, ModelRole},
    dense::Projection,
    embedder::pool::{token_matrix, unit},
    home::ModelHome,
    model::{Model, ModelSource, Output},
    session::output::Tensor,
    tokenizer::{Fill, Marking, Words},
};

/// Scores passages for a question with a model of late interaction, such as `ColBERT`: each gives a
/// vector for each token, each of the question's is compared with the passage's nearest, and the
/// score is the mean of those cosines on the measured range. Opening it reads the card, and the
/// dense layers after the model if it has any.
///
/// It reads the same window of 128 tokens as [`OnnxReranker`](crate::OnnxReranker).
///
/// Source: Khattab, Zaharia: `ColBERT`, SIGIR 2020.
#[derive(Debug)]
pub struct LateInteractionReranker {
    name: String,
    languages: Vec<String>,
    max_tokens: usize,
    card: LateInteractionCard,
    range: [f32; 2],
    projection: Projection,
    model: Model,
}

impl LateInteractionReranker {
    /// Finds the files of a model and reads its card. `threads` passages are read at once; 0
    /// means one.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a file of the model or the runtime is not there,
    /// [`Error::Corrupt`] for a bad card or dense layer, [`Error::InvalidConfig`] for a model of
    /// another role, [`Error::ModelUnusable`] if its similarity range was not measured.
    pub fn open(home: &ModelHome, source: &ModelSource, threads: usize) -> Result<Self> {
        let (model, card) = Model::open(home, source, threads)?;
        Self::of(model, card)
    }

    /// The reranker of a model with its card.
    pub(crate) fn of(model: Model, card: Card) -> Result<Self> {
        let Card { name, role, languages, max_tokens, late_interaction, .. } = card;
        let late_interaction = late_interaction.filter(|_| role == ModelRole::LateInteraction);
        let Some(card) = late_interaction else {
            return Err(Error::InvalidConfig {
                field: "rerank.model",
                value: name,
                allowed: "a model whose role is `late-interaction`",
            });
        };
        let Some(range) = card.similarity_range else {
            let folder = model.folder().display();
            let reason = format!(
                "its card has no `similarity-range`; run `trefoil models add {folder}`, which \
                 measures it"
            );
            return Err(Error::ModelUnusable { name, reason });
        };
        let projection = Projection::load(model.folder(), &card.dense, card.dimensions)?;
        Ok(Self { name, languages, max_tokens, card, range, projection, model })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// ISO 639-1 codes of the languages that it reads.
    pub(crate) fn languages(&self) -> &[String] {
        &self.languages
    }

    /// How many numbers the vector of a token has.
    pub(crate) const fn dimensions(&self) -> usize {
        self.card.dimensions
    }

    /// How its vectors are compared.
    ///
    /// # Errors
    /// Those of the file of the model, which tells it from others.
    pub(crate) fn space(&self) -> Result<TokenSpace> {
        let sha256 = self.model.sha256()?;
        let known = format!("{}:{}", self.name, sha256.get(..8).unwrap_or(&sha256));
        let short_range = self.card.short_similarity_range;
        TokenSpace::of_late_interaction(known, self.card.dimensions, self.range, short_range)
    }

    /// The vectors of whole passages, as they are kept: of the first `max-tokens` of each.
    ///
    /// # Errors
    /// Those of [`score`](Reranker::score).
    pub(crate) fn passage_vectors(&self, texts: &[&str]) -> Result<Vec<Array2<f32>>> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let marking = self.marking(Role::Passage)?;
        self.model.run(
            texts,
            |tokenizer, text| tokenizer.encode_marked(&marking, "", text, self.max_tokens),
            |output| self.read(&output),
        )
    }

    /// The vectors of a question.
    ///
    /// # Errors
    /// Those of [`score`](Reranker::score).
    pub(crate) fn query_vectors(&self, question: &str) -> Result<Array2<f32>> {
        let vectors = self.vectors(Role::Query, question, &[question], &Deadline::NEVER)?;
        Ok(vectors.into_iter().next().unwrap_or_default())
    }

    /// How near each passage is to the question, −1 to 1; of the first, as many as were begun
    /// until `deadline`.
    ///
    /// # Errors
    /// Those of [`score`](Reranker::score).
    pub(crate) fn similarities_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<f32>> {
        let asked = self.vectors(Role::Query, question, &[question], deadline)?;
        // There was no time for the question.
        let Some(asked) = asked.first() else { return Ok(Vec::new()) };
        let read = self.vectors(Role::Passage, question, passages, deadline)?;
        Ok(read.iter().map(|text| similarity(asked, text)).collect())
    }

    /// The unit vectors of the tokens of each text that are compared, one a row.
    fn vectors(
        &self,
        role: Role,
        question: &str,
        texts: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<Array2<f32>>> {
        let marking = self.marking(role)?;
        let length = match role {
            Role::Query => self.card.query_tokens.unwrap_or(WINDOW).min(WINDOW),
            Role::Passage => WINDOW,
        };
        self.model.run_until(
            texts,
            deadline,
            |tokenizer, text| tokenizer.encode_marked(&marking, question, text, length),
            |output| self.read(&output),
        )
    }

    /// What is compared of what the model says of a text.
    fn read(&self, output: &Output<'_, Words>) -> Result<Array2<f32>> {
        let Output { text, tokens, tensor, .. } = output;
        self.compared(&tokens.places, *tensor).map_err(|reason| Error::RerankFailed {
            model: self.name.clone(),
            bytes: text.len(),
            reason,
        })
    }

    /// What is put into a text of that side.
    fn marking(&self, role: Role) -> Result<Marking> {
        let tokenizer = self.model.tokenizer()?;
        let id = |token: &Option<String>, key| {
            let id = token.as_ref().map(|token| {
                // `PyLate` writes a space behind it, which may be part of the token.
                let id = tokenizer.id(token).or_else(|| tokenizer.id(token.trim()));
                id.ok_or_else(|| Error::ModelUnusable {
                    name: self.name.clone(),
                    reason: format!(
                        "its tokenizer has no token `{token}`; set `{key}` in its card"
                    ),
                })
            });
            id.transpose()
        };
        let card = &self.card;
        Ok(match role {
            Role::Query => Marking {
                marker: id(&card.query_marker, "query-marker")?,
                fill: card
                    .query_tokens
                    .zip(id(&card.mask_token, "mask-token")?)
                    .map(|(length, token)| Fill { length, token, attends: card.attends_to_fill }),
                with_punctuation: true,
            },
            Role::Passage => Marking {
                marker: id(&card.passage_marker, "passage-marker")?,
                fill: None,
                with_punctuation: false,
            },
        })
    }

    /// The unit vectors of the tokens at `places`, projected. The error is a reason.
    fn compared(&self, places: &[usize], tensor: Tensor<'_>) -> Result<Array2<f32>, String> {
        let width = self.projection.takes().unwrap_or(self.card.dimensions);
        let vectors = token_matrix(width, tensor)?;
        if places.iter().any(|&place| place >= vectors.nrows()) {
            let shape = tensor.shape;
            return Err(format!("its output has the shape {shape:?}, fewer rows than tokens"));
        }
        let mut vectors = self.projection.apply_rows(vectors.select(Axis(0), places));
        for mut row in vectors.rows_mut() {
            let unit = unit(row.to_vec())?;
            row.assign(&ArrayView1::from(&unit));
        }
        Ok(vectors)
    }
}

impl Reranker for LateInteractionReranker {
    fn model(&self) -> &str {
        &self.name
    }

    /// As a cross-encoder: one of English alone reads what is Latin.
    fn reads(&self, text: &str) -> bool {
        reads(self.languages == ["en"], text)
    }

    /// What fits in four windows, and no more: one good match says little about the next.
    fn enough(&self, question: &str, passages: &[&str], read: &[Score]) -> usize {
        if read.is_empty() { at_least(question, passages) } else { read.len() }
    }

    fn load(&self) -> Result<()> {
        self.model.load()
    }

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
        let similarities = self.similarities_until(question, passages, deadline)?;
        let score = |similarity| Score::clamped(sigmoid(on_scale(Some(self.range), similarity)));
        Ok(similarities.into_iter().map(score).collect())
    }
}

/// The mean over the question's vectors of the cosine with the text's nearest; 0 where one of the
/// two has none.
fn similarity(question: &Array2<f32>, text: &Array2<f32>) -> f32 {
    if question.is_empty() || text.is_empty() {
        return 0.0;
    }
    let nearest = |row: ArrayView1<'_, f32>| row.iter().copied().fold(-1.0_f32, f32::max);
    let cosines = question.dot(&text.t());
    cosines.rows().into_iter().map(nearest).sum::<f32>() / question.nrows() as f32
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    #[test]
    fn each_token_of_the_question_counts_with_its_nearest() {
        let question = array![[1.0, 0.0], [0.0, 1.0]];
        let near = similarity(&question, &array![[0.0, 1.0], [0.6, 0.8]]);
        assert!((near - 0.8).abs() < 1e-6, "{near}");
        assert_eq!(similarity(&question, &Array2::zeros((0, 2))), 0.0);
    }
}
