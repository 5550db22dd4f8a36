//! What can go wrong with an answer, in words for the user.

use serde::{Deserialize, Serialize};

use crate::decode::DecodeError;
use crate::fenced::head;
use crate::request::{HistoryError, RequestError};

/// Why an answer ended before the model was done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamError {
    /// The provider said so itself.
    #[error(transparent)]
    Provider(#[from] ProviderError),
    /// The connection ended first.
    #[error("the connection ended in the middle of the answer; ask again")]
    Cut,
    /// The connection ended before anything of the answer came.
    #[error(
        "the provider sent nothing that is an answer; check that the base URL and the kind of \
         the provider belong together"
    )]
    Nothing,
    /// Something came that the wire does not send.
    #[error(
        "the provider sent what is no {wire} stream ({message}); check that the base URL and the \
         kind of the provider belong together. It reads: {excerpt}"
    )]
    Malformed {
        /// The wire that was expected.
        wire: &'static str,
        /// What is wrong with it.
        message: String,
        /// The start of what came.
        excerpt: String,
    },
    /// The stream cannot be decoded.
    #[error("the provider's stream cannot be read: {0}")]
    Decode(#[from] DecodeError),
    /// The answer does not end.
    #[error("the answer has more than {max} bytes and was stopped")]
    TooLarge {
        /// How many it may have.
        max: usize,
    },
    /// The answer has more calls, or more parts at once, than anybody would send.
    #[error("the answer has more than {max} tool calls or open parts and was stopped")]
    TooManyParts {
        /// How many it may have.
        max: usize,
    },
    /// Nobody answers at the address.
    #[error("the provider cannot be reached at {address}: {message}")]
    Unreachable {
        /// Where it was looked for.
        address: String,
        /// What went wrong there.
        message: String,
    },
    /// Nothing came for too long.
    #[error("the provider has sent nothing for {seconds} s; ask again, or raise timeout_seconds")]
    Silent {
        /// For how long.
        seconds: u64,
    },
    /// The answer took too long as a whole.
    #[error("the answer was not over after {seconds} s and was stopped")]
    TooSlow {
        /// How long it may take.
        seconds: u64,
    },
    /// Something else than a stream came.
    #[error(
        "the provider sent {content_type} where a stream was expected; check that the base URL \
         and the kind of the provider belong together. It reads: {excerpt}"
    )]
    NotAStream {
        /// What it says it is.
        content_type: String,
        /// The start of it.
        excerpt: String,
    },
    /// A recording does not fit the conversation.
    #[error("the recorded conversation does not fit: {message}")]
    Recording {
        /// What does not.
        message: String,
    },
    /// The request could not be made.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The history is not one that can be sent.
    #[error(transparent)]
    History(#[from] HistoryError),
}

impl StreamError {
    pub(crate) fn malformed(wire: &'static str, error: &serde_json::Error, data: &str) -> Self {
        Self::Malformed {
            wire,
            message: head(&error.to_string()),
            excerpt: head(data),
        }
    }

    /// Whether the same request may well succeed when it is sent again.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::Provider(error) => error.kind.is_retryable(),
            Self::Cut | Self::Nothing | Self::Unreachable { .. } | Self::Silent { .. } => true,
            _ => false,
        }
    }

    /// Whether the provider has too much to do, which passes with time.
    pub const fn is_overload(&self) -> bool {
        matches!(self, Self::Provider(error) if error.kind.is_retryable())
    }

    /// One word for it, for logs and recorded answers.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Provider(error) => error.kind.as_str(),
            Self::Cut => "cut",
            Self::Nothing => "nothing",
            Self::Malformed { .. } => "malformed",
            Self::Decode(_) => "undecodable",
            Self::TooLarge { .. } | Self::TooManyParts { .. } => "too_large",
            Self::Unreachable { .. } => "unreachable",
            Self::Silent { .. } | Self::TooSlow { .. } => "timeout",
            Self::NotAStream { .. } => "not_a_stream",
            Self::Recording { .. } => "recording",
            Self::Request(_) | Self::History(_) => "invalid_request",
        }
    }
}

/// An error in a provider's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("the provider {}: {message}", kind.in_words())]
#[serde(deny_unknown_fields)]
pub struct ProviderError {
    /// What kind of error it is.
    pub kind: ProviderErrorKind,
    /// The provider's message.
    pub message: String,
    /// The provider's own word for the kind.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
}

/// The kinds of errors that providers distinguish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProviderErrorKind {
    /// Too busy for everybody.
    Overloaded,
    /// Too many requests of this account.
    RateLimited,
    /// Something broke at the provider.
    Server,
    /// The key is missing or wrong.
    Authentication,
    /// The key does not allow this.
    Permission,
    /// There is nothing left to pay with.
    Quota,
    /// No such model, or no such address.
    NotFound,
    /// The conversation is larger than the model's context.
    ContextTooLong,
    /// The request is not as the provider wants it.
    InvalidRequest,
    /// Anything else.
    Other,
}

