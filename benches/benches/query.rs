//! A search from question to results, with one retriever and with all. The embedding of the
//! question is cached, so this is what the engine takes besides its model.

use std::sync::Arc;

use benches::{
    EngineIndex, Fixtures, Outcome, Question, SIZES, StoredVectors, answered, label, must,
    record_recall, settings,
};
use criterion::BenchmarkId;
use trefoil::{SearchQuery, SearchStrategy};

const GROUP: &str = "query";

fn main() -> Outcome {
    let mut criterion = settings();
    let mut group = criterion.benchmark_group(GROUP);
    let fixtures = Fixtures::load()?;
    let vectors = Arc::new(StoredVectors::of(&fixtures)?);
    let strategies = [
        ("keyword", SearchStrategy::KEYWORD),
        ("semantic", SearchStrategy::SEMANTIC),
        ("hybrid", SearchStrategy::Hybrid),
    ];
    for size in SIZES {
        let engine = EngineIndex::of(&fixtures, &vectors, size)?.open()?;
        for (name, retriever) in &strategies {
            let queries: Vec<(&Question, SearchQuery)> = fixtures
                .questions
                .iter()
                .map(|question| Ok((question, question.query(retriever.clone())?)))
                .collect::<Outcome<_>>()?;
            let mut cycle = queries.iter().cycle();
            group.bench_function(BenchmarkId::new(*name, label(size)), |bencher| {
                bencher.iter(|| cycle.next().map(|(_, query)| must(engine.search(query))));
            });
            record_recall(GROUP, name, &label(size), answered(&engine, &queries)?)?;
        }
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
