use super::{limit, sandbox};

/// The text of a PDF, page after page.
pub(super) fn text(bytes: Vec<u8>) -> Result<String, String> {
    let pages = sandbox::run(move || {
        limit::streams(&bytes, limit::MAX_EXPANDED_BYTES)?;
        pdf_extract::extract_text_from_mem_by_pages(&bytes)
            .map_err(|error| format!("it is not a sound PDF: {error}"))
    })?;
    let text = pages
        .iter()
        .map(|page| paragraphs(page))
        .filter(|page| !page.is_empty())
        .collect::<Vec<_>>()
        .join("\n\n");
    if text.is_empty() {
        Err("it holds no text; scanned pages have to be recognised first".to_owned())
    } else {
        Ok(text)
    }
}

/// Lines without the blanks at their ends, and one blank line between paragraphs.
fn paragraphs(page: &str) -> String {
    let mut text = String::new();
    for line in page.lines().map(str::trim_end) {
        if !(line.is_empty() && (text.is_empty() || text.ends_with("\n\n"))) {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LEAFLET: &[u8] = include_bytes!("../../testdata/leaflet.pdf");

    #[test]
    fn pages_follow_each_other() {
        let text = text(LEAFLET.to_vec()).unwrap();
        assert_eq!(
            text,
            "White clover\nIt grows in meadows and feeds the bees.\n\nRed clover\nIt grows taller and flowers in June."
        );
    }

    #[test]
    fn blanks_are_folded() {
        assert_eq!(paragraphs("\n\n a  \n\n\n\nb\nc\n\n"), " a\n\nb\nc");
    }

    proptest! {
        #[test]
        fn a_damaged_file_gives_text_or_a_reason(at in 0..LEAFLET.len(), byte: u8, cut in 0..LEAFLET.len()) {
            let mut bytes = LEAFLET.to_vec();
            bytes[at] = byte;
            bytes.truncate(LEAFLET.len() - cut / 4);
            let _ = text(bytes);
        }
    }
}
