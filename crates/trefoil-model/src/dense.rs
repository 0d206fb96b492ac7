//! Dense layers that stand after a model: `2_Dense` of a Sentence Transformers repository.

mod safetensors;

use std::{fs, path::Path};

use ndarray::{Array1, Array2, ArrayView1, ArrayView2};
use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Part, Result};

use self::safetensors::SafeTensors;
use crate::card::DenseCard;

/// What is applied to each number after a dense layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Activation {
    /// Nothing.
    #[default]
    Identity,
    /// The hyperbolic tangent.
    Tanh,
    /// 0 for what is negative.
    Relu,
    /// The logistic function.
    Sigmoid,
}

/// `activation(W·x + b)`.
#[derive(Clone, Debug, PartialEq)]
struct Dense {
    /// A row for each number that comes out.
    weights: Array2<f32>,
    bias: Option<Array1<f32>>,
    activation: Activation,
}

/// Dense layers, one after the other; none leaves a vector as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Projection(Vec<Dense>);

impl Projection {
    /// The layers of a card, from the files in the folder of its model, the last of which gives
    /// `width` numbers.
    ///
    /// # Errors
    /// [`Error::Io`], [`Error::Corrupt`] for a file that is damaged or of another shape.
    pub(crate) fn load(folder: &Path, cards: &[DenseCard], width: usize) -> Result<Self> {
        let mut layers: Vec<Dense> = Vec::with_capacity(cards.len());
        for (card, next) in cards.iter().zip(1..) {
            let path = folder.join(&card.file);
            let bytes = fs::read(&path).map_err(|error| Error::io("read", &path, error))?;
            let fits = |layer: Dense| {
                let (gives, takes) = layer.weights.dim();
                let given = layers.last().map_or(takes, |before| before.weights.nrows());
                if takes != given {
                    return Err(format!("it takes {takes} numbers, and is given {given}"));
                }
                if next == cards.len() && gives != width {
                    return Err(format!("it gives {gives} numbers, the card has {width}"));
                }
                Ok(layer)
            };
            let layer = Dense::parse(&bytes, card.activation).and_then(fits).map_err(|reason| {
                let reason = format!("dense layer `{}`: {reason}", path.display());
                Error::Corrupt { part: Part::Model, reason }
            })?;
            layers.push(layer);
        }
        Ok(Self(layers))
    }

    /// How many numbers it takes, if it has a layer.
    pub(crate) fn takes(&self) -> Option<usize> {
        self.0.first().map(|layer| layer.weights.ncols())
    }

    /// Applies it to one vector.
    pub(crate) fn apply(&self, vector: Vec<f32>) -> Vec<f32> {
        self.0.iter().fold(vector, |vector, layer| layer.apply(&vector))
    }

    /// Applies it to each row.
    pub(crate) fn apply_rows(&self, rows: Array2<f32>) -> Array2<f32> {
        self.0.iter().fold(rows, |rows, layer| layer.apply_rows(&rows.view()))
    }
}

impl Dense {
    /// A layer of a safetensors file with `linear.weight` and, if it has one, `linear.bias`.
    fn parse(bytes: &[u8], activation: Activation) -> Result<Self, String> {
        let file = SafeTensors::parse(bytes)?;
        let (shape, weights) = file
            .tensor("linear.weight")?
            .ok_or_else(|| format!("it has no `linear.weight` but {}", file.names()))?;
        let &[outputs, inputs] = shape.as_slice() else {
            return Err(format!("`linear.weight` has the shape {shape:?}, not two axes"));
        };
        let weights = Array2::from_shape_vec((outputs, inputs), weights)
            .map_err(|error| format!("`linear.weight`: {error}"))?;
        let bias = match file.tensor("linear.bias")? {
            None => None,
            Some((shape, bias)) if shape == [outputs] => Some(Array1::from_vec(bias)),
            Some((shape, _)) => {
                return Err(format!("`linear.bias` has the shape {shape:?}, not [{outputs}]"));
            }
        };
        if weights.iter().chain(bias.iter().flatten()).any(|number| !number.is_finite()) {
            return Err("it holds a number that is not finite".to_owned());
        }
        Ok(Self { weights, bias, activation })
    }

