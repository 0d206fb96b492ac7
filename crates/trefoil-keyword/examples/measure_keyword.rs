//! nDCG@10 and time of the keyword retriever on collections in BEIR layout, one document a
//! passage.
//!
//! ```text
//! cargo run --release -p trefoil-keyword --example measure_keyword -- DATA/scifact DATA/jsquad-ja
//! ```

#![expect(clippy::print_stdout, reason = "a program that prints what it measured")]

use std::{collections::HashMap, error::Error, fs, path::Path, sync::Arc, time::Instant};

use serde_json::Value;
use trefoil_core::{
    Allowed, ByteSpan, Chunk, ChunkId, ChunkLevel, Extraction, FileId, FileInfo, IndexEntry,
    IndexedUnit, Indexer, LineSpan, Metadata, Question, Retriever, RowId, Seq, StoredChunk,
};
use trefoil_keyword::{KeywordConfig, KeywordIndexer};
use trefoil_text::{ScriptAnalyzer, language_of};

fn main() -> Result<(), Box<dyn Error>> {
    println!(
        "{:<14}{:>9}{:>10}{:>12}{:>10}{:>10}",
        "collection", "passages", "index s", "index KiB", "query ms", "nDCG@10"
    );
    for folder in std::env::args().skip(1) {
        measure(Path::new(&folder))?;
    }
    Ok(())
}

fn measure(folder: &Path) -> Result<(), Box<dyn Error>> {
    let documents = read_lines(&folder.join("corpus.jsonl"))?;
    let queries = read_lines(&folder.join("queries.jsonl"))?;
    let judgements = read_judgements(&folder.join("qrels/test.tsv"))?;
    let entries = (0..)
        .zip(&documents)
        .map(|(row, document)| entry(row, document))
        .collect::<Result<Vec<_>, _>>()?;

    let dir = tempfile::tempdir()?;
    let mut indexer = KeywordIndexer::open(
        dir.path(),
        Arc::new(ScriptAnalyzer::new()),
        &KeywordConfig::default(),
    )?;
    let started = Instant::now();
    for batch in entries.chunks(500) {
        indexer.add(batch)?;
    }
    indexer.commit(Seq::new(1))?;
    let indexing = started.elapsed().as_secs_f64();

    let retriever = indexer.retriever()?;
    let (mut searching, mut sum, mut judged) = (0.0, 0.0, 0.0);
    for query in &queries {
        let Some(gains) = judgements.get(text(query, "_id")) else { continue };
        let rewrite = text(query, "text");
        let question = Question {
            text: rewrite.to_owned(),
            language: language_of(rewrite),
            ..Question::default()
        };
        let started = Instant::now();
        let list = retriever.retrieve(&question, 10, &Allowed::All)?;
        searching += started.elapsed().as_secs_f64();
        let found = list
            .hits()
            .iter()
            .filter_map(|hit| documents.get(usize::try_from(hit.row.get()).ok()?));
        let found = found.map(|document| gains.get(text(document, "_id")).copied().unwrap_or(0.0));
        let mut ideal: Vec<f64> = gains.values().copied().collect();
        ideal.sort_by(|a, b| b.total_cmp(a));
        sum += discounted(found) / discounted(ideal.into_iter());
        judged += 1.0;
    }
    let sizes = std::fs::read_dir(dir.path())?.map(|file| Ok(file?.metadata()?.len()));
    let size = sizes.sum::<std::io::Result<u64>>()?;
    println!(
        "{:<14}{:>9}{indexing:>10.1}{:>12}{:>10.2}{:>10.4}",
        folder.file_name().unwrap_or_default().display(),
        retriever.rows(),
        size / 1024,
        searching * 1e3 / judged,
        sum / judged,
    );
    Ok(())
}

/// Discounted cumulative gain of the first ten.
fn discounted(gains: impl Iterator<Item = f64>) -> f64 {
    gains.take(10).zip(2_u32..).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
}

fn read_lines(file: &Path) -> Result<Vec<Value>, Box<dyn Error>> {
    Ok(fs::read_to_string(file)?.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// The gain of each relevant document, by query.
fn read_judgements(file: &Path) -> Result<HashMap<String, HashMap<String, f64>>, Box<dyn Error>> {
    let mut judgements: HashMap<String, HashMap<String, f64>> = HashMap::new();
    for line in fs::read_to_string(file)?.lines().skip(1) {
        let mut columns = line.split('\t');
        let (Some(query), Some(document), Some(gain)) =
            (columns.next(), columns.next(), columns.next())
        else {
            continue;
        };
        let gain: f64 = gain.trim().parse()?;
        if gain > 0.0 {
            judgements.entry(query.to_owned()).or_default().insert(document.to_owned(), gain);
        }
    }
    Ok(judgements)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn entry(row: u64, document: &Value) -> Result<IndexEntry, trefoil_core::Error> {
    let body = text(document, "text");
    let file = FileInfo {
        id: FileId::new(format!("fil_{row}"))?,
        path: text(document, "_id").to_owned(),
        title: text(document, "title").to_owned(),
        tags: Vec::new(),
        date: None,
        metadata: Metadata::default(),
    };
    let chunk = Chunk {
        level: ChunkLevel::Leaf,
        ordinal: 0,
        heading_path: Vec::new(),
        text: body.to_owned(),
        bytes: ByteSpan { start: 0, end: body.len() },
        lines: LineSpan { start: 1, end: 1 },
        language: language_of(body),
    };
    let chunk = StoredChunk {
        row: RowId::new(row),
        id: ChunkId::new(format!("chk_{row}"))?,
        file: Arc::new(file),
        chunk,
    };
    Ok(IndexEntry {
        unit: IndexedUnit::Chunk(Arc::new(chunk)),
        vector: Vec::new(),
        extraction: Extraction::default(),
    })
}
