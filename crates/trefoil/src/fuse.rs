//! Several ranked lists to one. Pure: no clock, no index, no I/O.
//!
//! Every fuser scales the legs' weights over the lists that are there, keeps what
//! each leg said of a row, and gives a `combined` score from 0 to 1.

use std::collections::BTreeMap;

use trefoil_core::{
    Error, Fused, Fuser, Fusion, Hit, Leg, LegHit, Plan, RankedList, Result, RowId, RrfConfig,
    Score, Strategy,
};

/// The fuser of a plan.
pub fn fuser(plan: &Plan) -> Box<dyn Fuser> {
    match plan.fusion {
        Fusion::Adaptive => Box::new(Adaptive { foreign: plan.question.foreign }),
        Fusion::Rrf => Box::new(Rrf::from(plan.rrf)),
        Fusion::RelativeScore => Box::new(RelativeScore),
        Fusion::DistributionBased => Box::new(DistributionBased),
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
    fn fuse(&self, legs: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let scale = self.k + 1.0;
        Ok(sum(lists, &weights(legs, lists)?, |_, _, rank| self.term(scale, rank)))
    }
}

/// Convex combination of scores, each list mapped from its floor and its best to 0–1.
///
/// The floor is what the leg says counts as nothing, not the last hit of the list,
/// so that a short list does not lose its end. Source: Bruch, Gai, Ingber: An
/// Analysis of Fusion Functions for Hybrid Retrieval, TOIS 2023.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RelativeScore;

impl Fuser for RelativeScore {
    fn fuse(&self, legs: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        Ok(sum(lists, &weights(legs, lists)?, |list, hit, _| relative(list, hit)))
    }
}

/// [`RelativeScore`] with each weight multiplied by how much the leg says it knows
/// about the question ([`RankedList::confidence`]).
///
/// So a leg that has nothing to say, such as BM25 asked in another language than the
/// corpus, does not drag the list below that of the leg which has. The graph leg goes on from
/// what the others found, and is believed as far as the better of them: it has the share that
/// is stated for it from a confidence of .7 on, and less in proportion below. (Sharing by its
/// own confidence cost up to .023 nDCG@10; a share that nothing moves, .0075 of the Recall@5
/// of scifact, where the step from a passage that answers nothing leads to others such.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Adaptive {
    /// The corpus holds next to nothing in the question's language.
    pub foreign: bool,
}

/// The confidence of a leg from which the graph leg may go on at its full share.
const SURE: f32 = 0.7;

impl Adaptive {
    fn confidence(self, list: &RankedList) -> f32 {
        list.confidence() * self.belief(list.strategy())
    }

    /// How far the legs that go by names, keyword and graph, are believed about a question in a
    /// language that the corpus is not written in. Names that both languages share then make
    /// them sure of themselves for no good reason: believed in full, the keyword leg cost .05
    /// nDCG@10 with English questions on Japanese and Korean documents, and the graph .01 on
    /// Japanese ones, at .4 still .005 of their Recall@5; not believed at all, .02 and .007
    /// nDCG@10 are lost with Japanese questions on English ones.
    const fn belief(self, strategy: Strategy) -> f32 {
        match strategy {
            Strategy::Keyword if self.foreign => 0.4,
            Strategy::Graph if self.foreign => 0.3,
            Strategy::Keyword | Strategy::Semantic | Strategy::Graph | _ => 1.0,
        }
    }
}

