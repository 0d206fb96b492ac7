//! Claims that are integrated, distilled, promoted and taken back.

use trefoil_core::{Score, UnitState};

use super::*;
use crate::Ttl;
use trefoil_memory_core::integrate::IntegrateOptions;

fn about_mika(memory: &Memory, text: &str, change: impl FnOnce(&mut ClaimDraft)) -> Claim {
    let observation = observed(memory, text);
    let mut draft = ClaimDraft::observed(text, observation.id);
    draft.subject = Some("Mika".to_owned());
    change(&mut draft);
    memory.insert_claim(draft).unwrap()
}

/// A claim about Mika in few words, from an observation that says it.
fn fact_about_mika(memory: &Memory, text: &str, predicate: &str, object: &str) -> ClaimDraft {
    ClaimDraft {
        subject: Some("Mika".to_owned()),
        predicate: Some(predicate.to_owned()),
        object: Some(object.to_owned()),
        ..ClaimDraft::observed(text, observed(memory, text).id)
    }
}

#[test]
fn what_is_integrated_is_redacted_and_within_the_boundary() {
    let (_dir, memory) = memory();
    let seen = observed(&memory, "seen").id;
    let integrate = |text: &str, boundary: &Boundary| {
        let draft = ClaimDraft::observed(text, seen.clone());
        memory.integrate(draft, &IntegrateOptions::default(), boundary)
    };
    let denied = integrate("Mika's mail is mika@example.org.", &Boundary::default()).unwrap_err();
    assert!(matches!(denied, Error::BoundaryDenied { .. }), "{denied}");
    let mut wide = Boundary::default();
    wide.boundary_classes.insert(BoundaryClass::Pii);
    let kept = integrate("Mika's mail is mika@example.org.", &wide).unwrap().claim;
    assert_eq!((&*kept.text, kept.boundary_class), ("Mika's mail is [email].", BoundaryClass::Pii));
    let inserted = ClaimDraft::observed("Otto's mail is otto@example.org.", seen.clone());
    assert_eq!(memory.insert_claim(inserted).unwrap().boundary_class, BoundaryClass::Pii);
    let personal = ObservationDraft {
        boundary_class: BoundaryClass::Pii,
        ..ObservationDraft::message("Otto was seen.")
    };
    let personal = memory.observe(personal).unwrap().id;
    let derived = memory.insert_claim(ClaimDraft::observed("Otto is there.", personal)).unwrap();
    assert_eq!(derived.boundary_class, BoundaryClass::Pii, "the class of what it comes from");
    let secret = ClaimDraft {
        boundary_class: BoundaryClass::Secret,
        ..ClaimDraft::observed("The safe opens with seven.", seen.clone())
    };
    assert!(matches!(memory.insert_claim(secret), Err(Error::BoundaryDenied { .. })));
    let session = memory.create_session("/p").unwrap();
    let ended = memory.end_session(&session.id, "wrote to mika@example.org").unwrap();
    assert_eq!(ended.summary.as_deref(), Some("wrote to [email]"));
}

#[test]
fn told_twice_is_one_claim_and_the_newest_goal_holds() {
    let (_dir, memory) = memory();
    let integrate = |text: &str, goal: &str| {
        let draft = fact_about_mika(&memory, text, "goal", goal);
        memory.integrate(draft, &IntegrateOptions::default(), &Boundary::default()).unwrap()
    };
    let first = integrate("Mika wants to see walruses.", "walruses");
    let again = integrate("Mika wants to see walruses.", "walruses");
    assert_eq!((first.is_new, again.is_new, &again.claim.id), (true, false, &first.claim.id));
    let later = integrate("Mika wants to see herons.", "herons");
    assert_eq!(later.ended.len(), 1);
    assert!(memory.claim(&first.claim.id).unwrap().valid_to.is_some());
}

#[test]
fn a_fact_is_a_relation_of_the_graph() {
    let (_dir, memory) = memory();
    let integrate = |text: &str, object: &str, update_graph| {
        let draft = fact_about_mika(&memory, text, "lives_in", object);
        let options = IntegrateOptions { update_graph, ..IntegrateOptions::default() };
        let kept = memory.integrate(draft, &options, &Boundary::default()).unwrap().claim;
        memory.record(kept.id.as_str()).unwrap().unwrap()
    };
    let kept = integrate("Mika lives in Kyoto.", "Kyoto", true);
    assert_eq!(kept.mentions, ["Mika", "Kyoto"]);
    let said: Vec<_> =
        kept.relations.iter().map(|r| (&*r.source, &*r.relation, &*r.target)).collect();
    assert_eq!(said, [("mika", "lives_in", "kyoto")]);
    let apart = integrate("Mika lives in Nara.", "Nara", false);
    assert_eq!((apart.mentions, apart.relations), (vec![], vec![]));
}

