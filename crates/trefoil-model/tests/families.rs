//! Models of the shapes of those that people use, each a folder as its publisher lays it out:
//! the card is drafted from its files, the model is checked, and used by its name.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a panic is how a test fails"
)]

mod tiny;

use std::{fs, path::Path, sync::Arc};

use ndarray::Array2;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiny::{Element, Output, Tiny, WIDTH, dense, tokenizer};
use trefoil_core::{
    Embedder, EmbeddingSpace, Error, Language, Pooling, Quantization, QuestionCodes, Reranker,
    Role, Score, TokenCodes,
};
use trefoil_model::{
    AddOptions, AddSource, AddedModel, Card, DecoderCard, LateInteractionEmbedder, ModelHome,
    ModelRole, ModelSource, OnnxEmbedder, PullOptions, RerankerScores, open_reranker,
};

/// A repository in a folder, and a home to add it to.
struct Repository {
    root: TempDir,
    _home: TempDir,
    home: ModelHome,
    name: &'static str,
}

impl Repository {
    fn new(name: &'static str, tokenizer: &Value) -> Self {
        let root = tempfile::tempdir().unwrap();
        let (folder, home) = tiny::home();
        let repository = Self { root, _home: folder, home, name };
        fs::create_dir(repository.path("")).unwrap();
        repository.write("tokenizer.json", tokenizer.to_string())
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.root.path().join(self.name).join(name)
    }

    #[must_use]
    fn write(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), bytes).unwrap();
        self
    }

    #[must_use]
    fn json(self, name: &str, value: &Value) -> Self {
        self.write(name, value.to_string())
    }

    #[must_use]
    fn onnx(self, name: &str, model: &Tiny) -> Self {
        model.write(&self.path(name));
        self
    }

    /// Modules of Sentence Transformers: these after the transformer.
    #[must_use]
    fn modules(self, kinds: &[&str]) -> Self {
        let modules: Vec<Value> = ["Transformer"]
            .iter()
            .chain(kinds)
            .enumerate()
            .map(|(index, kind)| {
                let path = if index == 0 { String::new() } else { format!("{index}_{kind}") };
                let kind = format!("sentence_transformers.models.{kind}");
                json!({ "idx": index, "name": index.to_string(), "path": path, "type": kind })
            })
            .collect();
        self.json("modules.json", &Value::from(modules))
    }

    #[must_use]
    fn pooling(self, mode: &str) -> Self {
        let mut config = json!({ "word_embedding_dimension": WIDTH });
        config[format!("pooling_mode_{mode}")] = Value::from(true);
        self.json("1_Pooling/config.json", &config)
    }

    fn add(&self, options: &AddOptions) -> Result<AddedModel, Error> {
        let source = AddSource::Folder(self.path(""));
        self.home.add(&source, options, &(), PullOptions { offline: true })
    }

    fn added(&self) -> AddedModel {
        self.add(&AddOptions::default()).unwrap()
    }

    /// The embedder by its name, after it embedded a question and two texts.
    fn embedder(&self, name: &str) -> OnnxEmbedder {
        let source = ModelSource::Name(name.to_owned());
        let embedder = OnnxEmbedder::open(&self.home, &source, 2).unwrap();
        let question = embedder.embed(Role::Query, &["why does water boil in the mountains"]);
        let texts = ["water boils in the mountains", "the shell keeps the variable itself"];
        let texts = embedder.embed(Role::Passage, &texts).unwrap();
        let question = question.unwrap();
        assert_eq!(question.ncols(), embedder.space().dimensions);
        let cosines = texts.dot(&question.row(0));
        assert!(cosines[0] > cosines[1], "{cosines}");
        for vector in texts.rows() {
            assert!((vector.dot(&vector) - 1.0).abs() < 1e-5);
        }
        embedder
    }

    fn reranker(&self, name: &str) -> std::sync::Arc<dyn Reranker> {
        let source = ModelSource::Name(name.to_owned());
        let reranker = open_reranker(&self.home, &source, 2).unwrap();
        let texts = ["the shell keeps the variable itself", "water boils in the mountains"];
        let scores = reranker.score("where does water boil", &texts).unwrap();
        assert!(scores[1] > scores[0], "{scores:?}");
        reranker
    }
}

