//! Times of an index of 10,000 chunks: `index [CHUNKS] [MENTIONS]`.
//!
//! Each chunk mentions so many (12 by default) of as many entities as there are chunks, a few
//! of them very often (by 1 / rank), and relates each to the next two.

#![expect(clippy::print_stdout, reason = "an example reports to a person")]

use std::{sync::Arc, time::Instant};

use trefoil_core::{
    Allowed, ByteSpan, Chunk, ChunkId, ChunkLevel, EntityType, Extraction, FileId, FileInfo,
    IndexEntry, IndexedUnit, Indexer, Language, LineSpan, Mention, MentionKind, Metadata, Question,
    Relation, RelationType, Result, Retriever, RowId, Score, Seq, StoredChunk,
};
use trefoil_graph::{GraphConfig, GraphIndexer, GraphRetriever, HierarchyConfig};

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let chunks: u64 = arguments.next().map_or(Ok(10_000), |argument| argument.parse())?;
    let mentions: usize = arguments.next().map_or(Ok(12), |argument| argument.parse())?;
    let dir = std::env::temp_dir().join(format!("trefoil-graph-{}", std::process::id()));
    let mut random = Random(1);
    let entries: Vec<IndexEntry> =
        (0..chunks).map(|row| entry(row, mentions, chunks, &mut random)).collect::<Result<_>>()?;

    let mut indexer = GraphIndexer::open(&dir)?;
    timed("add all", || indexer.add(&entries))?;
    timed("commit", || indexer.commit(Seq::new(1)))?;
    timed("add one and commit", || {
        indexer.add(entries.get(..1).unwrap_or_default())?;
        indexer.commit(Seq::new(2))
    })?;
    timed("open to write", || GraphIndexer::open(&dir))?;
    let open = || GraphRetriever::open(&dir, &GraphConfig::default(), str::to_lowercase);
    timed("open to read", open)?;
    let retriever = timed("open to read again", open)?;
    let index = retriever.index();
    let related = index.related();
    println!(
        "{} chunks, {} entities, {} relations",
        index.chunk_count(),
        index.entity_count(),
        related.edge_count()
    );
    let mut times = Vec::new();
    for _ in 0..100 {
        let [a, b] = [random.rank(chunks), random.rank(chunks)];
        let text = format!("how does name{a} bear on name{b} of today");
        let question = Question { text, language: Language::En, ..Question::default() };
        let start = Instant::now();
        retriever.retrieve(&question, 100, &Allowed::All)?;
        times.push(start.elapsed());
    }
    report("retrieve", times);
    let rows = (0..100).map(|n| RowId::new(n * chunks / 100));
    let times = rows.map(|row| {
        let start = Instant::now();
        index.links(row, &Allowed::All);
        start.elapsed()
    });
    report("links", times.collect());
    let found = timed("communities", || index.communities(&HierarchyConfig::default()))?;
    println!("{} communities", found.communities().len());
    std::fs::remove_dir_all(&dir)?;
    Ok(())
}

fn timed<T>(what: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let start = Instant::now();
    let value = work()?;
    println!("{what}: {:.1?}", start.elapsed());
    Ok(value)
}

fn report(what: &str, mut times: Vec<std::time::Duration>) {
    times.sort_unstable();
    let of = |share: usize| times.get(times.len() * share / 100).copied().unwrap_or_default();
    println!("{what}: median {:.2?}, 95th percentile {:.2?}", of(50), of(95));
}

fn entry(row: u64, mentions: usize, entities: u64, random: &mut Random) -> Result<IndexEntry> {
    let mentions = (0..mentions).map(|_| {
        let rank = random.rank(entities);
        Mention {
            name: format!("Name{rank}"),
            normalized_name: format!("name{rank}"),
            aliases: Vec::new(),
            entity_type: EntityType::NAME,
            kind: MentionKind::ProperNoun,
            confidence: Score::clamped(0.7),
            spans: Vec::new(),
            target: None,
        }
    });
    let mentions: Vec<Mention> = mentions.collect();
    let pairs = [1, 2].into_iter().flat_map(|step| mentions.iter().zip(mentions.iter().skip(step)));
    let relations = pairs.map(|(a, b)| Relation {
        source: a.normalized_name.clone(),
        target: b.normalized_name.clone(),
        relation_type: RelationType::CO_OCCURS,
        evidence: vec![ByteSpan { start: 0, end: 1 }],
    });
    let relations = relations.collect();
    let file = FileInfo {
        id: FileId::new("fil_1")?,
        path: "a".to_owned(),
        title: String::new(),
        tags: Vec::new(),
        date: None,
        metadata: Metadata::default(),
    };
    let chunk = Chunk {
        level: ChunkLevel::Leaf,
        ordinal: 0,
        heading_path: Vec::new(),
        text: String::new(),
        bytes: ByteSpan { start: 0, end: 1 },
        lines: LineSpan { start: 1, end: 1 },
        language: Language::En,
    };
    let id = ChunkId::new(format!("chk_{row}"))?;
    let chunk = StoredChunk { row: RowId::new(row), id, file: Arc::new(file), chunk };
    let extraction = Extraction::new(mentions).with_relations(relations);
    Ok(IndexEntry { unit: IndexedUnit::Chunk(Arc::new(chunk)), vector: Vec::new(), extraction })
}

/// A linear congruential generator with the constants of Knuth's MMIX.
struct Random(u64);

impl Random {
    /// A number below `end`, n with a chance of about 1 / (n + 1).
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below end")]
    fn rank(&mut self, end: u64) -> u64 {
        let Self(state) = self;
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let unit = (*state >> 11) as f64 / (1_u64 << 53) as f64;
        ((end as f64).powf(unit) as u64).min(end) - 1
    }
}
