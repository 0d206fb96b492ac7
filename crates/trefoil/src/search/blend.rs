//! Fused score and reranker's score as one, and what the first passages name. Pure.

use std::cmp::Reverse;

use trefoil_core::Score;

/// Log-odds that a fused score of 1 has over one of 0. A cross-encoder's logits reach
/// from −11 to 10, so that it decides where it is sure, and fusion where it is not.
const FUSED_LOG_ODDS: f32 = 10.0;
/// The fused score that speaks neither for a passage nor against it.
pub(crate) const NEUTRAL: Score = Score::HALF;
/// The weight of a reranker's log-odds for a passage whose token vectors were compared: both tell some
/// of the same (decision 034).
const WEIGHT_AFTER_TOKENS: f32 = 0.5;
/// The weight of the log-odds of token vectors that the embedder keeps, before it reads in the
/// language of the question (decisions 037, 043).
pub(crate) const WEIGHT_OF_TOKENS_WITHIN: f32 = 0.5;
/// What the summed log-odds are divided by, because a cross-encoder is surer than it is
/// right: of the passages with a logit between 4 and 10, half are relevant.
const TEMPERATURE: f32 = 4.0;
/// Log-odds by which one that was read has to lead the next that was not, to settle a list.
const LEAD: f32 = 4.0;
/// How many more for each that was read: where passages are short, those of the next round are many.
const LEAD_EACH: f32 = 2.0;

/// How many passages, from the top, lift what they name.
const NAMING: usize = 2;
/// Log-odds that a passage gains that is named by one with the score 1.
const NAMED_LOG_ODDS: f32 = 2.0;

/// Where a passage of the head goes, and why.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blended {
    /// Its place in the fused order, from 0.
    pub index: usize,
    /// Both scores as one, 0–1.
    pub score: Score,
}

/// The head of a list in its new order, best first; ties stay in the fused order.
///
/// `combined` are the fused scores, `rerank` those of the passages that were read: the
/// head is as long as the shorter. A passage's blended score is
/// σ((logit(rerank) + 10 · (combined − ½)) / 4): it rises with either score, and does
/// not depend on the other passages, so that a reranking that was stopped half-way
/// has ordered what it read just as the whole would have.
pub fn blend(combined: &[Score], rerank: &[Score]) -> Vec<Blended> {
    blend_with(combined.iter().map(|&combined| Prior::new(combined, None)), rerank)
}

/// What is known of a passage before it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prior {
    /// Its log-odds by its fused score, and by its token vectors where they were compared.
    pub(crate) log_odds: f32,
    /// The weight of a reranker's log-odds, 0–1.
    rerank_weight: f32,
}

impl Prior {
    /// From its fused score, and the log-odds of its token vectors where they were compared.
    pub(crate) fn new(combined: Score, tokens: Option<f32>) -> Self {
        let fused = FUSED_LOG_ODDS * (combined.get() - NEUTRAL.get());
        match tokens {
            Some(tokens) => Self { log_odds: fused + tokens, rerank_weight: WEIGHT_AFTER_TOKENS },
            None => Self { log_odds: fused, rerank_weight: 1.0 },
        }
    }

    /// The same where what a reader says, and what its kept token vectors do, counts so much, 0–1.
    pub(crate) fn weighing(combined: Score, tokens: Option<f32>, weight: f32) -> Self {
        let prior = Self::new(combined, tokens.map(|tokens| weight * tokens));
        Self { rerank_weight: weight * prior.rerank_weight, ..prior }
    }

    /// The same as a score.
    pub(crate) fn score(self) -> Score {
        Score::clamped(sigmoid(self.log_odds / TEMPERATURE))
    }

    /// Its log-odds once a reranker has read it.
    fn posterior(self, rerank: Score) -> f32 {
        self.log_odds + self.rerank_weight * logit(rerank)
    }
}

/// Whether one of those that were read leads the next so far that reading on is not worth its
/// time: by 8 log-odds after two passages, which few logits make up for (decision 035). `priors`
/// are in the order of reading.
pub(crate) fn is_settled(priors: &[Prior], read: &[Score]) -> bool {
    let Some(next) = priors.get(read.len()) else { return true };
    let lead = LEAD + LEAD_EACH * read.len() as f32;
    priors.iter().zip(read).any(|(prior, &score)| prior.posterior(score) >= next.log_odds + lead)
}

