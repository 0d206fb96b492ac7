//! Memory on nodes: any of them takes what is to be written, the one that leads writes it.

use std::{sync::Arc, thread, time::Duration};

use trefoil::{
    EngineConfig, Error,
    cluster::{Cluster, MemoryTruth, NodeTimes, NotRestoredReason, Truth, UnitNotRestored},
    memory::MemoryUpkeep,
};
use trefoil_memory::{
    Boundary, Claim, ClaimDraft, FeedbackInput, FeedbackSignal, Memory, ObservationDraft, Scope,
    UnitRecord, integrate::IntegrateOptions, recall::RecallQuery,
};

use super::{Parts, parts, walrus};
use crate::models::without_model;

/// Words only, and nothing is learnt unless a test asks for it.
fn by_words() -> EngineConfig {
    EngineConfig { memory: MemoryUpkeep::ASKED_FOR, ..without_model() }
}

fn leading(truth: &MemoryTruth) -> Parts {
    let mut node = parts(truth.clone(), by_words());
    node.shared.times.poll = Duration::from_millis(5);
    node.shared.forget_wait = Duration::ZERO;
    node
}

/// The memory of a node, and the folder of its cache.
fn memory(node: Parts) -> (Memory, tempfile::TempDir) {
    let node = node.open();
    (Memory::new(Arc::new(node.engine)), node.dir)
}

/// A node that leads, and one that only follows, each with a memory.
fn two() -> ([Memory; 2], [tempfile::TempDir; 2]) {
    let truth = MemoryTruth::new("a");
    let (first, one) = memory(leading(&truth));
    let (second, other) = memory(parts(truth.node("b"), by_words()).following());
    ([first, second], [one, other])
}

fn claim(memory: &Memory, text: &str) -> Claim {
    let observation = memory.observe(ObservationDraft::message(text)).unwrap();
    let draft = ClaimDraft {
        confidence: 0.75.try_into().unwrap(),
        ..ClaimDraft::observed(text, observation.id)
    };
    memory.insert_claim(draft).unwrap()
}

/// What two nodes know of a unit is the same to the letter.
fn assert_same(nodes: &[Memory; 2], id: &str) {
    let [one, other] = nodes.each_ref().map(|memory| memory.record(id).unwrap());
    assert!(one.is_some() && one == other, "{one:?}\n{other:?}");
}

#[test]
fn any_node_takes_what_is_to_be_remembered_and_shows_it_at_once() {
    let (nodes, _dirs) = two();
    let [first, second] = &nodes;
    let session = second.create_session_of("/project", Some("mika")).unwrap();
    assert_eq!(first.session(&session.id).unwrap().as_ref(), Some(&session));
    let draft = ObservationDraft {
        session: Some(session.id.clone()),
        ..ObservationDraft::message("Write to mika@example.org about the ferry.")
    };
    let told = second.observe(draft).unwrap();
    assert!(told.content.contains("[email]"), "{told:?}");
    for memory in &nodes {
        assert_eq!(memory.observation(&told.id).unwrap().as_ref(), Some(&told));
    }
    let ended = second.end_session(&session.id, "booked for mika@example.org").unwrap();
    assert!(ended.summary.as_deref().is_some_and(|summary| summary.contains("[email]")));
    assert_eq!(first.session(&session.id).unwrap(), Some(ended));

    let ferry = claim(second, "The ferry to Sado leaves at nine.");
    for memory in &nodes {
        assert_eq!(memory.claim(&ferry.id).unwrap(), ferry);
    }
    let (options, boundary) = (IntegrateOptions::default(), Boundary::default());
    let again = second.observe(ObservationDraft::message(&ferry.text)).unwrap();
    let again = ClaimDraft::observed(&ferry.text, again.id);
    let united = second.integrate(again, &options, &boundary).unwrap();
    assert!(!united.is_new && united.claim.id == ferry.id, "{united:?}");
    let said = FeedbackInput::new(ferry.id.clone(), FeedbackSignal::Helpful);
    let outcome = second.feedback(&said).unwrap();
    assert!(outcome.feedback.is_some() && outcome.updated != outcome.previous, "{outcome:?}");
    assert_eq!(second.feedback(&said).unwrap().feedback, None, "said within the minute");
    let query = RecallQuery { save: true, ..RecallQuery::new("when does the ferry leave?") };
    let found = second.recall(&query, &boundary).unwrap();
    assert_eq!(found.claims[0].claim.id, ferry.id);
    for memory in &nodes {
        assert_eq!(memory.load_context(&found.context.id).unwrap(), found.context);
    }
    let wider = second.promote(&ferry.id, Scope::Principle, &query, &boundary).unwrap();
    assert_eq!((wider.scope, &wider), (Scope::Principle, &first.claim(&ferry.id).unwrap()));
    assert_same(&nodes, ferry.id.as_str());
    let back = second.rollback(&ferry.id).unwrap();
    assert_eq!(back, first.claim(&ferry.id).unwrap());
    assert_same(&nodes, ferry.id.as_str());
    assert_eq!(second.recall(&query, &boundary).unwrap().claims, []);

    let receipt = second.forget_unit(ferry.id.as_str()).unwrap();
    assert_eq!(receipt.removed.get("claim"), Some(&1), "{receipt:?}");
    for memory in &nodes {
        assert_eq!(memory.claim(&ferry.id).unwrap_err().code(), "unknown_claim");
    }

    let policy = first.policy_text(None).unwrap().replace("1.0.0", "1.0.1");
    let version = second.apply_policy(&policy, false).unwrap();
    for memory in &nodes {
        assert_eq!(memory.policy().unwrap().version, version);
    }
}

