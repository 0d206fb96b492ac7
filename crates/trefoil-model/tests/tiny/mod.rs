//! Models of a few kilobytes with the shapes of those that people use: the ONNX file, what stands
//! next to it, and its tokenizer.
//!
//! Each token has a vector of pseudo-random numbers, so that texts that share words are near.

#![allow(dead_code, reason = "each test takes what it needs")]

#[allow(unreachable_pub, clippy::unreachable, reason = "it is that of the crate")]
#[path = "../../src/convert/protobuf.rs"]
mod protobuf;

#[path = "../../src/convert/onnx.rs"]
mod onnx;

pub(crate) mod tokenizer;

use std::{fs, path::Path};

pub(crate) use self::onnx::Element;
use self::onnx::{Attribute, Axis, Graph};

/// Numbers of a vector of each token.
pub(crate) const WIDTH: usize = 64;
/// Pieces that a tokenizer may have.
pub(crate) const PIECES: usize = 4096;
/// Places of tokens.
const PLACES: usize = 512;

/// A model as it is to be.
#[derive(Clone, Debug)]
pub(crate) struct Tiny {
    /// Its inputs besides `input_ids`.
    pub(crate) inputs: Vec<&'static str>,
    /// The type of the tokens.
    pub(crate) ids: Element,
    /// The type of its outputs, and of its cache.
    pub(crate) element: Element,
    /// Layers whose keys and values it takes, each with two heads of four numbers.
    pub(crate) layers: usize,
    /// Whether it says how wide they are.
    pub(crate) fixed_cache: bool,
    /// The file that its weights are in, if it is not its own.
    pub(crate) data: Option<&'static str>,
    /// What it gives, in order.
    pub(crate) outputs: Vec<Output>,
    /// What its numbers are multiplied by, such as NaN.
    pub(crate) factor: f32,
}

