use std::{
    collections::{BTreeMap, BTreeSet},
    io::Write,
    path::Path,
};

use serde::{Deserialize, Serialize};
use trefoil::{
    Language, Result, RetrieverId, Score, SearchWeights,
    index::RowId,
    search::{Fused, FusionSettings, Hit, QueryType, RankedList, blend, lift_named},
};

use crate::{
    Judgements,
    lines::{read_json_lines, write_file},
};

/// What every retriever and the whole engine answered to one question. With the lists before
/// fusion, other settings can be tried without searching again. One line of JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetrieverLists {
    /// The collection.
    pub set: String,
    /// The question's id.
    pub query: String,
    /// The question's language.
    pub language: Language,
    /// The language of most documents.
    pub documents: Language,
    /// What kind of answer is wanted.
    pub query_type: QueryType,
    /// The weights that suit this type of question.
    pub suited: SearchWeights,
    /// What would be right.
    pub judgements: Judgements,
    /// Each retriever's list.
    pub retrievers: BTreeMap<RetrieverId, StoredList>,
    /// Documents in the order in which the engine returns them without reranking.
    pub fused: Vec<String>,
    /// The same with reranking, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Vec<String>>,
    /// What the reranker says of the rows that it read, where it was asked.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reranked: BTreeMap<u64, Score>,
    /// Which of these rows name what others are about: `[from, to, strength]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<(u64, u64, f32)>,
}

/// A retriever's list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredList {
    /// [`RankedList::floor`].
    pub floor: f32,
    /// [`RankedList::confidence`].
    pub confidence: f32,
    /// Best first.
    pub hits: Vec<StoredHit>,
}

/// A hit with the document that its row is part of: `[row, document, raw_score, relevance]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StoredHit(pub u64, pub String, pub f32, pub Score);

impl RetrieverLists {
    /// Reads one question a line.
    pub fn read(path: impl AsRef<Path>) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        read_json_lines(path.as_ref(), |one| {
            all.push(one);
            Ok(())
        })?;
        Ok(all)
    }

    /// Writes one question a line.
    pub fn write(all: &[Self], path: impl AsRef<Path>) -> Result<()> {
        write_file(path.as_ref(), |file| {
            all.iter().try_for_each(|one| {
                serde_json::to_writer(&mut *file, one)?;
                writeln!(file)
            })
        })
    }

    /// The lists, as a fuser takes them.
    pub fn ranked_lists(&self) -> Vec<RankedList> {
        let list = |(&retriever, stored): (&RetrieverId, &StoredList)| {
            let hit = |&StoredHit(row, _, raw_score, relevance): &StoredHit| Hit {
                row: RowId::new(row),
                raw_score,
                relevance,
            };
            RankedList::new(retriever, stored.hits.iter().map(hit).collect())
                .with_floor(stored.floor)
                .with_confidence(stored.confidence)
        };
        self.retrievers.iter().map(list).collect()
    }

    /// The document of each row.
    pub fn documents(&self) -> BTreeMap<RowId, &str> {
        let hits = self.retrievers.values().flat_map(|list| &list.hits);
        hits.map(|hit| (RowId::new(hit.0), hit.1.as_str())).collect()
    }

    /// Documents in the order that `settings` give the lists, before reranking.
    ///
    /// # Errors
    /// What a fuser says of lists or settings that it cannot take.
    pub fn fused_by(&self, settings: &FusionSettings) -> Result<Vec<&str>> {
        let fused = settings.fuse(&self.ranked_lists(), &self.suited)?;
        Ok(ranking(rows(&fused), &self.documents()))
    }

    /// The same question as if the documents that answer it were not there: a near miss.
    /// Each list is as confident as it was; look at its hits.
    #[must_use]
    pub fn without_answers(&self) -> Self {
        let mut without = self.clone();
        let right = |document: &str| self.judgements.get(document).is_some_and(|&gain| gain > 0);
        let documents = self.documents();
        without
            .reranked
            .retain(|&row, _| !documents.get(&RowId::new(row)).is_some_and(|one| right(one)));
        let left = &without.reranked;
        without.names.retain(|(from, to, _)| left.contains_key(from) && left.contains_key(to));
        for list in without.retrievers.values_mut() {
            list.hits.retain(|hit| !right(&hit.1));
        }
        for returned in [Some(&mut without.fused), without.read.as_mut()].into_iter().flatten() {
            returned.retain(|document| !right(document));
        }
        without.judgements.retain(|_, gain| *gain <= 0);
        without
    }
}

/// The head of a fused list as the engine orders it with the cross-encoder's scores, as many
/// rows as it had read, whether or not their scores tell which is better (`Reranker::orders`), and
/// without what token vectors say. A row that it has not read, because these are other settings,
/// counts like the worst that it has.
pub(crate) fn in_reranked_order(
    fused: Vec<Fused>,
    reranked: &BTreeMap<u64, Score>,
    names: &[(u64, u64, f32)],
) -> Vec<Fused> {
    let Some(&worst) = reranked.values().min() else { return fused };
    let head = fused.get(..reranked.len()).unwrap_or(&fused);
    let combined: Vec<Score> = head.iter().map(|hit| hit.combined).collect();
    let score = |hit: &Fused| reranked.get(&hit.row.get()).copied().unwrap_or(worst);
    let scores: Vec<Score> = head.iter().map(score).collect();
    let row = |index: usize| head.get(index).map(|hit| hit.row.get());
    let names = |from, to| {
        let is_this =
            |name: &&(u64, u64, f32)| row(from) == Some(name.0) && row(to) == Some(name.1);
        names.iter().find(is_this).map_or(0.0, |name| name.2)
    };
    let first = lift_named(blend(&combined, &scores), names).into_iter();
    let rest = fused.iter().skip(head.len());
    first.filter_map(|one| fused.get(one.index)).chain(rest).cloned().collect()
}