/// `config.json` of an encoder of the kind of XLM-R.
fn xlm_roberta(architecture: &str, positions: usize) -> Value {
    json!({
        "architectures": [architecture], "model_type": "xlm-roberta", "hidden_size": WIDTH,
        "num_attention_heads": 4, "num_hidden_layers": 1, "pad_token_id": 1,
        "max_position_embeddings": positions
    })
}

fn readme(front_matter: &str, text: &str) -> String {
    format!("---\n{front_matter}\n---\n\n# Model\n\n{text}\n")
}

/// The words that questions share with their texts are few: more find theirs than by chance, which
/// would be one in 55.
#[track_caller]
fn assert_works(added: &AddedModel) {
    let languages = &added.check.languages;
    assert!(languages.len() == 3 && languages.iter().all(|one| one.questions == 55));
    let found: usize = languages.iter().map(|one| one.found).sum();
    assert!(found >= 12, "{:?}", added.check);
    let [low, high] = added.check.range;
    assert!(low < high, "{:?}", added.check);
}

fn told(added: &AddedModel, part: &str) -> bool {
    added.remarks.iter().any(|remark| remark.contains(part))
}

#[test]
fn e5_base_and_large() {
    for name in ["multilingual-e5-base", "multilingual-e5-large"] {
        let mut model = Tiny::default();
        if name.ends_with("large") {
            model.data = Some("model.onnx_data");
        }
        let repository = Repository::new(name, &tokenizer::xlm_roberta())
            .onnx("onnx/model.onnx", &model)
            .json("config.json", &xlm_roberta("XLMRobertaModel", 514))
            .modules(&["Pooling", "Normalize"])
            .pooling("mean_tokens")
            .json("sentence_bert_config.json", &json!({ "max_seq_length": 512 }))
            .write(
                "README.md",
                readme(
                    "language:\n- multilingual\n- en\n- ja\n- ko\nlicense: mit",
                    "Each input text should start with \"query: \" or \"passage: \".",
                ),
            );
        let added = repository.added();
        assert_works(&added);
        let Card { role, license, max_tokens, files, embedding, .. } = added.card.clone();
        let embedding = embedding.unwrap();
        assert_eq!((role, license.as_str(), max_tokens), (ModelRole::Embedder, "mit", 512));
        assert_eq!((embedding.pooling, embedding.dimensions), (Pooling::Mean, WIDTH));
        assert_eq!(embedding.query_prefix, "query: ");
        assert_eq!(embedding.passage_prefix, "passage: ");
        assert_eq!(embedding.quantization, Quantization::F32);
        assert_eq!(embedding.cosine_range, Some(added.check.range));
        assert!(told(&added, "--query-prefix"), "{:?}", added.remarks);
        let data: Vec<_> = files.iter().map(|file| file.name.as_str()).collect();
        let expected: &[&str] = if model.data.is_some() { &["model.onnx_data"] } else { &[] };
        assert_eq!(data, expected);
        assert!(files.iter().all(|file| file.sha256.as_ref().is_some_and(|sum| sum.len() == 64)));
        assert_eq!(added.check.translations.len(), 6);
        repository.embedder(name);
    }
}