/// An output of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Output {
    /// A vector for each token \[1, tokens, 64\].
    Tokens(&'static str),
    /// The first so many numbers of the vector of each token.
    Projected(&'static str, usize),
    /// Their mean \[1, 64\].
    Mean(&'static str),
    /// One logit or several \[1, n\]: how much of the question is in the passage.
    Logits(&'static str, usize),
    /// The sigmoid of a logit.
    Probability(&'static str),
    /// The cache of the first layer.
    Cache(&'static str),
}

impl Default for Tiny {
    /// An encoder with a mask, as most are.
    fn default() -> Self {
        Self {
            inputs: vec!["attention_mask"],
            ids: Element::Int64,
            element: Element::Float,
            layers: 0,
            fixed_cache: true,
            data: None,
            outputs: vec![Output::Tokens("last_hidden_state")],
            factor: 1.0,
        }
    }
}

impl Tiny {
    /// How much a token counts: the first of a vocabulary, which are frequent, count less.
    fn weight(token: usize) -> f32 {
        0.05 + 0.95 * (token as f32 / 400.0).min(1.0)
    }

    /// The number along an axis of the vector of a token.
    pub(crate) fn number(token: usize, axis: usize) -> f32 {
        // splitmix64
        let mut x = (token * WIDTH + axis) as u64;
        x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let random = ((x ^ (x >> 31)) >> 40) as f32 / (1_u32 << 24) as f32 - 0.5;
        random * Self::weight(token)
    }

    /// Writes the file, and that of its weights next to it if it has one.
    pub(crate) fn write(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut graph = Graph::default();
        let table: Vec<u8> = (0..PIECES)
            .flat_map(|token| (0..WIDTH).map(move |axis| Self::number(token, axis)))
            .flat_map(|number| (number * self.factor).to_le_bytes())
            .collect();
        let shape = [PIECES, WIDTH];
        let table = match self.data {
            None => graph.tensor("table", Element::Float, &shape, &table),
            Some(name) => {
                fs::write(path.with_file_name(name), &table).unwrap();
                let length = table.len().to_string();
                graph.external("table", Element::Float, &shape, [name, "0", &length])
            }
        };
        let whole = [Axis::Named("batch"), Axis::Named("sequence")];
        let ids = graph.input("input_ids", self.ids, &whole);
        let mut hidden = graph.op("Gather", &[&table, &ids], &[]);
        for name in &self.inputs {
            hidden = self.with_input(&mut graph, name, &hidden);
        }
        let mut cache = None;
        for layer in 0..self.layers {
            for part in ["key", "value"] {
                let name = format!("past_key_values.{layer}.{part}");
                let past = self.cache(&mut graph, &name);
                hidden = shifted(&mut graph, &hidden, &past);
                cache.get_or_insert(past);
            }
        }
        for output in &self.outputs {
            self.give(&mut graph, *output, &hidden, &ids, cache.as_deref());
        }
        fs::write(path, graph.into_model("tiny", "test")).unwrap();
    }

    fn with_input(&self, graph: &mut Graph, name: &str, hidden: &str) -> String {
        let whole = [Axis::Named("batch"), Axis::Named("sequence")];
        match name {
            "attention_mask" => {
                let mask = graph.input(name, self.ids, &whole);
                let mask = graph.op("Cast", &[&mask], &[TO_FLOAT]);
                let last = graph.tensor("mask.axis", Element::Int64, &[1], &(-1_i64).to_le_bytes());
                let mask = graph.op("Unsqueeze", &[&mask, &last], &[]);
                // What is not seen has a vector of its own too.
                let half = graph.floats("mask.half", &[], &[0.5]);
                let mask = graph.op("Mul", &[&mask, &half], &[]);
                let mask = graph.op("Add", &[&mask, &half], &[]);
                graph.op("Mul", &[hidden, &mask], &[])
            }
            "token_type_ids" | "position_ids" => {
                let input = graph.input(name, self.ids, &whole);
                let small = |row: usize| (0..WIDTH).map(move |axis| Self::number(row + 9000, axis));
                let numbers: Vec<f32> = (0..PLACES).flat_map(small).map(|x| x * 0.02).collect();
                let table = graph.floats(&format!("{name}.table"), &[PLACES, WIDTH], &numbers);
                let rows = graph.op("Gather", &[&table, &input], &[]);
                graph.op("Add", &[hidden, &rows], &[])
            }
            "use_cache_branch" => {
                let branch = graph.input(name, Element::Bool, &[Axis::Fixed(1)]);
                let branch = graph.op("Cast", &[&branch], &[TO_FLOAT]);
                graph.op("Add", &[hidden, &branch], &[])
            }
            other => {
                let input = graph.input(other, Element::Int64, &[Axis::Fixed(1)]);
                let input = graph.op("Cast", &[&input], &[TO_FLOAT]);
                graph.op("Add", &[hidden, &input], &[])
            }
        }
    }

    fn cache(&self, graph: &mut Graph, name: &str) -> String {
        let (heads, width) = if self.fixed_cache {
            (Axis::Fixed(2), Axis::Fixed(4))
        } else {
            (Axis::Named("heads"), Axis::Named("width"))
        };
        let shape = [Axis::Named("batch"), heads, Axis::Named("past"), width];
        graph.input(name, self.element, &shape)
    }

    fn give(
        &self,
        graph: &mut Graph,
        output: Output,
        hidden: &str,
        ids: &str,
        cache: Option<&str>,
    ) {
        let token = |width| [Axis::Named("batch"), Axis::Named("sequence"), Axis::Fixed(width)];
        let (name, value, shape): (_, _, &[Axis<'_>]) = match output {
            Output::Tokens(name) => (name, hidden.to_owned(), &token(WIDTH)),
            Output::Projected(name, width) => {
                let [zero, end, axis] = [[0], [width], [2]]
                    .map(|size| graph.sizes(&format!("{name}.{}", size[0]), &size));
                (name, graph.op("Slice", &[hidden, &zero, &end, &axis], &[]), &token(width))
            }
            Output::Mean(name) => {
                let axis = graph.sizes(&format!("{name}.axis"), &[1]);
                let flat = Attribute::Int("keepdims", 0);
                let mean = graph.op("ReduceMean", &[hidden, &axis], &[flat]);
                (name, mean, &[Axis::Named("batch"), Axis::Fixed(WIDTH)])
            }
            Output::Logits(name, count) => {
                let logits = self.logits(graph, ids, count);
                (name, logits, &[Axis::Named("batch"), Axis::Fixed(count)])
            }
            Output::Probability(name) => {
                let logits = self.logits(graph, ids, 1);
                let shape = &[Axis::Named("batch"), Axis::Fixed(1)];
                (name, graph.op("Sigmoid", &[&logits], &[]), shape)
            }
            Output::Cache(name) => {
                let shape =
                    &[Axis::Named("batch"), Axis::Fixed(2), Axis::Named("past"), Axis::Fixed(4)];
                let cache = graph.op("Identity", &[cache.unwrap()], &[]);
                return graph.output(name, self.element, shape, &cache);
            }
        };
        let to = Attribute::Int("to", self.element as i64);
        let value = graph.op("Cast", &[&value], &[to]);
        graph.output(name, self.element, shape, &value);
    }

    /// Of the last logit: how much the tokens count that are equal to another, less 6; of those
    /// before it, that with the other sign.
    fn logits(&self, graph: &mut Graph, ids: &str, count: usize) -> String {
        let ids = graph.op("Cast", &[ids], &[Attribute::Int("to", Element::Int64 as i64)]);
        let [first, last] = [[1], [2]].map(|axis| graph.sizes(&format!("axis.{}", axis[0]), &axis));
        let rows = graph.op("Unsqueeze", &[&ids, &last], &[]);
        let columns = graph.op("Unsqueeze", &[&ids, &first], &[]);
        let equal = graph.op("Equal", &[&rows, &columns], &[]);
        let equal = graph.op("Cast", &[&equal], &[TO_FLOAT]);
        let weights: Vec<f32> = (0..PIECES).map(|token| Self::weight(token).powi(2)).collect();
        let weights = graph.floats("weights", &[PIECES], &weights);
        let weights = graph.op("Gather", &[&weights, &ids], &[]);
        let flat = Attribute::Int("keepdims", 0);
        let each = graph.op("ReduceSum", &[&equal, &last], &[flat]);
        let one = graph.floats("one", &[], &[1.0]);
        let others = graph.op("Sub", &[&each, &one], &[]);
        let counted = graph.op("Mul", &[&others, &weights], &[]);
        let sum = graph.op("ReduceSum", &[&counted, &first], &[flat]);
        let offset = graph.floats("offset", &[], &[6.0]);
        let logit = graph.op("Sub", &[&sum, &offset], &[]);
        let logit = graph.op("Unsqueeze", &[&logit, &first], &[]);
        let mut signs = vec![-self.factor; count];
        *signs.last_mut().unwrap() = self.factor;
        let signs = graph.floats("signs", &[1, count], &signs);
        graph.op("Mul", &[&logit, &signs], &[])
    }
}

/// `hidden` and 100 for each token that `past` is of: it is to be empty.
fn shifted(graph: &mut Graph, hidden: &str, past: &str) -> String {
    let shape = graph.op("Shape", &[past], &[]);
    let place = graph.sizes(&format!("{past}.axis"), &[2]);
    let length = graph.op("Gather", &[&shape, &place], &[]);
    let length = graph.op("Cast", &[&length], &[TO_FLOAT]);
    let hundred = graph.floats(&format!("{past}.hundred"), &[], &[100.0]);
    let shift = graph.op("Mul", &[&length, &hundred], &[]);
    graph.op("Add", &[hidden, &shift], &[])
}

const TO_FLOAT: Attribute<'_> = Attribute::Int("to", Element::Float as i64);

/// A safetensors file with a dense layer: `rows` and, if there is one, a bias.
pub(crate) fn dense(rows: &[Vec<f32>], bias: Option<&[f32]>) -> Vec<u8> {
    let bytes = |numbers: &[f32]| -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    };
    let weights = bytes(&rows.concat());
    let (outputs, inputs, end) = (rows.len(), rows[0].len(), weights.len());
    let mut header = serde_json::json!({
        "linear.weight": { "dtype": "F32", "shape": [outputs, inputs], "data_offsets": [0, end] }
    });
    let bias = bias.map(bytes).unwrap_or_default();
    if !bias.is_empty() {
        header["linear.bias"] = serde_json::json!({
            "dtype": "F32", "shape": [outputs], "data_offsets": [end, end + bias.len()]
        });
    }
    let header = serde_json::to_vec(&header).unwrap();
    [&(header.len() as u64).to_le_bytes(), header.as_slice(), &weights, &bias].concat()
}

/// An empty folder for models, with the runtime.
pub(crate) fn home() -> (tempfile::TempDir, trefoil_model::ModelHome) {
    let platform = trefoil_model::ModelHome::platform().unwrap();
    platform.pull(&["onnxruntime"], &(), trefoil_model::PullOptions::default()).unwrap();
    let from = platform.path("onnxruntime").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("runtime").join(from.file_name().unwrap());
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        let to = to.join(file.file_name());
        fs::hard_link(file.path(), &to).or_else(|_| fs::copy(file.path(), &to).map(drop)).unwrap();
    }
    let home = trefoil_model::ModelHome::at(folder.path());
    (folder, home)
}
