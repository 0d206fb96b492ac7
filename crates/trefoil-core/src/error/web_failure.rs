use std::fmt;

/// What can go wrong with a service of the web.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WebFailure {
    /// There was no answer in time.
    Timeout {
        /// How long it was waited for, in milliseconds.
        millis: u64,
    },
    /// The answer is larger than allowed.
    TooLarge {
        /// What is allowed, in bytes.
        limit: u64,
    },
    /// The service refused.
    Status {
        /// The HTTP status.
        code: u16,
    },
    /// The service refused and said why.
    Refused {
        /// The HTTP status.
        code: u16,
        /// Its words, shortened.
        message: String,
    },
    /// The answer is not what the service should send.
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The service could not be reached.
    Unreachable {
        /// Why.
        reason: String,
    },
}

impl fmt::Display for WebFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Timeout { millis } => write!(f, "no answer within {millis} ms"),
            Self::TooLarge { limit } => write!(f, "the answer is larger than {limit} bytes"),
            Self::Status { code } => write!(f, "it answered with status {code}"),
            Self::Refused { code, message } => {
                write!(f, "it answered with status {code}: {message}")
            }
            Self::Malformed { reason } => write!(f, "its answer cannot be read: {reason}"),
            Self::Unreachable { reason } => write!(f, "it cannot be reached: {reason}"),
        }
    }
}
