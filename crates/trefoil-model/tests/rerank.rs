//! The real cross-encoder, pulled at first use into the platform's cache.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a panic is how a test fails")]

use std::sync::Arc;

use trefoil_core::{Embedder, Error, Language, QuestionCodes, Reranker, Score};
use trefoil_model::{
    LateInteractionEmbedder, ModelHome, ModelSource, OnnxEmbedder, OnnxReranker, PullOptions,
    TokenReranker,
};

/// Name of the cross-encoder.
const MODEL: &str = "ms-marco-MiniLM-L-12-v2";

fn home() -> ModelHome {
    let home = ModelHome::platform().unwrap();
    home.pull(&[MODEL], &(), PullOptions::default()).unwrap();
    home
}

fn reranker(threads: usize) -> OnnxReranker {
    OnnxReranker::open(&home(), &ModelSource::Name(MODEL.to_owned()), threads).unwrap()
}

fn language_of(text: &str) -> Language {
    let is_in = |from, to| text.chars().any(|c| (from..=to).contains(&c));
    match (is_in('가', '힣'), is_in('ぁ', '鿿')) {
        (true, _) => Language::Ko,
        (_, true) => Language::Ja,
        _ => Language::En,
    }
}

fn token_reranker(threads: usize) -> TokenReranker {
    let home = ModelHome::platform().unwrap();
    home.pull(&[], &(), PullOptions::default()).unwrap();
    let embedder = OnnxEmbedder::open(&home, &ModelSource::default(), threads).unwrap();
    TokenReranker::new(Arc::new(embedder), language_of).unwrap()
}

fn score(reranker: &dyn Reranker, question: &str, passage: &str) -> f32 {
    reranker.score(question, &[passage]).unwrap()[0].get()
}

#[test]
fn the_passage_that_answers_scores_highest() {
    let reranker = reranker(2);
    let passages = [
        "Berlin had a population of 3,520,031 registered inhabitants in an area of 891.82 km².",
        "Berlin is well known for its museums, of which there are more than 170.",
        "New York City is famous for the Metropolitan Museum of Art.",
        "Sourdough bread rises through wild yeast and bacteria in its starter.",
    ];
    let check = |question: &str, expected: usize| {
        let scores = reranker.score(question, &passages).unwrap();
        assert_eq!(scores.len(), passages.len());
        let best = (0..passages.len()).max_by_key(|&i| scores[i]);
        assert_eq!(best, Some(expected), "{question}: {scores:?}");
        assert!(scores[expected] > Score::clamped(0.9), "{question}: {scores:?}");
    };
    check("How many people live in Berlin?", 0);
    check("how many museums are in berlin", 1);
    check("What makes sourdough rise?", 3);
    let nonsense = reranker.score("Who wrote the Aeneid?", &passages).unwrap();
    assert!(nonsense.iter().all(|score| score.get() < 0.01), "{nonsense:?}");
}

/// The graph is rewritten when the model is pulled; these are the logits of the published file. Of
/// pairs so short no token is left out.
#[test]
fn the_logits_are_those_of_the_published_model() {
    check_logits(
        &reranker(1),
        0.25,
        &[
            ("when does rain fall", "Clouds form when moist air rises and cools.", -5.704_926),
            (
                "when does rain fall",
                "Rain falls when droplets in a cloud grow too heavy for the air to hold.",
                7.769_897,
            ),
            (
                "who wrote A Christmas Carol",
                "Charles Dickens wrote the novella in six weeks.",
                2.642_281,
            ),
            (
                "how do I reset state in React",
                "Pass a different key to the component, and React resets its state.",
                7.043_544,
            ),
            (
                "capital of Australia",
                "Sydney is the largest city in Australia, although Canberra is where parliament sits.",
                1.611_863,
            ),
        ],
    );
}

/// Of these it leaves out tokens (decision 040): the first have 113 to 118, the last has 43.
#[test]
fn the_logits_of_longer_pairs_are_near_those_of_the_published_model() {
    const LIGHTHOUSE: &str = "The lighthouse on the northern cliff was built in 1847 by the Harbour \
        Board, after two ships had run aground there in one winter. Its lamp burned whale oil at \
        first, then paraffin, and was lit by electricity from 1931 on. The keeper lived in the \
        cottage below with his family, and walked up the ninety-one steps each evening. In summer, \
        visitors came by boat from the town to see the puffins that nest on the ledges. Since 1988 \
        the light has been automatic, and the cottage is let to guests.";
    check_logits(
        &reranker(1),
        0.75,
        &[
            ("when did the lighthouse become automatic", LIGHTHOUSE, 4.336_409),
            ("how many steps lead up to the lamp", LIGHTHOUSE, -1.261_508),
            ("who sells tickets for the ferry", LIGHTHOUSE, -11.274_014),
            ("capital of Australia", LIGHTHOUSE, -11.162_806),
            (
                "why do leaves fall in autumn",
                "In autumn, days grow short, and trees stop making the green pigment of their leaves. \
             A layer of cork grows at the foot of each stalk and cuts it off.",
                4.030_241,
            ),
        ],
    );
}

