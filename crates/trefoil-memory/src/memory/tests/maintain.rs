//! Memory that ages: claims, observations, loops, contexts and rolling summaries.

use std::{
    path::Path,
    sync::atomic::{AtomicI64, Ordering},
};

use proptest::prelude::*;
use trefoil::{
    admin::Clock,
    graph::{Summarizer, Summary, SummaryRequest},
    memory::{MemoryUnit, Payload},
};
use trefoil_core::{Score, UnitState};

use super::*;
use crate::{
    ContentProbe, ContextNote, EpistemicStatus, FeedbackInput, FeedbackSignal, Importance,
    MaintainOptions, MaintenanceAction, MaintenanceReport, ObservationKind, SharedState, SourceTag,
    Tags, Ttl, recall::RecallQuery,
};

const DAY: i64 = 86_400;
/// 1 January 2025.
const START: i64 = 20_089 * DAY;

/// A clock that a test moves.
#[derive(Debug)]
struct Hands(AtomicI64);

impl Clock for Hands {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// A memory whose time is in the hands of a test.
struct Aged {
    dir: tempfile::TempDir,
    memory: Memory,
    clock: Arc<Hands>,
}

impl Aged {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let clock = Arc::new(Hands(AtomicI64::new(START)));
        let clock_of_engine = Arc::clone(&clock) as Arc<dyn Clock>;
        let config = EngineConfig { clock: clock_of_engine, ..by_hand() };
        let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
        let memory = Memory::with_ids(Arc::new(engine), IdGenerator::seeded(1));
        Self { dir, memory, clock }
    }

    fn pass(&self, days: i64) {
        self.clock.0.fetch_add(days * DAY, Ordering::SeqCst);
    }

    fn maintain(&self) -> MaintenanceReport {
        self.maintain_with(MaintainOptions::default())
    }

    fn maintain_with(&self, options: MaintainOptions) -> MaintenanceReport {
        self.memory.maintain(&self.probe(), &options).unwrap()
    }

    fn probe(&self) -> ContentProbe {
        ContentProbe::new(self.sources())
    }

    fn sources(&self) -> &Path {
        self.dir.path()
    }

    /// A claim that stays fresh for ten days.
    fn claim(&self, text: &str, change: impl FnOnce(&mut ClaimDraft)) -> Claim {
        let observation = observed(&self.memory, text);
        let mut draft = ClaimDraft::observed(text, observation.id);
        draft.ttl = Some(Ttl::days(10).unwrap());
        change(&mut draft);
        self.memory.insert_claim(draft).unwrap()
    }

    fn unit(&self, id: &impl ToString) -> Option<MemoryUnit> {
        let id = id.to_string();
        self.memory.engine.memory().read("look", |read| read.unit(&id)).unwrap()
    }

    fn summary(&self, label: &str, key: &str) -> Option<MemoryUnit> {
        self.memory.engine.memory().read("look", |read| read.summary(label, key)).unwrap()
    }

    fn sources_of(&self, unit: &MemoryUnit) -> usize {
        let sources = self.memory.engine.memory().read("look", |read| read.sources_of(unit.row));
        sources.unwrap().len()
    }

    fn found(&self, q: &str) -> Vec<String> {
        texts(&self.memory, &RecallQuery::new(q), &Boundary::default())
    }
}

/// What was done to an id.
fn deeds(done: &MaintenanceReport, id: &impl ToString) -> Vec<MaintenanceAction> {
    let id = id.to_string();
    done.steps.iter().filter(|step| step.id == id).map(|step| step.deed).collect()
}

