use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde::Deserialize;
use trefoil_core::{Mention, RelationType, Score};

use super::*;
use crate::language_of;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

/// A text and what must and must not be found in it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    title: String,
    #[serde(default)]
    headings: Vec<String>,
    text: String,
    #[serde(default)]
    has: BTreeMap<String, MentionKind>,
    #[serde(default)]
    lacks: Vec<String>,
    #[serde(default)]
    only: bool,
}

fn extract(title: &str, headings: &[String], text: &str, language: Language) -> Vec<Mention> {
    let titled = TitledText { title, heading_path: headings, text, language };
    ScriptExtractor.extract(&[titled]).unwrap().remove(0).into_parts().0
}

fn check(cases: &str, language: Language) {
    let cases: Cases = toml::from_str(cases).unwrap();
    for Case { title, headings, text, has, lacks, only } in cases.case {
        let found: BTreeMap<String, MentionKind> = extract(&title, &headings, &text, language)
            .into_iter()
            .map(|mention| (mention.name, mention.kind))
            .collect();
        for (name, kind) in &has {
            assert_eq!(found.get(name), Some(kind), "{name} of {title:?} {text:?}: {found:?}");
        }
        for name in &lacks {
            assert!(!found.contains_key(name), "{name} of {title:?} {text:?}: {found:?}");
        }
        assert!(!only || found.len() == has.len(), "only {has:?} of {text:?}: {found:?}");
    }
}

#[test]
fn english_names_are_found() {
    check(include_str!("../../testdata/entities-en.toml"), Language::En);
}

#[test]
fn japanese_nouns_are_found() {
    check(include_str!("../../testdata/entities-ja.toml"), Language::Ja);
}

#[test]
fn korean_nouns_are_found() {
    check(include_str!("../../testdata/entities-ko.toml"), Language::Ko);
}

#[test]
fn a_mention_knows_every_place_of_its_name() {
    let text = "G. Stanley Hall taught. Hall wrote. “Hall” left; G. Stanley Hall's son did not.";
    let mentions = extract("", &[], text, Language::En);
    let hall = mentions.iter().find(|mention| mention.normalized_name == "g stanley hall").unwrap();
    let places: Vec<&str> = hall.spans.iter().map(|span| &text[span.start..span.end]).collect();
    assert_eq!(places, ["G. Stanley Hall", "Hall", "Hall", "G. Stanley Hall"]);
    assert_eq!(hall.aliases, ["hall"]);
}

#[test]
fn other_forms_of_a_title_are_its_aliases() {
    let aliases = |title| extract(title, &[], "", Language::En).remove(0).aliases;
    assert_eq!(aliases("Brother (song)"), ["brother song"]);
    assert_eq!(aliases("West Chicago, Illinois"), ["west chicago"]);
    assert_eq!(aliases("Forbes, the magazine"), [""; 0]);
}

#[test]
fn a_link_keeps_where_it_leads_to() {
    let text = "See [the guide](../guide.md#start \"Guide\").";
    let mentions = extract("", &[], text, Language::En);
    let target = mentions.iter().find_map(|mention| mention.target.as_deref());
    assert_eq!(target, Some("../guide.md#start"));
}

#[test]
fn the_surest_are_kept() {
    let names: Vec<String> = (0..40).map(|i| format!("`name{i}`, old church tower{i}.")).collect();
    let mentions = extract("Towers", &[], &names.join(" "), Language::En);
    assert_eq!(mentions.len(), Extraction::MAX_MENTIONS);
    assert_eq!(mentions[0].name, "Towers");
    assert!(mentions[1..].iter().all(|mention| mention.kind == MentionKind::Code));
}

#[test]
fn a_text_does_not_depend_on_the_others_of_the_call() {
    let texts = ["Paris is old.", "東京は大きい。", "서울은 크다."].map(|text| TitledText {
        text,
        language: language_of(text),
        ..TitledText::default()
    });
    let together = ScriptExtractor.extract(&texts).unwrap();
    let alone: Vec<_> =
        texts.iter().flat_map(|&text| ScriptExtractor.extract(&[text]).unwrap()).collect();
    assert_eq!(together, alone);
}

/// The relations of a text but for those of standing in one sentence.
fn relations(title: &str, text: &str, language: Language) -> Vec<(String, RelationType, String)> {
    let titled = TitledText { title, text, language, ..TitledText::default() };
    let (_, relations) = ScriptExtractor.extract(&[titled]).unwrap().remove(0).into_parts();
    let found = relations.into_iter().filter(|r| r.relation_type != RelationType::CO_OCCURS);
    found.map(|r| (r.source, r.relation_type, r.target)).collect()
}

