//! What is told of memory: packs, episodes and views.

use trefoil_core::UnitKind;

use super::*;
use crate::{
    ContextRequest, FindOptions, Layer, MaintainOptions, UnitId,
    recall::pack::{Packer, SectionKind},
};

/// A memory of a project: two facts, something to do, and what was said.
fn told() -> (tempfile::TempDir, Memory) {
    let (dir, memory) = memory();
    observed(&memory, "The ferry to Sado leaves at nine from the northern pier.");
    observed(&memory, "I need to renew the passport by Friday.");
    memory.work().unwrap();
    claim(&memory, "The ferry to Sado takes two hours.");
    (dir, memory)
}

fn section(packed: &crate::PackedContext, kind: SectionKind) -> Vec<String> {
    let sections = packed.pack.sections.iter().filter(|section| section.kind == kind);
    sections.flat_map(|section| &section.items).map(|item| item.text.clone()).collect()
}

#[test]
fn a_pack_tells_what_bears_on_the_question_within_its_budget() {
    let (_dir, memory) = told();
    let probe = crate::ContentProbe::new("");
    memory.maintain(&probe, &MaintainOptions::default()).unwrap();
    let request = ContextRequest {
        context: vec!["A trip to Sado is planned.".to_owned()],
        ..ContextRequest::new("when does the ferry to Sado leave?")
    };
    let packed = memory.context(&request, &Boundary::default()).unwrap();
    let of = |kind| section(&packed, kind);
    assert_eq!(of(SectionKind::Context), ["A trip to Sado is planned."]);
    let facts = of(SectionKind::Facts);
    assert!(facts.contains(&"The ferry to Sado takes two hours.".to_owned()), "{facts:?}");
    assert!(facts.len() > 1, "what stands out fills the rest: {facts:?}");
    assert!(of(SectionKind::Narrative)[0].contains("passport"), "{packed:?}");
    assert!(of(SectionKind::Loops)[0].contains("renew the passport"), "{packed:?}");
    assert!(of(SectionKind::Evidence)[0].contains("northern pier"), "{packed:?}");
    assert_eq!(packed.pack.budget, Packer::budget(8_192));
    assert!(packed.pack.tokens <= packed.pack.budget);
    // What was told of claims is saved and can be loaded.
    let loaded = memory.load_context(&packed.context.id).unwrap();
    assert_eq!((loaded.items.len(), loaded.window), (facts.len(), Some(8_192)));
    let small = ContextRequest { window: 60, ..request };
    let packed = memory.context(&small, &Boundary::default()).unwrap();
    assert!(packed.pack.tokens <= 36 && section(&packed, SectionKind::Evidence).is_empty());
}

#[test]
fn persons_and_topics_that_come_up_are_told_of() {
    let (_dir, memory) = memory();
    for text in ["Queen Victoria sails to Sado.", "The rough sea pleases Queen Victoria."] {
        observed(&memory, text);
    }
    memory.work().unwrap();
    memory.maintain(&crate::ContentProbe::new(""), &MaintainOptions::default()).unwrap();
    let request = ContextRequest::new("who sails to Sado?");
    let packed = memory.context(&request, &Boundary::default()).unwrap();
    let told = section(&packed, SectionKind::Relationships);
    assert!(told.len() == 1 && told[0].contains("rough sea"), "{told:?}");
}

#[test]
fn what_does_not_hold_now_is_in_no_pack_not_even_pinned() {
    let (_dir, memory) = memory();
    let seen = observed(&memory, "seen").id;
    let now = memory.now().unwrap();
    let at = |hours: i64| Some(now + jiff::SignedDuration::from_hours(hours));
    for (text, from, to) in [
        ("walrus of yesterday", at(-48), at(-24)),
        ("walrus of tomorrow", at(24), None),
        ("walrus of today", at(-1), at(1)),
    ] {
        let draft = ClaimDraft {
            pin: true,
            valid_from: from,
            valid_to: to,
            ..ClaimDraft::observed(text, seen.clone())
        };
        memory.insert_claim(draft).unwrap();
    }
    for question in ["walrus", "", "heron"] {
        let packed = memory.context(&ContextRequest::new(question), &Boundary::default()).unwrap();
        assert_eq!(section(&packed, SectionKind::Facts), ["walrus of today"], "{question}");
    }
}

#[test]
fn episodes_answer_the_input_and_what_was_said_before() {
    let (_dir, memory) = told();
    let recall =
        |query: &RecallQuery| memory.episodes(query, &Boundary::default()).unwrap().episodes;
    let found = recall(&RecallQuery::new("the ferry to Sado leaves at nine"));
    assert!(found[0].observation.content.contains("northern pier") && found[0].score.get() >= 0.35);
    assert!(found.iter().all(|one| one.observation.content.contains("ferry")), "{found:?}");
    assert_eq!(recall(&RecallQuery::new("heron")), []);
    let recent_turns = vec!["we take the ferry to Sado".to_owned()];
    let later = RecallQuery { recent_turns, ..RecallQuery::new("which pier?") };
    assert!(recall(&later)[0].observation.content.contains("northern pier"));
    let mixed =
        RecallQuery { profile: crate::recall::RecallProfile::Episodes, ..RecallQuery::new("x") };
    let error = memory.recall(&mixed, &Boundary::default()).unwrap_err();
    assert!(matches!(error, Error::InvalidQuery { field: "profile", .. }), "{error}");
}

