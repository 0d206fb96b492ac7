//! The real model, fetched once into the platform's cache.

use std::sync::{Arc, OnceLock};

use trefoil::{
    EngineConfig,
    graph::{EntityExtraction, ScriptExtractor},
    model::{ModelHome, PullOptions},
};

/// A configuration with the default model, which is pulled if it is absent. Reranking takes the
/// time that it needs, so that no answer depends on how busy the machine is.
pub(crate) fn with_model() -> EngineConfig {
    static PULLED: OnceLock<()> = OnceLock::new();
    PULLED.get_or_init(|| {
        let home = ModelHome::platform().unwrap();
        home.pull(&[], &(), PullOptions::default()).unwrap();
    });
    EngineConfig { rerank_budget: None, ..by_script() }
}

/// Whatever dictionaries the machine has, the graph is the same.
pub(crate) fn by_script() -> EngineConfig {
    EngineConfig {
        extractor: EntityExtraction::Custom(Arc::new(ScriptExtractor)),
        ..EngineConfig::default()
    }
}

/// A configuration that searches by keyword only.
pub(crate) fn without_model() -> EngineConfig {
    let mut config = EngineConfig { model: trefoil::Model::None, ..by_script() };
    config.rerank.enabled = false;
    config
}