#[test]
fn bge_m3() {
    let model = Tiny {
        data: Some("Constant_7_attr__value"),
        outputs: vec![Output::Tokens("token_embeddings"), Output::Mean("sentence_embedding")],
        ..Tiny::default()
    };
    let repository = Repository::new("bge-m3", &tokenizer::xlm_roberta())
        .onnx("onnx/model.onnx", &model)
        .json("config.json", &xlm_roberta("XLMRobertaModel", 8194))
        .modules(&["Pooling", "Normalize"])
        .pooling("cls_token")
        .json("sentence_bert_config.json", &json!({ "max_seq_length": 8192 }))
        .write("README.md", readme("license: mit", ""));
    let added = repository.added();
    assert_works(&added);
    let embedding = added.card.embedding.clone().unwrap();
    assert_eq!((embedding.pooling, added.card.max_tokens), (Pooling::None, 8192));
    assert_eq!(added.card.files[0].name, "Constant_7_attr__value");
    assert_eq!((embedding.query_prefix.as_str(), embedding.passage_prefix.as_str()), ("", ""));
    assert!(told(&added, "No language is named"), "{:?}", added.remarks);
    repository.embedder("bge-m3");
    // By its tokens, under another name.
    let options = AddOptions {
        name: Some("bge-m3-cls".into()),
        pooling: Some(Pooling::Cls),
        ..AddOptions::default()
    };
    // The first token is the same for every text.
    let error = repository.add(&options).unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("tell texts apart"), "{error}");
    assert!(repository.home.path("bge-m3-cls").is_err(), "nothing was kept");
}

#[test]
fn gte_multilingual() {
    let model = Tiny {
        inputs: vec!["attention_mask", "token_type_ids"],
        outputs: vec![Output::Tokens("token_embeddings"), Output::Mean("sentence_embedding")],
        ..Tiny::default()
    };
    let config = json!({
        "architectures": ["NewModel"], "model_type": "new", "hidden_size": WIDTH,
        "max_position_embeddings": 8192
    });
    let repository = Repository::new("gte-multilingual-base", &tokenizer::xlm_roberta())
        .onnx("onnx/model.onnx", &model)
        .onnx("onnx/model_int8.onnx", &model)
        .json("config.json", &config)
        .modules(&["Pooling", "Normalize"])
        .pooling("cls_token")
        .write("README.md", readme("license: apache-2.0\nlanguage: [en, ja, ko]", ""));
    let options = AddOptions { dimensions: Some(12), ..AddOptions::default() };
    let added = repository.add(&options).unwrap();
    assert_works(&added);
    let embedding = added.card.embedding.clone().unwrap();
    assert_eq!((embedding.dimensions, embedding.model_dimensions), (12, Some(WIDTH)));
    assert!(told(&added, "onnx/model_int8.onnx"), "{:?}", added.remarks);
    assert_eq!(repository.embedder("gte-multilingual-base").space().dimensions, 12);
}

#[test]
fn gte_multilingual_reranker() {
    let model = Tiny { outputs: vec![Output::Logits("logits", 1)], ..Tiny::default() };
    let config = json!({
        "architectures": ["NewForSequenceClassification"], "model_type": "new",
        "id2label": { "0": "LABEL_0" }, "max_position_embeddings": 8192
    });
    check_reranker("gte-multilingual-reranker-base", &model, &config);
}

#[test]
fn bge_reranker_v2_m3() {
    let model = Tiny {
        outputs: vec![Output::Logits("logits", 1)],
        element: Element::Float16,
        ..Tiny::default()
    };
    let mut config = xlm_roberta("XLMRobertaForSequenceClassification", 8194);
    config["id2label"] = json!({ "0": "LABEL_0" });
    check_reranker("bge-reranker-v2-m3", &model, &config);
}

#[test]
fn mmarco_mminilm() {
    let model = Tiny {
        inputs: vec!["attention_mask", "token_type_ids"],
        outputs: vec![Output::Logits("logits", 1)],
        ..Tiny::default()
    };
    let mut config = xlm_roberta("XLMRobertaForSequenceClassification", 514);
    config["num_labels"] = json!(1);
    check_reranker("mmarco-mMiniLMv2-L12-H384-v1", &model, &config);
}

fn check_reranker(name: &'static str, model: &Tiny, config: &Value) {
    let repository = Repository::new(name, &tokenizer::xlm_roberta())
        .onnx("onnx/model.onnx", model)
        .json("config.json", config)
        .json("tokenizer_config.json", &json!({ "model_max_length": 512 }))
        .write("README.md", readme("license: apache-2.0\nlanguage: [en, ja, ko]", ""));
    let added = repository.added();
    let Card { role, max_tokens, reranking, .. } = added.card.clone();
    let reranking = reranking.unwrap();
    assert_eq!((role, max_tokens), (ModelRole::Reranker, 512));
    assert_eq!(reranking.scores, RerankerScores::Logits);
    assert_eq!(reranking.logit_range, Some(added.check.range));
    assert!(added.check.translations.is_empty());
    assert!(added.check.languages.iter().all(|check| check.questions == 55));
    assert_eq!(repository.reranker(name).model(), name);
}