impl ProviderErrorKind {
    /// Every kind there is.
    pub const ALL: [Self; 10] = [
        Self::Overloaded,
        Self::RateLimited,
        Self::Server,
        Self::Authentication,
        Self::Permission,
        Self::Quota,
        Self::NotFound,
        Self::ContextTooLong,
        Self::InvalidRequest,
        Self::Other,
    ];

    /// Whether the same request may well succeed when it is sent again.
    pub const fn is_retryable(self) -> bool {
        matches!(self, Self::Overloaded | Self::RateLimited | Self::Server)
    }

    /// What a provider with such an error does.
    const fn in_words(self) -> &'static str {
        match self {
            Self::Server => "failed",
            Self::Other => "says",
            Self::Overloaded => "says overloaded",
            Self::RateLimited => "says rate_limited",
            Self::Authentication => "says authentication",
            Self::Permission => "says permission",
            Self::Quota => "says quota",
            Self::NotFound => "says not_found",
            Self::ContextTooLong => "says context_too_long",
            Self::InvalidRequest => "says invalid_request",
        }
    }

    /// The one spelling of this kind.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Overloaded => "overloaded",
            Self::RateLimited => "rate_limited",
            Self::Server => "server",
            Self::Authentication => "authentication",
            Self::Permission => "permission",
            Self::Quota => "quota",
            Self::NotFound => "not_found",
            Self::ContextTooLong => "context_too_long",
            Self::InvalidRequest => "invalid_request",
            Self::Other => "other",
        }
    }

    /// The kind of an error by the words that the wires use for `type` and `code`.
    pub(crate) fn by_word(word: &str) -> Option<Self> {
        Some(match word {
            "overloaded_error" | "overloaded" | "server_is_overloaded" | "slow_down" => {
                Self::Overloaded
            }
            "rate_limit_error"
            | "rate_limit_exceeded"
            | "rate_limit_reached"
            | "requests"
            | "tokens" => Self::RateLimited,
            "api_error"
            | "server_error"
            | "internal_server_error"
            | "timeout_error"
            | "gateway_timeout_error" => Self::Server,
            "authentication_error" | "invalid_api_key" => Self::Authentication,
            "permission_error" | "permission_denied" => Self::Permission,
            "billing_error" | "insufficient_quota" => Self::Quota,
            "not_found_error" | "model_not_found" | "not_found" => Self::NotFound,
            "context_length_exceeded" | "request_too_large" => Self::ContextTooLong,
            "invalid_request_error" | "invalid_prompt" => Self::InvalidRequest,
            _ => return None,
        })
    }

    /// The kind of an error by the status of the HTTP response.
    pub(crate) const fn by_status(status: u16) -> Self {
        match status {
            401 => Self::Authentication,
            402 => Self::Quota,
            403 => Self::Permission,
            404 => Self::NotFound,
            413 => Self::ContextTooLong,
            429 => Self::RateLimited,
            503 | 529 => Self::Overloaded,
            408 | 500..=599 => Self::Server,
            400..=499 => Self::InvalidRequest,
            _ => Self::Other,
        }
    }

    /// What a refusal with this status is, where its body names a kind of its own.
    ///
    /// Gateways give nearly everything the type of an invalid request. So a status that says
    /// what happened stands, and the body only says it more exactly.
    pub(crate) const fn refined(status: u16, said: Self) -> Self {
        let by_status = Self::by_status(status);
        let agrees = match (status, said) {
            (_, Self::Quota | Self::ContextTooLong) => true,
            (401 | 403, said) => matches!(said, Self::Authentication | Self::Permission),
            (404 | 413, _) => false,
            (429 | 500..=599, said) => said.is_retryable(),
            _ => true,
        };
        if agrees { said } else { by_status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_one_spelling() {
        for kind in ProviderErrorKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
        }
    }

    #[test]
    fn statuses_tell_what_can_be_tried_again() {
        for (status, kind, again) in [
            (401, ProviderErrorKind::Authentication, false),
            (404, ProviderErrorKind::NotFound, false),
            (422, ProviderErrorKind::InvalidRequest, false),
            (429, ProviderErrorKind::RateLimited, true),
            (500, ProviderErrorKind::Server, true),
            (529, ProviderErrorKind::Overloaded, true),
            (302, ProviderErrorKind::Other, false),
        ] {
            assert_eq!(ProviderErrorKind::by_status(status), kind, "{status}");
            assert_eq!(kind.is_retryable(), again, "{status}");
        }
    }
}
