//! The memory collection as the layer above sees it: found, hidden, recovered.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde::Deserialize;
use trefoil::{
    Document, Engine, EngineConfig, Error, RetrieverId, Score, SearchFilters, SearchQuery,
    index::{Allowed, RowId},
    memory::{
        BoundaryClass, EpisodePayload, PatchReason, Payload, RecallDepth, Recalled, UnitFilter,
        UnitKind, UnitRow, UnitState,
    },
};
use trefoil_core::ClaimId;
use trefoil_memory::{
    Boundary, ClaimDraft, FindOptions, InvariantDefinition, Layer, Memory, ObservationDraft,
    recall::RecallQuery,
};

use crate::models::{with_model, without_model};

pub(crate) const DEPTH: RecallDepth = RecallDepth { text: 10, vector: 10 };

pub(crate) fn open(config: EngineConfig) -> (tempfile::TempDir, Engine) {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    (dir, engine)
}

pub(crate) fn episode(text: &str) -> Payload {
    Payload::Episode(EpisodePayload { input_text: Some(text.to_owned()), ..Default::default() })
}

pub(crate) fn remember(engine: &Engine, unit: &UnitRow, text: &str) -> RowId {
    let write = |memory: &trefoil::memory::MemoryWrite<'_>| {
        memory.put_unit(unit, &episode(text), PatchReason::ExtractUpdate)
    };
    engine.memory().write("remember", write).unwrap()
}

fn unit(id: &str) -> UnitRow {
    UnitRow::new(id, 1_700_000_000)
}

fn all() -> UnitFilter {
    let classes = [BoundaryClass::Public, BoundaryClass::Internal, BoundaryClass::Pii];
    UnitFilter::of(&classes, &["project", "principle"])
}

fn recall(engine: &Engine, question: &str, filter: &UnitFilter) -> Recalled {
    let memory = engine.memory();
    let allowed = memory.allowed(filter).unwrap();
    memory.recall(question, &allowed, DEPTH).unwrap()
}

fn by_text(engine: &Engine, question: &str) -> Vec<RowId> {
    recall(engine, question, &all()).by_text.iter().map(|found| found.row).collect()
}

fn search(engine: &Engine, question: &str) -> Vec<String> {
    let filters = SearchFilters { min_relevance: Score::ZERO, ..SearchFilters::default() };
    let query = SearchQuery::new(question).unwrap().replace_filters(filters);
    let found = engine.search(&query).unwrap().results;
    found.into_iter().map(|one| one.metadata.unwrap().path).collect()
}

#[test]
fn a_unit_is_found_by_its_words_at_once_and_by_its_meaning_when_it_is_embedded() {
    let (_dir, engine) = open(with_model());
    engine.ingest(&[Document::new("a.md", "The heron wades in the shallow water.")]).unwrap();
    let walrus = remember(&engine, &unit("obs_1"), "The walrus sleeps on the ice.");
    let cake = remember(&engine, &unit("obs_2"), "케이크는 오븐에서 사십 분 굽습니다.");
    assert_eq!(by_text(&engine, "walrus"), [walrus]);
    assert_eq!(by_text(&engine, "케이크"), [cake]);
    assert_eq!(by_text(&engine, "heron"), [], "documents are not remembered");
    assert_eq!(engine.wait_until_indexed().unwrap().queued, 0);
    let found = recall(&engine, "a sea animal on a frozen sea", &all());
    assert_eq!(found.by_vector[0].row, walrus);
    assert_eq!(found.by_vector.len(), 2);
    assert_eq!(found.degraded, []);
    let relevance = engine.memory().relevance_of(found.by_vector[0].raw_score);
    assert_eq!(relevance, found.by_vector[0].relevance);
    let vectors = engine.memory().vectors(&[walrus, cake]).unwrap();
    assert_eq!(vectors.len(), 2);
    let allowed = engine.memory().allowed(&all()).unwrap();
    let near = engine.memory().near(&vectors[&cake], &allowed, 1).unwrap();
    assert_eq!((near[0].row, near[0].raw_score > 0.99), (cake, true));
    assert_eq!(search(&engine, "walrus heron"), ["a.md"], "search sees documents only");
    assert!(engine.memory().counter().count("The walrus sleeps on the ice.") >= 6);
}