#[test]
fn what_is_fresh_is_kept_and_what_is_stale_is_summarised_or_discarded() {
    let aged = Aged::new();
    let norm = aged.claim("Releases are tagged on Fridays.", |draft| {
        draft.importance = Some(Importance::S0);
        draft.subject = Some("Releases".to_owned());
    });
    let trifle = aged.claim("The walrus mug is on the shelf.", |_| {});
    aged.pass(9);
    assert_eq!(aged.maintain().steps, []);
    assert_eq!(aged.found("walrus").len(), 1);
    aged.pass(1);
    let done = aged.maintain();
    assert_eq!(deeds(&done, &norm.id), [MaintenanceAction::Consolidated]);
    assert_eq!(deeds(&done, &trifle.id), [MaintenanceAction::Discarded]);
    // S0 is told in a summary that is linked to it, and still recalled; S2 is out of search.
    let summary = aged.summary("claims", "project/subject:releases").unwrap();
    assert_eq!((summary.unit.state, aged.sources_of(&summary)), (UnitState::Validated, 1));
    assert!(summary.payload.text().contains("tagged on Fridays"));
    assert_eq!(aged.found("releases tagged"), ["Releases are tagged on Fridays."]);
    assert_eq!(aged.memory.claim(&norm.id).unwrap().state, UnitState::Consolidated);
    assert_eq!(aged.found("walrus"), [""; 0]);
    let buried = aged.unit(&trifle.id).unwrap();
    assert_eq!(buried.unit.archived_as.as_deref(), Some("discarded"));
    assert_eq!(aged.maintain().steps, [], "nothing is left to do");
    // What was discarded is removed for good later, what is told in a summary never.
    aged.pass(31);
    assert_eq!(deeds(&aged.maintain(), &trifle.id), [MaintenanceAction::Removed]);
    assert!(aged.unit(&trifle.id).is_none());
    aged.pass(1_000);
    aged.maintain();
    assert_eq!(aged.memory.claim(&norm.id).unwrap().state, UnitState::Consolidated);
}

#[test]
fn stale_claims_join_the_summary_of_their_subject() {
    let aged = Aged::new();
    let about = |draft: &mut ClaimDraft| {
        draft.importance = Some(Importance::S1);
        draft.subject = Some("Mika".to_owned());
    };
    aged.claim("Mika works on the walrus project.", about);
    aged.pass(10);
    aged.maintain();
    let first = aged.summary("claims", "project/subject:mika").unwrap();
    aged.claim("Mika's phone stays at home on Sundays.", |draft| {
        about(draft);
        draft.boundary_class = BoundaryClass::Pii;
    });
    aged.pass(10);
    aged.maintain();
    let second = aged.summary("claims", "project/subject:mika").unwrap();
    assert_eq!((aged.sources_of(&second), second.unit.boundary), (2, BoundaryClass::Pii));
    assert!(second.payload.text().contains("walrus") && second.payload.text().contains("phone"));
    let old = aged.unit(&first.unit.id).unwrap();
    assert_eq!(old.unit.archived_as.as_deref(), Some("superseded"));
}

#[test]
fn what_holds_in_a_session_is_summarised_for_it_alone() {
    let aged = Aged::new();
    let session = aged.memory.create_session("/p").unwrap();
    aged.claim("The walrus password hint is on the desk.", |draft| {
        draft.importance = Some(Importance::S0);
        draft.scope = Scope::Session;
        draft.session = Some(session.id.clone());
    });
    aged.pass(10);
    aged.maintain();
    let key = format!("{}/topic:", session.id);
    assert!(aged.summary("claims", &key).is_some());
    let find = |session| {
        let request = RecallQuery { session, ..RecallQuery::default() };
        let view = aged.memory.view(request, Boundary::default());
        let types = vec![trefoil_core::UnitKind::Summary];
        let options = crate::FindOptions { types, ..crate::FindOptions::default() };
        view.search("walrus password hint", &options).unwrap().views.len()
    };
    assert_eq!((find(None), find(Some(session.id.clone()))), (0, 1));
}

#[test]
fn feedback_that_it_helped_and_a_pin_make_it_milder() {
    let aged = Aged::new();
    let helped = aged.claim("The walrus mug is on the shelf.", |_| {});
    let pinned = aged.claim("The heron cup is in the sink.", |draft| draft.pin = true);
    let norm = aged.claim("Never wash the tern bowl.", |draft| {
        draft.importance = Some(Importance::S0);
    });
    for claim in [&helped, &norm] {
        let opinion = FeedbackInput::new(claim.id.clone(), FeedbackSignal::Helpful);
        aged.memory.feedback(&opinion).unwrap();
    }
    aged.pass(10);
    let done = aged.maintain();
    for claim in [&helped, &pinned] {
        assert_eq!(deeds(&done, &claim.id), [MaintenanceAction::Consolidated]);
    }
    assert_eq!(deeds(&done, &norm.id), [], "what helped and matters is kept as it is");
}

