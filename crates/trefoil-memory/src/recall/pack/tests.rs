use proptest::prelude::*;
use trefoil_core::{ClaimId, LoopId, ObservationId, Score};
use trefoil_text::ApproximateTokens;

use super::*;
use crate::ClaimDraft;

fn day_of(day: i64) -> Timestamp {
    Timestamp::from_second(day * 86_400).unwrap()
}

fn claim(number: usize, text: &str, confidence: f32) -> Claim {
    let draft = ClaimDraft {
        confidence: Score::clamped(confidence),
        ..ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap())
    };
    draft.into_claim(ClaimId::new(format!("clm_{number:03}")).unwrap(), day_of(100)).unwrap().0
}

fn open_loop(text: &str, due: Option<i64>) -> OpenLoop {
    let id = LoopId::new("lop_1").unwrap();
    OpenLoop::new(id, text, due.map(day_of), BoundaryClass::Internal, day_of(100)).unwrap()
}

fn pack(input: &PackInput<'_>, window: usize) -> ContextPack {
    pack_under(&Policy::built_in().unwrap(), input, window)
}

fn pack_under(policy: &Policy, input: &PackInput<'_>, window: usize) -> ContextPack {
    Packer { counter: &ApproximateTokens, policy, now: day_of(100) }.pack(input, window)
}

fn texts(pack: &ContextPack, kind: SectionKind) -> Vec<&str> {
    let section = pack.sections.iter().find(|section| section.kind == kind);
    section
        .map(|section| section.items.iter().map(|item| item.text.as_str()).collect())
        .unwrap_or_default()
}

#[test]
fn the_budget_is_six_tenths_of_the_window() {
    for (window, budget) in [
        (0, 0),
        (1, 0),
        (2, 1),
        (10, 6),
        (15, 9),
        (8_192, 4_915),
        (usize::MAX, usize::MAX / 10 * 6 + 3),
    ] {
        assert_eq!(Packer::budget(window), budget, "{window}");
    }
}

#[test]
fn sections_stand_in_their_order() {
    let (facts, loops) =
        ([claim(1, "Mika lives in Kyoto.", 0.9)], [open_loop("call Bo", Some(103))]);
    let (context, relationships) = (["A trip.".to_owned()], ["Mika – Bo: friends".to_owned()]);
    let id: UnitId = "obs_1".parse().unwrap();
    let evidence = [PackEpisode { id, text: "I moved.", happened_at: day_of(99) }];
    let input = PackInput {
        context: &context,
        facts: &facts,
        narrative: Some("They plan a trip."),
        relationships: &relationships,
        loops: &loops,
        evidence: &evidence,
    };
    let pack = pack(&input, 1_000);
    let expected = "## Context\n- A trip.\n\n## Facts\n- Mika lives in Kyoto.\n\n## Lately\n- They plan a trip.\n\n\
                    ## Relationships\n- Mika – Bo: friends\n\n## To do\n- call Bo (due 1970-04-14)\n\n## Said before\n- I moved.\n";
    assert_eq!(pack.text, expected);
    assert_eq!(pack.tokens, ApproximateTokens.count(expected));
    let kinds: Vec<_> = pack.sections.iter().map(|section| section.kind).collect();
    assert_eq!(kinds, SectionKind::ALL);
}

#[test]
fn a_fact_counts_by_confidence_salience_recency_and_pin() {
    let rerank = RerankPolicy::default();
    let near = |claim: &Claim, now, expected: f64| {
        let score = fact_score(claim, &rerank, now);
        assert!((score - expected).abs() < 1e-6, "{score}");
    };
    let plain = claim(1, "x", 0.8);
    near(&plain, day_of(100), 0.36 + 0.2);
    near(&plain, day_of(220), 0.36 + 0.1);
    let pinned = Claim { pin: true, salience: Score::clamped(0.4), ..plain };
    near(&pinned, day_of(100), 0.36 + 0.1 + 0.2 + 0.1);
}

#[test]
fn what_does_not_hold_now_never_enters() {
    let pinned = |number, change: fn(&mut Claim)| {
        let mut claim = Claim { pin: true, ..claim(number, &format!("claim {number}"), 1.0) };
        change(&mut claim);
        claim
    };
    let facts = [
        pinned(1, |claim| claim.valid_to = Some(day_of(100))),
        pinned(2, |claim| claim.valid_from = Some(day_of(101))),
        pinned(3, |claim| claim.state = UnitState::Archived),
        pinned(4, |claim| claim.boundary_class = BoundaryClass::Secret),
        pinned(5, |claim| claim.valid_from = Some(day_of(100))),
    ];
    let secret = OpenLoop { boundary_class: BoundaryClass::Secret, ..open_loop("x", None) };
    let expired = OpenLoop { expires_at: day_of(100), ..open_loop("y", None) };
    let loops = [secret, expired];
    let pack = pack(&PackInput { facts: &facts, loops: &loops, ..PackInput::default() }, 1_000);
    assert_eq!(texts(&pack, SectionKind::Facts), ["claim 5"]);
    assert!(texts(&pack, SectionKind::Loops).is_empty());
}