#[test]
fn rerankers_with_two_logits_or_a_probability() {
    for (name, output) in
        [("two", Output::Logits("logits", 2)), ("sure", Output::Probability("logits"))]
    {
        let model = Tiny { outputs: vec![output], ..Tiny::default() };
        let config = json!({ "architectures": ["BertForSequenceClassification"] });
        let repository = Repository::new(name, &tokenizer::bert(&[]))
            .onnx("model.onnx", &model)
            .json("config.json", &config);
        let added = repository.added();
        let scores = added.card.reranking.clone().unwrap().scores;
        let expected =
            if name == "two" { RerankerScores::Logits } else { RerankerScores::Probability };
        assert_eq!(scores, expected, "{:?}", added.remarks);
        repository.reranker(name);
    }
}

/// Modules of `EmbeddingGemma`, whose dense layers turn the vector around and back.
fn embedding_gemma(model: &Tiny) -> Repository {
    let prompts = json!({
        "prompts": {
            "query": "task: search result | query: ", "document": "title: none | text: ",
            "Clustering": "task: clustering | query: "
        }
    });
    let config = json!({
        "architectures": ["Gemma3TextModel"], "model_type": "gemma3_text", "hidden_size": WIDTH,
        "num_attention_heads": 3, "num_key_value_heads": 1, "head_dim": 256,
        "max_position_embeddings": 2048
    });
    let layer = |outputs: usize, inputs: usize| {
        let rows = (0..outputs).map(|row| {
            (0..inputs)
                .map(|column| if row % inputs == column % outputs { -1.0 } else { 0.0 })
                .collect()
        });
        dense(&rows.collect::<Vec<Vec<f32>>>(), None)
    };
    let dense_config = |inputs: usize, outputs: usize| {
        json!({
            "in_features": inputs, "out_features": outputs, "bias": false,
            "activation_function": "torch.nn.modules.linear.Identity"
        })
    };
    Repository::new("embeddinggemma-300m", &tokenizer::bytes(Some("<bos>"), Some("<eos>")))
        .onnx("onnx/model.onnx", model)
        .json("config.json", &config)
        .json("config_sentence_transformers.json", &prompts)
        .modules(&["Pooling", "Dense", "Dense", "Normalize"])
        .pooling("mean_tokens")
        .json("2_Dense/config.json", &dense_config(WIDTH, 4 * WIDTH))
        .write("2_Dense/model.safetensors", layer(4 * WIDTH, WIDTH))
        .json("3_Dense/config.json", &dense_config(4 * WIDTH, WIDTH))
        .write("3_Dense/model.safetensors", layer(WIDTH, 4 * WIDTH))
        .write("README.md", readme("license: gemma", ""))
}

#[test]
fn embedding_gemma_with_its_layers_inside_or_outside() {
    let inside = Tiny {
        outputs: vec![Output::Tokens("last_hidden_state"), Output::Mean("sentence_embedding")],
        data: Some("model.onnx_data"),
        ..Tiny::default()
    };
    let repository = embedding_gemma(&inside);
    let added = repository.added();
    let embedding = added.card.embedding.clone().unwrap();
    assert_eq!((embedding.pooling, embedding.dense.len()), (Pooling::None, 0));
    assert_eq!(embedding.query_prefix, "task: search result | query: ");
    assert_eq!(embedding.passage_prefix, "title: none | text: ");
    assert_eq!((added.card.max_tokens, added.card.license.as_str()), (2048, "gemma"));
    let pooled = repository.embedder("embeddinggemma-300m");

    let repository = embedding_gemma(&Tiny::default());
    let added = repository.added();
    let embedding = added.card.embedding.clone().unwrap();
    assert_eq!((embedding.pooling, embedding.dense.len()), (Pooling::Mean, 2));
    let files: Vec<_> = added.card.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(files, ["2_Dense.safetensors", "3_Dense.safetensors"]);
    let projected = repository.embedder("embeddinggemma-300m");
    // Twice turned around is as it was.
    let text = ["water boils in the mountains"];
    let vectors = [&pooled, &projected].map(|one| one.embed(Role::Passage, &text).unwrap());
    assert!(vectors[0].row(0).dot(&vectors[1].row(0)) > 0.999, "{vectors:?}");
    assert_ne!(pooled.space().fingerprint(), projected.space().fingerprint());
}