#[track_caller]
fn check_relations(text: &str, language: Language, expected: &[(&str, RelationType, &str)]) {
    let found = relations("Guide", text, language);
    let found: Vec<_> = found.iter().map(|(a, t, b)| (&**a, t.clone(), &**b)).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn structure_relates() {
    use Language::{En, Ja, Ko};
    const IS_A: RelationType = RelationType::IS_A;
    const DEFINES: RelationType = RelationType::DEFINES;
    const CONTAINS: RelationType = RelationType::CONTAINS;
    const REFERS_TO: RelationType = RelationType::REFERS_TO;
    check_relations(
        "# State Hooks\n\nSee [Reducers](reducers.md).\n\n## Traps\n\nCall `useState`.",
        En,
        &[
            ("guide", CONTAINS, "state hooks"),
            ("state hooks", CONTAINS, "traps"),
            ("state hooks", RelationType::LINKS_TO, "reducers"),
            ("traps", REFERS_TO, "usestate"),
        ],
    );
    check_relations(
        "Hank Snow (1914) was a Canadian country singer in Nashville.",
        En,
        &[("guide", DEFINES, "hank snow"), ("hank snow", IS_A, "country singer")],
    );
    check_relations("- **Bloom filter**: a set.", En, &[]);
    check_relations(
        "It ranks by links (Page & Brin, 1998).",
        En,
        &[("guide", RelationType::CITES, "page brin 1998")],
    );
    check_relations(
        "東京は、日本の首都である。",
        Ja,
        &[("guide", DEFINES, "東京"), ("東京", IS_A, "首都")],
    );
    check_relations(
        "서울특별시는 대한민국의 도시이다.",
        Ko,
        &[("guide", DEFINES, "서울특별시"), ("서울특별시", IS_A, "도시")],
    );
}

#[test]
fn what_stands_in_one_sentence_or_two_goes_together() {
    let text = "Hopper met Boole. Boole and Hopper wrote. Cantor slept. Hopper woke Cantor.";
    let titled = TitledText { text, language: Language::En, ..TitledText::default() };
    let (_, relations) = ScriptExtractor.extract(&[titled]).unwrap().remove(0).into_parts();
    let found: Vec<_> =
        relations.iter().map(|r| (&*r.source, &*r.target, r.evidence.len())).collect();
    assert_eq!(found, [("hopper", "boole", 2), ("hopper", "cantor", 1), ("boole", "cantor", 1)]);
    let evidence = relations[1].evidence[0];
    assert_eq!(&text[evidence.start..evidence.end], "Hopper woke Cantor.");
}

#[test]
fn people_are_known_by_parts_of_their_names() {
    let aliases = |text| {
        let mentions = extract("", &[], text, Language::En);
        mentions.into_iter().map(|m| (m.normalized_name, m.aliases)).collect::<Vec<_>>()
    };
    let alex = ("alex mercer".to_owned(), vec!["alex".to_owned(), "mercer".to_owned()]);
    for text in [
        "Agent Alex Mercer left. We saw Alex go. We told Mercer.",
        "He saw Alex Mercer. We saw Alex and Agent Mercer.",
    ] {
        assert_eq!(aliases(text), std::slice::from_ref(&alex), "{text}");
    }
    // A place is not a first name, and neither is a word of which no surname is known.
    let keys = |text| aliases(text).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
    assert_eq!(keys("Boston Bruins won in Boston. The Bruins rest."), ["boston bruins", "boston"]);
    assert_eq!(keys("Big fans of Taylor Cruz saw Taylor."), ["taylor cruz", "taylor"]);
}

fn untitled<T: AsRef<str>>(texts: &[T]) -> Vec<TitledText<'_>> {
    let titled = |text| TitledText { text, language: Language::En, ..TitledText::default() };
    texts.iter().map(|text| titled(text.as_ref())).collect()
}

/// What each of some English texts mentions, read alone and as those of one document.
fn extract_each<T: AsRef<str>>(texts: &[T]) -> [Vec<Extraction>; 2] {
    let texts = untitled(texts);
    let alone = ScriptExtractor.extract(&texts).unwrap();
    [alone.clone(), resolve_names(&texts, alone)]
}

/// The keys of what each text of a document mentions.
fn resolved(texts: &[&str]) -> Vec<Vec<String>> {
    let keys = |extraction: &Extraction| {
        extraction.mentions().iter().map(|mention| mention.normalized_name.clone()).collect()
    };
    extract_each(texts)[1].iter().map(keys).collect()
}

