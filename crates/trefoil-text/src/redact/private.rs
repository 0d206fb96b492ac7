//! What its writer marked as private.

use lazy_regex::regex;
use trefoil_core::ByteSpan;

/// Finds what stands between `<private>` and its `</private>`, with both; without an end, to
/// the end of the text.
pub(super) fn find(text: &str, found: &mut Vec<ByteSpan>) {
    let (mut depth, mut start) = (0_usize, 0);
    for mark in regex!(r"(?i)<\s*(/?)\s*private\s*>").captures_iter(text) {
        let Some(whole) = mark.get(0) else { continue };
        let closes = mark.get(1).is_some_and(|slash| !slash.is_empty());
        match (closes, depth) {
            (true, 0) => {}
            (true, _) => {
                depth -= 1;
                if depth == 0 {
                    found.push(ByteSpan { start, end: whole.end() });
                }
            }
            (false, _) => {
                if depth == 0 {
                    start = whole.start();
                }
                depth += 1;
            }
        }
    }
    if depth > 0 {
        found.push(ByteSpan { start, end: text.len() });
    }
}
