use std::fmt::Debug;

use crate::{Extraction, Result, Summary, SummaryRequest, TitledText};

/// Texts to the entities in them and how they hang together: what the graph is built from.
///
/// ```
/// use trefoil_core::{
///     ByteSpan, EntityExtractor, EntityType, Extraction, Language, Mention, MentionKind, Result,
///     Score, TitledText,
/// };
///
/// /// Tickets such as TRE-17.
/// #[derive(Debug)]
/// struct Tickets;
///
/// impl EntityExtractor for Tickets {
///     fn fingerprint(&self) -> String {
///         "tickets 1".to_owned()
///     }
///     fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>> {
///         let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-';
///         let of = |text: &TitledText<'_>| {
///             let tickets = text.text.match_indices("TRE-").map(|(start, _)| {
///                 let rest = &text.text[start..];
///                 let name = &rest[..rest.find(is_end).unwrap_or(rest.len())];
///                 Mention {
///                     name: name.to_owned(),
///                     normalized_name: name.to_lowercase(),
///                     aliases: Vec::new(),
///                     entity_type: EntityType::CONCEPT,
///                     kind: MentionKind::Code,
///                     confidence: Score::ONE,
///                     spans: vec![ByteSpan { start, end: start + name.len() }],
///                     target: None,
///                 }
///             });
///             Extraction::new(tickets.collect())
///         };
///         Ok(texts.iter().map(of).collect())
///     }
/// }
///
/// let text = "Fixed by TRE-17.";
/// let text = TitledText { title: "", heading_path: &[], text, language: Language::En };
/// assert_eq!(Tickets.extract(&[text])?[0].mentions()[0].name, "TRE-17");
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait EntityExtractor: Debug + Send + Sync {
    /// One line that differs whenever two extractors may find different things: a graph
    /// is built again when it changes.
    fn fingerprint(&self) -> String;

    /// One extraction a text, in order. What is found in a text does not depend on the
    /// other texts of the call.
    ///
    /// # Errors
    /// A model is missing or its answer cannot be read.
    fn extract(&self, texts: &[TitledText<'_>]) -> Result<Vec<Extraction>>;
}

/// Passages to what they say, in short: what the report of a community is.
///
/// ```
/// use trefoil_core::{ByteSpan, Result, Summarizer, Summary, SummaryRequest, SummarySource};
///
/// /// The beginning of the most telling passage.
/// #[derive(Debug)]
/// struct First;
///
/// impl Summarizer for First {
///     fn fingerprint(&self) -> String {
///         "first 1".to_owned()
///     }
///     fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
///         let Some(first) = request.passages.first() else { return Ok(Summary::default()) };
///         let text: String = first.text.chars().take(request.max_chars).collect();
///         let span = ByteSpan { start: 0, end: text.len() };
///         Ok(Summary { text, sources: vec![SummarySource { row: first.row, span }] })
///     }
/// }
///
/// assert_eq!(First.summarize(&SummaryRequest::default())?, Summary::default());
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait Summarizer: Debug + Send + Sync {
    /// One line that differs whenever two summarisers may write different things: a
    /// report is made again when it changes.
    fn fingerprint(&self) -> String;

    /// At most `request.max_chars` characters, and the passages, or parts of them, that
    /// they rest on.
    ///
    /// # Errors
    /// A model is missing or its answer cannot be read.
    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary>;
}