    /// Applies it to one vector.
    fn apply(&self, vector: &[f32]) -> Vec<f32> {
        let mut out = self.weights.dot(&ArrayView1::from(vector));
        if let Some(bias) = &self.bias {
            out += bias;
        }
        out.mapv_inplace(|x| self.activation.of(x));
        out.to_vec()
    }

    /// Applies it to each row.
    fn apply_rows(&self, rows: &ArrayView2<'_, f32>) -> Array2<f32> {
        let mut out = rows.dot(&self.weights.t());
        if let Some(bias) = &self.bias {
            out += bias;
        }
        out.mapv_inplace(|x| self.activation.of(x));
        out
    }
}

impl Activation {
    fn of(self, x: f32) -> f32 {
        match self {
            Self::Identity => x,
            Self::Tanh => x.tanh(),
            Self::Relu => x.max(0.0),
            Self::Sigmoid => 1.0 / (1.0 + (-x).exp()),
        }
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use safetensors::tests::file;

    use super::*;

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn a_layer_multiplies_adds_and_bends() {
        let weights = floats(&[1.0, 2.0, 0.0, -1.0, 0.5, 0.0]);
        let bias = floats(&[0.5, -10.0, 0.0]);
        let bytes = file(&[
            ("linear.weight", "F32", &[3, 2], &weights),
            ("linear.bias", "F32", &[3], &bias),
        ]);
        let apply = |activation| Dense::parse(&bytes, activation).unwrap().apply(&[2.0, 3.0]);
        assert_eq!(apply(Activation::Identity), [8.5, -13.0, 1.0]);
        assert_eq!(apply(Activation::Relu), [8.5, 0.0, 1.0]);
        assert_eq!(apply(Activation::Tanh)[2], 1.0_f32.tanh());
        assert!(apply(Activation::Sigmoid)[1] < 1e-5);
        let layer = Dense::parse(&bytes, Activation::Identity).unwrap();
        let rows = layer.apply_rows(&array![[2.0, 3.0], [0.0, 0.0]].view());
        assert_eq!(rows, array![[8.5, -13.0, 1.0], [0.5, -10.0, 0.0]]);
    }

    #[test]
    fn layers_that_do_not_fit_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
        let layer = |outputs: usize, inputs: usize| {
            let weights = floats(&vec![1.0; outputs * inputs]);
            file(&[("linear.weight", "F32", &[outputs, inputs], &weights)])
        };
        write("a", &layer(3, 2));
        write("b", &layer(2, 3));
        let load = |names: &[&str]| {
            let cards: Vec<DenseCard> = names
                .iter()
                .map(|name| DenseCard {
                    file: (*name).to_owned(),
                    activation: Activation::Identity,
                })
                .collect();
            Projection::load(folder.path(), &cards, 2)
        };
        let both = load(&["a", "b"]).unwrap();
        assert_eq!((both.takes(), both.apply(vec![1.0, 2.0])), (Some(2), vec![9.0, 9.0]));
        assert_eq!(load(&["b"]).unwrap().takes(), Some(3));
        for misfit in [&["a"][..], &["b", "b"]] {
            assert!(matches!(load(misfit), Err(Error::Corrupt { .. })), "{misfit:?}");
        }
        assert_eq!(load(&[]).unwrap().apply(vec![1.0]), [1.0]);
        assert!(matches!(load(&["absent"]), Err(Error::Io { .. })));
        for bad in [
            file(&[("weight", "F32", &[1, 2], &floats(&[1.0, 2.0]))]),
            file(&[("linear.weight", "F32", &[2], &floats(&[1.0, 2.0]))]),
            file(&[("linear.weight", "F32", &[1, 2], &floats(&[1.0, f32::NAN]))]),
            file(&[("linear.weight", "I64", &[1, 2], &[0; 16])]),
            b"not safetensors".to_vec(),
        ] {
            write("bad", &bad);
            assert!(matches!(load(&["bad"]), Err(Error::Corrupt { .. })));
        }
    }
}
