use proptest::prelude::*;
use trefoil_core::{BoundaryClass, ObservationId};

use super::*;
use crate::ClaimDraft;
use trefoil_policy::InvariantDefinition;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn evaluator() -> RuleEvaluator {
    RuleEvaluator::new(at(1_000))
}

fn claim(id: &str, text: &str, second: i64) -> Claim {
    let draft = ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap());
    draft.into_claim(ClaimId::new(id).unwrap(), at(second)).unwrap().0
}

fn fact(id: &str, subject: &str, predicate: &str, object: &str, second: i64) -> Claim {
    Claim {
        subject: Some(subject.into()),
        predicate: Some(predicate.into()),
        object: Some(object.into()),
        ..claim(id, &format!("{subject} {predicate} {object}"), second)
    }
}

fn merged(old: &Claim, new: Claim, merge_strategy: MergeStrategy) -> Integrated {
    let options = IntegrateOptions { merge_strategy, ..IntegrateOptions::default() };
    integrate(new, Some(old), &[], &[], &evaluator(), &options).unwrap()
}

#[test]
fn options_are_merge_and_both_checks_by_default() {
    let options: IntegrateOptions = serde_json::from_str("{}").unwrap();
    assert_eq!(options, IntegrateOptions::default());
    assert_eq!(options.merge_strategy, MergeStrategy::Merge);
    assert!(options.validate_invariants && options.update_graph);
}

#[test]
fn the_same_content_leaves_one_claim_by_each_strategy() {
    let old = Claim {
        confidence: Score::clamped(0.9),
        sources: vec!["test:a".parse().unwrap()],
        updated_at: at(50),
        ..claim("clm_1", "Owls hunt.", 0)
    };
    let new = Claim {
        confidence: Score::clamped(0.4),
        sources: vec!["test:b".parse().unwrap()],
        boundary_class: BoundaryClass::Pii,
        scope: Scope::Principle,
        ..claim("clm_2", "Owls  hunt.", 20)
    };
    let check = |strategy, confidence: f32, sources: &[&str]| {
        let Integrated { claim, is_new, .. } = merged(&old, new.clone(), strategy);
        assert!(!is_new);
        let tags: Vec<_> = claim.sources.iter().map(ToString::to_string).collect();
        assert_eq!(claim.confidence.get(), confidence, "{strategy}");
        assert_eq!(tags, sources, "{strategy}");
        // In all of them: id, scope and making stay, and the higher class counts.
        assert_eq!(
            (claim.id.as_str(), claim.scope, claim.created_at),
            ("clm_1", Scope::Project, at(0))
        );
        assert_eq!(claim.boundary_class, BoundaryClass::Pii);
        assert_eq!(claim.recency_anchor, at(1_000));
    };
    check(MergeStrategy::Merge, 0.9, &["test:a", "test:b"]);
    check(MergeStrategy::Replace, 0.4, &["test:b"]);
    check(MergeStrategy::KeepNewest, 0.9, &["test:a"]);
    let later = Claim { updated_at: at(60), ..new };
    assert_eq!(merged(&old, later, MergeStrategy::KeepNewest).claim.confidence.get(), 0.4);
}

#[test]
fn telling_it_again_changes_nothing_more() {
    let old = claim("clm_1", "Owls hunt.", 0);
    let once = merged(&old, claim("clm_2", "Owls hunt.", 5), MergeStrategy::Merge).claim;
    let twice = merged(&once, claim("clm_3", "Owls hunt.", 5), MergeStrategy::Merge).claim;
    assert_eq!(once, twice);
}

#[test]
fn a_strict_insert_refuses_what_is_there() {
    let (old, new) = (claim("clm_1", "x", 0), claim("clm_2", "x", 1));
    assert!(insert_strictly(new.clone(), None).is_ok());
    let error = insert_strictly(new, Some(&old)).unwrap_err();
    assert!(matches!(error, Error::DuplicateClaim { existing, .. } if existing == old.id));
}

fn related(new: Claim, old: &[Claim]) -> (Vec<(String, Timestamp)>, Vec<String>) {
    let options = IntegrateOptions::default();
    let done = integrate(new, None, old, &[], &evaluator(), &options).unwrap();
    let ended = done.ended.iter().map(|old| (old.id.to_string(), old.valid_to.unwrap()));
    (ended.collect(), done.contradicts.iter().map(ToString::to_string).collect())
}

#[test]
fn of_an_exclusive_predicate_the_newest_holds() {
    let old = [
        fact("clm_1", "Mika", "lives_in", "Kyoto", 10),
        fact("clm_2", "Mika", "likes", "tea", 10),
        fact("clm_3", "Bo", "lives_in", "Kyoto", 10),
        Claim { scope: Scope::Principle, ..fact("clm_4", "Mika", "lives_in", "Nara", 10) },
    ];
    let (ended, contradicts) = related(fact("clm_9", "mika", "lives_in", "Osaka", 20), &old);
    assert_eq!(ended, [("clm_1".to_owned(), at(20))]);
    assert_eq!(contradicts, ["clm_1", "clm_4"]);
    // The same place again, or news that is older, ends nothing.
    assert_eq!(related(fact("clm_9", "Mika", "lives_in", "kyoto", 20), &old[..1]).0, []);
    assert_eq!(related(fact("clm_9", "Mika", "lives_in", "Osaka", 5), &old[..1]).0, []);
    assert_eq!(related(fact("clm_9", "Mika", "likes", "milk", 20), &old), (vec![], vec![]));
    for predicate in ["name", "timezone", "goal", "favorite book"] {
        assert!(is_exclusive(predicate), "{predicate}");
    }
    assert!(EXCLUSIVE_PREDICATES.is_sorted());
}

