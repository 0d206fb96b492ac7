//! Reads the weights of an ONNX model in 8-bit integers, as ONNX Runtime's dynamic quantiser writes
//! them: of a tensor `x` its integers `x_quantized`, one `x_scale` and one `x_zero_point`.
//! Field numbers are those of `onnx.proto`.
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>

use std::collections::BTreeMap;

use trefoil_core::{Error, Part, Result};

use super::{
    encoder::{Linear, Matrix, Norm},
    protobuf_reader::{Field, fields, numbers},
};

const FLOAT: u64 = 1;
const UINT8: u64 = 2;
const INT8: u64 = 3;

/// The file, parsed; tensors are borrowed from it.
#[derive(Debug, Default)]
pub(crate) struct Weights<'a> {
    tensors: BTreeMap<&'a str, Tensor<'a>>,
    /// By the name of a product of integers, the name of its matrix.
    matrices: BTreeMap<&'a str, &'a str>,
}

/// Numbers in the form in which the file has them.
#[derive(Debug, Default)]
struct Tensor<'a> {
    shape: Vec<usize>,
    element: u64,
    raw: &'a [u8],
    /// Floats in place of `raw`.
    floats: &'a [u8],
    /// Small integers in place of `raw`.
    integers: Vec<u64>,
}

/// A table of bytes: a number is `(byte - zero) · scale`.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) bytes: &'a [u8],
    pub(crate) zero: u8,
    pub(crate) scale: f32,
}

impl<'a> Weights<'a> {
    /// Parses the file.
    ///
    /// # Errors
    /// [`Error::Corrupt`].
    pub(crate) fn parse(file: &'a [u8]) -> Result<Self> {
        let mut weights = Self::default();
        for field in fields(file) {
            if let (7, Field::Bytes(graph)) = field.map_err(damaged)? {
                weights.graph(graph).map_err(damaged)?;
            }
        }
        Ok(weights)
    }

