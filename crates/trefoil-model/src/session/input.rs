//! What a session is fed, by what it asks for.

use half::f16;
use ort::{
    session::SessionInputValue,
    value::{Tensor, TensorRef},
};

use super::signature::{Element, Slot};
use crate::{card::DecoderCard, tokenizer::Tokens};

/// One input of a text model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input {
    name: String,
    kind: Kind,
    element: Element,
}

/// Inputs that a text model may have.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Ids,
    Mask,
    Types,
    Positions,
    /// Keys or values of tokens that were read before: of none, in this shape.
    Past([usize; 4]),
    /// Whether there are any such tokens.
    HasPast,
}

/// Numbers that inputs share, as many as the longest text has had tokens.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    ones: Vec<i64>,
    positions: Vec<i64>,
}

impl Input {
    /// The inputs that a model asks for. `decoder` says how wide keys and values are, where the
    /// model leaves it open. The error is a reason, with the next step.
    pub(crate) fn all(asked: &[Slot], decoder: Option<&DecoderCard>) -> Result<Vec<Self>, String> {
        asked.iter().map(|slot| Self::of(slot, decoder)).collect()
    }

    fn of(slot: &Slot, decoder: Option<&DecoderCard>) -> Result<Self, String> {
        let Slot { name, element, shape } = slot;
        let kind = match name.as_str() {
            "input_ids" => Kind::Ids,
            "attention_mask" => Kind::Mask,
            "token_type_ids" => Kind::Types,
            "position_ids" => Kind::Positions,
            "use_cache_branch" => Kind::HasPast,
            _ if name.starts_with("past_key_values.") => Kind::Past(past(name, shape, decoder)?),
            _ => {
                return Err(format!(
                    "its input `{name}` is not one of a text model, which are `input_ids`, \
                     `attention_mask`, `token_type_ids`, `position_ids` and `past_key_values.*`; \
                     take an export without it"
                ));
            }
        };
        let fits = match kind {
            Kind::Ids | Kind::Mask | Kind::Types | Kind::Positions => {
                matches!(element, Element::I64 | Element::I32)
            }
            Kind::Past(_) => matches!(element, Element::F32 | Element::F16),
            Kind::HasPast => *element == Element::Bool,
        };
        if !fits {
            let text = "take an export with i64 tokens and f32 or f16 caches";
            return Err(format!("its input `{name}` is of {element}; {text}"));
        }
        Ok(Self { name: name.clone(), kind, element: *element })
    }

    /// Its name and what it is fed for a text.
    pub(crate) fn value<'a>(
        &'a self,
        tokens: &'a Tokens,
        counters: &'a Counters,
    ) -> ort::Result<(&'a str, SessionInputValue<'a>)> {
        let length = tokens.ids.len();
        let value = match &self.kind {
            Kind::Ids => self.integers(&tokens.ids)?,
            Kind::Types => self.integers(&tokens.types)?,
            Kind::Mask if tokens.unseen > 0 => {
                let seen = length.saturating_sub(tokens.unseen);
                let mask = (0..length).map(|at| i64::from(at < seen));
                self.owned(mask.collect())?
            }
            Kind::Mask => self.integers(counters.ones.get(..length).unwrap_or_default())?,
            Kind::Positions => {
                self.integers(counters.positions.get(..length).unwrap_or_default())?
            }
            Kind::Past(shape) if self.element == Element::F16 => {
                Tensor::from_array((*shape, Vec::<f16>::new()))?.into()
            }
            Kind::Past(shape) => Tensor::from_array((*shape, Vec::<f32>::new()))?.into(),
            Kind::HasPast => Tensor::from_array(([1_usize], vec![false]))?.into(),
        };
        Ok((self.name.as_str(), value))
    }

    fn integers<'a>(&self, numbers: &'a [i64]) -> ort::Result<SessionInputValue<'a>> {
        if self.element == Element::I32 {
            return self.owned(numbers.to_vec());
        }
        Ok(TensorRef::from_array_view(([1, numbers.len()], numbers))?.into())
    }

    #[expect(clippy::cast_possible_truncation, reason = "tokens and places are below 2³¹")]
    fn owned(&self, numbers: Vec<i64>) -> ort::Result<SessionInputValue<'static>> {
        let shape = [1, numbers.len()];
        if self.element == Element::I32 {
            let numbers: Vec<i32> = numbers.into_iter().map(|number| number as i32).collect();
            return Ok(Tensor::from_array((shape, numbers))?.into());
        }
        Ok(Tensor::from_array((shape, numbers))?.into())
    }
}

