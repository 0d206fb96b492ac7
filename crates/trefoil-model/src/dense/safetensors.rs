//! Reads a file of tensors. <https://github.com/huggingface/safetensors>

use std::collections::BTreeMap;

use half::{bf16, f16};
use serde::Deserialize;
use serde_json::Value;

/// The tensors of a file, which stay in its bytes until they are asked for.
#[derive(Debug)]
pub(super) struct SafeTensors<'b> {
    tensors: BTreeMap<String, Entry>,
    data: &'b [u8],
}

#[derive(Debug, Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [usize; 2],
}

impl<'b> SafeTensors<'b> {
    /// Reads the header. The error is a reason.
    pub(super) fn parse(bytes: &'b [u8]) -> Result<Self, String> {
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or("it is cut off")?;
        let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
        let (header, data) = rest.split_at_checked(length).ok_or("its header is cut off")?;
        let mut entries: BTreeMap<String, Value> =
            serde_json::from_slice(header).map_err(|error| format!("its header: {error}"))?;
        entries.remove("__metadata__");
        let entry = |(name, value)| {
            let entry = serde_json::from_value(value).map_err(|e| format!("`{name}`: {e}"))?;
            Ok((name, entry))
        };
        let tensors = entries.into_iter().map(entry).collect::<Result<_, String>>()?;
        Ok(Self { tensors, data })
    }

    /// The names that it has, for a message.
    pub(super) fn names(&self) -> String {
        let names: Vec<String> = self.tensors.keys().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    }

    /// Shape and numbers of a tensor; none if there is none with that name. The error is a reason.
    #[expect(clippy::type_complexity, reason = "a shape and the numbers in it")]
    pub(super) fn tensor(&self, name: &str) -> Result<Option<(Vec<usize>, Vec<f32>)>, String> {
        let Some(Entry { dtype, shape, data_offsets: [start, end] }) = self.tensors.get(name)
        else {
            return Ok(None);
        };
        let bytes = self.data.get(*start..*end).ok_or_else(|| format!("`{name}` is cut off"))?;
        let numbers = match dtype.as_str() {
            "F32" => each(bytes, f32::from_le_bytes),
            "F16" => each(bytes, |pair| f16::from_le_bytes(pair).to_f32()),
            "BF16" => each(bytes, |pair| bf16::from_le_bytes(pair).to_f32()),
            _ => return Err(format!("`{name}` is of {dtype}; F32, F16 and BF16 are read")),
        };
        let numbers = numbers.ok_or_else(|| format!("`{name}` ends within a number"))?;
        let expected = shape.iter().try_fold(1_usize, |product, size| product.checked_mul(*size));
        if expected != Some(numbers.len()) {
            return Err(format!("`{name}` has {} numbers in the shape {shape:?}", numbers.len()));
        }
        Ok(Some((shape.clone(), numbers)))
    }
}

/// The numbers of so many bytes each; none if bytes are left over.
fn each<const N: usize>(bytes: &[u8], number: impl Fn([u8; N]) -> f32) -> Option<Vec<f32>> {
    let (whole, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then(|| whole.iter().map(|chunk| number(*chunk)).collect())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A file of tensors, each with name, type, shape and bytes.
    pub(in super::super) fn file(tensors: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
        let mut header = serde_json::Map::new();
        let mut data = Vec::new();
        header.insert("__metadata__".into(), serde_json::json!({ "format": "pt" }));
        for (name, dtype, shape, bytes) in tensors {
            let start = data.len();
            data.extend_from_slice(bytes);
            let entry = serde_json::json!({
                "dtype": dtype, "shape": shape, "data_offsets": [start, data.len()]
            });
            header.insert((*name).to_owned(), entry);
        }
        let header = serde_json::to_vec(&header).unwrap();
        [&(header.len() as u64).to_le_bytes(), header.as_slice(), &data].concat()
    }

    #[test]
    fn numbers_of_every_float_are_read() {
        let halves: Vec<u8> =
            [1.5_f32, -2.0].iter().flat_map(|x| f16::from_f32(*x).to_le_bytes()).collect();
        let brains: Vec<u8> =
            [1.5_f32, -2.0].iter().flat_map(|x| bf16::from_f32(*x).to_le_bytes()).collect();
        let bytes = file(&[
            ("f16", "F16", &[2], &halves),
            ("bf16", "BF16", &[1, 2], &brains),
            ("short", "F32", &[2], &[0; 7]),
            ("int", "I8", &[1], &[0]),
        ]);
        let file = SafeTensors::parse(&bytes).unwrap();
        assert_eq!(file.tensor("f16").unwrap(), Some((vec![2], vec![1.5, -2.0])));
        assert_eq!(file.tensor("bf16").unwrap(), Some((vec![1, 2], vec![1.5, -2.0])));
        assert_eq!(file.tensor("absent").unwrap(), None);
        assert_eq!(file.tensor("short").unwrap_err(), "`short` ends within a number");
        assert!(file.tensor("int").unwrap_err().contains("I8"));
    }

    #[test]
    fn damage_is_told() {
        let whole = file(&[("x", "F32", &[2], &[0; 8])]);
        for cut in 0..whole.len() {
            let read = SafeTensors::parse(&whole[..cut])
                .and_then(|file| file.tensor("x").map(|tensor| tensor.is_some()));
            assert!(read.is_err(), "{cut}");
        }
        assert!(SafeTensors::parse(&[255; 16]).is_err());
        assert!(
            SafeTensors::parse(&[vec![2, 0, 0, 0, 0, 0, 0, 0], b"{]".to_vec()].concat()).is_err()
        );
    }
}
