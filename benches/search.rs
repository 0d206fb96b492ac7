//! Speed of the pure stages: analysis, fusion and final scores. Larger sizes show growth.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use trefoil::{
    Adaptive, Fuser, Hit, Leg, RankedList, RelativeScore, RowId, Rrf, Score, Strategy, final_scores,
};

/// A list of `depth` rows that shares every third row with the others.
fn list(strategy: Strategy, depth: u16) -> RankedList {
    let stride = if strategy == Strategy::Keyword { 1 } else { 3 };
    let hits = (0..depth).map(|rank| {
        let native = 1.0 / (1.0 + f32::from(rank));
        Hit { row: RowId::new(u64::from(rank) * stride), native, relevance: Score::clamped(native) }
    });
    RankedList::new(strategy, hits.collect())
}

fn fusion(criterion: &mut Criterion) {
    let legs = [Strategy::Keyword, Strategy::Semantic].map(|strategy| Leg {
        strategy,
        depth: 1_000,
        weight: 0.5,
    });
    let mut group = criterion.benchmark_group("fusion");
    for depth in [60_u16, 300, 3_000] {
        let lists = [list(Strategy::Keyword, depth), list(Strategy::Semantic, depth)];
        group.throughput(Throughput::Elements(u64::from(depth) * 2));
        let fusers: [(&str, &dyn Fuser); 3] = [
            ("rrf", &Rrf::default()),
            ("relative", &RelativeScore),
            ("adaptive", &Adaptive { foreign: false }),
        ];
        for (name, fuser) in fusers {
            group.bench_function(BenchmarkId::new(name, depth), |bencher| {
                bencher.iter(|| fuser.fuse(black_box(&legs), black_box(&lists)));
            });
        }
        let fused = RelativeScore.fuse(&legs, &lists).unwrap_or_default();
        group.bench_function(BenchmarkId::new("final scores", depth), |bencher| {
            bencher.iter(|| final_scores(black_box(&fused)));
        });
    }
    group.finish();
}

criterion_group!(benches, fusion);
criterion_main!(benches);
