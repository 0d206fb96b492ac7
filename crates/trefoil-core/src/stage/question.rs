use std::fmt::Debug;

use crate::{QueryClassification, Question, Result};

/// A known name at the beginning of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownName {
    /// How many bytes of the text it covers.
    pub len: usize,
    /// What else the same thing is called, as it is usually written.
    pub aliases: Vec<String>,
}

/// The names of things that a corpus is known to speak of.
///
/// ```
/// use trefoil_core::{KnownName, NameLookup};
///
/// /// The names of our products.
/// #[derive(Debug)]
/// struct Products(Vec<&'static str>);
///
/// impl NameLookup for Products {
///     fn names_at(&self, text: &str) -> Vec<KnownName> {
///         let known = self.0.iter().filter(|name| text.starts_with(**name));
///         let name = |name: &&str| KnownName { len: name.len(), aliases: Vec::new() };
///         let mut names: Vec<KnownName> = known.map(name).collect();
///         names.sort_by_key(|name| std::cmp::Reverse(name.len));
///         names
///     }
/// }
///
/// let products = Products(vec!["trefoil", "trefoil cloud"]);
/// let found = products.names_at("trefoil cloud is down");
/// assert_eq!(found.iter().map(|name| name.len).collect::<Vec<_>>(), [13, 7]);
/// ```
pub trait NameLookup: Debug + Send + Sync {
    /// The known names that `text` begins with, longest first, whatever follows them:
    /// so names are found where no spaces are written. Names and `text` are compared in
    /// NFKC, in lower case, with single spaces.
    fn names_at(&self, text: &str) -> Vec<KnownName>;
}

/// Question to its kind, its names and other wordings. Pure.
///
/// ```
/// use trefoil_core::{
///     KnownName, NameLookup, QueryClassification, QueryClassifier, QueryType, Question, Result,
///     Score, SearchWeights,
/// };
///
/// /// Takes every question with "overview" in it for one about the whole.
/// #[derive(Debug)]
/// struct Overviews;
///
/// impl QueryClassifier for Overviews {
///     fn classify(&self, question: &Question, _: &dyn NameLookup) -> Result<QueryClassification> {
///         let global = question.text.to_lowercase().contains("overview");
///         Ok(QueryClassification {
///             original_query: question.text.clone(),
///             query_type: if global { QueryType::Global } else { QueryType::Hybrid },
///             confidence: Score::clamped(if global { 0.9 } else { 0.5 }),
///             extracted_entities: Vec::new(),
///             suggested_weights: SearchWeights::default(),
///             expanded_queries: Vec::new(),
///         })
///     }
/// }
///
/// # #[derive(Debug)]
/// # struct NoNames;
/// # impl NameLookup for NoNames {
/// #     fn names_at(&self, _: &str) -> Vec<KnownName> {
/// #         Vec::new()
/// #     }
/// # }
/// let question = Question { text: "An overview, please".to_owned(), ..Question::default() };
/// assert_eq!(Overviews.classify(&question, &NoNames)?.query_type, QueryType::Global);
/// # Ok::<(), trefoil_core::Error>(())
/// ```
pub trait QueryClassifier: Debug + Send + Sync {
    /// Classifies `question`, in which `names` finds what the corpus knows.
    ///
    /// # Errors
    /// Only a classifier that runs a model fails, as the model does.
    fn classify(&self, question: &Question, names: &dyn NameLookup) -> Result<QueryClassification>;
}
