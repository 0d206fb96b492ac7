//! Feedback `duplicate` on the pairs of `fixtures/claims` that no word was chosen on, each pair
//! in a session of its own.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    sync::Arc,
};

use trefoil::memory::{LinkRelation, MemoryWrite};
use trefoil_core::{ClaimId, ObservationId};
use trefoil_memory::{Claim, ClaimDraft, FeedbackInput, FeedbackSignal, Memory, Scope};

use crate::{memory::open, models::with_model};

#[derive(Clone, Debug)]
struct Pair {
    same: bool,
    texts: [String; 2],
}

fn held_out(language: &str) -> Vec<Pair> {
    let file = format!("../fixtures/claims/held-out-{language}.toml");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let lists: BTreeMap<String, Vec<[String; 2]>> =
        toml::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let pair = |(kind, texts): (&str, [String; 2])| Pair { same: kind == "duplicate", texts };
    let pairs =
        lists.iter().flat_map(|(kind, list)| list.iter().map(|one| (kind.as_str(), one.clone())));
    pairs.map(pair).collect()
}

/// The pairs in rounds in which no text stands twice: one text is one claim of a memory.
fn rounds(pairs: Vec<Pair>) -> Vec<Vec<Pair>> {
    let mut rounds: Vec<(BTreeSet<String>, Vec<Pair>)> = Vec::new();
    for pair in pairs {
        let is_free = |(texts, _): &(BTreeSet<String>, Vec<Pair>)| {
            pair.texts.iter().all(|text| !texts.contains(text))
        };
        let at = rounds.iter().position(is_free).unwrap_or(rounds.len());
        rounds.resize_with(rounds.len().max(at + 1), Default::default);
        rounds[at].0.extend(pair.texts.clone());
        rounds[at].1.push(pair);
    }
    rounds.into_iter().map(|(_, pairs)| pairs).collect()
}

/// For each pair whether the second claim was merged into the first.
fn merged(pairs: &[Pair]) -> Vec<bool> {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(engine.clone());
    let mut drafts = Vec::new();
    for pair in pairs {
        let session = memory.create_session("/home").unwrap().id;
        drafts.extend(pair.texts.clone().map(|text| ClaimDraft {
            scope: Scope::Session,
            session: Some(session.clone()),
            ..ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap())
        }));
    }
    let claims = memory.insert_claims(drafts).unwrap();
    engine.wait_until_indexed().unwrap();
    let merged = |pair: &[Claim]| {
        let opinion = FeedbackInput::new(pair[1].id.clone(), FeedbackSignal::Duplicate);
        let heard = memory.feedback(&opinion).unwrap();
        assert!(heard.updated.utility < heard.previous.utility);
        assert!(heard.representative.as_ref().is_none_or(|id| *id == pair[0].id));
        heard.representative.is_some()
    };
    claims.chunks(2).map(merged).collect()
}

#[track_caller]
fn check(language: &str) {
    let (mut found, mut right, mut all) = (0, 0, 0);
    let mut wrong = Vec::new();
    for pairs in rounds(held_out(language)) {
        for (pair, merged) in pairs.iter().zip(merged(&pairs)) {
            all += usize::from(pair.same);
            found += usize::from(merged);
            right += usize::from(merged && pair.same);
            if merged != pair.same {
                wrong.push(pair.clone());
            }
        }
    }
    let (precision, recall) = (right as f64 / found as f64, right as f64 / all as f64);
    println!(
        "{language}: precision {precision:.3} ({right}/{found}), recall {recall:.3} ({right}/{all})"
    );
    assert!(precision >= 0.95 && recall >= 0.7, "{precision} {recall} {wrong:#?}");
}

#[test]
fn english_claims_are_merged_only_with_what_says_the_same() {
    check("en");
}

#[test]
fn japanese_claims_are_merged_only_with_what_says_the_same() {
    check("ja");
}

#[test]
fn korean_claims_are_merged_only_with_what_says_the_same() {
    check("ko");
}

#[test]
fn another_value_of_what_one_has_once_is_no_duplicate_unless_somebody_says_so() {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(engine.clone());
    let texts = [
        "Mika lives in the old capital.",
        "In the old capital lives Mika.",
        "Mika resides in the old capital.",
    ];
    let cities = [Some("Kyoto"), Some("Nara"), None];
    let drafts = texts.into_iter().zip(cities).map(|(text, city)| ClaimDraft {
        subject: Some("Mika".to_owned()),
        predicate: Some("lives_in".to_owned()).filter(|_| city.is_some()),
        object: city.map(str::to_owned),
        ..ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap())
    });
    let claims = memory.insert_claims(drafts.collect()).unwrap();
    engine.wait_until_indexed().unwrap();
    let merged = |opinion: &FeedbackInput| memory.feedback(opinion).unwrap().representative;
    let [kyoto, nara, unsaid] = [0, 1, 2].map(|at| claims[at].id.clone());
    let duplicate = |id: &ClaimId| FeedbackInput::new(id.clone(), FeedbackSignal::Duplicate);
    assert_eq!(merged(&duplicate(&nara)), Some(unsaid.clone()), "not with Kyoto");
    assert!(merged(&duplicate(&unsaid)).is_some_and(|id| id == kyoto || id == nara));
    let named = FeedbackInput { duplicate_of: Some(nara.clone()), ..duplicate(&kyoto) };
    assert_eq!(merged(&named), Some(nara), "the caller names it");
}

#[test]
fn claims_that_are_linked_as_a_contradiction_are_not_merged() {
    let (_dir, engine) = open(with_model());
    let engine = Arc::new(engine);
    let memory = Memory::new(engine.clone());
    let texts = ["Jun has a dog.", "Jun owns a dog."];
    let drafts = texts.map(|text| ClaimDraft::observed(text, ObservationId::new("obs_1").unwrap()));
    let claims = memory.insert_claims(drafts.to_vec()).unwrap();
    engine.wait_until_indexed().unwrap();
    let link = |write: &MemoryWrite<'_>| {
        let row = |at: usize| write.row_of(claims[at].id.as_str()).map(Option::unwrap);
        write.link_claims(row(0)?, row(1)?, LinkRelation::Contradicts)
    };
    engine.memory().write("link", link).unwrap();
    for claim in &claims {
        let opinion = FeedbackInput::new(claim.id.clone(), FeedbackSignal::Duplicate);
        assert_eq!(memory.feedback(&opinion).unwrap().representative, None);
    }
}
