pub(crate) mod folds;
pub(crate) mod left_out;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use rayon::prelude::*;
use trefoil::{
    Fusion, Language, Profile, Result, RetrieverId, SearchWeights,
    index::RowId,
    search::{FusionSettings, ProfileRule, QueryType, RankedList},
};

use crate::{
    Interval, Metric, RetrieverLists, folds,
    lists::{in_reranked_order, ranking, rows},
    statistic::{mean, randomisation_test},
    table::Table,
};

/// What is tried, and what a choice has to reach before it is adopted.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// What is to grow.
    pub metric: Metric,
    /// Folds of the cross-validation.
    pub folds: usize,
    /// Seed of the folds.
    pub seed: u64,
    /// Questions that settings of their own need.
    pub queries: usize,
    /// Largest p-value of the paired randomisation test on held-out folds.
    pub p_value: f64,
    /// The most that a single collection may lose on held-out folds.
    pub loss: f64,
    /// Fusers.
    pub fusions: Vec<Fusion>,
    /// Constants of reciprocal rank fusion.
    pub ks: Vec<u32>,
    /// Depths of the retrievers' lists.
    pub depths: Vec<usize>,
    /// Steps that a weight is tried in, from 0 to 1.
    pub weight_steps: u16,
}

/// A profile, and how each part of it was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuned {
    /// What was adopted.
    pub profile: Profile,
    /// What was tried: for all questions first, then for each group.
    pub trials: Vec<Trial>,
}

/// Settings tried on some questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The questions: language, language of the documents, type. All if absent.
    pub group: Option<(Language, Language, QueryType)>,
    /// How many.
    pub queries: usize,
    /// The best settings for all of them.
    pub chosen: FusionSettings,
    /// Mean on held-out folds with the settings so far; each collection counts the same.
    pub before: f64,
    /// Mean on held-out folds with what was chosen on the others.
    pub after: f64,
    /// 95 % interval of the difference.
    pub interval: Interval,
    /// p-value of the difference.
    pub p_value: f64,
    /// The collection that gains least, and its difference.
    pub worst: (String, f64),
    /// Whether the choice holds, and was adopted.
    pub adopted: bool,
}

/// Chooses settings for all questions, then for those of each pair of languages and each
/// type that needs others, from `start` on. A choice is adopted only if what is chosen on
/// some folds holds on those left out: see [`Tuning`].
///
/// # Errors
/// What a fuser says of lists or settings that it cannot take.
pub fn tune(asked: &[RetrieverLists], start: &FusionSettings, tuning: &Tuning) -> Result<Tuned> {
    let all = Trials::of(asked.iter().collect(), tuning);
    let first = all.run(None, start)?;
    let mut profile =
        Profile::new(if first.adopted { first.chosen.clone() } else { start.clone() });
    let mut trials = vec![first];
    let mut groups: BTreeMap<_, Vec<&RetrieverLists>> = BTreeMap::new();
    for one in asked {
        let key = (one.language, one.documents, one.query_type);
        groups.entry(key).or_default().push(one);
    }
    let several = groups.len() > 1;
    for (group, members) in
        groups.into_iter().filter(|(_, members)| several && members.len() >= tuning.queries)
    {
        let trial = Trials::of(members, tuning).run(Some(group), &profile.default)?;
        if trial.adopted {
            let (question, documents, query_type) = group;
            profile.rules.push(ProfileRule {
                question: Some(question),
                documents: Some(documents),
                query_type: Some(query_type),
                settings: trial.chosen.clone(),
            });
        }
        trials.push(trial);
    }
    Ok(Tuned { profile, trials })
}

/// Some questions with their lists, ready to be fused.
struct Trials<'a> {
    tuning: &'a Tuning,
    asked: Vec<Asked<'a>>,
    retrievers: BTreeSet<RetrieverId>,
    /// Value of each question, by settings.
    measured: Mutex<BTreeMap<String, Arc<Vec<f64>>>>,
}

