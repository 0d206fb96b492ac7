//! What programs tell errors apart by: a code and an HTTP status for each variant.

use super::Error;

/// A kind of error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorKind {
    /// One stable word in `snake_case`.
    pub code: &'static str,
    /// The status of an HTTP response that tells of it; 500 where the caller can do nothing.
    pub http_status: u16,
}

impl ErrorKind {
    /// The kind with a code of [`Error::code`]; none if no error has it.
    pub fn of_code(code: &str) -> Option<Self> {
        ALL.iter().copied().find(|kind| kind.code == code)
    }
}

macro_rules! kinds {
    ($($variant:ident => $code:literal, $http_status:literal;)*) => {
        /// Every kind, in the order of the variants.
        pub(super) const ALL: &[ErrorKind] =
            &[$(ErrorKind { code: $code, http_status: $http_status }),*];

        /// The kind of an error.
        pub(super) const fn of(error: &Error) -> ErrorKind {
            match error {
                Error::Refused { kind, .. } => *kind,
                $(Error::$variant { .. } => {
                    ErrorKind { code: $code, http_status: $http_status }
                })*
            }
        }
    };
}

kinds! {
    InvalidQuery => "invalid_query", 422;
    InvalidId => "invalid_id", 422;
    InvalidLabel => "invalid_label", 422;
    InvalidScore => "invalid_score", 422;
    InvalidWeights => "invalid_weights", 422;
    InvalidRetrieverId => "invalid_retriever_id", 422;
    UnknownRetriever => "unknown_retriever", 422;
    InvalidK => "invalid_k", 422;
    EmptyRankedLists => "empty_ranked_lists", 500;
    InvalidConfig => "invalid_config", 422;
    InvalidEdge => "invalid_edge", 500;
    SearchFailed => "search_failed", 500;
    DimensionMismatch => "dimension_mismatch", 422;
    InvalidEmbedding => "invalid_embedding", 422;
    EmbeddingFailed => "embedding_failed", 500;
    EmbeddingShape => "embedding_shape", 500;
    RerankFailed => "rerank_failed", 500;
    Panicked => "panicked", 500;
    WebSearch => "web_search", 500;
    LanguageModel => "language_model", 500;
    ModelMissing => "model_missing", 503;
    ModelUnusable => "model_unusable", 422;
    ModelMismatch => "model_mismatch", 409;
    Cancelled => "cancelled", 500;
    TimedOut => "timed_out", 504;
    Checksum => "checksum", 500;
    Corrupt => "corrupt", 500;
    Locked => "locked", 503;
    ReadOnly => "read_only", 403;
    OlderFormat => "older_format", 500;
    IndexMissing => "index_missing", 404;
    ChunkMissing => "chunk_missing", 404;
    UnsupportedFormat => "unsupported_format", 500;
    UnreadableDocument => "unreadable_document", 422;
    MalformedLine => "malformed_line", 500;
    InvalidField => "invalid_field", 422;
    BoundaryDenied => "boundary_denied", 403;
    InvalidScope => "invalid_scope", 422;
    InvalidBoundary => "invalid_boundary", 422;
    PolicyMissing => "policy_missing", 424;
    InvalidPolicy => "invalid_policy", 422;
    InvalidPolicyVersion => "invalid_policy_version", 422;
    InvalidRule => "invalid_rule", 422;
    DuplicateClaim => "duplicate_claim", 409;
    UnknownClaim => "unknown_claim", 404;
    ContextExpired => "context_expired", 410;
    InvalidState => "invalid_state", 409;
    UnsupportedLanguage => "unsupported_language", 500;
    Fenced => "fenced", 503;
    InDoubt => "in_doubt", 503;
    Unavailable => "unavailable", 503;
    NotLeading => "not_leading", 421;
    Behind => "behind", 503;
    NodeCache => "node_cache", 409;
    NotNodeCache => "not_node_cache", 409;
    ShardMissing => "shard_missing", 404;
    NothingLost => "nothing_lost", 404;
    Io => "io", 500;
    Backend => "backend", 500;
}
