use std::fmt::Debug;

use crate::{Chunk, Document, Result};

/// Documents to chunks.
///
/// ```
/// use trefoil_core::{ByteSpan, Chunk, ChunkLevel, Chunker, Document, Language, LineSpan};
///
/// /// One chunk a line, for logs.
/// #[derive(Debug)]
/// struct Lines;
///
/// impl Chunker for Lines {
///     fn fingerprint(&self) -> String {
///         "lines 1".to_owned()
///     }
///     fn chunk(&self, document: &Document) -> Vec<Chunk> {
///         let (mut at, mut chunks) = (0, Vec::new());
///         for (line, text) in (1..).zip(document.body.split('\n')) {
///             let bytes = ByteSpan { start: at, end: at + text.len() };
///             at = bytes.end + 1;
///             if text.trim().is_empty() {
///                 continue;
///             }
///             chunks.push(Chunk {
///                 level: ChunkLevel::Leaf,
///                 ordinal: chunks.len() as u32,
///                 heading_path: Vec::new(),
///                 text: text.to_owned(),
///                 bytes,
///                 lines: LineSpan { start: line, end: line },
///                 language: Language::En,
///             });
///         }
///         chunks
///     }
/// }
///
/// let chunks = Lines.chunk(&Document::new("app.log", "started\n\nstopped"));
/// assert_eq!((chunks[1].text.as_str(), chunks[1].lines.start), ("stopped", 3));
/// ```
pub trait Chunker: Debug + Send + Sync {
    /// One line that differs whenever two chunkers may cut otherwise: documents that another one
    /// cut are cut again when they are next ingested.
    fn fingerprint(&self) -> String;

    /// The chunks of a document: those that are ranked in order, each with the next ordinal from
    /// 0, then the larger ones that they are parts of, if there are any, numbered likewise.
    fn chunk(&self, document: &Document) -> Vec<Chunk>;
}

/// Files of one kind to documents.
///
/// ```
/// use trefoil_core::{Document, Error, Loader, Result};
///
/// /// Subtitles without their numbers and times.
/// #[derive(Debug)]
/// struct Subtitles;
///
/// impl Loader for Subtitles {
///     fn fingerprint(&self) -> String {
///         "subtitles 1".to_owned()
///     }
///     fn load(&self, name: &str, bytes: &[u8]) -> Result<Document> {
///         let text = std::str::from_utf8(bytes).map_err(|error| Error::UnreadableDocument {
///             path: name.to_owned(),
///             reason: error.to_string(),
///         })?;
///         let is_spoken = |line: &&str| !line.contains("-->") && line.parse::<u32>().is_err();
///         let spoken: Vec<&str> = text.lines().filter(is_spoken).collect();
///         Ok(Document::new(name, spoken.join("\n")))
///     }
/// }
///
/// let document = Subtitles.load("a.srt", b"1\n00:01 --> 00:02\nGood morning.\n")?;
/// assert_eq!(document.body, "Good morning.");
/// assert!(Subtitles.load("b.srt", b"\xff").is_err());
/// # Ok::<(), Error>(())
/// ```
pub trait Loader: Debug + Send + Sync {
    /// One line that differs whenever two loaders may read a file otherwise: files that another
    /// one read are read again when they are next ingested.
    fn fingerprint(&self) -> String;

    /// The document that is stored under `name`, made of the bytes of the file.
    ///
    /// # Errors
    /// [`Error::UnreadableDocument`](crate::Error::UnreadableDocument) for what cannot be read: the
    /// file is reported, and the index keeps what it has of it.
    fn load(&self, name: &str, bytes: &[u8]) -> Result<Document>;
}
