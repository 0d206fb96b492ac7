//! What an ONNX model may take and give, on tiny models: inputs, types, outputs, poolings, dense
//! layers, cuts, and what is wrong with a file.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod tiny;

use std::{fs, path::Path};

use tempfile::TempDir;
use tiny::{Element, Output, Tiny, WIDTH, dense, tokenizer};
use trefoil_core::{Embedder, Error, Reranker, Role};
use trefoil_model::{ModelHome, ModelSource, OnnxEmbedder, OnnxReranker};

/// A folder with a model, and a home with the runtime.
struct Place {
    folder: TempDir,
    _root: TempDir,
    home: ModelHome,
}

impl Place {
    fn new(model: &Tiny, tokenizer: &serde_json::Value) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (root, home) = tiny::home();
        model.write(&folder.path().join("model.onnx"));
        fs::write(folder.path().join("tokenizer.json"), tokenizer.to_string()).unwrap();
        Self { folder, _root: root, home }
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        fs::write(self.folder.path().join(name), bytes).unwrap();
    }

    fn source(&self) -> ModelSource {
        ModelSource::Folder(self.folder.path().to_owned())
    }

    /// The embedder with these lines in its card: those of the card, then of `[embedding]`.
    fn embedder(&self, card: &str, embedding: &str) -> Result<OnnxEmbedder, Error> {
        self.write(
            "card.toml",
            format!(
                "name = 'tiny'\nrole = 'embedder'\nlicense = 'MIT'\n{card}\n[embedding]\n\
                 quantization = 'f32'\ncosine-range = [0.0, 0.9]\n{embedding}\n"
            ),
        );
        OnnxEmbedder::open(&self.home, &self.source(), 2)
    }

    fn vector(&self, card: &str, embedding: &str, text: &str) -> Result<Vec<f32>, Error> {
        let vectors = self.embedder(card, embedding)?.embed(Role::Passage, &[text])?;
        Ok(vectors.row(0).to_vec())
    }

    fn scores(&self, card: &str, question: &str, passages: &[&str]) -> Result<Vec<f32>, Error> {
        self.write(
            "card.toml",
            format!("name = 'tiny'\nrole = 'reranker'\nlicense = 'MIT'\n{card}\n"),
        );
        let reranker = OnnxReranker::open(&self.home, &self.source(), 2)?;
        Ok(reranker.score(question, passages)?.into_iter().map(trefoil_core::Score::get).collect())
    }
}

/// Tokens of a text, as the crate of the tokenizers has them.
fn tokens(path: &Path, text: &str) -> Vec<usize> {
    let tokenizer = tokenizers::Tokenizer::from_file(path).unwrap();
    let encoding = tokenizer.encode(text, true).unwrap();
    encoding.get_ids().iter().map(|&id| id as usize).collect()
}

fn vector_of(token: usize) -> Vec<f32> {
    (0..WIDTH).map(|axis| Tiny::number(token, axis)).collect()
}

fn unit(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter().map(|x| x / length).collect()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len());
    let largest = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest < 2e-3, "{found:?} is not {expected:?}");
}

const TEXT: &str = "water boils in the mountains";

#[test]
fn each_pooling_gives_the_vector_it_says() {
    let place = Place::new(&Tiny::default(), &tokenizer::xlm_roberta());
    let tokens = tokens(&place.folder.path().join("tokenizer.json"), TEXT);
    assert!(tokens.len() > 5, "{tokens:?}");
    let of = |pooling: &str| {
        place.vector("", &format!("dimensions = 64\npooling = '{pooling}'"), TEXT).unwrap()
    };
    assert_near(&of("cls"), &unit(&vector_of(tokens[0])));
    assert_near(&of("last-token"), &unit(&vector_of(*tokens.last().unwrap())));
    let mut sum = vec![0.0; WIDTH];
    for token in &tokens {
        sum.iter_mut().zip(vector_of(*token)).for_each(|(sum, x)| *sum += x);
    }
    assert_near(&of("mean"), &unit(&sum));
    let error = place.vector("", "dimensions = 64\npooling = 'none'", TEXT).unwrap_err();
    assert!(matches!(error, Error::EmbeddingFailed { .. }), "{error}");
    assert!(error.to_string().contains("set `pooling`"), "{error}");
}

