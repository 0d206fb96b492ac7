//! The retrievers that every engine has, and how much each weighs. Besides what is about the graph
//! alone, only this module and the opening of their indexes name them.

use trefoil_core::{
    After, Fusion, IndexInput, Plan, PlannedRetriever, QueryClassification, QueryType, RankedList,
    RetrieverId, SearchStrategy, SearchWeights, Stage, Weight,
};

/// A retriever that a search can use.
#[derive(Clone, Debug, PartialEq)]
pub struct Available {
    /// Its id.
    pub id: RetrieverId,
    /// The retrievers whose fused list it starts from.
    pub after: After,
    /// Its share where the caller names no weights; of the default set, none is fixed.
    pub weight: Option<Weight>,
}

impl From<RetrieverId> for Available {
    fn from(id: RetrieverId) -> Self {
        let after = if id == RetrieverId::GRAPH { After::Others } else { After::Nothing };
        Self { id, after, weight: None }
    }
}

/// Asks for what compares vectors alone.
pub(crate) const BY_VECTOR: SearchStrategy = SearchStrategy::SEMANTIC;

/// The retriever that feeds on this input.
pub(crate) const fn retriever_fed_by(input: IndexInput) -> RetrieverId {
    match input {
        IndexInput::Text => RetrieverId::KEYWORD,
        IndexInput::Vector => RetrieverId::SEMANTIC,
        IndexInput::Extraction => RetrieverId::GRAPH,
    }
}

/// Whose results suffer where this input is missing.
pub(crate) const fn stage_fed_by(input: IndexInput) -> Stage {
    Stage::Retriever(retriever_fed_by(input))
}

/// The list that tells which share of the question's information a passage covers.
pub(crate) fn by_terms(lists: &[RankedList]) -> Option<&RankedList> {
    lists.iter().find(|list| list.retriever() == RetrieverId::KEYWORD)
}

/// Whether terms are looked for and fused with what others find, as by default.
pub(crate) fn fuses_terms(plan: &Plan) -> bool {
    let is_by_terms = |one: &PlannedRetriever| one.id == RetrieverId::KEYWORD;
    let is_default = plan.fusion == Fusion::Adaptive;
    is_default && plan.retrievers.len() > 1 && plan.retrievers.iter().any(is_by_terms)
}

/// The list whose raw scores are cosines.
pub(crate) fn by_vectors(lists: &[RankedList]) -> Option<&RankedList> {
    lists.iter().find(|list| list.retriever() == RetrieverId::SEMANTIC)
}

/// The lists of the default set that do not go on from others.
pub(crate) fn independent(lists: &[RankedList]) -> impl Iterator<Item = &RankedList> {
    [by_terms(lists), by_vectors(lists)].into_iter().flatten()
}

/// The weights of the default set that suit a kind of question.
pub fn suited_to(query_type: QueryType) -> SearchWeights {
    let weights = match query_type {
        QueryType::Local => [0.35, 0.35, 0.30],
        QueryType::Global => [0.20, 0.30, 0.50],
        QueryType::Relationship => [0.20, 0.20, 0.60],
        QueryType::Hybrid => [0.33, 0.34, 0.33],
    };
    SearchWeights::default_set(weights).unwrap_or_default()
}

/// The same for a question that is mostly the literal name of something, such as an error code.
pub(crate) fn suited_to_literal() -> SearchWeights {
    SearchWeights::default_set([0.5, 0.25, 0.25]).unwrap_or_default()
}

/// The weights that suit the type of a question: the type that the caller names, or else the
/// weights that the classifier suggests. Only the graph's weight is taken from them. The other
/// two get equal halves of the rest: how much each should count is told better by what it found
/// ([`Fusion::Adaptive`](trefoil_core::Fusion)) than by how the question is put. Taken whole, the
/// weights moved the nDCG@10 of sixteen collections by +.002 to −.003, and questions that are
/// identifiers by −.03 where question and documents are in two languages.
pub fn suited_weights(
    query_type: Option<QueryType>,
    classification: Option<&QueryClassification>,
) -> SearchWeights {
    let classified = || classification.map(|found| found.suggested_weights.clone());
    let suits = query_type.map(suited_to).or_else(classified).unwrap_or_default();
    let graph = suits.get(RetrieverId::GRAPH);
    let half = (1.0 - graph) / 2.0;
    SearchWeights::default_set([half, half, graph]).unwrap_or_default()
}

/// `weights` with those of the other retrievers that are available: each has its own share, and
/// the default set what is left.
pub(crate) fn with_others(weights: SearchWeights, available: &[Available]) -> SearchWeights {
    let others: Vec<(RetrieverId, f32)> =
        available.iter().filter_map(|one| Some((one.id, one.weight?.get()))).collect();
    if others.is_empty() {
        return weights;
    }
    let rest = (1.0 - others.iter().map(|(_, weight)| weight).sum::<f32>()).max(0.0);
    let scaled = weights.iter().map(|(id, weight)| (id, weight * rest));
    SearchWeights::new(scaled.chain(others)).unwrap_or(weights)
}

/// The retrievers that are asked for. Those of `after` that are asked for and search by
/// themselves are what one goes on from.
pub(crate) fn planned(
    strategies: &[SearchStrategy],
    available: &[Available],
    depth: usize,
    weights: &SearchWeights,
) -> Vec<PlannedRetriever> {
    let asked: Vec<&Available> =
        available.iter().filter(|one| SearchStrategy::wants(strategies, one.id)).collect();
    let first = || asked.iter().filter(|one| one.after == After::Nothing).map(|one| one.id);
    let after = |one: &Available| match &one.after {
        After::Nothing => Vec::new(),
        After::Others => first().collect(),
        After::These(wanted) => first().filter(|id| wanted.contains(id)).collect(),
    };
    asked
        .iter()
        .map(|one| PlannedRetriever {
            after: after(one),
            ..PlannedRetriever::new(one.id, depth, weights.get(one.id))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_retriever_has_its_share_and_the_default_set_the_rest() {
        let mine = RetrieverId::new("mine").unwrap();
        let available =
            Available { weight: Some(Weight::new(0.2).unwrap()), ..Available::from(mine) };
        let weights = with_others(SearchWeights::default(), &[available]);
        assert_eq!(weights.get(mine), 0.2);
        assert!((weights.get(RetrieverId::GRAPH) - 0.24).abs() < 1e-6);
        assert_eq!(with_others(SearchWeights::default(), &[]), SearchWeights::default());
    }
}
