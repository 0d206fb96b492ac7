use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use trefoil_core::{Error, Result};

use crate::{CommunityEdges, Csr, LeidenConfig, Node, Partition, column::Column, leiden};

/// How communities are divided further.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct HierarchyConfig {
    /// How the communities of each level are looked for.
    pub leiden: LeidenConfig,
    /// Most levels, 1–3; 3 by default.
    pub levels: u8,
    /// Communities with fewer members are left out; from 2, which is the default.
    pub min_size: u32,
    /// Communities with more members are divided; 50 by default.
    pub max_size: u32,
}

impl Default for HierarchyConfig {
    fn default() -> Self {
        Self { leiden: LeidenConfig::default(), levels: 3, min_size: 2, max_size: 50 }
    }
}

impl HierarchyConfig {
    /// Checks every setting.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] names the first that is out of its range.
    pub fn validate(&self) -> Result<()> {
        self.leiden.validate()?;
        if !(1..=3).contains(&self.levels) {
            let value = self.levels.to_string();
            return Err(Error::InvalidConfig {
                field: "hierarchy.levels", value, allowed: "1–3"
            });
        }
        if self.min_size < 2 {
            let value = self.min_size.to_string();
            let (field, allowed) = ("hierarchy.minSize", "2 or more");
            return Err(Error::InvalidConfig { field, value, allowed });
        }
        Ok(())
    }
}

/// A set of nodes that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Community {
    /// 0 for the communities of the whole graph; one more for the parts of those.
    pub level: u8,
    /// Place in the hierarchy of the community that this one is a part of.
    pub parent: Option<usize>,
    /// Places of its parts, the largest first.
    pub children: Vec<usize>,
    /// Its nodes, ascending. Those of its children are among them.
    pub members: Vec<Node>,
    /// The edges inside and around it.
    pub edges: CommunityEdges,
}

/// Communities and their parts, level by level, in each the largest first.
///
/// Every community is connected and lies within its parent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hierarchy {
    communities: Vec<Community>,
}

impl Hierarchy {
    /// Communities that were found before, as `(level, place of the parent, members)`: level by
    /// level, a parent before its parts. Their edges are not known.
    pub fn restore(communities: impl IntoIterator<Item = (u8, Option<usize>, Vec<Node>)>) -> Self {
        let mut restored: Vec<Community> = Vec::new();
        for (level, parent, mut members) in communities {
            members.sort_unstable();
            let place = restored.len();
            if let Some(above) = parent.and_then(|parent| restored.get_mut(parent)) {
                above.children.push(place);
            }
            let (children, edges) = (Vec::new(), CommunityEdges::default());
            restored.push(Community { level, parent, children, members, edges });
        }
        Self { communities: restored }
    }

    /// Level 0 are the communities of a partition. One with too many members is divided by
    /// Leiden on its own edges, and so are its parts.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if a setting is out of its range.
    pub fn new(graph: &Csr, partition: &Partition, config: &HierarchyConfig) -> Result<Self> {
        Self::default().updated(graph, partition, graph.nodes(), config)
    }

