//! The layers of a BERT encoder, as operations of an ONNX graph.
//!
//! One text a run: without padding there is no need of an attention mask. Matrices are 8-bit
//! integers, multiplied with activations that are quantised for each run, or stay in f32.

use std::collections::BTreeMap;

use trefoil_core::Result;

use super::onnx::{Attribute, Element, Graph};

/// Type number of 32-bit floats in a `Cast`.
pub(crate) const TO_FLOAT: Attribute<'static> = Attribute::Int("to", Element::Float as i64);
/// That of 64-bit integers.
pub(crate) const TO_INTEGER: Attribute<'static> = Attribute::Int("to", Element::Int64 as i64);
pub(crate) const LAST_AXIS: Attribute<'static> = Attribute::Int("axis", -1);

/// x·W + b.
#[derive(Debug)]
pub(crate) struct Linear {
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) matrix: Matrix,
    pub(crate) bias: Vec<f32>,
}

/// Numbers of W, an input after the other.
#[derive(Debug)]
pub(crate) enum Matrix {
    Floats(Vec<f32>),
    /// With one scale an output.
    Integers(Vec<i8>, Vec<f32>),
}

/// Gain and bias of a layer norm.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) gain: Vec<f32>,
    pub(crate) bias: Vec<f32>,
}

/// Matrices of a layer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinearPart {
    Query,
    Key,
    Value,
    AttentionOutput,
    Intermediate,
    Output,
}

/// Norms of a layer: after attention, and after the feed-forward part.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NormPart {
    Attention,
    FeedForward,
}

/// Where the numbers of a model are.
pub(crate) trait Parts {
    /// # Errors
    /// [`trefoil_core::Error::Corrupt`] if the file does not have it.
    fn linear(&self, layer: usize, part: LinearPart) -> Result<Linear>;

    /// # Errors
    /// Likewise.
    fn norm(&self, layer: usize, part: NormPart) -> Result<Norm>;
}

impl LinearPart {
    /// As it is named in the graph.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Query => "q",
            Self::Key => "k",
            Self::Value => "v",
            Self::AttentionOutput => "ao",
            Self::Intermediate => "fi",
            Self::Output => "fo",
        }
    }
}

impl NormPart {
    /// As it is named in the graph.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Attention => "aln",
            Self::FeedForward => "oln",
        }
    }
}

/// What a layer makes of tokens: names of values in the graph.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Their vectors, \[batch, queries, hidden\].
    pub(crate) hidden: String,
    /// How much each attends to each, \[batch, heads, queries, tokens\]; a row sums up to 1.
    pub(crate) attention: String,
}

/// One layer of a model.
struct Layer<'a, P> {
    parts: &'a P,
    number: usize,
}

impl<P: Parts> Layer<'_, P> {
    fn linear(&self, encoder: &mut Encoder, part: LinearPart, x: &str) -> Result<String> {
        let linear = self.parts.linear(self.number, part)?;
        Ok(encoder.linear(&self.named(part.name()), &linear, x))
    }

    fn norm(&self, encoder: &mut Encoder, part: NormPart, value: &str) -> Result<String> {
        let norm = self.parts.norm(self.number, part)?;
        Ok(encoder.norm(&self.named(part.name()), &norm, value))
    }

    fn named(&self, part: &str) -> String {
        format!("l{}.{part}", self.number)
    }
}

/// A graph being written, of a model with these sizes.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(crate) graph: Graph,
    hidden: usize,
    heads: usize,
    norm_epsilon: f32,
    /// Values as 8-bit integers, with their scale and zero point: each is quantised once.
    quantized: BTreeMap<String, [String; 3]>,
}

impl Encoder {
    pub(crate) fn new(hidden: usize, heads: usize, norm_epsilon: f32) -> Self {
        let (graph, quantized) = (Graph::default(), BTreeMap::new());
        Self { graph, hidden, heads, norm_epsilon, quantized }
    }

    /// Self-attention and the feed-forward part, each added to its input and normalised, for the
    /// tokens of `queries`: those of `hidden`, or some of them.
    pub(crate) fn layer(
        &mut self,
        parts: &impl Parts,
        number: usize,
        hidden: &str,
        queries: &str,
    ) -> Result<Encoded> {
        let layer = Layer { parts, number };
        let [attended, attention] = self.attention(&layer, hidden, queries)?;
        let attended = layer.linear(self, LinearPart::AttentionOutput, &attended)?;
        let sum = self.graph.op("Add", &[queries, &attended], &[]);
        let hidden = layer.norm(self, NormPart::Attention, &sum)?;

        let wide = layer.linear(self, LinearPart::Intermediate, &hidden)?;
        let wide = self.graph.op("Gelu", &[&wide], &[]);
        let narrow = layer.linear(self, LinearPart::Output, &wide)?;
        let sum = self.graph.op("Add", &[&hidden, &narrow], &[]);
        let hidden = layer.norm(self, NormPart::FeedForward, &sum)?;
        Ok(Encoded { hidden, attention })
    }

