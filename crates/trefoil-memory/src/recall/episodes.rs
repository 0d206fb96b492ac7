//! Episodes that are relevant to the conversation.

use std::collections::BTreeMap;

use jiff::Timestamp;
use trefoil_core::{BoundaryClass, Score, UnitState};

use trefoil_text::paraphrase::{Trigrams, difference};

use crate::{Unit, UnitId};

/// The numbers of the profile of episodes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpisodeProfile {
    /// How many hits each retriever brings for each question.
    pub hits: usize,
    /// How many turns before the input the second question holds.
    pub turns: usize,
    /// Constant of reciprocal rank fusion.
    pub rrf_k: f64,
    /// Weights of rank, of likeness in letters and of recency.
    pub weights: [f64; 3],
    /// Days after which recency is 1/e.
    pub recency_days: f64,
    /// What the best must score for any to be shown.
    pub best: f64,
    /// What the others must score.
    pub least: f64,
    /// The most episodes shown.
    pub limit: usize,
    /// From this likeness on, two episodes are the same if nothing else tells them apart.
    pub same: f64,
    /// Days after which an episode is no longer found.
    pub oldest_days: i64,
}

impl Default for EpisodeProfile {
    fn default() -> Self {
        Self {
            hits: 20,
            turns: 3,
            rrf_k: 60.0,
            weights: [0.55, 0.35, 0.10],
            recency_days: 45.0,
            best: 0.35,
            least: 0.28,
            limit: 5,
            same: 0.9,
            oldest_days: 365,
        }
    }
}

/// Seconds of a day.
const DAY: i64 = 86_400;

impl EpisodeProfile {
    /// True if an episode may be found: not archived, at most personal data, and not too
    /// old. Whether its class is admitted is for the boundary to say.
    pub fn admits(&self, unit: &Unit, now: Timestamp) -> bool {
        let age = now.as_second() - unit.happened_at().as_second();
        unit.state != UnitState::Archived
            && unit.boundary <= BoundaryClass::Pii
            && age <= self.oldest_days * DAY
    }

    /// The best episodes, best first, with their scores.
    ///
    /// `hits` are the ranked ids of each retriever for each question ([`episode_queries`]), best
    /// first; every list counts alike (Cormack, Clarke, Büttcher: Reciprocal Rank Fusion
    /// Outperforms Condorcet, SIGIR 2009). An id without an episode is left out.
    pub fn rank(
        &self,
        input: &str,
        hits: &[Vec<UnitId>],
        episodes: &BTreeMap<UnitId, Episode<'_>>,
        now: Timestamp,
    ) -> Vec<(UnitId, Score)> {
        let mut fused: BTreeMap<&UnitId, f64> = BTreeMap::new();
        for list in hits {
            for (at, id) in list.iter().take(self.hits).enumerate() {
                *fused.entry(id).or_default() += 1.0 / (self.rrf_k + at as f64 + 1.0);
            }
        }
        let most = fused.values().copied().fold(0.0, f64::max);
        let asked = Trigrams::of(input);
        let mut scored: Vec<Scored<'_>> = fused
            .into_iter()
            .filter_map(|(id, rrf)| {
                let episode = episodes.get(id)?;
                let letters = Trigrams::of(episode.text);
                let score =
                    self.score(rrf / most, asked.similarity(&letters), episode.happened_at, now);
                Some(Scored { score, id, letters, text: episode.text })
            })
            .collect();
        scored.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(b.id)));
        self.select(scored)
    }

    fn score(&self, rank: f64, likeness: f64, happened_at: Timestamp, now: Timestamp) -> f64 {
        let age = (now.as_second() - happened_at.as_second()).max(0) as f64 / DAY as f64;
        let [of_rank, of_likeness, of_recency] = self.weights;
        of_rank * rank + of_likeness * likeness + of_recency * (-age / self.recency_days).exp()
    }

    fn select(&self, scored: Vec<Scored<'_>>) -> Vec<(UnitId, Score)> {
        let mut kept: Vec<Scored<'_>> = Vec::new();
        for one in scored {
            let least = if kept.is_empty() { self.best } else { self.least };
            if one.score < least || kept.len() == self.limit {
                break;
            }
            if !kept.iter().any(|better| self.repeats(&one, better)) {
                kept.push(one);
            }
        }
        #[expect(clippy::cast_possible_truncation, reason = "a score is single precision")]
        kept.into_iter().map(|one| (one.id.clone(), Score::clamped(one.score as f32))).collect()
    }

    /// True if an episode is like a better one in its letters, and says nothing else: what
    /// denies it, or tells another number, place or name, is often as like.
    fn repeats(&self, one: &Scored<'_>, better: &Scored<'_>) -> bool {
        better.letters.similarity(&one.letters) >= self.same
            && difference(one.text, better.text).is_none_or(|found| found.is_detail())
    }
}