    /// The same after a change: what [`Hierarchy::new`] gives, but a community with the members
    /// of an old one, none of them `changed`, keeps its parts without another run.
    ///
    /// # Errors
    /// [`Error::InvalidConfig`] if a setting is out of its range.
    pub fn updated(
        &self,
        graph: &Csr,
        partition: &Partition,
        changed: impl IntoIterator<Item = Node>,
        config: &HierarchyConfig,
    ) -> Result<Self> {
        config.validate()?;
        let changed: BTreeSet<Node> = changed.into_iter().collect();
        let is_changed = |members: &[Node]| members.iter().any(|node| changed.contains(node));
        let known: BTreeMap<(u8, &[Node]), &Community> =
            self.communities.iter().map(|one| ((one.level, one.members.as_slice()), one)).collect();
        let total = graph.total();
        let mut label = Column::filled(graph.node_count(), usize::MAX);
        let mut communities: Vec<Community> = Vec::new();
        let mut ring: Vec<(Option<usize>, Vec<Node>)> =
            partition.members().into_iter().map(|members| (None, members)).collect();
        for level in 0..config.levels {
            ring.retain(|(_, members)| members.len() >= config.min_size as usize);
            ring.sort_by(|(_, a), (_, b)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
            let mut next = Vec::new();
            for (parent, members) in ring {
                let place = communities.len();
                if let Some(above) = parent.and_then(|parent| communities.get_mut(parent)) {
                    above.children.push(place);
                }
                if level + 1 < config.levels && members.len() > config.max_size as usize {
                    let parts = match known.get(&(level, members.as_slice())) {
                        Some(old) if !is_changed(&members) => self.parts(old),
                        _ => divide(graph, &members, &config.leiden)?,
                    };
                    next.extend(parts.into_iter().map(|part| (Some(place), part)));
                }
                for &node in &members {
                    label[node] = place;
                }
                let is_inside = |node| label[node] == place;
                let edges = CommunityEdges::around(graph, &members, is_inside, total);
                let children = Vec::new();
                communities.push(Community { level, parent, children, members, edges });
            }
            ring = next;
        }
        Ok(Self { communities })
    }

    /// The communities, level by level.
    pub fn communities(&self) -> &[Community] {
        &self.communities
    }

    /// The communities of level 0, of so many nodes; those in none are alone.
    pub fn partition(&self, nodes: u32) -> Partition {
        let mut label: Vec<(usize, Node)> = (0..nodes).map(|node| (usize::MAX, node)).collect();
        for (place, community) in self.communities.iter().enumerate() {
            for &node in community.members.iter().filter(|_| community.level == 0) {
                if let Some(label) = label.get_mut(node as usize) {
                    *label = (place, 0);
                }
            }
        }
        Partition::from_labels(label)
    }

    fn parts(&self, community: &Community) -> Vec<Vec<Node>> {
        let children = community.children.iter().filter_map(|&place| self.communities.get(place));
        children.map(|child| child.members.clone()).collect()
    }
}

/// The communities of a community, going by its own edges; none if it is one.
fn divide(graph: &Csr, members: &[Node], config: &LeidenConfig) -> Result<Vec<Vec<Node>>> {
    let partition = leiden(&graph.induced(members), config)?;
    if partition.len() < 2 {
        return Ok(Vec::new());
    }
    let of_graph = |place: Node| members.get(place as usize).copied();
    let parts = partition.members().into_iter();
    Ok(parts.map(|part| part.into_iter().filter_map(of_graph).collect()).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{components, fixture::planted, update};

    fn config(max_size: u32) -> HierarchyConfig {
        HierarchyConfig { max_size, ..HierarchyConfig::default() }
    }

    fn hierarchy(graph: &Csr, config: &HierarchyConfig) -> Hierarchy {
        let partition = leiden(graph, &config.leiden).unwrap();
        Hierarchy::new(graph, &partition, config).unwrap()
    }

    #[test]
    fn groups_of_groups_are_found_level_by_level() {
        // Two times four groups of 20: dense groups, a looser tie within each half.
        let inner = planted(160, 8, 0.8, 0.0, 1);
        let outer = planted(160, 2, 0.15, 0.005, 2);
        let graph = Csr::from_edges(160, inner.all_edges().chain(outer.all_edges())).unwrap();
        let low = LeidenConfig { resolution: 0.7, ..LeidenConfig::default() };
        let halves = leiden(&graph, &low).unwrap();
        assert_eq!(halves, Partition::from_labels((0..160).map(|node| node % 2)));
        let found = Hierarchy::new(&graph, &halves, &config(50)).unwrap();
        let sizes: Vec<_> =
            found.communities().iter().map(|one| (one.level, one.members.len())).collect();
        assert_eq!(sizes, [vec![(0, 80); 2], vec![(1, 20); 8]].concat());
        let first = &found.communities()[0];
        assert_eq!((first.parent, first.children.len()), (None, 4));
    }

    #[test]
    fn small_communities_are_left_out_and_not_divided() {
        let graph = Csr::from_edges(7, [(0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0)]).unwrap();
        let members = |config: &HierarchyConfig| -> Vec<Vec<Node>> {
            hierarchy(&graph, config).communities().iter().map(|one| one.members.clone()).collect()
        };
        assert_eq!(members(&config(50)), [vec![0, 1, 2], vec![3, 4]]);
        let large = HierarchyConfig { min_size: 3, ..config(50) };
        assert_eq!(members(&large), [vec![0, 1, 2]]);
    }

    #[test]
    fn settings_out_of_range_are_refused() {
        let graph = Csr::from_edges(2, [(0, 1, 1.0)]).unwrap();
        for config in [
            HierarchyConfig { levels: 0, ..config(50) },
            HierarchyConfig { levels: 4, ..config(50) },
            HierarchyConfig { min_size: 1, ..config(50) },
        ] {
            assert!(Hierarchy::new(&graph, &Partition::singletons(2), &config).is_err());
        }
    }

    proptest! {
        #[test]
        fn levels_nest_and_stay_connected(
            seed in 0..1_000_u64, levels in 1..=3_u8, max_size in 0..30_u32
        ) {
            let graph = planted(150, 6, 0.12, 0.01, seed);
            let config = HierarchyConfig { levels, ..config(max_size) };
            let found = hierarchy(&graph, &config);
            let all = found.communities();
            for (place, community) in all.iter().enumerate() {
                prop_assert!(community.level < levels);
                prop_assert!(community.members.len() >= 2 && community.members.is_sorted());
                let inside = graph.induced(&community.members);
                prop_assert_eq!(components(&inside).len(), 1);
                prop_assert_eq!(community.edges.internal_edges, inside.edge_count());
                let ends: usize = community.members.iter().map(|&node| graph.degree(node)).sum();
                prop_assert_eq!(
                    2 * community.edges.internal_edges + community.edges.external_edges, ends
                );
                for &child in &community.children {
                    prop_assert_eq!(all[child].parent, Some(place));
                    prop_assert_eq!(all[child].level, community.level + 1);
                    prop_assert!(all[child].members.len() < community.members.len());
                    let is_inside = |node| community.members.binary_search(node).is_ok();
                    prop_assert!(all[child].members.iter().all(is_inside));
                }
            }
            // Each node at most once a level, and on level 0 each that is not alone.
            for level in 0..levels {
                let here = all.iter().filter(|community| community.level == level);
                let mut nodes: Vec<Node> = here.flat_map(|one| one.members.clone()).collect();
                let count = nodes.len();
                nodes.sort_unstable();
                nodes.dedup();
                prop_assert_eq!(nodes.len(), count);
                let tied = graph.nodes().filter(|&node| graph.degree(node) > 0).count();
                prop_assert!(level > 0 || count == tied);
            }
        }

        #[test]
        fn an_update_gives_what_a_new_hierarchy_gives(seed in 0..1_000_u64, a in 0..150_u32) {
            let graph = planted(150, 6, 0.12, 0.01, seed);
            let config = config(10);
            let partition = leiden(&graph, &config.leiden)?;
            let before = Hierarchy::new(&graph, &partition, &config)?;
            let b = (a + 1) % 150;
            let changed = Csr::from_edges(150, graph.all_edges().chain([(a, b, 1.0)]))?;
            let partition = update(&changed, &partition, &[a, b], &config.leiden)?.partition;
            let updated = before.updated(&changed, &partition, [a, b], &config)?;
            let fresh = Hierarchy::new(&changed, &partition, &config)?;
            prop_assert_eq!(&updated, &fresh);
            let stored = before.communities().iter();
            let stored = stored.map(|one| (one.level, one.parent, one.members.clone()));
            let restored = Hierarchy::restore(stored);
            prop_assert_eq!(restored.partition(150), before.partition(150));
            prop_assert_eq!(restored.updated(&changed, &partition, [a, b], &config)?, fresh);
        }
    }
}