    /// softmax(QKᵀ/√d)·V over every head, and the softmax.
    fn attention(
        &mut self,
        layer: &Layer<'_, impl Parts>,
        hidden: &str,
        queries: &str,
    ) -> Result<[String; 2]> {
        let query = layer.linear(self, LinearPart::Query, queries)?;
        let key = layer.linear(self, LinearPart::Key, hidden)?;
        let value = layer.linear(self, LinearPart::Value, hidden)?;

        let (size, heads, graph) = (self.hidden, self.heads, &mut self.graph);
        let (head, number) = (size / heads, layer.number);
        let split = graph.sizes(&format!("l{number}.split"), &[0, 0, heads, head]);
        let joined = graph.sizes(&format!("l{number}.joined"), &[0, 0, size]);
        let scale = graph.floats(&format!("l{number}.scale"), &[], &[1.0 / (head as f32).sqrt()]);
        let mut by_head = |value: &str, order: &[i64]| {
            let value = graph.op("Reshape", &[value, &split], &[]);
            graph.op("Transpose", &[&value], &[Attribute::Ints("perm", order)])
        };
        let query = by_head(&query, &[0, 2, 1, 3]);
        let key = by_head(&key, &[0, 2, 3, 1]);
        let value = by_head(&value, &[0, 2, 1, 3]);
        let query = graph.op("Mul", &[&query, &scale], &[]);
        let scores = graph.op("MatMul", &[&query, &key], &[]);
        let weights = graph.op("Softmax", &[&scores], &[LAST_AXIS]);
        let attended = graph.op("MatMul", &[&weights, &value], &[]);
        let attended =
            graph.op("Transpose", &[&attended], &[Attribute::Ints("perm", &[0, 2, 1, 3])]);
        Ok([graph.op("Reshape", &[&attended, &joined], &[]), weights])
    }

    /// x·W + b, in the arithmetic of W.
    pub(crate) fn linear(&mut self, name: &str, linear: &Linear, x: &str) -> String {
        let (shape, graph) = ([linear.inputs, linear.outputs], &mut self.graph);
        let product = match &linear.matrix {
            Matrix::Floats(values) => {
                let values = graph.floats(name, &shape, values);
                graph.op("MatMul", &[x, &values], &[])
            }
            Matrix::Integers(integers, scales) => {
                let integers: Vec<u8> = integers.iter().copied().map(i8::cast_unsigned).collect();
                let integers = graph.tensor(name, Element::Int8, &shape, &integers);
                let scales = graph.floats(&format!("{name}.scale"), &[linear.outputs], scales);
                let quantize = || graph.op_n("DynamicQuantizeLinear", &[x], &[]);
                let [quantized, scale, zero] =
                    self.quantized.entry(x.to_owned()).or_insert_with(quantize);
                let product = graph.op("MatMulInteger", &[quantized, &integers, zero], &[]);
                let product = graph.op("Cast", &[&product], &[TO_FLOAT]);
                let scale = graph.op("Mul", &[scale, &scales], &[]);
                graph.op("Mul", &[&product, &scale], &[])
            }
        };
        let bias = graph.floats(&format!("{name}.bias"), &[linear.outputs], &linear.bias);
        graph.op("Add", &[&product, &bias], &[])
    }

    pub(crate) fn norm(&mut self, name: &str, norm: &Norm, value: &str) -> String {
        let gain = self.graph.floats(&format!("{name}.gain"), &[self.hidden], &norm.gain);
        let bias = self.graph.floats(&format!("{name}.bias"), &[self.hidden], &norm.bias);
        let epsilon = Attribute::Float("epsilon", self.norm_epsilon);
        self.graph.op("LayerNormalization", &[value, &gain, &bias], &[LAST_AXIS, epsilon])
    }

    /// The vectors of the first tokens of a text, one for each token: rows of a table.
    pub(crate) fn positions(&mut self, ids: &str, table: &str, zero: &str, one: &str) -> String {
        let graph = &mut self.graph;
        let shape = graph.op("Shape", &[ids], &[]);
        let length = graph.op("Gather", &[&shape, one], &[]);
        graph.op("Slice", &[table, zero, &length, zero], &[])
    }
}
