//! A search with reranking, from question to results, without a time budget: by the
//! cross-encoder, which reads English, and by the token vectors of the embedder. The embedding
//! of the question is cached. How much there is to search makes no difference to reranking.

use std::sync::Arc;

use benches::{
    EngineIndex, Fixtures, Outcome, Question, StoredVectors, answered, label, model, must,
    record_recall, settings,
};
use criterion::BenchmarkId;
use trefoil::{
    EngineConfig, Language, SearchQuery,
    model::{ModelHome, ModelSource, OnnxReranker, Reranker, TokenReranker},
};

/// Chunks that are searched.
const SIZE: usize = 1_000;
/// One question in so many is asked for recall: reranking is what takes time.
const ONE_IN: usize = 4;

fn main() -> Outcome {
    let mut criterion = settings();
    let fixtures = Fixtures::load()?;
    let vectors = Arc::new(StoredVectors::of(&fixtures)?);
    let index = EngineIndex::of(&fixtures, &vectors, SIZE)?;
    for language in Language::ALL {
        let group_name = format!("rerank {language}");
        let mut group = criterion.benchmark_group(&group_name);
        for (name, reranker) in rerankers(language)? {
            let engine = index.reranked_by(reranker)?;
            let questions: Vec<(&Question, SearchQuery)> = fixtures
                .questions_in(language)
                .step_by(ONE_IN)
                .map(|question| Ok((question, question.reranked()?)))
                .collect::<Outcome<_>>()?;
            let mut cycle = questions.iter().cycle();
            group.bench_function(BenchmarkId::new(name, label(SIZE)), |bencher| {
                bencher.iter(|| cycle.next().map(|(_, query)| must(engine.search(query))));
            });
            record_recall(&group_name, name, &label(SIZE), answered(&engine, &questions)?)?;
        }
        group.finish();
    }
    criterion.final_summary();
    Ok(())
}

/// A name, and the rerankers that it stands for.
type Named = (&'static str, Vec<Arc<dyn Reranker>>);

/// What can read a language; none comes first, to compare with.
fn rerankers(language: Language) -> Outcome<Vec<Named>> {
    let tokens = TokenReranker::new(Arc::new(model()?), trefoil_text::language_of)
        .ok_or("the model has no range of tokens")?;
    let mut rerankers: Vec<Named> =
        vec![("none", Vec::new()), ("token vectors", vec![Arc::new(tokens)])];
    if language == Language::En {
        let source = ModelSource::Name(EngineConfig::default().rerank.model);
        let threads = std::thread::available_parallelism()?.get();
        let encoder = OnnxReranker::open(&ModelHome::platform()?, &source, threads)?;
        rerankers.push(("cross-encoder", vec![Arc::new(encoder)]));
    }
    Ok(rerankers)
}
