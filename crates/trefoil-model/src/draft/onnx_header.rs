//! What an ONNX file says of itself, read without its weights. Field numbers are those of
//! `onnx.proto`. <https://github.com/onnx/onnx/blob/main/onnx/onnx.proto>

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, BufReader, Read, Seek, SeekFrom},
};

use trefoil_core::Quantization;

use crate::session::signature::{Element, Signature, Slot};

/// Subgraphs within subgraphs that are followed.
const DEPTH: usize = 8;
/// The longest name, in bytes.
const LONGEST_NAME: u64 = 1 << 16;

/// Inputs and outputs of a model, the files that it needs, and the kind of its weights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OnnxHeader {
    pub(crate) signature: Signature,
    /// Files with weights, relative to that of the model.
    pub(crate) external: BTreeSet<String>,
    /// How many weights there are of each element type.
    weights: BTreeMap<u64, u64>,
    /// Whether products are of 4-bit weights in blocks.
    has_int4: bool,
    initializers: BTreeSet<String>,
}

impl OnnxHeader {
    /// Reads a file. The error is a reason.
    pub(crate) fn read<R: Read + Seek>(file: R) -> Result<Self, String> {
        let mut reader = Reader { inner: BufReader::with_capacity(1 << 16, file), at: 0, value: 0 };
        let end = reader.length().map_err(|error| error.to_string())?;
        let mut header = Self::default();
        let mut has_graph = false;
        reader
            .fields(end, |reader, field, end| match (field, end) {
                (7, Some(end)) => {
                    has_graph = true;
                    header.graph(reader, end, DEPTH)
                }
                _ => Ok(()),
            })
            .map_err(|error| match error {
                error if error.kind() == io::ErrorKind::UnexpectedEof => "it is cut off".to_owned(),
                error => error.to_string(),
            })?;
        if !has_graph {
            return Err("it holds no graph".to_owned());
        }
        // Until version 4 of the format, weights are inputs too.
        let Self { signature, initializers, .. } = &mut header;
        signature.inputs.retain(|slot| !initializers.contains(&slot.name));
        Ok(header)
    }

    /// The arithmetic of most of its weights.
    pub(crate) fn quantization(&self) -> Quantization {
        const FLOAT16: u64 = 10;
        const BFLOAT16: u64 = 16;
        const BYTES: [u64; 2] = [2, 3];
        const HALF_BYTES: [u64; 2] = [21, 22];
        let most = self.weights.iter().max_by_key(|(_, count)| **count).map(|(kind, _)| *kind);
        match most {
            _ if self.has_int4 => Quantization::Int4,
            Some(kind) if HALF_BYTES.contains(&kind) => Quantization::Int4,
            Some(kind) if BYTES.contains(&kind) => Quantization::Int8,
            Some(FLOAT16 | BFLOAT16) => Quantization::F16,
            _ => Quantization::F32,
        }
    }

