//! What requests carry: bounded, strict JSON and known query parameters.

use std::sync::Arc;

use axum::body::to_bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;
use toolgate_model::json::{self, JsonLimits};

use crate::problem::Problem;
use crate::state::State;

/// The most arrays and objects inside each other.
const MAX_DEPTH: usize = 64;

/// A body of JSON.
pub(crate) struct Body<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Arc<State>> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &Arc<State>) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        // Forms of other pages cannot send this without asking first.
        if !kind.eq_ignore_ascii_case("application/json") {
            return Err(Problem::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "bad_args",
                "send application/json",
            ));
        }
        let limits = state.options.limits;
        let read = to_bytes(request.into_body(), limits.body_bytes);
        let bytes = match tokio::time::timeout(limits.body, read).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) => {
                return Err(Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "too_large",
                    format!(
                        "a body has at most {} bytes, and comes whole",
                        limits.body_bytes
                    ),
                ));
            }
            Err(_) => {
                return Err(Problem::new(
                    StatusCode::REQUEST_TIMEOUT,
                    "timeout",
                    "the body did not come in time",
                ));
            }
        };
        let depth = JsonLimits {
            max_bytes: limits.body_bytes,
            max_depth: MAX_DEPTH,
        };
        let value = json::parse(&bytes, depth).map_err(|error| Problem::bad(error.to_string()))?;
        let read = serde_json::from_value(value);
        read.map(Self)
            .map_err(|error| Problem::bad(error.to_string()))
    }
}

/// The query of a request.
pub(crate) struct Args<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<State>> for Args<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, Problem> {
        let read = Query::<T>::from_request_parts(parts, state).await;
        read.map(|Query(args)| Self(args))
            .map_err(|error| Problem::bad(error.body_text()))
    }
}

/// The one name in an address.
pub(crate) struct Id(pub(crate) String);

impl FromRequestParts<Arc<State>> for Id {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &Arc<State>) -> Result<Self, Problem> {
        let read = Path::<String>::from_request_parts(parts, state).await;
        read.map(|Path(id)| Self(id))
            .map_err(|_| Problem::not_found("there is nothing under this name"))
    }
}
