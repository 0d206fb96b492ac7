//! Results that are unlike each other.

use std::collections::BTreeMap;

use trefoil::{
    index::RowId,
    search::{MMR_LAMBDA, mmr},
};
use trefoil_core::{ClaimId, Result, Score};

use super::Memory;
use trefoil_text::paraphrase::Trigrams;

use crate::{Claim, ScoredClaim};

/// A claim as it is compared: by its vector, or where one has none by its letters.
struct Compared {
    vector: Option<Vec<f32>>,
    letters: Trigrams,
}

impl Memory {
    /// The `top_k` of a ranked list that [`mmr`] picks with λ = .85, in their order.
    pub(super) fn diverse(
        &self,
        mut ranked: Vec<ScoredClaim>,
        claims: &[(RowId, Claim)],
        top_k: usize,
    ) -> Result<Vec<ScoredClaim>> {
        let rows: BTreeMap<&ClaimId, RowId> =
            claims.iter().map(|(row, claim)| (&claim.id, *row)).collect();
        let row = |one: &ScoredClaim| rows.get(&one.claim.id).copied();
        let known: Vec<RowId> = ranked.iter().filter_map(row).collect();
        let mut vectors = self.engine.memory().vectors(&known)?;
        let compared: Vec<Compared> = ranked
            .iter()
            .map(|one| Compared {
                vector: row(one).and_then(|row| vectors.remove(&row)),
                letters: Trigrams::of(&one.claim.text),
            })
            .collect();
        let scores: Vec<Score> = ranked.iter().map(|one| one.score).collect();
        let likeness = |a: usize, b: usize| match (compared.get(a), compared.get(b)) {
            (Some(a), Some(b)) => a.likeness(b),
            _ => 0.0,
        };
        let kept = mmr(&scores, top_k, MMR_LAMBDA, likeness)?;
        let mut place = 0..;
        ranked.retain(|_| place.next().is_some_and(|at| kept.binary_search(&at).is_ok()));
        Ok(ranked)
    }
}

impl Compared {
    fn likeness(&self, other: &Self) -> f32 {
        match (&self.vector, &other.vector) {
            (Some(a), Some(b)) => a.iter().zip(b).map(|(a, b)| a * b).sum(),
            #[expect(clippy::cast_possible_truncation, reason = "likeness is single precision")]
            _ => self.letters.similarity(&other.letters) as f32,
        }
    }
}