#[test]
fn sections_have_their_limits_and_the_best_stay() {
    let facts: Vec<Claim> =
        (0..20).map(|n| claim(n, &format!("claim {n}"), n as f32 / 20.0)).collect();
    let lines: Vec<String> = (0..9).map(|n| format!("line {n}")).collect();
    let evidence: Vec<_> = lines
        .iter()
        .map(|text| PackEpisode { id: "obs_1".parse().unwrap(), text, happened_at: day_of(1) })
        .collect();
    let input = PackInput {
        facts: &facts,
        relationships: &lines,
        evidence: &evidence,
        ..PackInput::default()
    };
    let pack = pack(&input, 10_000);
    let shown = texts(&pack, SectionKind::Facts);
    assert_eq!((shown.len(), shown[0], shown[11]), (12, "claim 19", "claim 8"));
    assert_eq!(texts(&pack, SectionKind::Relationships).len(), 5);
    assert_eq!(texts(&pack, SectionKind::Evidence).len(), 5);
}

#[test]
fn a_scope_takes_no_more_tokens_than_its_policy_gives_it() {
    let yaml = Policy::BUILT_IN.replace("max_tokens: 50000", "max_tokens: 7");
    let policy = Policy::from_yaml(&yaml).unwrap();
    let facts: Vec<Claim> = (0..5).map(|n| claim(n, &format!("claim number {n}"), 0.9)).collect();
    let shown = pack_under(&policy, &PackInput { facts: &facts, ..PackInput::default() }, 1_000);
    assert_eq!(texts(&shown, SectionKind::Facts).len(), 1);
}

#[test]
fn over_the_budget_the_oldest_is_compressed_before_anything_is_left_out() {
    let long = "an owl hunts at night ".repeat(20);
    let of = |id: &str, day| PackEpisode {
        id: id.parse().unwrap(),
        text: &long,
        happened_at: day_of(day),
    };
    let evidence = [of("obs_1", 90), of("obs_2", 10), of("obs_3", 50)];
    let input = PackInput { evidence: &evidence, ..PackInput::default() };
    let whole = pack(&input, 10_000);
    let tight = pack(&input, (whole.tokens - 40) * 10 / 6);
    let cut: Vec<bool> =
        texts(&tight, SectionKind::Evidence).iter().map(|text| text.ends_with('…')).collect();
    assert_eq!(cut, [false, true, false]);
}

#[test]
fn then_it_is_trimmed_evidence_first_and_context_last() {
    let context = ["what it is about".to_owned()];
    let facts = [claim(1, "first fact", 0.9), claim(2, "second fact", 0.1)];
    let relationships = ["a knows b".to_owned()];
    let loops = [open_loop("call somebody", None)];
    let evidence = [PackEpisode {
        id: "obs_1".parse().unwrap(),
        text: "it was said",
        happened_at: day_of(99),
    }];
    let input = PackInput {
        context: &context,
        facts: &facts,
        narrative: Some("what happened"),
        relationships: &relationships,
        loops: &loops,
        evidence: &evidence,
    };
    let mut gone: Vec<String> = Vec::new();
    let mut before = pack(&input, 10_000);
    for window in (0..before.tokens * 10 / 6 + 2).rev() {
        let after = pack(&input, window);
        assert!(after.tokens <= after.budget, "{window}");
        for section in &before.sections {
            for item in &section.items {
                if !texts(&after, section.kind).contains(&item.text.as_str()) {
                    gone.push(format!("{}: {}", section.kind, item.text));
                }
            }
        }
        before = after;
    }
    assert_eq!(
        gone,
        [
            "evidence: it was said",
            "loops: call somebody",
            "narrative: what happened",
            "relationships: a knows b",
            "facts: second fact",
            "facts: first fact",
            "context: what it is about",
        ]
    );
}

proptest! {
    #[test]
    fn a_pack_is_within_its_budget(
        texts in proptest::collection::vec("([a-z]{1,9} |東京 |서울 ){1,60}", 0..20), window in 0_usize..900,
    ) {
        let facts: Vec<Claim> = texts.iter().enumerate().map(|(n, text)| claim(n, text, 0.5)).collect();
        let evidence: Vec<_> = texts
            .iter()
            .map(|text| PackEpisode { id: "obs_1".parse().unwrap(), text, happened_at: day_of(50) })
            .collect();
        let input = PackInput {
            context: &texts,
            facts: &facts,
            narrative: texts.first().map(String::as_str),
            relationships: &texts,
            evidence: &evidence,
            ..PackInput::default()
        };
        let packed = pack(&input, window);
        prop_assert!(packed.tokens <= packed.budget);
        prop_assert_eq!(packed.budget, window * 6 / 10);
    }
}