#[test]
fn what_the_node_that_leads_refuses_is_the_same_error_everywhere() {
    let (nodes, _dirs) = two();
    let kept = claim(&nodes[0], "Mika takes the ferry to Sado.");
    nodes[1].recall(&RecallQuery::new("ferry"), &Boundary::default()).unwrap();
    let query = RecallQuery::default();
    let codes = nodes.each_ref().map(|memory| {
        let same = memory.insert_claim(ClaimDraft {
            origin: kept.origin.clone(),
            ..ClaimDraft::derived(&kept.text, [])
        });
        let narrow =
            memory.promote(&kept.id, Scope::Session, &query, &Boundary::default()).unwrap_err();
        let unknown = memory.rollback(&"clm_nobody".parse().unwrap()).unwrap_err();
        let never = memory.end_session(&"ses_never".parse().unwrap(), "done").unwrap_err();
        let empty = memory.observe(ObservationDraft::message("")).unwrap_err();
        let refused = [same.unwrap_err(), narrow, unknown, never, empty];
        refused.map(|error| (error.code(), error.http_status(), error.field()))
    });
    assert_eq!(codes[0], codes[1]);
    assert_eq!(codes[0][0], ("duplicate_claim", 409, None));
    assert_eq!(codes[0][2], ("unknown_claim", 404, None));
    let named = codes[0].iter().filter_map(|(_, _, field)| field.as_ref());
    assert_eq!(
        named.map(|error| error.field.as_str()).collect::<Vec<_>>(),
        ["content of an observation"]
    );
    // Nobody is held up by what was refused.
    claim(&nodes[1], "The bus to Sado does not exist.");
}

#[test]
fn what_is_to_be_remembered_lies_in_the_inbox_without_what_the_policy_cuts_out() {
    let truth = MemoryTruth::new("a");
    let mut node = parts(truth.node("b"), by_words()).following();
    node.shared.write_wait = Duration::from_secs(2);
    let (alone, _dir) = memory(node);
    let waits = thread::spawn(move || {
        alone.observe(ObservationDraft::message("Write to mika@example.org about the ferry."))
    });
    let asked = loop {
        if let Some(asked) = truth.requests(1).unwrap().pop() {
            break String::from_utf8(asked.body).unwrap();
        }
        thread::sleep(Duration::from_millis(2));
    };
    assert!(asked.contains("the ferry") && !asked.contains("mika@"), "{asked}");
    let refused = waits.join().unwrap().unwrap_err();
    assert!(matches!(refused, Error::InDoubt { .. }), "{refused:?}");
    assert_eq!(truth.requests(1).unwrap(), [], "nobody does it later");
}

