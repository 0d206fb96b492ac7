//! Writes an ONNX graph. Field numbers are those of `onnx.proto`.
//! <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>

use super::protobuf::Message;

/// Version of the file format; 9 came with operator set 20.
const IR_VERSION: i64 = 9;
/// Version of the operators: 18 brought bitwise ones, 20 `Gelu`.
const OPERATOR_SET: i64 = 20;

/// Element types of a tensor.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element {
    Float = 1,
    Uint8 = 2,
    Int8 = 3,
    #[cfg(test)]
    Int32 = 6,
    Int64 = 7,
    #[cfg(test)]
    Bool = 9,
    Float16 = 10,
}

/// Attribute of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attribute<'a> {
    Int(&'a str, i64),
    Float(&'a str, f32),
    Text(&'a str, &'a str),
    Ints(&'a str, &'a [i64]),
}

/// A size along an axis that is known, or named.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Axis<'a> {
    Fixed(usize),
    Named(&'a str),
}

/// A graph being written. Values are named by what made them, so that the same calls
/// give the same bytes.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    nodes: Vec<Message>,
    tensors: Vec<Message>,
    inputs: Vec<Message>,
    outputs: Vec<Message>,
    named: usize,
    bytes: usize,
}

impl Graph {
    /// Declares an input of the model; returns its name.
    pub(crate) fn input(&mut self, name: &str, element: Element, shape: &[Axis<'_>]) -> String {
        self.inputs.push(value_info(name, element, shape));
        name.to_owned()
    }

    /// Declares the value `from` as the model's output `name`.
    pub(crate) fn output(&mut self, name: &str, element: Element, shape: &[Axis<'_>], from: &str) {
        self.nodes.push(node("Identity", name, &[from], &[name], &[]));
        self.outputs.push(value_info(name, element, shape));
    }

    /// Adds a constant, given as little-endian bytes; returns its name.
    pub(crate) fn tensor(
        &mut self,
        name: &str,
        element: Element,
        shape: &[usize],
        data: &[u8],
    ) -> String {
        let mut tensor = Message::with_capacity(data.len() + name.len() + 64);
        for &size in shape {
            tensor.size(1, size);
        }
        tensor.int(2, element as i64).bytes(8, name).bytes(9, data);
        self.bytes += data.len();
        self.tensors.push(tensor);
        name.to_owned()
    }

    /// Adds a constant that is in a file next to the model, from byte `offset` on.
    #[cfg(test)]
    pub(crate) fn external(
        &mut self,
        name: &str,
        element: Element,
        shape: &[usize],
        [location, offset, length]: [&str; 3],
    ) -> String {
        const EXTERNAL: i64 = 1;
        let mut tensor = Message::default();
        for &size in shape {
            tensor.size(1, size);
        }
        tensor.int(2, element as i64).bytes(8, name);
        for (key, value) in [("location", location), ("offset", offset), ("length", length)] {
            let mut entry = Message::default();
            entry.bytes(1, key).bytes(2, value);
            tensor.bytes(13, entry);
        }
        tensor.int(14, EXTERNAL);
        self.tensors.push(tensor);
        name.to_owned()
    }

    /// Adds a constant of 32-bit floats.
    pub(crate) fn floats(&mut self, name: &str, shape: &[usize], data: &[f32]) -> String {
        let data: Vec<u8> = data.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.tensor(name, Element::Float, shape, &data)
    }

    /// Adds a constant list of sizes.
    pub(crate) fn sizes(&mut self, name: &str, data: &[usize]) -> String {
        let bytes: Vec<u8> = data.iter().flat_map(|&size| (size as u64).to_le_bytes()).collect();
        self.tensor(name, Element::Int64, &[data.len()], &bytes)
    }

    /// Adds an operation with one result; returns the name of the result.
    pub(crate) fn op(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> String {
        let [result] = self.op_n(operator, inputs, attributes);
        result
    }

    /// Adds an operation of that name, whose result has the name too.
    #[cfg(test)]
    pub(crate) fn named_op(&mut self, name: &str, operator: &str, inputs: &[&str]) {
        self.nodes.push(node(operator, name, inputs, &[name], &[]));
    }

    /// Adds an operation with `N` results.
    pub(crate) fn op_n<const N: usize>(
        &mut self,
        operator: &str,
        inputs: &[&str],
        attributes: &[Attribute<'_>],
    ) -> [String; N] {
        self.named += 1;
        let name = format!("{operator}_{}", self.named);
        let outputs: [String; N] =
            std::array::from_fn(|i| if i == 0 { name.clone() } else { format!("{name}_{i}") });
        let output_names: Vec<&str> = outputs.iter().map(String::as_str).collect();
        self.nodes.push(node(operator, &name, inputs, &output_names, attributes));
        outputs
    }

    /// The model file.
    pub(crate) fn into_model(self, name: &str, producer: &str) -> Vec<u8> {
        let mut graph = Message::with_capacity(self.bytes + (1 << 20));
        for node in &self.nodes {
            graph.bytes(1, node);
        }
        graph.bytes(2, name);
        // Each tensor is freed as soon as it is copied: they are most of the file.
        for tensor in self.tensors {
            graph.bytes(5, tensor);
        }
        for input in &self.inputs {
            graph.bytes(11, input);
        }
        for output in &self.outputs {
            graph.bytes(12, output);
        }
        let mut operators = Message::default();
        operators.bytes(1, "").int(2, OPERATOR_SET);
        let mut model = Message::with_capacity(graph.as_ref().len() + 256);
        model.int(1, IR_VERSION).bytes(2, producer).bytes(7, graph).bytes(8, operators);
        model.into_bytes()
    }
}

fn node(
    operator: &str,
    name: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[Attribute<'_>],
) -> Message {
    let mut node = Message::default();
    for input in inputs {
        node.bytes(1, input);
    }
    for output in outputs {
        node.bytes(2, output);
    }
    node.bytes(3, name).bytes(4, operator);
    for attribute in attributes {
        node.bytes(5, attribute.message());
    }
    node
}

fn value_info(name: &str, element: Element, shape: &[Axis<'_>]) -> Message {
    let mut dimensions = Message::default();
    for axis in shape {
        let mut dimension = Message::default();
        match axis {
            Axis::Fixed(size) => dimension.size(1, *size),
            Axis::Named(name) => dimension.bytes(2, name),
        };
        dimensions.bytes(1, dimension);
    }
    let mut tensor_type = Message::default();
    tensor_type.int(1, element as i64).bytes(2, dimensions);
    let mut value_type = Message::default();
    value_type.bytes(1, tensor_type);
    let mut info = Message::default();
    info.bytes(1, name).bytes(2, value_type);
    info
}

impl Attribute<'_> {
    fn message(&self) -> Message {
        const TYPE: u32 = 20;
        let mut message = Message::default();
        match *self {
            Self::Float(name, value) => message.bytes(1, name).float(2, value).int(TYPE, 1),
            Self::Int(name, value) => message.bytes(1, name).int(3, value).int(TYPE, 2),
            Self::Text(name, value) => message.bytes(1, name).bytes(4, value).int(TYPE, 3),
            Self::Ints(name, values) => {
                message.bytes(1, name);
                for &value in values {
                    message.int(8, value);
                }
                message.int(TYPE, 7)
            }
        };
        message
    }
}
