//! A BERT that scores pairs of texts, rewritten from an ONNX model in 8-bit integers.
//!
//! What the exporter has written takes a third more time: it masks attention, which one pair a run
//! does not need, takes its sizes apart at each layer, and its last layer asks for every token,
//! while the score is that of the first one. Besides, tokens that the question attends to least are
//! left out after half and after three quarters of the layers (decision 040). The integers stay as
//! they are.

use trefoil_core::Result;

use super::{
    encoder::{
        Encoded, Encoder, LAST_AXIS, Linear, LinearPart, Norm, NormPart, Parts, TO_FLOAT,
        TO_INTEGER,
    },
    onnx::{Attribute, Axis, Element, Graph},
    quantized_onnx::{Table, Weights, damaged},
};

/// That of BERT, which its weights do not tell.
const NORM_EPSILON: f32 = 1e-12;
const MOST_LAYERS: usize = 256;
/// At least so many tokens stay, besides the first: little is won with a pair that short.
const LEAST_KEPT: usize = 32;

/// The ONNX model: `input_ids` and `token_type_ids` \[1, sequence\] of i64 to `logits` \[1, 1\] of
/// f32. The same weights give the same bytes. `heads` are those of attention, which the weights do not
/// tell either.
///
/// After half of the layers a third of the tokens is left out, and after three quarters of them half
/// of the others; the first and 32 more always stay.
///
/// # Errors
/// [`trefoil_core::Error::Corrupt`] if a tensor is missing or has another size.
pub(crate) fn cross_encoder(source: &[u8], heads: usize) -> Result<Vec<u8>> {
    let weights = Weights::parse(source)?;
    let hidden = weights.floats("bert.embeddings.LayerNorm.weight")?.len();
    if heads == 0 || hidden == 0 || !hidden.is_multiple_of(heads) {
        return Err(damaged(format!("{hidden} numbers a token are not those of {heads} heads")));
    }
    let bert = Bert { weights, hidden };
    let layers = (0..MOST_LAYERS).take_while(|&layer| bert.has(layer)).count();
    let last = layers.checked_sub(1).ok_or_else(|| damaged("there is no layer"))?;

    let mut encoder = Encoder::new(hidden, heads, NORM_EPSILON);
    let [one, sequence] = [Axis::Fixed(1), Axis::Named("sequence")];
    let input = |name| encoder.graph.input(name, Element::Int64, &[one, sequence]);
    let [ids, types] = ["input_ids", "token_type_ids"].map(input);
    let hidden = bert.embeddings(&mut encoder, &ids, &types)?;
    let pruning = Pruning::declare(&mut encoder.graph);
    let mut tokens = Tokens { hidden, types };
    for layer in 0..last {
        let encoded = encoder.layer(&bert, layer, &tokens.hidden, &tokens.hidden)?;
        let done = layer + 1;
        let share = [(layers / 2, &pruning.two_thirds), (layers * 3 / 4, &pruning.half)];
        tokens = match share.into_iter().find(|&(after, _)| after == done) {
            Some((_, share)) => pruning.kept(&mut encoder.graph, share, &tokens.types, &encoded),
            None => Tokens { hidden: encoded.hidden, ..tokens },
        };
    }
    let first = encoder.graph.op("Slice", &[&tokens.hidden, "zero", "one", "one"], &[]);
    let first = encoder.layer(&bert, last, &tokens.hidden, &first)?.hidden;
    let logits = bert.score(&mut encoder, &first)?;
    encoder.graph.output("logits", Element::Float, &[one, one], &logits);
    Ok(encoder.graph.into_model("bert", "trefoil"))
}

/// The tokens that a layer goes over.
struct Tokens {
    /// Their vectors, \[1, tokens, hidden\].
    hidden: String,
    /// 0 for those of the question, the first of all among them, 1 for those of the passage;
    /// \[1, tokens\].
    types: String,
}

