//! Writes `docs/BENCHMARKS.md` from what criterion and the benchmarks left in the build
//! folder. Run by `just bench`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use benches::{Outcome, folder, target};
use serde::{Deserialize, de::DeserializeOwned};

const HEAD: &str = "\
# Benchmarks

```sh
TREFOIL_DATA=DATA just bench
```

measures and writes this page: `cargo bench -p benches`, then `cargo run --release -p benches \
--bin table`. The default model has to be there; without `TREFOIL_DATA`, DATA/ann-glove100 is left \
out. The first run also builds the indexes, which later ones use again; the graphs of 100,000 \
vectors take most of that.

Texts and vectors are the fixtures and what is grown from them: above the fixtures' own chunks \
come documents of a Markov chain over their characters, which have their words but none of their \
sentences, and vectors `a + b − c` of three of the default model's, scaled to length 1.

Time is the median of one call. Ratio is to the row that the text of its table names, at the same \
size; growth is to the smallest size of the same row. Both are of one run, and tell more than \
times do on another machine.
";

/// From here on the page is written by hand: what other programs print.
const KEPT: &str = "\n## next to writes, and many at once\n";

/// What the table of growth says.
const GROWTH: &str = "\
`just bench-growth DATA` measures each operation in a process of its own: CPU seconds of all \
cores and peak memory, by chunks in the index. The documents are those of DATA, mixed; beyond \
what is there, documents whose sentences come from two real ones in turn, so that entities and \
relations stay real. Vectors were embedded before and are looked up; a question is timed after a \
round that warms caches, without its embedding, without reranking.";

/// One table.
struct Section {
    /// The name of criterion's group.
    group: &'static str,
    what: &'static str,
    /// The name of the row that others of the same size are compared with.
    baseline: &'static str,
}

const SECTIONS: [Section; 15] = [
    Section {
        group: "analyser",
        what: "Text of the fixtures to terms, by language. What is analysed twice finds its stems \
            kept, so a short text costs less of a byte than a long one.",
        baseline: "en",
    },
    Section {
        group: "keyword",
        what: "A question of the fixtures asked of the keyword retriever, by language. Recall is the \
            share of questions that a document among the first ten results answers.",
        baseline: "en",
    },
    Section {
        group: "graph",
        what: "The same asked of the graph alone, which walks from what the question names.",
        baseline: "en",
    },
    Section {
        group: "vector e5",
        what: "The ten nearest of vectors of 384 dimensions; the questions of the fixtures are \
            searched for. `exact` compares all of them, `lists` goes through inverted lists, `hnsw` walks a graph, `default` chooses. \
            Recall is against a comparison in `f32`.",
        baseline: "exact",
    },
    Section {
        group: "vector e5 filtered",
        what: "The same where a filter allows a share of the vectors.",
        baseline: "exact",
    },
    Section {
        group: "vector glove",
        what: "The same on DATA/ann-glove100: words, 100 dimensions.",
        baseline: "exact",
    },
    Section {
        group: "vector glove filtered",
        what: "The same where a filter allows a share of the vectors.",
        baseline: "exact",
    },
    Section {
        group: "fusion",
        what: "Two lists of so many hits, every third of them in both.",
        baseline: "rrf",
    },
    Section {
        group: "query",
        what: "A question to its results, its embedding cached, without reranking; reading and \
            highlighting the ten results has a part in it that does not grow. Recall is as \
            for the keyword retriever, over all questions of the fixtures, some of which are in \
            another language than their answer.",
        baseline: "keyword",
    },
    Section {
        group: "rerank en",
        what: "A question to its results, its embedding cached, with the first passages \
            reranked and no limit of time: fifty by the cross-encoder, ten by the token \
            vectors of the embedder. Recall is of one question in four.",
        baseline: "none",
    },
    Section {
        group: "rerank ja",
        what: "The same in Japanese, which the cross-encoder does not read.",
        baseline: "none",
    },
    Section { group: "rerank ko", what: "The same in Korean.", baseline: "none" },
    Section {
        group: "ingest with the model",
        what: "100 chunks of the fixtures, embedded by the model alone and through the engine.",
        baseline: "model alone",
    },
    Section {
        group: "ingest without the model",
        what: "Documents of one chunk to an index that answers: without vectors, and with \
            stored ones.",
        baseline: "keyword only",
    },
    Section {
        group: "open",
        what: "A complete index; the model loads later, at the first question.",
        baseline: "read only",
    },
];

