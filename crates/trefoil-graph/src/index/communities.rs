use std::borrow::Cow;

use trefoil_core::Result;

use crate::{
    Csr, GraphIndex, Hierarchy, HierarchyConfig, Node,
    community::leiden::{leiden, update},
};

impl GraphIndex {
    /// The communities of the entities and their parts, without the most connected entity.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`](trefoil_core::Error::InvalidConfig) if a setting is out of its
    /// range.
    pub fn communities(&self, config: &HierarchyConfig) -> Result<Hierarchy> {
        let graph = self.without_hub();
        Hierarchy::new(&graph, &leiden(&graph, &config.leiden)?, config)
    }

    /// The same from the communities before a change, looking at the surroundings of
    /// `changed` only: the entities whose [`ties`](Self::ties) are others.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`](trefoil_core::Error::InvalidConfig) if a setting is out of its
    /// range.
    pub fn communities_since(
        &self,
        before: &Hierarchy,
        changed: &[Node],
        config: &HierarchyConfig,
    ) -> Result<Hierarchy> {
        let graph = self.without_hub();
        let partition = before.partition(graph.node_count());
        let partition = update(&graph, &partition, changed, &config.leiden)?.partition;
        before.updated(&graph, &partition, changed.iter().copied(), config)
    }

    /// Of each entity, a hash of the names that it is related to, as communities see it; 0
    /// without any. It is the same in every graph, and leaves out how strong the relations
    /// are, for each new chunk changes that of all.
    pub fn ties(&self) -> Vec<u64> {
        let graph = self.without_hub();
        let name = |node| self.frozen().names.get(node).unwrap_or_default();
        let names: Vec<u64> = graph.nodes().map(|node| fnv(name(node).bytes())).collect();
        let hash = |&node: &Node| names.get(node as usize).copied().unwrap_or_default();
        let ties = graph.nodes().map(|node| match graph.neighbours(node) {
            [] => 0,
            others => fnv(others.iter().flat_map(|other| hash(other).to_le_bytes())),
        });
        ties.collect()
    }

    fn without_hub(&self) -> Cow<'_, Csr> {
        let graph = self.related();
        graph.hub().map_or(Cow::Borrowed(graph), |hub| Cow::Owned(graph.without(hub)))
    }
}

/// FNV-1a of 64 bits (Fowler, Noll, Vo, draft-eastlake-fnv): the same on every machine.
fn fnv(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GraphConfig, PruneConfig, fixture::chunk};

    /// Chunks of `names`, `before` chunks, and what their entities are tied to: names of those
    /// whose ties differ.
    #[test]
    fn ties_tell_what_changed() {
        let check = |before: &[&str], after: &[&str], expected: &[&str]| {
            let graph = |chunks: &[&str]| {
                let chunks = (1..).zip(chunks).map(|(row, names)| chunk(row, names));
                let prune = PruneConfig { min_count: 1, percentile: 0.0 };
                GraphIndex::build(chunks, &GraphConfig { prune, ..GraphConfig::default() }).unwrap()
            };
            let ties = |graph: &GraphIndex| -> Vec<(String, u64)> {
                let names = (0..graph.entity_count())
                    .map(|node| graph.entity(node).unwrap().name.to_owned());
                names.zip(graph.ties()).collect()
            };
            let old = ties(&graph(before));
            let new = ties(&graph(after));
            let changed = new.iter().filter(|one| !old.contains(one));
            let changed: Vec<&str> = changed.map(|(name, _)| &**name).collect();
            assert_eq!(changed, expected, "{before:?} {after:?}");
        };
        let hub = "Hub Ada";
        let base = [
            hub,
            "Hub Engine",
            "Hub Ada Engine",
            "Hub Mill",
            "Ada Engine",
            "Mill Cards",
            "Mill Cards",
        ];
        check(&base, &base, &[]);
        let mut other = base.to_vec();
        other.rotate_left(3);
        check(&base, &other, &[]);
        check(
            &base,
            &[&base[..], &["Cards Abacus", "Cards Abacus"]].concat(),
            &["Abacus", "Cards"],
        );
    }
}
