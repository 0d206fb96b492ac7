//! Nodes that share an index in PostgreSQL, next to an index of its own: whether they answer alike,
//! and what it costs. Prints Markdown.
//!
//! ```sh
//! tests/postgres/start.py --durable wheel \
//!     cargo run --release -p benches --bin nodes -- equal DATA scifact cranfield xreact-ko
//! tests/postgres/start.py --durable wheel \
//!     cargo run --release -p benches --bin nodes -- times DATA scifact cranfield cacm
//! tests/postgres/start.py --durable wheel \
//!     cargo run --release -p benches --bin nodes -- found DATA 10000 100000 1000000
//! ```
//!
//! The default model has to be there, but for `found`, which takes chunks without vectors. Each
//! text is embedded once, whichever index asks for it.

use std::{
    env, fs,
    path::Path,
    process::Command,
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use benches::{EmbeddedOnce, Outcome, RealText, cpu_seconds, folder, model};
use rayon::prelude::*;
use tempfile::TempDir;
use trefoil::{
    Document, Engine, EngineConfig, Model, Score, SearchFilters, SearchOptions, SearchQuery,
    cluster::{SharedStore, StoreAt},
    search::{QueryText, SearchResultType, Stage},
};
use trefoil_eval::{Collection, Run, Scored};
use trefoil_postgres::{PostgresConfig, PostgresTruth};
use trefoil_text::language_of;

/// Documents of one ingest, which is one transaction or more.
const BATCH: usize = 64;
/// Documents of one ingest where an index is grown.
const GROWN_BATCH: usize = 2_000;
/// Results of a question that are compared.
const COMPARED: usize = 100;
/// Questions of a collection that are also asked with reranking, whose time is not limited.
const RERANKED: usize = 10;
/// What the documents alone decide; communities depend on when they came too.
const PASSAGES: [SearchResultType; 2] = [SearchResultType::Chunk, SearchResultType::Entity];
/// After a failover one of so many documents is removed and written again.
const WRITTEN_AGAIN: usize = 7;
/// Documents that are written and then looked for on another node.
const LOOKED_FOR: usize = 300;
/// Rounds of questions that are asked by turns.
const ROUNDS: usize = 3_000;
/// A node that is to lead, or to find something, has done so by then.
const LONGEST: Duration = Duration::from_mins(1);

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn main() -> Outcome {
    let args: Vec<String> = env::args().skip(1).collect();
    let [kind, data, names @ ..] = args.as_slice() else {
        return Err(
            "usage: nodes equal|times DATA COLLECTION..., nodes found DATA CHUNKS...".into()
        );
    };
    let embedded = || -> Outcome<EngineConfig> {
        let model = Model::Custom(Arc::new(EmbeddedOnce::new(model()?)));
        Ok(EngineConfig { model, rerank_budget: None, ..EngineConfig::default() })
    };
    let database = variable("TREFOIL_POSTGRES")?;
    let read = |name: &String| Collection::read(Path::new(data).join(name), language_of);
    match kind.as_str() {
        "equal" => {
            println!(
                "| collection | documents | questions | leads | follows | after a failover | new node |"
            );
            println!("|---|--:|--:|---|---|---|---|");
            let config = embedded()?;
            for name in names {
                let place = Place::of(&database, name, &config)?;
                println!("{}", place.compare(&read(name)?)?);
            }
            Ok(())
        }
        "times" => {
            let collections = names.iter().map(read).collect::<Result<Vec<_>, _>>()?;
            for line in Place::of(&database, "times", &embedded()?)?.times(&collections)? {
                println!("{line}");
            }
            Ok(())
        }
        "found" => {
            println!("| chunks | acknowledged to found | CPU to write and follow |");
            println!("|--:|---|--:|");
            let text = RealText::read(Path::new(data))?;
            let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
            for size in names {
                let place = Place::of(&database, &format!("found{size}"), &config)?;
                println!("{}", place.found(text.documents(size.parse()?))?);
            }
            Ok(())
        }
        other => Err(format!("`{other}` is neither `equal` nor `times` nor `found`").into()),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the program that starts the database tells where it is"
)]
fn variable(name: &str) -> Outcome<String> {
    Ok(env::var(name)
        .map_err(|_| format!("{name} is not set; run it by tests/postgres/start.py"))?)
}

/// An index in the database, and a folder for the caches of nodes.
struct Place {
    name: String,
    database: PostgresConfig,
    config: EngineConfig,
    folder: TempDir,
}

impl Place {
    fn of(database: &str, name: &str, config: &EngineConfig) -> Outcome<Self> {
        let database: PostgresConfig = format!("{database}?index={name}").parse()?;
        trefoil_postgres::init(&database, 1)?;
        let (name, config) = (name.to_owned(), config.clone());
        Ok(Self { name, database, config, folder: TempDir::new_in(folder()?)? })
    }

    /// An index of its own, which shares nothing.
    fn alone(&self) -> Outcome<Engine> {
        Ok(Engine::open_with(self.folder.path().join("alone"), self.config.clone())?)
    }

    fn node(&self, name: &str) -> Outcome<Engine> {
        let truth = PostgresTruth::new(self.database.clone().with_node(name)?)?;
        let store = StoreAt::Shared(SharedStore::new(Arc::new(truth)));
        let config = EngineConfig { store, ..self.config.clone() };
        Ok(Engine::open_with(self.folder.path().join(name), config)?)
    }

    /// Runs of an index of its own and of nodes, as files: passages and entities as that index
    /// has them. Communities depend on when they were found while documents came, so those of a
    /// node that follows are as its leader has them.
    fn compare(&self, collection: &Collection) -> Outcome<String> {
        let alone = self.alone()?;
        write(&alone, &collection.documents)?;
        let expected = self.run(&alone, collection, &PASSAGES)?;
        let first = self.node("first")?;
        leads(&first)?;
        write(&first, &collection.documents)?;
        let second = self.node("second")?;
        follow(&second)?;
        let led = self.run(&first, collection, &PASSAGES)?;
        let mut columns = vec![self.told(&[(&led, &expected)])];
        let [followed, all, led] = [
            self.run(&second, collection, &PASSAGES)?,
            self.run(&second, collection, &[])?,
            self.run(&first, collection, &[])?,
        ];
        columns.push(self.told(&[(&followed, &expected), (&all, &led)]));
        drop(first);
        leads(&second)?;
        let again: Vec<Document> =
            collection.documents.iter().step_by(WRITTEN_AGAIN).cloned().collect();
        for document in &again {
            second.remove(&document.path)?;
        }
        write(&second, &again)?;
        let third = self.node("third")?;
        follow(&third)?;
        let led = self.run(&second, collection, &PASSAGES)?;
        columns.push(self.told(&[(&led, &expected)]));
        let [followed, all, led] = [
            self.run(&third, collection, &PASSAGES)?,
            self.run(&third, collection, &[])?,
            self.run(&second, collection, &[])?,
        ];
        columns.push(self.told(&[(&followed, &expected), (&all, &led)]));
        let (documents, questions) = (collection.documents.len(), collection.queries.len());
        Ok(format!("| {} | {documents} | {questions} | {} |", self.name, columns.join(" | ")))
    }

    /// Whether runs are equal, for the table; the first difference goes to standard error.
    #[expect(clippy::print_stderr, reason = "what a difference is, beside the table")]
    fn told(&self, runs: &[(&String, &String)]) -> &'static str {
        let Some((run, expected)) = runs.iter().find(|(run, expected)| run != expected) else {
            return "equal";
        };
        let difference = run.lines().zip(expected.lines()).find(|(one, other)| one != other);
        eprintln!("{}: {difference:?}", self.name);
        "**differs**"
    }

    /// The run of every question, and of some with reranking: results of these types, or of all.
    fn run(
        &self,
        engine: &Engine,
        collection: &Collection,
        types: &[SearchResultType],
    ) -> Outcome<String> {
        // Walks read a form of the graph that may be behind what was written.
        engine.graph_index();
        let mut runs = String::new();
        let all = collection.queries.len();
        for (rerank, step) in [(false, 1), (true, all.div_ceil(RERANKED).max(1))] {
            let asked: Vec<_> = collection.queries.iter().step_by(step).collect();
            let answers = asked.par_iter().map(|one| answer(engine, &one.text, types, rerank));
            let answers = answers.collect::<Outcome<Vec<_>>>()?;
            let mut run = Run::new("trefoil");
            for (query, ranked) in asked.iter().zip(answers) {
                run.insert_ranked(&query.id, ranked);
            }
            let path = self.folder.path().join("run");
            run.write(&path)?;
            runs.push_str(&fs::read_to_string(path)?);
        }
        Ok(runs)
    }

    /// How long it takes until another node finds what is written to an index of these documents, as
    /// a row of a table.
    fn found(&self, mut documents: impl Iterator<Item = Document>) -> Outcome<String> {
        let before = cpu_seconds()?;
        let (first, second) = (self.node("first")?, self.node("second")?);
        leads(&first)?;
        loop {
            let some: Vec<Document> = documents.by_ref().take(GROWN_BATCH).collect();
            if some.is_empty() {
                break;
            }
            first.ingest(&some)?;
        }
        first.wait_until_indexed()?;
        follow(&second)?;
        let cpu = cpu_seconds()? - before;
        let chunks = second.stats()?.store.chunks;
        let mut found = look_for(&[&first], &second)?;
        Ok(format!("| {chunks} | {} | {cpu:.0} s |", percentiles(&mut found)))
    }

    /// What it costs to write so and to follow.
    fn times(&self, collections: &[Collection]) -> Outcome<Vec<String>> {
        let documents: Vec<Document> =
            collections.iter().flat_map(|one| one.documents.iter().cloned()).collect();
        let questions: Vec<&str> =
            collections.iter().flat_map(|one| &one.queries).map(|one| one.text.as_str()).collect();
        let alone = self.alone()?;
        write(&alone, &documents)?;
        let first = self.node("first")?;
        leads(&first)?;
        write(&first, &documents)?;
        let second = self.node("second")?;
        follow(&second)?;
        let chunks = second.stats()?.store.chunks;
        let mut lines = vec![format!("{} documents, {chunks} chunks", documents.len())];

        let mut found = look_for(&[&alone, &first], &second)?;
        lines.push(format!("acknowledged to found: {}", percentiles(&mut found)));
        alone.wait_until_indexed()?;
        first.wait_until_indexed()?;
        follow(&second)?;
        lines.push(format!("with the database: {}", by_turns(&alone, &second, &questions)?));
        stop_database()?;
        lines.push(format!("without the database: {}", by_turns(&alone, &second, &questions)?));
        Ok(lines)
    }
}