#[test]
fn an_entity_tells_what_holds_of_it_and_a_relation_when_it_held() {
    let (dir, memory) = memory();
    let integrate = |text: &str, predicate: &str, object: &str| {
        let draft = fact_about_mika(&memory, text, predicate, object);
        memory.integrate(draft, &IntegrateOptions::default(), &Boundary::default()).unwrap().claim
    };
    let record = |claim: &Claim| memory.record(claim.id.as_str()).unwrap().unwrap();
    let attrs = |claim: &Claim| {
        let mika = record(claim).entities.into_iter().find(|one| one.name == "Mika");
        serde_json::to_string(&mika.unwrap().attrs).unwrap()
    };
    let first = integrate("Mika wants to see walruses.", "goal", "walruses");
    let likes = integrate("Mika likes green tea.", "likes", "green tea");
    integrate("Mika likes walks.", "likes", "walks");
    let before = r#"{"goal":["walruses"],"likes":["green tea","walks"]}"#;
    assert_eq!(attrs(&likes), before);
    assert_eq!(record(&first).relations[0].valid_to, None);
    // What takes its place ends it, and what is taken back does not count.
    let later = integrate("Mika wants to see herons.", "goal", "herons");
    assert_eq!(attrs(&later), before.replace("walruses", "herons"));
    assert!(record(&first).relations[0].valid_to.is_some());
    assert_eq!(record(&later).relations[0].valid_to, None);
    memory.rollback(&likes.id).unwrap();
    assert_eq!(attrs(&later), r#"{"goal":["herons"],"likes":["walks"]}"#);
    drop(memory);
    let found = Engine::verify(dir.path().join("index")).unwrap();
    assert!(found.is_sound(), "{found:?}");
}

#[test]
fn a_context_is_distilled_to_what_it_says_in_one() {
    let (_dir, memory) = memory();
    let sure = about_mika(&memory, "Mika lives in Kyoto near the river.", |draft| {
        draft.confidence = Score::new(0.9).unwrap();
        draft.sources = vec!["test:kyoto".to_owned()];
    });
    let unsure = about_mika(&memory, "Mika lives in Kyoto with a cat.", |draft| {
        draft.confidence = Score::new(0.4).unwrap();
        draft.boundary_class = BoundaryClass::Pii;
    });
    let mut wide = Boundary::default();
    wide.boundary_classes.insert(BoundaryClass::Pii);
    wide.allow.insert(AllowTag::new("tool:*").unwrap());
    let allow = vec![AllowTag::new("tool:contact-lookup").unwrap()];
    let query = RecallQuery { allow, ..RecallQuery::new("Mika lives in Kyoto") };
    let found = memory.recall(&query, &wide).unwrap();
    let proposed = memory.distill(&found.context.id, &query, &wide).unwrap();
    assert_eq!(proposed.len(), 1);
    let draft = &proposed[0];
    assert_eq!((draft.boundary_class, draft.confidence), (BoundaryClass::Pii, unsure.confidence));
    assert!(draft.text.contains("river") && draft.text.contains("cat"), "{}", draft.text);
    assert_eq!((draft.sources.len(), draft.scope), (1, Scope::Project));
    let kept = memory.integrate(draft.clone(), &IntegrateOptions::default(), &wide).unwrap().claim;
    assert!(matches!(&kept.origin, Origin::Derived(from) if from.contains(&sure.id)));
    // Another subject is not of it, and one claim alone is nothing to put in one.
    assert!(!proposed.iter().any(|draft| draft.subject.as_deref() != Some("Mika")));
    // A request that may not see both has nothing to put in one.
    let narrow = RecallQuery::new("Mika");
    assert_eq!(memory.distill(&found.context.id, &narrow, &Boundary::default()).unwrap(), []);
    // What a distilled claim rests on takes it along when it is forgotten.
    memory.forget_unit(unsure.id.as_str()).unwrap();
    memory.forget_unit(sure.id.as_str()).unwrap();
    assert!(matches!(memory.claim(&kept.id), Err(Error::UnknownClaim { .. })));
}

#[test]
fn a_claim_reaches_further_only_within_the_boundary() {
    let (_dir, memory) = memory();
    let session = memory.create_session("/p").unwrap();
    let claim = about_mika(&memory, "Mika drinks green tea.", |draft| {
        draft.scope = Scope::Session;
        draft.session = Some(session.id.clone());
    });
    let promote = |scope, boundary: &Boundary| {
        memory.promote(&claim.id, scope, &RecallQuery::default(), boundary)
    };
    let narrow = Boundary { scope: [Scope::Session].into(), ..Boundary::default() };
    assert!(matches!(promote(Scope::Project, &narrow), Err(Error::BoundaryDenied { .. })));
    let public =
        Boundary { boundary_classes: [BoundaryClass::Public].into(), ..Boundary::default() };
    assert!(matches!(promote(Scope::Project, &public), Err(Error::BoundaryDenied { .. })));
    assert_eq!(texts(&memory, &RecallQuery::new("tea"), &Boundary::default()), [""; 0]);
    let wider = promote(Scope::Project, &Boundary::default()).unwrap();
    assert_eq!((wider.scope, wider.session.as_ref()), (Scope::Project, None));
    assert_eq!(wider.ttl, memory.policy().unwrap().ttl(Scope::Project));
    assert_eq!(texts(&memory, &RecallQuery::new("tea"), &Boundary::default()).len(), 1);
    let back = promote(Scope::Session, &Boundary::default());
    assert!(matches!(back, Err(Error::InvalidScope { .. })), "{back:?}");
    let widest = promote(Scope::Principle, &Boundary::default()).unwrap();
    assert_eq!((widest.scope, widest.ttl), (Scope::Principle, Ttl::UNLIMITED));
    let further = promote(Scope::Principle, &Boundary::default());
    assert!(matches!(further, Err(Error::InvalidScope { .. })), "{further:?}");
    memory.rollback(&claim.id).unwrap();
    let archived = promote(Scope::Principle, &Boundary::default());
    assert!(matches!(archived, Err(Error::InvalidState { .. })), "{archived:?}");
}

#[test]
fn a_secret_never_reaches_further() {
    let (_dir, memory) = memory();
    let secret = Policy::BUILT_IN
        .replace("version: 1.0.0", "version: 1.1.0")
        .replace("secret: { allow: [], escalation: deny }", "secret: { allow: [\"*\"] }");
    memory.apply_policy(&secret, false).unwrap();
    let claim = about_mika(&memory, "The safe opens with walrus.", |draft| {
        draft.boundary_class = BoundaryClass::Secret;
    });
    let boundary = Boundary {
        boundary_classes: BoundaryClass::ALL.iter().copied().collect(),
        ..Boundary::default()
    };
    let denied = memory
        .promote(&claim.id, Scope::Principle, &RecallQuery::default(), &boundary)
        .unwrap_err();
    assert!(matches!(denied, Error::BoundaryDenied { .. }), "{denied}");
}

#[test]
fn what_was_taken_back_is_not_found_and_says_why() {
    let (_dir, memory) = memory();
    let claim = about_mika(&memory, "Mika drinks green tea.", |_| {});
    assert_eq!(memory.rollback(&claim.id).unwrap().state, UnitState::Archived);
    assert_eq!(texts(&memory, &RecallQuery::new("tea"), &Boundary::default()), [""; 0]);
    let look = |id: &str| {
        let read = memory.engine.memory().read("look", |read| {
            let unit = read.unit(id)?.unwrap();
            Ok((unit.unit.archived_as, read.last_event(Some(unit.row), "superseded")?.is_some()))
        });
        read.unwrap()
    };
    assert_eq!(look(claim.id.as_str()), (Some("rolled_back".to_owned()), true));
    let twice = memory.rollback(&claim.id).unwrap_err();
    assert!(matches!(twice, Error::InvalidState { .. }), "{twice}");
    // Feedback on it, or the same told again, does not bring it back.
    memory.feedback(&crate::FeedbackInput::new(claim.id.clone(), FeedbackSignal::Helpful)).unwrap();
    let draft = ClaimDraft::observed("Mika drinks green tea.", observed(&memory, "tea").id);
    memory.integrate(draft, &IntegrateOptions::default(), &Boundary::default()).unwrap();
    assert_eq!(look(claim.id.as_str()).0.as_deref(), Some("rolled_back"));
}
