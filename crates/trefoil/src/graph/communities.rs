//! The graph to communities, and communities to reports: names, keywords and summaries, kept
//! as long as what they are made from stays.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use trefoil_core::{
    ChunkId, CommunityId, EntityId, Language, Result, RowId, StoredChunk, Summarizer, Summary,
    SummaryPassage, SummaryRequest, map_in_parallel,
};
use trefoil_graph::{Community, GraphIndex, Hierarchy, HierarchyConfig, Node, community_name};
use trefoil_store::{CommunityRow, ReportSource, Store, community_id, entity_id};

use crate::digest::sha256;

/// Most characters of a summary.
const SUMMARY_CHARS: usize = 2_000;
/// Most keywords of a community.
const KEYWORDS: usize = 10;
/// Most chunks that a summary is made from.
const EVIDENCE: usize = 64;
/// Most names of members that a summariser is told.
const NAMES: usize = 50;

/// What an update did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommunityUpdate {
    /// Reports that were made.
    pub(crate) made: usize,
    /// Reports that stayed as they were.
    pub(crate) kept: usize,
}

/// Finds the communities of the graph again where it changed, and makes the reports of those
/// whose evidence did.
///
/// # Errors
/// Those of the store and of the summariser; then nothing was stored.
pub(crate) fn update_communities(
    store: &Store,
    graph: &GraphIndex,
    summarizer: &dyn Summarizer,
    config: &HierarchyConfig,
) -> Result<CommunityUpdate> {
    let stored = store.communities()?;
    let entities = Entities::of(graph)?;
    let hierarchy = entities.hierarchy(graph, &stored, config)?;
    let found = hierarchy.communities();
    let drafts: Vec<Draft> = map_in_parallel(found, |one| Draft::of(graph, one));
    let rows: BTreeSet<RowId> = drafts.iter().flat_map(Draft::rows).collect();
    let rows: Vec<RowId> = rows.into_iter().collect();
    let chunks: BTreeMap<RowId, ChunkId> = store.chunk_ids(&rows)?.into_iter().collect();
    let known: BTreeMap<&str, &CommunityRow> =
        stored.iter().map(|one| (one.content_hash.as_str(), one)).collect();
    let mut ids: Vec<CommunityId> = Vec::with_capacity(found.len());
    for community in found {
        ids.push(community_id(community.level, &entities.members(community).ids)?);
    }
    let fingerprint = summarizer.fingerprint();
    let report = |((community, draft), id): &((&Community, Draft), &CommunityId)| {
        let Members { ids: members, ties, chunks: mentions } = entities.members(community);
        let evidence = draft.evidence(&chunks);
        let names = draft.names(graph);
        let content_hash = hash(id, &fingerprint, &names, &evidence);
        let name = draft.name(&names);
        let known = known.get(content_hash.as_str());
        let (summary, sources) = match known {
            Some(known) => (known.summary.clone(), known.sources.clone()),
            None => summarize(store, summarizer, &name, &names, &evidence)?,
        };
        let row = CommunityRow {
            id: CommunityId::clone(id),
            level: community.level,
            parent: community.parent.and_then(|place| ids.get(place)).cloned(),
            name,
            members,
            ties,
            chunks: mentions,
            internal_edges: community.edges.internal_edges,
            external_edges: community.edges.external_edges,
            modularity: community.edges.modularity(config.leiden.resolution),
            summary,
            sources,
            keywords: keywords(graph, &draft.ranked),
            content_hash,
        };
        Ok((row, known.is_some()))
    };
    let drafts: Vec<_> = found.iter().zip(drafts).zip(&ids).collect();
    let reports: Result<Vec<(CommunityRow, bool)>> = map_in_parallel(&drafts, report);
    let reports = reports?;
    let kept = reports.iter().filter(|(_, kept)| *kept).count();
    let rows: Vec<CommunityRow> = reports.into_iter().map(|(row, _)| row).collect();
    store.put_communities(&rows)?;
    Ok(CommunityUpdate { made: rows.len() - kept, kept })
}

/// The entities of a graph by their public ids.
struct Entities {
    ids: Vec<EntityId>,
    ties: Vec<u64>,
    /// How many chunks mention each.
    chunks: Vec<u32>,
}

