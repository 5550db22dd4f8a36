//! Errors as RFC 9457 problems, with our `kind`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Serialize;
use toolgate_app::AppError;
use toolgate_app::approvals::AnswerError;
use utoipa::ToSchema;

/// Why a request was refused or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) kind: &'static str,
    pub(crate) detail: String,
}

/// A problem as it is sent.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub(crate) struct ProblemBody {
    /// A URI that names the kind.
    #[serde(rename = "type")]
    uri: String,
    /// The status in words.
    title: String,
    /// The status.
    status: u16,
    /// What happened, and what to do.
    detail: String,
    /// The kind of error.
    kind: String,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            kind,
            detail: detail.into(),
        }
    }

    pub(crate) fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_args", detail)
    }

    pub(crate) fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    pub(crate) fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "permission", detail)
    }

    pub(crate) fn conflict(kind: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, detail)
    }

    pub(crate) fn too_many(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, "quota", detail)
    }

    pub(crate) fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "failed", detail)
    }

    /// A conversation that does not exist, or that the caller may not know of: the same words.
    pub(crate) fn no_conversation(id: &str) -> Self {
        Self::not_found(format!("there is no conversation {id:?}"))
    }

    pub(crate) fn approval_closed() -> Self {
        Self::conflict(
            "approval_closed",
            "this question does not wait: it was answered, ran out of time, was cancelled or never asked",
        )
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody {
            uri: format!("urn:toolgate:problem:{}", self.kind),
            title: self.status.canonical_reason().unwrap_or("error").to_owned(),
            status: self.status.as_u16(),
            detail: self.detail,
            kind: self.kind.to_owned(),
        };
        let text = serde_json::to_vec(&body).unwrap_or_default();
        let mut response = (self.status, text).into_response();
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/problem+json"),
        );
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self.status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<AppError> for Problem {
    fn from(error: AppError) -> Self {
        let detail = toolgate_app::text::approval_text(&error.to_string());
        let (status, kind) = match &error {
            AppError::Usage(_) | AppError::EmptyPrompt | AppError::Script { .. } => {
                (StatusCode::BAD_REQUEST, "bad_args")
            }
            AppError::Config(_) => (StatusCode::CONFLICT, "configuration"),
            AppError::NoProvider => (StatusCode::CONFLICT, "no_provider"),
            AppError::NotFound(_) | AppError::NoTurns(_) => (StatusCode::NOT_FOUND, "not_found"),
            AppError::OtherWorkspace { .. } => (StatusCode::FORBIDDEN, "permission"),
            AppError::InUse { .. } => (StatusCode::CONFLICT, "in_use"),
            AppError::Busy(_) => (StatusCode::CONFLICT, "busy"),
            AppError::Undecided(_) => (StatusCode::CONFLICT, "interrupted"),
            AppError::ResultsWanted(_) | AppError::Result { .. } | AppError::ResultsMissing(_) => {
                (StatusCode::CONFLICT, "results_wanted")
            }
            AppError::Answer(AnswerError::Foreign) => (StatusCode::FORBIDDEN, "permission"),
            AppError::Answer(_) => (StatusCode::CONFLICT, "approval_closed"),
            AppError::Journal(_) | AppError::JournalFile(_) => {
                (StatusCode::SERVICE_UNAVAILABLE, "journal")
            }
            _ => (StatusCode::INTERNAL_SERVER_ERROR, "failed"),
        };
        Self::new(status, kind, detail)
    }
}