/// One measured function at one size.
struct Row {
    name: String,
    size: String,
    nanoseconds: f64,
    work: Option<Throughput>,
    recall: Option<f64>,
}

#[derive(Deserialize)]
struct Benchmark {
    function_id: String,
    value_str: String,
    throughput: Option<Throughput>,
}

#[derive(Clone, Copy, Deserialize)]
enum Throughput {
    Bytes(u64),
    Elements(u64),
}

impl Throughput {
    /// How much a second, if this much takes so long.
    fn rate(self, nanoseconds: f64) -> String {
        let (Self::Bytes(work) | Self::Elements(work)) = self;
        let a_second = work as f64 / nanoseconds * 1e9;
        match self {
            Self::Bytes(_) => three_digits(a_second, &[(1e6, " MB"), (1e3, " kB"), (1.0, " B")]),
            Self::Elements(_) => three_digits(a_second, &[(1e6, " M"), (1e3, " k"), (1.0, "")]),
        }
    }
}

#[derive(Deserialize)]
struct Estimates {
    median: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    point_estimate: f64,
}

fn main() -> Outcome {
    let mut page = format!("{HEAD}\nMachine: {}.\n", machine()?);
    for Section { group, what, baseline } in SECTIONS {
        let folder = target()?.join("criterion").join(group);
        if folder.is_dir() {
            let table = table(rows(&folder)?, baseline);
            write!(page, "\n## {group}\n\n{what} Ratios are to `{baseline}`.\n\n{table}")?;
        }
    }
    if let Ok(growth) = fs::read_to_string(folder()?.join("growth.md")) {
        write!(page, "\n## growth\n\n{GROWTH}\n\n{growth}")?;
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/BENCHMARKS.md");
    let before = fs::read_to_string(&path).unwrap_or_default();
    if let Some((_, kept)) = before.split_once(KEPT) {
        write!(page, "{KEPT}{kept}")?;
    }
    fs::write(path, page)?;
    Ok(())
}

/// What criterion keeps as `group/name/size/new`, by name and size.
fn rows(group: &Path) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for name in folders(group)? {
        for size in folders(&name)? {
            if !size.join("new").is_dir() {
                continue; // Only its recall was measured: the run was filtered by name.
            }
            let benchmark: Benchmark = read(&size.join("new/benchmark.json"))?;
            let estimates: Estimates = read(&size.join("new/estimates.json"))?;
            let recall = size.join("recall.json");
            rows.push(Row {
                name: benchmark.function_id,
                size: benchmark.value_str,
                nanoseconds: estimates.median.point_estimate,
                work: benchmark.throughput,
                recall: if recall.exists() { Some(read(&recall)?) } else { None },
            });
        }
    }
    Ok(rows)
}

/// The rows by name and size, those of the baseline first.
fn table(mut rows: Vec<Row>, baseline: &str) -> String {
    rows.sort_by_cached_key(|row| (row.name != baseline, natural(&row.name), natural(&row.size)));
    let mut lines = vec![
        "| name | size | time | ratio | growth | a second | recall@10 |\n".to_owned(),
        "|---|--:|--:|--:|--:|--:|--:|\n".to_owned(),
    ];
    for row in &rows {
        let Row { name, size, nanoseconds, work, recall } = row;
        let over = |base: &Row| format!("{:.2}", nanoseconds / base.nanoseconds);
        let same_size = rows.iter().find(|base| base.name == baseline && base.size == *size);
        let smallest = rows.iter().find(|base| base.name == *name);
        let cells = [
            same_size.map(over),
            smallest.map(over),
            work.map(|work| work.rate(*nanoseconds)),
            recall.map(|recall| format!("{recall:.3}")),
        ];
        let cells = cells.map(|cell| cell.unwrap_or("–".to_owned())).join(" | ");
        lines.push(format!("| {name} | {size} | {} | {cells} |\n", time(*nanoseconds)));
    }
    lines.concat()
}

