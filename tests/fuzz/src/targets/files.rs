//! Files of the indexes. Checksums would stop the fuzzer at the door: each file is given
//! the right ones, as a writer with a fault would.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use trefoil::index::{Allowed, Indexer, RowId, Seq, merge_all};
use trefoil_graph::{GraphConfig, GraphRetriever};
use trefoil_semantic::{VectorConfig, VectorIndex, VectorIndexer};

const DIMENSIONS: usize = 4;
const BLOCK: usize = 64 * 1024;
const SEGMENT: &str = "00000000.vectors";
const GRAPH: &str = "00000000.graph";

/// A segment, or by the first byte its graph: the header's two numbers, then the payload.
pub(crate) fn vectors(bytes: &[u8]) {
    let Some((&kind, rest)) = bytes.split_first() else { return };
    let Some((numbers, payload)) = rest.split_first_chunk::<16>() else { return };
    let whole = &*INDEX;
    let (file, other) = if kind.is_multiple_of(2) { (SEGMENT, GRAPH) } else { (GRAPH, SEGMENT) };
    let whole_file = fs::read(whole.join(file)).unwrap();
    let magic = whole_file.first_chunk::<8>().unwrap();
    let (sealed, seal) = seal(*magic, *numbers, payload);
    let dir = super::folder().join("vectors");
    fs::create_dir_all(&dir).unwrap();
    replace(&dir, file, &sealed);
    replace(&dir, other, &fs::read(whole.join(other)).unwrap());
    let text = fs::read_to_string(whole.join("MANIFEST")).unwrap();
    let mut manifest: serde_json::Value =
        serde_json::from_str(text.split_once('\n').unwrap().1).unwrap();
    let entry = &mut manifest["segments"][0];
    if kind.is_multiple_of(2) {
        entry["seal"] = seal.into();
        // The counts agree, or the file is refused at once.
        entry["count"] = u64::from_le_bytes(*numbers[8..].first_chunk().unwrap()).into();
    } else {
        entry["graph"] = seal.into();
    }
    write_manifest(&dir, "trefoil-vectors 0001", &manifest);
    search(&dir);
}

/// The JSON of a manifest.
pub(crate) fn manifest(bytes: &[u8]) {
    let dir = super::folder().join("manifest");
    if !dir.exists() {
        fs::create_dir_all(&dir).unwrap();
        for file in [SEGMENT, GRAPH] {
            replace(&dir, file, &fs::read(INDEX.join(file)).unwrap());
        }
    }
    let commits = serde_json::from_slice::<serde_json::Value>(bytes)
        .ok()
        .and_then(|json| json["commits"].as_u64())
        .unwrap_or(0);
    let line = header("trefoil-vectors 0001", commits, bytes);
    replace(&dir, "MANIFEST", &[line.as_bytes(), bytes].concat());
    search(&dir);
}

/// What chunks mention: the payload of a segment of the graph's index.
pub(crate) fn evidence(bytes: &[u8]) {
    let Some(numbers) = bytes.first_chunk::<16>() else { return };
    let (sealed, seal) = seal(*b"TREFMEN\0", *numbers, bytes);
    let dir = super::folder().join("graph");
    fs::create_dir_all(&dir).unwrap();
    replace(&dir, "00000000.mentions", &sealed);
    let chunks = u64::from_le_bytes(*numbers.first_chunk().unwrap());
    let manifest = serde_json::json!({
        "seq": 7, "commits": 1, "changes": { "added": chunks, "removed": 0 }, "nextFile": 1,
        "segments": [{ "file": 0, "seal": seal, "chunks": chunks, "deleted": [] }],
    });
    write_manifest(&dir, "trefoil-graph 0003", &manifest);
    let opened = GraphRetriever::open(&dir, &GraphConfig::default(), trefoil_text::normalize_name);
    let Ok(retriever) = opened else { return };
    let index = retriever.near().unwrap_or_else(|_| retriever.index());
    for node in 0..index.entity_count() {
        index.entity(node);
        index.degrees(node, &Allowed::All);
        for row in index.chunks_of(node).take(2).collect::<Vec<_>>() {
            index.links(row, &Allowed::All);
            index.entities_of(row).count();
        }
    }
    index.link("ada babbage met charles in 서울");
    let _ = index.check();
}

/// An index of a few vectors and their graph.
static INDEX: LazyLock<PathBuf> = LazyLock::new(|| {
    let dir = super::folder().join("whole");
    let mut indexer = VectorIndexer::open(&dir, "space", DIMENSIONS, &config()).unwrap();
    let vector =
        |row: u64| (0..4).map(|n| ((row * 7 + n * 3) % 11) as f32 - 4.5).collect::<Vec<f32>>();
    let vectors: Vec<_> = (1..=12).map(|row| (RowId::new(row), vector(row))).collect();
    indexer.put(vectors.iter().map(|(row, vector)| (*row, vector.as_slice()))).unwrap();
    indexer.commit(Seq::new(1)).unwrap();
    merge_all(&mut indexer, &|| false).unwrap();
    dir
});

/// So low a limit that a dozen vectors get a graph, and it is walked.
fn config() -> VectorConfig {
    VectorConfig { exact_limit: 1, graph_limit: 1, ef_search: 1, ef_construction: 8, m: 2 }
}

fn search(dir: &Path) {
    let Ok(index) = VectorIndex::open(dir, "space", DIMENSIONS, &config()) else { return };
    let _ = index.verify();
    let _ = index.search(&[1.0, 0.5, -0.5, 0.0], 2, &Allowed::All);
    let _ = index.recall(4, 2);
}

/// A sealed file as the format page describes it, with its seal.
fn seal(magic: [u8; 8], numbers: [u8; 16], payload: &[u8]) -> (Vec<u8>, u32) {
    let table: Vec<u8> =
        payload.chunks(BLOCK).flat_map(|block| crc32fast::hash(block).to_le_bytes()).collect();
    let mut file = magic.to_vec();
    file.extend(1_u32.to_le_bytes());
    file.extend(crc32fast::hash(&table).to_le_bytes());
    file.extend((payload.len() as u64).to_le_bytes());
    file.extend(numbers);
    file.resize(60, 0);
    let seal = crc32fast::hash(&file);
    file.extend(seal.to_le_bytes());
    file.extend(payload);
    file.extend(table);
    (file, seal)
}

fn write_manifest(dir: &Path, format: &str, manifest: &serde_json::Value) {
    let json = serde_json::to_vec(manifest).unwrap();
    let line = header(format, manifest["commits"].as_u64().unwrap(), &json);
    replace(dir, "MANIFEST", &[line.as_bytes(), &json].concat());
}

fn header(format: &str, commits: u64, json: &[u8]) -> String {
    format!("{format} {commits:016x} {:08x}\n", crc32fast::hash(json))
}

/// A file under a new inode: the old one may still be mapped.
fn replace(dir: &Path, name: &str, bytes: &[u8]) {
    let _ = fs::remove_file(dir.join(name));
    fs::write(dir.join(name), bytes).unwrap();
}
