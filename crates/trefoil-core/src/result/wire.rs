use serde::{Serialize, Serializer};

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