/// Words, the numbers among them flush right, so that they order by value: `1k` before `10k`.
fn natural(text: &str) -> Vec<String> {
    let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
    let aligned =
        |word: &str| if is_number(word) { format!("{word:>16}") } else { word.to_owned() };
    text.split(' ').map(aligned).collect()
}

fn time(nanoseconds: f64) -> String {
    three_digits(nanoseconds, &[(1e9, " s"), (1e6, " ms"), (1e3, " µs"), (1.0, " ns")])
}

/// In the largest unit, the last if none, that the amount reaches.
fn three_digits(amount: f64, units: &[(f64, &str)]) -> String {
    let reached = units.iter().find(|(size, _)| amount >= *size).or(units.last());
    let &(size, unit) = reached.unwrap_or(&(1.0, ""));
    let amount = amount / size;
    let digits = usize::from(amount < 99.95) + usize::from(amount < 9.995);
    format!("{amount:.digits$}{unit}")
}

/// In words: cores, processor family and what it has beyond that.
fn machine() -> Outcome<String> {
    let cores = std::thread::available_parallelism()?;
    Ok(format!("{cores} cores, {}{}", std::env::consts::ARCH, extensions()))
}

#[cfg(target_arch = "x86_64")]
fn extensions() -> String {
    let known = [
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("AVX-512", is_x86_feature_detected!("avx512f")),
        ("VNNI", is_x86_feature_detected!("avx512vnni") || is_x86_feature_detected!("avxvnni")),
    ];
    let words =
        known.map(|(name, present)| format!(", {}{name}", if present { "" } else { "no " }));
    words.concat()
}

#[cfg(not(target_arch = "x86_64"))]
fn extensions() -> String {
    String::new()
}

fn folders(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let folders: Vec<PathBuf> = entries.collect::<std::io::Result<_>>()?;
    Ok(folders.into_iter().filter(|path| path.is_dir()).collect())
}

fn read<T: DeserializeOwned>(path: &Path) -> Outcome<T> {
    let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(serde_json::from_slice(&bytes)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanoseconds, expected) in [
            (0.5, "0.50 ns"),
            (9.999, "10.0 ns"),
            (12.34, "12.3 ns"),
            (1_234.0, "1.23 µs"),
            (123_456_789.0, "123 ms"),
            (61e9, "61.0 s"),
        ] {
            assert_eq!(time(nanoseconds), expected);
        }
    }

    #[test]
    fn rows_are_ordered_by_number_and_compared_with_their_baseline() {
        let row = |name: &str, size: &str, nanoseconds| Row {
            name: name.to_owned(),
            size: size.to_owned(),
            nanoseconds,
            work: None,
            recall: (name == "hnsw ef 8").then_some(0.5),
        };
        let mut names = ["hnsw ef 128", "default", "hnsw ef 32", "100k", "1k", "10k"];
        names.sort_by_cached_key(|name| natural(name));
        assert_eq!(names, ["1k", "10k", "100k", "default", "hnsw ef 32", "hnsw ef 128"]);

        let rows =
            vec![row("exact", "1k", 4.0), row("hnsw ef 8", "10k", 4.0), row("exact", "10k", 40.0)];
        let table = table(rows, "exact");
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| exact | 1k | 4.00 ns | 1.00 | 1.00 | – | – |",
                "| exact | 10k | 40.0 ns | 1.00 | 10.00 | – | – |",
                "| hnsw ef 8 | 10k | 4.00 ns | 0.10 | 1.00 | – | 0.500 |",
            ]
        );
    }
}
