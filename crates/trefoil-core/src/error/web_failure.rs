/// What can go wrong with a service of the web.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of each variant says what its fields are")]
#[non_exhaustive]
pub enum WebFailure {
    /// There was no answer in time.
    #[error("no answer within {millis} ms")]
    Timeout { millis: u64 },
    /// The answer is larger than allowed.
    #[error("the answer is larger than {limit} bytes")]
    TooLarge { limit: u64 },
    /// The service refused, with a status of HTTP.
    #[error("it answered with status {code}")]
    Status { code: u16 },
    /// The service refused and said why, shortened.
    #[error("it answered with status {code}: {message}")]
    Refused { code: u16, message: String },
    /// The answer is not what the service should send.
    #[error("its answer cannot be read: {reason}")]
    Malformed { reason: String },
    /// The service could not be reached.
    #[error("it cannot be reached: {reason}")]
    Unreachable { reason: String },
}