    fn graph<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        end: u64,
        depth: usize,
    ) -> io::Result<()> {
        let is_main = depth == DEPTH;
        reader.fields(end, |reader, field, end| match (field, end) {
            (1, Some(end)) => self.node(reader, end, depth),
            (5, Some(end)) => self.tensor(reader, end),
            (11, Some(end)) if is_main => {
                self.signature.inputs.push(slot(reader, end)?);
                Ok(())
            }
            (12, Some(end)) if is_main => {
                self.signature.outputs.push(slot(reader, end)?);
                Ok(())
            }
            _ => Ok(()),
        })
    }

    fn node<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
        end: u64,
        depth: usize,
    ) -> io::Result<()> {
        reader.fields(end, |reader, field, end| match (field, end) {
            (4, Some(end)) => {
                self.has_int4 |= reader.text(end)? == "MatMulNBits";
                Ok(())
            }
            // An attribute, whose value may be a tensor, a graph or several.
            (5, Some(end)) => reader.fields(end, |reader, field, end| match (field, end) {
                (5, Some(end)) => self.tensor(reader, end),
                (6 | 11, Some(end)) if depth > 0 => self.graph(reader, end, depth - 1),
                _ => Ok(()),
            }),
            _ => Ok(()),
        })
    }

    fn tensor<R: Read + Seek>(&mut self, reader: &mut Reader<R>, end: u64) -> io::Result<()> {
        let (mut count, mut kind) = (1_u64, 0);
        reader.fields(end, |reader, field, end| {
            match (field, end) {
                (1, None) => count = count.saturating_mul(reader.value),
                (1, Some(end)) => {
                    while reader.at < end {
                        count = count.saturating_mul(reader.varint()?);
                    }
                }
                (2, None) => kind = reader.value,
                (8, Some(end)) => {
                    let name = reader.text(end)?;
                    self.initializers.insert(name);
                }
                (13, Some(end)) => {
                    let (mut key, mut value) = (String::new(), String::new());
                    reader.fields(end, |reader, field, end| {
                        match (field, end) {
                            (1, Some(end)) => key = reader.text(end)?,
                            (2, Some(end)) => value = reader.text(end)?,
                            _ => {}
                        }
                        Ok(())
                    })?;
                    if key == "location" {
                        self.external.insert(value);
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        let all = self.weights.entry(kind).or_default();
        *all = all.saturating_add(count);
        Ok(())
    }
}

/// An input or an output.
fn slot<R: Read + Seek>(reader: &mut Reader<R>, end: u64) -> io::Result<Slot> {
    let mut slot = Slot { name: String::new(), element: Element::Other, shape: Vec::new() };
    reader.fields(end, |reader, field, end| match (field, end) {
        (1, Some(end)) => {
            slot.name = reader.text(end)?;
            Ok(())
        }
        // The type, and in it that of a tensor.
        (2, Some(end)) => reader.fields(end, |reader, field, end| match (field, end) {
            (1, Some(end)) => reader.fields(end, |reader, field, end| match (field, end) {
                (1, None) => {
                    slot.element = element(reader.value);
                    Ok(())
                }
                (2, Some(end)) => reader.fields(end, |reader, field, end| {
                    if let (1, Some(end)) = (field, end) {
                        slot.shape.push(axis(reader, end)?);
                    }
                    Ok(())
                }),
                _ => Ok(()),
            }),
            _ => Ok(()),
        }),
        _ => Ok(()),
    })?;
    Ok(slot)
}

/// The size along an axis; −1 where it has a name.
fn axis<R: Read + Seek>(reader: &mut Reader<R>, end: u64) -> io::Result<i64> {
    let mut size = -1;
    reader.fields(end, |reader, field, end| {
        if let (1, None) = (field, end) {
            size = reader.value.cast_signed();
        }
        Ok(())
    })?;
    Ok(size)
}

const fn element(kind: u64) -> Element {
    match kind {
        1 => Element::F32,
        6 => Element::I32,
        7 => Element::I64,
        9 => Element::Bool,
        10 => Element::F16,
        _ => Element::Other,
    }
}

/// Reads protocol buffers field by field, and steps over what is not asked for.
struct Reader<R> {
    inner: BufReader<R>,
    at: u64,
    value: u64,
}

impl<R: Read + Seek> Reader<R> {
    fn length(&mut self) -> io::Result<u64> {
        let length = self.inner.seek(SeekFrom::End(0))?;
        self.inner.seek(SeekFrom::Start(0))?;
        Ok(length)
    }

    /// Calls `read` for each field of the message that ends at `end`: with its number and, if it
    /// holds bytes, where they end. `value` is the number of one that holds a number. What `read`
    /// leaves is stepped over.
    fn fields(
        &mut self,
        end: u64,
        mut read: impl FnMut(&mut Self, u64, Option<u64>) -> io::Result<()>,
    ) -> io::Result<()> {
        while self.at < end {
            let tag = self.varint()?;
            let until = match tag & 7 {
                0 => {
                    self.value = self.varint()?;
                    None
                }
                1 => Some(8),
                2 => Some(self.varint()?),
                5 => Some(4),
                wire => return Err(invalid(format!("it has a field of type {wire}"))),
            };
            let until = until.map(|length| self.at.checked_add(length)).map(|until| {
                until.filter(|&until| until <= end).ok_or(io::ErrorKind::UnexpectedEof)
            });
            let until = until.transpose()?;
            read(self, tag >> 3, until)?;
            if let Some(until) = until {
                let rest = until.checked_sub(self.at).ok_or(io::ErrorKind::UnexpectedEof)?;
                self.inner.seek_relative(i64::try_from(rest).map_err(io::Error::other)?)?;
                self.at = until;
            }
        }
        if self.at == end { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    fn varint(&mut self) -> io::Result<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let mut byte = [0];
            self.inner.read_exact(&mut byte)?;
            self.at += 1;
            let [byte] = byte;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(invalid("it has a number of more than ten bytes".to_owned()))
    }

    fn text(&mut self, end: u64) -> io::Result<String> {
        let length = end.saturating_sub(self.at);
        if length > LONGEST_NAME {
            return Err(invalid(format!("it has a name of {length} bytes")));
        }
        let mut bytes = Vec::new();
        self.inner.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at = end;
        String::from_utf8(bytes).map_err(|_| invalid("it has a name that is no text".to_owned()))
    }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::{any, proptest};

    use super::*;
    use crate::convert::onnx::{self, Axis, Graph};

    fn model() -> Vec<u8> {
        let mut graph = Graph::default();
        let open = [Axis::Named("batch"), Axis::Named("sequence")];
        graph.input("input_ids", onnx::Element::Int64, &open);
        graph.input("attention_mask", onnx::Element::Int32, &open);
        graph.input("use_cache_branch", onnx::Element::Bool, &[Axis::Fixed(1)]);
        // As files of old versions have it.
        graph.input("small", onnx::Element::Float, &[Axis::Fixed(2)]);
        graph.floats("small", &[2], &[1.0, 2.0]);
        let place = ["model.onnx_data", "0", "12"];
        let large = graph.external("large", onnx::Element::Float16, &[2, 3], place);
        graph.output(
            "last_hidden_state",
            onnx::Element::Float16,
            &[open[0], Axis::Fixed(3)],
            &large,
        );
        graph.into_model("tiny", "test")
    }

    #[test]
    fn a_file_says_what_it_takes_gives_and_needs() {
        let header = OnnxHeader::read(Cursor::new(model())).unwrap();
        let slots = |slots: &[Slot]| -> Vec<(String, Element, Vec<i64>)> {
            slots.iter().map(|s| (s.name.clone(), s.element, s.shape.clone())).collect()
        };
        assert_eq!(
            slots(&header.signature.inputs),
            [
                ("input_ids".to_owned(), Element::I64, vec![-1, -1]),
                ("attention_mask".to_owned(), Element::I32, vec![-1, -1]),
                ("use_cache_branch".to_owned(), Element::Bool, vec![1]),
            ]
        );
        assert_eq!(
            slots(&header.signature.outputs),
            [("last_hidden_state".to_owned(), Element::F16, vec![-1, 3])]
        );
        assert_eq!(header.external, BTreeSet::from(["model.onnx_data".to_owned()]));
        assert_eq!(header.quantization(), Quantization::F16);
    }

    #[test]
    fn the_kind_of_most_weights_is_that_of_the_model() {
        let of = |kind, count: usize, operator: &str| {
            let mut graph = Graph::default();
            graph.floats("scale", &[3], &[1.0; 3]);
            graph.tensor("weights", kind, &[count], &[0; 64]);
            graph.op(operator, &["weights"], &[]);
            let file = graph.into_model("tiny", "test");
            OnnxHeader::read(Cursor::new(file)).unwrap().quantization()
        };
        assert_eq!(of(onnx::Element::Int8, 64, "MatMulInteger"), Quantization::Int8);
        assert_eq!(of(onnx::Element::Uint8, 64, "MatMulNBits"), Quantization::Int4);
        assert_eq!(of(onnx::Element::Float16, 32, "MatMul"), Quantization::F16);
        assert_eq!(of(onnx::Element::Int8, 2, "MatMul"), Quantization::F32);
    }

    #[test]
    fn what_is_cut_off_is_no_model() {
        let whole = model();
        for cut in 0..whole.len() {
            // The fields after the graph may be missing.
            if let Ok(header) = OnnxHeader::read(Cursor::new(&whole[..cut])) {
                assert_eq!(header.signature.outputs.len(), 1, "{cut}");
            }
        }
        assert!(OnnxHeader::read(Cursor::new(b"not a model")).is_err());
        assert!(OnnxHeader::read(Cursor::new(b"")).unwrap_err().contains("no graph"));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = OnnxHeader::read(Cursor::new(&bytes));
            let graph = [vec![0x3a, u8::try_from(bytes.len().min(100)).unwrap()], bytes].concat();
            let _ = OnnxHeader::read(Cursor::new(graph));
        }
    }
}
