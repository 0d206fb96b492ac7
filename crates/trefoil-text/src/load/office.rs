use trefoil_core::{Document, DocumentFormat};

use super::{limit, sandbox};
use crate::chunk::first_title;

/// A text document, presentation or workbook as Markdown.
pub(super) fn document(name: &str, bytes: Vec<u8>) -> Result<Document, String> {
    let (title, body) = sandbox::run(move || {
        limit::archive(&bytes, limit::MAX_EXPANDED_BYTES)?;
        let unsound = |error: undoc::Error| format!("it is not a sound Office file: {error}");
        let document = undoc::parse_bytes(&bytes).map_err(unsound)?;
        // The pictures themselves are not kept, so links to them would lead nowhere.
        let options = undoc::render::RenderOptions { include_images: false, ..Default::default() };
        let body = undoc::render::to_markdown(&document, &options).map_err(unsound)?;
        Ok((document.metadata.title, body))
    })?;
    let title = title.map(|title| title.trim().to_owned()).filter(|title| !title.is_empty());
    let title = title.or_else(|| first_title(&body)).unwrap_or_default();
    Ok(Document::new(name, body).title(title).format(DocumentFormat::Markdown))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LETTER: &[u8] = include_bytes!("../../testdata/letter.docx");
    const SEEDS: &[u8] = include_bytes!("../../testdata/seeds.xlsx");
    const TALK: &[u8] = include_bytes!("../../testdata/talk.pptx");

    fn check(file: &[u8], title: &str, parts: &[&str]) {
        let document = document("x", file.to_vec()).unwrap();
        assert_eq!(document.title, title);
        let mut rest = document.body.as_str();
        for part in parts {
            let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in {rest:?}"));
            rest = &rest[at + part.len()..];
        }
    }

    #[test]
    fn headings_tables_and_slides_come_in_order() {
        check(
            LETTER,
            "A letter about clover",
            &["# Sowing", "Sow in April.", "# 刈り取り", "六月に刈る。", "| Month | Work |"],
        );
        check(SEEDS, "", &["Stock", "| Seed | Grams |", "| White clover | 250 |"]);
        check(TALK, "Why clover", &["Why clover", "It feeds the soil."]);
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(
            document("x", b"PK but no archive".to_vec())
                .unwrap_err()
                .starts_with("it is no archive")
        );
    }

    proptest! {
        #[test]
        fn a_damaged_file_gives_text_or_a_reason(at in 0..LETTER.len(), byte: u8, cut in 0..LETTER.len()) {
            let mut bytes = LETTER.to_vec();
            bytes[at] = byte;
            bytes.truncate(LETTER.len() - cut / 8);
            let _ = document("x", bytes);
        }
    }
}