#[test]
fn what_was_discarded_comes_back_when_it_is_told_again() {
    let aged = Aged::new();
    let text = "The walrus mug is on the shelf.";
    let claim = aged.claim(text, |_| {});
    aged.pass(10);
    aged.maintain();
    assert_eq!(aged.found("walrus"), [""; 0]);
    let again = observed(&aged.memory, text);
    let draft = ClaimDraft::observed(text, again.id);
    let options = trefoil_memory_core::integrate::IntegrateOptions::default();
    let told = aged.memory.integrate(draft, &options, &Boundary::default()).unwrap();
    assert_eq!((told.is_new, &told.claim.id), (false, &claim.id));
    assert_eq!(aged.found("walrus"), [text]);
    aged.pass(9);
    assert_eq!(aged.found("walrus"), [text]);
    aged.pass(22);
    // Its tombstone went with its death.
    assert!(!deeds(&aged.maintain(), &claim.id).contains(&MaintenanceAction::Removed));
}

#[test]
fn a_changed_source_or_age_lowers_what_is_known_and_a_check_raises_it() {
    let aged = Aged::new();
    let file = aged.sources().join("walrus.rs");
    write_at(&file, "fn walrus() {}", START - DAY);
    let source: SourceTag = "file:walrus.rs:1".parse().unwrap();
    let claim = aged.claim("The walrus is a function.", |draft| {
        draft.sources = vec![source.to_string()];
        draft.epistemic_status = Some(EpistemicStatus::Verified);
        draft.ttl = Some(Ttl::days(100).unwrap());
    });
    let status = || aged.memory.claim(&claim.id).unwrap().epistemic_status;
    assert_eq!(deeds(&aged.maintain(), &claim.id), []);
    write_at(&file, "struct Walrus;", START);
    let done = aged.maintain();
    assert_eq!(
        (deeds(&done, &claim.id), status()),
        (vec![MaintenanceAction::Downgraded], EpistemicStatus::Inferred)
    );
    assert_eq!(deeds(&aged.maintain(), &claim.id), [], "it is told once");
    assert!(aged.memory.verify_claim(&claim.id, &[], &aged.probe()).is_err());
    aged.memory.verify_claim(&claim.id, &[source], &aged.probe()).unwrap();
    assert_eq!(deeds(&aged.maintain(), &claim.id), []);
    assert_eq!(status(), EpistemicStatus::Verified);
    let norm = |draft: &mut ClaimDraft| {
        draft.importance = Some(Importance::S0);
        draft.sources = vec!["test:terns".to_owned()];
        draft.epistemic_status = Some(EpistemicStatus::Verified);
    };
    let norm = aged.claim("Terns are tested.", norm);
    let known = |days| {
        aged.pass(days);
        aged.maintain();
        aged.memory.claim(&norm.id).unwrap().epistemic_status
    };
    assert_eq!(
        [9, 1, 9, 1].map(known),
        [
            EpistemicStatus::Verified,
            EpistemicStatus::Inferred,
            EpistemicStatus::Inferred,
            EpistemicStatus::Unknown,
        ]
    );
    // A source that nobody can look at any more has changed as well.
    std::fs::remove_file(&file).unwrap();
    aged.maintain();
    assert_eq!(status(), EpistemicStatus::Inferred);
}

/// Writes a file at a second.
fn write_at(file: &Path, content: &str, second: i64) {
    std::fs::write(file, content).unwrap();
    let at = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second.unsigned_abs());
    std::fs::File::options().append(true).open(file).unwrap().set_modified(at).unwrap();
}

