//! How JSON of a request is read: `20.0` is an integer, as it is to JSON Schema, and a list of the
//! values of an object's fields is no object.

use serde::de::{DeserializeOwned, Error, Unexpected};
use serde_json::Result;
#[cfg(feature = "mcp")]
use serde_json::{Map, Value};

/// Reads an object. If it is not of the type, reads it again with `20` in place of each `20.0`.
pub(crate) fn from_slice<T: DeserializeOwned>(json: &[u8]) -> Result<T> {
    if json.trim_ascii_start().starts_with(b"[") {
        return Err(Error::invalid_type(Unexpected::Seq, &"an object"));
    }
    serde_json::from_slice(json).or_else(|error| {
        let mut changed = json.to_vec();
        if error.is_data() && blank_empty_fractions(&mut changed) {
            return serde_json::from_slice(&changed);
        }
        Err(error)
    })
}

/// The same of an object that was read before; an error is that of the first time, since it has no
/// place in a text.
#[cfg(feature = "mcp")]
pub(crate) fn from_object<T: DeserializeOwned>(object: Map<String, Value>) -> Result<T> {
    let object = Value::Object(object);
    T::deserialize(&object).or_else(|error| {
        let mut json = serde_json::to_vec(&object)?;
        blank_empty_fractions(&mut json);
        serde_json::from_slice(&json).map_err(|_| error)
    })
}

/// Puts spaces in place of each fraction of nothing but zeros, so that all else, and what an
/// error tells of it, stays where it is. True if there is one.
fn blank_empty_fractions(json: &mut [u8]) -> bool {
    let mut found = false;
    let mut rest = json;
    let mut in_text = false;
    while let [first, after @ ..] = rest {
        let mut passed = 0;
        match first {
            b'"' => in_text = !in_text,
            b'\\' if in_text => passed = 1,
            b'.' if !in_text => {
                let zeros = after.iter().take_while(|&&byte| byte == b'0').count();
                let goes_on = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b'e' | b'E');
                if zeros > 0 && !after.get(zeros).is_some_and(goes_on) {
                    found = true;
                    *first = b' ';
                    after.iter_mut().take(zeros).for_each(|zero| *zero = b' ');
                }
            }
            _ => {}
        }
        rest = after.get_mut(passed..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use serde_json::{Value, json};
    use trefoil_memory::recall::RecallQuery;

    use super::*;

    #[test]
    fn only_a_fraction_of_zeros_is_none() {
        for (given, expected) in [
            ("[20.0]", "[20  ]"),
            ("[-3.000,0.0]", "[-3    ,0  ]"),
            ("20.0", "20  "),
            ("[1.5,1.05,1.50,1.0e3,1.0E3,1.]", "[1.5,1.05,1.50,1.0e3,1.0E3,1.]"),
            (r#"{"1.0":"1.0","\"2.0":3.0}"#, r#"{"1.0":"1.0","\"2.0":3  }"#),
            (r#"["\\",1.0"#, r#"["\\",1  "#),
        ] {
            let mut json = given.as_bytes().to_vec();
            assert_eq!(blank_empty_fractions(&mut json), given != expected, "{given}");
            assert_eq!(str::from_utf8(&json).unwrap(), expected);
        }
    }

    #[test]
    fn a_type_of_integers_takes_them_and_an_error_tells_of_what_is_wrong() {
        let read = from_slice::<BTreeMap<String, u8>>;
        let numbers = [("a".to_owned(), 1), ("b".to_owned(), 2)];
        assert_eq!(read(br#"{"a": 1.0, "b": 2}"#).unwrap(), BTreeMap::from(numbers));
        let error = read(br#"{"a": 1.0, "b": 2.5}"#).unwrap_err();
        let place = "floating point `2.5`, expected u8 at line 1 column 19";
        assert!(error.to_string().contains(place), "{error}");
        // It stays as it is if the whole is of the type.
        assert_eq!(from_slice::<Value>(br#"{"a": 1.0}"#).unwrap(), json!({"a": 1.0}));
    }

    #[test]
    #[cfg(feature = "mcp")]
    fn an_object_that_was_read_is_read_so_too() {
        let Value::Object(object) = json!({"topK": 3.0}) else { unreachable!() };
        assert_eq!(from_object::<RecallQuery>(object).unwrap().top_k, 3);
        let Value::Object(object) = json!({"topK": "many"}) else { unreachable!() };
        let error = from_object::<RecallQuery>(object).unwrap_err().to_string();
        assert_eq!(error, "invalid type: string \"many\", expected usize");
    }

    #[test]
    fn a_list_is_no_object() {
        let error = from_slice::<RecallQuery>(b" [\"owls\"]").unwrap_err();
        assert!(error.is_data() && error.to_string().contains("expected an object"), "{error}");
        assert_eq!(from_slice::<RecallQuery>(b" {}").unwrap(), RecallQuery::default());
    }

    proptest! {
        #[test]
        fn the_value_stays_the_same(numbers in prop::collection::vec(any::<i32>(), 0..9), text in ".*") {
            let floats: Vec<f64> = numbers.iter().map(|&number| number.into()).collect();
            let mut json = serde_json::to_vec(&json!([floats, text]))?;
            blank_empty_fractions(&mut json);
            prop_assert_eq!(serde_json::from_slice::<Value>(&json)?, json!([numbers, text]));
        }

        #[test]
        fn bytes_that_are_no_json_are_taken_too(mut bytes in prop::collection::vec(any::<u8>(), 0..99)) {
            let before = bytes.clone();
            blank_empty_fractions(&mut bytes);
            prop_assert!(bytes.iter().zip(before).all(|(&now, before)| now == before || now == b' '));
        }
    }
}
