use std::{collections::BTreeSet, fs, path::Path};

use proptest::prelude::{Strategy, prop_assert, prop_assert_eq, proptest};
use serde::Deserialize;
use trefoil_text::language_of;

use super::*;

/// The cases of a file in `fixtures/classification`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// A question and what it is.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    question: String,
    #[serde(rename = "type")]
    query_type: QueryType,
    /// What is to be extracted, in any order.
    #[serde(default)]
    entities: BTreeSet<String>,
    /// What the corpus knows.
    #[serde(default)]
    names: Vec<String>,
}

fn cases(file: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/classification");
    let text = fs::read_to_string(folder.join(file)).unwrap();
    toml::from_str::<Cases>(&text).unwrap_or_else(|error| panic!("{file}: {error}")).case
}

fn question(text: &str) -> Question {
    let language = language_of(text);
    Question { text: text.to_owned(), language, ..Question::default() }
}

fn classify(text: &str, names: &[String]) -> QueryClassification {
    let mut table = NameTable::default();
    for name in names {
        table.insert(&[name]);
    }
    RuleClassifier.classify(&question(text), &table).unwrap()
}

/// The cases that are told wrong, a line each; the share of right types, and of cases
/// with exactly the right entities.
fn judge(cases: &[Case]) -> (Vec<String>, f32, f32) {
    let (mut wrong, mut right_types, mut right_entities) = (Vec::new(), 0, 0);
    for case in cases {
        let found = classify(&case.question, &case.names);
        let entities: BTreeSet<String> = found.extracted_entities.iter().cloned().collect();
        right_types += usize::from(found.query_type == case.query_type);
        right_entities += usize::from(entities == case.entities);
        if found.query_type != case.query_type || entities != case.entities {
            wrong.push(format!(
                "{}\n    is {:?} {:?}\n    not {:?} {:?}",
                case.question, case.query_type, case.entities, found.query_type, entities
            ));
        }
    }
    let share = |count: usize| count as f32 / cases.len() as f32;
    (wrong, share(right_types), share(right_entities))
}

#[test]
fn every_development_case_is_right() {
    for language in Language::ALL {
        let cases = cases(&format!("{language}.toml"));
        assert!(cases.len() >= 60, "{language} has {} cases", cases.len());
        let (wrong, ..) = judge(&cases);
        assert!(wrong.is_empty(), "{} of {language}:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
#[allow(clippy::print_stdout, reason = "the figures are to be seen")]
fn nine_held_out_cases_of_ten_are_right() {
    for language in Language::ALL {
        let cases = cases(&format!("held-out-{language}.toml"));
        assert!(cases.len() >= 40, "{language} has {} cases", cases.len());
        let (wrong, types, entities) = judge(&cases);
        println!(
            "{language}, {} held-out cases: type {types:.3}, entities {entities:.3}",
            cases.len()
        );
        assert!(types >= 0.9 && entities >= 0.9, "{language}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn confidence_and_weights_follow_the_kind() {
    let check = |text: &str, query_type, confidence, weights: [f32; 3]| {
        let found = classify(text, &["Kyoto".to_owned()]);
        assert_eq!(found.query_type, query_type, "{text}");
        assert_eq!(found.confidence, Score::clamped(confidence), "{text}");
        let [keyword, semantic, graph] = weights;
        assert_eq!(
            found.suggested_weights,
            SearchWeights::default_set([keyword, semantic, graph]).unwrap()
        );
    };
    check("how do I poach an egg", QueryType::Hybrid, 0.6, [0.33, 0.34, 0.33]);
    check("when is the kyoto festival", QueryType::Local, 0.7, [0.35, 0.35, 0.30]);
    check("what does the function useState return", QueryType::Local, 0.7, [0.35, 0.35, 0.30]);
    check("overview of the handbook", QueryType::Global, 0.8, [0.20, 0.30, 0.50]);
    check("rice vs barley", QueryType::Relationship, 0.8, [0.20, 0.20, 0.60]);
    check("E0502", QueryType::Local, 0.7, [0.50, 0.25, 0.25]);
    check("useStateとは", QueryType::Local, 0.7, [0.50, 0.25, 0.25]);
}

#[test]
fn a_classification_is_written_in_camel_case_and_read_strictly() {
    let found = classify("difference between Rc and Arc", &[]);
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["originalQuery"], "difference between Rc and Arc");
    assert_eq!(json["type"], "relationship");
    assert_eq!(json["extractedEntities"], serde_json::json!(["Rc", "Arc"]));
    assert_eq!(serde_json::from_value::<QueryClassification>(json.clone()).unwrap(), found);
    let mut unknown = json;
    unknown["extra"] = 1.into();
    assert!(serde_json::from_value::<QueryClassification>(unknown).is_err());
}

/// Questions of any characters, and of the pieces that the rules look for.
fn any_question() -> impl Strategy<Value = String> {
    let pieces = proptest::sample::select(vec![
        "why ",
        "difference between ",
        " and ",
        " vs ",
        "summary of ",
        "とは",
        "と",
        "の違い",
        "なぜ",
        "概要",
        "の",
        "에서 ",
        "와 ",
        "의 차이",
        "왜 ",
        "요약",
        "「",
        "」",
        "'",
        "\"",
        "useState",
        "E0502",
        "foo::bar",
        "./a/b.rs",
        "Kyoto ",
        "京都",
        "서울",
        "ー",
        "ｶﾞ",
        "ß",
        "İ",
        " ",
        "\u{301}",
        "?",
        "。",
    ]);
    let piece = proptest::prop_oneof![
        3 => pieces.prop_map(str::to_owned),
        1 => "\\PC{1,6}".prop_map(|text| text),
    ];
    proptest::collection::vec(piece, 0..60)
        .prop_map(|pieces| pieces.concat().chars().take(1_000).collect())
}

proptest! {
    #[test]
    fn any_question_is_classified_within_the_contract(text in any_question()) {
        let names = ["Kyoto", "京都", "서울", "a"].map(str::to_owned);
        let found = classify(&text, &names);
        prop_assert_eq!(&found, &classify(&text, &names));
        prop_assert_eq!(&found.original_query, &text);
        prop_assert!((0.0..=1.0).contains(&found.confidence.get()));
        prop_assert_eq!(found.query_type == QueryType::Hybrid, found.confidence.get() < 0.7);
        let sum: f32 = trefoil_core::RetrieverId::DEFAULT_SET.iter().map(|&retriever| found.suggested_weights.get(retriever)).sum();
        prop_assert!((sum - 1.0).abs() < 1e-5);
        let normal = normalize(&text);
        for (at, entity) in found.extracted_entities.iter().enumerate() {
            prop_assert!(!entity.is_empty() && normal.contains(entity.as_str()), "{}", entity);
            prop_assert!(!found.extracted_entities[..at].contains(entity));
        }
        prop_assert!(found.expanded_queries.len() <= QueryClassification::MAX_EXPANSIONS);
        for (at, expansion) in found.expanded_queries.iter().enumerate() {
            prop_assert!(*expansion != text && !found.expanded_queries[..at].contains(expansion));
            prop_assert!(trefoil_core::QueryText::new(expansion).is_ok());
        }
    }

    #[test]
    fn a_question_of_any_length_is_classified(text in "\\PC{990,1000}") {
        prop_assert_eq!(classify(&text, &[]).original_query, text);
    }
}