/// Documents by their best row, best first.
pub(crate) fn ranking<'d>(
    rows: impl IntoIterator<Item = RowId>,
    documents: &BTreeMap<RowId, &'d str>,
) -> Vec<&'d str> {
    let mut seen = BTreeSet::new();
    let found = rows.into_iter().filter_map(|row| documents.get(&row).copied());
    found.filter(|&document| seen.insert(document)).collect()
}

/// Rows of a fused list, best first.
pub(crate) fn rows(fused: &[Fused]) -> impl Iterator<Item = RowId> {
    fused.iter().map(|hit| hit.row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lists() -> RetrieverLists {
        let hit = |row, document: &str, raw_score| {
            StoredHit(row, document.to_owned(), raw_score, Score::clamped(raw_score))
        };
        let list = |hits| StoredList { floor: 0.1, confidence: 2.0, hits };
        RetrieverLists {
            set: "birds".to_owned(),
            query: "q".to_owned(),
            language: Language::Ja,
            documents: Language::En,
            query_type: QueryType::Local,
            suited: SearchWeights::default(),
            judgements: BTreeMap::from([("owl".to_owned(), 1), ("tit".to_owned(), 0)]),
            retrievers: BTreeMap::from([
                (RetrieverId::KEYWORD, list(vec![hit(4, "owl", 0.9), hit(5, "owl", 0.8)])),
                (RetrieverId::SEMANTIC, list(vec![hit(5, "owl", 0.7), hit(6, "tit", 0.6)])),
            ]),
            fused: vec!["owl".to_owned(), "tit".to_owned()],
            read: Some(vec!["tit".to_owned(), "owl".to_owned()]),
            reranked: BTreeMap::from([(5, Score::ONE)]),
            names: vec![(5, 6, 0.5)],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lists.jsonl");
        let all = vec![lists(), lists().without_answers()];
        RetrieverLists::write(&all, &path).unwrap();
        assert_eq!(RetrieverLists::read(&path).unwrap(), all);
    }

    #[test]
    fn a_fuser_takes_them_and_documents_rank_by_their_best_row() {
        let asked = lists();
        let [keyword, semantic] = asked.ranked_lists().try_into().unwrap();
        assert_eq!(
            (keyword.retriever(), semantic.retriever()),
            (RetrieverId::KEYWORD, RetrieverId::SEMANTIC)
        );
        assert_eq!((semantic.floor(), semantic.confidence(), semantic.hits().len()), (0.1, 2.0, 2));
        let rows = [6, 5, 4].map(RowId::new);
        assert_eq!(ranking(rows, &asked.documents()), ["tit", "owl"]);
    }

    #[test]
    fn the_cross_encoder_reorders_what_it_read() {
        let fused = |row, combined| Fused {
            row: RowId::new(row),
            combined: Score::clamped(combined),
            hits: Vec::new(),
        };
        let before = vec![fused(1, 0.9), fused(2, 0.8), fused(3, 0.7), fused(4, 0.6)];
        let rows_named = |reranked: &[(u64, f32)], names: &[(u64, u64, f32)]| -> Vec<u64> {
            let scores = reranked.iter().map(|&(row, score)| (row, Score::clamped(score)));
            let after = in_reranked_order(before.clone(), &scores.collect(), names);
            after.iter().map(|hit| hit.row.get()).collect()
        };
        let rows = |reranked: &[(u64, f32)]| rows_named(reranked, &[]);
        assert_eq!(rows(&[]), [1, 2, 3, 4]);
        assert_eq!(rows(&[(1, 0.01), (2, 0.99)]), [2, 1, 3, 4]);
        // It read 9 and 8, which these settings do not find: 1 and 3 count like 9.
        assert_eq!(rows(&[(9, 0.1), (2, 0.9), (8, 0.2)]), [2, 1, 3, 4]);
        let read = [(1, 0.9), (2, 0.6), (3, 0.5)];
        assert_eq!(rows(&read), [1, 2, 3, 4]);
        assert_eq!(rows_named(&read, &[(1, 3, 0.5)]), [1, 3, 2, 4]);
    }

    #[test]
    fn a_near_miss_has_lost_its_answers() {
        let miss = lists().without_answers();
        assert_eq!(miss.judgements, BTreeMap::from([("tit".to_owned(), 0)]));
        let left: Vec<&str> = miss
            .retrievers
            .values()
            .flat_map(|list| &list.hits)
            .map(|hit| hit.1.as_str())
            .collect();
        assert_eq!(left, ["tit"]);
        assert_eq!((miss.fused, miss.read), (vec!["tit".to_owned()], Some(vec!["tit".to_owned()])));
        assert_eq!(miss.names, []);
    }
}
