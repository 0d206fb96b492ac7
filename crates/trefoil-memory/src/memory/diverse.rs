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
        // By their vectors, or where one has none by their letters.
        let mut compared = Vec::new();
        for one in &ranked {
            let vector = row(one).and_then(|row| vectors.remove(&row));
            compared.push((vector, Trigrams::of(&one.claim.text)));
        }
        let scores: Vec<Score> = ranked.iter().map(|one| one.score).collect();
        #[expect(clippy::cast_possible_truncation, reason = "likeness is single precision")]
        let likeness = |a: usize, b: usize| match (compared.get(a), compared.get(b)) {
            (Some((Some(a), _)), Some((Some(b), _))) => a.iter().zip(b).map(|(a, b)| a * b).sum(),
            (Some((_, a)), Some((_, b))) => a.similarity(b) as f32,
            _ => 0.0,
        };
        let kept = mmr(&scores, top_k, MMR_LAMBDA, likeness)?;
        let mut place = 0..;
        ranked.retain(|_| place.next().is_some_and(|at| kept.binary_search(&at).is_ok()));
        Ok(ranked)
    }
}
