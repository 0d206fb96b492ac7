//! Documents to an index that answers: with the model against the model alone, then
//! without the model, so that the rest is seen at larger sizes.

use std::sync::Arc;

use benches::{
    Fixtures, Outcome, StoredVectors, folder, label, model, must, settings, with_vectors,
};
use criterion::{BatchSize, BenchmarkId, Criterion, SamplingMode, Throughput};
use tempfile::TempDir;
use trefoil::{Document, Engine, EngineConfig, Model, index::Role, model::Embedder};

fn main() -> Outcome {
    let mut criterion = settings().sample_size(10);
    let fixtures = Fixtures::load()?;
    with_model(&mut criterion, &fixtures)?;
    without_model(&mut criterion, &fixtures)?;
    criterion.final_summary();
    Ok(())
}

/// 100 chunks of the fixtures, in all languages, each a document of its own.
fn with_model(criterion: &mut Criterion, fixtures: &Fixtures) -> Outcome {
    let passages = fixtures.passages();
    let texts = passages.iter().step_by(passages.len() / 100).take(100);
    let texts: Vec<&str> = texts.map(String::as_str).collect();
    let numbered = texts.iter().enumerate();
    let documents: Vec<Document> =
        numbered.map(|(number, text)| Document::new(number.to_string(), *text)).collect();
    let model = Arc::new(model()?);
    let config = EngineConfig { model: Model::Custom(model.clone()), ..EngineConfig::default() };

    let mut group = criterion.benchmark_group("ingest with the model");
    group.sampling_mode(SamplingMode::Flat).throughput(Throughput::Elements(texts.len() as u64));
    group.bench_function(BenchmarkId::new("model alone", texts.len()), |bencher| {
        bencher.iter(|| must(model.embed(Role::Passage, &texts)));
    });
    group.bench_function(BenchmarkId::new("engine", texts.len()), |bencher| {
        let empty = || must(Empty::new(&config));
        bencher.iter_batched(empty, |empty| must(empty.fill(&documents)), BatchSize::PerIteration);
    });
    group.finish();
    Ok(())
}

fn without_model(criterion: &mut Criterion, fixtures: &Fixtures) -> Outcome {
    let vectors = Arc::new(StoredVectors::of(fixtures)?);
    let keyword_only = EngineConfig { model: Model::None, ..EngineConfig::default() };
    let configs = [("keyword only", keyword_only), ("stored vectors", with_vectors(&vectors))];
    let mut group = criterion.benchmark_group("ingest without the model");
    group.sampling_mode(SamplingMode::Flat);
    for size in [1_000, 10_000] {
        let documents = fixtures.grown(size);
        group.throughput(Throughput::Elements(size as u64));
        for (name, config) in &configs {
            group.bench_function(BenchmarkId::new(*name, label(size)), |bencher| {
                let empty = || must(Empty::new(config));
                let fill = |empty: Empty| must(empty.fill(&documents));
                bencher.iter_batched(empty, fill, BatchSize::PerIteration);
            });
        }
    }
    group.finish();
    Ok(())
}

/// An engine over a new directory, which goes with it.
struct Empty {
    engine: Engine,
    _dir: TempDir,
}

impl Empty {
    fn new(config: &EngineConfig) -> Outcome<Self> {
        let dir = TempDir::new_in(folder()?)?;
        Ok(Self { engine: Engine::open_with(dir.path(), config.clone())?, _dir: dir })
    }

    /// Is returned, so that closing and removing are not timed.
    fn fill(self, documents: &[Document]) -> Outcome<Self> {
        self.engine.ingest(documents)?;
        self.engine.wait_until_indexed()?;
        Ok(self)
    }
}