#[test]
fn what_is_archived_is_not_found_and_what_is_restored_is() {
    let (_dir, engine) = open(without_model());
    let row = remember(&engine, &unit("obs_1"), "walrus");
    let archived = UnitRow { state: UnitState::Archived, ..unit("obs_1") };
    remember(&engine, &archived, "walrus");
    let memory = engine.memory();
    assert_eq!(memory.by_text("walrus", &Allowed::All, 9).unwrap(), []);
    remember(&engine, &unit("obs_1"), "walrus");
    assert_eq!(by_text(&engine, "walrus"), [row]);
}

#[test]
fn a_secret_is_found_where_its_class_is_admitted_and_is_in_no_index() {
    let (_dir, engine) = open(with_model());
    let secret = UnitRow { boundary: BoundaryClass::Secret, ..unit("obs_1") };
    let row = remember(&engine, &secret, "the gate code is walrus seven");
    remember(&engine, &unit("obs_2"), "the walrus sleeps");
    engine.wait_until_indexed().unwrap();
    assert_eq!(by_text(&engine, "gate code"), []);
    let admitted = UnitFilter { classes: BoundaryClass::ALL.to_vec(), ..all() };
    let found = recall(&engine, "what is the gate code?", &admitted);
    assert_eq!(found.by_text[0].row, row);
    assert!(found.by_vector.iter().all(|found| found.row != row));
    assert_eq!(engine.memory().vectors(&[row]).unwrap().len(), 0);
    for (retriever, rows) in engine.memory().rows() {
        assert_eq!(rows, 1, "{retriever}");
    }
}

/// Both collections recover in the same way.
#[test]
fn a_lost_or_damaged_index_is_built_again() {
    for collection in ["documents", "memory"] {
        for retriever in ["keyword", "semantic"] {
            for damage in [remove, flip_bits] {
                let (dir, engine) = open(with_model());
                engine.ingest(&[Document::new("a.md", "The heron wades.")]).unwrap();
                let row = remember(&engine, &unit("obs_1"), "The walrus sleeps.");
                engine.wait_until_indexed().unwrap();
                let config = with_model();
                drop(engine);
                let path = dir.path().join("index");
                damage(&path.join(collection).join(retriever));
                let engine = Engine::open_with(&path, config).unwrap();
                engine.wait_until_indexed().unwrap();
                assert_eq!(search(&engine, "heron"), ["a.md"], "{collection}/{retriever}");
                let found = recall(&engine, "walrus", &all());
                assert_eq!(found.by_text[0].row, row, "{collection}/{retriever}");
                assert_eq!(found.by_vector[0].row, row, "{collection}/{retriever}");
            }
        }
    }
}

fn remove(index: &Path) {
    fs::remove_dir_all(index).unwrap();
}

fn flip_bits(index: &Path) {
    let files = fs::read_dir(index).unwrap().map(|entry| entry.unwrap().path());
    for path in files.filter(|path| path.is_file()) {
        let mut bytes = fs::read(&path).unwrap();
        if let Some(byte) = bytes.get_mut(3) {
            *byte ^= 0xFF;
        }
        fs::write(&path, bytes).unwrap();
    }
}

#[test]
fn vectors_of_another_model_are_refused_and_made_anew() {
    let (dir, engine) = open(without_model());
    remember(&engine, &unit("obs_1"), "The walrus sleeps.");
    drop(engine);
    let path = dir.path().join("index");
    // Without a model there was nothing to agree on; what is written then is embedded later.
    let engine = Engine::open_with(&path, with_model()).unwrap();
    engine.wait_until_indexed().unwrap();
    assert_eq!(recall(&engine, "walrus", &all()).by_vector.len(), 1);
    drop(engine);
    let engine = Engine::reindex(&path, with_model()).unwrap();
    engine.wait_until_indexed().unwrap();
    let found = recall(&engine, "walrus", &all());
    assert_eq!((found.by_text.len(), found.by_vector.len()), (1, 1));
}