struct Asked<'a> {
    source: &'a RetrieverLists,
    lists: Vec<RankedList>,
    documents: BTreeMap<RowId, &'a str>,
    fold: usize,
}

/// A candidate has to be better by this, so that the search does not wander.
const STEP: f64 = 1e-4;
const ROUNDS: usize = 4;

impl<'a> Trials<'a> {
    fn of(members: Vec<&'a RetrieverLists>, tuning: &'a Tuning) -> Self {
        let name = |one: &RetrieverLists| format!("{}\t{}", one.set, one.query);
        let names: Vec<String> = members.iter().map(|one| name(one)).collect();
        let dealt = folds(names.iter().map(String::as_str), tuning.folds, tuning.seed);
        let fold = |name: &String| dealt.get(name.as_str()).copied().unwrap_or_default();
        let prepare = |(source, name): (&'a RetrieverLists, &String)| Asked {
            source,
            lists: source.ranked_lists(),
            documents: source.documents(),
            fold: fold(name),
        };
        Self {
            tuning,
            retrievers: members.iter().flat_map(|one| one.retrievers.keys().copied()).collect(),
            asked: members.into_iter().zip(&names).map(prepare).collect(),
            measured: Mutex::default(),
        }
    }

    /// Chooses settings, and sees whether the choice holds on folds left out of it.
    fn run(
        &self,
        group: Option<(Language, Language, QueryType)>,
        start: &FusionSettings,
    ) -> Result<Trial> {
        let before = self.measure(start)?;
        let mut after = vec![0.0; self.asked.len()];
        for fold in 0..self.tuning.folds {
            let chosen = self.climb(start, |one| one.fold != fold)?;
            let measured = self.measure(&chosen)?;
            for ((value, new), one) in after.iter_mut().zip(&*measured).zip(&self.asked) {
                if one.fold == fold {
                    *value = *new;
                }
            }
        }
        let differences: Vec<f64> =
            after.iter().zip(&*before).map(|(new, old)| new - old).collect();
        let by_set = self.means(&differences, |_| true);
        let worst = by_set.iter().min_by(|a, b| a.1.total_cmp(b.1));
        let worst = worst.map_or((String::new(), 0.0), |(set, least)| ((*set).to_owned(), *least));
        // Each collection counts the same, however many questions it has.
        let weighted = self.weighted(&differences);
        let p_value = randomisation_test(&weighted);
        let adopted =
            mean(&weighted) > 0.0 && p_value <= self.tuning.p_value && worst.1 >= -self.tuning.loss;
        Ok(Trial {
            group,
            queries: self.asked.len(),
            chosen: self.climb(start, |_| true)?,
            before: mean(&self.weighted(&before)),
            after: mean(&self.weighted(&after)),
            interval: Interval::bootstrap(&weighted),
            p_value,
            worst,
            adopted,
        })
    }

    /// The best settings for the questions that are `wanted`, changing one thing at a time.
    fn climb(
        &self,
        start: &FusionSettings,
        wanted: impl Fn(&Asked<'_>) -> bool,
    ) -> Result<FusionSettings> {
        let value = |settings: &FusionSettings| -> Result<f64> {
            let means = self.means(&self.measure(settings)?, &wanted);
            Ok(mean(&means.into_values().collect::<Vec<_>>()))
        };
        let mut best = start.clone();
        let mut reached = value(&best)?;
        for _ in 0..ROUNDS {
            let before = best.clone();
            for choices in [fusions, ks, depths, weights, rerank] {
                for candidate in choices(&best, self) {
                    let candidate_reaches = value(&candidate)?;
                    if candidate_reaches > reached + STEP {
                        (best, reached) = (candidate, candidate_reaches);
                    }
                }
            }
            if best == before {
                break;
            }
        }
        Ok(best)
    }

    /// The metric of every question with these settings.
    fn measure(&self, settings: &FusionSettings) -> Result<Arc<Vec<f64>>> {
        let key = format!("{settings:?}");
        let known = |memo: &Mutex<BTreeMap<_, Arc<Vec<f64>>>>| {
            memo.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned()
        };
        if let Some(known) = known(&self.measured) {
            return Ok(known);
        }
        let one = |asked: &Asked<'_>| {
            let fused = settings.fuse(&asked.lists, &asked.source.suited)?;
            let fused = if settings.rerank {
                in_reranked_order(fused, &asked.source.reranked, &asked.source.names)
            } else {
                fused
            };
            let ranking = ranking(rows(&fused), &asked.documents);
            Ok(self.tuning.metric.of(ranking, &asked.source.judgements))
        };
        let values: Arc<Vec<f64>> =
            Arc::new(self.asked.par_iter().map(one).collect::<Result<_>>()?);
        let mut memo = self.measured.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(memo.entry(key).or_insert(values).clone())
    }

