use serde::{Serialize, Serializer};

use crate::SearchQuery;

/// Writes pairs as a map, in their order.
///
/// # Errors
/// Those of the serialiser.
pub fn as_map<K: Serialize, V: Serialize, S: Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Writes a query without its embedding.
pub(super) fn without_embedding<S: Serializer>(
    query: &SearchQuery,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let SearchQuery { text, query_type, embedding: _, filters, options } = query;
    SearchQuery {
        text: text.clone(),
        query_type: *query_type,
        embedding: None,
        filters: filters.clone(),
        options: options.clone(),
    }
    .serialize(serializer)
}