#[test]
fn what_changed_between_a_check_and_the_first_look_has_changed() {
    let aged = Aged::new();
    let claim = |name: &str| {
        aged.claim(&format!("The {name} is a function."), |draft| {
            draft.sources = vec![format!("file:{name}.rs:1")];
            draft.epistemic_status = Some(EpistemicStatus::Verified);
            draft.ttl = Some(Ttl::days(100).unwrap());
        })
    };
    let file = |name: &str| aged.sources().join(format!("{name}.rs"));
    for name in ["walrus", "heron", "tern"] {
        write_at(&file(name), "fn it() {}", START - DAY);
    }
    let [walrus, heron, tern] = ["walrus", "heron", "tern"].map(claim);
    write_at(&file("walrus"), "struct Walrus;", START + 60);
    aged.clock.0.fetch_add(120, Ordering::SeqCst);
    let done = aged.maintain();
    assert_eq!(deeds(&done, &walrus.id), [MaintenanceAction::Downgraded]);
    assert_eq!([&heron, &tern].map(|one| deeds(&done, &one.id)), [vec![], vec![]]);
    // Told again after its source had changed, the claim is of the source as it is now.
    write_at(&file("heron"), "struct Heron;", START + 180);
    aged.clock.0.fetch_add(120, Ordering::SeqCst);
    let draft = ClaimDraft {
        sources: vec!["file:heron.rs:1".to_owned()],
        epistemic_status: Some(EpistemicStatus::Verified),
        ..ClaimDraft::observed(&*heron.text, observed(&aged.memory, &heron.text).id)
    };
    let options = trefoil_memory_core::integrate::IntegrateOptions::default();
    aged.memory.integrate(draft, &options, &Boundary::default()).unwrap();
    assert_eq!(deeds(&aged.maintain(), &heron.id), []);
    assert_eq!(aged.memory.claim(&heron.id).unwrap().epistemic_status, EpistemicStatus::Verified);
}

#[test]
fn decay_twice_is_decay_once() {
    let aged = Aged::new();
    let claim = aged.claim("Mika drinks green tea.", |draft| {
        draft.utility = 1.0;
        draft.ttl = Some(Ttl::UNLIMITED);
    });
    aged.pass(30);
    assert_eq!(aged.memory.decay().unwrap(), 1);
    let once = aged.memory.claim(&claim.id).unwrap();
    assert!((once.utility - 0.5).abs() < 1e-9, "{once:?}");
    assert_eq!((aged.memory.decay().unwrap(), aged.maintain().decayed), (0, 0));
    assert_eq!(aged.memory.claim(&claim.id).unwrap(), once);
}

#[test]
fn an_observation_is_scrubbed_after_it_was_summarised() {
    let aged = Aged::new();
    let told = ObservationDraft {
        actor: Some("Mika".to_owned()),
        ..ObservationDraft::message("The walrus Otto sleeps on the ice of the northern bay.")
    };
    let told = aged.memory.observe(told).unwrap();
    let claim = ClaimDraft::observed("Otto is a walrus.", told.id.clone());
    aged.memory.insert_claim(claim).unwrap();
    aged.memory.work().unwrap();
    aged.pass(29);
    assert_eq!(
        aged.maintain()
            .steps
            .iter()
            .filter(|step| step.deed == MaintenanceAction::Scrubbed)
            .count(),
        0
    );
    aged.pass(1);
    let done = aged.maintain();
    assert_eq!(deeds(&done, &told.id), [MaintenanceAction::Scrubbed]);
    assert_eq!(aged.memory.observation(&told.id).unwrap(), None);
    let unit = aged.unit(&told.id).unwrap();
    let Payload::Episode(kept) = &unit.payload else { panic!("{unit:?}") };
    let digest = trefoil_memory_core::sha256_hex(told.content.as_bytes());
    assert_eq!((kept.digest.as_deref(), kept.actor.as_deref()), (Some(digest.as_str()), None));
    assert_eq!(unit.unit.state, UnitState::Consolidated);
    // The summary says it, and is linked.
    let made = aged.memory.engine.memory().read("look", |read| {
        let made = read.made_from(unit.row)?;
        assert_eq!(read.episodes_by_entity("NAME")?.len(), 0, "no mention is left");
        read.units(&made)
    });
    let summary = made.unwrap().into_iter().find(|one| matches!(one.payload, Payload::Summary(_)));
    assert!(summary.unwrap().payload.text().contains("northern bay"));
    assert_eq!(aged.found("Otto").len(), 1, "the claim stays");
    assert_eq!(deeds(&aged.maintain(), &told.id), []);
}

