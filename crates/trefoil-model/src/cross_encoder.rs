use trefoil_core::{Deadline, Error, Reranker, Result, Score};

use crate::{
    card::{Card, ModelRole},
    home::ModelHome,
    model::{Model, ModelSource, Output},
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
        let Card { name, role, languages, .. } = card;
        if role != ModelRole::Reranker {
            return Err(Error::InvalidConfig {
                field: "rerank.model",
                value: name,
                allowed: "a model whose role is `reranker`",
            });
        }
        let english_only = languages == ["en"];
        Ok(Self { name, english_only, model })
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
        !self.english_only || is_latin(text)
    }

    fn load(&self) -> Result<()> {
        self.model.load()
    }

    /// The sigmoid of the model's logit.
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
        self.model.run_until(
            passages,
            deadline,
            |tokenizer, passage| tokenizer.encode_pair(question, passage, WINDOW),
            |Output { text, shape, numbers, .. }| {
                let failed = |reason| Error::RerankFailed {
                    model: self.name.clone(),
                    bytes: text.len(),
                    reason,
                };
                match *numbers {
                    [logit] if logit.is_finite() => Ok(Score::clamped(sigmoid(logit))),
                    [_] => Err(failed("its output is not finite".to_owned())),
                    _ => Err(failed(format!(
                        "its output has the shape {shape:?}, expected one number"
                    ))),
                }
            },
        )
    }
}

pub(crate) fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
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
    fn the_sigmoid_stays_within_its_range() {
        assert_eq!(sigmoid(0.0), 0.5);
        for logit in [-200.0, -12.0, 12.0, 200.0] {
            assert!((0.0..=1.0).contains(&sigmoid(logit)), "{logit}");
        }
    }
}
