//! Files to documents.

mod decode;
mod html;
mod kind;
#[cfg(any(feature = "pdf", feature = "office"))]
mod limit;
#[cfg(feature = "office")]
mod office;
#[cfg(feature = "pdf")]
mod pdf;
mod records;
mod sandbox;

use std::{fs::File, io::Read, path::Path};

use trefoil_core::{Document, DocumentFormat, Error, Result};

pub(crate) use self::kind::Kind;
use crate::{chunk::first_title, front_matter::FrontMatter};

/// A longer first line is a paragraph, not a title.
const MAX_TITLE_CHARS: usize = 80;

/// Reads a file as a document that is stored under `name`.
///
/// The extension decides what the file is:
///
/// | files | read as | title |
/// |---|---|---|
/// | Markdown | they are, front matter included, so that lines are the file's | front matter, first heading of level 1, file stem |
/// | HTML | Markdown, without navigation, scripts and styles | `<title>`, or the first heading if `<title>` starts with it |
/// | PDF (feature `pdf`) | text | first line if it is short, file stem |
/// | DOCX, PPTX, XLSX (feature `office`) | Markdown | the file's property, first heading of level 1, file stem |
/// | JSON, JSONL, CSV, TSV | records: an array, a line or a row each | file stem |
/// | source code and configuration | code | file name |
/// | the rest that is text | text | first line if it is short, file stem |
///
/// Text is UTF-8, UTF-16 with a byte order mark, what an HTML page declares, or
/// `Shift_JIS`, EUC-JP or EUC-KR if it is that beyond doubt.
///
/// # Errors
/// [`Error::Io`] if the file cannot be read, and [`Error::UnreadableDocument`] if it
/// is larger than `max_bytes`, binary, in no known encoding, malformed, expands
/// without bound, or is of a kind that this build does not support.
pub fn load(path: &Path, name: &str, max_bytes: u64) -> Result<Document> {
    let bytes = read(path, max_bytes).map_err(|error| Error::io("read", path, error))?;
    let document = match u64::try_from(bytes.len()) {
        Ok(length) if length <= max_bytes => parse(path, name, bytes),
        _ => Err(format!("it has more than {max_bytes} bytes")),
    };
    document.map_err(|reason| Error::UnreadableDocument { path: name.to_owned(), reason })
}

/// At most one byte more than the limit, so that a file that grows does no harm.
fn read(path: &Path, max_bytes: u64) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(std::io::Error::other("not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The reason, as a phrase, if it is not what its extension says.
#[cfg_attr(
    not(any(feature = "pdf", feature = "office")),
    expect(clippy::needless_pass_by_value, reason = "what reads PDF and Office wants them whole")
)]
fn parse(path: &Path, name: &str, bytes: Vec<u8>) -> Result<Document, String> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut document = match Kind::of(path)? {
        Kind::Markdown => markdown(Document::new(name, decode::text(&bytes)?)),
        Kind::Text => text(Document::new(name, decode::text(&bytes)?)),
        Kind::Code => Document::new(name, decode::text(&bytes)?)
            .title(path.file_name().unwrap_or_default().to_string_lossy())
            .format(DocumentFormat::Code),
        Kind::Html => html::document(name, decode::html(&bytes)?)?,
        Kind::Json => records::json(name, &decode::text(&bytes)?)?,
        Kind::JsonLines => records::json_lines(name, &decode::text(&bytes)?)?,
        Kind::Table { delimiter } => records::table(name, &decode::text(&bytes)?, delimiter)?,
        #[cfg(feature = "pdf")]
        Kind::Pdf => text(Document::new(name, pdf::text(bytes)?)),
        #[cfg(feature = "office")]
        Kind::Office => office::document(name, bytes)?,
    };
    if document.title.is_empty() {
        document.title = stem;
    }
    Ok(document)
}