impl Fuser for Adaptive {
    fn fuse(&self, legs: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let stated = weights(legs, lists)?;
        let follows = |list: &RankedList| list.strategy() == Strategy::Graph && lists.len() > 1;
        let each = || stated.iter().zip(lists);
        let surest = lists.iter().filter(|list| !follows(list)).map(|list| self.confidence(list));
        let ground = (surest.fold(0.0, f32::max) / SURE).min(1.0);
        let followed: f32 = each()
            .filter(|(_, list)| follows(list) && !list.hits().is_empty())
            .map(|(weight, list)| weight * self.belief(list.strategy()) * ground)
            .sum();
        let asked = |confidence: &dyn Fn(&RankedList) -> f32| -> Vec<f32> {
            each().map(|(w, list)| if follows(list) { 0.0 } else { w * confidence(list) }).collect()
        };
        let known = asked(&|list| self.confidence(list));
        let known = if known.iter().sum::<f32>() > 0.0 { known } else { asked(&|_| 1.0) };
        let shares: Vec<f32> = scaled(known)
            .iter()
            .zip(lists)
            .map(|(known, list)| if follows(list) { followed } else { (1.0 - followed) * known })
            .collect();
        Ok(sum(lists, &shares, |list, hit, _| relative(list, hit)))
    }
}

/// Scores mapped from mean − 3σ and mean + 3σ of their list to 0–1, then weighted.
///
/// Source: Mazzeschi: Distribution-Based Score Fusion, 2023.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DistributionBased;

impl Fuser for DistributionBased {
    fn fuse(&self, legs: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let ranges: BTreeMap<Strategy, (f32, f32)> = lists
            .iter()
            .map(|list| {
                let (mean, deviation) = mean_and_deviation(list.hits());
                (list.strategy(), (mean - 3.0 * deviation, mean + 3.0 * deviation))
            })
            .collect();
        Ok(sum(lists, &weights(legs, lists)?, |list, hit, _| {
            let (low, high) = ranges.get(&list.strategy()).copied().unwrap_or_default();
            if high > low { ((hit.native - low) / (high - low)).clamp(0.0, 1.0) } else { 1.0 }
        }))
    }
}

/// `S = α · semantic + (1 − α) · keyword` over calibrated relevance; other legs do not
/// count, and a side that found nothing at all gives its weight to the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Alpha {
    alpha: Score,
}

impl Alpha {
    /// Takes the share of the semantic side, 0–1.
    pub const fn new(alpha: Score) -> Self {
        Self { alpha }
    }
}

impl Fuser for Alpha {
    fn fuse(&self, _: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        if lists.is_empty() {
            return Err(Error::EmptyRankedLists);
        }
        let share = lists.iter().map(|list| match list.strategy() {
            _ if list.hits().is_empty() => 0.0,
            Strategy::Semantic => self.alpha.get(),
            Strategy::Keyword => 1.0 - self.alpha.get(),
            Strategy::Graph | _ => 0.0,
        });
        Ok(sum(lists, &scaled(share.collect()), |_, hit, _| hit.relevance.get()))
    }
}

/// The keyword list as it is, and the semantic list only where that is not enough:
/// fewer than min(limit, 3) keyword hits, or a best one below `weak`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeywordFirst {
    limit: usize,
    weak: Score,
}

impl KeywordFirst {
    /// Takes how many results are wanted and the relevance below which the best
    /// keyword hit is weak.
    pub const fn new(limit: usize, weak: Score) -> Self {
        Self { limit, weak }
    }

    /// True if `keyword` answers the question alone.
    pub fn suffices(&self, keyword: &RankedList) -> bool {
        let best = keyword.hits().first().map(|hit| hit.relevance);
        keyword.hits().len() >= self.limit.min(3) && best.is_some_and(|best| best >= self.weak)
    }
}

impl Fuser for KeywordFirst {
    fn fuse(&self, legs: &[Leg], lists: &[RankedList]) -> Result<Vec<Fused>> {
        let keyword = lists.iter().find(|list| list.strategy() == Strategy::Keyword);
        match keyword {
            Some(keyword) if self.suffices(keyword) => {
                RelativeScore.fuse(legs, std::slice::from_ref(keyword))
            }
            _ => RelativeScore.fuse(legs, lists),
        }
    }
}