    /// The mean of each collection's questions that are `wanted`.
    fn means(&self, values: &[f64], wanted: impl Fn(&Asked<'_>) -> bool) -> BTreeMap<&'a str, f64> {
        let mut by_set: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (value, one) in values.iter().zip(&self.asked).filter(|(_, one)| wanted(one)) {
            by_set.entry(one.source.set.as_str()).or_default().push(*value);
        }
        by_set.into_iter().map(|(set, values)| (set, mean(&values))).collect()
    }

    /// Values scaled so that their mean is the mean of the collections' means.
    fn weighted(&self, values: &[f64]) -> Vec<f64> {
        let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
        for one in &self.asked {
            *sizes.entry(one.source.set.as_str()).or_default() += 1.0;
        }
        let even = self.asked.len() as f64 / sizes.len().max(1) as f64;
        let scale = |one: &Asked<'_>| even / sizes.get(one.source.set.as_str()).unwrap_or(&1.0);
        values.iter().zip(&self.asked).map(|(value, one)| value * scale(one)).collect()
    }
}

fn fusions(best: &FusionSettings, trials: &Trials<'_>) -> Vec<FusionSettings> {
    trials
        .tuning
        .fusions
        .iter()
        .map(|fusion| FusionSettings { fusion: fusion.clone(), ..best.clone() })
        .collect()
}

fn ks(best: &FusionSettings, trials: &Trials<'_>) -> Vec<FusionSettings> {
    let ks = if best.fusion == Fusion::Rrf { trials.tuning.ks.as_slice() } else { &[] };
    ks.iter().map(|&k| FusionSettings { k, ..best.clone() }).collect()
}

fn depths(best: &FusionSettings, trials: &Trials<'_>) -> Vec<FusionSettings> {
    trials.tuning.depths.iter().map(|&depth| FusionSettings { depth, ..best.clone() }).collect()
}

/// On and off, where the cross-encoder was asked.
fn rerank(best: &FusionSettings, trials: &Trials<'_>) -> Vec<FusionSettings> {
    let asked = trials.asked.iter().any(|one| !one.source.reranked.is_empty());
    let choices: &[bool] = if asked { &[true, false] } else { &[] };
    choices.iter().map(|&rerank| FusionSettings { rerank, ..best.clone() }).collect()
}

/// Weights that suit the type of each question, and each retriever at each weight, the others
/// keeping their proportions; a retriever that was not measured keeps its weight.
fn weights(best: &FusionSettings, trials: &Trials<'_>) -> Vec<FusionSettings> {
    let steps = trials.tuning.weight_steps.max(1);
    let measured = &trials.retrievers;
    let start = best.weights.clone().unwrap_or_default();
    let unmeasured = RetrieverId::DEFAULT_SET.iter().filter(|one| !measured.contains(one));
    let free = 1.0 - unmeasured.map(|&one| start.get(one)).sum::<f32>();
    let mut candidates = vec![FusionSettings { weights: None, ..best.clone() }];
    for &chosen in measured {
        let others: f32 =
            measured.iter().filter(|&&one| one != chosen).map(|&one| start.get(one)).sum();
        let count = measured.len().saturating_sub(1).max(1) as f32;
        for step in 0..=steps {
            let share = f32::from(step) / f32::from(steps);
            let weight = |one: RetrieverId| {
                let weight = if !measured.contains(&one) {
                    start.get(one)
                } else if one == chosen {
                    free * share
                } else if others > 0.0 {
                    free * (1.0 - share) * start.get(one) / others
                } else {
                    free * (1.0 - share) / count
                };
                (weight * 1e4).round() / 1e4
            };
            if let Ok(weights) = SearchWeights::default_set(RetrieverId::DEFAULT_SET.map(weight)) {
                candidates.push(FusionSettings { weights: Some(weights), ..best.clone() });
            }
        }
    }
    candidates
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            metric: Metric::Ndcg(10),
            folds: 5,
            seed: 1,
            queries: 50,
            p_value: 0.05,
            loss: 0.005,
            fusions: vec![
                Fusion::Adaptive,
                Fusion::RelativeScore,
                Fusion::Rrf,
                Fusion::DistributionBased,
            ],
            ks: vec![5, 10, 20, 40, 60, 100],
            depths: vec![50, 100, 200, 300],
            weight_steps: 10,
        }
    }
}

