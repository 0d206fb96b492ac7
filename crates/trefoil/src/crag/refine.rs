//! Passages to the sentences in them that matter.

use trefoil_core::{Analyzer, Chunk, Language, Question, Ranked, Score};

use crate::crag::strips::{coverage, decompose, recompose, select};

/// How sentences are picked out of the passages of one search.
#[derive(Debug)]
pub(crate) struct Refinement<'a> {
    pub(crate) analyzer: &'a dyn Analyzer,
    pub(crate) question: &'a Question,
    /// The least score of a sentence that stays.
    pub(crate) bar: Score,
    /// How many stay at most.
    pub(crate) most: usize,
}

/// One passage, cut up.
struct Cut<'p> {
    language: Language,
    strips: Vec<&'p str>,
    scores: Vec<Score>,
}

impl Refinement<'_> {
    /// The sentences of each passage that matter, as one text; none of a passage without
    /// sentences. `read` may score some of them again, best first: it is given sentences
    /// and gives as many scores as it has the time for.
    pub(crate) fn summaries<'p>(
        &self,
        passages: impl Iterator<Item = &'p Ranked>,
        read: impl FnOnce(&[&str]) -> Vec<Score>,
    ) -> Vec<Option<String>> {
        let mut cuts: Vec<Cut<'p>> = passages.map(|one| self.cut(one)).collect();
        let mut order: Vec<(usize, usize)> = Vec::new();
        for (passage, cut) in cuts.iter().enumerate() {
            order.extend((0..cut.strips.len()).map(|strip| (passage, strip)));
        }
        let score = |&(passage, strip): &(usize, usize)| {
            cuts.get(passage).and_then(|cut| cut.scores.get(strip)).copied().unwrap_or_default()
        };
        order.sort_by(|a, b| score(b).cmp(&score(a)).then(a.cmp(b)));
        let texts: Vec<&str> = order
            .iter()
            .filter_map(|&(passage, strip)| cuts.get(passage)?.strips.get(strip).copied())
            .collect();
        let scores = read(&texts);
        for ((passage, strip), read) in order.into_iter().zip(scores) {
            let place = cuts.get_mut(passage).and_then(|cut| cut.scores.get_mut(strip));
            if let Some(score) = place {
                *score = read;
            }
        }
        cuts.iter().map(|cut| self.summary(cut)).collect()
    }

    /// The sentences of a passage, each scored by what it covers of the question besides
    /// the best of them, times what the passage is worth.
    fn cut<'p>(&self, ranked: &'p Ranked) -> Cut<'p> {
        let Chunk { text, language, .. } = &ranked.passage.chunk.chunk;
        let strips = decompose(text, *language);
        let evidence = ranked.evidence().get();
        let covered = coverage(self.analyzer, self.question, &strips, *language).into_iter();
        let scores = covered.map(|covered| Score::clamped(evidence * covered)).collect();
        Cut { language: *language, strips, scores }
    }

    fn summary(&self, cut: &Cut<'_>) -> Option<String> {
        let kept = select(&cut.scores, self.bar, self.most);
        let summary = recompose(&cut.strips, &kept, cut.language);
        (!summary.is_empty()).then_some(summary)
    }
}
