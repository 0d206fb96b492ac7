use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;

use super::*;

/// The pairs of a file of `fixtures/claims`, by what they are.
fn pairs(file: &str) -> BTreeMap<String, Vec<(String, String)>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/claims").join(file);
    toml::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn of_the_pairs_that_the_words_were_chosen_on_none_is_mistaken_and_few_are_missed() {
    for language in ["en", "ja", "ko"] {
        for (kind, pairs) in pairs(&format!("{language}.toml")) {
            let same = |(a, b): &&(String, String)| difference(a, b).is_none();
            let found: Vec<_> = pairs.iter().filter(same).collect();
            if kind == "duplicate" {
                let share = found.len() as f64 / pairs.len() as f64;
                assert!(share >= 0.85, "{language}: {share} of the duplicates");
            } else {
                assert_eq!(found, [] as [&(String, String); 0], "{language} {kind}");
            }
        }
    }
}

#[test]
fn what_differs_is_told() {
    let check = |a: &str, b: &str, expected: Option<Difference>| {
        assert_eq!(difference(a, b), expected, "{a} | {b}");
    };
    check("I like spicy food.", "I really enjoy spicy food.", None);
    check("매운 음식을 좋아해요.", "매운 음식을 싫어해요.", Some(Difference::Denial));
    check("I eat fish, but no meat.", "I eat meat, but no fish.", Some(Difference::Denial));
    check("毎朝六時に起きます。", "毎朝七時に起きます。", Some(Difference::Number));
    check("I live in Lyon.", "I lived in Lyon.", Some(Difference::Time));
    check("コーヒーより紅茶が好き。", "紅茶よりコーヒーが好き。", Some(Difference::Role));
    check("I like tea.", "お茶が好きです。", Some(Difference::Language));
    let words = |a: &str, b: &str| Some(Difference::Words(vec![a.into()], vec![b.into()]));
    check("京都に住んでいます。", "大阪に住んでいます。", words("京都", "大阪"));
    check("", "", Some(Difference::Words(vec![], vec![])));
}

#[test]
fn nearness_is_counted_from_the_background() {
    let background = [vec![0.6, 0.8], vec![0.8, 0.6]];
    let a = [1.0, 0.0];
    assert!((nearness(&a, &a, &background) - 1.0).abs() < 1e-6);
    // The mean cosine with the background is .7 and .96.
    let b = [0.6, 0.8];
    assert!((nearness(&a, &b, &background) - (0.6 - 0.84) / (1.0 - 0.84)).abs() < 0.2);
    assert!(nearness(&a, &a, &[]) == 1.0);
}

proptest! {
    #[test]
    fn what_differs_does_so_both_ways(
        a in "(I|you|not|like|tea|Kyoto|6|私は|紅茶|好き|ない|東京|저는|차를|좋아해요|안| ){0,8}",
        b in "(I|you|not|like|tea|Kyoto|6|私は|紅茶|好き|ない|東京|저는|차를|좋아해요|안| ){0,8}",
    ) {
        prop_assert_eq!(difference(&a, &b).is_none(), difference(&b, &a).is_none());
    }

    #[test]
    fn any_text_can_be_compared(text in "\\PC{0,60}") {
        let found = difference(&text, &text);
        prop_assert!(matches!(found, None | Some(Difference::Words(..) | Difference::Language)), "{found:?}");
    }
}