#[test]
fn an_output_is_read_by_its_name() {
    let model = Tiny {
        outputs: vec![Output::Tokens("token_embeddings"), Output::Mean("sentence_embedding")],
        ..Tiny::default()
    };
    let place = Place::new(&model, &tokenizer::xlm_roberta());
    let of = |card: &str, pooling: &str| {
        place.vector(card, &format!("dimensions = 64\npooling = '{pooling}'"), TEXT)
    };
    let mean = of("", "mean").unwrap();
    assert_near(&of("", "none").unwrap(), &mean);
    assert_near(&of("output = 'sentence_embedding'", "cls").unwrap(), &mean);
    let error = of("output = 'pooler_output'", "none").unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    let error = error.to_string();
    assert!(error.contains("`pooler_output`") && error.contains("`token_embeddings`"), "{error}");
    // Two outputs are two spaces.
    let space = |card: &str| {
        let embedder = place.embedder(card, "dimensions = 64\npooling = 'none'").unwrap();
        embedder.space().fingerprint()
    };
    assert_ne!(space("output = 'sentence_embedding'"), space("output = 'token_embeddings'"));
}

#[test]
fn every_input_is_fed() {
    let plain = Place::new(&Tiny::default(), &tokenizer::bert(&[]));
    let embedding = "dimensions = 64\npooling = 'mean'";
    let expected = plain.vector("", embedding, TEXT).unwrap();
    let cache = Tiny { layers: 2, ..Tiny::default() };
    let branch = vec!["attention_mask", "use_cache_branch"];
    let check = |model: Tiny, card: &str| {
        let place = Place::new(&model, &tokenizer::bert(&[]));
        assert_near(&place.vector(card, embedding, TEXT).unwrap(), &expected);
    };
    check(Tiny { inputs: vec![], ..Tiny::default() }, "");
    check(Tiny { ids: Element::Int32, ..Tiny::default() }, "");
    check(Tiny { inputs: branch, ..cache.clone() }, "");
    check(Tiny { element: Element::Float16, ..cache.clone() }, "");
    let wide = "decoder = { key-value-heads = 2, head-dimensions = 4 }";
    let open = Tiny { fixed_cache: false, ..cache };
    check(open.clone(), wide);
    let place = Place::new(&open, &tokenizer::bert(&[]));
    let error = place.vector("", embedding, TEXT).unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("key-value-heads"), "{error}");
    // Positions and types have vectors of their own.
    for input in ["position_ids", "token_type_ids"] {
        let model = Tiny { inputs: vec!["attention_mask", input], ..Tiny::default() };
        let place = Place::new(&model, &tokenizer::bert(&[]));
        let path = place.folder.path().join("tokenizer.json");
        let mut sum = vec![0.0; WIDTH];
        for (at, token) in tokens(&path, TEXT).into_iter().enumerate() {
            let row = if input == "position_ids" { at } else { 0 };
            for (axis, sum) in sum.iter_mut().enumerate() {
                *sum += Tiny::number(token, axis) + 0.02 * Tiny::number(row + 9000, axis);
            }
        }
        assert_near(&place.vector("", embedding, TEXT).unwrap(), &unit(&sum));
    }
}

#[test]
fn an_input_that_is_not_known_is_an_error_that_names_it() {
    let model = Tiny { inputs: vec!["attention_mask", "task_id"], ..Tiny::default() };
    let place = Place::new(&model, &tokenizer::bert(&[]));
    let error = place.vector("", "dimensions = 64\npooling = 'mean'", TEXT).unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("`task_id`"), "{error}");
}

#[test]
fn numbers_of_16_bits_are_read() {
    let half = Tiny { element: Element::Float16, ..Tiny::default() };
    let embedding = "dimensions = 64\npooling = 'mean'\n";
    let of = |model: &Tiny| {
        Place::new(model, &tokenizer::xlm_roberta()).vector("", embedding, TEXT).unwrap()
    };
    assert_near(&of(&half), &of(&Tiny::default()));
}