#[test]
fn a_document_knows_short_forms_of_its_names() {
    let alex = "Alex Mercer came. We told Mercer.";
    assert_eq!(resolved(&[alex, "Mercer went."]), [["alex mercer"], ["alex mercer"]]);
    assert_eq!(resolved(&["Mercer went.", alex]), [["alex mercer"], ["alex mercer"]]);
    let ann = "Ann Mercer came. We told Mercer.";
    assert_eq!(resolved(&[alex, ann, "Mercer went."])[2], ["mercer"], "of two");
    let odd = "Watching Mercer came. We told Mercer.";
    assert_eq!(resolved(&[alex, alex, alex, odd, "Mercer went."])[4], ["alex mercer"], "of most");
    let both = resolved(&[alex, "Mercer met Ann Mercer and Bea Mercer."]);
    assert_eq!(both[1], ["ann mercer", "bea mercer", "mercer"], "next to others");
    assert_eq!(resolved(&["Alex Mercer came.", "Mercer went."])[1], ["mercer"], "no text has both");
    let acronym = "The National Science Foundation (NSF) paid.";
    assert_eq!(resolved(&[acronym, "They asked NSF."])[1], ["national science foundation"]);
    assert_eq!(resolved(&["React DOM renders. The DOM waits."])[0], ["react dom", "dom"]);
}

#[test]
fn a_document_knows_its_common_words() {
    let silence = "Silence fell. We met Ada.";
    assert_eq!(resolved(&[silence]), [["ada", "silence"]]);
    assert_eq!(resolved(&[silence, "The silence grew."])[0], ["ada"]);
    let film = "They saw Silence.";
    assert_eq!(resolved(&[silence, "The silence grew.", film])[0], ["ada", "silence"]);

    // Another extractor may take a word in small letters for a name, and not be sure of it.
    let texts = ["Here silence is studied."];
    let silence = Mention {
        name: "silence".to_owned(),
        confidence: Score::HALF,
        ..extract("", &[], "Silence fell.", Language::En).remove(0)
    };
    let found = vec![Extraction::new(vec![silence])];
    assert_eq!(resolve_names(&untitled(&texts), found.clone()), found);
}

#[test]
fn what_bears_on_a_short_form_bears_on_the_whole_name() {
    let texts = ["Alex Mercer came. We told Mercer.", "Mercer met Ada Lovelace."];
    let [_, resolved] = extract_each(&texts);
    let relation = &resolved[1].relations()[0];
    assert_eq!((&*relation.source, &*relation.target), ("ada lovelace", "alex mercer"));
    let mention = resolved[1].mentions().iter().find(|m| m.normalized_name == "alex mercer");
    assert_eq!(mention.unwrap().aliases, ["mercer"]);
}

/// Names, markup and marks of every script, to be thrown together.
const PIECES: &str = "(Paris|New York|G\\. Hall's|the |of |useState|a_b|C\\+\\+|U\\.S\\.|東京|サーバー|・|の|한국어를|상태|하다|ｶﾞ|\
                      `|```\n|\\[|\\]\\(|\\)|<|>|\"|“|”|「|」|《|'|’|\\*\\*|# |\n|https://|\\. |, |&|::|-|[0-9]|\\PC| |[\u{300}-\u{304}ー]){0,60}";

proptest! {
    #[test]
    fn short_forms_lose_no_place(texts in prop::collection::vec("(Alex|Mercer|Ann|IBM|International Business Machines| |\\. |, and |Agent ){1,12}", 1..5)) {
        let places = |extraction: &Extraction| {
            let spans = extraction.mentions().iter().flat_map(|mention| &mention.spans);
            spans.flat_map(|span| span.start..span.end).collect::<BTreeSet<_>>()
        };
        let [found, resolved] = extract_each(&texts);
        prop_assert_eq!(
            resolved.iter().map(places).collect::<Vec<_>>(),
            found.iter().map(places).collect::<Vec<_>>()
        );
    }

    #[test]
    fn mentions_of_any_text_are_sound(title in PIECES, heading in PIECES, text in PIECES) {
        let headings = [heading];
        for language in Language::ALL {
            let mentions = extract(&title, &headings, &text, language);
            for relation in relations(&title, &text, language) {
                prop_assert!(relation.0 != relation.2);
            }
            prop_assert!(mentions.len() <= Extraction::MAX_MENTIONS);
            prop_assert_eq!(&mentions, &extract(&title, &headings, &text, language));
            let keys: BTreeSet<&str> =
                mentions.iter().map(|mention| &*mention.normalized_name).collect();
            prop_assert_eq!(keys.len(), mentions.len());
            prop_assert!(mentions.is_sorted_by(|a, b| a.confidence >= b.confidence));
            for mention in &mentions {
                prop_assert!((2..=255).contains(&mention.name.chars().count()), "{}", mention.name);
                prop_assert!(mention.normalized_name.chars().count() >= 2);
                prop_assert!(mention.confidence.get() >= 0.5);
                let mut end = 0;
                for span in &mention.spans {
                    prop_assert!(end <= span.start && span.start < span.end);
                    prop_assert!(text.get(span.start..span.end).is_some());
                    end = span.end;
                }
                let above = matches!(mention.kind, MentionKind::Title | MentionKind::Heading);
                prop_assert!(above || !mention.spans.is_empty() || !title.is_empty());
            }
        }
    }
}
