//! Opening an index that is complete, to write and to read only. The model loads at the
//! first question, so it has no part in this.

use std::sync::Arc;

use benches::{EngineIndex, Fixtures, Outcome, SIZES, StoredVectors, label, must, settings};
use criterion::{BatchSize, BenchmarkId};

fn main() -> Outcome {
    let mut criterion = settings().sample_size(10);
    let mut group = criterion.benchmark_group("open");
    let fixtures = Fixtures::load()?;
    let vectors = Arc::new(StoredVectors::of(&fixtures)?);
    for size in SIZES {
        let index = EngineIndex::of(&fixtures, &vectors, size)?;
        // What was opened is closed before the next, out of the time.
        group.bench_function(BenchmarkId::new("read only", label(size)), |bencher| {
            let open = |()| must(index.open_read_only());
            bencher.iter_batched(|| (), open, BatchSize::PerIteration);
        });
        group.bench_function(BenchmarkId::new("read and write", label(size)), |bencher| {
            let open = |()| must(index.open());
            bencher.iter_batched(|| (), open, BatchSize::PerIteration);
        });
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