#[test]
fn a_rolling_summary_keeps_what_happened_what_holds_and_what_is_left_to_do() {
    let aged = Aged::new();
    let tell = |text: &str| _ = observed(&aged.memory, text);
    tell("My name is Mika. I live in Kyoto. I like natto.");
    aged.clock.0.fetch_add(3_600, Ordering::SeqCst);
    tell("I live in Osaka. I don't like natto.");
    tell("2025年1月10日までに会場を予約しなければならない。");
    tell("저는 녹차를 좋아해요. 다음 주 금요일까지 보고서를 보내야 한다.");
    let failure = ObservationDraft {
        kind: ObservationKind::Error,
        ..ObservationDraft::message("The ferry app does not start. It stops at once.")
    };
    let failure = aged.memory.observe(failure).unwrap();
    aged.memory.work().unwrap();
    aged.maintain();
    let unit = aged.memory.engine.memory().read("look", |read| read.summary("rolling", "7d"));
    let record = aged.memory.record(&unit.unwrap().unwrap().unit.id).unwrap().unwrap();
    let body = record.summary.unwrap();
    assert_eq!(body.summary_text, record.text);
    let SharedState { facts, open_loops } = body.shared_state;
    let holds = |text: &str| facts.iter().any(|fact| fact.contains(text));
    assert!(holds("Mika") && holds("Osaka") && holds("녹차"), "{facts:?}");
    assert!(!holds("Kyoto") && !holds("I like natto"), "{facts:?}");
    let day = |text: &str| {
        let open = open_loops.iter().find(|open| open.text.contains(text)).unwrap();
        open.due_at.unwrap().to_string()[..10].to_owned()
    };
    assert_eq!((day("会場"), day("보고서")), ("2025-01-10".into(), "2025-01-10".into()));
    let events: Vec<&str> = body.key_events.iter().map(|event| event.text.as_str()).collect();
    let broken = &body.key_events[0];
    assert_eq!(broken.text, "The ferry app does not start.");
    assert_eq!(broken.unit.as_str(), failure.id.as_str());
    assert!(events.len() == 3 && events.iter().any(|text| text.contains("会場")), "{events:?}");
    // What it says goes with any of what it was made from.
    let receipt = aged.memory.forget_unit(failure.id.as_str()).unwrap();
    assert_eq!((receipt.hits, receipt.removed.get("summary")), (0, Some(&1)), "{receipt:?}");
}

#[test]
fn a_relation_tells_how_sure_it_is_and_when_it_was_first_and_last_seen() {
    let aged = Aged::new();
    let tell = |text: &str| {
        let draft = ClaimDraft {
            subject: Some("Mika".to_owned()),
            predicate: Some("likes".to_owned()),
            object: Some("green tea".to_owned()),
            confidence: Score::clamped(0.75),
            ..ClaimDraft::observed(text, observed(&aged.memory, text).id)
        };
        let options = trefoil_memory_core::integrate::IntegrateOptions::default();
        aged.memory.integrate(draft, &options, &Boundary::default()).unwrap().claim
    };
    let first = tell("Mika likes green tea.");
    aged.pass(2);
    let second = tell("Green tea is what Mika likes.");
    let record = aged.memory.record(second.id.as_str()).unwrap().unwrap();
    let edge = &record.relations[0];
    assert_eq!((&*edge.source, &*edge.target, edge.count), ("mika", "green tea", 2));
    assert!((edge.weight - 1.5).abs() < 1e-6, "{edge:?}");
    let seen = (edge.first_seen_at.as_second(), edge.last_seen_at.as_second());
    assert_eq!(seen, (START, START + 2 * DAY));
    assert_eq!(edge.evidence_claim_id.as_ref(), Some(&first.id));
    assert!(record.entities.iter().any(|one| one.name == "Mika" && one.roles == ["name"]));
    aged.memory.forget_unit(first.id.as_str()).unwrap();
    let record = aged.memory.record(second.id.as_str()).unwrap().unwrap();
    let edge = &record.relations[0];
    assert_eq!((edge.count, edge.first_seen_at.as_second()), (1, START + 2 * DAY));
    assert_eq!(edge.evidence_claim_id.as_ref(), Some(&second.id));
}

