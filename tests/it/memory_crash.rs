//! `kill -9` in the middle of what is done to memory: all of a step is there, or nothing.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use trefoil::{
    Engine, Result, RetrieverId,
    index::RowId,
    memory::{
        ClaimPayload, EpisodePayload, EvidenceRow, FeedbackRow, LinkRelation, MemoryWrite,
        PatchReason, Payload, SummaryPayload, UnitRow, UnitState,
    },
};

use crate::{
    campaign::process_of,
    files::contents,
    memory::{episode, remember},
    models::without_model,
};

const ROUNDS: u32 = 20;
/// Set for the child only: the deed, the number of its first step, and the index.
const CHILD: &str = "TREFOIL_MEMORY_CRASH_CHILD";
/// Claims that feedback is given on in turn.
const CLAIMS: u64 = 5;

/// What is done again and again until the process dies.
struct MaintenanceAction {
    name: &'static str,
    step: fn(&Engine, u64),
    /// Checks what is there after `acknowledged` steps, and says how many there were: one may
    /// have been done although its acknowledgement did not get out.
    check: fn(&Engine, &Path, u64) -> u64,
}

const DEEDS: [MaintenanceAction; 4] = [
    MaintenanceAction { name: "integrate", step: integrate, check: all_of_a_claim_or_nothing },
    MaintenanceAction { name: "feedback", step: feedback, check: utility_is_what_was_said },
    MaintenanceAction { name: "clean-up", step: clean_up, check: no_summary_no_deletion },
    MaintenanceAction { name: "forget", step: forget, check: forgotten_to_the_last_byte },
];

#[test]
fn integrating_is_all_or_nothing() {
    survive(&DEEDS[0]);
}

#[test]
fn feedback_is_all_or_nothing() {
    survive(&DEEDS[1]);
}

#[test]
fn cleaning_up_is_all_or_nothing() {
    survive(&DEEDS[2]);
}

#[test]
fn forgetting_is_all_or_nothing() {
    survive(&DEEDS[3]);
}

fn survive(deed: &MaintenanceAction) {
    let dir = tempfile::tempdir().unwrap();
    let index = dir.path().join("index");
    let mut done = 0;
    for round in 0..ROUNDS {
        let acknowledged = work_until_killed(deed, &index, done, round);
        let engine = Engine::open_with(&index, without_model()).unwrap();
        done = (deed.check)(&engine, &index, acknowledged);
        assert!((acknowledged..=acknowledged + 1).contains(&done), "round {round}");
    }
    assert!(done > u64::from(ROUNDS), "{done} steps");
}

/// Starts a child that does one step after the other and kills it; how many were acknowledged.
fn work_until_killed(deed: &MaintenanceAction, index: &Path, first: u64, round: u32) -> u64 {
    let task = format!("{}:{first}:{}", deed.name, index.display());
    let mut child = process_of("memory_crash::child").env(CHILD, task).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut done = first;
    let number = |line: &str| line.strip_prefix("done ").and_then(|n| n.parse::<u64>().ok());
    let wanted = first + 1 + u64::from(round % 4);
    while done < wanted {
        let Some(line) = lines.next() else { break };
        done = number(&line.unwrap()).map_or(done, |n| n + 1);
    }
    // Anywhere in the step that follows.
    std::thread::sleep(Duration::from_millis(u64::from(round * 7 % 50)));
    child.kill().unwrap();
    child.wait().unwrap();
    for line in lines.map_while(std::result::Result::ok) {
        done = number(&line).map_or(done, |n| n + 1);
    }
    done
}

#[test]
fn child() {
    #[expect(clippy::disallowed_methods, reason = "how the parent tells the child what to do")]
    let Ok(task) = std::env::var(CHILD) else { return };
    let (name, rest) = task.split_once(':').unwrap();
    let (first, index) = rest.split_once(':').unwrap();
    let deed = DEEDS.iter().find(|deed| deed.name == name).unwrap();
    let engine = Engine::open_with(index, without_model()).unwrap();
    for number in first.parse::<u64>().unwrap().. {
        (deed.step)(&engine, number);
        println!("done {number}");
    }
}