/// Constants of the graph that choose which tokens stay.
struct Pruning {
    one: String,
    half: String,
    two_thirds: String,
    end: String,
    least: String,
    first: String,
    heads_and_queries: String,
    heads_and_tokens: String,
}

impl Pruning {
    fn declare(graph: &mut Graph) -> Self {
        Self {
            one: graph.floats("kept.one", &[], &[1.0]),
            half: graph.floats("kept.half", &[], &[0.5]),
            two_thirds: graph.floats("kept.two_thirds", &[], &[2.0 / 3.0]),
            end: graph.tensor("kept.end", Element::Int64, &[1], &i64::MAX.to_le_bytes()),
            least: graph.sizes("kept.least", &[LEAST_KEPT]),
            first: graph.tensor("kept.first", Element::Int64, &[1, 1], &0_i64.to_le_bytes()),
            heads_and_queries: graph.sizes("kept.heads_queries", &[1, 2]),
            heads_and_tokens: graph.sizes("kept.heads_tokens", &[1, 3]),
        }
    }

    /// The first of the tokens, which the score is made of, and that share of the others that those of
    /// the question attend to most, summed up over heads and tokens. A later layer needs no order of
    /// them: their places are in their vectors.
    fn kept(&self, graph: &mut Graph, share: &str, types: &str, encoded: &Encoded) -> Tokens {
        let passage = graph.op("Cast", &[types], &[TO_FLOAT]);
        let question = graph.op("Sub", &[&self.one, &passage], &[]);
        let question = graph.op("Unsqueeze", &[&question, &self.heads_and_tokens], &[]);
        let attended = graph.op("Mul", &[&encoded.attention, &question], &[]);
        let summed = [Attribute::Int("keepdims", 0)];
        let attended = graph.op("ReduceSum", &[&attended, &self.heads_and_queries], &summed);
        let others = graph.op("Slice", &[&attended, "one", &self.end, "one"], &[]);

        let sizes = graph.op("Shape", &[&others], &[]);
        let all = graph.op("Gather", &[&sizes, "one"], &[]);
        let others_count = graph.op("Cast", &[&all], &[TO_FLOAT]);
        let kept_share = graph.op("Mul", &[&others_count, share], &[]);
        let kept_share = graph.op("Ceil", &[&kept_share], &[]);
        let kept_share = graph.op("Cast", &[&kept_share], &[TO_INTEGER]);
        let count = graph.op("Max", &[&kept_share, &self.least], &[]);
        let count = graph.op("Min", &[&count, &all], &[]);
        let [_, places] = graph.op_n("TopK", &[&others, &count], &[LAST_AXIS]);
        let places = graph.op("Add", &[&places, "one"], &[]);
        let second = [Attribute::Int("axis", 1)];
        let places = graph.op("Concat", &[&self.first, &places], &second);
        let places = graph.op("Squeeze", &[&places, "zero"], &[]);
        let [hidden, types] = [encoded.hidden.as_str(), types]
            .map(|all| graph.op("Gather", &[all, &places], &second));
        Tokens { hidden, types }
    }
}

struct Bert<'a> {
    weights: Weights<'a>,
    hidden: usize,
}