/// What is stored of the members of a community, by id.
#[derive(Default)]
struct Members {
    ids: Vec<EntityId>,
    ties: Vec<u64>,
    chunks: Vec<u32>,
}

impl Entities {
    fn of(graph: &GraphIndex) -> Result<Self> {
        let nodes = || graph.related().nodes();
        let each = nodes().filter_map(|node| graph.normalized_name(node));
        let ids = each.map(entity_id).collect::<Result<_>>()?;
        let count = |node| u32::try_from(graph.frozen_chunks_of(node).len()).unwrap_or(u32::MAX);
        Ok(Self { ids, ties: graph.ties(), chunks: nodes().map(count).collect() })
    }

    /// The communities of the graph; from those that are stored where there are any.
    fn hierarchy(
        &self,
        graph: &GraphIndex,
        stored: &[CommunityRow],
        config: &HierarchyConfig,
    ) -> Result<Hierarchy> {
        if stored.is_empty() {
            return graph.communities(config);
        }
        let nodes: BTreeMap<&EntityId, Node> = self.ids.iter().zip(0..).collect();
        let mut former: Vec<Option<u64>> = vec![None; self.ids.len()];
        let places: BTreeMap<&CommunityId, usize> =
            stored.iter().zip(0..).map(|(one, place)| (&one.id, place)).collect();
        let restored = stored.iter().map(|one| {
            let parent = one.parent.as_ref().and_then(|id| places.get(id)).copied();
            let known = one.members.iter().zip(&one.ties);
            let known = known.filter_map(|(id, &ties)| Some((*nodes.get(id)?, ties)));
            let mut members = Vec::with_capacity(one.members.len());
            for (node, ties) in known {
                members.push(node);
                if let Some(former) = former.get_mut(node as usize).filter(|_| one.level == 0) {
                    *former = Some(ties);
                }
            }
            (one.level, parent, members)
        });
        let before = Hierarchy::restore(restored.collect::<Vec<_>>());
        let changed = (0..).zip(self.ties.iter().zip(&former));
        // One that was in no community was related to nothing.
        let changed = changed.filter(|(_, (ties, former))| **ties != former.unwrap_or(0));
        let changed: Vec<Node> = changed.map(|(node, _)| node).collect();
        graph.communities_since(&before, &changed, config)
    }

    /// The members of a community, by id.
    fn members(&self, community: &Community) -> Members {
        let of = |&node: &Node| {
            let node = node as usize;
            Some((self.ids.get(node)?, *self.ties.get(node)?, *self.chunks.get(node)?))
        };
        let mut all: Vec<(&EntityId, u64, u32)> = community.members.iter().filter_map(of).collect();
        all.sort();
        let mut members = Members::default();
        for (id, ties, chunks) in all {
            members.ids.push(id.clone());
            members.ties.push(ties);
            members.chunks.push(chunks);
        }
        members
    }
}

/// What is said of a community, before it is read.
struct Draft {
    /// The members, the most important first.
    ranked: Vec<Node>,
    /// The chunks that say most of them, with how much.
    said: Vec<(RowId, f64)>,
}

impl Draft {
    fn of(graph: &GraphIndex, community: &Community) -> Self {
        Self { ranked: ranked(graph, &community.members), said: said(graph, &community.members) }
    }

    /// The names of the first members, as many as anybody is told.
    fn names<'g>(&self, graph: &'g GraphIndex) -> Vec<&'g str> {
        let first = self.ranked.iter().take(NAMES).filter_map(|&node| graph.entity(node));
        first.map(|entity| entity.name).collect()
    }

    /// The name of the community.
    fn name(&self, names: &[&str]) -> String {
        // Of the others only their number is told.
        let others = self.ranked.len().saturating_sub(names.len());
        let all: Vec<&str> = names.iter().copied().chain((0..others).map(|_| "")).collect();
        community_name(&all)
    }

    fn rows(&self) -> impl Iterator<Item = RowId> + '_ {
        self.said.iter().map(|&(row, _)| row)
    }

    /// The chunks that the summary is made from, the most telling first; of equals the
    /// first by id, which is the same however the chunks came.
    fn evidence(&self, chunks: &BTreeMap<RowId, ChunkId>) -> Vec<(RowId, ChunkId)> {
        let known = self
            .said
            .iter()
            .filter_map(|&(row, weight)| chunks.get(&row).map(|id| (row, weight, id)));
        let mut known: Vec<(RowId, f64, &ChunkId)> = known.collect();
        known.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.2.cmp(b.2)));
        known.into_iter().take(EVIDENCE).map(|(row, _, id)| (row, id.clone())).collect()
    }
}

