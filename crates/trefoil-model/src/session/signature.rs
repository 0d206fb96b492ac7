//! What an ONNX model takes and gives.

use std::fmt;

use ort::value::{Outlet, TensorElementType, ValueType};

/// Inputs and outputs of a model, in its order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) inputs: Vec<Slot>,
    pub(crate) outputs: Vec<Slot>,
}

/// An input or an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) element: Element,
    /// Sizes along the axes; −1 where it is not fixed.
    pub(crate) shape: Vec<i64>,
}

/// Type of the numbers of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F32,
    F16,
    I64,
    I32,
    Bool,
    Other,
}

impl Slot {
    pub(crate) fn of(outlet: &Outlet) -> Self {
        let (element, shape) = match outlet.dtype() {
            ValueType::Tensor { ty, shape, .. } => (Element::of(*ty), shape.to_vec()),
            ValueType::Sequence(_) | ValueType::Map { .. } | ValueType::Optional(_) => {
                (Element::Other, Vec::new())
            }
        };
        Self { name: outlet.name().to_owned(), element, shape }
    }
}

impl Element {
    #[expect(clippy::wildcard_enum_match_arm, reason = "what no text model takes or gives")]
    pub(crate) const fn of(element: TensorElementType) -> Self {
        match element {
            TensorElementType::Float32 => Self::F32,
            TensorElementType::Float16 => Self::F16,
            TensorElementType::Int64 => Self::I64,
            TensorElementType::Int32 => Self::I32,
            TensorElementType::Bool => Self::Bool,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::I64 => "i64",
            Self::I32 => "i32",
            Self::Bool => "bool",
            Self::Other => "another type",
        })
    }
}

/// Names of slots, for a message.
pub(crate) fn names(slots: &[Slot]) -> String {
    let names: Vec<String> = slots.iter().map(|slot| format!("`{}`", slot.name)).collect();
    names.join(", ")
}
