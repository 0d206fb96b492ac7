use jiff::Timestamp;
use proptest::prelude::*;
use trefoil_core::ObservationId;

use super::*;
use crate::{ObservationDraft, Origin};

fn observed(draft: ObservationDraft) -> Observation {
    let now = "2026-11-22T10:00:00Z".parse::<Timestamp>().unwrap();
    draft.into_observation(ObservationId::new("obs_1").unwrap(), now).unwrap()
}

fn extract(draft: ObservationDraft) -> Extracted {
    RuleExtractor::default().extract(&observed(draft), &Boundary::default()).unwrap()
}

/// What a claim says, on one line.
fn told(claim: &ClaimDraft) -> String {
    match (&claim.subject, &claim.predicate, &claim.object) {
        (Some(subject), Some(predicate), Some(object)) => {
            format!("{}: {subject} / {predicate} / {object}", claim.kind)
        }
        _ => format!("{}: {}", claim.kind, claim.text),
    }
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    text: String,
    claims: Vec<String>,
    #[serde(default)]
    due: Option<String>,
}

#[track_caller]
fn check(cases: &str) {
    let cases: Cases = toml::from_str(cases).unwrap();
    assert!(cases.case.len() >= 30, "{} cases", cases.case.len());
    let mut wrong = Vec::new();
    for Case { text, claims, due } in cases.case {
        let extracted = extract(ObservationDraft::message(&text));
        let found: Vec<String> = extracted.claims.iter().map(told).collect();
        let found_due = extracted.loops.iter().find_map(|one| one.due_at).map(|at| at.to_string());
        if found != claims || found_due.map(|at| at[..10].to_owned()) != due {
            wrong.push(format!("{text}\n  expected {claims:?} {due:?}\n  found    {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn english_cases() {
    check(include_str!("cases.en.toml"));
}

#[test]
fn japanese_cases() {
    check(include_str!("cases.ja.toml"));
}

#[test]
fn korean_cases() {
    check(include_str!("cases.ko.toml"));
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCases {
    case: Vec<ToolCase>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct ToolCase {
    kind: ObservationKind,
    #[serde(default)]
    source: Option<String>,
    #[serde(default)]
    file: bool,
    text: String,
    claims: Vec<String>,
}

#[test]
fn tools_and_commands_yield_claims_with_the_tags_that_show_them() {
    let cases: ToolCases = toml::from_str(include_str!("cases.tools.toml")).unwrap();
    let mut wrong = Vec::new();
    for case in cases.case {
        let draft = ObservationDraft {
            kind: case.kind,
            source_type: if case.file { SourceType::File } else { SourceType::Tool },
            source_id: case.source,
            ..ObservationDraft::message(&case.text)
        };
        let extracted = extract(draft);
        let told = |claim: &ClaimDraft| format!("{} <- {}", claim.text, claim.sources.join(" "));
        let found: Vec<String> = extracted.claims.iter().map(told).collect();
        if found != case.claims {
            wrong
                .push(format!("{}\n  expected {:?}\n  found    {found:?}", case.text, case.claims));
        }
        assert!(extracted.loops.is_empty(), "{}", case.text);
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn each_sentence_is_read_in_its_language() {
    let text = "I like green tea. お茶が好きです。 저는 녹차를 좋아해요.";
    let told: Vec<_> = extract(ObservationDraft::message(text)).claims.iter().map(told).collect();
    let likes = |object| format!("preference: user / likes / {object}");
    assert_eq!(told, ["green tea", "お茶", "녹차"].map(likes));
}

#[test]
fn what_tools_put_out_is_not_read_as_if_somebody_said_it() {
    let message = ObservationDraft::message("I like green tea.");
    assert_eq!(extract(message.clone()).claims.len(), 1);
    for kind in [ObservationKind::ToolUse, ObservationKind::Bash] {
        let draft = ObservationDraft { kind, source_type: SourceType::Tool, ..message.clone() };
        assert!(extract(draft).claims.is_empty(), "{kind}");
    }
}

#[test]
fn what_an_observation_names_is_a_source_of_its_claims() {
    let note = ObservationDraft {
        kind: ObservationKind::Note,
        ..ObservationDraft::message("The parser uses recursion, see src/parse.rs:12.")
    };
    assert_eq!(extract(note).claims[0].sources, ["file:src/parse.rs:12"]);
}

#[test]
fn the_actor_speaks_unless_a_name_is_written() {
    let subject = |text: &str, actor: Option<&str>| {
        let draft =
            ObservationDraft { actor: actor.map(str::to_owned), ..ObservationDraft::message(text) };
        extract(draft).claims[0].subject.clone().unwrap()
    };
    assert_eq!(subject("I like green tea.", None), "user");
    assert_eq!(subject("I like green tea.", Some("Bo")), "Bo");
    assert_eq!(subject("Mika: I like green tea.", Some("Bo")), "Mika");
}

#[test]
fn the_scope_is_the_widest_below_principle_that_the_boundary_has() {
    let scopes = |scope: &[Scope]| {
        let boundary = Boundary { scope: scope.iter().copied().collect(), ..Boundary::default() };
        let draft = ObservationDraft {
            session: Some("ses_1".parse().unwrap()),
            ..ObservationDraft::message("I like green tea.")
        };
        let found = RuleExtractor::default().extract(&observed(draft), &boundary).unwrap();
        found.claims.first().map(|claim| claim.scope)
    };
    assert_eq!(scopes(Scope::ALL), Some(Scope::Project));
    assert_eq!(scopes(&[Scope::Session, Scope::Principle]), Some(Scope::Session));
    assert_eq!(scopes(&[Scope::Principle]), Some(Scope::Principle));
    assert_eq!(scopes(&[]), None);
}

proptest! {
    #[test]
    fn classes_are_within_the_boundary_origins_kept_and_hashes_unique(
        parts in proptest::collection::vec(
            proptest::sample::select(vec![
                "I like green tea. ", "I like  green tea. ", "Mika: I need to call Bo tomorrow. ",
                "お茶が好きです。", "저는 녹차를 좋아해요. ", "Always run the tests. ", "Why? ", "x\n", "🍵",
            ]),
            0..30,
        ),
        class in 0_u8..4, highest in 0_u8..4,
    ) {
        let class = BoundaryClass::from_code(class).unwrap();
        let highest = BoundaryClass::from_code(highest).unwrap();
        let boundary_classes = BoundaryClass::ALL.iter().copied().filter(|&one| one <= highest).collect();
        let boundary = Boundary { boundary_classes, ..Boundary::default() };
        let content = format!(".{}", parts.concat());
        let draft = ObservationDraft { boundary_class: class, ..ObservationDraft::message(content) };
        let observation = observed(draft);
        let extracted = RuleExtractor::default().extract(&observation, &boundary)?;
        prop_assert!(extracted.claims.len() <= RuleExtractor::MAX_CLAIMS);
        let mut hashes: Vec<_> = extracted.claims.iter().map(|claim| ContentHash::of(&claim.text)).collect();
        hashes.sort();
        hashes.dedup();
        prop_assert_eq!(hashes.len(), extracted.claims.len());
        for claim in extracted.claims {
            prop_assert_eq!(&claim.origin, &Origin::Observed(observation.id.clone()));
            prop_assert!(claim.boundary_class == class && boundary.boundary_classes.contains(&class));
            let id = trefoil_core::ClaimId::new("clm_1")?;
            prop_assert!(claim.into_claim(id, Timestamp::UNIX_EPOCH).is_ok());
        }
        prop_assert!(extracted.loops.iter().all(|one| one.boundary_class == class));
    }

    #[test]
    fn any_text_can_be_read(content in "(\\PC|[a-zI' ]|[。、がはをです]|[을를이가다요. ]){1,80}") {
        extract(ObservationDraft::message(content));
    }
}
