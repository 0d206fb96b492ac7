//! The keyword leg: the fixtures' questions in each language, one by one.

use std::sync::Arc;

use benches::{
    EngineIndex, Fixtures, Outcome, Question, SIZES, StoredVectors, answered, label, must,
    record_recall, settings,
};
use criterion::BenchmarkId;
use trefoil::{Language, SearchQuery, SearchStrategy};

const GROUP: &str = "keyword";

fn main() -> Outcome {
    let mut criterion = settings();
    let mut group = criterion.benchmark_group(GROUP);
    let fixtures = Fixtures::load()?;
    let vectors = Arc::new(StoredVectors::of(&fixtures)?);
    for size in SIZES {
        let engine = EngineIndex::of(&fixtures, &vectors, size)?.open()?;
        for language in Language::ALL {
            let asked = |question: &&Question| question.language == language && !question.crosses();
            let questions = fixtures.questions.iter().filter(asked);
            let questions: Vec<(&Question, SearchQuery)> = questions
                .map(|question| Ok((question, question.query(SearchStrategy::Keyword)?)))
                .collect::<Outcome<_>>()?;
            let mut cycle = questions.iter().cycle();
            group.bench_function(BenchmarkId::new(language.code(), label(size)), |bencher| {
                bencher.iter(|| cycle.next().map(|(_, query)| must(engine.ranked_lists(query))));
            });
            let recall = answered(&engine, &questions)?;
            record_recall(GROUP, language.code(), &label(size), recall)?;
        }
    }
    group.finish();
    criterion.final_summary();
    Ok(())
}
