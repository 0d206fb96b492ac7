//! Reads the wire types of protocol buffers that an ONNX file has.
//! <https://protobuf.dev/programming-guides/encoding/>

use super::protobuf::{FIXED_32, LENGTH_DELIMITED, VARINT};

const FIXED_64: u32 = 1;

/// What a field of a message holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field<'a> {
    /// An integer, or the bits of a number of fixed width.
    Number(u64),
    /// Bytes, a string, an embedded message or packed numbers.
    Bytes(&'a [u8]),
}

/// The fields of a message in their order, with their numbers. The error is a reason; none follows it.
pub(crate) fn fields(message: &[u8]) -> Fields<'_> {
    Fields { rest: message }
}

/// See [`fields`].
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Field<'a>), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_none() {
            self.rest = &[];
        }
        Some(field.ok_or_else(|| "a message is cut off or of another format".to_owned()))
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Option<(u64, Field<'a>)> {
        let tag = self.varint()?;
        let value = match u32::try_from(tag & 7).ok()? {
            VARINT => Field::Number(self.varint()?),
            FIXED_64 => Field::Number(u64::from_le_bytes(self.array()?)),
            FIXED_32 => Field::Number(u64::from(u32::from_le_bytes(self.array()?))),
            LENGTH_DELIMITED => {
                let length = usize::try_from(self.varint()?).ok()?;
                let (bytes, rest) = self.rest.split_at_checked(length)?;
                self.rest = rest;
                Field::Bytes(bytes)
            }
            _ => return None,
        };
        Some((tag >> 3, value))
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(*bytes)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let [byte] = self.array()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }
}

/// The integers of a field that may be packed.
///
/// # Errors
/// A reason, if the last one is cut off.
pub(crate) fn numbers(field: Field<'_>) -> Result<Vec<u64>, String> {
    let mut packed = match field {
        Field::Number(number) => return Ok(vec![number]),
        Field::Bytes(bytes) => fields(bytes),
    };
    let mut numbers = Vec::new();
    while !packed.rest.is_empty() {
        numbers.push(packed.varint().ok_or("a number is cut off")?);
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop, proptest};

    use super::*;
    use crate::convert::protobuf::Message;

    #[test]
    fn what_was_written_is_read() {
        let mut inner = Message::default();
        inner.int(1, -2).size(2, 300);
        let mut message = Message::default();
        message.int(1, 150).bytes(2, "testing").float(3, 1.0).bytes(4, &inner);
        let read: Vec<_> = fields(message.as_ref()).collect::<Result<_, _>>().unwrap();
        let bits = u64::from(1.0_f32.to_bits());
        assert_eq!(
            read,
            [
                (1, Field::Number(150)),
                (2, Field::Bytes(b"testing")),
                (3, Field::Number(bits)),
                (4, Field::Bytes(inner.as_ref())),
            ]
        );
        let minus_two = (-2_i64).cast_unsigned();
        let inside: Vec<_> = fields(inner.as_ref()).collect::<Result<_, _>>().unwrap();
        assert_eq!(inside, [(1, Field::Number(minus_two)), (2, Field::Number(300))]);
        assert_eq!(numbers(Field::Bytes(&[3, 0xac, 0x02])), Ok(vec![3, 300]));
        assert_eq!(numbers(Field::Number(7)), Ok(vec![7]));
        assert!(numbers(Field::Bytes(&[0x80])).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused_once(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let read: Vec<_> = fields(&bytes).collect();
            let refused = read.iter().position(Result::is_err);
            assert!(refused.is_none_or(|at| at + 1 == read.len()));
            let _ = numbers(Field::Bytes(&bytes));
        }
    }
}
