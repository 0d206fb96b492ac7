//! A BERT that scores pairs of texts, rewritten from an ONNX model in 8-bit integers.
//!
//! What the exporter has written takes a third more time: it masks attention, which one pair a run
//! does not need, takes its sizes apart at each layer, and its last layer asks for every token,
//! while the score is that of the first one. The integers stay as they are.

use trefoil_core::Result;

use super::{
    encoder::{Encoder, Linear, LinearPart, Norm, NormPart, Parts, TO_FLOAT},
    onnx::{Axis, Element},
    quantized_onnx::{Table, Weights, damaged},
};

/// That of BERT, which its weights do not tell.
const NORM_EPSILON: f32 = 1e-12;
const MOST_LAYERS: usize = 256;

/// The ONNX model: `input_ids` and `token_type_ids` \[batch, sequence\] of i64 to `logits`
/// \[batch, 1\] of f32. The same weights give the same bytes. `heads` are those of attention, which
/// the weights do not tell either.
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
    let [batch, sequence] = [Axis::Named("batch"), Axis::Named("sequence")];
    let input = |name| encoder.graph.input(name, Element::Int64, &[batch, sequence]);
    let [ids, types] = ["input_ids", "token_type_ids"].map(input);
    let mut tokens = bert.embeddings(&mut encoder, &ids, &types)?;
    for layer in 0..last {
        tokens = encoder.layer(&bert, layer, &tokens, &tokens)?;
    }
    let first = encoder.graph.op("Slice", &[&tokens, "zero", "one", "one"], &[]);
    let first = encoder.layer(&bert, last, &tokens, &first)?;
    let logits = bert.score(&mut encoder, &first)?;
    encoder.graph.output("logits", Element::Float, &[batch, Axis::Fixed(1)], &logits);
    Ok(encoder.graph.into_model("bert", "trefoil"))
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