impl fmt::Display for Tuned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let header = [
            "questions",
            "asked",
            "before",
            "after",
            "95 % of the gain",
            "p",
            "worst",
            "",
            "best settings",
        ];
        let mut table = Table::new(header);
        for trial in &self.trials {
            let group = trial.group.map(|(question, documents, query_type)| {
                format!("{question} on {documents}, {query_type:?}").to_lowercase()
            });
            let FusionSettings { fusion, k, depth, rerank, weights } = &trial.chosen;
            let rerank = if *rerank { "rerank" } else { "no rerank" };
            let weights =
                weights.as_ref().map_or("weights by type of question".to_owned(), |weights| {
                    let [keyword, semantic, graph] =
                        RetrieverId::DEFAULT_SET.map(|one| weights.get(one));
                    format!("{keyword:.2}/{semantic:.2}/{graph:.2}")
                });
            let k = if *fusion == Fusion::Rrf { format!(" {k}") } else { String::new() };
            table.push(vec![
                group.unwrap_or_else(|| "all".to_owned()),
                trial.queries.to_string(),
                format!("{:.4}", trial.before),
                format!("{:.4}", trial.after),
                format!("{:+.4}–{:+.4}", trial.interval.low, trial.interval.high),
                format!("{:.4}", trial.p_value),
                format!("{} {:+.4}", trial.worst.0, trial.worst.1),
                if trial.adopted { "adopted" } else { "not adopted" }.to_owned(),
                format!("{fusion:?}{k}, depth {depth}, {weights}, {rerank}"),
            ]);
        }
        table.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use trefoil::Score;

    use super::*;
    use crate::{StoredHit, StoredList, random::Random};

    /// Questions with one right document. A retriever that `knows` ranks it first in nine cases of
    /// ten; one that does not ranks at random.
    fn questions(
        set: &str,
        language: Language,
        count: usize,
        knows: [bool; 2],
        random: &mut Random,
    ) -> Vec<RetrieverLists> {
        let mut list = |knows: bool| {
            let mut order: Vec<u64> = (0..20).collect();
            for index in (1..order.len()).rev() {
                order.swap(index, random.below(index + 1));
            }
            if knows && random.below(10) > 0 {
                order.retain(|&row| row != 0);
                order.insert(0, 0);
            }
            let hit = |(row, place): (u64, u8)| {
                let raw_score = 1.0 - f32::from(place) / 20.0;
                StoredHit(row, format!("d{row}"), raw_score, Score::clamped(raw_score))
            };
            let hits = order.into_iter().zip(0..).map(hit).collect();
            StoredList { floor: 0.0, confidence: 1.0, hits }
        };
        let retrievers = [RetrieverId::KEYWORD, RetrieverId::SEMANTIC];
        let mut one = |index: usize| RetrieverLists {
            set: set.to_owned(),
            query: index.to_string(),
            language,
            documents: Language::En,
            query_type: QueryType::Local,
            suited: SearchWeights::default(),
            judgements: BTreeMap::from([("d0".to_owned(), 1)]),
            retrievers: retrievers.into_iter().zip(knows.map(&mut list)).collect(),
            fused: Vec::new(),
            read: None,
            reranked: BTreeMap::new(),
            names: Vec::new(),
        };
        (0..count).map(&mut one).collect()
    }

    fn tuning() -> Tuning {
        Tuning { weight_steps: 4, depths: vec![10, 20], ks: vec![60], ..Tuning::default() }
    }

    #[test]
    fn each_group_gets_the_retriever_that_knows() {
        let mut random = Random::seeded(1);
        let mut asked = questions("a", Language::En, 80, [true, false], &mut random);
        asked.extend(questions("b", Language::Ja, 80, [false, true], &mut random));
        let tuned = tune(&asked, &FusionSettings::default(), &tuning()).unwrap();
        let weights = |language| {
            let settings = tuned.profile.settings(language, Language::En, QueryType::Local);
            [RetrieverId::KEYWORD, RetrieverId::SEMANTIC]
                .map(|one| settings.weights.clone().unwrap_or_default().get(one))
        };
        let [keyword, semantic] = weights(Language::En);
        assert!(keyword > semantic, "{tuned}");
        let [keyword, semantic] = weights(Language::Ja);
        assert!(keyword < semantic, "{tuned}");
        assert!(tuned.trials.iter().skip(1).all(|trial| trial.adopted), "{tuned}");
        // A retriever that was not measured keeps its weight.
        assert_eq!(tuned.profile.default.weights.unwrap_or_default().get(RetrieverId::GRAPH), 0.3);
    }

    #[test]
    fn a_cross_encoder_that_misleads_is_switched_off() {
        let mut random = Random::seeded(5);
        let mut asked = questions("a", Language::En, 80, [true, true], &mut random);
        for one in &mut asked {
            // It puts the right one last.
            one.reranked =
                (0..10).map(|row| (row, Score::clamped(0.1 + 0.08 * row as f32))).collect();
        }
        let tuned = tune(&asked, &FusionSettings::default(), &tuning()).unwrap();
        assert!(!tuned.profile.default.rerank, "{tuned}");
    }

    #[test]
    fn noise_is_not_adopted() {
        let mut random = Random::seeded(2);
        let asked = questions("a", Language::En, 120, [false, false], &mut random);
        let tuned = tune(&asked, &FusionSettings::default(), &tuning()).unwrap();
        assert_eq!(tuned.profile, Profile::new(FusionSettings::default()), "{tuned}");
        assert_eq!(tuned.trials.len(), 1);
    }

    #[test]
    fn what_a_collection_would_lose_is_not_adopted() {
        let mut random = Random::seeded(3);
        let mut asked = questions("a", Language::En, 100, [false, true], &mut random);
        asked.extend(questions("b", Language::En, 60, [true, false], &mut random));
        asked.extend(questions("c", Language::En, 100, [false, true], &mut random));
        let strict = tune(&asked, &FusionSettings::default(), &tuning()).unwrap();
        assert!(!strict.trials[0].adopted, "{strict}");
        assert_eq!(strict.trials[0].worst.0, "b");
        let lax = Tuning { loss: 1.0, ..tuning() };
        assert!(tune(&asked, &FusionSettings::default(), &lax).unwrap().trials[0].adopted);
    }

    #[test]
    fn too_few_questions_get_no_rule() {
        let mut random = Random::seeded(4);
        let mut asked = questions("a", Language::En, 80, [true, false], &mut random);
        asked.extend(questions("b", Language::Ja, 49, [false, true], &mut random));
        let tuned = tune(&asked, &FusionSettings::default(), &tuning()).unwrap();
        assert!(tuned.trials.iter().all(|trial| trial.queries != 49), "{tuned}");
    }
}
