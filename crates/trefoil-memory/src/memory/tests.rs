//! Memory on a real engine, without a model.

mod context;
mod maintain;
mod revise;

use trefoil::{Engine, EngineConfig, Model, memory::MemoryUnit};
use trefoil_core::BoundaryClass;

use super::*;
use crate::{
    AllowTag, Boundary, ClaimDraft, FeedbackSignal, InvariantDefinition, Origin, Scope,
    recall::RecallQuery,
};

fn memory() -> (tempfile::TempDir, Memory) {
    let dir = tempfile::tempdir().unwrap();
    let config = EngineConfig { model: Model::None, ..EngineConfig::default() };
    let engine = Engine::open_with(dir.path().join("index"), config).unwrap();
    (dir, Memory::with_ids(Arc::new(engine), IdGenerator::seeded(1)))
}

fn observed(memory: &Memory, text: &str) -> Observation {
    memory.observe(ObservationDraft::message(text)).unwrap()
}

fn claim(memory: &Memory, text: &str) -> Claim {
    let observation = observed(memory, text);
    memory.insert_claim(ClaimDraft::observed(text, observation.id)).unwrap()
}

fn texts(memory: &Memory, query: &RecallQuery, boundary: &Boundary) -> Vec<String> {
    let found = memory.activate(query, boundary).unwrap();
    found.claims.into_iter().map(|one| one.claim.text).collect()
}

#[test]
fn an_observation_is_stored_without_what_must_not_be_kept() {
    let (_dir, memory) = memory();
    let session = memory.create_session("/project").unwrap();
    let draft = ObservationDraft {
        session: Some(session.id.clone()),
        ..ObservationDraft::message("Write to mika@example.org about the ferry.")
    };
    let stored = memory.observe(draft).unwrap();
    assert!(stored.content.contains("[email]") && !stored.content.contains("mika@"), "{stored:?}");
    assert_eq!(stored.boundary_class, BoundaryClass::Pii);
    assert_eq!(memory.observation(&stored.id).unwrap(), Some(stored));
    assert!(memory.session(&session.id).unwrap().unwrap().token_count > 3);
    let ended = memory.end_session(&session.id, "booked").unwrap();
    assert_eq!(ended.summary.as_deref(), Some("booked"));
    let again = memory.end_session(&session.id, "booked").unwrap_err();
    assert!(matches!(again, Error::InvalidState { .. }), "{again}");
}

#[test]
fn a_claim_is_recalled_with_its_evidence_and_its_context_is_saved() {
    let (_dir, memory) = memory();
    let ferry = claim(&memory, "The ferry to Sado leaves at nine.");
    claim(&memory, "지훈은 녹차를 좋아한다.");
    let query =
        RecallQuery { include_meta: true, ..RecallQuery::new("when does the ferry leave?") };
    let found = memory.activate(&query, &Boundary::default()).unwrap();
    assert_eq!(found.claims[0].claim, ferry);
    assert_eq!(found.claims.len(), 1);
    assert!(found.claims[0].breakdown.is_some_and(|one| one.text > 0.3 && one.vector == 0.0));
    assert_eq!(found.evidences[0].claim_id, ferry.id);
    let Origin::Observed(observation) = &ferry.origin else { panic!() };
    assert_eq!(found.evidences[0].observation_id.as_ref(), Some(observation));
    let saved = memory.engine.memory().read("look", |rows| rows.context(found.context.id.as_str()));
    assert_eq!(saved.unwrap().unwrap().items.len(), 1);
    let twice = memory.insert_claim(ClaimDraft::observed(&*ferry.text, observation.clone()));
    assert!(matches!(twice, Err(Error::DuplicateClaim { existing, .. }) if existing == ferry.id));
    assert_eq!(texts(&memory, &RecallQuery::new("녹차"), &Boundary::default()).len(), 1);
    assert_eq!(texts(&memory, &RecallQuery::new(""), &Boundary::default()).len(), 2);
}

