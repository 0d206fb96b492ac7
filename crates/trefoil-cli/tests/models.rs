//! Models of one's own on the command line: added, used by their names, removed.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test that cannot go on may panic"
)]

mod place;
#[path = "../../trefoil-model/tests/tiny/mod.rs"]
mod tiny;

use std::fs;

use place::Place;
use tiny::{Output, Tiny, tokenizer};

/// A place with a folder `own` that holds a model, and a home with the runtime.
struct Models {
    place: Place,
    home: tempfile::TempDir,
}

impl Models {
    fn new(model: &Tiny) -> Self {
        let place = Place::new();
        model.write(&place.path("own/onnx/model.onnx"));
        let tokenizer = tokenizer::bert(&["[Q]", "[D]"]).to_string();
        fs::write(place.path("own/tokenizer.json"), tokenizer).unwrap();
        fs::write(place.path("own/README.md"), "---\nlicense: mit\nlanguage: en\n---\n").unwrap();
        Self { place, home: tiny::home().0 }
    }

    fn run(&self, args: &[&str]) -> place::Run {
        let home = self.home.path().to_string_lossy().into_owned();
        self.place.run(&[&["--home", home.as_str()], args].concat())
    }
}

#[test]
fn a_model_is_added_used_by_its_name_and_removed() {
    let models = Models::new(&Tiny::default());
    models
        .run(&["models", "add", "own", "--dry-run"])
        .expect(0)
        .says(&["name = \"own\"", "role = \"embedder\"", "pooling = \"mean\"", "license = \"mit\""])
        .complains(&["note:", "`--pooling`", "`--query-prefix`"]);
    models.run(&["models", "path", "own"]).expect(3);

    let added = models.run(&[
        "models",
        "add",
        "own",
        "--name",
        "mine",
        "--pooling",
        "mean",
        "--query-prefix",
        "query ",
        "--passage-prefix",
        "",
        "--dimensions",
        "48",
        "--max-tokens",
        "128",
        "--json",
    ]);
    let added = added.expect(0).json();
    let embedding = &added["card"]["embedding"];
    assert_eq!(added["card"]["name"], "mine");
    assert_eq!(embedding["dimensions"], 48);
    assert_eq!(embedding["model-dimensions"], 64);
    assert_eq!(embedding["query-prefix"], "query ");
    assert_eq!(added["card"]["max-tokens"], 128);
    assert_eq!(added["check"]["languages"][0]["questions"], 55);
    assert!(embedding["cosine-range"][0].is_number(), "{added}");
    models.run(&["models", "list"]).expect(0).says(&["mine", "embedder"]);
    models.run(&["models", "verify", "mine"]).expect(0).says(&["mine: every checksum agrees"]);
    models.run(&["models", "add", "own", "--name", "mine"]).expect(2).complains(&["--name"]);

    let page = "# Mountains\n\nWater boils at a lower temperature in the mountains.\n";
    fs::create_dir(models.place.path("docs")).unwrap();
    fs::write(models.place.path("docs/mountains.md"), page).unwrap();
    let mine = ["--model", "mine", "--rerank-model", "none"];
    let with = |args: &[&str]| models.run(&[&mine[..], args].concat());
    with(&["index", "--pull", "docs"]).expect(0);
    let found = with(&[
        "search",
        "water boils in the mountains",
        "--strategies",
        "semantic",
        "--min-relevance",
        "0",
        "--json",
    ]);
    let found = found.expect(0).json();
    assert_eq!(found["results"][0]["metadata"]["path"], "docs/mountains.md", "{found}");
    // And by the settings file.
    fs::write(models.place.path("trefoil.toml"), "model = 'mine'\nrerank_model = 'none'\n")
        .unwrap();
    models
        .run(&["search", "water", "--strategies", "semantic", "--min-relevance", "0"])
        .expect(0)
        .says(&["mountains.md"]);

    models.run(&["models", "remove", "mine"]).expect(0).says(&["removed"]);
    models.run(&["models", "remove", "mine"]).expect(3).complains(&["mine"]);
    models.run(&["search", "water"]).expect(3).complains(&["`mine`"]);
}

#[test]
fn rerankers_of_both_kinds_are_used_by_their_names() {
    let cross = Tiny { outputs: vec![Output::Logits("logits", 1)], ..Tiny::default() };
    for (model, role) in [(cross, "reranker"), (Tiny::default(), "late-interaction")] {
        let models = Models::new(&model);
        let added = models.run(&["models", "add", "own", "--role", role]).expect(0);
        added.says(&[&format!("role = \"{role}\"")]).complains(&["--rerank-model own"]);
        fs::create_dir(models.place.path("docs")).unwrap();
        let page = "# Mountains\n\nWater boils at a lower temperature in the mountains.\n";
        fs::write(models.place.path("docs/mountains.md"), page).unwrap();
        let own = ["--model", "none", "--rerank-model", "own"];
        let with = |args: &[&str]| models.run(&[&own[..], args].concat());
        with(&["index", "docs"]).expect(0);
        let found = with(&["search", "water in the mountains", "--explain", "--json"]).expect(0);
        let found = found.json();
        let rerank = &found["results"][0]["explanation"]["rerankScore"];
        let shown = found.to_string();
        assert!(rerank.is_number() || shown.contains("rerank"), "{found}");
        assert!(!found["degraded"].to_string().contains("rerank"), "{found}");
    }
}

#[test]
fn what_cannot_be_added_says_why() {
    let models = Models::new(&Tiny { inputs: vec!["task_id"], ..Tiny::default() });
    models.run(&["models", "add", "own"]).expect(3).complains(&["`task_id`"]);
    models.run(&["models", "add", "absent"]).expect(3).complains(&["no such folder"]);
    models.run(&["models", "add", "hf:nothing"]).expect(2).complains(&["hf:owner/name"]);
    models.run(&["models", "add", "hf:a/b", "--offline"]).expect(3).complains(&["fetching is off"]);
    models.run(&["models", "add", "own", "--dimensions", "99"]).expect(2).complains(&["99"]);
    let models = Models::new(&Tiny { factor: f32::NAN, ..Tiny::default() });
    models.run(&["models", "add", "own"]).expect(3).complains(&["not finite"]);
}