#[track_caller]
fn check_logits(reranker: &OnnxReranker, most: f32, pairs: &[(&str, &str, f32)]) {
    for &(question, passage, published) in pairs {
        let score = score(reranker, question, passage);
        let logit = (score / (1.0 - score)).ln();
        assert!((logit - published).abs() < most, "{question}: {logit}, not {published}");
    }
}

#[test]
fn a_score_depends_on_its_pair_alone() {
    depends_on_its_pair_alone(&reranker(3));
    depends_on_its_pair_alone(&token_reranker(3));
}

fn depends_on_its_pair_alone(reranker: &dyn Reranker) {
    let passages: Vec<String> =
        (1..12).map(|i| "rain falls on the plain in spring ".repeat(i * i % 23 + 1)).collect();
    let passages: Vec<&str> = passages.iter().map(String::as_str).collect();
    let together = reranker.score("when does rain fall", &passages).unwrap();
    for (passage, expected) in passages.iter().zip(&together) {
        assert_eq!(score(reranker, "when does rain fall", passage), expected.get());
    }
    assert_ne!(score(reranker, "what is a plain", passages[0]), together[0].get());
    assert!(reranker.score("when does rain fall", &[]).unwrap().is_empty());
}

#[test]
fn an_answer_deep_in_a_passage_is_read() {
    let reranker = reranker(2);
    let filler = "The committee met again on a later day and spoke about the budget. ".repeat(40);
    let answer = "The lighthouse keeper Marian Hughes counted 412 puffins on the island.";
    let question = "How many puffins did the lighthouse keeper count?";
    let deep = format!("{filler}{answer} {filler}");
    assert!(score(&reranker, question, &deep) > 0.9);
    assert!(score(&reranker, question, &filler) < 0.01);

    // The headings are read wherever the window is.
    let headed = |title: &str| format!("{title}\n\n{filler}It was opened in 1932. {filler}");
    let question = "When was the Harbour Bridge opened?";
    let (right, wrong) = (headed("Harbour Bridge"), headed("Town hall"));
    assert!(score(&reranker, question, &right) > score(&reranker, question, &wrong) + 0.1);
}

#[test]
fn tokens_tell_the_passage_that_answers_in_every_language() {
    let reranker = token_reranker(2);
    let check = |question: &str, passages: &[&str], expected: usize| {
        let scores = reranker.score(question, passages).unwrap();
        let best = (0..passages.len()).max_by_key(|&i| scores[i]);
        assert_eq!(best, Some(expected), "{question}: {scores:?}");
    };
    let japanese = [
        "東京の地下鉄は一九二七年に上野と浅草の間で開業した。",
        "東京の地下鉄の路線は九つあり、毎日七百万人が利用する。",
        "味噌は大豆と麹と塩を発酵させて作る調味料である。",
    ];
    check("地下鉄はいつ開業しましたか", &japanese, 0);
    check("地下鉄は一日に何人が利用しますか", &japanese, 1);
    check("What is miso made from?", &japanese, 2);
    let korean = [
        "한글은 세종대왕이 1443년에 창제하였다.",
        "한글날은 10월 9일이며 공휴일이다.",
        "김치는 배추를 소금에 절여 발효시킨 음식이다.",
    ];
    check("한글은 누가 만들었나요?", &korean, 0);
    check("한글날은 언제인가요?", &korean, 1);
    check("キムチは何から作りますか", &korean, 2);
}

#[test]
fn texts_of_any_length_are_scored() {
    are_scored_at_any_length(&reranker(2));
    are_scored_at_any_length(&token_reranker(2));
}

fn are_scored_at_any_length(reranker: &dyn Reranker) {
    let long = "A sentence that goes on and on. ".repeat(20_000);
    let spaces = " ".repeat(1 << 20);
    let headings = format!("{}\n\nEnd.", "Heading ".repeat(400));
    let passages = ["", "\n\n", &long, &spaces, &headings, "\0\u{feff}\u{202e}", "東京 서울 😀"];
    for question in ["", "sentence", &long, &spaces] {
        assert_eq!(reranker.score(question, &passages).unwrap().len(), passages.len());
    }
}

