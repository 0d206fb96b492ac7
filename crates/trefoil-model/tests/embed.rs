//! The real multilingual model, pulled at first use into the platform's cache.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

use serde::Deserialize;
use trefoil_core::{Embedder, Error, Language, Role, TokenCounter, TokenSpace};
use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder, PullOptions};

/// What the f32 model and the tokenizer of the reference implementation say.
#[derive(Deserialize)]
struct Reference {
    /// `query`, `passage`, or nothing for a line that is only tokenised.
    role: String,
    text: String,
    ids: Vec<u32>,
    vector: Vec<f32>,
}

fn home() -> ModelHome {
    let home = ModelHome::platform().unwrap();
    home.pull(&[], &(), PullOptions::default()).unwrap();
    home
}

fn embedder(threads: usize) -> OnnxEmbedder {
    OnnxEmbedder::open(&home(), &ModelSource::default(), threads).unwrap()
}

fn references() -> Vec<Reference> {
    serde_json::from_str(include_str!("../testdata/e5-reference.json")).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn embed_one(embedder: &OnnxEmbedder, role: Role, text: &str) -> Vec<f32> {
    embedder.embed(role, &[text]).unwrap().row(0).to_vec()
}

/// 8-bit products cost up to .006 of cosine on real passages; short texts more.
#[test]
fn vectors_are_near_those_of_the_reference() {
    let embedder = embedder(2);
    for Reference { role, text, vector, .. } in references() {
        let role = match role.as_str() {
            "query" => Role::Query,
            "passage" => Role::Passage,
            _ => continue,
        };
        let found = embed_one(&embedder, role, &text);
        let cosine = cosine(&found, &vector);
        assert!(cosine >= 0.985, "{text}: {cosine}");
        assert!((found.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5, "{text}");
    }
}

#[test]
fn tokens_are_those_of_the_reference() {
    let path = home().path("multilingual-e5-small").unwrap().join("tokenizer.json");
    let tokenizer = tokenizers::Tokenizer::from_file(path).unwrap();
    let embedder = embedder(1);
    for Reference { role, text, ids, .. } in references() {
        let text = if role.is_empty() { text } else { format!("{role}: {text}") };
        assert_eq!(tokenizer.encode(text.as_str(), true).unwrap().get_ids(), ids, "{text:?}");
        assert_eq!(embedder.count(&text), ids.len() - 2, "{text:?}");
    }
}

#[test]
fn a_vector_depends_on_its_text_alone() {
    let embedder = embedder(3);
    let texts: Vec<String> = (1..12).map(|i| "雨 rain 비 ".repeat(i * i % 13 + 1)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = embedder.embed(Role::Passage, &texts).unwrap();
    for (text, vector) in texts.iter().zip(together.rows()) {
        assert_eq!(embed_one(&embedder, Role::Passage, text), vector.to_vec());
    }
    assert_ne!(
        embed_one(&embedder, Role::Query, texts[0]),
        together.row(0).to_vec(),
        "the roles are told apart"
    );
}

#[test]
fn a_question_is_nearest_its_passage_in_every_language() {
    let passages = [
        "The Great Barrier Reef lies off the coast of Queensland and is made of corals.",
        "Sourdough bread rises through wild yeast and bacteria in its starter.",
        "東京の地下鉄は一九二七年に上野と浅草の間で開業した。",
        "味噌は大豆と麹と塩を発酵させて作る調味料である。",
        "한글은 세종대왕이 1443년에 창제하였다.",
        "김치는 배추를 소금에 절여 발효시킨 음식이다.",
    ];
    let embedder = embedder(2);
    let vectors = embedder.embed(Role::Passage, &passages).unwrap();
    let check = |question: &str, expected: usize| {
        let question_vector = embedder.embed(Role::Query, &[question]).unwrap();
        let cosines = vectors.dot(&question_vector.row(0));
        let nearest = (0..passages.len()).max_by(|&a, &b| cosines[a].total_cmp(&cosines[b]));
        assert_eq!(nearest, Some(expected), "{question}");
    };
    check("Where is the largest coral reef?", 0);
    check("What makes sourdough rise?", 1);
    check("地下鉄はいつ開業しましたか", 2);
    check("味噌の原料は何ですか", 3);
    check("한글은 누가 만들었나요?", 4);
    check("김치는 무엇으로 만드나요?", 5);
}

#[test]
fn texts_of_any_length_are_embedded() {
    let embedder = embedder(2);
    let long = "A sentence that goes on and on. ".repeat(20_000);
    let spaces = " ".repeat(1 << 20);
    let vectors =
        embedder.embed(Role::Passage, &["", &long, &spaces, "\0\u{feff}\u{202e}"]).unwrap();
    assert_eq!(vectors.dim(), (4, embedder.space().dimensions));
    assert_eq!(embedder.embed(Role::Passage, &[]).unwrap().nrows(), 0);
}

#[test]
fn opening_tells_the_space_and_what_is_missing() {
    let space = embedder(1).space().clone();
    assert_eq!(
        (space.model.as_str(), space.dimensions, space.max_tokens),
        ("multilingual-e5-small", 384, 512)
    );
    assert_eq!(space.sha256.len(), 64);

    let empty = tempfile::tempdir().unwrap();
    let error =
        OnnxEmbedder::open(&ModelHome::at(empty.path()), &ModelSource::default(), 1).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    let folder = ModelSource::Folder(empty.path().to_owned());
    let error = OnnxEmbedder::open(&home(), &folder, 1).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    let error =
        OnnxEmbedder::open(&home(), &ModelSource::Name("onnxruntime".into()), 1).unwrap_err();
    assert!(matches!(error, Error::InvalidConfig { .. }), "{error}");
}

#[test]
fn a_folder_works_and_damage_in_it_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let real = home().path("multilingual-e5-small").unwrap();
    let card = "name = 'mine'\nrole = 'embedder'\nlicense = 'MIT'\nmax-tokens = 64\n[embedding]\ndimensions = DIM\n\
                pooling = 'mean'\nquantization = 'int8'\ncosine-range = [0.7, 0.9]\n";
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let copy = |name: &str| std::fs::copy(real.join(name), folder.path().join(name)).unwrap();
    let open = || OnnxEmbedder::open(&home(), &ModelSource::Folder(folder.path().to_owned()), 1);
    let embed = || open().and_then(|embedder| embedder.embed(Role::Query, &["text"]));

    write("card.toml", card.replace("DIM", "384").as_bytes());
    copy("model.onnx");
    copy("tokenizer.json");
    assert_eq!(embed().unwrap().dim(), (1, 384));
    // Without a name of its own the space has that of the file, and no means of tokens are built in.
    let (own, real_space) = (open().unwrap(), embedder(1).space().sha256.clone());
    assert_ne!(own.space().sha256, real_space);
    assert!(own.token_space(Language::Ja).is_none());
    let named = format!(
        "{}space-sha256 = '{real_space}'\n",
        card.replace("DIM", "384").replace("mine", "multilingual-e5-small")
    );
    write("card.toml", named.as_bytes());
    assert_eq!(open().unwrap().space().sha256, real_space);
    assert!(open().unwrap().token_space(Language::Ja).is_none(), "it names no output for them");
    write("card.toml", format!("{named}token-output = 'token_vectors'\n").as_bytes());
    let [one, same] = [open().unwrap(), embedder(1)]
        .map(|embedder| embedder.token_space(Language::Ja).map(TokenSpace::fingerprint));
    assert!(one.is_some() && one == same, "{one:?} {same:?}");
    let words = open().unwrap().word_vectors(Role::Passage, &["text"]).unwrap();
    write("card.toml", format!("{named}token-output = 'last_hidden_state'\n").as_bytes());
    let last = open().unwrap();
    assert_ne!(last.word_vectors(Role::Passage, &["text"]).unwrap(), words);
    assert_ne!(last.token_space(Language::Ja).map(TokenSpace::fingerprint), same);
    write("card.toml", format!("{named}token-output = 'logits'\n").as_bytes());
    let error = embed().unwrap_err().to_string();
    assert!(error.contains("`logits`") && error.contains("set `token-output`"), "{error}");
    write("card.toml", named.replace(&real_space, "abc").as_bytes());
    assert!(open().is_err());

    write("card.toml", card.replace("DIM", "383").as_bytes());
    assert!(matches!(embed(), Err(Error::EmbeddingFailed { .. })));
    write("card.toml", card.replace("DIM", "0").as_bytes());
    assert!(matches!(embed(), Err(Error::Corrupt { .. })));
    write("card.toml", card.replace("DIM", "384").as_bytes());
    write("tokenizer.json", b"{}");
    assert!(matches!(embed(), Err(Error::Corrupt { .. })));
    assert_eq!(open().unwrap().count("eight by"), 2, "estimated");
    copy("tokenizer.json");
    write("model.onnx", b"not a model");
    assert!(matches!(embed(), Err(Error::Corrupt { .. })));
}

#[test]
fn what_is_pulled_passes_its_check() {
    let home = home();
    home.verify("multilingual-e5-small").unwrap();
    assert!(
        home.list().unwrap().iter().any(|status| status.name() == "onnxruntime" && status.present)
    );
}

/// The optimised form of the model and the mapped form of the tokenizer change no bit.
#[test]
fn derived_files_give_the_same_vectors() {
    let from = home().path("multilingual-e5-small").unwrap();
    let card = "name = 'e5'\nrole = 'embedder'\nlicense = 'MIT'\nmax-tokens = 512\n\
        [embedding]\ndimensions = 384\npooling = 'mean'\nquery-prefix = 'query: '\n\
        passage-prefix = 'passage: '\nquantization = 'int8'\ncosine-range = [0.8, 0.9]\n";
    let folder = tempfile::tempdir().unwrap();
    for file in ["model.onnx", "tokenizer.json"] {
        std::fs::hard_link(from.join(file), folder.path().join(file))
            .or_else(|_| std::fs::copy(from.join(file), folder.path().join(file)).map(drop))
            .unwrap();
    }
    std::fs::write(folder.path().join("card.toml"), card).unwrap();
    let derived = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        let is_derived = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("optimized-") || name.starts_with("tokenizer-")
        };
        entries.filter(is_derived).collect()
    };
    let texts: Vec<String> = references().into_iter().map(|one| one.text).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let embed = || {
        let source = ModelSource::Folder(folder.path().to_owned());
        let embedder = OnnxEmbedder::open(&home(), &source, 2).unwrap();
        let vectors = embedder.embed(Role::Passage, &texts).unwrap();
        vectors.iter().map(|number| number.to_bits()).collect::<Vec<u32>>()
    };
    let vectors = embed();
    let made = derived();
    assert_eq!(made.len(), 2, "{made:?}");
    assert_eq!(embed(), vectors, "read from what was made");
    // Where nothing can be written the model is loaded as it is.
    for path in made {
        if path.is_dir() {
            std::fs::remove_dir_all(&path).unwrap();
            // A file in the place of the folder cannot be replaced by one.
            std::fs::write(&path, b"in the way").unwrap();
        } else {
            std::fs::remove_file(&path).unwrap();
            std::fs::create_dir(&path).unwrap();
        }
    }
    assert_eq!(embed(), vectors, "loaded as it is");
}