impl Bert<'_> {
    fn has(&self, layer: usize) -> bool {
        self.weights.has(&format!("bert.encoder.layer.{layer}.output.LayerNorm.weight"))
    }

    /// Word, segment and position embeddings, added and normalised. The table of words stays in
    /// bytes, and is unpacked row by row.
    fn embeddings(&self, encoder: &mut Encoder, ids: &str, types: &str) -> Result<String> {
        let table = |part: &str| {
            let table = self.weights.table(&format!("bert.embeddings.{part}_embeddings.weight"))?;
            let reason = || format!("the table of {part} has {} columns", table.columns);
            if table.columns == self.hidden { Ok(table) } else { Err(damaged(reason())) }
        };
        let (words, segments, positions) =
            (table("word")?, table("token_type")?, table("position")?);
        let graph = &mut encoder.graph;
        let shape = [words.rows, words.columns];
        let bytes = graph.tensor("embeddings.word", Element::Uint8, &shape, words.bytes);
        let zero_point = graph.floats("embeddings.word.zero", &[], &[f32::from(words.zero)]);
        let scale = graph.floats("embeddings.word.scale", &[], &[words.scale]);
        let mut floats = |name: &str, table: &Table<'_>| {
            graph.floats(name, &[table.rows, table.columns], &table.dequantized())
        };
        let segments = floats("embeddings.type", &segments);
        let positions = floats("embeddings.position", &positions);
        let (zero, one) = (graph.sizes("zero", &[0]), graph.sizes("one", &[1]));

        let word = graph.op("Gather", &[&bytes, ids], &[]);
        let word = graph.op("Cast", &[&word], &[TO_FLOAT]);
        let word = graph.op("Sub", &[&word, &zero_point], &[]);
        let word = graph.op("Mul", &[&word, &scale], &[]);
        let segment = graph.op("Gather", &[&segments, types], &[]);
        let sum = graph.op("Add", &[&word, &segment], &[]);
        let position = encoder.positions(ids, &positions, &zero, &one);
        let sum = encoder.graph.op("Add", &[&sum, &position], &[]);
        let norm = self.weights.norm("bert.embeddings.LayerNorm", self.hidden)?;
        Ok(encoder.norm("embeddings.ln", &norm, &sum))
    }

    /// The score of the vector of the first token.
    fn score(&self, encoder: &mut Encoder, first: &str) -> Result<String> {
        let pooler = self
            .weights
            .linear("/bert/pooler/dense/Gemm_MatMul_quant", "bert.pooler.dense.bias")?;
        let classifier = self.weights.linear("/classifier/Gemm_MatMul_quant", "classifier.bias")?;
        let flat = encoder.graph.sizes("flat", &[0, self.hidden]);
        let first = encoder.graph.op("Reshape", &[first, &flat], &[]);
        let pooled = encoder.linear("pooler", &pooler, &first);
        let pooled = encoder.graph.op("Tanh", &[&pooled], &[]);
        Ok(encoder.linear("classifier", &classifier, &pooled))
    }
}