#[test]
fn a_vector_is_cut_and_scaled_again() {
    let place = Place::new(&Tiny::default(), &tokenizer::xlm_roberta());
    let whole = place.vector("", "dimensions = 64\npooling = 'mean'", TEXT).unwrap();
    let cut = "dimensions = 6\nmodel-dimensions = 64\npooling = 'mean'";
    let found = place.vector("", cut, TEXT).unwrap();
    assert_near(&found, &unit(&whole[..6]));
    assert!((found.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-5);
    let error = place.vector("", "dimensions = 6\npooling = 'mean'", TEXT).unwrap_err();
    assert!(matches!(error, Error::EmbeddingFailed { .. }), "{error}");
    let longer = "dimensions = 65\nmodel-dimensions = 64\npooling = 'mean'";
    assert!(matches!(place.vector("", longer, TEXT), Err(Error::Corrupt { .. })));
}

#[test]
fn dense_layers_come_after_pooling() {
    let place = Place::new(&Tiny::default(), &tokenizer::xlm_roberta());
    let pooled = place.vector("", "dimensions = 64\npooling = 'cls'", TEXT).unwrap();
    // The first turns three numbers around, the second swaps the first two.
    let row = |axis: usize, width: usize, x: f32| {
        (0..width).map(|i| if i == axis { x } else { 0.0 }).collect::<Vec<f32>>()
    };
    let first = [0, 1, 2].map(|axis| row(axis, WIDTH, -1.0));
    place.write("2_Dense.safetensors", dense(&first, None));
    place.write("3_Dense.safetensors", dense(&[row(1, 3, 1.0), row(0, 3, 1.0)], None));
    let layers = "dense = [{ file = '2_Dense.safetensors' }, { file = '3_Dense.safetensors' }]";
    let embedding = format!("dimensions = 2\npooling = 'cls'\n{layers}");
    let found = place.vector("", &embedding, TEXT).unwrap();
    assert_near(&found, &unit(&[-pooled[1], -pooled[0]]));
    let before = place.embedder("", &embedding).unwrap().space().clone();
    place.write("3_Dense.safetensors", dense(&[row(0, 3, 1.0), row(1, 3, 1.0)], None));
    assert_ne!(place.embedder("", &embedding).unwrap().space().sha256, before.sha256);
    let misfit = embedding.replace("dimensions = 2", "dimensions = 3");
    assert!(matches!(place.embedder("", &misfit), Err(Error::Corrupt { .. })));
    fs::remove_file(place.folder.path().join("3_Dense.safetensors")).unwrap();
    assert!(matches!(place.embedder("", &embedding), Err(Error::ModelMissing { .. })));
}

#[test]
fn weights_may_be_in_a_file_of_their_own() {
    let model = Tiny { data: Some("model.onnx_data"), ..Tiny::default() };
    let place = Place::new(&model, &tokenizer::xlm_roberta());
    let embedding = "dimensions = 64\npooling = 'mean'";
    let card = "files = [{ name = 'model.onnx_data' }]";
    let inside = Place::new(&Tiny::default(), &tokenizer::xlm_roberta());
    let expected = inside.vector("", embedding, TEXT).unwrap();
    assert_near(&place.vector(card, embedding, TEXT).unwrap(), &expected);
    // Other weights under the same graph are another space, and nothing made of the old is used.
    let space = place.embedder(card, embedding).unwrap().space().sha256.clone();
    let mut data = fs::read(place.folder.path().join("model.onnx_data")).unwrap();
    data.iter_mut().skip(3).step_by(4).for_each(|byte| *byte ^= 0x80);
    place.write("model.onnx_data", data);
    let embedder = place.embedder(card, embedding).unwrap();
    assert_ne!(embedder.space().sha256, space);
    let turned: Vec<f32> = expected.iter().map(|x| -x).collect();
    assert_near(&embedder.embed(Role::Passage, &[TEXT]).unwrap().row(0).to_vec(), &turned);
    fs::remove_file(place.folder.path().join("model.onnx_data")).unwrap();
    let error = place.embedder(card, embedding).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("model.onnx_data"), "{error}");
    // A card that does not know of it.
    let error = place.vector("", embedding, TEXT).unwrap_err();
    assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    assert!(error.to_string().contains("model.onnx_data"), "{error}");
}