#[test]
fn a_reader_beside_the_writer_sees_what_was_remembered_and_cannot_write() {
    let (dir, engine) = open(without_model());
    let path = dir.path().join("index");
    let reader = Engine::open_read_only(&path, without_model()).unwrap();
    assert_eq!(by_text(&reader, "walrus"), []);
    let row = remember(&engine, &unit("obs_1"), "walrus");
    assert_eq!(by_text(&reader, "walrus"), [row]);
    let error = reader.memory().write("remember", |_| Ok(())).unwrap_err();
    assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
}

#[test]
fn a_write_that_an_index_cannot_follow_is_there_and_told_of() {
    let (dir, engine) = open(without_model());
    let first = remember(&engine, &unit("obs_1"), "The walrus sleeps.");
    let path = dir.path().join("index");
    fs::remove_dir_all(path.join("memory/keyword")).unwrap();
    // It is durable, so it is no failure: who tried again would have it twice.
    let second = remember(&engine, &unit("obs_2"), "The walrus dives.");
    let text = |row| {
        let unit = engine.memory().read("look", |memory| memory.units(&[row]));
        unit.unwrap().remove(0).payload.text()
    };
    assert_eq!(text(second), "The walrus dives.");
    let allowed = engine.memory().allowed(&all()).unwrap();
    let found = engine.memory().recall("walrus", &allowed, DEPTH).unwrap();
    let behind = "could not be written";
    let is_told = found
        .degraded
        .iter()
        .any(|one| one.stage == RetrieverId::KEYWORD.into() && one.reason.contains(behind));
    assert!(is_told, "{found:?}");
    drop(engine);
    let engine = Engine::open_with(&path, without_model()).unwrap();
    let found = recall(&engine, "walrus", &all());
    let mut rows: Vec<RowId> = found.by_text.iter().map(|found| found.row).collect();
    rows.sort();
    assert_eq!(rows, [first, second]);
    assert!(found.degraded.iter().all(|one| one.stage != RetrieverId::KEYWORD.into()), "{found:?}");
}

#[test]
fn a_reader_says_what_it_cannot_see() {
    let (dir, engine) = open(without_model());
    remember(&engine, &unit("obs_1"), "walrus");
    drop(engine);
    let path: PathBuf = dir.path().join("index");
    fs::remove_dir_all(path.join("memory")).unwrap();
    let reader = Engine::open_read_only(&path, without_model()).unwrap();
    let found = recall(&reader, "walrus", &all());
    assert_eq!(found.by_text, []);
    assert!(found.degraded.iter().any(|one| one.stage == RetrieverId::KEYWORD.into()), "{found:?}");
}

/// What is said in three languages: what was asked, what was answered, and what is asked later.
const TALK: [[&str; 3]; 9] = [
    ["How often does the ferry to Sado run?", "Only on Sundays.", "when can I go by ship to Sado?"],
    ["How was the film last night?", "Long, but worth it.", "did they enjoy the movie?"],
    ["Who feeds the cat while you travel?", "My sister does.", "who looks after the cat?"],
    ["佐渡行きの船はいつ出ますか。", "日曜日だけです。", "佐渡へはいつ渡れますか。"],
    ["昨日の映画はどうでしたか。", "長いけれど見る価値はあります。", "映画の感想は？"],
    ["旅行中は誰が猫に餌をやりますか。", "姉がやってくれます。", "猫の世話をするのは誰？"],
    ["사도행 배는 언제 떠나나요?", "일요일에만요.", "사도에는 언제 갈 수 있나요?"],
    ["어제 영화는 어땠어요?", "길지만 볼 만했어요.", "영화 감상은 어땠나요?"],
    ["여행하는 동안 고양이 밥은 누가 줘요?", "언니가 줘요.", "고양이는 누가 돌보나요?"],
];

#[test]
fn an_answer_is_found_by_what_was_asked() {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(Arc::clone(&engine));
    for said in TALK.chunks(3) {
        let session = memory.create_session("/p").unwrap().id;
        for text in said.iter().flat_map(|[asked, answered, _]| [asked, answered]) {
            let message = ObservationDraft::message(*text);
            memory.observe(ObservationDraft { session: Some(session.clone()), ..message }).unwrap();
        }
    }
    engine.memory().wait_until_indexed().unwrap();
    let view = memory.view(RecallQuery::default(), Boundary::default());
    let types = vec![UnitKind::Episode];
    // Others tell the same in two other languages.
    let options = FindOptions { limit: 6, layer: Layer::Whole, types, ..FindOptions::default() };
    for [asked, answered, later] in TALK {
        let found = view.search(later, &options).unwrap().views;
        let texts: Vec<&str> = found.iter().map(|view| view.text.as_str()).collect();
        assert!(texts.contains(&asked) && texts.contains(&answered), "{later}: {texts:?}");
    }
}

