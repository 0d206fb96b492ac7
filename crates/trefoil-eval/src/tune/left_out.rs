//! How much each kind of evidence counts in adaptive fusion, chosen for each source of collections
//! on all the others.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use rayon::prelude::*;
use serde::Serialize;
use trefoil::{
    Fusion, Result, RetrieverId, SearchWeights,
    index::RowId,
    search::{Adaptive, EvidenceWeights, FusionSettings, RankedList},
};

use crate::{
    Metric, RetrieverLists, StageList,
    lists::{ranking, rows},
    statistic::{holm, mean, randomisation_test},
    table::Table,
};

/// What is measured: both count the same.
const METRICS: [Metric; 2] = [Metric::Ndcg(10), Metric::Recall(5)];
/// What a parameter is multiplied with in the search for a better one.
const FACTORS: [f32; 8] = [0.5, 0.7, 0.85, 0.93, 1.07, 1.18, 1.4, 2.0];
/// A candidate has to be better by this: at 1, confidences count as they mean to, and what moves a
/// mean by less is chance.
const STEP: f64 = 0.002;
const ROUNDS: usize = 4;
/// What a collection's distance below its best retriever counts against the mean.
const SHORTFALL: f64 = 0.5;

/// The parameters of adaptive fusion that are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Parameters {
    /// How much the confidence of lists counts.
    pub evidence: EvidenceWeights,
    /// The weight of the keyword retriever by that of the semantic one.
    pub keyword: f32,
}

impl Default for Parameters {
    fn default() -> Self {
        Self { evidence: EvidenceWeights::default(), keyword: 1.0 }
    }
}

impl Parameters {
    /// The weights of the default set: the graph has its default one, the others share the rest.
    fn weights(self) -> Result<SearchWeights> {
        let graph = SearchWeights::default().get(RetrieverId::GRAPH);
        let keyword = (1.0 - graph) * self.keyword / (1.0 + self.keyword);
        SearchWeights::default_set([keyword, 1.0 - graph - keyword, graph])
    }
}

/// How adaptive fusion does on collections that its parameters were not chosen on.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// The parameters chosen on all collections.
    pub in_sight: Parameters,
    /// For each source its collections, and the parameters chosen on the others.
    pub sources: Vec<(Vec<String>, Parameters)>,
    /// Each collection, by each metric.
    pub rows: Vec<LeftOutRow>,
}

/// One collection, by one metric. All are means over its questions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutRow {
    /// The collection.
    pub set: String,
    /// What was measured.
    pub metric: Metric,
    /// How many questions.
    pub questions: usize,
    /// Its best retriever.
    pub best: StageList,
    /// What that is worth.
    pub best_mean: f64,
    /// Fused with the default parameters.
    pub default_mean: f64,
    /// Fused with the parameters chosen on all collections, this one among them.
    pub in_sight_mean: f64,
    /// Fused with the parameters chosen on the collections of other sources.
    pub left_out_mean: f64,
    /// p-value of the difference between that and the best retriever: the paired randomisation
    /// test, two-sided, by the method of Holm over the collections.
    pub p_value: f64,
}

/// Chooses parameters for each source on all the others, and measures them on it. Collections that
/// `sources` do not name are each a source of their own.
///
/// The choice climbs from the default ones: it changes one at a time as long as the mean over sources
/// grows, less half of what the worst collection of a source lacks to its best retriever.
///
/// # Errors
/// What a fuser says of lists that it cannot take.
pub fn leave_one_out(asked: &[RetrieverLists], sources: &[Vec<String>]) -> Result<LeftOut> {
    let trials = Trials::of(asked, sources);
    let in_sight = trials.climb(None)?;
    let mut chosen = Vec::with_capacity(trials.sources.len());
    for (place, sets) in trials.sources.iter().enumerate() {
        let names = sets.iter().map(|&set| set.to_owned()).collect();
        chosen.push((names, trials.climb(Some(place))?));
    }
    let rows = trials.rows(in_sight, &chosen)?;
    Ok(LeftOut { in_sight, sources: chosen, rows })
}

struct Trials<'a> {
    asked: Vec<Asked<'a>>,
    /// The places of each collection's questions in `asked`.
    sets: BTreeMap<&'a str, Vec<usize>>,
    sources: Vec<Vec<&'a str>>,
    /// The best retriever of each collection by each metric, with its mean.
    best: BTreeMap<&'a str, [(StageList, f64); 2]>,
}

struct Asked<'a> {
    source: &'a RetrieverLists,
    lists: Vec<RankedList>,
    documents: BTreeMap<RowId, &'a str>,
}