/// The same from priors: σ((weight · logit(rerank) + prior) / 4).
pub(crate) fn blend_with(
    priors: impl IntoIterator<Item = Prior>,
    rerank: &[Score],
) -> Vec<Blended> {
    let mut head: Vec<(f32, usize)> = priors
        .into_iter()
        .zip(rerank)
        .map(|(prior, &rerank)| prior.posterior(rerank))
        .zip(0..)
        .collect();
    // By log-odds: as scores, the largest could be rounded to the same.
    head.sort_by(|(a, i), (b, j)| b.total_cmp(a).then(i.cmp(j)));
    head.into_iter()
        .map(|(log_odds, index)| Blended {
            index,
            score: Score::clamped(sigmoid(log_odds / TEMPERATURE)),
        })
        .collect()
}

/// The same scores in the order before reading, where they do not tell which passage is better.
pub(crate) fn in_prior_order(blended: Vec<Blended>) -> Vec<Blended> {
    blended.into_iter().zip(0..).map(|(one, index)| Blended { index, ..one }).collect()
}

/// Lifts passages that the first two name: what answers one half of a question names what the
/// other half is about, and a cross-encoder, which reads each passage alone, cannot know.
///
/// With F the blended scores and `names(b, p)`, 0–1, of how strongly passage b mentions what p is
/// about, each by its place in the fused order, the score of p becomes
/// σ(logit F(p) + 2 · max F(b) · names(b, p)) over the first two b. None falls.
pub fn lift_named(blended: Vec<Blended>, names: impl Fn(usize, usize) -> f32) -> Vec<Blended> {
    let first: Vec<Blended> = blended.iter().take(NAMING).copied().collect();
    let mut lifted: Vec<Blended> = blended
        .into_iter()
        .map(|one| {
            let named = first.iter().map(|b| b.score.get() * names(b.index, one.index));
            let named = named.fold(0.0, f32::max);
            if named <= 0.0 {
                return one;
            }
            let log_odds = logit(one.score) + NAMED_LOG_ODDS * named;
            Blended { score: Score::clamped(sigmoid(log_odds)), ..one }
        })
        .collect();
    // The sort is stable.
    lifted.sort_by_key(|one| Reverse(one.score));
    lifted
}

/// ln(p / (1 − p)), within ±16 also for 0 and 1.
pub(crate) fn logit(score: Score) -> f32 {
    const NEAREST: f32 = 1e-7;
    let p = score.get().clamp(NEAREST, 1.0 - NEAREST);
    (p / (1.0 - p)).ln()
}