#[test]
fn qwen3_embedding() {
    let prompts = json!({
        "prompts": {
            "query": "Instruct: Given a web search query, retrieve relevant passages\nQuery:",
            "document": ""
        }
    });
    let config = json!({
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": WIDTH,
        "num_attention_heads": 4, "num_hidden_layers": 2, "num_key_value_heads": 2, "head_dim": 4,
        "max_position_embeddings": 32768
    });
    for (fixed_cache, element) in [(true, Element::Float), (false, Element::Float16)] {
        let model = Tiny {
            inputs: vec!["attention_mask", "position_ids"],
            layers: 2,
            fixed_cache,
            element,
            outputs: vec![Output::Tokens("last_hidden_state"), Output::Cache("present.0.key")],
            ..Tiny::default()
        };
        let repository = Repository::new("qwen3", &tokenizer::bytes(None, Some("<|endoftext|>")))
            .onnx("onnx/model.onnx", &model)
            .json("config.json", &config)
            .json("config_sentence_transformers.json", &prompts)
            .modules(&["Pooling", "Normalize"])
            .pooling("lasttoken")
            .json("tokenizer_config.json", &json!({ "model_max_length": 131_072 }))
            .write("README.md", readme("license: apache-2.0", ""));
        let added = repository.added();
        let Card { max_tokens, decoder, embedding, .. } = added.card.clone();
        assert_eq!(max_tokens, 32_768);
        let wide = DecoderCard { key_value_heads: 2, head_dimensions: 4 };
        assert_eq!(decoder, Some(wide));
        let embedding = embedding.unwrap();
        assert!(embedding.query_prefix.ends_with("\nQuery:"), "{embedding:?}");
        assert_eq!(embedding.pooling, Pooling::LastToken);
        // The last token of this model has seen nothing but itself.
        assert!(told(&added, "passed in no language"), "{:?}", added.remarks);
        assert!(added.card.languages.is_empty());
        repository.home.remove("qwen3").unwrap();
        let options = AddOptions { pooling: Some(Pooling::Mean), ..AddOptions::default() };
        repository.add(&options).unwrap();
        repository.embedder("qwen3");
    }
}