/// Each list's share of the weights, summing to 1; equal shares if all are 0.
fn weights(legs: &[Leg], lists: &[RankedList]) -> Result<Vec<f32>> {
    if lists.is_empty() {
        return Err(Error::EmptyRankedLists);
    }
    let stated = lists.iter().map(|list| {
        let leg = legs.iter().find(|leg| leg.strategy == list.strategy());
        let weight = leg.map_or(0.0, |leg| leg.weight);
        if (0.0..=1.0).contains(&weight) {
            Ok(weight)
        } else {
            let value = weight.to_string();
            Err(Error::InvalidConfig { field: "leg.weight", value, allowed: "0–1" })
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
    let mut rows: BTreeMap<RowId, (f32, Vec<LegHit>)> = BTreeMap::new();
    for (list, &weight) in lists.iter().zip(weights).filter(|&(_, &weight)| weight > 0.0) {
        for (hit, rank) in list.hits().iter().zip(1_u32..) {
            let (combined, legs) = rows.entry(hit.row).or_default();
            *combined += weight * value(list, hit, rank);
            legs.push(LegHit {
                strategy: list.strategy(),
                rank,
                native: hit.native,
                relevance: hit.relevance,
            });
        }
    }
    let mut fused: Vec<Fused> = rows
        .into_iter()
        .map(|(row, (combined, legs))| Fused { row, combined: Score::clamped(combined), legs })
        .collect();
    Fused::sort(&mut fused);
    fused
}

/// Where a hit stands between the floor and the best of its list, 0–1.
fn relative(list: &RankedList, hit: &Hit) -> f32 {
    let best = list.hits().first().map_or(hit.native, |best| best.native);
    let range = best - list.floor();
    // A list of equals, such as one of a single hit, is all best.
    if range > 0.0 { ((hit.native - list.floor()) / range).clamp(0.0, 1.0) } else { 1.0 }
}

fn mean_and_deviation(hits: &[Hit]) -> (f32, f32) {
    let count = hits.len().max(1) as f32;
    let mean = hits.iter().map(|hit| hit.native).sum::<f32>() / count;
    let variance = hits.iter().map(|hit| (hit.native - mean).powi(2)).sum::<f32>() / count;
    (mean, variance.sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{Strategy as Generator, prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn legs(weights: &[(Strategy, f32)]) -> Vec<Leg> {
        weights.iter().map(|&(strategy, weight)| Leg { strategy, depth: 100, weight }).collect()
    }

    fn list(strategy: Strategy, scores: &[(u64, f32)]) -> RankedList {
        let hit = |&(row, native)| Hit {
            row: RowId::new(row),
            native,
            relevance: Score::clamped(native),
        };
        RankedList::new(strategy, scores.iter().map(hit).collect())
    }

    const EVEN: [(Strategy, f32); 2] = [(Strategy::Keyword, 0.5), (Strategy::Semantic, 0.5)];

    #[track_caller]
    fn check(
        fuser: &dyn Fuser,
        weights: &[(Strategy, f32)],
        lists: &[RankedList],
        expected: &[(u64, f32)],
    ) {
        let fused = fuser.fuse(&legs(weights), lists).unwrap();
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
        let weights =
            [(Strategy::Keyword, 0.35), (Strategy::Semantic, 0.35), (Strategy::Graph, 0.30)];
        let lists = Strategy::ALL.map(|strategy| list(strategy, &[(7, 2.0), (8, 1.0)]));
        check(&Rrf::default(), &weights, &lists, &[(7, 1.0), (8, 61.0 / 62.0)]);
    }

    #[test]
    fn weights_are_scaled_over_the_lists_that_are_there() {
        let weights =
            [(Strategy::Keyword, 0.35), (Strategy::Semantic, 0.35), (Strategy::Graph, 0.30)];
        check(&Rrf::default(), &weights, &[list(Strategy::Graph, &[(1, 1.0)])], &[(1, 1.0)]);
    }

    #[test]
    fn a_row_that_two_legs_agree_on_comes_first() {
        let lists = [
            list(Strategy::Keyword, &[(1, 9.0), (2, 8.0)]),
            list(Strategy::Semantic, &[(3, 0.9), (2, 0.8)]),
        ];
        let both = 61.0 / 62.0;
        check(&Rrf::default(), &EVEN, &lists, &[(2, both), (1, 0.5), (3, 0.5)]);
    }

    #[test]
    fn a_leg_that_weighs_nothing_adds_nothing() {
        let weights = [(Strategy::Keyword, 1.0), (Strategy::Semantic, 0.0)];
        let lists = [list(Strategy::Keyword, &[(1, 9.0)]), list(Strategy::Semantic, &[(3, 0.9)])];
        check(&Rrf::default(), &weights, &lists, &[(1, 1.0)]);
    }

    #[test]
    fn relative_score_keeps_the_end_of_a_list_above_its_floor() {
        let lists = [list(Strategy::Keyword, &[(1, 10.0), (2, 5.0)]).with_floor(0.0)];
        check(&RelativeScore, &EVEN, &lists, &[(1, 1.0), (2, 0.5)]);
        let lists = [list(Strategy::Keyword, &[(1, 10.0)])];
        check(&RelativeScore, &EVEN, &lists, &[(1, 1.0)]);
    }

    #[test]
    fn adaptive_weighs_a_leg_by_what_it_knows() {
        let keyword = list(Strategy::Keyword, &[(1, 10.0), (2, 5.0)]).with_floor(0.0);
        let semantic = list(Strategy::Semantic, &[(3, 1.0), (1, 0.5)]).with_floor(0.0);
        let lists = [keyword.clone().with_confidence(0.0), semantic.clone()];
        check(&Adaptive::default(), &EVEN, &lists, &[(3, 1.0), (1, 0.5)]);
        let lists = [keyword.with_confidence(3.0), semantic];
        check(&Adaptive::default(), &EVEN, &lists, &[(1, 0.875), (2, 0.375), (3, 0.25)]);
    }

    #[test]
    fn a_foreign_question_discounts_the_keyword_leg() {
        let keyword = list(Strategy::Keyword, &[(1, 10.0)]).with_floor(0.0).with_confidence(2.5);
        let semantic = list(Strategy::Semantic, &[(2, 1.0)]).with_floor(0.0).with_confidence(1.0);
        let lists = [keyword, semantic];
        check(&Adaptive { foreign: true }, &EVEN, &lists, &[(1, 0.5), (2, 0.5)]);
        check(&Adaptive { foreign: false }, &EVEN, &lists, &[(1, 2.5 / 3.5), (2, 1.0 / 3.5)]);
    }

    #[test]
    fn the_graph_keeps_its_share_and_the_others_divide_the_rest() {
        let weights =
            [(Strategy::Keyword, 0.35), (Strategy::Semantic, 0.35), (Strategy::Graph, 0.30)];
        let one = |strategy, row: u64, sure: f32| {
            list(strategy, &[(row, 1.0)]).with_floor(0.0).with_confidence(sure)
        };
        let keyword = one(Strategy::Keyword, 1, 3.0);
        let semantic = one(Strategy::Semantic, 2, 1.0);
        let lists = [keyword.clone(), semantic.clone(), one(Strategy::Graph, 3, 9.0)];
        let native = [(1, 0.7 * 0.75), (3, 0.3), (2, 0.7 * 0.25)];
        check(&Adaptive::default(), &weights, &lists, &native);
        // Believed less about a foreign question.
        let rest = 1.0 - 0.3 * 0.3;
        let foreign = [(1, rest * 1.2 / 2.2), (2, rest / 2.2), (3, 0.3 * 0.3)];
        check(&Adaptive { foreign: true }, &weights, &lists, &foreign);
        // What goes on from passages that answer little is believed as little.
        let unsure = [one(Strategy::Keyword, 1, 0.35), one(Strategy::Semantic, 2, 0.35)];
        let lists_of_the_unsure = [unsure[0].clone(), unsure[1].clone(), lists[2].clone()];
        let half = [(1, 0.85 / 2.0), (2, 0.85 / 2.0), (3, 0.15)];
        check(&Adaptive::default(), &weights, &lists_of_the_unsure, &half);
        // One that leads nowhere has no share.
        let lists = [keyword, semantic, list(Strategy::Graph, &[])];
        check(&Adaptive::default(), &weights, &lists, &[(1, 0.75), (2, 0.25)]);
    }

    #[test]
    fn distribution_based_maps_three_deviations() {
        // mean 2, σ 1: 3 → (3 + 1) / 6.
        let lists = [list(Strategy::Keyword, &[(1, 3.0), (2, 1.0)])];
        check(&DistributionBased, &EVEN, &lists, &[(1, 4.0 / 6.0), (2, 2.0 / 6.0)]);
    }

    #[test]
    fn alpha_gives_the_weight_of_an_empty_side_to_the_other() {
        let alpha = Alpha::new(Score::clamped(0.65));
        let keyword = list(Strategy::Keyword, &[(1, 0.4)]);
        let both = [keyword.clone(), list(Strategy::Semantic, &[(1, 0.8)])];
        check(&alpha, &[], &both, &[(1, 0.65 * 0.8 + 0.35 * 0.4)]);
        check(&alpha, &[], &[keyword, list(Strategy::Semantic, &[])], &[(1, 0.4)]);
    }

    #[test]
    fn keyword_first_asks_the_other_side_only_when_it_must() {
        let first = KeywordFirst::new(2, Score::clamped(0.5));
        let semantic = list(Strategy::Semantic, &[(9, 1.0)]);
        let strong = list(Strategy::Keyword, &[(1, 0.9), (2, 0.8)]).with_floor(0.0);
        let rows = |lists: &[RankedList]| -> Vec<u64> {
            first.fuse(&legs(&EVEN), lists).unwrap().iter().map(|hit| hit.row.get()).collect()
        };
        assert_eq!(rows(&[strong, semantic.clone()]), [1, 2]);
        let few = list(Strategy::Keyword, &[(1, 0.9)]);
        assert_eq!(rows(&[few, semantic.clone()]), [1, 9]);
        let weak = list(Strategy::Keyword, &[(1, 0.4), (2, 0.3)]).with_floor(0.0);
        assert_eq!(rows(&[weak, semantic]), [1, 9, 2]);
    }

    #[test]
    fn what_cannot_be_fused_is_an_error() {
        assert!(matches!(Rrf::new(0), Err(Error::InvalidK { k: 0 })));
        assert!(Rrf::new(1000).is_ok() && Rrf::new(1001).is_err());
        assert!(matches!(Rrf::default().fuse(&[], &[]), Err(Error::EmptyRankedLists)));
        let lists = [list(Strategy::Keyword, &[(1, 1.0)])];
        for weight in [f32::NAN, -0.1, 1.1] {
            let legs = legs(&[(Strategy::Keyword, weight)]);
            assert!(matches!(Rrf::default().fuse(&legs, &lists), Err(Error::InvalidConfig { .. })));
        }
    }

    fn any_list(strategy: Strategy) -> impl Generator<Value = RankedList> {
        (proptest::collection::vec((0_u64..30, -1e3_f32..1e3), 0..40), 0.0_f32..5.0).prop_map(
            move |(scores, confidence)| list(strategy, &scores).with_confidence(confidence),
        )
    }

    proptest! {
        #[test]
        fn every_fuser_keeps_every_row_once_in_order_and_in_range(
            keyword in any_list(Strategy::Keyword),
            semantic in any_list(Strategy::Semantic),
            share in 0.01_f32..0.99,
        ) {
            let weights = legs(&[(Strategy::Keyword, share), (Strategy::Semantic, 1.0 - share)]);
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
            keyword in any_list(Strategy::Keyword),
            semantic in any_list(Strategy::Semantic),
        ) {
            let order = |lists: &[RankedList]| -> Result<Vec<RowId>> {
                Ok(Rrf::default().fuse(&legs(&EVEN), lists)?.iter().map(|hit| hit.row).collect())
            };
            prop_assert_eq!(order(&[keyword.clone(), semantic.clone()])?, order(&[semantic, keyword])?);
        }
    }
}
