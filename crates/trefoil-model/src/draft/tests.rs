use trefoil_core::Quantization;

use super::*;
use crate::{
    card::EmbeddingCard,
    dense::Activation,
    session::signature::{Element, Signature, Slot},
};

fn slot(name: &str, shape: &[i64]) -> Slot {
    Slot { name: name.to_owned(), element: Element::F32, shape: shape.to_vec() }
}

/// An encoder that gives these.
fn header(outputs: &[(&str, &[i64])]) -> OnnxHeader {
    let ids = Slot { element: Element::I64, ..slot("input_ids", &[-1, -1]) };
    let mut header = OnnxHeader::default();
    header.signature = Signature {
        inputs: vec![ids],
        outputs: outputs.iter().map(|(name, shape)| slot(name, shape)).collect(),
    };
    header
}

fn tokens() -> OnnxHeader {
    header(&[("last_hidden_state", &[-1, -1, 768])])
}

/// A repository with a model, a tokenizer and these files.
fn contents(files: &[(&str, &str)]) -> Contents {
    let names = ["onnx/model.onnx", "tokenizer.json"].into_iter().chain(files.iter().map(|f| f.0));
    let mut contents = Contents::new(
        "m",
        "https://example.org/m",
        "c0ffee",
        names.map(str::to_owned).collect::<Vec<_>>(),
    );
    for (name, text) in files {
        contents.insert(*name, *text);
    }
    contents
}

fn drafted(files: &[(&str, &str)], header: &OnnxHeader, options: &AddOptions) -> Result<Draft> {
    draft(&contents(files), "onnx/model.onnx", header, options)
}

fn embedding(files: &[(&str, &str)], header: &OnnxHeader) -> EmbeddingCard {
    drafted(files, header, &AddOptions::default()).unwrap().card.embedding.unwrap()
}

const MODULES: &str = r#"[
    {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
    {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}
]"#;

