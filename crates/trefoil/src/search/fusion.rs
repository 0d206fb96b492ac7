//! Several ranked lists to one. Pure: no clock, no index, no I/O.
//!
//! Every fuser scales the retrievers' weights over the lists that are there, keeps what
//! each retriever said of a row, and gives a `combined` score from 0 to 1.

use std::{collections::BTreeMap, sync::Arc};

use trefoil_core::{
    Error, Fused, Fuser, Fusion, Hit, Plan, PlannedRetriever, RankedList, Result, RetrieverHit,
    RetrieverId, RowId, RrfConfig, Score,
};

use crate::search::evidence::EvidenceWeights;

/// The fuser of a plan.
pub fn fuser(plan: &Plan) -> Arc<dyn Fuser> {
    match &plan.fusion {
        Fusion::Adaptive => Arc::new(Adaptive::default()),
        Fusion::Rrf => Arc::new(Rrf::from(plan.rrf)),
        Fusion::RelativeScore => Arc::new(RelativeScore),
        Fusion::DistributionBased => Arc::new(DistributionBased),
        Fusion::Custom(fuser) => Arc::clone(fuser),
    }
}

/// Reciprocal rank fusion: `Σ weight / (k + rank)`, rank from 1.
///
/// `combined` is that sum × `(k + 1)` / Σ weights, so that first in every list is 1.
/// Source: Cormack, Clarke, Büttcher: Reciprocal Rank Fusion outperforms Condorcet
/// and individual Rank Learning Methods, SIGIR 2009.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rrf {
    k: f32,
}

impl Rrf {
    /// Takes the constant, 1–1000; 60 is usual.
    ///
    /// # Errors
    /// [`Error::InvalidK`] outside that range.
    pub fn new(k: u32) -> Result<Self> {
        if (1..=1000).contains(&k) { Ok(Self { k: k as f32 }) } else { Err(Error::InvalidK { k }) }
    }

    /// What one list adds for a row at `rank`, from 1.
    pub fn term(&self, weight: f32, rank: u32) -> f32 {
        weight / (self.k + rank as f32)
    }
}

impl Default for Rrf {
    fn default() -> Self {
        Self { k: 60.0 }
    }
}

impl From<RrfConfig> for Rrf {
    /// The nearest allowed constant.
    fn from(config: RrfConfig) -> Self {
        Self { k: config.k.clamp(1, 1000) as f32 }
    }
}

impl Fuser for Rrf {
    fn fuse(&self, retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let scale = self.k + 1.0;
        Ok(sum(lists, &weights(retrievers, lists)?, |_, _, rank| self.term(scale, rank)))
    }
}

/// Convex combination of scores, each list mapped from its floor and its best to 0–1.
///
/// The floor is what the retriever says counts as nothing, not the last hit of the list,
/// so that a short list does not lose its end. Source: Bruch, Gai, Ingber: An
/// Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelativeScore;

impl Fuser for RelativeScore {
    fn fuse(&self, retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        Ok(sum(lists, &weights(retrievers, lists)?, |list, hit, _| relative(list, hit)))
    }
}

/// [`RelativeScore`] with each weight multiplied by the evidence that its retriever knows about the
/// question ([`RankedList::confidence`]), so that one with nothing to say, such as BM25 asked in another language
/// than the corpus, does not drag the list below that of the one which has.
///
/// A retriever that goes on from others ([`PlannedRetriever::after`]) takes its share from them by
/// how surely it leads on from how sure ground, and they divide the rest. How much each kind of evidence counts was
/// chosen with collections left out (decision 023).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Adaptive(pub EvidenceWeights);

impl Fuser for Adaptive {
    fn fuse(&self, retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let stated = weights(retrievers, lists)?;
        let goes_on = |list: &RankedList| {
            let planned = retrievers.iter().find(|one| one.id == list.retriever());
            lists.len() > 1 && planned.is_some_and(|one| !one.after.is_empty())
        };
        let each = || stated.iter().zip(lists);
        // Where the others found nothing, there is nothing to be unsure of.
        let grounds = lists.iter().filter(|list| !goes_on(list) && !list.hits().is_empty());
        let surest = grounds.map(RankedList::confidence).reduce(f32::max).unwrap_or(1.0);
        let led: Vec<f32> = each()
            .map(
                |(&weight, list)| {
                    if goes_on(list) { self.0.odds_to_lead(weight, list, surest) } else { 0.0 }
                },
            )
            .collect();
        let all = 1.0 + led.iter().sum::<f32>();
        let asked = |known: &dyn Fn(&RankedList) -> f32| -> Vec<f32> {
            each().map(|(w, list)| if goes_on(list) { 0.0 } else { w * known(list) }).collect()
        };
        let known = asked(&|list| self.0.known(list));
        let known = if known.iter().sum::<f32>() > 0.0 { known } else { asked(&|_| 1.0) };
        let shares: Vec<f32> =
            scaled(known).iter().zip(led).map(|(known, led)| (known + led) / all).collect();
        Ok(sum(lists, &shares, |list, hit, _| relative(list, hit)))
    }
}

