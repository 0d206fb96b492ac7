//! The sentences that say what many others say: extractive summaries.
//!
//! Sentences are nodes, tied by the cosine of their vectors, and PageRank tells which are
//! central (Erkan, Radev 2004, "`LexRank`: graph-based lexical centrality as salience in text
//! summarization"), with what is known of each beforehand as the seeds (Otterbacher, Erkan,
//! Radev 2009, "Biased `LexRank`"). Of two that say the same one is taken, by maximal marginal
//! relevance (Carbonell, Goldstein 1998).

use trefoil_core::Result;

use crate::{Csr, Node, PageRank, Walk, column::Column};

/// With what chance a walk goes on to a similar sentence.
const DAMPING: f32 = 0.85;
/// The least cosine that ties two sentences; the threshold of `LexRank` itself.
const LEAST_COSINE: f32 = 0.1;
/// After so many iterations the errors of all scores sum to .85³⁰ · 2 = .015 at most.
const WALK: Walk = Walk::Power { iterations: 30 };
/// The weight of centrality against novelty.
const CENTRALITY: f32 = 0.7;
/// What is less central than this share of the best says nothing of the whole.
const LEAST_SHARE: f32 = 0.2;

/// A sentence, as far as choosing goes.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// Its terms and what they weigh, by term, each once; weights finite and above 0.
    pub terms: Vec<(u32, f32)>,
    /// What speaks for it beforehand; finite, from 0.
    pub prior: f32,
}

/// The most central of sentences, best first, at most `count`: each the one that is most
/// central and least like those before it, `.7 · score ÷ best score − .3 · cosine`. One that
/// is rather like another than central is left out, and so is one below a fifth of the best
/// score.
///
/// # Errors
/// [`Error::InvalidEdge`](trefoil_core::Error::InvalidEdge) if weights are not finite.
pub fn central(sentences: &[Sentence], count: usize) -> Result<Vec<usize>> {
    let cosines = Cosines::of(sentences);
    let nodes = Node::try_from(sentences.len()).unwrap_or(Node::MAX);
    let graph = Csr::from_edges(nodes, cosines.edges())?;
    let seeds: Vec<(Node, f32)> = (0..).zip(sentences.iter().map(|one| one.prior)).collect();
    let scores = PageRank::new(graph, DAMPING)?.scores(&seeds, WALK);
    let best = scores.iter().map(|(_, score)| score).fold(0.0, f32::max);
    let central = scores.iter().filter(|&(_, score)| score >= LEAST_SHARE * best);
    let mut left: Vec<(Node, f32)> =
        central.map(|(node, score)| (node, CENTRALITY * score / best)).collect();
    // The most that a sentence is like one that was taken.
    let mut like = Column::filled(nodes, 0.0_f32);
    let mut chosen = Vec::new();
    while chosen.len() < count {
        let value = |&(node, score): &(Node, f32)| score - (1.0 - CENTRALITY) * like[node];
        // Of equals the first: a later one has to be above it.
        let better = |a: (usize, f32), b: (usize, f32)| if b.1 > a.1 { b } else { a };
        let next = left.iter().map(value).enumerate().reduce(better);
        let Some((place, _)) = next.filter(|&(_, value)| value > 0.0) else { break };
        let (node, _) = left.remove(place);
        for &(other, _) in &left {
            like[other] = like[other].max(cosines.between(node, other));
        }
        chosen.push(node as usize);
    }
    Ok(chosen)
}

/// The cosine of each two sentences.
struct Cosines {
    /// Row by row: those of a sentence with the ones before it.
    below: Vec<Vec<f32>>,
}

impl Cosines {
    fn of(sentences: &[Sentence]) -> Self {
        let norm = |one: &Sentence| one.terms.iter().map(|&(_, w)| w * w).sum::<f32>().sqrt();
        let norms: Vec<f32> = sentences.iter().map(norm).collect();
        let with_those_before = |(place, (one, norm)): (usize, (&Sentence, &f32))| {
            let before = sentences.iter().zip(&norms).take(place);
            let cosine = |(other, other_norm): (&Sentence, &f32)| {
                let norms = norm * other_norm;
                if norms > 0.0 { dot(&one.terms, &other.terms) / norms } else { 0.0 }
            };
            before.map(cosine).collect()
        };
        Self { below: sentences.iter().zip(&norms).enumerate().map(with_those_before).collect() }
    }

    fn between(&self, a: Node, b: Node) -> f32 {
        let row = self.below.get(a.max(b) as usize);
        row.and_then(|row| row.get(a.min(b) as usize)).copied().unwrap_or_default()
    }

    fn edges(&self) -> impl Iterator<Item = (Node, Node, f32)> + '_ {
        let rows = (0..).zip(&self.below);
        let edges =
            rows.flat_map(|(a, row)| (0..).zip(row).map(move |(b, &cosine)| (a, b, cosine)));
        edges.filter(|&(.., cosine)| cosine >= LEAST_COSINE)
    }
}

/// The product of two sparse vectors, both by term.
fn dot(a: &[(u32, f32)], b: &[(u32, f32)]) -> f32 {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut sum = 0.0;
    while let (Some(&&(x, weight)), Some(&&(y, other))) = (a.peek(), b.peek()) {
        if x == y {
            sum += weight * other;
        }
        if x <= y {
            a.next();
        }
        if y <= x {
            b.next();
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sentences(texts: &[(&str, f32)]) -> Vec<Sentence> {
        let sentence = |&(text, prior): &(&str, f32)| {
            let mut terms: Vec<(u32, f32)> = text.chars().map(|c| (u32::from(c), 1.0)).collect();
            terms.sort_by_key(|term| term.0);
            terms.dedup_by_key(|term| term.0);
            Sentence { terms, prior }
        };
        texts.iter().map(sentence).collect()
    }

    #[test]
    fn the_central_come_first_and_nothing_twice() {
        let check = |texts: &[(&str, f32)], count, expected: &[usize]| {
            assert_eq!(central(&sentences(texts), count).unwrap(), expected, "{texts:?}");
        };
        // The one that shares with all others.
        check(&[("ab", 1.0), ("abcdef", 1.0), ("cd", 1.0), ("ef", 1.0)], 1, &[1]);
        // The same again is left out.
        check(&[("abc", 1.0), ("abc", 1.0), ("xyz", 1.0), ("xyw", 1.0)], 2, &[0, 2]);
        // What speaks for one beforehand.
        check(&[("abc", 1.0), ("xyz", 5.0)], 2, &[1, 0]);
        check(&[("abc", 0.0), ("xyz", 1.0)], 2, &[1]);
        check(&[("", 1.0)], 2, &[0]);
        check(&[("abc", 0.0)], 2, &[]);
        check(&[], 2, &[]);
    }

    proptest! {
        #[test]
        fn what_is_chosen_is_chosen_once_and_more_is_an_extension(
            texts in prop::collection::vec(("[a-h]{0,6}", 0.0_f32..2.0), 0..20),
            count in 0_usize..10,
        ) {
            let texts: Vec<(&str, f32)> = texts.iter().map(|(text, p)| (&**text, *p)).collect();
            let sentences = sentences(&texts);
            let chosen = central(&sentences, count)?;
            prop_assert!(chosen.len() <= count);
            let more = central(&sentences, count + 3)?;
            prop_assert!(more.starts_with(&chosen));
            let mut once = more.clone();
            once.sort_unstable();
            once.dedup();
            prop_assert_eq!(once.len(), more.len());
            prop_assert!(more.iter().all(|&place| place < sentences.len()));
        }
    }
}