#[test]
fn what_was_answered_and_seen_is_forgotten_and_scrubbed_with_what_was_said() {
    let aged = Aged::new();
    let note = ContextNote::new([("place", "the kitchen of the old lighthouse")]).unwrap();
    let turn = ObservationDraft {
        image_summary: Some("a copper kettle on a blue stove".to_owned()),
        context_note: Some(note.clone()),
        ..ObservationDraft::turn("Where is the tea?", "On the shelf near the window.")
    };
    let told = aged.memory.observe(turn).unwrap();
    aged.memory.work().unwrap();
    assert_eq!(aged.memory.observation(&told.id).unwrap(), Some(told.clone()));
    assert_eq!(told.context_note, Some(note));
    let receipt = aged.memory.forget_subject("copper kettle").unwrap();
    assert_eq!((receipt.hits, receipt.removed.get("episode")), (0, Some(&1)), "{receipt:?}");
    let turn = ObservationDraft::turn("Where is the boat?", "In the northern bay.");
    let told = aged.memory.observe(turn).unwrap();
    aged.memory.work().unwrap();
    aged.pass(31);
    assert_eq!(deeds(&aged.maintain(), &told.id), [MaintenanceAction::Scrubbed]);
    let Payload::Episode(kept) = aged.unit(&told.id).unwrap().payload else { panic!() };
    assert_eq!((kept.reply_text, kept.reflection_json), (None, None));
}

/// A summariser that fails.
#[derive(Debug)]
struct Broken;

impl Summarizer for Broken {
    fn fingerprint(&self) -> String {
        "broken".to_owned()
    }

    fn summarize(&self, _: &SummaryRequest<'_>) -> Result<Summary> {
        Err(Error::InvalidState { state: "broken".to_owned(), call: "summarise" })
    }
}

#[test]
fn without_a_summary_nothing_is_deleted() {
    let mut aged = Aged::new();
    let told = observed(&aged.memory, "The walrus sleeps on the ice.");
    aged.pass(30);
    aged.memory = aged.memory.with_summarizer(Arc::new(Broken));
    let now = aged.memory.now().unwrap();
    assert!(aged.memory.summarize_and_delete(now).is_err());
    assert_eq!(aged.memory.observation(&told.id).unwrap(), Some(told.clone()));
    // One that has nothing to say is helped out with the beginnings of what was told.
    aged.memory =
        aged.memory.with_summarizer(Arc::new(trefoil::graph::CentralSentences::default()));
    let yesterday = rows::time(START + 29 * DAY).unwrap();
    assert_eq!(aged.memory.summarize_and_delete(yesterday).unwrap(), []);
    let done = aged.memory.summarize_and_delete(now).unwrap();
    assert_eq!(done.iter().filter(|step| step.deed == MaintenanceAction::Scrubbed).count(), 1);
}

#[test]
fn a_secret_is_not_summarised_and_so_not_deleted() {
    let aged = Aged::new();
    let yaml = Policy::BUILT_IN
        .replace("version: 1.0.0", "version: 1.1.0")
        .replace("secret: { allow: [], escalation: deny }", "secret: { allow: [\"tool:safe\"] }");
    aged.memory.apply_policy(&yaml, false).unwrap();
    let draft = ObservationDraft {
        boundary_class: BoundaryClass::Secret,
        ..ObservationDraft::message("The safe opens with walrus seven.")
    };
    let secret = aged.memory.observe(draft).unwrap();
    aged.pass(40);
    assert_eq!(deeds(&aged.maintain(), &secret.id), [MaintenanceAction::Kept]);
    assert_eq!(aged.memory.observation(&secret.id).unwrap(), Some(secret));
}

