//! The few wire types of protocol buffers that an ONNX file needs.
//! <https://protobuf.dev/programming-guides/encoding/>

pub(crate) const VARINT: u32 = 0;
pub(crate) const LENGTH_DELIMITED: u32 = 2;
pub(crate) const FIXED_32: u32 = 5;

/// A message being written, field by field.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        Self(Vec::with_capacity(bytes))
    }

    /// An integer field; negative numbers take ten bytes, as the format wants.
    pub(crate) fn int(&mut self, field: u32, value: i64) -> &mut Self {
        self.tag(field, VARINT);
        self.varint(value.cast_unsigned());
        self
    }

    /// An integer field that holds a size.
    pub(crate) fn size(&mut self, field: u32, value: usize) -> &mut Self {
        self.tag(field, VARINT);
        self.varint(value as u64);
        self
    }

    /// A 32-bit floating-point field.
    pub(crate) fn float(&mut self, field: u32, value: f32) -> &mut Self {
        self.tag(field, FIXED_32);
        self.0.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// A field of bytes, a string, or an embedded message.
    pub(crate) fn bytes(&mut self, field: u32, value: impl AsRef<[u8]>) -> &mut Self {
        let value = value.as_ref();
        self.tag(field, LENGTH_DELIMITED);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u32, wire_type: u32) {
        self.varint(u64::from(field << 3 | wire_type));
    }

    #[expect(clippy::cast_possible_truncation, reason = "seven bits at a time")]
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push((value & 0x7f) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

impl AsRef<[u8]> for Message {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Expected bytes are those of the format's documentation.
    #[test]
    fn fields_are_written_as_the_format_says() {
        fn check(write: impl FnOnce(&mut Message), expected: &[u8]) {
            let mut message = Message::default();
            write(&mut message);
            assert_eq!(message.into_bytes(), expected);
        }
        check(
            |m| {
                m.int(1, 150);
            },
            &[0x08, 0x96, 0x01],
        );
        check(
            |m| {
                m.int(1, 0);
            },
            &[0x08, 0x00],
        );
        check(
            |m| {
                m.int(1, -2);
            },
            &[0x08, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
        );
        check(
            |m| {
                m.bytes(2, "testing");
            },
            &[0x12, 7, b't', b'e', b's', b't', b'i', b'n', b'g'],
        );
        check(
            |m| {
                m.float(2, 1.0);
            },
            &[0x15, 0, 0, 0x80, 0x3f],
        );
        check(
            |m| {
                m.int(20, 7);
            },
            &[0xa0, 0x01, 0x07],
        );
        let mut inner = Message::default();
        inner.int(1, 150);
        check(
            |m| {
                m.bytes(3, &inner);
            },
            &[0x1a, 0x03, 0x08, 0x96, 0x01],
        );
    }
}
