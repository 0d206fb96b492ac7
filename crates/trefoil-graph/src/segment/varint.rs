//! Numbers in as few bytes as they need: seven bits a byte, the lowest first (LEB128).

/// Appends a number.
pub(crate) fn put(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        #[expect(clippy::cast_possible_truncation, reason = "seven bits and the sign of more")]
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    #[expect(clippy::cast_possible_truncation, reason = "seven bits")]
    bytes.push(number as u8);
}

/// Bytes that are read from front to back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The next number; none if there is none of 32 bits.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u32::from(byte & 0x7f);
            if shift == 28 && bits > 0xf {
                return None;
            }
            number |= bits << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// The next four bytes as they are.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<[u8; 4]> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*word)
    }

    /// True if all was read.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_number_is_refused() {
        for bytes in [&[][..], &[0x80], &[0xff; 5], &[0xff, 0xff, 0xff, 0xff, 0x10]] {
            assert_eq!(Reader::new(bytes).next(), None, "{bytes:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_back(numbers in prop::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            for number in &numbers {
                put(&mut bytes, *number);
            }
            let mut reader = Reader::new(&bytes);
            let found: Vec<u32> = numbers.iter().map_while(|_| reader.next()).collect();
            prop_assert_eq!(found, numbers);
            prop_assert!(reader.is_empty());
        }
    }
}