impl Parts for Bert<'_> {
    fn linear(&self, layer: usize, part: LinearPart) -> Result<Linear> {
        let path = match part {
            LinearPart::Query => "attention/self/query",
            LinearPart::Key => "attention/self/key",
            LinearPart::Value => "attention/self/value",
            LinearPart::AttentionOutput => "attention/output/dense",
            LinearPart::Intermediate => "intermediate/dense",
            LinearPart::Output => "output/dense",
        };
        self.weights.linear(
            &format!("/bert/encoder/layer.{layer}/{path}/MatMul_quant"),
            &format!("bert.encoder.layer.{layer}.{}.bias", path.replace('/', ".")),
        )
    }

    fn norm(&self, layer: usize, part: NormPart) -> Result<Norm> {
        let path = match part {
            NormPart::Attention => "attention.output",
            NormPart::FeedForward => "output",
        };
        self.weights.norm(&format!("bert.encoder.layer.{layer}.{path}.LayerNorm"), self.hidden)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{convert::onnx::Graph, draft::onnx_header::OnnxHeader};

    const HIDDEN: usize = 8;

    /// The smallest model there can be, but for what is left out.
    fn tiny(layers: usize, without: &str) -> Vec<u8> {
        let mut graph = Graph::default();
        let floats = |graph: &mut Graph, name: &str, count: usize| {
            if name != without {
                graph.floats(name, &[count], &vec![0.5; count]);
            }
        };
        let bytes = |graph: &mut Graph, name: &str, element, shape: [usize; 2]| {
            graph.tensor(
                &format!("{name}_quantized"),
                element,
                &shape,
                &vec![3; shape[0] * shape[1]],
            );
            graph.floats(&format!("{name}_scale"), &[], &[0.25]);
            graph.tensor(&format!("{name}_zero_point"), element, &[], &[0]);
        };
        let norm = |graph: &mut Graph, name: &str| {
            floats(graph, &format!("{name}.LayerNorm.weight"), HIDDEN);
            floats(graph, &format!("{name}.LayerNorm.bias"), HIDDEN);
        };
        for (part, rows) in [("word", 5), ("token_type", 2), ("position", 6)] {
            let name = format!("bert.embeddings.{part}_embeddings.weight");
            bytes(&mut graph, &name, Element::Uint8, [rows, HIDDEN]);
        }
        norm(&mut graph, "bert.embeddings");
        let linear = |graph: &mut Graph, product: &str, bias: &str, shape: [usize; 2]| {
            bytes(graph, product, Element::Int8, shape);
            if product != without {
                graph.named_op(product, "MatMulInteger", &["x", &format!("{product}_quantized")]);
            }
            floats(graph, bias, shape[1]);
        };
        for layer in 0..layers {
            for (path, shape) in [
                ("attention/self/query", [HIDDEN, HIDDEN]),
                ("attention/self/key", [HIDDEN, HIDDEN]),
                ("attention/self/value", [HIDDEN, HIDDEN]),
                ("attention/output/dense", [HIDDEN, HIDDEN]),
                ("intermediate/dense", [HIDDEN, 16]),
                ("output/dense", [16, HIDDEN]),
            ] {
                let product = format!("/bert/encoder/layer.{layer}/{path}/MatMul_quant");
                let bias = path.replace('/', ".");
                let bias = format!("bert.encoder.layer.{layer}.{bias}.bias");
                linear(&mut graph, &product, &bias, shape);
            }
            norm(&mut graph, &format!("bert.encoder.layer.{layer}.attention.output"));
            norm(&mut graph, &format!("bert.encoder.layer.{layer}.output"));
        }
        let pooler = "/bert/pooler/dense/Gemm_MatMul_quant";
        linear(&mut graph, pooler, "bert.pooler.dense.bias", [HIDDEN, HIDDEN]);
        linear(&mut graph, "/classifier/Gemm_MatMul_quant", "classifier.bias", [HIDDEN, 1]);
        graph.into_model("tiny", "test")
    }

    #[test]
    fn a_pair_is_scored_without_a_mask() {
        // Of two layers one leaves tokens out, of four two do.
        cross_encoder(&tiny(4, ""), 2).unwrap();
        let source = tiny(2, "");
        let model = cross_encoder(&source, 2).unwrap();
        assert_eq!(model, cross_encoder(&source, 2).unwrap());
        let header = OnnxHeader::read(Cursor::new(model)).unwrap();
        let names = |slots: &[crate::session::signature::Slot]| -> Vec<String> {
            slots.iter().map(|slot| slot.name.clone()).collect()
        };
        assert_eq!(names(&header.signature.inputs), ["input_ids", "token_type_ids"]);
        assert_eq!(names(&header.signature.outputs), ["logits"]);
    }

    #[test]
    fn what_is_missing_is_named() {
        let check = |layers, without: &str, heads, expected: &str| {
            let error = cross_encoder(&tiny(layers, without), heads).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        };
        for name in [
            "bert.embeddings.LayerNorm.bias",
            "bert.encoder.layer.1.intermediate.dense.bias",
            "bert.encoder.layer.0.attention.output.LayerNorm.weight",
            "/bert/encoder/layer.1/attention/self/key/MatMul_quant",
            "/classifier/Gemm_MatMul_quant",
        ] {
            check(2, name, 2, &format!("`{name}` is missing"));
        }
        check(0, "", 2, "no layer");
        check(1, "", 3, "3 heads");
        check(1, "", 0, "0 heads");
    }

    #[test]
    fn every_cut_is_an_error() {
        let file = tiny(1, "");
        for length in 0..file.len() - 20 {
            assert!(cross_encoder(&file[..length], 2).is_err(), "{length}");
        }
    }
}