/// An episode with its score.
struct Scored<'a> {
    score: f64,
    id: &'a UnitId,
    letters: Trigrams,
    text: &'a str,
}

/// What ranking reads of an episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Episode<'a> {
    /// What was told.
    pub text: &'a str,
    /// When it happened.
    pub happened_at: Timestamp,
}

/// The questions of the profile: the input, and the input after the last `turns` turns if
/// there are any.
pub fn episode_queries(input: &str, recent_turns: &[String], turns: usize) -> Vec<String> {
    let mut queries = vec![input.to_owned()];
    let last = recent_turns.get(recent_turns.len().saturating_sub(turns)..).unwrap_or_default();
    if !last.is_empty() {
        queries.push(format!("{}\n{input}", last.join("\n")));
    }
    queries
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trefoil_core::UnitKind;

    use super::*;

    const PROFILE: fn() -> EpisodeProfile = EpisodeProfile::default;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_second(day * DAY).unwrap()
    }

    fn id(number: usize) -> UnitId {
        format!("obs_{number}").parse().unwrap()
    }

    /// Ranks texts of the given days, asked on day 0, by one list in which they stand as given.
    fn rank(input: &str, texts: &[(&str, i64)]) -> Vec<(String, f32)> {
        let hits = vec![(0..texts.len()).map(id).collect()];
        let episodes = texts
            .iter()
            .enumerate()
            .map(|(at, &(text, on))| (id(at), Episode { text, happened_at: day(on) }))
            .collect();
        let ranked = PROFILE().rank(input, &hits, &episodes, day(0));
        ranked.into_iter().map(|(id, score)| (id.to_string(), score.get())).collect()
    }

    #[test]
    fn the_score_of_an_episode_is_rank_likeness_and_recency() {
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-9, "{value}");
        near(PROFILE().score(1.0, 1.0, day(0), day(0)), 1.0);
        near(PROFILE().score(0.5, 0.2, day(-45), day(0)), 0.275 + 0.07 + 0.1 / std::f64::consts::E);
        near(PROFILE().score(0.0, 0.0, day(9), day(0)), 0.1);
    }

    #[test]
    fn the_best_must_be_good_or_nothing_is_shown() {
        // Alone in its list it has rank 1: .55 already.
        assert_eq!(rank("tea", &[("coffee", -900)]).len(), 1);
        let profile = EpisodeProfile { best: 0.56, ..PROFILE() };
        let episodes =
            BTreeMap::from([(id(0), Episode { text: "coffee", happened_at: day(-900) })]);
        assert!(profile.rank("tea", &[vec![id(0)]], &episodes, day(0)).is_empty());
    }

    #[test]
    fn five_are_shown_and_near_duplicates_once() {
        let texts =
            ["one kettle", "two cups", "three pots", "four leaves", "five spoons", "six jars"];
        let many: Vec<_> = texts.iter().map(|&text| (text, 0)).collect();
        assert_eq!(rank("tea", &many).len(), 5);
        let twice = [
            ("She drinks green tea every morning.", 0),
            ("She drinks green tea every morning!", 0),
        ];
        assert_eq!(rank("green tea", &twice).len(), 1);
        for (one, other) in [
            (
                "Mika told me at lunch that she drinks green tea every morning at 6.",
                "Mika told me at lunch that she drinks green tea every morning at 7.",
            ),
            (
                "ミカは昨日の昼休みに、会社の屋上で弁当を食べながら、来月からは実家のある京都に引っ越して新しい仕事を始めますと、うれしそうに話してくれました。",
                "ミカは昨日の昼休みに、会社の屋上で弁当を食べながら、来月からは実家のある大阪に引っ越して新しい仕事を始めますと、うれしそうに話してくれました。",
            ),
            (
                "미카는 어제 점심시간에 회사 옥상에서 도시락을 먹으면서 매운 음식을 안 좋아한다고 천천히 이야기해 주었어요.",
                "미카는 어제 점심시간에 회사 옥상에서 도시락을 먹으면서 매운 음식을 좋아한다고 천천히 이야기해 주었어요.",
            ),
        ] {
            assert!(Trigrams::of(one).similarity(&Trigrams::of(other)) >= PROFILE().same, "{one}");
            assert_eq!(rank("tea", &[(one, 0), (other, 0)]).len(), 2, "{one}");
        }
    }

    #[test]
    fn every_list_counts_alike() {
        let (a, b, c) = (id(1), id(2), id(3));
        let episode = Episode { text: "", happened_at: day(-9_000) };
        let episodes = [&a, &b, &c].map(|id| (id.clone(), episode)).into();
        let hits = [vec![a.clone(), b.clone()], vec![c.clone(), b.clone()]];
        let ranked = PROFILE().rank("tea", &hits, &episodes, day(0));
        // Second in both lists is better than first in one.
        assert_eq!(ranked[0].0, b);
        assert!((ranked[0].1.get() - 0.55).abs() < 1e-6);
    }

    #[test]
    fn what_is_archived_secret_or_old_is_not_found() {
        let admits = |change: fn(&mut Unit)| {
            let mut unit = Unit::new(id(1), UnitKind::Episode, day(0));
            change(&mut unit);
            PROFILE().admits(&unit, day(365))
        };
        assert!(admits(|_| {}));
        assert!(admits(|unit| unit.boundary = BoundaryClass::Pii));
        assert!(!admits(|unit| unit.boundary = BoundaryClass::Secret));
        assert!(admits(|unit| unit.state = UnitState::Consolidated));
        assert!(!admits(|unit| unit.state = UnitState::Archived));
        assert!(!admits(|unit| unit.occurred_at = Some(day(-1))));
    }

    #[test]
    fn the_second_question_holds_the_last_three_turns() {
        let turns: Vec<String> = (1..=5).map(|n| format!("turn {n}")).collect();
        let queries = episode_queries("and now", &turns, 3);
        assert_eq!(queries, ["and now", "turn 3\nturn 4\nturn 5\nand now"]);
        assert_eq!(episode_queries("and now", &[], 3), ["and now"]);
    }

    proptest! {
        #[test]
        fn episodes_are_few_in_order_and_above_their_thresholds(
            lists in proptest::collection::vec(proptest::collection::vec(0_usize..30, 0..25), 0..4),
            input in "[a-c]{0,9}",
        ) {
            let texts: Vec<String> = (0..25).map(|n: usize| format!("{n} abc {}", "x".repeat(n))).collect();
            let episodes = texts
                .iter()
                .enumerate()
                .map(|(at, text)| (id(at), Episode { text, happened_at: day(-7) }))
                .collect();
            let hits: Vec<Vec<UnitId>> =
                lists.into_iter().map(|list| list.into_iter().map(id).collect()).collect();
            let ranked = PROFILE().rank(&input, &hits, &episodes, day(0));
            prop_assert!(ranked.len() <= 5);
            prop_assert!(ranked.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            prop_assert!(ranked.iter().all(|(_, score)| score.get() >= 0.28));
            prop_assert!(ranked.first().is_none_or(|(_, score)| score.get() >= 0.35));
        }
    }
}