fn claim(text: &str, utility: f64) -> Payload {
    Payload::Claim(ClaimPayload {
        text: text.to_owned(),
        kind: "fact".to_owned(),
        scope: "project".to_owned(),
        session: None,
        origin_json: "{}".to_owned(),
        quality: 0.5,
        utility,
        recency: 1.0,
        recency_anchor: 0,
        decayed_at: 0,
        content_hash: format!("sha256:{text}"),
        sources: Vec::new(),
        epistemic_status: "inferred".to_owned(),
        last_verified_at: 0,
        ttl: None,
        importance: 2,
        subject: None,
        predicate: None,
        object: None,
        valid_from: None,
        valid_to: None,
        provenance_json: None,
    })
}

/// A word that no other step has, of more than 16 bytes.
fn word(number: u64) -> String {
    format!("walrus{:016x}", (number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
}

fn put(memory: &MemoryWrite<'_>, id: &str, payload: &Payload) -> Result<RowId> {
    memory.put_unit(&UnitRow::new(id, 1), payload, PatchReason::IntegrateMerge)
}

fn row(engine: &Engine, id: &str) -> Option<RowId> {
    engine.memory().read("look", |memory| memory.row_of(id)).unwrap()
}

/// How many units of this kind there are, numbered from 0.
fn steps(engine: &Engine, kind: &str) -> u64 {
    let mut number = 0;
    while row(engine, &format!("{kind}_{number}")).is_some() {
        number += 1;
    }
    number
}

/// Rows in the keyword index of memory.
fn indexed(engine: &Engine) -> u64 {
    let rows = engine.memory().rows();
    rows.into_iter().find(|(retriever, _)| *retriever == RetrieverId::KEYWORD).unwrap().1
}

fn integrate(engine: &Engine, number: u64) {
    let write = |memory: &MemoryWrite<'_>| {
        let text = word(number);
        let observation = put(memory, &format!("obs_{number}"), &episode(&text))?;
        let row = put(memory, &format!("clm_{number}"), &claim(&text, 0.0))?;
        memory.add_evidence(&EvidenceRow {
            id: format!("evd_{number}"),
            claim: row,
            observation: Some(observation),
            method: "rule".to_owned(),
            note: None,
            created_at: 1,
        })?;
        let before = number.checked_sub(1).map(|before| memory.row_of(&format!("clm_{before}")));
        if let Some(before) = before.transpose()?.flatten() {
            memory.link_claims(row, before, LinkRelation::Contradicts)?;
        }
        memory.add_event("integrated", Some(row), "{}")
    };
    engine.memory().write("integrate", write).unwrap();
}

fn all_of_a_claim_or_nothing(engine: &Engine, _: &Path, acknowledged: u64) -> u64 {
    let done = steps(engine, "clm");
    for number in 0..done.max(acknowledged) {
        let observation = row(engine, &format!("obs_{number}")).unwrap();
        let claim = row(engine, &format!("clm_{number}")).unwrap();
        let (evidences, links, events, versions) = engine
            .memory()
            .read("look", |memory| {
                let evidences = memory.evidences(claim)?;
                assert_eq!(evidences[0].observation, Some(observation));
                Ok((
                    evidences.len(),
                    memory.claim_links(claim)?.iter().filter(|one| one.claim == claim).count(),
                    memory.events(Some(claim), 0, 9)?.len(),
                    memory.versions(claim)?.len(),
                ))
            })
            .unwrap();
        assert_eq!((evidences, links, events, versions), (1, usize::from(number > 0), 1, 1));
    }
    assert!(row(engine, &format!("obs_{done}")).is_none(), "half a step");
    assert_eq!(indexed(engine), 2 * done);
    if let Some(last) = done.checked_sub(1) {
        let found = engine.memory().by_text(&word(last), &trefoil::index::Allowed::All, 9).unwrap();
        assert_eq!(found.len(), 2, "the last step is not found");
    }
    done
}

fn feedback(engine: &Engine, number: u64) {
    let write = |memory: &MemoryWrite<'_>| {
        let id = format!("clm_{}", number % CLAIMS);
        let known = memory.row_of(&id)?.map(|row| memory.feedbacks(row)).transpose()?;
        let said = known.map_or(0, |known| known.len());
        let row = put(memory, &id, &claim(&id, (said + 1) as f64 / 10.0))?;
        memory.add_feedback(&FeedbackRow {
            id: format!("fb_{number}"),
            claim: row,
            ts: 60 * i64::try_from(number).unwrap(),
            signal: "helpful".to_owned(),
            score: None,
        })?;
        memory.add_event("feedback", Some(row), "{}")
    };
    engine.memory().write("give feedback", write).unwrap();
}