/// Writes documents to each engine in turn, the last of which leads, and looks for them on a node
/// that follows it: how long that takes from when the last write is acknowledged.
fn look_for(written_to: &[&Engine], node: &Engine) -> Outcome<Vec<Duration>> {
    let mut found = Vec::new();
    for number in 0..LOOKED_FOR {
        let word = format!("walrus{number}x{number}");
        let text = format!("Captain Ellis saw the {word} off Tern Station.");
        let document = [Document::new(format!("log/{number}.md"), text)];
        for engine in written_to {
            engine.ingest(&document)?;
        }
        let (acknowledged, query) = (Instant::now(), query(&word, 10, false)?);
        while node.search(&query)?.results.is_empty() {
            if acknowledged.elapsed() > LONGEST {
                return Err(format!("{word} is not found on the other node").into());
            }
            thread::sleep(Duration::from_millis(1));
        }
        found.push(acknowledged.elapsed());
    }
    Ok(found)
}

/// Ends the server of this machine, whose folder is that of `tests/postgres/start.py`.
fn stop_database() -> Outcome {
    let lines = fs::read_to_string(
        Path::new(&variable("TREFOIL_POSTGRES_FOLDER")?).join("data/postmaster.pid"),
    )?;
    let process = lines.lines().next().ok_or("the server has no process")?;
    let done = Command::new("kill").args(["-QUIT", process]).status()?;
    thread::sleep(Duration::from_secs(2));
    if done.success() { Ok(()) } else { Err("the server cannot be ended".into()) }
}