    /// Whether there is a tensor of that name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.tensors.contains_key(name)
    }

    /// The list of floats of that name.
    pub(crate) fn floats(&self, name: &str) -> Result<Vec<f32>> {
        let tensor = self.tensor(name, FLOAT)?;
        let bytes = if tensor.raw.is_empty() { tensor.floats } else { tensor.raw };
        let (floats, rest) = bytes.as_chunks();
        let floats: Vec<f32> = floats.iter().copied().map(f32::from_le_bytes).collect();
        if !rest.is_empty() || Some(floats.len()) != tensor.count() {
            return Err(damaged(format!("tensor `{name}` has {} bytes", bytes.len())));
        }
        if floats.iter().any(|number| !number.is_finite()) {
            return Err(damaged(format!("tensor `{name}` is not finite")));
        }
        Ok(floats)
    }

    /// The table of that name.
    pub(crate) fn table(&self, name: &str) -> Result<Table<'a>> {
        let [quantized, scale, zero] = names(name);
        let ([rows, columns], bytes) = self.matrix(&quantized, UINT8)?;
        let (scale, zero) = (self.scale(&scale)?, self.zero(&zero, UINT8)?);
        Ok(Table { rows, columns, bytes, zero, scale })
    }

    /// The matrix of the product of that name, with the bias of that name.
    pub(crate) fn linear(&self, product: &str, bias: &str) -> Result<Linear> {
        let matrix = self.matrices.get(product);
        let matrix = matrix.and_then(|matrix| matrix.strip_suffix("_quantized"));
        let matrix = matrix.ok_or_else(|| damaged(format!("product `{product}` is missing")))?;
        let [quantized, scale, zero] = names(matrix);
        let ([inputs, outputs], bytes) = self.matrix(&quantized, INT8)?;
        if self.zero(&zero, INT8)? != 0 {
            return Err(damaged(format!("`{zero}` is not 0")));
        }
        let integers = bytes.iter().copied().map(u8::cast_signed).collect();
        let scales = vec![self.scale(&scale)?; outputs];
        let bias = self.floats_of(bias, outputs)?;
        Ok(Linear { inputs, outputs, matrix: Matrix::Integers(integers, scales), bias })
    }

    /// The layer norm of that name, over so many numbers.
    pub(crate) fn norm(&self, name: &str, size: usize) -> Result<Norm> {
        let gain = self.floats_of(&format!("{name}.weight"), size)?;
        Ok(Norm { gain, bias: self.floats_of(&format!("{name}.bias"), size)? })
    }

    fn floats_of(&self, name: &str, count: usize) -> Result<Vec<f32>> {
        let floats = self.floats(name)?;
        if floats.len() == count {
            return Ok(floats);
        }
        Err(damaged(format!("tensor `{name}` has {} numbers, not {count}", floats.len())))
    }

    fn matrix(&self, name: &str, element: u64) -> Result<([usize; 2], &'a [u8])> {
        let tensor = self.tensor(name, element)?;
        match *tensor.shape {
            [rows, columns] if tensor.count() == Some(tensor.raw.len()) => {
                Ok(([rows, columns], tensor.raw))
            }
            _ => Err(damaged(format!("tensor `{name}` is no matrix of bytes"))),
        }
    }

    fn scale(&self, name: &str) -> Result<f32> {
        match *self.floats(name)? {
            [scale] => Ok(scale),
            _ => Err(damaged(format!("tensor `{name}` is not one number"))),
        }
    }

    fn zero(&self, name: &str, element: u64) -> Result<u8> {
        let tensor = self.tensor(name, element)?;
        let small = |&number: &u64| u8::try_from(number).ok();
        match (tensor.raw, &*tensor.integers) {
            (&[zero], []) => Some(zero),
            ([], [number]) => small(number),
            _ => None,
        }
        .ok_or_else(|| damaged(format!("tensor `{name}` is not one byte")))
    }

    fn tensor(&self, name: &str, element: u64) -> Result<&Tensor<'a>> {
        match self.tensors.get(name) {
            Some(tensor) if tensor.element == element => Ok(tensor),
            Some(_) => Err(damaged(format!("tensor `{name}` is of another type"))),
            None => Err(damaged(format!("tensor `{name}` is missing"))),
        }
    }

    fn graph(&mut self, graph: &'a [u8]) -> Result<(), String> {
        for field in fields(graph) {
            match field? {
                (1, Field::Bytes(node)) => self.node(node)?,
                (5, Field::Bytes(tensor)) => self.initializer(tensor)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn node(&mut self, node: &'a [u8]) -> Result<(), String> {
        let (mut name, mut operator, mut inputs) = ("", "", Vec::new());
        for field in fields(node) {
            match field? {
                (1, Field::Bytes(input)) => inputs.push(text(input)?),
                (3, Field::Bytes(bytes)) => name = text(bytes)?,
                (4, Field::Bytes(bytes)) => operator = text(bytes)?,
                _ => {}
            }
        }
        if let ("MatMulInteger", Some(matrix)) = (operator, inputs.get(1)) {
            self.matrices.insert(name, matrix);
        }
        Ok(())
    }

    fn initializer(&mut self, initializer: &'a [u8]) -> Result<(), String> {
        let (mut name, mut tensor) = ("", Tensor::default());
        for field in fields(initializer) {
            match field? {
                (1, field) => {
                    for size in numbers(field)? {
                        tensor.shape.push(usize::try_from(size).map_err(|e| e.to_string())?);
                    }
                }
                (2, Field::Number(element)) => tensor.element = element,
                (4, Field::Bytes(floats)) => tensor.floats = floats,
                (5, field) => tensor.integers.extend(numbers(field)?),
                (8, Field::Bytes(bytes)) => name = text(bytes)?,
                (9, Field::Bytes(raw)) => tensor.raw = raw,
                _ => {}
            }
        }
        self.tensors.insert(name, tensor);
        Ok(())
    }
}

impl Tensor<'_> {
    /// How many numbers its shape has; 1 without an axis.
    fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1_usize, |count, &size| count.checked_mul(size))
    }
}

impl Table<'_> {
    /// The numbers by rows.
    pub(crate) fn dequantized(&self) -> Vec<f32> {
        let number = |&byte: &u8| (f32::from(byte) - f32::from(self.zero)) * self.scale;
        self.bytes.iter().map(number).collect()
    }
}

fn names(tensor: &str) -> [String; 3] {
    ["quantized", "scale", "zero_point"].map(|part| format!("{tensor}_{part}"))
}

fn text(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "a name is no text".to_owned())
}

