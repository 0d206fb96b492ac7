//! What the long campaigns share: how long they are, and documents of which every part
//! can be told from every other.

use std::{
    collections::BTreeMap,
    ops::Range,
    process::{Command, Stdio},
};

use trefoil::{
    Document, Engine, Result, RetrieverId, Score, SearchFilters, SearchOptions, SearchQuery,
    search::RankedList,
};

/// Lines of a document; they make two or three chunks.
const LINES: u32 = 40;

/// What an index should hold: of each document the version.
pub(crate) type Expected = BTreeMap<u32, u32>;

/// Numbers of the rounds or trials, which decide what is done in them: `TREFOIL_COUNT` of
/// them, or what `cargo test` can afford, from `TREFOIL_FIRST` on.
pub(crate) fn rounds(in_tests: u32) -> Range<u32> {
    let first = given("TREFOIL_FIRST").unwrap_or(0);
    first..first + given("TREFOIL_COUNT").unwrap_or(in_tests)
}

/// A number that the justfile gives to a campaign.
pub(crate) fn given(name: &str) -> Option<u32> {
    #[expect(clippy::disallowed_methods, reason = "how the justfile tells a test how long to be")]
    let given = std::env::var(name);
    given.ok().map(|number| number.parse().unwrap())
}

/// Says now and then how far a long campaign has come.
pub(crate) fn progress(campaign: &str, done: u32, rounds: &Range<u32>) {
    if (done + 1).is_multiple_of(50) {
        println!("{campaign}: {done} of {rounds:?}");
    }
}

/// The path of a document.
pub(crate) fn path(number: u32) -> String {
    format!("log/{number:04}")
}

/// A version of a document: each line has a word that stands nowhere else, and a name.
pub(crate) fn document(number: u32, version: u32) -> Document {
    let line = |n| {
        let (station, captain) = (number % 7, n % 5);
        let word = word(number, version, n);
        format!("Line {n}: Station Tern{station} met Captain Ellis{captain}, {word}.")
    };
    let body = (0..LINES).map(line).collect::<Vec<_>>().join("\n\n");
    Document::new(path(number), body).title(format!("Logbook of Tern{}", number % 7))
}

/// A word of one line of one version of one document.
pub(crate) fn word(number: u32, version: u32, line: u32) -> String {
    format!("walrus{number}v{version}x{line}")
}

/// The documents that the store holds, each whole and of one version, or a panic.
pub(crate) fn held(engine: &Engine) -> Expected {
    let mut held = Expected::new();
    for path in engine.paths().unwrap() {
        let number: u32 = path.strip_prefix("log/").unwrap().parse().unwrap();
        let chunks = engine.document_chunks(&path).unwrap();
        let version = chunks.first().unwrap().chunk.text.split(&format!("walrus{number}v")).nth(1);
        let version: u32 = version.unwrap().split('x').next().unwrap().parse().unwrap();
        let body = document(number, version).body;
        let mut end = 0;
        for chunk in &chunks {
            let bytes = chunk.chunk.bytes;
            assert_eq!(body.get(bytes.start..bytes.end), Some(chunk.chunk.text.as_str()), "{path}");
            let between = body.get(end.min(bytes.start)..bytes.start).unwrap();
            assert_eq!(between.trim(), "", "{path} is not whole");
            end = end.max(bytes.end);
        }
        assert_eq!(body.get(end..).unwrap().trim(), "", "{path} is not whole");
        held.insert(number, version);
    }
    held
}

/// The whole list of one retriever for `text`, nothing cut off.
pub(crate) fn list(engine: &Engine, text: &str, retriever: RetrieverId) -> Result<RankedList> {
    let strategies = vec![retriever.into()];
    let options = SearchOptions { limit: 100, strategies, ..SearchOptions::default() };
    let query = any_relevance(text).replace_options(options);
    let lists = engine.ranked_lists(&query)?;
    Ok(lists.into_iter().find(|list| list.retriever() == retriever).unwrap())
}

/// A question with every answer, however weak.
pub(crate) fn any_relevance(text: &str) -> SearchQuery {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    SearchQuery::new(text).unwrap().replace_filters(filters)
}

/// Rows that a retriever can find.
pub(crate) fn rows(engine: &Engine, retriever: RetrieverId) -> u64 {
    let rows = engine.stats().unwrap().rows;
    rows.into_iter().find(|(one, _)| *one == retriever).unwrap().1
}

/// One test of this program in a process of its own, whose output is read.
pub(crate) fn process_of(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--nocapture", "--test-threads=1"]).stdout(Stdio::piped());
    command
}
