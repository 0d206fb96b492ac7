use trefoil_core::{Deadline, Error, Reranker, Result, Score};

use super::depth::{enough, is_about};
use crate::{
    card::{Card, ModelRole, RerankerScores, RerankingCard},
    home::ModelHome,
    model::{Model, ModelSource, Output},
    session::output::Tensor,
};

/// Tokens of a passage that are read, those of the question included.
pub(crate) const WINDOW: usize = 128;

/// Scores passages for a question with an ONNX cross-encoder, one pair a run, as many
/// runs at once as there are threads. Opening it reads the card only; the runtime and
/// the model load at the first pair.
///
/// It reads 128 tokens: the question, the headings (what stands above the first empty
/// line of a passage) and the part of the text that holds most of the question.
#[derive(Debug)]
pub struct OnnxReranker {
    name: String,
    english_only: bool,
    reranking: RerankingCard,
    model: Model,
}

impl OnnxReranker {
    /// Finds the files of a model and reads its card. `threads` pairs are scored at
    /// once, each with 5 to 15 MB next to the weights, which are mapped; 0 means one.
    ///
    /// # Errors
    /// [`Error::ModelMissing`] if a file of the model or the runtime is not there,
    /// [`Error::Corrupt`] for a bad card, [`Error::InvalidConfig`] if the model does
    /// not rerank.
    pub fn open(home: &ModelHome, source: &ModelSource, threads: usize) -> Result<Self> {
        let (model, card) = Model::open(home, source, threads)?;
        Self::of(model, card)
    }

    /// The reranker of a model with its card.
    pub(crate) fn of(model: Model, card: Card) -> Result<Self> {
        let Card { name, role, languages, reranking, .. } = card;
        if role != ModelRole::Reranker {
            return Err(Error::InvalidConfig {
                field: "rerank.model",
                value: name,
                allowed: "a model whose role is `reranker`",
            });
        }
        let english_only = languages == ["en"];
        Ok(Self { name, english_only, reranking: reranking.unwrap_or_default(), model })
    }
}

impl Reranker for OnnxReranker {
    fn model(&self) -> &str {
        &self.name
    }

    /// A model of English alone reads a text with at most a tenth of letters that are not
    /// Latin: a symbol or a name may be cross-lingual. A model whose card names more languages
    /// is taken to read everything.
    fn reads(&self, text: &str) -> bool {
        reads(self.english_only, text)
    }

    /// As many as fit in two windows, and more of them while the best may answer the question and
    /// none leads; two windows for a long question.
    fn enough(&self, question: &str, passages: &[&str], read: &[Score]) -> usize {
        enough(question, passages, read)
    }

    /// Where none has log-odds of −5, they differ by chance.
    fn orders(&self, read: &[Score]) -> bool {
        is_about(read)
    }

    fn load(&self) -> Result<()> {
        self.model.load()
    }

    /// The sigmoid of the model's logit, brought to the scale of the default reranker where its
    /// range was measured.
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
        let logits = self.logits_until(question, passages, deadline)?;
        let range = self.reranking.logit_range;
        Ok(logits
            .into_iter()
            .map(|logit| Score::clamped(sigmoid(on_scale(range, logit))))
            .collect())
    }
}

impl OnnxReranker {
    /// What the model says of each passage, as log-odds, not brought to any scale; of the first, as
    /// many as were begun until `deadline`.
    ///
    /// # Errors
    /// Those of [`score`](Reranker::score).
    pub(crate) fn logits_until(
        &self,
        question: &str,
        passages: &[&str],
        deadline: &Deadline,
    ) -> Result<Vec<f32>> {
        self.model.run_until(
            passages,
            deadline,
            |tokenizer, passage| tokenizer.encode_pair(question, passage, WINDOW),
            |Output { text, tensor, .. }| {
                self.log_odds(tensor).map_err(|reason| Error::RerankFailed {
                    model: self.name.clone(),
                    bytes: text.len(),
                    reason,
                })
            },
        )
    }

    /// The output of the model as log-odds. The error is a reason.
    fn log_odds(&self, tensor: Tensor<'_>) -> Result<f32, String> {
        let Tensor { shape, numbers } = tensor;
        if numbers.iter().any(|number| !number.is_finite()) {
            return Err("its output is not finite".to_owned());
        }
        match (self.reranking.scores, numbers) {
            (RerankerScores::Logits, &[logit]) => Ok(logit),
            // The softmax over no and yes is the sigmoid of their difference.
            (RerankerScores::Logits, &[no, yes]) => Ok(yes - no),
            (RerankerScores::Probability, &([p] | [_, p])) if (0.0..=1.0).contains(&p) => {
                let p = p.clamp(f32::EPSILON, 1.0 - f32::EPSILON);
                Ok((p / (1.0 - p)).ln())
            }
            (RerankerScores::Probability, &([p] | [_, p])) => {
                Err(format!("its output is {p}, no probability; set `scores` in its card"))
            }
            _ => Err(format!(
                "its output has the shape {shape:?}, expected one number, or one for no and one \
                 for yes"
            )),
        }
    }
}

/// The logits of the default reranker for unrelated passages and for perfect matches, measured as
/// those of a model that is added. Fused scores are blended with logits on this scale.
pub(crate) const SCALE: [f32; 2] = [-11.3, 7.0];

/// A logit, or whatever else was measured, on the scale of the default reranker.
pub(crate) fn on_scale(range: Option<[f32; 2]>, logit: f32) -> f32 {
    let Some([unrelated, perfect]) = range else { return logit };
    let [from, to] = SCALE;
    from + (logit - unrelated) / (perfect - unrelated) * (to - from)
}

pub(crate) fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}

/// Whether a model of English alone, or of more languages, reads a text.
pub(crate) fn reads(english_only: bool, text: &str) -> bool {
    !english_only || is_latin(text)
}

/// Whether at most a tenth of the letters are not Latin. A text without letters is Latin.
fn is_latin(text: &str) -> bool {
    let (mut letters, mut others) = (0_usize, 0_usize);
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        letters += 1;
        let latin = c <= '\u{24f}' || matches!(c, '\u{1e00}'..='\u{1eff}' | 'Ａ'..='ｚ');
        others += usize::from(!latin);
    }
    others * 10 <= letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_foreign_letters_leave_a_text_latin() {
        let check = |text: &str, expected: bool| assert_eq!(is_latin(text), expected, "{text}");
        check("", true);
        check("404 — 12:30 (!)", true);
        check("Où est la bibliothèque ? ＡＢＣ", true);
        check("TGF-β and interferon-γ signalling in macrophages", true);
        check("The temple Kinkaku-ji (金閣寺) stands in the north of Kyoto.", true);
        check("東京の天気", false);
        check("useState는 어떻게 쓰나요", false);
        check("Кто открыл Америку?", false);
        check("The word さようなら means goodbye", false);
    }

    #[test]
    fn a_logit_is_brought_to_the_scale_of_the_default() {
        let [from, to] = SCALE;
        let on = |logit| on_scale(Some([-2.0, 3.0]), logit);
        assert!((on(-2.0) - from).abs() < 1e-5 && (on(3.0) - to).abs() < 1e-5);
        assert!((on(0.5) - f32::midpoint(from, to)).abs() < 1e-5);
        assert_eq!(on_scale(None, 1.25), 1.25);
    }

    #[test]
    fn the_sigmoid_stays_within_its_range() {
        assert_eq!(sigmoid(0.0), 0.5);
        for logit in [-200.0, -12.0, 12.0, 200.0] {
            assert!((0.0..=1.0).contains(&sigmoid(logit)), "{logit}");
        }
    }
}