/// Members, the most important first: by how many others of the community each is related to
/// and how strongly, the more the fewer chunks beyond it mention it.
fn ranked(graph: &GraphIndex, members: &[Node]) -> Vec<Node> {
    let weight = |node: Node| {
        let inside = graph.related().edges(node);
        let inside = inside.filter(|(other, _)| members.binary_search(other).is_ok());
        let inside: f64 = inside.map(|(_, weight)| f64::from(weight)).sum();
        let chunks = graph.frozen_chunks_of(node).len();
        inside * (chunks as f64).ln_1p()
    };
    let mut ranked: Vec<(Node, f64)> = members.iter().map(|&node| (node, weight(node))).collect();
    // The sort is stable, and the members are in the order of the alphabet.
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.into_iter().map(|(node, _)| node).collect()
}

/// The chunks that mention members, and how much each says of them: Σ 1 ÷ (1 + ln df) over
/// those that it mentions, df chunks mentioning one. At least [`EVIDENCE`] if there are so
/// many, and all that are as good as the last.
fn said(graph: &GraphIndex, members: &[Node]) -> Vec<(RowId, f64)> {
    let mut said: BTreeMap<RowId, f64> = BTreeMap::new();
    for &node in members {
        let chunks = graph.frozen_chunks_of(node);
        let weight = 1.0 / (1.0 + (chunks.len().max(1) as f64).ln());
        for row in chunks {
            *said.entry(row).or_default() += weight;
        }
    }
    let mut said: Vec<(RowId, f64)> = said.into_iter().collect();
    said.sort_by(|a, b| b.1.total_cmp(&a.1));
    if let Some(&(_, last)) = said.get(EVIDENCE - 1) {
        said.retain(|&(_, weight)| weight >= last);
    }
    said
}

/// Names of the first members as keywords, each only once in any spelling, none that is part
/// of one before it.
fn keywords(graph: &GraphIndex, ranked: &[Node]) -> Vec<String> {
    let mut keywords: Vec<(&str, &str)> = Vec::new();
    for entity in ranked.iter().filter_map(|&node| graph.entity(node)) {
        let key = entity.normalized_name;
        if keywords.len() == KEYWORDS {
            break;
        }
        let is_new = |(_, other): &(&str, &str)| !other.contains(key) && !key.contains(other);
        if keywords.iter().all(is_new) {
            keywords.push((entity.name, key));
        }
    }
    keywords.into_iter().map(|(name, _)| name.to_owned()).collect()
}

/// The hash of everything that a summary is made from: level and members, by the community's
/// id, what the summariser is told of them, and the evidence, whose ids are hashes of its text.
fn hash(
    id: &CommunityId,
    fingerprint: &str,
    names: &[&str],
    evidence: &[(RowId, ChunkId)],
) -> String {
    let chunks = evidence.iter().map(|(_, chunk)| chunk.as_str());
    let parts = [id.as_str(), fingerprint].into_iter().chain(names.iter().copied()).chain(chunks);
    // The length before each keeps two lists apart that read the same when joined.
    let lengths: Vec<([u8; 8], &str)> =
        parts.map(|part| ((part.len() as u64).to_le_bytes(), part)).collect();
    let bytes: Vec<&[u8]> =
        lengths.iter().flat_map(|(length, part)| [length.as_slice(), part.as_bytes()]).collect();
    sha256(&bytes)
}