impl Counters {
    /// Makes room for a text of so many tokens.
    pub(crate) fn reach(&mut self, length: usize) {
        if self.ones.len() < length {
            self.ones.resize(length, 1);
            self.positions = (0..).take(length).collect();
        }
    }
}

/// The shape \[1, heads, 0, width\] of the keys or values of no tokens.
fn past(name: &str, shape: &[i64], decoder: Option<&DecoderCard>) -> Result<[usize; 4], String> {
    let &[_, heads, _, width] = shape else {
        return Err(format!("its input `{name}` has {} axes, not four", shape.len()));
    };
    let size = |fixed: i64, given: Option<usize>, key: &str| {
        usize::try_from(fixed).ok().filter(|&size| size > 0).or(given).ok_or_else(|| {
            format!(
                "its input `{name}` does not say how wide it is; set `{key}` in the table \
                 `[decoder]` of its card"
            )
        })
    };
    let heads = size(heads, decoder.map(|one| one.key_value_heads), "key-value-heads")?;
    let width = size(width, decoder.map(|one| one.head_dimensions), "head-dimensions")?;
    Ok([1, heads, 0, width])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(name: &str, element: Element, shape: &[i64]) -> Slot {
        Slot { name: name.to_owned(), element, shape: shape.to_vec() }
    }

    #[test]
    fn the_cache_of_a_decoder_is_empty_and_as_wide_as_it_wants() {
        let given = DecoderCard { key_value_heads: 8, head_dimensions: 128 };
        let kind = |shape: &[i64], decoder| {
            let asked = [slot("past_key_values.0.key", Element::F16, shape)];
            Input::all(&asked, decoder).map(|mut inputs| inputs.remove(0).kind)
        };
        assert_eq!(kind(&[-1, 2, -1, 4], None), Ok(Kind::Past([1, 2, 0, 4])));
        assert_eq!(kind(&[-1, -1, -1, 4], Some(&given)), Ok(Kind::Past([1, 8, 0, 4])));
        assert_eq!(kind(&[1, 2, 0, 4], Some(&given)), Ok(Kind::Past([1, 2, 0, 4])));
        let error = kind(&[-1, -1, -1, 4], None).unwrap_err();
        assert!(error.contains("past_key_values.0.key") && error.contains("key-value-heads"));
        assert!(kind(&[-1, 4], Some(&given)).unwrap_err().contains("2 axes"));
    }

    #[test]
    fn an_input_that_is_not_known_is_named() {
        let check = |name: &str, element, expected: &[&str]| {
            let error = Input::all(&[slot(name, element, &[-1, -1])], None).unwrap_err();
            assert!(expected.iter().all(|part| error.contains(part)), "{error}");
        };
        check("task_id", Element::I64, &["`task_id`", "export without it"]);
        check("input_ids", Element::F32, &["`input_ids`", "f32"]);
        check("past_key_values.1.value", Element::I64, &["past_key_values.1.value"]);
        let asked = ["input_ids", "attention_mask", "token_type_ids", "position_ids"]
            .map(|name| slot(name, Element::I32, &[-1, -1]));
        assert_eq!(Input::all(&asked, None).unwrap().len(), 4);
        let branch = [slot("use_cache_branch", Element::Bool, &[1])];
        assert_eq!(Input::all(&branch, None).unwrap().len(), 1);
    }
}
