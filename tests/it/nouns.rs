//! Nouns of Japanese and Korean by the real dictionaries, fetched once into the
//! platform's cache.

use std::{collections::BTreeMap, sync::OnceLock};

use serde::Deserialize;
use trefoil::{
    Language,
    graph::{EntityExtractor, Extraction, MentionKind, MorphologicalExtractor, TitledText},
    model::{ModelHome, PullOptions},
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    text: String,
    #[serde(default)]
    has: Vec<String>,
    #[serde(default)]
    names: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    only: bool,
}

fn extractor() -> &'static MorphologicalExtractor {
    static EXTRACTOR: OnceLock<MorphologicalExtractor> = OnceLock::new();
    EXTRACTOR.get_or_init(|| {
        let home = ModelHome::platform().unwrap();
        home.pull(&["ipadic", "ko-dic"], &(), PullOptions::default()).unwrap();
        let path = |name| home.path(name).unwrap();
        MorphologicalExtractor::open(Some(&path("ipadic")), Some(&path("ko-dic"))).unwrap()
    })
}

fn extract(text: &str, language: Language) -> Extraction {
    let titled = TitledText { text, language, ..TitledText::default() };
    extractor().extract(&[titled]).unwrap().remove(0)
}

fn check(cases: &str, language: Language) {
    let cases: Cases = toml::from_str(cases).unwrap();
    let mut wrong = Vec::new();
    for Case { text, has, names, lacks, only } in cases.case {
        let found: BTreeMap<String, MentionKind> = extract(&text, language)
            .mentions()
            .iter()
            .map(|mention| (mention.name.clone(), mention.kind))
            .collect();
        let is_right = has.iter().all(|name| found.contains_key(name))
            && names.iter().all(|name| found.get(name) == Some(&MentionKind::ProperNoun))
            && lacks.iter().all(|name| !found.contains_key(name))
            && (!only || found.len() == has.len());
        if !is_right {
            wrong.push(format!("{text}\n  has {has:?} names {names:?}\n  found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn japanese_nouns_are_found_by_their_parts_of_speech() {
    check(include_str!("../nouns/ja.toml"), Language::Ja);
}

#[test]
fn korean_nouns_are_found_by_their_parts_of_speech() {
    check(include_str!("../nouns/ko.toml"), Language::Ko);
}

#[test]
fn a_language_without_a_dictionary_is_read_by_its_script() {
    let scripts = MorphologicalExtractor::open(None, None).unwrap();
    assert_ne!(scripts.fingerprint(), extractor().fingerprint());
    for (text, language) in [
        ("東京都は日本の首都である。", Language::Ja),
        ("상태 변수를 업데이트합니다.", Language::Ko),
        ("The Bank of England is in London.", Language::En),
    ] {
        let titled = TitledText { text, language, ..TitledText::default() };
        let of = |extractor: &dyn EntityExtractor| extractor.extract(&[titled]).unwrap();
        assert_eq!(of(&scripts), of(&trefoil::graph::ScriptExtractor), "{text}");
    }
}

#[test]
fn a_folder_without_its_dictionary_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = MorphologicalExtractor::open(Some(folder.path()), None).unwrap_err().to_string();
    assert!(error.contains("ipadic") && error.contains("models pull"), "{error}");
    let ko_dic = ModelHome::platform().unwrap().path("ko-dic");
    if let Ok(ko_dic) = ko_dic {
        let error = MorphologicalExtractor::open(Some(&ko_dic), None).unwrap_err().to_string();
        assert!(error.contains("holds `ko-dic`"), "{error}");
    }
}