#[test]
fn words_come_first_where_that_is_asked_for() {
    let (_dir, memory) = told();
    let query = RecallQuery {
        profile: crate::recall::RecallProfile::KeywordFirst,
        top_k: 1,
        ..RecallQuery::new("ferry to Sado")
    };
    assert_eq!(
        texts(&memory, &query, &Boundary::default()),
        ["The ferry to Sado takes two hours."]
    );
}

#[test]
fn a_view_searches_every_kind_and_each_layer_tells_more() {
    let (_dir, memory) = told();
    let view = memory.view(RecallQuery::default(), Boundary::default());
    let find = |options: &FindOptions| view.search("ferry to Sado", options).unwrap().views;
    let lines = find(&FindOptions::default());
    assert_eq!(lines.len(), 4, "a claim, two observations and what tells them in short");
    assert!(lines.iter().all(|one| one.kind.is_none() && one.related.is_empty()));
    let claims = find(&FindOptions { types: vec![UnitKind::Claim], ..FindOptions::default() });
    assert_eq!(claims.len(), 1);
    let whole = FindOptions { layer: Layer::Whole, limit: 1, ..FindOptions::default() };
    let whole = find(&FindOptions { types: vec![UnitKind::Claim], ..whole });
    assert!(matches!(&whole[0].related[..], [UnitId::Observation(_)]), "{whole:?}");
    let later = memory.now().unwrap() + jiff::SignedDuration::from_hours(1);
    assert_eq!(find(&FindOptions { since: Some(later), ..FindOptions::default() }), []);
    // The same results, seen through another layer.
    let found: Vec<_> = lines.iter().map(|one| (one.id.clone(), one.score)).collect();
    let seen = view.of(&found, Layer::Context).unwrap();
    assert!(seen.views.iter().all(|one| one.happened_at.is_some() && one.tokens <= 200));
    assert_eq!(seen.tokens, seen.views.iter().map(|one| one.tokens).sum::<usize>());
    for limit in [0, 51] {
        let error = view.search("x", &FindOptions { limit, ..FindOptions::default() });
        assert!(matches!(error, Err(Error::InvalidQuery { field: "limit", .. })));
    }
    // What a view and a context do not use of a request is checked too.
    let request = RecallQuery { top_k: 0, ..RecallQuery::new("x") };
    let within = Boundary::default();
    let found = memory.view(request.clone(), within.clone()).search("x", &FindOptions::default());
    assert!(matches!(found, Err(Error::InvalidQuery { field: "topK", .. })), "{found:?}");
    let request = ContextRequest { query: request, ..ContextRequest::new("") };
    let packed = memory.context(&request, &within);
    assert!(matches!(packed, Err(Error::InvalidQuery { field: "topK", .. })), "{packed:?}");
}

#[test]
fn claims_that_break_a_rule_give_their_place_to_others() {
    let (_dir, memory) = memory();
    let seen = observed(&memory, "seen").id;
    for number in 0..120 {
        let text = format!("the walrus {number} sleeps");
        let quality = trefoil_core::Score::new(if number == 97 { 0.9 } else { 0.1 }).unwrap();
        let draft = ClaimDraft { quality, ..ClaimDraft::observed(text, seen.clone()) };
        memory.insert_claim(draft).unwrap();
    }
    let boundary = Boundary {
        invariants: vec![InvariantDefinition {
            name: "well put".to_owned(),
            applies_to: vec!["*".to_owned()],
            rule: "claim.quality > 0.5".to_owned(),
        }],
        ..Boundary::default()
    };
    for question in ["walrus sleeps", ""] {
        let found = texts(&memory, &RecallQuery::new(question), &boundary);
        assert_eq!(found, ["the walrus 97 sleeps"], "{question}");
    }
}

#[test]
fn claims_that_are_like_better_ones_are_passed_over_where_that_is_asked_for() {
    let (_dir, memory) = memory();
    let seen = observed(&memory, "seen").id;
    for (text, confidence) in [
        ("The ferry to Sado leaves at nine.", 0.6),
        ("The ferry to Sado leaves at nine!", 0.6),
        ("The ferry to Sado serves green tea.", 0.5),
    ] {
        let confidence = trefoil_core::Score::new(confidence).unwrap();
        let draft = ClaimDraft { confidence, ..ClaimDraft::observed(text, seen.clone()) };
        memory.insert_claim(draft).unwrap();
    }
    let query = RecallQuery { top_k: 2, ..RecallQuery::new("ferry to Sado") };
    let like = texts(&memory, &query, &Boundary::default());
    assert!(like.iter().all(|text| text.contains("nine")), "{like:?}");
    let diverse = texts(&memory, &RecallQuery { diverse: true, ..query }, &Boundary::default());
    assert!(diverse.len() == 2 && diverse[1].contains("tea"), "{diverse:?}");
}