#[test]
fn jina_colbert_v2() {
    let artifact = json!({
        "dim": 48, "query_token_id": "[QueryMarker]", "doc_token_id": "[DocumentMarker]",
        "query_maxlen": 32, "doc_maxlen": 300, "attend_to_mask_tokens": false
    });
    let marks = ["[QueryMarker]", "[DocumentMarker]"];
    let repository = |output: Output| {
        let model = Tiny { outputs: vec![output], ..Tiny::default() };
        Repository::new("jina-colbert-v2", &tokenizer::bert(&marks))
            .onnx("onnx/model.onnx", &model)
            .json("config.json", &xlm_roberta("HF_ColBERT", 8194))
            .json("artifact.metadata", &artifact)
            .json("tokenizer_config.json", &json!({ "mask_token": "[MASK]" }))
            .write("README.md", readme("license: cc-by-nc-4.0\nlanguage: [en, ja, ko]", ""))
    };
    // With its projection inside.
    let inside = repository(Output::Projected("text_embeds", 48));
    let added = inside.added();
    assert_works(&added);
    let Card { role, late_interaction, .. } = added.card.clone();
    let late = late_interaction.unwrap();
    assert_eq!((role, late.dimensions), (ModelRole::LateInteraction, 48));
    assert_eq!(late.query_marker.as_deref(), Some("[QueryMarker]"));
    assert_eq!((late.query_tokens, late.mask_token.as_deref()), (Some(32), Some("[MASK]")));
    assert_eq!(late.similarity_range, Some(added.check.range));
    inside.reranker("jina-colbert-v2");
    // With it in a module of its own.
    let rows: Vec<Vec<f32>> = (0..48)
        .map(|row| (0..WIDTH).map(|column| f32::from(u8::from(row == column))).collect())
        .collect();
    let config = json!({
        "in_features": WIDTH, "out_features": 48, "bias": false,
        "activation_function": "torch.nn.modules.linear.Identity"
    });
    let outside = repository(Output::Tokens("last_hidden_state"))
        .modules(&["Dense"])
        .json("1_Dense/config.json", &config)
        .write("1_Dense/model.safetensors", dense(&rows, None));
    let outside_range = outside.added().check.range;
    for (a, b) in outside_range.iter().zip(added.check.range) {
        assert!((a - b).abs() < 2e-3, "{outside_range:?} {:?}", added.check);
    }
    outside.reranker("jina-colbert-v2");
    // With it nowhere.
    let error = repository(Output::Tokens("last_hidden_state")).add(&AddOptions::default());
    let error = error.unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("projection"), "{error}");
    // With marks that the tokenizer does not know.
    let model = Tiny { outputs: vec![Output::Projected("text_embeds", 48)], ..Tiny::default() };
    let unknown = Repository::new("jina-colbert-v2", &tokenizer::bert(&[]))
        .onnx("model.onnx", &model)
        .json("artifact.metadata", &artifact);
    let error = unknown.add(&AddOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`[QueryMarker]`"), "{error}");
}

/// Gives every text the same vector, and its tokens none.
#[derive(Debug)]
struct Same(EmbeddingSpace);

impl Embedder for Same {
    fn space(&self) -> &EmbeddingSpace {
        &self.0
    }

    fn cosine_range(&self) -> (f32, f32) {
        (0.0, 1.0)
    }

    fn relevance(&self, _: f32) -> Score {
        Score::HALF
    }

    fn embed(&self, _: Role, texts: &[&str]) -> trefoil_core::Result<Array2<f32>> {
        Ok(Array2::ones((texts.len(), self.0.dimensions)))
    }
}

#[test]
fn a_model_of_late_interaction_gives_the_token_vectors_of_its_languages() {
    let artifact = json!({
        "dim": 48, "query_token_id": "[Q]", "doc_token_id": "[D]", "query_maxlen": 32
    });
    let model = Tiny { outputs: vec![Output::Projected("text_embeds", 48)], ..Tiny::default() };
    let repository = Repository::new("colbert", &tokenizer::bert(&["[Q]", "[D]"]))
        .onnx("onnx/model.onnx", &model)
        .json("config.json", &xlm_roberta("HF_ColBERT", 512))
        .json("artifact.metadata", &artifact)
        .json("tokenizer_config.json", &json!({ "mask_token": "[MASK]" }))
        .write("README.md", readme("license: mit\nlanguage: [en]", ""));
    let folder = repository.added().path;
    // Of the languages in which it passed the check, English alone.
    let card = fs::read_to_string(folder.join("card.toml")).unwrap();
    let mut card: Card = toml::from_str(&card).unwrap();
    card.languages = vec!["en".to_owned()];
    fs::write(folder.join("card.toml"), toml::to_string(&card).unwrap()).unwrap();
    let source = ModelSource::Name("colbert".to_owned());
    let open = |dimensions| {
        let same = Arc::new(Same(EmbeddingSpace::of_caller("same", "test", dimensions)));
        LateInteractionEmbedder::open(same, &repository.home, &source, 2)
    };
    let embedder = open(48).unwrap();
    assert_eq!(embedder.relevance(0.9), Score::HALF, "as the embedder has it");
    let space = embedder.token_space(Language::En).unwrap();
    assert!(space.is_late_interaction() && embedder.token_space(Language::Ja).is_none());
    let texts = ["Owls hunt at night, without a sound.", "Bread is baked.", "梟は夜に狩りをする。"];
    let given = [Some(Language::En), None, Some(Language::Ja)];
    let passages: Vec<_> = texts.into_iter().zip(given).collect();
    let (vectors, codes) = embedder.embed_passages(&passages).unwrap();
    assert_eq!(vectors.dim(), (3, 48));
    assert_eq!(codes.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, false]);
    let asked =
        |language, passages| embedder.query_tokens("owls at night", language, passages).unwrap();
    let question = asked(Language::En, Language::En);
    assert_eq!(question.dim(), (32, 48));
    assert_eq!(asked(Language::En, Language::En), question, "as it is remembered");
    // It reads no Japanese, neither as a question nor as a passage.
    assert!(asked(Language::Ja, Language::En).is_empty());
    assert!(asked(Language::En, Language::Ja).is_empty());
    let each = |text| embedder.embed_passages(&[(text, Some(Language::En))]).unwrap().1.remove(0);
    let question = QuestionCodes::of(&question.view());
    let near = |codes: &TokenCodes| space.similarity_of_codes(&question, codes);
    let (own, other) = (codes[0].clone().unwrap(), each("Bread is baked.").unwrap());
    assert!(near(&own) > near(&other), "{} {}", near(&own), near(&other));
    assert_eq!(each(texts[0]), Some(own), "whatever else is embedded");
    let error = open(47).unwrap_err();
    assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
    assert!(error.to_string().contains("48") && error.to_string().contains("47"), "{error}");
}

