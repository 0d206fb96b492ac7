//! Names of the files and folders of an index, but for those of its store. No other module knows
//! them.

use std::path::{Path, PathBuf};

use trefoil_core::{Collection, RetrieverId};

/// Held by the process that writes.
pub(crate) const LOCK: &str = "LOCK";
/// How the name of a folder begins that a repair has set aside.
pub(crate) const ASIDE: &str = "damaged-";
/// What the name of an index ends with that an opening has set aside.
pub(crate) const DAMAGED: &str = "damaged";

/// The folder of an index below that of all indexes.
pub(crate) fn index_folder(collection: Collection, retriever: RetrieverId) -> String {
    format!("{}/{retriever}", collection.name())
}

/// The folder of the vectors with a number below that of all indexes: `semantic`, then
/// `semantic-1`, and so on.
pub(crate) fn vector_folder(collection: Collection, generation: u64) -> String {
    format!("{}/{}", collection.name(), vector_name(generation))
}

fn vector_name(generation: u64) -> String {
    let retriever = RetrieverId::SEMANTIC;
    if generation == 0 { retriever.to_string() } else { format!("{retriever}-{generation}") }
}

/// The folders of the indexes of these retrievers and of the vectors in use, whether they are there
/// or not.
pub(crate) fn folders(dir: &Path, generation: u64, retrievers: &[RetrieverId]) -> Vec<PathBuf> {
    let of = |collection| {
        let fixed = retrievers.iter().map(move |&one| index_folder(collection, one));
        fixed.chain([vector_folder(collection, generation)])
    };
    Collection::ALL.into_iter().flat_map(of).map(|folder| dir.join(folder)).collect()
}

/// Whether a folder of this name can be that of a retriever with one index: not one of the numbered
/// folders of vectors.
pub(crate) fn is_own_folder(name: &str) -> bool {
    let numbered = name.strip_prefix(RetrieverId::SEMANTIC.name());
    RetrieverId::new(name).is_ok() && numbered.is_none_or(|rest| !rest.starts_with('-'))
}

/// The number of the vectors that a folder of this name holds; none if it holds others.
pub(crate) fn generation_of(name: &str) -> Option<u64> {
    let number = name.strip_prefix(RetrieverId::SEMANTIC.name())?;
    let number = if number.is_empty() { 0 } else { number.strip_prefix('-')?.parse().ok()? };
    (vector_name(number) == name).then_some(number)
}
