//! Nearest neighbours: comparing all vectors against going through lists and against walking
//! the graph, by how wide the walk is and by how many vectors a filter allows, and what the
//! default chooses. Recall is
//! against a comparison of all vectors in `f32`.

use std::{path::PathBuf, sync::Arc};

use benches::{
    Fixtures, NEIGHBOURS, Outcome, StoredVectors, VectorSet, label, must, record_recall, settings,
};
use criterion::{BenchmarkId, Criterion};
use trefoil::index::{Allowed, RowId, RowSet};
use trefoil_semantic::VectorConfig;

/// Steps of ten, and three times the size up to which the default compares all.
const SIZES: [usize; 4] = [1_000, 10_000, 30_000, 100_000];

fn main() -> Outcome {
    let mut criterion = settings();
    let own = VectorSet::of_fixtures(&StoredVectors::of(&Fixtures::load()?)?);
    for set in [Some(own), VectorSet::glove()?].into_iter().flatten() {
        for size in SIZES.into_iter().filter(|&size| size <= set.len()) {
            let task = Task::new(&set, size, set.name.to_owned(), label(size), Allowed::All)?;
            task.measure(&mut criterion, "exact", &exact())?;
            task.measure(&mut criterion, "lists", &lists())?;
            task.measure(&mut criterion, "default", &VectorConfig::default())?;
            for ef in [32, 64, 128, 256] {
                task.measure(&mut criterion, &format!("hnsw ef {ef}"), &walk(ef))?;
            }
        }
        for percent in [1, 10, 50] {
            let largest = set.len();
            let rows = (0..largest as u64).filter(|row| row % 100 < percent).map(RowId::new);
            let allowed = Allowed::Only(Arc::new(rows.collect::<RowSet>()));
            let group = format!("{} filtered", set.name);
            let share = format!("{percent} % of {}", label(largest));
            let task = Task::new(&set, largest, group, share, allowed)?;
            task.measure(&mut criterion, "exact", &exact())?;
            task.measure(&mut criterion, "lists", &lists())?;
            task.measure(&mut criterion, "default", &VectorConfig::default())?;
            task.measure(&mut criterion, "hnsw ef 128", &walk(128))?;
        }
    }
    criterion.final_summary();
    Ok(())
}

/// Compares all allowed vectors.
fn exact() -> VectorConfig {
    VectorConfig { exact_limit: usize::MAX, ..VectorConfig::default() }
}

/// Goes through the lists of a segment that has some.
fn lists() -> VectorConfig {
    VectorConfig { exact_limit: 0, ..VectorConfig::default() }
}

/// Walks the graph, whatever it costs.
fn walk(ef_search: usize) -> VectorConfig {
    VectorConfig { graph_limit: 0, ef_search, ..VectorConfig::default() }
}

/// Searches whose right answers are known.
struct Task<'s> {
    set: &'s VectorSet,
    dir: PathBuf,
    group: String,
    size: String,
    allowed: Allowed,
    nearest: Vec<Vec<RowId>>,
}

impl<'s> Task<'s> {
    fn new(
        set: &'s VectorSet,
        vectors: usize,
        group: String,
        size: String,
        allowed: Allowed,
    ) -> Outcome<Self> {
        let dir = set.build(vectors)?;
        let nearest = set.nearest(vectors, &allowed);
        Ok(Self { set, dir, group, size, allowed, nearest })
    }

    /// Time of one search, and recall over all.
    fn measure(&self, criterion: &mut Criterion, name: &str, config: &VectorConfig) -> Outcome {
        let index = self.set.open(&self.dir, config)?;
        let search = |query: &Vec<f32>| index.search(query, NEIGHBOURS, &self.allowed);
        let mut cycle = self.set.queries.iter().cycle();
        let mut group = criterion.benchmark_group(&self.group);
        group.bench_function(BenchmarkId::new(name, &self.size), |bencher| {
            bencher.iter(|| cycle.next().map(|query| must(search(query))));
        });
        group.finish();
        let mut found = 0;
        for (query, nearest) in self.set.queries.iter().zip(&self.nearest) {
            found += search(query)?.iter().filter(|(row, _)| nearest.contains(row)).count();
        }
        let wanted: usize = self.nearest.iter().map(Vec::len).sum();
        record_recall(&self.group, name, &self.size, found as f64 / wanted as f64)
    }
}
