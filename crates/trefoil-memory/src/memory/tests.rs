//! Memory on a real engine, without a model.

mod context;
mod maintain;
mod revise;

use trefoil::{
    Engine, EngineConfig, Model,
    memory::{MemoryUnit, MemoryUpkeep},
};
use trefoil_core::BoundaryClass;

use super::*;
use crate::{
    AllowTag, Boundary, ClaimDraft, FeedbackSignal, InvariantDefinition, Origin, Requester, Scope,
    recall::RecallQuery,
};
use trefoil_memory_core::{extract::RuleExtractor, integrate::IntegrateOptions};

/// Words only, and nothing is learnt unless a test asks for it.
fn by_hand() -> EngineConfig {
    let memory = MemoryUpkeep::ASKED_FOR;
    EngineConfig { model: Model::None, memory, ..EngineConfig::default() }
}

fn memory() -> (tempfile::TempDir, Memory) {
    let dir = tempfile::tempdir().unwrap();
    let config = by_hand();
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
    let found = memory.recall(query, boundary).unwrap();
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
    let found = memory.recall(&query, &Boundary::default()).unwrap();
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
    let denied = memory.recall(&other, &boundary).unwrap_err();
    assert!(matches!(denied, Error::BoundaryDenied { .. }), "{denied}");
}

