//! Bytes to text.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{EUC_JP, EUC_KR, Encoding, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE};

/// An HTML page has to declare its encoding within this many bytes (HTML Standard, 13.2.3.2).
const DECLARATION_BYTES: usize = 1024;
/// Fewer kana or Hangul syllables prove no encoding.
const MIN_NATIVE_CHARS: usize = 8;

/// Decodes a text file; the reason if it is none.
pub(super) fn text(bytes: &[u8]) -> Result<String, String> {
    decode(bytes, None)
}

/// Decodes an HTML page, whose declared encoding comes after UTF-8.
pub(super) fn html(bytes: &[u8]) -> Result<String, String> {
    decode(bytes, declared(bytes))
}

fn decode(bytes: &[u8], declared: Option<&'static Encoding>) -> Result<String, String> {
    if let Some((encoding, length)) = Encoding::for_bom(bytes)
        && encoding != UTF_8
    {
        let text = strict(encoding, bytes.get(length..).unwrap_or_default());
        return text.ok_or_else(|| format!("it is malformed {}", encoding.name()));
    }
    if let Some(at) = bytes.iter().position(|&byte| byte == 0) {
        return Err(format!("it is binary: byte {at} is NUL"));
    }
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => return Ok(text.strip_prefix('\u{FEFF}').unwrap_or(text).to_owned()),
        Err(error) => error,
    };
    let declared = declared.filter(|&encoding| ![UTF_8, UTF_16BE, UTF_16LE].contains(&encoding));
    declared
        .or_else(|| detected(bytes))
        .and_then(|encoding| strict(encoding, bytes))
        .ok_or_else(|| format!("it is not UTF-8 at byte {}", error.valid_up_to()))
}

fn strict(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    encoding.decode_without_bom_handling_and_without_replacement(bytes).map(Into::into)
}

/// The old encodings of Japanese and Korean, if the text that comes out shows the
/// script. Others are not guessed: any bytes would pass for a Western encoding.
fn detected(bytes: &[u8]) -> Option<&'static Encoding> {
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(bytes, true);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let is_native = |c: &char| match c {
        '\u{3041}'..='\u{30FE}' => encoding == SHIFT_JIS || encoding == EUC_JP,
        '\u{AC00}'..='\u{D7A3}' => encoding == EUC_KR,
        _ => false,
    };
    let text = strict(encoding, bytes)?;
    let native = text.chars().filter(is_native).count();
    let foreign = text.chars().filter(|c| !c.is_ascii()).count() - native;
    // Japanese is about half kana, Korean nearly all Hangul; a wrong guess is neither.
    (native >= MIN_NATIVE_CHARS && native * 3 >= foreign).then_some(encoding)
}

/// What follows `charset=` in the head of a page.
fn declared(bytes: &[u8]) -> Option<&'static Encoding> {
    let head = bytes.get(..DECLARATION_BYTES.min(bytes.len()))?.to_ascii_lowercase();
    let marker = b"charset=";
    let at = head.windows(marker.len()).position(|window| window == marker)? + marker.len();
    let label = head.get(at..)?;
    let label = label.strip_prefix(b"\"").or_else(|| label.strip_prefix(b"'")).unwrap_or(label);
    let end =
        label.iter().position(|byte| !(byte.is_ascii_alphanumeric() || b"-_:.".contains(byte)))?;
    Encoding::for_label(label.get(..end)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const JAPANESE: &str = "春になると、牧草地は白い花でいっぱいになります。ミツバチも集まります。";
    const KOREAN: &str = "봄이 되면 풀밭은 하얀 꽃으로 가득 찹니다. 꿀벌도 모여듭니다.";

    #[test]
    fn encodings_are_told_apart() {
        let check = |bytes: &[u8], text: &str| assert_eq!(super::text(bytes).as_deref(), Ok(text));
        check("é日本".as_bytes(), "é日本");
        check(b"\xEF\xBB\xBFa", "a");
        check(b"\xFF\xFEa\0\x42\x30", "aあ");
        check(b"\xFE\xFF\0a\x30\x42", "aあ");
        for (encoding, text) in [(SHIFT_JIS, JAPANESE), (EUC_JP, JAPANESE), (EUC_KR, KOREAN)] {
            check(&encoding.encode(text).0, text);
        }
    }

    #[test]
    fn what_is_not_sure_is_refused() {
        let check =
            |bytes: &[u8], reason: &str| assert_eq!(super::text(bytes), Err(reason.to_owned()));
        check(b"caf\xE9 au lait", "it is not UTF-8 at byte 3");
        check(b"\xFF\xFE\0\xD8a\0", "it is malformed UTF-16LE");
        check(b"a\0", "it is binary: byte 1 is NUL");
    }

    #[test]
    fn a_page_may_declare_its_encoding() {
        let check = |bytes: &[u8], text: &str| assert_eq!(html(bytes).as_deref(), Ok(text));
        check(b"<meta charset=windows-1252>caf\xE9", "<meta charset=windows-1252>café");
        check(
            b"<meta content='text/html; CHARSET=Latin1'>\xE9",
            "<meta content='text/html; CHARSET=Latin1'>é",
        );
        check("<meta charset='latin1'>é".as_bytes(), "<meta charset='latin1'>é");
        assert!(html(b"<meta charset=utf-8>\xE9").is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_text_or_a_reason(bytes: Vec<u8>) {
            let _ = html(&bytes);
        }
    }
}