fn summarize(
    store: &Store,
    summarizer: &dyn Summarizer,
    name: &str,
    members: &[&str],
    evidence: &[(RowId, ChunkId)],
) -> Result<(String, Vec<ReportSource>)> {
    let rows: Vec<RowId> = evidence.iter().map(|&(row, _)| row).collect();
    let chunks = store.chunks(&rows)?;
    let passages = chunks.iter().map(|one| SummaryPassage {
        row: one.row,
        text: &one.chunk.text,
        language: one.chunk.language,
    });
    let request = SummaryRequest {
        name,
        members: members.to_vec(),
        language: language(&chunks),
        passages: passages.collect(),
        max_chars: SUMMARY_CHARS,
    };
    let Summary { text, sources } = summarizer.summarize(&request)?;
    let ids: BTreeMap<RowId, &ChunkId> = evidence.iter().map(|(row, id)| (*row, id)).collect();
    let sources = sources.iter().filter_map(|source| {
        let chunk = ids.get(&source.row)?;
        Some(ReportSource { chunk: (*chunk).clone(), span: source.span })
    });
    let text = text.chars().take(SUMMARY_CHARS).collect();
    Ok((text, sources.collect()))
}

/// The language that most of the chunks are in; of equals the first by name.
fn language(chunks: &[Arc<StoredChunk>]) -> Language {
    let mut counts: BTreeMap<Language, usize> = BTreeMap::new();
    for one in chunks {
        *counts.entry(one.chunk.language).or_default() += 1;
    }
    let most = counts.into_iter().min_by_key(|&(language, count)| (Reverse(count), language));
    most.map(|(language, _)| language).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use crate::{
        config::{EngineConfig, Model},
        engine::Engine,
        graph::summarize::CentralSentences,
    };
    use trefoil_core::Document;

    /// What is said of owls, and of tides, in each language.
    const TOPICS: [(&str, [&str; 4]); 3] = [
        (
            "en",
            [
                "The Barn Owl hunts for the Field Vole over rough meadows. The Barn Owl nests in a hollow tree near the Field Vole and the Old Mill.",
                "A pellet of the Barn Owl holds bones of the Field Vole. Every Barn Owl near the Old Mill swallows the Field Vole whole.",
                "The Spring Tide follows the Full Moon by about two days. At the Full Moon the Spring Tide is at its highest.",
                "Harbours plan for the Spring Tide after each Full Moon. The Full Moon and the Spring Tide are in every almanac.",
            ],
        ),
        (
            "ja",
            [
                "メンフクロウは草原でハタネズミを静かに狩る鳥である。メンフクロウは納屋に巣を作りハタネズミを運ぶ。",
                "メンフクロウのペリットにはハタネズミの骨が残っている。メンフクロウはハタネズミを丸ごと飲み込む。",
                "オオシオはマンゲツからおよそ二日遅れて訪れる現象である。マンゲツのころにオオシオは最も高くなる。",
                "港の予定はマンゲツのあとのオオシオに合わせて決められる。暦にはマンゲツとオオシオの両方が載っている。",
            ],
        ),
        (
            "ko",
            [
                "경복궁은 서울에 있는 궁궐이다. 서울의 경복궁 옆에는 창덕궁이 있다.",
                "창덕궁은 서울의 궁궐이다. 경복궁과 창덕궁은 서울을 대표하는 궁궐이다.",
                "한사리는 보름달보다 이틀쯤 늦게 찾아오는 현상이다. 보름달이 뜨는 무렵에 한사리는 가장 높아진다.",
                "항구의 일정은 보름달 뒤의 한사리에 맞추어 정해진다. 달력에는 보름달과 한사리가 모두 실려 있다.",
            ],
        ),
    ];

    fn engine(documents: &[Document]) -> (TempDir, Engine) {
        let dir = tempfile::tempdir().unwrap();
        let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        engine.ingest(documents).unwrap();
        settle(&engine, &[]);
        (dir, engine)
    }

    /// Waits for the worker, and puts these reports in the place of what it made.
    fn settle(engine: &Engine, reports: &[CommunityRow]) {
        engine.wait_until_indexed().unwrap();
        engine.state().store.put_communities(reports).unwrap();
    }

    fn update(engine: &Engine) -> CommunityUpdate {
        let (store, graph) = (&engine.state().store, engine.graph_index().unwrap());
        let config = HierarchyConfig::default();
        update_communities(store, &graph, &CentralSentences::default(), &config).unwrap()
    }

    fn documents(texts: &[&str]) -> Vec<Document> {
        let paths = (0..).map(|number: u32| format!("{number}.md"));
        paths.zip(texts).map(|(path, text)| Document::new(path, *text)).collect()
    }

    #[track_caller]
    fn check_report(engine: &Engine, row: &CommunityRow) {
        assert!(row.summary.chars().count() <= SUMMARY_CHARS);
        assert!(!row.sources.is_empty() && row.keywords.len() <= KEYWORDS);
        let mut rest = row.summary.as_str();
        for source in &row.sources {
            let chunk = engine.chunk(&source.chunk).unwrap().unwrap();
            let sentence = &chunk.chunk.text[source.span.start..source.span.end];
            rest = rest.trim_start().strip_prefix(sentence).unwrap();
        }
        assert_eq!(rest, "", "the summary is what its sources say");
    }

    #[test]
    fn a_report_says_what_the_evidence_says() {
        for (language, texts) in TOPICS {
            let (_dir, engine) = engine(&documents(&texts));
            let made = update(&engine).made;
            let rows = engine.state().store.communities().unwrap();
            assert!(made >= 1 && rows.len() == made, "{language}: {rows:?}");
            for row in &rows {
                check_report(&engine, row);
                let known = |keyword: &String| row.summary.contains(keyword.as_str());
                assert!(row.keywords.iter().any(known), "{language}: {row:?}");
                assert!(row.keywords.iter().any(|keyword| row.name.contains(keyword.as_str())));
            }
        }
    }

    #[test]
    fn reports_stay_where_nothing_changed() {
        let texts: Vec<&str> = TOPICS.iter().flat_map(|(_, texts)| *texts).collect();
        let (_dir, engine) = engine(&documents(&texts));
        let first = update(&engine);
        let before = engine.state().store.communities().unwrap();
        assert_eq!(update(&engine), CommunityUpdate { made: 0, kept: first.made });
        assert_eq!(engine.state().store.communities().unwrap(), before);

        let [.., (_, korean)] = TOPICS;
        let more = "한사리는 보름달 다음에 오며 갯벌을 모두 덮는 물때이다.";
        engine.ingest(&[Document::new("more.md", format!("{} {more}", korean[2]))]).unwrap();
        settle(&engine, &before);
        let after = update(&engine);
        assert!(after.made > 0 && after.kept > after.made, "{after:?}");
        assert_eq!(update(&engine).made, 0);
        for row in &engine.state().store.communities().unwrap() {
            check_report(&engine, row);
        }

        engine.remove("more.md").unwrap();
        update(&engine);
        let summaries = |rows: &[CommunityRow]| -> BTreeSet<String> {
            rows.iter().map(|row| row.summary.clone()).collect()
        };
        let back = engine.state().store.communities().unwrap();
        assert_eq!(summaries(&back), summaries(&before));
    }

    #[test]
    fn another_summariser_writes_its_own_reports() {
        #[derive(Debug)]
        struct First;
        impl Summarizer for First {
            fn fingerprint(&self) -> String {
                "first".to_owned()
            }
            fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
                let text = format!("{} {:?} {}", request.name, request.language, "x".repeat(3_000));
                Ok(Summary { text, sources: Vec::new() })
            }
        }
        let (_dir, engine) = engine(&documents(&TOPICS[2].1));
        let first = update(&engine);
        let (store, graph) = (&engine.state().store, engine.graph_index().unwrap());
        let config = HierarchyConfig::default();
        let other = update_communities(store, &graph, &First, &config).unwrap();
        assert_eq!(other, CommunityUpdate { made: first.made, kept: 0 });
        let rows = store.communities().unwrap();
        assert!(rows.iter().all(|row| row.summary.starts_with(&format!("{} Ko", row.name))));
        assert!(rows.iter().all(|row| row.summary.chars().count() == SUMMARY_CHARS));
    }

    #[test]
    fn the_order_of_ingestion_does_not_matter() {
        let texts: Vec<&str> = TOPICS.iter().flat_map(|(_, texts)| *texts).collect();
        let mut documents = documents(&texts);
        let rows = |documents: &[Document]| {
            let (_dir, engine) = engine(documents);
            update(&engine);
            engine.state().store.communities().unwrap()
        };
        let expected = rows(&documents);
        documents.reverse();
        assert_eq!(rows(&documents), expected);
    }
}
