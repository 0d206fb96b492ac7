//! What a claim says in few words, as a relation of the graph.

use trefoil_core::{
    ByteSpan, EntityType, Extraction, Mention, MentionKind, Relation, RelationType, Score,
};
use trefoil_text::normalize_name;

use crate::Claim;

/// The subject and the object of a claim and the relation between them; empty for one
/// that has no three of them.
pub(super) fn fact(claim: &Claim) -> Extraction {
    let (Some(subject), Some(predicate), Some(object)) =
        (&claim.subject, &claim.predicate, &claim.object)
    else {
        return Extraction::default();
    };
    let Ok(relation_type) = RelationType::new(predicate) else { return Extraction::default() };
    let whole = ByteSpan { start: 0, end: claim.text.len() };
    let (source, target) = (normalize_name(subject), normalize_name(object));
    let relation = Relation { source, target, relation_type, evidence: vec![whole] };
    let mentions = [subject, object].map(|name| Mention {
        name: name.clone(),
        normalized_name: normalize_name(name),
        aliases: Vec::new(),
        entity_type: EntityType::NAME,
        kind: MentionKind::ProperNoun,
        confidence: claim.confidence.max(Score::clamped(Extraction::MIN_CONFIDENCE)),
        spans: claim.text.find(name.as_str()).map(|start| place(start, name)).into_iter().collect(),
        target: None,
    });
    Extraction::new(mentions.into()).with_relations(vec![relation])
}

const fn place(start: usize, name: &str) -> ByteSpan {
    ByteSpan { start, end: start + name.len() }
}
