//! A store of its own becomes the cache of a node.

use std::{path::Path, sync::Arc};

use trefoil_core::{Error, Result};

use super::{NodeTimes, Place, Truth, cache::set_references, replica::Replica, tables, touch};
use crate::{Access, Clock, Store, WriteTx, fault::fault, store::file_in};

/// What it does, in messages.
const SHARE: &str = "share the index";

impl Store {
    /// Puts every row of a store of its own into a truth that has none, in one transaction, and
    /// makes the store the cache of a node of it. All rows are held in memory meanwhile. The place
    /// of the cache; nobody leads then.
    ///
    /// # Errors
    /// [`Error::InvalidField`] if the truth has rows; [`Error::NodeCache`] if the store is a cache
    /// already; [`Error::NotLeading`] if another node leads; [`Error::Fenced`],
    /// [`Error::Unavailable`]: nothing has changed; [`Error::InDoubt`]: the truth may have all
    /// rows, and the store is as it was.
    pub fn share(
        dir: &Path,
        truth: Arc<dyn Truth>,
        times: NodeTimes,
        clock: Arc<dyn Clock>,
    ) -> Result<Place> {
        // Refuses a cache, and brings an older format up to date.
        drop(Self::open(dir, Access::ReadWrite, Arc::clone(&clock))?);
        let store = Self::open_file(&file_in(dir), Access::Follow, clock)?;
        let head = truth.head()?;
        let allowed =
            "an index without rows: name a new one, and make it by `trefoil cluster init`";
        Error::check_field(head.tx == 0, "store", truth.name(), allowed)?;
        let replica = Replica::new(truth, tables()?, times);
        let Some(led) = replica.truth.lead(head, times.lease)? else {
            return Err(Error::NotLeading { shard: replica.truth.name(), doing: SHARE });
        };
        replica.set_leading(Some(led));
        let shared = store.write_alone_with(SHARE, |connection| {
            let failed = |error| fault(store.path(), SHARE, error);
            set_references(connection, true).map_err(failed)?;
            let tx = WriteTx::begin(connection).map_err(failed)?;
            touch::install(&tx, &replica.tables).map_err(failed)?;
            touch::note_all(&tx, &replica.tables).map_err(failed)?;
            replica.commit(tx, None, store.path(), SHARE)
        });
        replica.resign();
        shared?;
        store.place()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SystemClock, fixture::file, truth::MemoryTruth};

    fn texts(store: &Store) -> Vec<String> {
        let files = store.files().unwrap().into_iter();
        let chunks = files.flat_map(|file| store.chunks_of(&file.path).unwrap());
        chunks.map(|one| one.chunk.text.clone()).collect()
    }

    fn own(dir: &Path) -> Store {
        Store::open(dir, Access::ReadWrite, Arc::new(SystemClock)).unwrap()
    }

    #[test]
    fn every_row_is_there_for_a_new_node_and_the_store_is_a_cache() {
        let dirs = [(); 3].map(|()| tempfile::tempdir().unwrap());
        let [dir, other, third] = dirs.each_ref().map(tempfile::TempDir::path);
        let store = own(dir);
        for number in 0..40 {
            let text = format!("The walrus {number} sleeps.");
            store.put_files(&[file(&format!("{number}.md"), &[&text])]).unwrap();
        }
        let expected = texts(&store);
        assert_eq!(expected.len(), 40);
        drop(store);
        let (truth, times) = (MemoryTruth::new("a"), NodeTimes::default());
        let share = |dir| Store::share(dir, Arc::new(truth.clone()), times, Arc::new(SystemClock));
        let place = share(dir).unwrap();
        assert_eq!((place, place.tx), (truth.head().unwrap(), 1));
        let refused = share(dir).unwrap_err();
        assert!(matches!(refused, Error::NodeCache { .. }), "{refused:?}");
        let open = |dir, name| {
            let truth = Arc::new(truth.node(name));
            Store::open_node(dir, truth, times, Arc::new(SystemClock)).unwrap()
        };
        assert!(open(dir, "b").lead().unwrap(), "it has everything");
        let other = open(other, "c");
        other.follow(&mut |_| Ok(())).unwrap();
        assert_eq!(texts(&other), expected);
        // Another index does not go into the same shard.
        own(third).put_files(&[file("a.md", &["A seal."])]).unwrap();
        let refused = share(third).unwrap_err();
        assert!(matches!(refused, Error::InvalidField { .. }), "{refused:?}");
        assert_eq!(texts(&own(third)), ["A seal."]);
    }
}