#[test]
fn the_pooling_is_that_of_the_module() {
    let of = |config: &str| {
        let files = [("modules.json", MODULES), ("1_Pooling/config.json", config)];
        drafted(&files, &tokens(), &AddOptions::default())
    };
    let check = |mode: &str, expected| {
        let config = format!(r#"{{"word_embedding_dimension": 768, "pooling_mode_{mode}": true}}"#);
        let card = of(&config).unwrap().card.embedding.unwrap();
        assert_eq!((card.pooling, card.dimensions), (expected, 768), "{mode}");
    };
    check("mean_tokens", Pooling::Mean);
    check("mean_sqrt_len_tokens", Pooling::Mean);
    check("cls_token", Pooling::Cls);
    check("lasttoken", Pooling::LastToken);
    let newer = of(r#"{"embedding_dimension": 768, "pooling_mode": "lasttoken"}"#).unwrap();
    assert_eq!(newer.card.embedding.unwrap().pooling, Pooling::LastToken);
    for (config, named) in [
        (r#"{"pooling_mode_max_tokens": true}"#, "max_tokens"),
        (r#"{"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": true}"#, "and"),
        (r#"{"pooling_mode_cls_token": false}"#, "nothing"),
    ] {
        let error = of(config).unwrap_err();
        assert!(matches!(error, Error::ModelUnusable { .. }), "{error}");
        assert!(error.to_string().contains(named), "{error}");
    }
    let prompt = of(r#"{"pooling_mode_mean_tokens": true, "include_prompt": false}"#).unwrap();
    assert!(prompt.unknown.iter().any(|one| one.contains("prompt")), "{:?}", prompt.unknown);
}

#[test]
fn without_a_module_the_pooling_is_assumed_and_told() {
    let assumed = |config: &str| {
        let draft = drafted(&[("config.json", config)], &tokens(), &AddOptions::default()).unwrap();
        assert!(draft.unknown.iter().any(|one| one.contains("`--pooling`")), "{draft:?}");
        draft.card.embedding.unwrap().pooling
    };
    assert_eq!(assumed(r#"{"model_type": "bert"}"#), Pooling::Mean);
    assert_eq!(assumed(r#"{"model_type": "qwen3"}"#), Pooling::LastToken);
    let options = AddOptions { pooling: Some(Pooling::Cls), ..AddOptions::default() };
    let draft = drafted(&[], &tokens(), &options).unwrap();
    assert_eq!(draft.card.embedding.unwrap().pooling, Pooling::Cls);
    assert!(!draft.unknown.iter().any(|one| one.contains("`--pooling`")), "{:?}", draft.unknown);
}

#[test]
fn what_the_model_pools_is_taken_as_it_is() {
    let both = header(&[("last_hidden_state", &[-1, -1, 768]), ("sentence_embedding", &[-1, 512])]);
    let files = [
        ("modules.json", MODULES),
        ("1_Pooling/config.json", r#"{"pooling_mode_cls_token": true}"#),
    ];
    let card = embedding(&files, &both);
    assert_eq!((card.pooling, card.dimensions), (Pooling::None, 512));
    let options = AddOptions { pooling: Some(Pooling::Cls), ..AddOptions::default() };
    let card = drafted(&files, &both, &options).unwrap().card.embedding.unwrap();
    assert_eq!((card.pooling, card.dimensions), (Pooling::Cls, 768));
    let options = AddOptions { output: Some("absent".into()), ..AddOptions::default() };
    let error = drafted(&files, &both, &options).unwrap_err();
    assert!(error.to_string().contains("`sentence_embedding`"), "{error}");
}

#[test]
fn dense_layers_need_their_weights() {
    let modules = MODULES.replace(
        r#"{"idx": 2"#,
        r#"{"idx": 3, "name": "3", "path": "2_Dense", "type": "sentence_transformers.models.Dense"},
        {"idx": 2"#,
    );
    let dense = r#"{"in_features": 768, "out_features": 3072, "bias": false,
        "activation_function": "torch.nn.modules.activation.Tanh"}"#;
    let files = [
        ("modules.json", modules.as_str()),
        ("1_Pooling/config.json", r#"{"pooling_mode_mean_tokens": true}"#),
        ("2_Dense/config.json", dense),
        ("2_Dense/model.safetensors", ""),
    ];
    let draft = drafted(&files, &tokens(), &AddOptions::default()).unwrap();
    let card = draft.card.embedding.unwrap();
    assert_eq!(card.dimensions, 3072);
    assert_eq!(card.dense.len(), 1);
    assert_eq!(card.dense[0].activation, Activation::Tanh);
    let place = DraftFile::new("2_Dense/model.safetensors", "2_Dense.safetensors");
    assert!(draft.files.contains(&place), "{:?}", draft.files);
    assert_eq!(draft.card.files[0].name, "2_Dense.safetensors");
    let error = drafted(&files[..3], &tokens(), &AddOptions::default()).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("2_Dense/model.safetensors"), "{error}");
    let other = modules.replace("models.Dense", "models.LSTM");
    let files = [("modules.json", other.as_str()), files[1]];
    let error = drafted(&files, &tokens(), &AddOptions::default()).unwrap_err();
    assert!(error.to_string().contains("LSTM"), "{error}");
}

#[test]
fn prompts_are_those_of_the_file_or_of_the_page_or_none() {
    let prefixes = |files: &[(&str, &str)]| {
        let draft = drafted(files, &tokens(), &AddOptions::default()).unwrap();
        let card = draft.card.embedding.unwrap();
        let told = draft.unknown.iter().any(|one| one.contains("--query-prefix"));
        (card.query_prefix, card.passage_prefix, told)
    };
    let prompts = r#"{"prompts": {"query": "task: search result | query: ",
        "document": "title: none | text: ", "Clustering": "task: clustering | query: "}}"#;
    let found = prefixes(&[("config_sentence_transformers.json", prompts)]);
    assert_eq!(
        found,
        ("task: search result | query: ".into(), "title: none | text: ".into(), false)
    );
    let readme = "Use `query: ` and `passage: `.";
    let found = prefixes(&[
        ("config_sentence_transformers.json", r#"{"prompts": {}}"#),
        ("README.md", readme),
    ]);
    assert_eq!(found, ("query: ".into(), "passage: ".into(), true));
    assert_eq!(prefixes(&[]), (String::new(), String::new(), true));
}

#[test]
fn a_cut_is_within_the_model() {
    let cut = |dimensions| {
        let options = AddOptions { dimensions: Some(dimensions), ..AddOptions::default() };
        drafted(&[], &tokens(), &options).map(|draft| draft.card.embedding.unwrap())
    };
    let card = cut(256).unwrap();
    assert_eq!((card.dimensions, card.model_dimensions), (256, Some(768)));
    let card = cut(768).unwrap();
    assert_eq!((card.dimensions, card.model_dimensions), (768, None));
    for wrong in [0, 769] {
        let error = cut(wrong).unwrap_err();
        assert!(matches!(error, Error::InvalidConfig { field: "dimensions", .. }), "{error}");
    }
    let files = [("config_sentence_transformers.json", r#"{"truncate_dim": 128}"#)];
    let card = embedding(&files, &tokens());
    assert_eq!((card.dimensions, card.model_dimensions), (128, Some(768)));
}

#[test]
fn the_length_is_the_least_that_is_told() {
    let length = |files: &[(&str, &str)]| {
        let draft = drafted(files, &tokens(), &AddOptions::default()).unwrap();
        let told = draft.unknown.iter().any(|one| one.contains("`--max-tokens`"));
        (draft.card.max_tokens, told)
    };
    let roberta = r#"{"model_type": "xlm-roberta", "max_position_embeddings": 514,
        "pad_token_id": 1, "architectures": null}"#;
    let bert = r#"{"model_type": "bert", "max_position_embeddings": 512}"#;
    assert_eq!(length(&[("config.json", roberta)]), (512, false));
    assert_eq!(length(&[("config.json", bert)]), (512, false));
    let sentences = ("sentence_bert_config.json", r#"{"max_seq_length": 256}"#);
    assert_eq!(length(&[("config.json", bert), sentences]), (256, false));
    let endless = ("tokenizer_config.json", r#"{"model_max_length": 1e30}"#);
    assert_eq!(length(&[("config.json", bert), endless]), (512, false));
    assert_eq!(length(&[endless]), (512, true));
    let none = ("sentence_bert_config.json", r#"{"max_seq_length": null}"#);
    let long = ("tokenizer_config.json", r#"{"model_max_length": 8192}"#);
    assert_eq!(length(&[none, long]), (8192, false));
}

#[test]
fn a_role_is_told_by_what_the_model_gives() {
    let role = |files: &[(&str, &str)], header: &OnnxHeader| {
        drafted(files, header, &AddOptions::default()).map(|draft| draft.card.role)
    };
    let logits = header(&[("logits", &[-1, 1])]);
    let classifier = ("config.json", r#"{"architectures": ["BertForSequenceClassification"]}"#);
    assert_eq!(role(&[classifier], &logits).unwrap(), ModelRole::Reranker);
    assert_eq!(role(&[], &header(&[("logits", &[-1, 2])])).unwrap(), ModelRole::Reranker);
    assert_eq!(role(&[], &tokens()).unwrap(), ModelRole::Embedder);
    let colbert = ("artifact.metadata", r#"{"dim": 768, "query_token_id": "[unused0]"}"#);
    assert_eq!(role(&[colbert], &tokens()).unwrap(), ModelRole::LateInteraction);
    let classes = role(&[classifier], &header(&[("logits", &[-1, 3])])).unwrap_err();
    assert!(classes.to_string().contains("3 classes"), "{classes}");
    let words = ("config.json", r#"{"architectures": ["Qwen3ForCausalLM"]}"#);
    let error = role(&[words], &header(&[("logits", &[-1, -1, 151_669])])).unwrap_err();
    assert!(error.to_string().contains("feature-extraction"), "{error}");
    let both = header(&[("last_hidden_state", &[-1, -1, 384]), ("projected", &[-1, -1, 96])]);
    let narrow = ("artifact.metadata", r#"{"dim": 96}"#);
    let card = drafted(&[narrow], &both, &AddOptions::default()).unwrap().card;
    assert_eq!(card.output.as_deref(), Some("projected"));
    let error = role(&[narrow], &tokens()).unwrap_err();
    assert!(error.to_string().contains("96"), "{error}");
}

#[test]
fn the_exact_form_is_taken_and_the_others_are_told() {
    let forms = |wanted: Option<&str>, names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned());
        onnx_file::choose(&Contents::new("m", "", "", names), wanted)
    };
    let all = ["onnx/model_int8.onnx", "onnx/model_fp16.onnx", "onnx/model.onnx", "a.safetensors"];
    assert_eq!(forms(None, &all).unwrap(), "onnx/model.onnx");
    assert_eq!(forms(Some(all[0]), &all).unwrap(), all[0]);
    assert_eq!(forms(None, &all[..2]).unwrap(), "onnx/model_fp16.onnx");
    assert_eq!(
        forms(None, &["onnx/model_q4.onnx", "onnx/m_int8.onnx"]).unwrap(),
        "onnx/m_int8.onnx"
    );
    let error = forms(Some("onnx/model_q4.onnx"), &all).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("onnx/model_int8.onnx"), "{error}");
    assert!(matches!(forms(None, &["a.safetensors"]), Err(Error::ModelUnusable { .. })));
    let files = [("onnx/model_int8.onnx", "")];
    let draft = drafted(&files, &tokens(), &AddOptions::default()).unwrap();
    assert!(draft.unknown.iter().any(|one| one.contains("onnx/model_int8.onnx")), "{draft:?}");
}

#[test]
fn weights_outside_of_the_file_are_brought_along() {
    let with = |location: &str| {
        let mut header = tokens();
        header.external.insert(location.to_owned());
        header
    };
    let files = [("onnx/model.onnx_data", "")];
    let draft = drafted(&files, &with("model.onnx_data"), &AddOptions::default()).unwrap();
    let place = DraftFile::new("onnx/model.onnx_data", "model.onnx_data");
    assert!(draft.files.contains(&place), "{:?}", draft.files);
    assert_eq!(draft.card.files[0].name, "model.onnx_data");
    let error = drafted(&[], &with("model.onnx_data"), &AddOptions::default()).unwrap_err();
    assert!(matches!(error, Error::ModelMissing { .. }), "{error}");
    for outside in ["../model.onnx_data", "/etc/passwd", "a/b"] {
        let error = drafted(&files, &with(outside), &AddOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
    }
}

#[test]
fn a_file_that_is_no_json_is_named() {
    for name in ["config.json", "modules.json", "tokenizer_config.json", "1_Pooling/config.json"] {
        let files = [("modules.json", MODULES), (name, "{")];
        let error = drafted(&files, &tokens(), &AddOptions::default()).unwrap_err();
        assert!(matches!(error, Error::Corrupt { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_decoder_is_as_wide_as_its_config_says() {
    let mut takes = tokens();
    let past = slot("past_key_values.0.key", &[-1, -1, -1, -1]);
    takes.signature.inputs.push(past);
    let config = r#"{"model_type": "qwen3", "hidden_size": 1024, "num_attention_heads": 16,
        "num_key_value_heads": 8, "head_dim": 128}"#;
    let draft = drafted(&[("config.json", config)], &takes, &AddOptions::default()).unwrap();
    let expected = DecoderCard { key_value_heads: 8, head_dimensions: 128 };
    assert_eq!(draft.card.decoder, Some(expected));
    let error = drafted(&[], &takes, &AddOptions::default()).unwrap_err();
    assert!(error.to_string().contains("past_key_values.0.key"), "{error}");
    takes.signature.inputs.push(slot("task_id", &[1]));
    let error = drafted(&[("config.json", config)], &takes, &AddOptions::default()).unwrap_err();
    assert!(error.to_string().contains("`task_id`"), "{error}");
}

#[test]
fn a_card_that_somebody_wrote_goes_before_every_file() {
    let card = "name = 'mine'\nrole = 'embedder'\nlicense = 'MIT'\n[embedding]\ndimensions = 768\n\
                pooling = 'cls'\nquery-prefix = 'q: '\nquantization = 'int8'\n";
    let files = [("card.toml", card), ("modules.json", "no json")];
    let draft = drafted(&files, &tokens(), &AddOptions::default()).unwrap();
    let embedding = draft.card.embedding.unwrap();
    assert_eq!((draft.card.name.as_str(), embedding.pooling), ("mine", Pooling::Cls));
    assert_eq!(embedding.quantization, Quantization::Int8);
    let options = AddOptions {
        name: Some("other".into()),
        query_prefix: Some(String::new()),
        license: Some("Apache-2.0".into()),
        max_tokens: Some(99),
        ..AddOptions::default()
    };
    let card = drafted(&files, &tokens(), &options).unwrap().card;
    assert_eq!(
        (card.name.as_str(), card.license.as_str(), card.max_tokens),
        ("other", "Apache-2.0", 99)
    );
    assert_eq!(card.embedding.unwrap().query_prefix, "");
    let damaged = [("card.toml", "name = 'mine'")];
    assert!(matches!(
        drafted(&damaged, &tokens(), &AddOptions::default()),
        Err(Error::Corrupt { .. })
    ));
}

#[test]
fn what_files_say_of_late_interaction_is_in_the_card() {
    let artifact = r#"{"dim": 768, "query_token_id": "[QueryMarker]",
        "doc_token_id": "[DocumentMarker]", "query_maxlen": 32, "attend_to_mask_tokens": false}"#;
    let files = [
        ("artifact.metadata", artifact),
        ("tokenizer_config.json", r#"{"mask_token": "<mask>", "model_max_length": 8192}"#),
    ];
    let draft = drafted(&files, &tokens(), &AddOptions::default()).unwrap();
    let late = draft.card.late_interaction.unwrap();
    assert_eq!(late.query_marker.as_deref(), Some("[QueryMarker]"));
    assert_eq!(late.passage_marker.as_deref(), Some("[DocumentMarker]"));
    assert_eq!((late.query_tokens, late.mask_token.as_deref()), (Some(32), Some("<mask>")));
    assert_eq!((late.dimensions, late.attends_to_fill), (768, false));
    let pylate = r#"{"query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 24,
        "attend_to_expansion_tokens": true}"#;
    let files = [
        ("README.md", "---\ntags:\n- ColBERT\n---\n"),
        ("config_sentence_transformers.json", pylate),
        ("special_tokens_map.json", r#"{"mask_token": {"content": "[MASK]"}}"#),
    ];
    let late = drafted(&files, &tokens(), &AddOptions::default()).unwrap().card.late_interaction;
    let late = late.unwrap();
    assert_eq!((late.query_marker.as_deref(), late.query_tokens), (Some("[Q] "), Some(24)));
    assert_eq!((late.mask_token.as_deref(), late.attends_to_fill), (Some("[MASK]"), true));
}