#[test]
fn feedback_is_heard_once_a_minute_and_all_of_it_or_nothing() {
    let (_dir, memory) = memory();
    let tea = claim(&memory, "Mika drinks green tea.");
    let helpful = FeedbackInput::new(tea.id.clone(), FeedbackSignal::Helpful);
    let outcome = memory.feedback(&helpful).unwrap();
    assert!(outcome.updated.utility > outcome.previous.utility && outcome.feedback.is_some());
    let again = memory.feedback(&helpful).unwrap();
    assert_eq!((again.feedback, again.updated), (None, again.previous));
    let kept = memory.claim(&tea.id).unwrap();
    assert!((kept.utility - 0.1).abs() < 1e-9, "{kept:?}");
    let nobody = FeedbackInput::new(ClaimId::new("clm_none").unwrap(), FeedbackSignal::Harmful);
    let harmful = FeedbackInput::new(tea.id.clone(), FeedbackSignal::Harmful);
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
    let input = FeedbackInput {
        duplicate_of: Some(first.id.clone()),
        ..FeedbackInput::new(second.id.clone(), FeedbackSignal::Duplicate)
    };
    let outcome = memory.feedback(&input).unwrap();
    assert_eq!(outcome.representative.as_ref(), Some(&first.id));
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

impl ClaimExtractor for Forgetful {
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
    assert_eq!((worked.done, worked.failed), (5, 0));
    let found = texts(&memory, &RecallQuery::new("Kyoto"), &boundary);
    assert_eq!(found.len(), 1, "{found:?}");
    let loops = |now| memory.engine.memory().read("look", |read| read.open_loops(now, 9)).unwrap();
    let now = memory.engine.memory().now();
    assert_eq!(loops(now).len(), 1);
    assert_eq!(memory.work().unwrap(), WorkReport::default(), "nothing is left");
    // Told again: one claim with two witnesses. Told otherwise: the newer holds.
    observed(&memory, "I live in Kyoto.");
    memory.work().unwrap();
    let query = RecallQuery::new("Kyoto");
    let again = memory.recall(&query, &boundary).unwrap();
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

fn ruled(rule: &str, scope: &str) -> Boundary {
    let one = InvariantDefinition {
        name: "asked by".to_owned(),
        applies_to: vec![scope.to_owned()],
        rule: rule.to_owned(),
    };
    Boundary { invariants: vec![one], ..Boundary::default() }
}

fn asked_by(actor: &str, tool: &str) -> Requester {
    let named = |name: &str| (!name.is_empty()).then(|| name.to_owned());
    Requester { actor: named(actor), tool: named(tool) }
}

#[test]
fn rules_see_who_recalls_and_with_what() {
    let (_dir, memory) = memory();
    let kept = claim(&memory, "Mika prefers the window seat.");
    let boundary = ruled("actor == 'mika' && tool != 'mail'", "*");
    let query = |requester: Requester| RecallQuery { requester, ..RecallQuery::new("window seat") };
    for (actor, tool, sees) in [
        ("mika", "", true),
        ("mika", "calendar", true),
        ("otto", "", false),
        ("", "", false),
        ("mika", "mail", false),
    ] {
        // What is not there is undefined, and a comparison with it does not hold.
        let sees = sees && !tool.is_empty();
        let query = query(asked_by(actor, tool));
        assert_eq!(texts(&memory, &query, &boundary).len(), usize::from(sees), "{actor} {tool}");
        let view = memory.view(query.clone(), boundary.clone());
        let options = crate::FindOptions {
            types: vec![trefoil_core::UnitKind::Claim],
            ..crate::FindOptions::default()
        };
        let found = view.search("window seat", &options).unwrap().views.len();
        assert_eq!(found, usize::from(sees), "{actor} {tool}");
        let packed = memory.context(
            &crate::ContextRequest { query: query.clone(), ..crate::ContextRequest::new("") },
            &boundary,
        );
        assert_eq!(packed.unwrap().pack.text.contains("window"), sees, "{actor} {tool}");
        let promoted = memory.promote(&kept.id, Scope::Principle, &query, &boundary);
        assert_eq!(promoted.is_ok(), sees, "{actor} {tool}");
        if sees {
            memory
                .write("put it back", |write| {
                    super::learn::put_claim(
                        write,
                        &kept,
                        trefoil::memory::PatchReason::AdminUpdateUnitMeta,
                    )
                })
                .unwrap();
        }
    }
}

#[test]
fn rules_see_who_tells_a_claim() {
    let (_dir, memory) = memory();
    let boundary = ruled("actor == 'mika'", "*");
    let integrate = |actor: &str, text: &str| {
        let requester = asked_by(actor, "");
        let options = IntegrateOptions { requester, ..IntegrateOptions::default() };
        let draft = ClaimDraft::observed(text, observed(&memory, text).id);
        memory.integrate(draft, &options, &boundary)
    };
    assert!(matches!(integrate("otto", "Owls hunt."), Err(Error::BoundaryDenied { .. })));
    assert!(integrate("mika", "Owls hunt.").is_ok());
    // A rule of the policy sees who told an observation, and which tool it comes from.
    let rule = "invariants: [{ name: who, applies_to: [\"*\"], rule: \"tool == 'calendar' && actor == 'mika'\" }]";
    let yaml = Policy::BUILT_IN
        .replace("invariants: []", rule)
        .replace("version: 1.0.0", "version: 1.1.0");
    memory.apply_policy(&yaml, false).unwrap();
    for (actor, tool, town) in
        [("mika", "calendar", "Kyoto"), ("otto", "calendar", "Nara"), ("mika", "mail", "Uji")]
    {
        let draft = ObservationDraft {
            actor: Some(actor.to_owned()),
            source_type: crate::SourceType::Tool,
            source_id: Some(tool.to_owned()),
            ..ObservationDraft::message(format!("I live in {town}."))
        };
        memory.observe(draft).unwrap();
    }
    assert_eq!(memory.work().unwrap().failed, 0);
    let requester = asked_by("mika", "calendar");
    let query = RecallQuery { requester, ..RecallQuery::new("") };
    let learnt = texts(&memory, &query, &Boundary::default());
    assert_eq!(learnt, ["mika: I live in Kyoto.", "Owls hunt."]);
}

#[test]
fn a_context_tells_who_asked_and_when() {
    let (_dir, memory) = memory();
    claim(&memory, "The ferry to Sado leaves at nine.");
    let requester = asked_by("mika", "calendar");
    let query = RecallQuery { requester, ..RecallQuery::new("ferry") };
    let found = memory.recall(&query, &Boundary::default()).unwrap();
    let asked = found.context.provenance.clone().unwrap();
    assert_eq!(
        (asked.actor.as_deref(), asked.note.as_deref()),
        (Some("mika"), Some("tool: calendar"))
    );
    assert_eq!(memory.load_context(&found.context.id).unwrap(), found.context);
    let packed = memory
        .context(
            &crate::ContextRequest { query, ..crate::ContextRequest::new("") },
            &Boundary::default(),
        )
        .unwrap();
    assert_eq!(memory.load_context(&packed.context.id).unwrap(), packed.context);
    assert_eq!(packed.context.provenance.unwrap().actor.as_deref(), Some("mika"));
}

#[test]
fn a_policy_cuts_out_what_it_names_itself() {
    let (_dir, memory) = memory();
    let yaml = Policy::BUILT_IN
        .replace("version: 1.0.0", "version: 1.2.0")
        .replace(
            "\nredact: [private, secret, email, card, phone]",
            "\nredact: [email, { name: ticket, pattern: \"TICKET-[0-9]+\" }]",
        )
        .replace(
            "redact: [private, secret, email, card, phone], escalation",
            "redact: [{ name: seat, pattern: \"row [0-9]+\" }], escalation",
        );
    memory.apply_policy(&yaml, false).unwrap();
    let told = observed(&memory, "ＴＩＣＫＥＴ-42 of mika@example.org, row 7.");
    assert_eq!(told.content, "[ticket] of [email], row 7.");
    assert_eq!(told.boundary_class, BoundaryClass::Pii);
    assert_eq!(memory.redact("TICKET-1, 090-1234-5678").unwrap(), "[ticket], 090-1234-5678");
    // What the class cuts out is cut out when it is shown.
    let draft = ClaimDraft {
        boundary_class: BoundaryClass::Pii,
        ..ClaimDraft::observed("Mika sits in row 7.", told.id)
    };
    memory.insert_claim(draft).unwrap();
    let mut boundary = Boundary::default();
    boundary.boundary_classes.insert(BoundaryClass::Pii);
    boundary.allow.insert(AllowTag::new("tool:*").unwrap());
    let allow = vec![AllowTag::new("tool:contact-lookup").unwrap()];
    let query = RecallQuery { allow, ..RecallQuery::new("where does Mika sit") };
    assert_eq!(texts(&memory, &query, &boundary), ["Mika sits in [seat]."]);
    // The stored policy reads as it was written, and every mistake is told.
    let policy = memory.policy().unwrap();
    assert_eq!(Policy::from_yaml(&serde_json::to_string(&policy).unwrap()).unwrap(), policy);
    let wrong = yaml.replace("TICKET-[0-9]+", "TICKET-[").replace("name: seat", "name: phone");
    let Err(Error::InvalidPolicy { errors }) = Policy::from_yaml(&wrong) else { panic!() };
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(errors[0].contains("`boundary_classes.pii.redact[0]`"), "{errors:?}");
    assert!(errors[1].contains("`redact[1]`") && errors[1].contains("TICKET-["), "{errors:?}");
}
