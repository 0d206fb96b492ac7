//! Fusing two lists of hits that share every third row, and giving the result its scores.

use std::hint::black_box;

use benches::{Outcome, settings};
use criterion::{BenchmarkId, Throughput};
use trefoil::{
    RetrieverId, Score,
    index::RowId,
    search::{
        Adaptive, Fuser, Hit, PlannedRetriever, RankedList, RelativeScore, Rrf, final_scores,
    },
};

fn main() -> Outcome {
    let mut criterion = settings();
    let retrievers = [RetrieverId::KEYWORD, RetrieverId::SEMANTIC]
        .map(|retriever| PlannedRetriever::new(retriever, 1_000, 0.5));
    let mut group = criterion.benchmark_group("fusion");
    for depth in [60_u16, 300, 3_000] {
        let lists = [list(RetrieverId::KEYWORD, depth), list(RetrieverId::SEMANTIC, depth)];
        group.throughput(Throughput::Elements(u64::from(depth) * 2));
        let fusers: [(&str, &dyn Fuser); 3] = [
            ("rrf", &Rrf::default()),
            ("relative", &RelativeScore),
            ("adaptive", &Adaptive::default()),
        ];
        for (name, fuser) in fusers {
            group.bench_function(BenchmarkId::new(name, depth), |bencher| {
                bencher.iter(|| fuser.fuse(black_box(&retrievers), black_box(&lists)));
            });
        }
        let fused = RelativeScore.fuse(&retrievers, &lists)?;
        group.bench_function(BenchmarkId::new("final scores", depth), |bencher| {
            bencher.iter(|| final_scores(black_box(&fused)));
        });
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}

/// A list of `depth` rows that shares every third row with the others.
fn list(retriever: RetrieverId, depth: u16) -> RankedList {
    let stride = if retriever == RetrieverId::KEYWORD { 1 } else { 3 };
    let hits = (0..depth).map(|rank| {
        let raw_score = 1.0 / (1.0 + f32::from(rank));
        Hit {
            row: RowId::new(u64::from(rank) * stride),
            raw_score,
            relevance: Score::clamped(raw_score),
        }
    });
    RankedList::new(retriever, hits.collect())
}
