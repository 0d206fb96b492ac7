use std::sync::Arc;

use criterion::BenchmarkId;
use trefoil::{Language, SearchQuery, SearchStrategy};

use crate::{
    EngineIndex, Fixtures, Outcome, Question, SIZES, StoredVectors, answered, label, must,
    record_recall, settings,
};

/// Measures one retriever alone on the fixtures' questions in each language.
pub fn measure_retriever(group_name: &str, retriever: &SearchStrategy) -> Outcome {
    let mut criterion = settings();
    let mut group = criterion.benchmark_group(group_name);
    let fixtures = Fixtures::load()?;
    let vectors = Arc::new(StoredVectors::of(&fixtures)?);
    for size in SIZES {
        let engine = EngineIndex::of(&fixtures, &vectors, size)?.open()?;
        for language in Language::ALL {
            let questions: Vec<(&Question, SearchQuery)> = fixtures
                .questions_in(language)
                .map(|question| Ok((question, question.query(retriever.clone())?)))
                .collect::<Outcome<_>>()?;
            let mut cycle = questions.iter().cycle();
            group.bench_function(BenchmarkId::new(language.code(), label(size)), |bencher| {
                bencher.iter(|| cycle.next().map(|(_, query)| must(engine.ranked_lists(query))));
            });
            let recall = answered(&engine, &questions)?;
            record_recall(group_name, language.code(), &label(size), recall)?;
        }
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
