//! What is measured of a model that is added, on models whose ranges are known.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

mod tiny;

use std::fs;

use trefoil_core::Language;
use trefoil_model::{
    AddOptions, AddSource, AddedModel, Card, ModelHome, PullOptions, RerankerScores,
};

/// Adds a model of the manifest as if it came from a folder, with this card.
fn added(name: &str, card: &str) -> AddedModel {
    let platform = ModelHome::platform().unwrap();
    platform.pull(&[name], &(), PullOptions::default()).unwrap();
    let from = platform.path(name).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        fs::copy(from.join(file), folder.path().join(file)).unwrap();
    }
    fs::write(folder.path().join("card.toml"), card).unwrap();
    let (_root, home) = tiny::home();
    let source = AddSource::Folder(folder.path().to_owned());
    home.add(&source, &AddOptions::default(), &(), PullOptions { offline: true }).unwrap()
}

/// The card in the manifest says .81 to .92, measured on collections of passages.
#[test]
fn the_range_of_the_default_embedder_is_found_again() {
    let AddedModel { card, check, remarks, .. } = added(
        "multilingual-e5-small",
        "name = 'e5'\nrole = 'embedder'\nlicense = 'MIT'\n[embedding]\ndimensions = 384\n\
         pooling = 'mean'\nquery-prefix = 'query: '\npassage-prefix = 'passage: '\n\
         quantization = 'int8'\n",
    );
    let [low, high] = check.range;
    assert!((low - 0.81).abs() < 0.04 && (high - 0.92).abs() < 0.04, "{check:?}");
    assert_eq!(card.languages, Language::ALL.map(Language::code));
    assert!(check.languages.iter().all(|one| one.found >= 50), "{check:?}");
    assert!(check.translations.iter().all(|one| one.nearest >= 45), "{check:?}");
    assert!(remarks.is_empty(), "{remarks:?}");
}

/// It is the scale that logits of other rerankers are brought to.
#[test]
fn the_scale_of_the_default_reranker_is_found_again() {
    let AddedModel { card, check, .. } = added(
        "ms-marco-MiniLM-L-12-v2",
        "name = 'marco'\nrole = 'reranker'\nlicense = 'Apache-2.0'\n[reranking]\n",
    );
    let [low, high] = check.range;
    assert!((low + 11.3).abs() < 0.3 && (high - 7.0).abs() < 0.3, "{check:?}");
    let Card { languages, reranking, .. } = card;
    assert_eq!(languages, ["en"]);
    assert_eq!(reranking.unwrap().scores, RerankerScores::Logits);
}

/// The card in the manifest says .75 to .9, because passages that were found for a question are
/// nearer than these are. Those of each language in which it happens to pass are compared.
#[test]
fn the_range_of_the_default_model_of_late_interaction_is_found_again() {
    let AddedModel { card, check, .. } = added(
        "answerai-colbert-small-v1",
        "name = 'colbert'\nrole = 'late-interaction'\nlicense = 'Apache-2.0'\nmax-tokens = 300\n\
         [late-interaction]\ndimensions = 384\nquery-marker = '[unused0]'\n\
         passage-marker = '[unused1]'\n",
    );
    let [low, high] = check.range;
    assert!((low - 0.7).abs() < 0.03 && (high - 0.9).abs() < 0.02, "{check:?}");
    assert!(card.languages.contains(&"en".to_owned()), "{card:?}");
    assert!(check.languages[0].found >= 50, "{check:?}");
}
