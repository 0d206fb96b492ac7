//! The real model, fetched once into the platform's cache.

use std::sync::OnceLock;

use trefoil::{
    EngineConfig,
    model::{ModelHome, PullOptions},
};

/// A configuration with the default model, which is pulled if it is absent.
pub(crate) fn with_model() -> EngineConfig {
    static PULLED: OnceLock<()> = OnceLock::new();
    PULLED.get_or_init(|| {
        let home = ModelHome::platform().unwrap();
        home.pull(&[], &(), PullOptions::default()).unwrap();
    });
    EngineConfig::default()
}

/// A configuration that searches by keyword only.
pub(crate) fn without_model() -> EngineConfig {
    let mut config = EngineConfig { model: trefoil::Model::None, ..EngineConfig::default() };
    config.rerank.enabled = false;
    config
}