/// An encoder with nothing but its ONNX file and its tokenizer.
fn plain(name: &'static str) -> Repository {
    Repository::new(name, &tokenizer::bert(&[])).onnx("model.onnx", &Tiny::default())
}

#[test]
fn what_was_added_is_listed_verified_located_and_removed() {
    let repository = plain("plain");
    let added = repository.added();
    assert!(told(&added, "config.json") && told(&added, "--pooling"), "{:?}", added.remarks);
    assert!(told(&added, "--license") && told(&added, "--max-tokens"), "{:?}", added.remarks);
    let home = &repository.home;
    let listed = home.list().unwrap();
    let status = listed.iter().find(|status| status.name() == "plain").unwrap();
    assert!(status.present && status.size > 100_000 && status.version == "local", "{status:?}");
    assert_eq!(home.path("plain").unwrap(), added.path);
    assert_eq!(&home.verify("plain").unwrap(), status);
    assert_eq!(Card::read(&added.path.join("card.toml")).unwrap(), added.card);

    // Twice under one name, and under that of the manifest.
    let again = repository.add(&AddOptions::default()).unwrap_err();
    assert!(matches!(again, Error::InvalidConfig { field: "name", .. }), "{again}");
    let named = |name: &str| AddOptions { name: Some(name.into()), ..AddOptions::default() };
    for name in ["multilingual-e5-small", "../x", ""] {
        let error = repository.add(&named(name)).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { .. }), "{name}: {error}");
    }
    repository.add(&named("second")).unwrap();

    let model = added.path.join("model.onnx");
    let mut bytes = fs::read(&model).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&model, bytes).unwrap();
    assert!(matches!(home.verify("plain"), Err(Error::Checksum { .. })));
    home.remove("plain").unwrap();
    assert!(!added.path.exists());
    assert!(matches!(home.remove("plain"), Err(Error::ModelMissing { .. })));
    assert!(matches!(home.path("plain"), Err(Error::ModelMissing { .. })));
    assert!(home.path("second").is_ok());
    let left = fs::read_dir(home.root().join("models")).unwrap().count();
    assert_eq!(left, 1, "nothing is left over");
}