#[test]
fn loops_and_contexts_that_have_expired_are_removed() {
    let aged = Aged::new();
    observed(&aged.memory, "I need to renew the passport by Friday.");
    aged.memory.work().unwrap();
    let recalled = aged.memory.recall(&RecallQuery::new("passport"), &Boundary::default()).unwrap();
    let loaded = aged.memory.load_context(&recalled.context.id).unwrap();
    assert_eq!(loaded, recalled.context);
    aged.pass(1);
    let expired = aged.memory.load_context(&recalled.context.id).unwrap_err();
    assert!(matches!(expired, Error::ContextExpired { .. }), "{expired}");
    aged.pass(7);
    let done = aged.maintain();
    assert_eq!(deeds(&done, &recalled.context.id), [MaintenanceAction::Removed]);
    let gone: Vec<_> = done.steps.iter().filter(|step| step.id.starts_with("lop_")).collect();
    assert_eq!((gone.len(), gone[0].deed), (1, MaintenanceAction::Removed));
    let gone = aged.memory.load_context(&recalled.context.id).unwrap_err();
    assert!(matches!(gone, Error::ContextExpired { .. }), "{gone}");
}

#[test]
fn rolling_summaries_are_made_when_they_are_due() {
    let aged = Aged::new();
    let tell = |text: &str, change: &dyn Fn(&mut ObservationDraft)| {
        let mut draft = ObservationDraft::message(text);
        draft.tags = Tags::new(["Tea"]).unwrap();
        change(&mut draft);
        aged.memory.observe(draft).unwrap();
    };
    tell("Mika drank green tea at the station.", &|_| {});
    let done = aged.maintain();
    assert_eq!(done.steps.len(), 1, "one episode has no summary of its topic: {done:?}");
    let week = aged.summary("rolling", "7d").unwrap();
    assert_eq!((week.unit.state, aged.sources_of(&week)), (UnitState::Validated, 1));
    aged.clock.0.fetch_add(60, Ordering::SeqCst);
    tell("Mika bought black tea in Uji.", &|_| {});
    tell("Mika's address is on the tea box.", &|draft| draft.boundary_class = BoundaryClass::Pii);
    assert_eq!(aged.maintain().steps.len(), 1, "the topic; the week has to wait");
    let topic = aged.summary("topic", "tea").unwrap();
    assert_eq!((aged.sources_of(&topic), topic.unit.boundary), (2, BoundaryClass::Internal));
    assert!(!topic.payload.text().contains("address"), "personal data was not asked for");
    aged.clock.0.fetch_add(6 * 3_600, Ordering::SeqCst);
    let steps = aged.maintain().steps;
    assert_eq!((steps.len(), steps[0].deed), (1, MaintenanceAction::Summarized));
    assert_ne!(aged.summary("rolling", "7d").unwrap().unit.id, week.unit.id);
    aged.pass(1);
    assert_eq!(aged.maintain().steps, [], "nothing newer has happened");
    tell("Mika sold the black tea.", &|_| {});
    let personal = MaintainOptions { with_personal_data: true, ..MaintainOptions::default() };
    aged.maintain_with(personal);
    let week = aged.summary("rolling", "7d").unwrap();
    assert_eq!((aged.sources_of(&week), week.unit.boundary), (4, BoundaryClass::Pii));
}

/// Says nothing in short until it is told to.
#[derive(Debug, Default)]
struct Silent(std::sync::atomic::AtomicBool);

impl Summarizer for Silent {
    fn fingerprint(&self) -> String {
        "silent".to_owned()
    }

    fn summarize(&self, request: &SummaryRequest<'_>) -> Result<Summary> {
        if self.0.load(Ordering::SeqCst) {
            return trefoil::graph::CentralSentences::of_notes().summarize(request);
        }
        Err(Error::SearchFailed { query: "q".to_owned(), reason: "on purpose".to_owned() })
    }
}

