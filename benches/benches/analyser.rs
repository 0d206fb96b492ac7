//! Text to terms, in each language.

use std::hint::black_box;

use benches::{Fixtures, Outcome, settings};
use criterion::{BenchmarkId, Throughput};
use trefoil::{Language, text::Analyzer};
use trefoil_text::ScriptAnalyzer;

fn main() -> Outcome {
    let mut criterion = settings();
    let mut group = criterion.benchmark_group("analyser");
    let (fixtures, analyzer) = (Fixtures::load()?, ScriptAnalyzer::new());
    for language in Language::ALL {
        let text = fixtures.text(language).repeat(2);
        for kilobytes in [1, 10, 100] {
            let text = text.get(..text.floor_char_boundary(kilobytes * 1_000)).unwrap_or_default();
            group.throughput(Throughput::Bytes(text.len() as u64));
            let id = BenchmarkId::new(language.code(), format!("{kilobytes} kB"));
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    analyzer.analyze(black_box(text), language, &mut |token| {
                        black_box(token);
                    });
                });
            });
        }
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
