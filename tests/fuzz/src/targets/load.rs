//! Files of every kind that is loaded.

/// The first byte chooses among the kinds that are parsed in the caller's thread.
pub(crate) fn load(bytes: &[u8]) {
    const FILES: [&str; 8] =
        ["a.md", "a.txt", "a.json", "a.jsonl", "a.csv", "a.tsv", "a.rs", "a.yaml"];
    let Some((first, rest)) = bytes.split_first() else { return };
    read(FILES[usize::from(*first) % FILES.len()], rest);
}

/// A web page.
pub(crate) fn html(bytes: &[u8]) {
    read("a.html", bytes);
}

/// A PDF file.
pub(crate) fn pdf(bytes: &[u8]) {
    read("a.pdf", bytes);
}

/// A text document, presentation or workbook, by the first byte.
pub(crate) fn office(bytes: &[u8]) {
    const FILES: [&str; 3] = ["a.docx", "a.xlsx", "a.pptx"];
    let Some((first, rest)) = bytes.split_first() else { return };
    read(FILES[usize::from(*first) % FILES.len()], rest);
}

fn read(file: &str, bytes: &[u8]) {
    let path = super::folder().join(file);
    std::fs::write(&path, bytes).unwrap();
    let _ = trefoil_text::load(&path, file, 1 << 20);
}