#[test]
fn a_card_in_the_folder_is_kept_and_what_it_lacks_is_measured() {
    let card = "name = 'mine'\nrole = 'embedder'\nlicense = 'MIT'\n[embedding]\ndimensions = 64\n\
                pooling = 'mean'\nquantization = 'int8'\n";
    let repository = plain("folder").write("card.toml", card);
    let added = repository.added();
    let embedding = added.card.embedding.clone().unwrap();
    assert_eq!(added.card.name, "mine");
    assert_eq!(embedding.quantization, Quantization::Int8);
    assert_eq!(embedding.cosine_range, Some(added.check.range));
    let fixed = format!("{card}cosine-range = [0.2, 0.3]\n").replace("mine", "fixed");
    let repository = plain("folder").write("card.toml", fixed);
    let embedding = repository.added().card.embedding.unwrap();
    assert_eq!(embedding.cosine_range, Some([0.2, 0.3]));
    let pinned = format!("sha256 = '{}'\n{card}", "0".repeat(64));
    let repository = plain("folder").write("card.toml", pinned);
    let error = repository.add(&AddOptions::default()).unwrap_err();
    assert!(matches!(error, Error::Checksum { .. }), "{error}");
}

#[test]
fn every_kind_of_broken_repository_is_told_and_leaves_nothing() {
    let check = |repository: &Repository, is: fn(&Error) -> bool, part: &str| {
        let error = repository.add(&AddOptions::default()).unwrap_err();
        assert!(is(&error), "{error:?}");
        let text = error.chain();
        assert!(text.contains(part), "no `{part}` in: {text}");
        let models = repository.home.root().join("models");
        assert!(!models.exists() || fs::read_dir(models).unwrap().count() == 0, "{text}");
    };
    let corrupt = |error: &Error| matches!(error, Error::Corrupt { .. });
    let missing = |error: &Error| matches!(error, Error::ModelMissing { .. });
    let unusable = |error: &Error| matches!(error, Error::ModelUnusable { .. });
    let failed = |error: &Error| matches!(error, Error::EmbeddingFailed { .. });

    let remove = |repository: &Repository, name: &str| {
        fs::remove_file(repository.path(name)).unwrap();
    };
    let repository = plain("m");
    remove(&repository, "tokenizer.json");
    check(&repository, missing, "tokenizer.json");
    let repository = plain("m");
    remove(&repository, "model.onnx");
    check(&repository, unusable, ".onnx");
    check(&plain("m").write("model.onnx", "nonsense"), corrupt, "model.onnx");
    let half = fs::read(plain("m").path("model.onnx")).unwrap();
    let half = &half[..half.len() / 2];
    check(&plain("m").write("model.onnx", half), corrupt, "cut off");
    check(&plain("m").write("config.json", "{"), corrupt, "config.json");
    check(&plain("m").write("modules.json", "{}"), corrupt, "modules.json");
    check(&plain("m").write("tokenizer.json", "{}"), corrupt, "tokenizer");
    check(&plain("m").write("card.toml", "name = 1"), corrupt, "card.toml");
    let data = Tiny { data: Some("weights.bin"), ..Tiny::default() };
    let repository = plain("m").onnx("model.onnx", &data);
    remove(&repository, "weights.bin");
    check(&repository, missing, "weights.bin");
    let nan = Tiny { factor: f32::NAN, ..Tiny::default() };
    check(&plain("m").onnx("model.onnx", &nan), failed, "not finite");
    let zero = Tiny { factor: 0.0, ..Tiny::default() };
    check(&plain("m").onnx("model.onnx", &zero), failed, "zero");
    let task = Tiny { inputs: vec!["task_id"], ..Tiny::default() };
    check(&plain("m").onnx("model.onnx", &task), unusable, "`task_id`");
    let classes = Tiny { outputs: vec![Output::Logits("logits", 3)], ..Tiny::default() };
    check(&plain("m").onnx("model.onnx", &classes), unusable, "3 classes");
    let narrow = dense(&[vec![1.0; 3]], None);
    let repository = plain("m")
        .modules(&["Pooling", "Dense"])
        .pooling("mean_tokens")
        .json("2_Dense/config.json", &json!({ "out_features": 1 }))
        .write("2_Dense/model.safetensors", narrow);
    // It takes three numbers of sixteen.
    check(&repository, failed, "expected tokens of 3");
    let absent = AddSource::Folder(Path::new("/nowhere/at/all").to_owned());
    let repository = plain("m");
    let added = repository.home.add(&absent, &AddOptions::default(), &(), PullOptions::default());
    assert!(matches!(added, Err(Error::ModelMissing { .. })));
}
