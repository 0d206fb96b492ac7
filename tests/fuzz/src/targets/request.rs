//! What a caller sends: questions, filters, cursors, settings.

use trefoil::{
    EngineConfig, Error, Language, Profile, RetrieverId, SearchQuery,
    search::{Available, Cursor, NameTable, QueryClassifier, RuleClassifier, plan, question},
};

/// A question as it is typed → its kind, its names and the plan of its search.
pub(crate) fn query(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(query) = SearchQuery::new(text.as_ref()) else { return };
    decide(&query);
}

/// A query or a cursor in JSON, filters and options included.
pub(crate) fn request(bytes: &[u8]) {
    if let Ok(query) = serde_json::from_slice::<SearchQuery>(bytes)
        && query.check().is_ok()
    {
        decide(&query);
        let text = serde_json::to_string(&query).unwrap();
        assert_eq!(serde_json::from_str::<SearchQuery>(&text).unwrap(), query);
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(cursor) = text.parse::<Cursor>()
    {
        assert_eq!(cursor.to_string(), text);
    }
}

/// The body of a request or the arguments of a tool: of every type that a server reads.
pub(crate) fn body(bytes: &[u8]) {
    let bodies = trefoil_server::routes().iter().filter_map(|route| route.reads);
    for reads in bodies.chain(trefoil_server::tool_arguments().map(|(_, reads)| reads)) {
        reads(bytes);
    }
}

/// A file of settings in TOML.
pub(crate) fn profile(bytes: &[u8]) {
    let path = super::folder().join("profile.toml");
    std::fs::write(&path, bytes).unwrap();
    if let Ok(profile) = Profile::read(&path) {
        profile.check().unwrap();
        let config = EngineConfig { profile: Some(profile), ..EngineConfig::default() };
        config.check().unwrap();
    }
}

fn decide(query: &SearchQuery) {
    let corpus = [(Language::En, 50), (Language::Ja, 30), (Language::Ko, 20)];
    let names = NameTable::default();
    let asked = question(query, &corpus);
    let kind = RuleClassifier.classify(&asked, &names).unwrap();
    let retrievers = RetrieverId::DEFAULT_SET.map(Available::from);
    let planned = plan(query, asked, Some(kind), &retrievers, &corpus, &EngineConfig::default());
    // A plan refuses nothing but an unknown cursor and an unknown retriever.
    let is_unknown = matches!(planned, Err(Error::UnknownRetriever { .. }));
    assert!(planned.is_ok() || is_unknown || query.options.cursor.is_some());
}