fn utility_is_what_was_said(engine: &Engine, _: &Path, _: u64) -> u64 {
    let look = |id: String| {
        engine.memory().read("look", |memory| {
            let Some(unit) = memory.unit(&id)? else { return Ok(0) };
            let said = memory.feedbacks(unit.row)?.len();
            assert_eq!(memory.events(Some(unit.row), 0, 999)?.len(), said, "{id}");
            assert_eq!(memory.versions(unit.row)?.len(), said, "{id}");
            let Payload::Claim(claim) = unit.payload else { panic!("{id}") };
            assert!((claim.utility - said as f64 / 10.0).abs() < 1e-9, "{id}");
            Ok(said as u64)
        })
    };
    (0..CLAIMS).map(|n| look(format!("clm_{n}")).unwrap()).sum()
}

fn clean_up(engine: &Engine, number: u64) {
    let id = format!("obs_{number}");
    let observation = remember(engine, &UnitRow::new(&*id, 1), &word(number));
    let write = |memory: &MemoryWrite<'_>| {
        let summary = SummaryPayload {
            scope_label: "expired".to_owned(),
            scope_key: id.clone(),
            text: format!("in short {number}"),
            ..SummaryPayload::default()
        };
        let row = put(memory, &format!("sum_{number}"), &Payload::Summary(summary))?;
        memory.add_source(row, observation)?;
        let unit = UnitRow { state: UnitState::Consolidated, ..UnitRow::new(&*id, 1) };
        let scrubbed = EpisodePayload {
            digest: Some("0f".repeat(32)),
            scrubbed_at: Some(2),
            ..EpisodePayload::default()
        };
        memory.put_unit(&unit, &Payload::Episode(scrubbed), PatchReason::Summarize)?;
        memory.add_event("scrubbed", Some(observation), "{}")
    };
    engine.memory().write("clean up", write).unwrap();
}

fn no_summary_no_deletion(engine: &Engine, _: &Path, acknowledged: u64) -> u64 {
    let look = |number: u64| {
        engine.memory().read("look", |memory| {
            let Some(unit) = memory.unit(&format!("obs_{number}"))? else { return Ok(None) };
            let made = memory.made_from(unit.row)?.len();
            let events = memory.events(Some(unit.row), 0, 9)?.len();
            let scrubbed = unit.payload.text().is_empty();
            let both = usize::from(scrubbed);
            assert_eq!((made, events), (both, both), "{number}");
            Ok(Some(scrubbed))
        })
    };
    let states: Vec<bool> = (0..).map_while(|number| look(number).unwrap()).collect();
    let done = states.iter().filter(|scrubbed| **scrubbed).count() as u64;
    assert!(states.len() as u64 <= done + 1 && done >= acknowledged);
    // A summary for each that is done, and the text of one that is not.
    assert_eq!(indexed(engine), states.len() as u64);
    done
}

fn forget(engine: &Engine, number: u64) {
    let write = |memory: &MemoryWrite<'_>| {
        let text = word(number);
        let observation = put(memory, &format!("obs_{number}"), &episode(&text))?;
        let row = put(memory, &format!("clm_{number}"), &claim(&text, 0.0))?;
        memory.add_source(row, observation)?;
        put(memory, &format!("mark_{number}"), &episode(&format!("there was a step {number}")))?;
        Ok(observation)
    };
    let observation = engine.memory().write("remember", write).unwrap();
    let receipt = engine.memory().forget_units(&[observation]).unwrap();
    assert_eq!(receipt.hits, 0);
}

fn forgotten_to_the_last_byte(engine: &Engine, index: &Path, acknowledged: u64) -> u64 {
    let begun = steps(engine, "mark");
    let mut done = 0;
    for number in 0..begun {
        let there = ["obs", "clm"].map(|kind| row(engine, &format!("{kind}_{number}")).is_some());
        assert_eq!(there[0], there[1], "half of step {number} is forgotten");
        if !there[0] {
            assert_eq!(holders(index, &word(number)), [] as [PathBuf; 0], "step {number}");
            done += 1;
        }
    }
    assert!(begun <= done + 1 && done >= acknowledged);
    assert_eq!(indexed(engine), begun + 2 * (begun - done));
    done
}

/// The files below a folder that hold a word.
fn holders(folder: &Path, word: &str) -> Vec<PathBuf> {
    let holds = |bytes: &[u8]| bytes.windows(word.len()).any(|run| run == word.as_bytes());
    contents(folder).filter(|(_, bytes)| holds(bytes)).map(|(path, _)| path).collect()
}