#[test]
fn a_contradiction_is_linked_and_not_erased() {
    let old = [
        fact("clm_1", "Mika", "likes", "Green Tea", 10),
        fact("clm_2", "Mika", "likes", "milk", 10),
    ];
    let (ended, contradicts) = related(fact("clm_9", "Mika", "dislikes", "green tea", 20), &old);
    assert_eq!((ended.len(), contradicts), (0, vec!["clm_1".to_owned()]));
}

#[test]
fn what_bears_on_a_claim_is_among_what_it_is_compared_with() {
    let others = ["likes", "dislikes", "prefers", "wants", "favorite book", "met"];
    let predicates = || EXCLUSIVE_PREDICATES.into_iter().chain(others);
    for (new, old) in predicates().flat_map(|new| predicates().map(move |old| (new, old))) {
        for object in ["tea", "milk"] {
            let before = [fact("clm_1", "Mika", old, "tea", 10)];
            let (ended, contradicts) = related(fact("clm_9", "Mika", new, object, 20), &before);
            let bears = !ended.is_empty() || !contradicts.is_empty();
            assert!(!bears || compared_with(new).contains(&old), "{new} {old}");
        }
    }
    assert_eq!(compared_with("dislikes"), ["likes", "prefers", "wants"]);
    assert_eq!((compared_with("wants"), compared_with("met")), (vec!["dislikes"], vec![]));
}

#[test]
fn a_claim_that_breaks_a_rule_is_refused_unless_that_is_not_asked() {
    let definition = InvariantDefinition {
        name: "sure".into(),
        applies_to: vec!["*".into()],
        rule: "claim.confidence >= 0.6".into(),
    };
    let invariants = [Invariant::try_from(&definition).unwrap()];
    let run = |confidence, options: &IntegrateOptions| {
        let claim = Claim { confidence: Score::clamped(confidence), ..claim("clm_1", "x", 0) };
        integrate(claim, None, &[], &invariants, &evaluator(), options)
    };
    let checked = IntegrateOptions::default();
    assert_eq!(run(0.7, &checked).unwrap().claim.state, UnitState::Validated);
    let refused = run(0.5, &checked).unwrap_err();
    assert!(matches!(refused, Error::BoundaryDenied { boundary, .. } if boundary.contains("sure")));
    assert!(run(0.5, &IntegrateOptions { validate_invariants: false, ..checked }).is_ok());
}

proptest! {
    #[test]
    fn a_class_is_never_relaxed_and_one_claim_is_left(
        old in 0_u8..4, new in 0_u8..4, strategy in 0_usize..3, confidence in 0.0_f32..=1.0, later in -9_i64..9,
    ) {
        let class = |code| BoundaryClass::from_code(code).unwrap();
        let old = Claim { boundary_class: class(old), ..claim("clm_1", "x", 10) };
        let new = Claim {
            boundary_class: class(new),
            confidence: Score::clamped(confidence),
            ..claim("clm_2", " x ", 10 + later)
        };
        let done = merged(&old, new.clone(), MergeStrategy::ALL[strategy]);
        prop_assert_eq!(&done.claim.id, &old.id);
        prop_assert_eq!(&done.claim.content_hash, &old.content_hash);
        prop_assert_eq!(done.claim.boundary_class, old.boundary_class.max(new.boundary_class));
        prop_assert_eq!(done.claim.scope, old.scope);
        prop_assert!(done.claim.updated_at >= old.updated_at);
    }

    #[test]
    fn invariants_hold_of_what_is_kept(
        old in 0.0_f32..=1.0, new in 0.0_f32..=1.0, least in 0.0_f32..=1.0, strategy in 0_usize..3,
    ) {
        let definition = InvariantDefinition {
            name: "sure".into(),
            applies_to: vec!["project".into()],
            rule: format!("claim.confidence >= {least:.3}"),
        };
        let invariants = [Invariant::try_from(&definition)?];
        let of = |id, confidence| Claim { confidence: Score::clamped(confidence), ..claim(id, "x", 0) };
        let options = IntegrateOptions { merge_strategy: MergeStrategy::ALL[strategy], ..IntegrateOptions::default() };
        let old = of("clm_1", old);
        match integrate(of("clm_2", new), Some(&old), &[], &invariants, &evaluator(), &options) {
            Ok(done) => prop_assert!(evaluator().evaluate_all(&invariants, &[done.claim.facts()])),
            Err(error) => prop_assert_eq!(error.http_status(), 403),
        }
    }
}