#[test]
fn it_says_which_texts_it_reads() {
    let reranker = reranker(1);
    assert_eq!(reranker.model(), MODEL);
    assert!(reranker.reads("How does useState work?"));
    assert!(!reranker.reads("useState の使い方"));
    assert!(!reranker.reads("useState는 어떻게 쓰나요?"));
    assert!(token_reranker(1).reads("useState는 어떻게 쓰나요?"));
}

#[test]
fn opening_tells_what_is_missing_or_wrong() {
    let source = ModelSource::Name(MODEL.to_owned());
    let empty = tempfile::tempdir().unwrap();
    let error = OnnxReranker::open(&ModelHome::at(empty.path()), &source, 1).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    let error =
        OnnxReranker::open(&home(), &ModelSource::Name("onnxruntime".into()), 1).unwrap_err();
    assert!(matches!(error, Error::InvalidConfig { field: "rerank.model", .. }), "{error}");
}

/// A folder whose model is no cross-encoder: the output has another shape.
#[test]
fn a_model_that_does_not_score_is_an_error() {
    home().pull(&[], &(), PullOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let embedder = home().path("multilingual-e5-small").unwrap();
    for name in ["model.onnx", "tokenizer.json"] {
        std::fs::copy(embedder.join(name), folder.path().join(name)).unwrap();
    }
    let card = "name = 'mine'\nrole = 'reranker'\nlicense = 'MIT'\nlanguages = ['ja']\n";
    std::fs::write(folder.path().join("card.toml"), card).unwrap();
    let source = ModelSource::Folder(folder.path().to_owned());
    let reranker = OnnxReranker::open(&home(), &source, 1).unwrap();
    assert!(reranker.reads("東京の天気"), "its card names Japanese");
    let error = reranker.score("question", &["passage"]).unwrap_err();
    assert!(matches!(error, Error::RerankFailed { .. }), "{error}");

    let card = "name = 'mine'\nrole = 'embedder'\nlicense = 'MIT'\n[embedding]\ndimensions = 384\n\
                pooling = 'mean'\nquantization = 'int8'\ncosine-range = [0.7, 0.9]\n";
    std::fs::write(folder.path().join("card.toml"), card).unwrap();
    let embedder = Arc::new(OnnxEmbedder::open(&home(), &source, 1).unwrap());
    assert!(TokenReranker::new(embedder, |_| Language::En).is_none(), "there is no `tokens.toml`");
}

/// Those that are kept of English passages, by the default models.
#[test]
fn kept_token_vectors_tell_what_answers_a_question() {
    let home = ModelHome::platform().unwrap();
    home.pull(&[], &(), PullOptions::default()).unwrap();
    let embedder = OnnxEmbedder::open(&home, &ModelSource::default(), 2).unwrap();
    let source = ModelSource::Name("answerai-colbert-small-v1".to_owned());
    let embedder = LateInteractionEmbedder::open(Arc::new(embedder), &home, &source, 2).unwrap();
    let texts = [
        "Barn owls hunt at night: their feathers make no sound, and they hear a mouse in the grass.",
        "Tides rise and fall twice a day, because the moon pulls at the water of the sea.",
        "Sourdough bread rises through wild yeast and bacteria in its starter.",
    ];
    let passages = texts.map(|text| (text, Some(Language::En)));
    let codes = embedder.embed_passages(&passages).unwrap().1;
    let space = embedder.token_space(Language::En).unwrap();
    for (expected, question) in
        ["how do owls catch their prey?", "why is there low water?", "what makes dough grow?"]
            .into_iter()
            .enumerate()
    {
        let asked = embedder.query_tokens(question, Language::En, Language::En).unwrap();
        // Its words and its question mark, a marker and both ends; no masks (decision 041).
        assert_eq!(asked.nrows(), question.split(' ').count() + 4, "{question}");
        let asked = QuestionCodes::of(&asked.view());
        let near = |codes| space.similarity_of_codes(&asked, codes);
        let near: Vec<f32> = codes.iter().flatten().map(near).collect();
        let best = (0..3).max_by(|&a, &b| near[a].total_cmp(&near[b]));
        assert_eq!((best, near.len()), (Some(expected), 3), "{question}: {near:?}");
        assert!(near.iter().all(|near| (0.6..0.95).contains(near)), "{question}: {near:?}");
    }
    // The tokens of Japanese are the embedder's.
    let passages = [("梟は夜に狩りをする。", Some(Language::Ja))];
    let codes = embedder.embed_passages(&passages).unwrap().1.remove(0).unwrap();
    let space = embedder.token_space(Language::Ja).unwrap();
    let asked = embedder.query_tokens("梟は何をする", Language::Ja, Language::Ja).unwrap();
    assert!(!space.is_late_interaction());
    assert!(space.similarity_of_codes(&QuestionCodes::of(&asked.view()), &codes) > 0.3);
}