#[test]
fn a_claim_answers_as_the_message_does_that_tells_it_where_all_of_that_is_shown() {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(Arc::clone(&engine));
    let mut asked = Vec::new();
    for said in TALK.chunks(3) {
        let session = memory.create_session("/p").unwrap().id;
        let observe = |text: &str| {
            let session = Some(session.clone());
            memory.observe(ObservationDraft { session, ..ObservationDraft::message(text) }).unwrap()
        };
        for [question, answer, later] in said {
            observe(&format!("{question} Vega"));
            let source = observe(&format!("{answer} Orion")).id;
            let claim = memory.insert_claim(ClaimDraft::observed(*answer, source)).unwrap();
            asked.push((claim.id, later));
        }
    }
    memory.wait_until_indexed().unwrap();
    let hides = |word: &str| {
        let rule = format!("'{word}' notin payload.text");
        let applies_to = vec!["*".to_owned()];
        let hidden = InvariantDefinition { name: "hidden".to_owned(), applies_to, rule };
        Boundary { invariants: vec![hidden], ..Boundary::default() }
    };
    let mut shown = [0, 0];
    for (id, later) in asked {
        let query = RecallQuery { include_meta: true, save: false, ..RecallQuery::new(*later) };
        let breakdown = |boundary: &Boundary| {
            let claims = memory.recall(&query, boundary).unwrap().claims;
            let found = claims.into_iter().find(|one| one.claim.id == id)?.breakdown?;
            // Not what falls with time, which goes on between two recalls.
            Some((found.text, found.vector, found.tokens))
        };
        let told = breakdown(&Boundary::default());
        // Without the message, and without the one before it, which its vectors hold.
        let alone = breakdown(&hides("Orion"));
        assert_eq!(breakdown(&hides("Vega")), alone, "{later}");
        shown[0] += usize::from(told.is_some());
        shown[1] += usize::from(alone.is_some());
        if let Some(alone) = alone {
            let told = told.unwrap_or_else(|| panic!("{later} is not answered"));
            assert!(told.1 > alone.1 && told.2 > alone.2, "{later}: {told:?} {alone:?}");
            assert_eq!(told.0, alone.0);
        }
    }
    let [told, alone] = shown;
    assert!(told > alone && alone > 0, "{told} are recalled with their messages, {alone} alone");
}

/// A file of `fixtures/recall`.
#[derive(Deserialize)]
struct Told {
    pairs: Vec<(String, String)>,
}

#[test]
fn a_claim_about_one_of_many_people_is_recalled() {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(Arc::clone(&engine));
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/recall");
    let mut asked: Vec<(ClaimId, String)> = Vec::new();
    for file in ["ja.toml", "ko.toml"] {
        let Told { pairs } = toml::from_str(&fs::read_to_string(root.join(file)).unwrap()).unwrap();
        assert_eq!(pairs.len(), 200);
        let seen = memory.observe(ObservationDraft::message("They were told.")).unwrap().id;
        let drafts = pairs.iter().map(|(claim, _)| ClaimDraft::observed(claim, seen.clone()));
        let claims = memory.insert_claims(drafts.collect()).unwrap();
        asked.extend(
            claims.into_iter().zip(pairs).map(|(claim, (_, question))| (claim.id, question)),
        );
    }
    memory.wait_until_indexed().unwrap();
    let is_recalled = |(id, question): &&(ClaimId, String)| {
        let query = RecallQuery { top_k: 10, save: false, ..RecallQuery::new(question.as_str()) };
        let found = memory.recall(&query, &Boundary::default()).unwrap().claims;
        found.iter().any(|one| one.claim.id == *id)
    };
    let (recalled, missed): (Vec<_>, Vec<_>) = asked.iter().step_by(4).partition(is_recalled);
    // Each question names somebody of whom twenty claims are known: chance would recall half.
    assert!(missed.len() <= recalled.len() / 20, "{missed:?}");
}
