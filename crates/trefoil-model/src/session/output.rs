//! What is read of a session.

use half::f16;
use ort::value::{DynValue, Value};

use super::signature::{Slot, names};

/// Which output of a model is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputChoice {
    /// The one with this name.
    Named(String),
    /// The first of these that there is, else the first of all.
    Preferred(&'static [&'static str]),
    /// The first.
    #[default]
    First,
}

/// Outputs with one vector a text, as they are called.
pub(crate) const POOLED: &[&str] = &["sentence_embedding", "text_embeds", "embeddings"];
/// Outputs with one vector a token, as they are called.
pub(crate) const TOKENS: &[&str] = &["last_hidden_state", "token_embeddings"];

impl OutputChoice {
    /// The name of the output to read. The error is a reason, with the next step.
    pub(crate) fn of(&self, outputs: &[Slot]) -> Result<String, String> {
        let find = |name: &str| outputs.iter().find(|slot| slot.name == name);
        let chosen = match self {
            Self::Named(name) => return named("output", name, outputs),
            Self::Preferred(preferred) => preferred.iter().find_map(|name| find(name)),
            Self::First => None,
        };
        let chosen = chosen.or_else(|| outputs.first());
        chosen.map(|slot| slot.name.clone()).ok_or_else(|| "it has no output".to_owned())
    }
}

/// The name that a key of the card has, if there is an output of that name. The error is a reason,
/// with the next step.
pub(crate) fn named(key: &str, name: &str, outputs: &[Slot]) -> Result<String, String> {
    if outputs.iter().any(|slot| slot.name == name) {
        return Ok(name.to_owned());
    }
    Err(format!("it has no output `{name}` but {}; set `{key}` in its card", names(outputs)))
}

/// What a model gave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tensor<'a> {
    /// Its shape, the batch of one included.
    pub(crate) shape: &'a [i64],
    /// Its numbers, the last axis fastest.
    pub(crate) numbers: &'a [f32],
}

impl<'a> Tensor<'a> {
    /// Reads a value; `buffer` is for numbers that have to be made 32 bits long.
    pub(crate) fn of(value: &'a DynValue, buffer: &'a mut Vec<f32>) -> ort::Result<Self> {
        if let Ok((shape, halves)) = Value::try_extract_tensor::<f16>(value) {
            buffer.clear();
            buffer.extend(halves.iter().map(|half| half.to_f32()));
            return Ok(Self { shape, numbers: buffer });
        }
        let (shape, numbers) = value.try_extract_tensor::<f32>()?;
        Ok(Self { shape, numbers })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::signature::Element, *};

    #[test]
    fn the_output_is_the_named_or_the_usual_or_the_first() {
        let slots: Vec<Slot> = ["present.0.key", "last_hidden_state", "sentence_embedding"]
            .map(|name| Slot { name: name.to_owned(), element: Element::F32, shape: vec![-1] })
            .to_vec();
        let of = |choice: OutputChoice| choice.of(&slots);
        assert_eq!(of(OutputChoice::Preferred(TOKENS)).unwrap(), "last_hidden_state");
        assert_eq!(of(OutputChoice::Preferred(POOLED)).unwrap(), "sentence_embedding");
        assert_eq!(of(OutputChoice::Preferred(&["logits"])).unwrap(), "present.0.key");
        assert_eq!(of(OutputChoice::First).unwrap(), "present.0.key");
        assert_eq!(of(OutputChoice::Named("present.0.key".into())).unwrap(), "present.0.key");
        let error = of(OutputChoice::Named("logits".into())).unwrap_err();
        assert!(error.contains("`logits`") && error.contains("`last_hidden_state`"), "{error}");
        assert!(OutputChoice::First.of(&[]).is_err());
    }
}