#[test]
fn a_write_that_takes_longer_than_the_lease_is_done_once_and_by_one_node() {
    const CLAIMS: usize = 3_000;
    let truth = MemoryTruth::new("a");
    let may_lead = |truth: MemoryTruth| {
        let mut node = parts(truth, by_words());
        let [poll, renew, lease] = [5, 100, 1_000].map(Duration::from_millis);
        node.shared.times = NodeTimes { poll, retry: renew, lease, renew, ..node.shared.times };
        memory(node)
    };
    let (first, _dir) = may_lead(truth.clone());
    let (rival, _its_dir) = may_lead(truth.node("b"));
    let (second, _other_dir) = memory(parts(truth.node("c"), by_words()).following());
    let origin = first.observe(ObservationDraft::message("Ferries and buses.")).unwrap().id;
    let drafts = (0..CLAIMS).map(|n| {
        ClaimDraft::observed(format!("Ferry number {n} goes to island {}.", n * 7), origin.clone())
    });
    let before = truth.head().unwrap();
    let stored = second.insert_claims(drafts.collect()).unwrap();
    assert_eq!(truth.head().unwrap().epoch, before.epoch, "the lease ran out");
    assert_eq!(stored.len(), CLAIMS);
    for claim in [&stored[0], &stored[CLAIMS - 1]] {
        assert_eq!(second.claim(&claim.id).unwrap(), *claim);
    }
    assert_eq!(second.overview().unwrap().units["claim"], CLAIMS);
    drop(rival);
}

#[test]
fn a_node_that_leads_without_a_memory_says_so_and_one_with_a_memory_goes_on() {
    let truth = MemoryTruth::new("a");
    let without = leading(&truth).open();
    let mut node = parts(truth.node("b"), by_words()).following();
    node.shared.write_wait = Duration::from_millis(300);
    let node = node.open();
    let second = Memory::new(Arc::new(node.engine));
    let observe = || second.observe(ObservationDraft::message("The ferry is late."));
    let refused = observe().unwrap_err();
    assert_eq!(refused.code(), "not_leading");
    assert!(refused.to_string().contains("it keeps no memory"), "{refused}");
    // It does what else is asked of it.
    without.engine.ingest(&[walrus("one")]).unwrap();
    let first = Memory::new(Arc::new(without.engine));
    let told = observe().unwrap();
    assert_eq!(first.observation(&told.id).unwrap(), Some(told));
}

#[test]
fn what_the_store_lost_of_memory_is_put_back_with_what_hangs_on_it() {
    let truth = MemoryTruth::new("a");
    let first = leading(&truth).open();
    let second = parts(truth.node("b"), by_words()).following().open();
    let engines = [Arc::new(first.engine), Arc::new(second.engine)];
    let nodes = engines.clone().map(Memory::new);
    let bus = claim(&nodes[0], "The bus to Sado leaves at one.");
    engines[1].follow().unwrap();
    let standby = truth.state();
    let tram = claim(&nodes[0], "The tram to Ryotsu leaves at two.");
    nodes[0].feedback(&FeedbackInput::new(bus.id.clone(), FeedbackSignal::Helpful)).unwrap();
    engines[1].follow().unwrap();
    // What happened to a unit is told of its row number, and not kept.
    let known = |memory: &Memory, id: &str| {
        let record = memory.record(id).unwrap();
        record.map(|record| UnitRecord { events: Vec::new(), ..record })
    };
    let had = [&tram.id, &bus.id].map(|id| known(&nodes[0], id.as_str()).unwrap());
    truth.put_back(standby);
    let noted = engines[0].memory().write("note", |write| write.add_event("noted", None, "{}"));
    noted.unwrap_err();
    for engine in &engines {
        engine.follow().unwrap();
    }
    assert_eq!(known(&nodes[1], tram.id.as_str()), None);
    assert!(engines[0].lead().unwrap());
    let plane = claim(&nodes[0], "The plane to Sado leaves at three.");

    let due = engines[1].restore_lost(true).unwrap();
    assert_eq!(due.units.len(), 3, "{due:?}");
    let report = engines[1].restore_lost(false).unwrap();
    assert_eq!((&report.units, report.skipped_units.as_slice()), (&due.units, [].as_slice()));
    engines[1].follow().unwrap();
    for node in &nodes {
        for had in &had {
            assert_eq!(known(node, &had.id).as_ref(), Some(had));
        }
        assert!(known(node, plane.id.as_str()).is_some());
        let found = node.recall(&RecallQuery::new("tram to Ryotsu"), &Boundary::default()).unwrap();
        assert_eq!(found.claims[0].claim.id, tram.id);
    }
    // The other node has kept the same, and finds it there.
    let again = engines[0].restore_lost(false).unwrap();
    assert_eq!(again.units, Vec::<String>::new());
    let present = |one: &UnitNotRestored| one.reason == NotRestoredReason::Present;
    assert!(again.skipped_units.len() == 3 && again.skipped_units.iter().all(present), "{again:?}");
}