#[test]
fn what_a_request_may_not_see_is_not_found() {
    let (_dir, memory) = memory();
    let observation = observed(&memory, "seen");
    let session = memory.create_session("/p").unwrap();
    let insert = |text: &str, change: &dyn Fn(&mut ClaimDraft)| {
        let mut draft = ClaimDraft::observed(text, observation.id.clone());
        change(&mut draft);
        memory.insert_claim(draft).unwrap();
    };
    insert("the walrus is public", &|draft| draft.boundary_class = BoundaryClass::Public);
    insert("the walrus is personal", &|draft| draft.boundary_class = BoundaryClass::Pii);
    insert("the walrus of the session", &|draft| {
        draft.scope = Scope::Session;
        draft.session = Some(session.id.clone());
    });
    let query = RecallQuery::new("walrus");
    let boundary = Boundary::default();
    assert_eq!(texts(&memory, &query, &boundary), ["the walrus is public"]);
    let of_session = RecallQuery { session: Some(session.id.clone()), ..query.clone() };
    assert_eq!(texts(&memory, &of_session, &boundary).len(), 2);
    let invariants = vec![InvariantDefinition {
        name: "no sessions".to_owned(),
        applies_to: vec!["*".to_owned()],
        rule: "claim.scope != \"session\"".to_owned(),
    }];
    let ruled = Boundary { invariants, ..boundary.clone() };
    assert_eq!(texts(&memory, &of_session, &ruled), ["the walrus is public"]);
    let other = RecallQuery { allow: vec![AllowTag::new("nothing").unwrap()], ..query };
    let denied = memory.activate(&other, &boundary).unwrap_err();
    assert!(matches!(denied, Error::BoundaryDenied { .. }), "{denied}");
}

#[test]
fn feedback_is_heard_once_a_minute_and_all_of_it_or_nothing() {
    let (_dir, memory) = memory();
    let tea = claim(&memory, "Mika drinks green tea.");
    let helpful = Opinion::new(tea.id.clone(), FeedbackSignal::Helpful);
    let heard = memory.feedback(&helpful).unwrap();
    assert!(heard.updated.utility > heard.previous.utility && heard.feedback.is_some());
    let again = memory.feedback(&helpful).unwrap();
    assert_eq!((again.feedback, again.updated), (None, again.previous));
    let kept = memory.claim(&tea.id).unwrap();
    assert!((kept.utility - 0.1).abs() < 1e-9, "{kept:?}");
    let nobody = Opinion::new(ClaimId::new("clm_none").unwrap(), FeedbackSignal::Harmful);
    let harmful = Opinion::new(tea.id.clone(), FeedbackSignal::Harmful);
    let error = memory.feedback_batch(&[harmful.clone(), nobody]).unwrap_err();
    assert!(matches!(error, Error::UnknownClaim { .. }), "{error}");
    assert_eq!(memory.claim(&tea.id).unwrap(), kept);
    memory.feedback(&harmful).unwrap();
    assert!(memory.claim(&tea.id).unwrap().confidence < kept.confidence);
}

#[test]
fn a_duplicate_gives_its_evidence_to_the_claim_that_is_named() {
    let (_dir, memory) = memory();
    let [first, second] =
        ["Mika drinks green tea.", "Mika's drink is green tea."].map(|text| claim(&memory, text));
    let opinion = Opinion {
        duplicate_of: Some(first.id.clone()),
        ..Opinion::new(second.id.clone(), FeedbackSignal::Duplicate)
    };
    let heard = memory.feedback(&opinion).unwrap();
    assert_eq!(heard.representative.as_ref(), Some(&first.id));
    let evidences = |id: &ClaimId| {
        let read = memory.engine.memory().read("look", |read| {
            let row = read.row_of(id.as_str())?.unwrap();
            Ok(read.evidences(row)?.len())
        });
        read.unwrap()
    };
    assert_eq!([&first.id, &second.id].map(evidences), [2, 0]);
    assert!(memory.claim(&second.id).unwrap().utility < 0.0);
}

#[test]
fn what_is_personal_is_learnt_and_shown_within_its_boundary_only() {
    let (_dir, memory) = memory();
    let told = observed(&memory, "I live in Kyoto. My mail is mika@example.org.");
    assert_eq!(told.boundary_class, BoundaryClass::Pii);
    assert_eq!(memory.work().unwrap().failed, 0);
    let learnt = memory.engine.memory().read("look", |read| {
        let about = read.units_about("kyoto")?;
        read.units(&about)
    });
    let is_claim = |unit: &&MemoryUnit| unit.unit.id.starts_with("clm_");
    let classes: Vec<_> =
        learnt.unwrap().iter().filter(is_claim).map(|unit| unit.unit.boundary).collect();
    assert_eq!(classes, [BoundaryClass::Pii]);
    assert_eq!(texts(&memory, &RecallQuery::new("Kyoto"), &Boundary::default()), [""; 0]);
}