#[test]
fn a_summary_of_personal_data_that_failed_is_made_whoever_takes_it_up() {
    let mut aged = Aged::new();
    let silent = Arc::new(Silent::default());
    aged.memory = aged.memory.with_summarizer(Arc::clone(&silent) as Arc<dyn Summarizer>);
    for text in ["Mika's address is Rose Lane 7.", "Mika's address was Mill Road 2."] {
        let draft = ObservationDraft {
            boundary_class: BoundaryClass::Pii,
            tags: Tags::new(["Moving"]).unwrap(),
            ..ObservationDraft::message(text)
        };
        aged.memory.observe(draft).unwrap();
    }
    let personal = MaintainOptions { with_personal_data: true, ..MaintainOptions::default() };
    aged.maintain_with(personal);
    assert!(aged.summary("topic", "moving").is_none());
    silent.0.store(true, Ordering::SeqCst);
    aged.clock.0.fetch_add(60, Ordering::SeqCst);
    // A pass that makes no such summaries itself finishes no job without doing it.
    aged.maintain();
    let topic = aged.summary("topic", "moving").unwrap();
    assert_eq!((topic.unit.boundary, aged.sources_of(&topic)), (BoundaryClass::Pii, 2));
}

#[test]
fn a_dry_run_tells_what_would_be_done_and_does_nothing() {
    let aged = Aged::new();
    aged.claim("Releases are tagged on Fridays.", |draft| draft.importance = Some(Importance::S0));
    aged.claim("The walrus mug is on the shelf.", |_| {});
    observed(&aged.memory, "I need to renew the passport by Friday.");
    aged.memory.work().unwrap();
    aged.pass(31);
    let dry = MaintainOptions { dry_run: true, ..MaintainOptions::default() };
    let state = || {
        let memory = aged.memory.engine.memory();
        let read = memory.read("look", |read| {
            let walked = read.claims_after(None, 99)?;
            Ok((walked, read.events(None, 0, 999)?, read.summary("rolling", "7d")?))
        });
        read.unwrap()
    };
    let before = state();
    let told = aged.maintain_with(dry);
    assert_eq!(state(), before);
    let done = aged.maintain();
    // New ids aside, it is what happens then.
    let deeds = |of: &MaintenanceReport| of.steps.iter().map(|step| step.deed).collect::<Vec<_>>();
    assert!(told.dry_run && told.decayed > 0);
    assert_eq!((told.decayed, deeds(&told)), (done.decayed, deeds(&done)));
    assert!(
        [
            MaintenanceAction::Consolidated,
            MaintenanceAction::Discarded,
            MaintenanceAction::Scrubbed,
            MaintenanceAction::Removed
        ]
        .iter()
        .all(|deed| deeds(&told).contains(deed))
    );
}

proptest! {
    // Each case writes to a disk.
    #[test]
    fn looking_after_memory_is_idempotent_and_gives_up_nothing_that_matters(
        claims in prop::collection::vec((0..4_usize, 1_i64..30, 0..3_usize, -2.0..2.0), 1..5),
        days in 0_i64..90,
    ) {
        thread_local! { static AGED: Aged = Aged::new(); }
        AGED.with(|aged| {
            let seen = observed(&aged.memory, "Walruses were seen.").id;
            let mut made = Vec::new();
            for (number, (importance, ttl, class, utility)) in claims.into_iter().enumerate() {
                let now = aged.clock.now();
                let text = format!("Walrus {number} of {now} sleeps on the ice.");
                let draft = ClaimDraft {
                    importance: Some(Importance::ALL[importance]),
                    ttl: Some(Ttl::days(u32::try_from(ttl).unwrap()).unwrap()),
                    boundary_class: BoundaryClass::ALL[class],
                    utility,
                    quality: Score::ONE,
                    ..ClaimDraft::observed(text, seen.clone())
                };
                made.push(aged.memory.insert_claim(draft).unwrap());
            }
            aged.pass(days);
            aged.maintain();
            let state = |claim: &Claim| aged.unit(&claim.id);
            let once: Vec<_> = made.iter().map(state).collect();
            let again = aged.maintain();
            prop_assert_eq!((again.decayed, &again.steps), (0, &Vec::new()));
            prop_assert_eq!(&made.iter().map(state).collect::<Vec<_>>(), &once);
            for (claim, unit) in made.iter().zip(once) {
                let archived = unit.unwrap().unit.state == UnitState::Archived;
                prop_assert!(!archived || claim.importance >= Importance::S2);
            }
            aged.pass(200);
            Ok(())
        })?;
    }
}