#[test]
fn what_is_not_a_number_is_an_error() {
    for factor in [f32::NAN, f32::INFINITY, 0.0] {
        let model = Tiny { factor, ..Tiny::default() };
        let place = Place::new(&model, &tokenizer::xlm_roberta());
        for pooling in ["mean", "cls", "last-token"] {
            let embedding = format!("dimensions = 64\npooling = '{pooling}'");
            let error = place.vector("", &embedding, TEXT).unwrap_err();
            assert!(matches!(error, Error::EmbeddingFailed { .. }), "{factor}: {error}");
        }
    }
    let outputs = vec![Output::Logits("logits", 1)];
    let model = Tiny { factor: f32::NAN, outputs, ..Tiny::default() };
    let place = Place::new(&model, &tokenizer::xlm_roberta());
    let error = place.scores("", "water", &["water"]).unwrap_err();
    assert!(matches!(error, Error::RerankFailed { .. }), "{error}");
}

#[test]
fn a_card_without_a_range_says_who_measures_it() {
    let place = Place::new(&Tiny::default(), &tokenizer::xlm_roberta());
    place.write(
        "card.toml",
        "name = 'tiny'\nrole = 'embedder'\nlicense = 'MIT'\n[embedding]\ndimensions = 64\n\
         pooling = 'mean'\nquantization = 'f32'\n",
    );
    let error = OnnxEmbedder::open(&place.home, &place.source(), 1).unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("trefoil models add"), "{error}");
}

#[test]
fn a_reranker_may_give_one_logit_or_two_or_a_probability() {
    let question = "where does water boil";
    let passages =
        ["rice and the shell", "water may boil", "where does water boil, in the mountains"];
    let of = |output: Output, inputs: Vec<&'static str>, card: &str| {
        let model = Tiny { outputs: vec![output], inputs, ..Tiny::default() };
        Place::new(&model, &tokenizer::bert(&[])).scores(card, question, &passages)
    };
    let mask = || vec!["attention_mask"];
    let one = of(Output::Logits("logits", 1), mask(), "").unwrap();
    assert!(one[0] < one[1] && one[1] < one[2], "{one:?}");
    assert!(one[0] < 0.05, "{one:?}");
    let types = vec!["attention_mask", "token_type_ids"];
    assert_eq!(of(Output::Logits("logits", 1), types, "").unwrap(), one);
    // Of two logits the other is the negative: the difference is twice as large.
    let two = of(Output::Logits("logits", 2), mask(), "").unwrap();
    for (one, two) in one.iter().zip(&two) {
        let logit = |p: f32| (p / (1.0 - p)).ln();
        assert!((logit(*two) - 2.0 * logit(*one)).abs() < 0.05, "{one} {two}");
    }
    let probability = "[reranking]\nscores = 'probability'";
    assert_near(&of(Output::Probability("scores"), mask(), probability).unwrap(), &one);
    let error = of(Output::Logits("logits", 1), mask(), probability).unwrap_err();
    assert!(error.to_string().contains("set `scores`"), "{error}");
    let error = of(Output::Logits("logits", 3), mask(), "").unwrap_err();
    assert!(matches!(error, Error::RerankFailed { .. }), "{error}");
    assert!(error.to_string().contains("[1, 3]"), "{error}");
    // A range brings the logits to the scale of the default reranker.
    let measured = "[reranking]\nlogit-range = [-7.0, 3.0]";
    let scaled = of(Output::Logits("logits", 1), mask(), measured).unwrap();
    assert!(scaled[0] < one[0] && scaled[0] < scaled[1] && scaled[1] < scaled[2], "{scaled:?}");
}