/// Writes documents, and waits until all of it is indexed.
fn write(engine: &Engine, documents: &[Document]) -> Outcome {
    for some in documents.chunks(BATCH) {
        engine.ingest(some)?;
    }
    engine.wait_until_indexed()?;
    Ok(())
}

/// Brings a node to the end of what there is.
fn follow(node: &Engine) -> Outcome {
    node.follow()?;
    node.wait_until_indexed()?;
    Ok(())
}

/// Waits until a node leads.
fn leads(node: &Engine) -> Outcome {
    let began = Instant::now();
    while !node.lead()? {
        if began.elapsed() > LONGEST {
            return Err("the node does not come to lead".into());
        }
        node.follow()?;
        thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

fn query(text: &str, limit: usize, rerank_enabled: bool) -> Outcome<SearchQuery> {
    let text: String = text.trim().chars().take(QueryText::MAX_CHARS).collect();
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let options = SearchOptions { limit, rerank_enabled, ..SearchOptions::default() };
    Ok(SearchQuery::new(&text)?.replace_filters(filters).replace_options(options))
}

/// The documents of the results, best first.
fn answer(
    engine: &Engine,
    text: &str,
    types: &[SearchResultType],
    rerank: bool,
) -> Outcome<Vec<Scored>> {
    let mut query = query(text, COMPARED, rerank)?;
    query.options.result_types = types.to_vec();
    let found = engine.search(&query)?;
    // A cross-encoder of each language is not among the default models.
    let part = found.degraded.iter().find(|part| part.stage != Stage::Rerank);
    if let Some(part) = part {
        return Err(format!("{text:?} was answered without a part: {part:?}").into());
    }
    let results = found.results.into_iter();
    Ok(results.map(|one| Scored { document: one.id, score: one.score.get() }).collect())
}

/// The same questions to both by turns: the time of each, and that of the second to the first.
fn by_turns(alone: &Engine, node: &Engine, questions: &[&str]) -> Outcome<String> {
    let (mut own, mut followed) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let Some(text) = questions.get(round % questions.len()) else { break };
        let query = query(text, 10, false)?;
        let ask = |engine: &Engine, times: &mut Vec<Duration>| -> Outcome {
            let began = Instant::now();
            engine.search(&query)?;
            times.push(began.elapsed());
            Ok(())
        };
        if round % 2 == 0 {
            ask(alone, &mut own)?;
            ask(node, &mut followed)?;
        } else {
            ask(node, &mut followed)?;
            ask(alone, &mut own)?;
        }
    }
    let sum = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64();
    let ratio = sum(&followed) / sum(&own);
    let (own, followed) = (percentiles(&mut own), percentiles(&mut followed));
    Ok(format!("an index of its own {own}; a node {followed}; {ratio:.3} times"))
}

fn percentiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| {
        let place = times.len().saturating_sub(1) * percent / 100;
        times.get(place).map_or(0.0, |time| time.as_secs_f64() * 1e3)
    };
    format!("p50 {:.2} ms, p99 {:.2} ms", at(50), at(99))
}