/// Scores mapped from mean − 3σ and mean + 3σ of their list to 0–1, then weighted.
///
/// Source: Mazzeschi: Distribution-Based Score Fusion, 2023.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DistributionBased;

impl Fuser for DistributionBased {
    fn fuse(&self, retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let ranges: BTreeMap<RetrieverId, (f32, f32)> = lists
            .iter()
            .map(|list| {
                let (mean, deviation) = mean_and_deviation(list.hits());
                (list.retriever(), (mean - 3.0 * deviation, mean + 3.0 * deviation))
            })
            .collect();
        Ok(sum(lists, &weights(retrievers, lists)?, |list, hit, _| {
            let (low, high) = ranges.get(&list.retriever()).copied().unwrap_or_default();
            if high > low { ((hit.raw_score - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 }
        }))
    }
}

/// Each list's share of the weights, summing to 1; equal shares if all are 0.
fn weights(retrievers: &[PlannedRetriever], lists: &[RankedList]) -> Result<Vec<f32>> {
    if lists.is_empty() {
        return Err(Error::EmptyRankedLists);
    }
    let stated = lists.iter().map(|list| {
        let planned = retrievers.iter().find(|one| one.id == list.retriever());
        let weight = planned.map_or(0.0, |one| one.weight);
        if (0.0..=1.0).contains(&weight) {
            Ok(weight)
        } else {
            let value = weight.to_string();
            Err(Error::InvalidConfig { field: "weights", value, allowed: "0–1" })
        }
    });
    Ok(scaled(stated.collect::<Result<_>>()?))
}

fn scaled(mut weights: Vec<f32>) -> Vec<f32> {
    let total: f32 = weights.iter().sum();
    let equal = 1.0 / weights.len().max(1) as f32;
    for weight in &mut weights {
        *weight = if total > 0.0 { *weight / total } else { equal };
    }
    weights
}

/// Adds `weight × value` for each hit of each list; a list that weighs 0 adds no rows.
fn sum(
    lists: &[RankedList],
    weights: &[f32],
    value: impl Fn(&RankedList, &Hit, u32) -> f32,
) -> Vec<Fused> {
    let mut rows: BTreeMap<RowId, (f32, Vec<RetrieverHit>)> = BTreeMap::new();
    for (list, &weight) in lists.iter().zip(weights).filter(|&(_, &weight)| weight > 0.0) {
        for (hit, rank) in list.hits().iter().zip(1_u32..) {
            let (combined, hits) = rows.entry(hit.row).or_default();
            *combined += weight * value(list, hit, rank);
            hits.push(RetrieverHit {
                retriever: list.retriever(),
                rank,
                raw_score: hit.raw_score,
                relevance: hit.relevance,
            });
        }
    }
    let mut fused: Vec<Fused> = rows
        .into_iter()
        .map(|(row, (combined, hits))| Fused { row, combined: Score::clamped(combined), hits })
        .collect();
    Fused::sort(&mut fused);
    fused
}

/// Where a hit stands between the floor and the best of its list, 0–1.
fn relative(list: &RankedList, hit: &Hit) -> f32 {
    let best = list.hits().first().map_or(hit.raw_score, |best| best.raw_score);
    let range = best - list.floor();
    // A list of equals, such as one of a single hit, is all best.
    if range > 0.0 { ((hit.raw_score - list.floor()) / range).clamp(0.0, 1.0) } else { 1.0 }
}

fn mean_and_deviation(hits: &[Hit]) -> (f32, f32) {
    let count = hits.len().max(1) as f32;
    let mean = hits.iter().map(|hit| hit.raw_score).sum::<f32>() / count;
    let variance = hits.iter().map(|hit| (hit.raw_score - mean).powi(2)).sum::<f32>() / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as Generator, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn retrievers(weights: &[(RetrieverId, f32)]) -> Vec<PlannedRetriever> {
        let ids: Vec<RetrieverId> = weights.iter().map(|&(id, _)| id).collect();
        let is_graph = |id| id == RetrieverId::GRAPH;
        let first: Vec<RetrieverId> = ids.iter().copied().filter(|&id| !is_graph(id)).collect();
        let planned = |&(id, weight): &(RetrieverId, f32)| PlannedRetriever {
            after: if is_graph(id) { first.clone() } else { Vec::new() },
            ..PlannedRetriever::new(id, 100, weight)
        };
        weights.iter().map(planned).collect()
    }

    fn list(retriever: RetrieverId, scores: &[(u64, f32)]) -> RankedList {
        let hit = |&(row, raw_score)| Hit {
            row: RowId::new(row),
            raw_score,
            relevance: Score::clamped(raw_score),
        };
        RankedList::new(retriever, scores.iter().map(hit).collect())
    }

    const PROPORTIONAL: Adaptive = Adaptive(EvidenceWeights { power: 1.0, lead: 1.0, most: 100.0 });

    const EVEN: [(RetrieverId, f32); 2] =
        [(RetrieverId::KEYWORD, 0.5), (RetrieverId::SEMANTIC, 0.5)];

    #[track_caller]
    fn check(
        fuser: &dyn Fuser,
        weights: &[(RetrieverId, f32)],
        lists: &[RankedList],
        expected: &[(u64, f32)],
    ) {
        let fused = fuser.fuse(&retrievers(weights), lists).unwrap();
        let actual: Vec<(u64, f32)> =
            fused.iter().map(|hit| (hit.row.get(), hit.combined.get())).collect();
        assert_eq!(actual.len(), expected.len(), "{actual:?}");
        for (actual, expected) in actual.iter().zip(expected) {
            assert_eq!(actual.0, expected.0);
            assert!((actual.1 - expected.1).abs() < 1e-6, "{actual:?} is not {expected:?}");
        }
    }

    #[test]
    fn rrf_sums_to_the_known_value() {
        let rrf = Rrf::new(60).unwrap();
        let sum = rrf.term(0.35, 1) + rrf.term(0.35, 2) + rrf.term(0.30, 1);
        assert!((sum - 0.016_301).abs() < 5e-7, "{sum}");
    }

    #[test]
    fn rrf_is_one_for_first_in_every_list() {
        let weights = [
            (RetrieverId::KEYWORD, 0.35),
            (RetrieverId::SEMANTIC, 0.35),
            (RetrieverId::GRAPH, 0.30),
        ];
        let lists =
            RetrieverId::DEFAULT_SET.map(|retriever| list(retriever, &[(7, 2.0), (8, 1.0)]));
        check(&Rrf::default(), &weights, &lists, &[(7, 1.0), (8, 61.0 / 62.0)]);
    }

    #[test]
    fn weights_are_scaled_over_the_lists_that_are_there() {
        let weights = [
            (RetrieverId::KEYWORD, 0.35),
            (RetrieverId::SEMANTIC, 0.35),
            (RetrieverId::GRAPH, 0.30),
        ];
        check(&Rrf::default(), &weights, &[list(RetrieverId::GRAPH, &[(1, 1.0)])], &[(1, 1.0)]);
    }

    #[test]
    fn a_row_that_two_retrievers_agree_on_comes_first() {
        let lists = [
            list(RetrieverId::KEYWORD, &[(1, 9.0), (2, 8.0)]),
            list(RetrieverId::SEMANTIC, &[(3, 0.9), (2, 0.8)]),
        ];
        let both = 61.0 / 62.0;
        check(&Rrf::default(), &EVEN, &lists, &[(2, both), (1, 0.5), (3, 0.5)]);
    }

    #[test]
    fn a_retriever_that_weighs_nothing_adds_nothing() {
        let weights = [(RetrieverId::KEYWORD, 1.0), (RetrieverId::SEMANTIC, 0.0)];
        let lists =
            [list(RetrieverId::KEYWORD, &[(1, 9.0)]), list(RetrieverId::SEMANTIC, &[(3, 0.9)])];
        check(&Rrf::default(), &weights, &lists, &[(1, 1.0)]);
    }

    #[test]
    fn relative_score_keeps_the_end_of_a_list_above_its_floor() {
        let lists = [list(RetrieverId::KEYWORD, &[(1, 10.0), (2, 5.0)]).with_floor(0.0)];
        check(&RelativeScore, &EVEN, &lists, &[(1, 1.0), (2, 0.5)]);
        let lists = [list(RetrieverId::KEYWORD, &[(1, 10.0)])];
        check(&RelativeScore, &EVEN, &lists, &[(1, 1.0)]);
    }

    #[test]
    fn adaptive_weighs_a_retriever_by_what_it_knows() {
        let keyword = list(RetrieverId::KEYWORD, &[(1, 10.0), (2, 5.0)]).with_floor(0.0);
        let semantic = list(RetrieverId::SEMANTIC, &[(3, 1.0), (1, 0.5)]).with_floor(0.0);
        let lists = [keyword.clone().with_confidence(0.0), semantic.clone()];
        check(&PROPORTIONAL, &EVEN, &lists, &[(3, 1.0), (1, 0.5)]);
        let lists = [keyword.with_confidence(3.0), semantic];
        check(&PROPORTIONAL, &EVEN, &lists, &[(1, 0.875), (2, 0.375), (3, 0.25)]);
    }

    #[test]
    fn what_goes_on_from_others_takes_its_share_by_how_surely_it_leads() {
        let weights = [
            (RetrieverId::KEYWORD, 0.35),
            (RetrieverId::SEMANTIC, 0.35),
            (RetrieverId::GRAPH, 0.30),
        ];
        let one = |retriever, row: u64, sure: f32| {
            list(retriever, &[(row, 1.0)]).with_floor(0.0).with_confidence(sure)
        };
        let others = [one(RetrieverId::KEYWORD, 1, 3.0), one(RetrieverId::SEMANTIC, 2, 1.0)];
        let with = |graph: RankedList| [others[0].clone(), others[1].clone(), graph];
        let shared = |led: f32| [(1, (1.0 - led) * 0.75), (2, (1.0 - led) * 0.25), (3, led)];
        let sorted = |mut rows: [(u64, f32); 3]| {
            rows.sort_by(|a, b| b.1.total_cmp(&a.1));
            rows
        };
        // Its odds are those of its weight, times its confidence, times that of the surest of the
        // others: 3/7 · sure · 3.
        for (sure, share) in [(1.0 / 3.0, 0.3), (0.0, 0.0), (7.0 / 9.0, 0.5), (7.0 / 3.0, 0.75)] {
            let lists = with(one(RetrieverId::GRAPH, 3, sure));
            let expected = sorted(shared(share));
            check(&PROPORTIONAL, &weights, &lists, &expected[..if sure > 0.0 { 3 } else { 2 }]);
        }
        // It is no surer than what it goes on from.
        let unsure = others.clone().map(|list| {
            let less = list.confidence() / 3.0;
            list.with_confidence(less)
        });
        let [keyword, semantic] = unsure;
        let lists = [keyword, semantic, one(RetrieverId::GRAPH, 3, 1.0)];
        check(&PROPORTIONAL, &weights, &lists, &sorted(shared(0.3)));
        // Where the others found nothing, it is all there is.
        let nothing = |retriever| list(retriever, &[]).with_confidence(0.0);
        let [keyword, semantic] = [RetrieverId::KEYWORD, RetrieverId::SEMANTIC].map(nothing);
        let lists = [keyword, semantic, one(RetrieverId::GRAPH, 3, 1.0)];
        check(&PROPORTIONAL, &weights, &lists, &[(3, 0.3)]);
        // One that leads nowhere has no share, and one with all the weight leaves none.
        check(
            &PROPORTIONAL,
            &weights,
            &with(list(RetrieverId::GRAPH, &[])),
            &[(1, 0.75), (2, 0.25)],
        );
        let alone =
            [(RetrieverId::KEYWORD, 0.0), (RetrieverId::SEMANTIC, 0.0), (RetrieverId::GRAPH, 1.0)];
        let fused = PROPORTIONAL.fuse(&retrievers(&alone), &with(one(RetrieverId::GRAPH, 3, 1.0)));
        assert!(fused.unwrap()[0].combined.get() > 0.999);
    }

    #[test]
    fn a_greater_power_follows_the_surer_list_more() {
        let keyword = list(RetrieverId::KEYWORD, &[(1, 1.0)]).with_floor(0.0).with_confidence(2.0);
        let semantic = list(RetrieverId::SEMANTIC, &[(2, 1.0)]).with_floor(0.0);
        for (power, share) in [(0.0, 0.5), (1.0, 2.0 / 3.0), (2.0, 0.8)] {
            let fuser = Adaptive(EvidenceWeights { power, ..PROPORTIONAL.0 });
            let lists = [keyword.clone(), semantic.clone()];
            check(&fuser, &EVEN, &lists, &[(1, share), (2, 1.0 - share)]);
        }
    }

    #[test]
    fn what_goes_on_from_others_stands_out_no_further_than_the_most() {
        let evidence = EvidenceWeights { most: 2.0, ..PROPORTIONAL.0 };
        let led = |ground: f32, own: f32| {
            let list = list(RetrieverId::GRAPH, &[(1, 1.0)]).with_confidence(own);
            evidence.odds_to_lead(0.5, &list, ground)
        };
        assert_eq!(
            [led(1.0, 1.5), led(1.0, 2.0), led(1.0, 9.0), led(9.0, 9.0)],
            [1.5, 2.0, 2.0, 4.0]
        );
    }

    #[test]
    fn distribution_based_maps_three_deviations() {
        // mean 2, σ 1: 3 → (3 + 1) / 6.
        let lists = [list(RetrieverId::KEYWORD, &[(1, 3.0), (2, 1.0)])];
        check(&DistributionBased, &EVEN, &lists, &[(1, 4.0 / 6.0), (2, 2.0 / 6.0)]);
    }

    #[test]
    fn what_cannot_be_fused_is_an_error() {
        assert!(matches!(Rrf::new(0), Err(Error::InvalidK { k: 0 })));
        assert!(Rrf::new(1000).is_ok() && Rrf::new(1001).is_err());
        assert!(matches!(Rrf::default().fuse(&[], &[]), Err(Error::EmptyRankedLists)));
        let lists = [list(RetrieverId::KEYWORD, &[(1, 1.0)])];
        for weight in [f32::NAN, -0.1, 1.1] {
            let retrievers = retrievers(&[(RetrieverId::KEYWORD, weight)]);
            assert!(matches!(
                Rrf::default().fuse(&retrievers, &lists),
                Err(Error::InvalidConfig { .. })
            ));
        }
    }

    fn any_list(retriever: RetrieverId) -> impl Generator<Value = RankedList> {
        (proptest::collection::vec((0_u64..30, -1e3_f32..1e3), 0..40), 0.0_f32..5.0).prop_map(
            move |(scores, confidence)| list(retriever, &scores).with_confidence(confidence),
        )
    }

    proptest! {
        #[test]
        fn every_fuser_keeps_every_row_once_in_order_and_in_range(
            keyword in any_list(RetrieverId::KEYWORD),
            semantic in any_list(RetrieverId::SEMANTIC),
            share in 0.01_f32..0.99,
        ) {
            let weights = retrievers(&[(RetrieverId::KEYWORD, share), (RetrieverId::SEMANTIC, 1.0 - share)]);
            let lists = [keyword, semantic];
            let rows: std::collections::BTreeSet<RowId> =
                lists.iter().flat_map(RankedList::hits).map(|hit| hit.row).collect();
            for fuser in [&Rrf::default() as &dyn Fuser, &RelativeScore, &DistributionBased] {
                let fused = fuser.fuse(&weights, &lists)?;
                let found: std::collections::BTreeSet<RowId> = fused.iter().map(|hit| hit.row).collect();
                prop_assert_eq!(fused.len(), found.len());
                prop_assert_eq!(&found, &rows);
                prop_assert!(fused.windows(2).all(|w| w[0].combined >= w[1].combined));
            }
            let fused = Adaptive::default().fuse(&weights, &lists)?;
            prop_assert!(fused.iter().all(|hit| rows.contains(&hit.row)));
            prop_assert!(fused.windows(2).all(|w| w[0].combined >= w[1].combined));
        }

        #[test]
        fn the_order_of_the_lists_does_not_matter(
            keyword in any_list(RetrieverId::KEYWORD),
            semantic in any_list(RetrieverId::SEMANTIC),
        ) {
            let order = |lists: &[RankedList]| -> Result<Vec<RowId>> {
                Ok(Rrf::default().fuse(&retrievers(&EVEN), lists)?.iter().map(|hit| hit.row).collect())
            };
            prop_assert_eq!(order(&[keyword.clone(), semantic.clone()])?, order(&[semantic, keyword])?);
        }
    }
}