/// Forgets what it reads before it tells what it found.
#[derive(Debug)]
struct Forgetful(Arc<Engine>);

impl Extractor for Forgetful {
    fn extract(
        &self,
        observation: &Observation,
        boundary: &Boundary,
    ) -> Result<crate::extract::Extracted> {
        let found = RuleExtractor::default().extract(observation, boundary)?;
        let memory = self.0.memory();
        let row = memory.read("look", |read| read.row_of(observation.id.as_str()))?;
        memory.forget_units(&row.into_iter().collect::<Vec<_>>())?;
        Ok(found)
    }
}

#[test]
fn what_is_forgotten_while_it_is_read_is_not_learnt() {
    let (_dir, memory) = memory();
    let engine = Arc::clone(&memory.engine);
    let memory = memory.with_extractor(Arc::new(Forgetful(engine)));
    observed(&memory, "I live in Kyoto. I need to renew the passport by Friday.");
    assert_eq!(memory.work().unwrap().failed, 0);
    let left = memory
        .engine
        .memory()
        .read("look", |read| Ok((read.units_about("kyoto")?, read.units_about("passport")?)));
    assert_eq!(left.unwrap(), (Vec::new(), Vec::new()));
}

#[test]
fn work_turns_what_was_said_into_claims_and_loops_once() {
    let (_dir, memory) = memory();
    let boundary = Boundary::default();
    observed(&memory, "I live in Kyoto. I need to renew the passport by Friday.");
    let worked = memory.work().unwrap();
    assert_eq!((worked.done, worked.failed), (4, 0));
    let found = texts(&memory, &RecallQuery::new("Kyoto"), &boundary);
    assert_eq!(found.len(), 1, "{found:?}");
    let loops = |now| memory.engine.memory().read("look", |read| read.open_loops(now, 9)).unwrap();
    let now = memory.engine.memory().now();
    assert_eq!(loops(now).len(), 1);
    assert_eq!(memory.work().unwrap(), Worked::default(), "nothing is left");
    // Told again: one claim with two witnesses. Told otherwise: the newer holds.
    observed(&memory, "I live in Kyoto.");
    memory.work().unwrap();
    let query = RecallQuery::new("Kyoto");
    let again = memory.activate(&query, &boundary).unwrap();
    assert_eq!((again.claims.len(), again.evidences.len()), (1, 2));
}

#[test]
fn policies_are_kept_and_a_dry_run_applies_nothing() {
    let (_dir, memory) = memory();
    let before = memory.policy().unwrap();
    let yaml = Policy::BUILT_IN.replace(&before.version.to_string(), "9.1.0");
    assert_eq!(memory.apply_policy(&yaml, true).unwrap().to_string(), "9.1.0");
    assert_eq!(memory.policy().unwrap(), before);
    let version = memory.apply_policy(&yaml, false).unwrap();
    assert_eq!(memory.policy().unwrap().version, version);
    assert_eq!(memory.policy_of(&version).unwrap().version, version);
    assert_eq!(memory.policy_of(&before.version).unwrap(), before);
    assert_eq!(memory.policy_text(Some(&version)).unwrap(), yaml);
    let missing = memory.policy_of(&"9.2.0".parse().unwrap()).unwrap_err();
    assert!(matches!(missing, Error::PolicyMissing { version: Some(_) }), "{missing}");
}

#[test]
fn what_is_forgotten_takes_its_claims_along() {
    let (_dir, memory) = memory();
    let kept = claim(&memory, "The ferry to Sado leaves at nine.");
    let gone = claim(&memory, "Ms Tanaka prefers the window seat.");
    let receipt = memory.forget_subject("tanaka").unwrap();
    assert_eq!((receipt.hits, receipt.removed.get("claim")), (0, Some(&1)), "{receipt:?}");
    assert!(matches!(memory.claim(&gone.id), Err(Error::UnknownClaim { .. })));
    let Origin::Observed(observation) = &kept.origin else { panic!() };
    let receipt = memory.forget_unit(observation.as_str()).unwrap();
    assert_eq!((receipt.hits, receipt.removed.len()), (0, 2));
    assert!(memory.claim(&kept.id).is_err());
}