fn markdown(mut document: Document) -> Document {
    let front_matter = FrontMatter::of(&document.body).unwrap_or_default();
    document.title = front_matter.title.or_else(|| first_title(&document.body)).unwrap_or_default();
    document.tags = front_matter.tags;
    document.date = front_matter.date;
    document.format(DocumentFormat::Markdown)
}

/// A short first line that does not end like a sentence is the title.
fn text(document: Document) -> Document {
    let title = document.body.lines().map(str::trim).find(|line| !line.is_empty()).filter(|line| {
        line.chars().nth(MAX_TITLE_CHARS).is_none()
            && !line.ends_with(['.', ',', ';', ':', '!', '?', '。', '、', '！', '？'])
    });
    let title = title.unwrap_or_default().to_owned();
    document.title(title)
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn sample(file: &str) -> Result<Document> {
        load(&Path::new("testdata").join(file), file, LIMIT)
    }

    fn written(file: &str, bytes: &[u8]) -> Result<Document> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(file);
        std::fs::write(&path, bytes).unwrap();
        load(&path, file, LIMIT)
    }

    fn check(document: Result<Document>, title: &str, format: DocumentFormat, body: &str) {
        let document = document.unwrap();
        assert_eq!((document.title.as_str(), document.format), (title, format));
        assert_eq!(document.body, body);
    }

    fn check_fails(document: Result<Document>, message: &str) {
        assert_eq!(document.unwrap_err().to_string(), message);
    }

    #[test]
    fn markdown_keeps_its_body_and_gives_its_front_matter() {
        let document = sample("guide.md").unwrap();
        assert_eq!(document.title, "Growing clover");
        assert_eq!(document.tags, ["garden", "meadow"]);
        assert_eq!(document.date, Some(date(2024, 5, 31)));
        assert!(document.body.starts_with("---\n"));
        check(written("a.md", b"x\n\n# T\n"), "T", DocumentFormat::Markdown, "x\n\n# T\n");
        check(written("b.mdx", b"## no title\n"), "b", DocumentFormat::Markdown, "## no title\n");
    }

    #[test]
    fn a_short_first_line_is_the_title_of_a_text() {
        let text = |body: &str, title| {
            check(written("note.txt", body.as_bytes()), title, DocumentFormat::Text, body);
        };
        text("\n  Meadow notes \n\nIt rains.\n", "Meadow notes");
        text("It rains.\n", "note");
        text(&"long ".repeat(30), "note");
        text("", "note");
        check(written("README", b"Read me\n"), "Read me", DocumentFormat::Text, "Read me\n");
        check(
            written("main.rs", b"fn main() {}\n"),
            "main.rs",
            DocumentFormat::Code,
            "fn main() {}\n",
        );
    }

    #[test]
    fn what_is_no_text_is_refused_with_the_place() {
        check_fails(
            written("a.txt", b"ab\xFFcdefg\xFE"),
            "`a.txt` cannot be read: it is not UTF-8 at byte 2",
        );
        check_fails(
            written("a.md", b"ab\0c"),
            "`a.md` cannot be read: it is binary: byte 2 is NUL",
        );
        check_fails(
            written("a.zip", b"PK"),
            "`a.zip` cannot be read: `.zip` files are not supported",
        );
        check_fails(
            written("a.txt", &"a".repeat((1 << 20) + 1).into_bytes()),
            "`a.txt` cannot be read: it has more than 1048576 bytes",
        );
    }

    #[test]
    fn a_missing_file_and_a_folder_are_io_errors() {
        for path in ["testdata/none.md", "testdata"] {
            assert!(matches!(load(Path::new(path), "x", LIMIT), Err(Error::Io { .. })), "{path}");
        }
    }

    #[cfg(not(feature = "pdf"))]
    #[test]
    fn a_kind_that_is_not_built_in_says_so() {
        check_fails(
            sample("leaflet.pdf"),
            "`leaflet.pdf` cannot be read: `.pdf` files need the feature `pdf`",
        );
    }
}
