//! The chunks that mention entities of some types, as the graph knows them.

use std::{collections::BTreeSet, sync::Arc};

use trefoil_core::{Allowed, Recent, RowSet, Seq};
use trefoil_graph::GraphIndex;

/// Filters by type that are remembered.
const REMEMBERED: usize = 16;

/// What filters by type admit, remembered until the graph or what else is asked changes.
#[derive(Debug)]
pub(crate) struct TypedRows(Recent<Asked, Arc<RowSet>>);

impl Default for TypedRows {
    fn default() -> Self {
        Self(Recent::new(REMEMBERED))
    }
}

/// What a filter is answered from.
#[derive(Debug)]
struct Asked {
    types: BTreeSet<String>,
    /// The change that the graph reaches.
    seq: Seq,
    /// What the other filters admit.
    within: Allowed,
}

impl PartialEq for Asked {
    fn eq(&self, other: &Self) -> bool {
        let is_within_same = match (&self.within, &other.within) {
            (Allowed::All, Allowed::All) => true,
            (Allowed::Only(these), Allowed::Only(those)) => Arc::ptr_eq(these, those),
            (Allowed::All, Allowed::Only(_)) | (Allowed::Only(_), Allowed::All) => false,
        };
        is_within_same && self.seq == other.seq && self.types == other.types
    }
}

impl TypedRows {
    /// Forgets all of it: the rows are others.
    pub(crate) fn forget(&self) {
        self.0.forget();
    }

    /// Those rows within others that mention an entity of one of the types, in capitals, by a
    /// graph that reaches the change `seq`.
    pub(crate) fn allowed(
        &self,
        index: &GraphIndex,
        seq: Seq,
        types: BTreeSet<String>,
        within: Allowed,
    ) -> Allowed {
        let asked = Asked { types, seq, within };
        if let Some(known) = self.0.get(&asked) {
            return Allowed::Only(known);
        }
        let entities = (0..index.entity_count()).filter_map(|node| index.entity(node));
        let of_types = entities.filter(|one| asked.types.contains(one.entity_type.as_str()));
        let rows: RowSet = of_types.flat_map(|one| index.chunks_of(one.node)).collect();
        let rows = match &asked.within {
            Allowed::All => rows,
            Allowed::Only(others) => rows.intersection(others),
        };
        Allowed::Only(self.0.keep(asked, Arc::new(rows)))
    }
}

#[cfg(test)]
mod tests {
    use trefoil_core::{ByteSpan, EntityType, Extraction, Mention, MentionKind, RowId, Score};
    use trefoil_graph::GraphConfig;

    use super::*;

    fn graph(chunks: &[(u64, &str, EntityType)]) -> GraphIndex {
        let chunks = chunks.iter().map(|(row, name, entity_type)| {
            let mention = Mention {
                name: (*name).to_owned(),
                normalized_name: name.to_lowercase(),
                aliases: Vec::new(),
                entity_type: entity_type.clone(),
                kind: MentionKind::ProperNoun,
                confidence: Score::clamped(0.7),
                spans: vec![ByteSpan { start: 0, end: name.len() }],
                target: None,
            };
            (RowId::new(*row), Extraction::new(vec![mention]))
        });
        GraphIndex::build(chunks.collect::<Vec<_>>(), &GraphConfig::default()).unwrap()
    }

    #[test]
    fn a_filter_by_type_is_answered_again_only_when_its_answer_may_be_another() {
        let place = EntityType::PLACE;
        let index = graph(&[
            (1, "Kyoto", place.clone()),
            (2, "Kyoto", EntityType::NAME),
            (3, "Kyoto", place.clone()),
            (4, "Ada", EntityType::PERSON),
        ]);
        let rows = TypedRows::default();
        let ask = |seq, label: &str, within: &Allowed| {
            let types = [label.to_owned()].into();
            match rows.allowed(&index, Seq::new(seq), types, within.clone()) {
                Allowed::Only(rows) => rows,
                Allowed::All => panic!("all"),
            }
        };
        let listed = |rows: &RowSet| rows.iter().map(RowId::get).collect::<Vec<_>>();
        // Most take Kyoto for a place.
        let places = ask(1, place.as_str(), &Allowed::All);
        assert_eq!(listed(&places), [1, 2, 3]);
        assert_eq!(listed(&ask(1, "PERSON", &Allowed::All)), [4]);
        assert_eq!(listed(&ask(1, "EVENT", &Allowed::All)), [0; 0]);
        assert!(Arc::ptr_eq(&places, &ask(1, place.as_str(), &Allowed::All)));
        assert!(!Arc::ptr_eq(&places, &ask(2, place.as_str(), &Allowed::All)));
        let some = Allowed::Only(Arc::new([2, 4].map(RowId::new).into_iter().collect()));
        let within = ask(2, place.as_str(), &some);
        assert_eq!(listed(&within), [2]);
        assert!(Arc::ptr_eq(&within, &ask(2, place.as_str(), &some)));
        let equal = Allowed::Only(Arc::new([2, 4].map(RowId::new).into_iter().collect()));
        assert_eq!(ask(2, place.as_str(), &equal), within);
    }
}