pub(crate) fn damaged(reason: impl Into<String>) -> Error {
    let reason = format!("weights in 8-bit integers: {}", reason.into());
    Error::Corrupt { part: Part::Model, reason }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;
    use crate::convert::protobuf::Message;

    /// A tensor with its numbers in a field of that number.
    fn tensor(name: &str, element: u64, shape: &[usize], field: u32, data: &[u8]) -> Message {
        let mut tensor = Message::default();
        for &size in shape {
            tensor.size(1, size);
        }
        tensor.size(2, usize::try_from(element).unwrap()).bytes(8, name).bytes(field, data);
        tensor
    }

    fn file(tensors: &[Message]) -> Vec<u8> {
        let mut graph = Message::default();
        let mut node = Message::default();
        node.bytes(1, "x").bytes(1, "w_quantized").bytes(3, "product").bytes(4, "MatMulInteger");
        graph.bytes(1, node);
        for tensor in tensors {
            graph.bytes(5, tensor);
        }
        let mut model = Message::default();
        model.int(1, 8).bytes(7, graph);
        model.into_bytes()
    }

    #[test]
    fn numbers_are_read_in_each_form_that_a_file_may_have() {
        let half = 0.5_f32.to_le_bytes();
        for (field, zero) in [(9, vec![0]), (5, vec![0])] {
            let file = file(&[
                tensor("w_quantized", INT8, &[2, 1], 9, &[1, 0xff]),
                tensor("w_scale", FLOAT, &[], 4, &half),
                tensor("w_zero_point", INT8, &[], field, &zero),
                tensor("b", FLOAT, &[1], 9, &half),
            ]);
            let linear = Weights::parse(&file).unwrap().linear("product", "b").unwrap();
            assert_eq!((linear.inputs, linear.outputs), (2, 1));
            assert!(
                matches!(&linear.matrix, Matrix::Integers(i, s) if i == &[1, -1] && s == &[0.5])
            );
            assert_eq!(linear.bias, [0.5]);
        }
        let file = file(&[
            tensor("t_quantized", UINT8, &[1, 2], 9, &[200, 86]),
            tensor("t_scale", FLOAT, &[], 4, &half),
            // 86 takes one byte as a number of its own, 200 two.
            tensor("t_zero_point", UINT8, &[], 5, &[86]),
        ]);
        let weights = Weights::parse(&file).unwrap();
        assert_eq!(weights.table("t").unwrap().dequantized(), [57.0, 0.0]);
        assert!(weights.has("t_scale") && !weights.has("t"));
    }

    #[test]
    fn what_does_not_fit_is_named() {
        let half = 0.5_f32.to_le_bytes();
        let sound = || {
            vec![
                tensor("w_quantized", INT8, &[2, 1], 9, &[1, 2]),
                tensor("w_scale", FLOAT, &[], 4, &half),
                tensor("w_zero_point", INT8, &[], 9, &[0]),
                tensor("b", FLOAT, &[1], 9, &half),
            ]
        };
        let check = |at: usize, other: Message, expected: &str| {
            let mut tensors = sound();
            tensors[at] = other;
            let file = file(&tensors);
            let found = Weights::parse(&file).unwrap().linear("product", "b");
            let error = found.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        check(0, tensor("w_quantized", INT8, &[2, 2], 9, &[1, 2]), "no matrix of bytes");
        check(0, tensor("w_quantized", UINT8, &[2, 1], 9, &[1, 2]), "of another type");
        check(0, tensor("w_quantized", INT8, &[2, 1, 1], 9, &[1, 2]), "no matrix of bytes");
        check(1, tensor("w_scale", FLOAT, &[2], 9, &[half, half].concat()), "not one number");
        check(1, tensor("w_scale", FLOAT, &[], 9, &f32::NAN.to_le_bytes()), "not finite");
        check(2, tensor("w_zero_point", INT8, &[], 9, &[1]), "is not 0");
        check(2, tensor("w_zero_point", INT8, &[], 9, &[]), "not one byte");
        check(3, tensor("b", FLOAT, &[2], 9, &half), "`b` has 4 bytes");
        check(3, tensor("b", FLOAT, &[0], 9, &[]), "`b` has 0 numbers, not 1");
        check(3, tensor("c", FLOAT, &[1], 9, &half), "`b` is missing");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Weights::parse(&bytes);
            let mut model = Message::default();
            model.bytes(7, &bytes);
            let file = model.into_bytes();
            if let Ok(weights) = Weights::parse(&file) {
                for name in weights.tensors.keys() {
                    let _ = (weights.floats(name), weights.table(name));
                }
            }
        }
    }
}