impl Asked<'_> {
    fn worth(&self, rows: impl IntoIterator<Item = RowId>) -> [f64; 2] {
        let ranking = ranking(rows, &self.documents);
        METRICS.map(|metric| metric.of(ranking.iter().copied(), &self.source.judgements))
    }

    fn fused(&self, parameters: Parameters) -> Result<[f64; 2]> {
        let fusion = Fusion::Custom(Arc::new(Adaptive(parameters.evidence)));
        let weights = Some(parameters.weights()?);
        let settings = FusionSettings { fusion, weights, ..FusionSettings::default() };
        let fused = settings.fuse(&self.lists, &self.source.suited)?;
        Ok(self.worth(rows(&fused)))
    }
}

impl<'a> Trials<'a> {
    fn of(asked: &'a [RetrieverLists], named: &'a [Vec<String>]) -> Self {
        let prepare = |source: &'a RetrieverLists| Asked {
            source,
            lists: source.ranked_lists(),
            documents: source.documents(),
        };
        let mut sets: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (place, one) in asked.iter().enumerate() {
            sets.entry(&one.set).or_default().push(place);
        }
        let mut sources: Vec<Vec<&str>> = Vec::new();
        let mut left: BTreeSet<&str> = sets.keys().copied().collect();
        for names in named {
            let source: Vec<&str> =
                names.iter().map(String::as_str).filter(|name| left.remove(name)).collect();
            sources.extend((!source.is_empty()).then_some(source));
        }
        sources.extend(left.into_iter().map(|set| vec![set]));
        let asked: Vec<Asked<'_>> = asked.iter().map(prepare).collect();
        let best = sets.iter().map(|(&set, places)| (set, best(&asked, places))).collect();
        Self { asked, sets, sources, best }
    }

    /// Each question's worth with these parameters.
    fn measure(&self, parameters: Parameters) -> Result<Vec<[f64; 2]>> {
        self.asked.par_iter().map(|one| one.fused(parameters)).collect()
    }

    /// The mean over the sources but one.
    fn value(&self, worth: &[[f64; 2]], left_out: Option<usize>) -> f64 {
        let of_set = |set: &&str| {
            let best = self.best.get(set).map_or([0.0; 2], |best| best.map(|(_, mean)| mean));
            let means = self.means(worth, set);
            let short = means.iter().zip(best).map(|(mean, best)| (best - mean).max(0.0));
            (mean(&means), short.sum::<f64>())
        };
        let sources = self.sources.iter().enumerate().filter(|(place, _)| Some(*place) != left_out);
        let of_source = |(_, sets): (usize, &Vec<&str>)| {
            let (means, short): (Vec<f64>, Vec<f64>) = sets.iter().map(of_set).unzip();
            mean(&means) - SHORTFALL * short.iter().copied().fold(0.0, f64::max)
        };
        mean(&sources.map(of_source).collect::<Vec<_>>())
    }

    fn means(&self, worth: &[[f64; 2]], set: &str) -> [f64; 2] {
        let places = || self.sets.get(set).into_iter().flatten();
        [0, 1].map(|metric| {
            let of = |&place: &usize| Some(*worth.get(place)?.get(metric)?);
            mean(&places().filter_map(of).collect::<Vec<f64>>())
        })
    }

    /// The best parameters for all sources but one, changing one at a time.
    fn climb(&self, left_out: Option<usize>) -> Result<Parameters> {
        let value = |parameters| Ok(self.value(&self.measure(parameters)?, left_out));
        let mut best = Parameters::default();
        let mut reached = value(best)?;
        for _ in 0..ROUNDS {
            let before = best;
            for change in CHANGES {
                for factor in FACTORS {
                    let candidate = change(best, factor);
                    if candidate.evidence.check().is_err() {
                        continue;
                    }
                    let candidate_reaches = value(candidate)?;
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

    fn rows(
        &self,
        in_sight: Parameters,
        chosen: &[(Vec<String>, Parameters)],
    ) -> Result<Vec<LeftOutRow>> {
        let default = self.measure(Parameters::default())?;
        let seen = self.measure(in_sight)?;
        let mut rows = Vec::new();
        for (sets, (_, parameters)) in self.sources.iter().zip(chosen) {
            let unseen = self.measure(*parameters)?;
            for &set in sets {
                rows.extend(self.rows_of(set, &default, &seen, &unseen));
            }
        }
        for metric in METRICS {
            let of_it: Vec<&mut LeftOutRow> =
                rows.iter_mut().filter(|row| row.metric == metric).collect();
            let adjusted = holm(&of_it.iter().map(|row| row.p_value).collect::<Vec<_>>());
            for (row, p_value) in of_it.into_iter().zip(adjusted) {
                row.p_value = p_value;
            }
        }
        Ok(rows)
    }

    fn rows_of(
        &self,
        set: &str,
        default: &[[f64; 2]],
        seen: &[[f64; 2]],
        unseen: &[[f64; 2]],
    ) -> Vec<LeftOutRow> {
        let Some((places, best)) = self.sets.get(set).zip(self.best.get(set)) else {
            return Vec::new();
        };
        let [default, seen, left_out] = [default, seen, unseen].map(|worth| self.means(worth, set));
        let row = |(metric, &(list, best_mean)): (usize, &(StageList, f64))| {
            let difference = |&place: &usize| {
                let fused = *unseen.get(place)?.get(metric)?;
                Some(fused - alone(self.asked.get(place)?, list).get(metric)?)
            };
            let differences: Vec<f64> = places.iter().filter_map(difference).collect();
            Some(LeftOutRow {
                set: set.to_owned(),
                metric: *METRICS.get(metric)?,
                questions: places.len(),
                best: list,
                best_mean,
                default_mean: *default.get(metric)?,
                in_sight_mean: *seen.get(metric)?,
                left_out_mean: *left_out.get(metric)?,
                p_value: randomisation_test(&differences),
            })
        };
        best.iter().enumerate().filter_map(row).collect()
    }
}

/// What one retriever's own list is worth.
fn alone(asked: &Asked<'_>, list: StageList) -> [f64; 2] {
    let own = asked.lists.iter().find(|one| StageList::from(one.retriever()) == list);
    own.map_or([0.0; 2], |own| asked.worth(own.hits().iter().map(|hit| hit.row)))
}

/// The best retriever for these questions by each metric, with its mean.
fn best(asked: &[Asked<'_>], places: &[usize]) -> [(StageList, f64); 2] {
    let of_set = || places.iter().filter_map(|&place| asked.get(place));
    let lists: BTreeSet<StageList> = of_set()
        .flat_map(|one| one.lists.iter().map(|list| StageList::from(list.retriever())))
        .collect();
    let worth =
        |list: StageList| -> Vec<[f64; 2]> { of_set().map(|one| alone(one, list)).collect() };
    let worth: Vec<(StageList, Vec<[f64; 2]>)> =
        lists.into_iter().map(|list| (list, worth(list))).collect();
    [0, 1].map(|metric| {
        let mean_of = |(list, worth): &(StageList, Vec<[f64; 2]>)| {
            let of_metric = worth.iter().filter_map(|one| one.get(metric).copied());
            (*list, mean(&of_metric.collect::<Vec<f64>>()))
        };
        let means = worth.iter().map(mean_of);
        means.max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((StageList::Hybrid, 0.0))
    })
}

type Change = fn(Parameters, f32) -> Parameters;

/// Each parameter, multiplied.
const CHANGES: [Change; 4] = [
    |one, by| Parameters { keyword: one.keyword * by, ..one },
    |one, by| {
        let evidence = EvidenceWeights { power: one.evidence.power * by, ..one.evidence };
        Parameters { evidence, ..one }
    },
    |one, by| {
        let evidence = EvidenceWeights { lead: one.evidence.lead * by, ..one.evidence };
        Parameters { evidence, ..one }
    },
    |one, by| {
        let evidence = EvidenceWeights { most: one.evidence.most * by, ..one.evidence };
        Parameters { evidence, ..one }
    },
];

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for metric in METRICS {
            let header = [
                "collection",
                "questions",
                "best retriever",
                "left out",
                "− best (p, Holm)",
                "in sight",
                "default",
            ];
            let mut table = Table::new(header);
            let rows: Vec<&LeftOutRow> =
                self.rows.iter().filter(|row| row.metric == metric).collect();
            for row in &rows {
                table.push(vec![
                    row.set.clone(),
                    row.questions.to_string(),
                    format!("{} {:.4}", row.best.name(), row.best_mean),
                    format!("{:.4}", row.left_out_mean),
                    format!("{:+.4} ({:.4})", row.left_out_mean - row.best_mean, row.p_value),
                    format!("{:.4}", row.in_sight_mean),
                    format!("{:.4}", row.default_mean),
                ]);
            }
            let mean_of = |value: fn(&LeftOutRow) -> f64| {
                format!("{:.4}", mean(&rows.iter().map(|row| value(row)).collect::<Vec<_>>()))
            };
            table.push(vec![
                "mean".to_owned(),
                String::new(),
                mean_of(|row| row.best_mean),
                mean_of(|row| row.left_out_mean),
                String::new(),
                mean_of(|row| row.in_sight_mean),
                mean_of(|row| row.default_mean),
            ]);
            writeln!(f, "{metric}:\n")?;
            table.markdown(f)?;
            writeln!(f)?;
        }
        let mut table =
            Table::new(["chosen without", "keyword by semantic", "power", "lead", "most"]);
        let sources = self.sources.iter().map(|(sets, chosen)| (sets.join(", "), *chosen));
        for (name, chosen) in sources.chain([("nothing left out".to_owned(), self.in_sight)]) {
            let Parameters { keyword, evidence: EvidenceWeights { power, lead, most } } = chosen;
            let cells = [keyword, power, lead, most].map(|one| format!("{one:.3}"));
            table.push(std::iter::once(name).chain(cells).collect());
        }
        table.markdown(f)
    }
}

#[cfg(test)]
mod tests {
    use trefoil::{Language, Score, search::QueryType};

    use super::*;
    use crate::{StoredHit, StoredList, random::Random};

    /// Questions with one right document, `d0`. One of the two retrievers ranks it first, the other
    /// does not find it; the one that finds it is as sure as `sure` says, the other is at 1.
    fn questions(set: &str, count: usize, sure: f32, random: &mut Random) -> Vec<RetrieverLists> {
        let mut list = |finds: bool| {
            let others = 1 + random.below(5) as u64;
            let rows = if finds { vec![0, others] } else { vec![others, others + 1] };
            let hit = |(row, place): (u64, u8)| {
                let raw_score = 1.0 - f32::from(place) / 4.0;
                StoredHit(row, format!("d{row}"), raw_score, Score::clamped(raw_score))
            };
            let hits = rows.into_iter().zip(0..).map(hit).collect();
            StoredList { floor: 0.0, confidence: if finds { sure } else { 1.0 }, hits }
        };
        let mut one = |index: usize| RetrieverLists {
            set: set.to_owned(),
            query: index.to_string(),
            language: Language::En,
            documents: Language::En,
            query_type: QueryType::Local,
            suited: SearchWeights::default(),
            judgements: BTreeMap::from([("d0".to_owned(), 1)]),
            retrievers: BTreeMap::from([
                (RetrieverId::KEYWORD, list(index.is_multiple_of(2))),
                (RetrieverId::SEMANTIC, list(index % 2 == 1)),
            ]),
            fused: Vec::new(),
            read: None,
            reranked: BTreeMap::new(),
            names: Vec::new(),
        };
        (0..count).map(&mut one).collect()
    }

    fn named(sources: &[&[&str]]) -> Vec<Vec<String>> {
        let source = |sets: &&[&str]| sets.iter().map(|&set| set.to_owned()).collect();
        sources.iter().map(source).collect()
    }

    #[test]
    fn weights_of_a_source_are_those_chosen_without_it() {
        let mut random = Random::seeded(1);
        let mut asked = questions("right", 40, 1.1, &mut random);
        asked.extend(questions("also-right", 40, 1.2, &mut random));
        // Here the list that knows nothing is the surer one.
        let misleading = questions("misleading", 40, 0.6, &mut random);
        let sources = named(&[&["right", "also-right", "absent"]]);
        let without = leave_one_out(&asked, &sources).unwrap();
        asked.extend(misleading);
        let table = leave_one_out(&asked, &sources).unwrap();
        let of = |set: &str| {
            let source = table.sources.iter().find(|(sets, _)| sets.iter().any(|one| one == set));
            source.unwrap().clone()
        };
        assert_eq!(of("right").0, ["right", "also-right"]);
        assert_eq!(of("misleading"), (vec!["misleading".to_owned()], without.in_sight));
        assert_ne!(of("misleading").1, of("right").1, "{table}");
        let row = |set: &str| {
            let of_set = |row: &&LeftOutRow| row.set == set && row.metric == Metric::Ndcg(10);
            table.rows.iter().find(of_set).unwrap()
        };
        // What held on the others does not hold here, and the table says so.
        let missed = row("misleading");
        assert!(missed.left_out_mean < missed.in_sight_mean, "{table}");
        assert_eq!(missed.questions, 40);
    }

    #[test]
    fn a_collection_is_compared_with_its_best_retriever() {
        let mut random = Random::seeded(2);
        let mut asked = questions("even", 30, 1.5, &mut random);
        asked.extend(questions("odd", 30, 1.5, &mut random));
        asked.retain(|one| one.set == "odd" || one.query.parse::<u32>().unwrap() % 2 == 0);
        let table = leave_one_out(&asked, &[]).unwrap();
        let best = |set: &str, metric| {
            let row = table.rows.iter().find(|row| row.set == set && row.metric == metric);
            row.map(|row| (row.best, row.best_mean)).unwrap()
        };
        let keyword = StageList::from(RetrieverId::KEYWORD);
        assert_eq!(best("even", Metric::Ndcg(10)), (keyword, 1.0));
        assert_eq!(best("odd", Metric::Recall(5)).1, 0.5);
        assert_eq!(table.rows.len(), 4);
        let shown = table.to_string();
        assert!(shown.contains("| even | 15 | keyword 1.0000 |"), "{shown}");
        assert!(shown.contains("| nothing left out |"), "{shown}");
    }
}