fn sigmoid(log_odds: f32) -> f32 {
    1.0 / (1.0 + (-log_odds).exp())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    fn scores(values: &[f32]) -> Vec<Score> {
        values.iter().copied().map(Score::clamped).collect()
    }

    #[track_caller]
    fn check(combined: &[f32], rerank: &[f32], expected: &[usize]) {
        let blended = blend(&scores(combined), &scores(rerank));
        let order: Vec<usize> = blended.iter().map(|one| one.index).collect();
        assert_eq!(order, expected, "{blended:?}");
    }

    #[test]
    fn a_sure_reranker_decides_and_an_unsure_one_does_not() {
        check(&[], &[], &[]);
        check(&[0.9, 0.7], &[0.001, 0.99], &[1, 0]);
        check(&[0.9, 0.3], &[0.5, 0.6], &[0, 1]);
        // What no scorer told apart stays in the fused order.
        check(&[0.5, 0.5, 0.5], &[0.2, 0.2, 0.2], &[0, 1, 2]);
        // Only what was read is reordered.
        check(&[0.9, 0.8, 0.7], &[0.1, 0.9], &[1, 0]);
    }

    #[test]
    fn a_long_lead_settles_a_list() {
        let check = |combined: &[f32], read: &[f32], expected: bool| {
            let prior = |&combined: &f32| Prior::new(Score::clamped(combined), None);
            let priors: Vec<Prior> = combined.iter().map(prior).collect();
            assert_eq!(is_settled(&priors, &scores(read)), expected, "{combined:?} {read:?}");
        };
        // Fusion's lead of .4 is worth 4, a score of .99 is worth 4.6.
        check(&[0.9, 0.8, 0.5], &[0.99, 0.1], true);
        check(&[0.9, 0.8, 0.6], &[0.99, 0.1], false);
        check(&[0.9, 0.8, 0.5], &[0.95, 0.1], false);
        // The more were read, the longer the lead has to be.
        check(&[0.9, 0.8, 0.7, 0.5], &[0.99, 0.1, 0.1], false);
        check(&[0.9, 0.8, 0.7, 0.3], &[0.99, 0.1, 0.1], true);
        // The second may lead as well as the first.
        check(&[0.9, 0.9, 0.5], &[0.1, 0.99], true);
        check(&[0.9, 0.8], &[0.1, 0.1], true);
        check(&[0.9], &[], false);
    }

    fn lifted(given: &[f32], named: &[(usize, usize, f32)]) -> Vec<(usize, f32)> {
        let scored =
            |(index, &score): (usize, &f32)| Blended { index, score: Score::clamped(score) };
        let blended = given.iter().enumerate().map(scored).collect();
        let names = |from, to| {
            let is_this = |one: &&(usize, usize, f32)| (one.0, one.1) == (from, to);
            named.iter().find(is_this).map_or(0.0, |one| one.2)
        };
        lift_named(blended, names).iter().map(|one| (one.index, one.score.get())).collect()
    }

    #[test]
    fn what_the_first_two_name_is_lifted() {
        let given = [0.9, 0.8, 0.5, 0.4, 0.3];
        let order = |named: &[(usize, usize, f32)]| -> Vec<usize> {
            lifted(&given, named).iter().map(|one| one.0).collect()
        };
        assert_eq!(order(&[]), [0, 1, 2, 3, 4]);
        assert_eq!(order(&[(0, 4, 1.0)]), [0, 1, 4, 2, 3]);
        assert_eq!(order(&[(1, 3, 1.0)]), [0, 1, 3, 2, 4]);
        assert_eq!(order(&[(1, 0, 1.0), (0, 1, 1.0)]), [0, 1, 2, 3, 4]);
        // The third names in vain, and a word that says little lifts little.
        assert_eq!(order(&[(2, 4, 1.0)]), [0, 1, 2, 3, 4]);
        assert_eq!(order(&[(0, 4, 0.2)]), [0, 1, 2, 3, 4]);
        // σ(logit .3 + 2 · .9 · 1)
        let named = lifted(&given, &[(0, 4, 1.0), (1, 4, 1.0)])[2];
        assert!((named.1 - 0.721_68).abs() < 1e-4, "{named:?}");
    }

    #[test]
    fn the_blended_score_is_the_known_value() {
        let blended = blend(&scores(&[0.9]), &scores(&[0.5]));
        // σ((0 + 10 · 0.4) / 4)
        assert!((blended[0].score.get() - 0.731_058_6).abs() < 1e-5, "{blended:?}");
        let [combined, rerank] = [0.9, 0.9].map(Score::clamped);
        let blended = blend_with([Prior::new(combined, Some(0.0))], &[rerank]);
        // σ((0.5 · ln 9 + 10 · 0.4 + 0) / 4)
        assert!((blended[0].score.get() - 0.781_538).abs() < 1e-5, "{blended:?}");
    }

    proptest! {
        #[test]
        fn the_head_is_permuted_by_falling_scores(
            pairs in proptest::collection::vec((0.0_f32..=1.0, 0.0_f32..=1.0), 0..60)
        ) {
            let (combined, rerank): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
            let blended = blend(&scores(&combined), &scores(&rerank));
            let mut places: Vec<usize> = blended.iter().map(|one| one.index).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..combined.len()).collect::<Vec<_>>());
            prop_assert!(blended.windows(2).all(|pair| pair[0].score >= pair[1].score));
        }

        #[test]
        fn nothing_falls_by_being_named(
            given in proptest::collection::vec(0.0_f32..=1.0, 0..20),
            named in proptest::collection::vec((0..20_usize, 0..20_usize, 0.0_f32..=1.0), 0..20),
        ) {
            let mut given = given;
            given.sort_by(|a, b| b.total_cmp(a));
            let after = lifted(&given, &named);
            prop_assert!(after.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            let mut places: Vec<usize> = after.iter().map(|one| one.0).collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..given.len()).collect::<Vec<_>>());
            prop_assert!(after.iter().all(|&(index, score)| score >= given[index] - 1e-6));
        }

        #[test]
        fn a_passage_rises_with_either_score(
            combined in 0.0_f32..=1.0,
            rerank in 0.0_f32..=1.0,
            tokens in proptest::option::of(-97.0_f32..=26.0),
            more in 0.0_f32..=1.0,
        ) {
            let score = |combined, rerank| {
                let prior = Prior::new(Score::clamped(combined), tokens);
                blend_with([prior], &scores(&[rerank]))[0].score
            };
            prop_assert!(score(combined.max(more), rerank) >= score(combined, rerank));
            prop_assert!(score(combined, rerank.max(more)) >= score(combined, rerank));
        }
    }
}
