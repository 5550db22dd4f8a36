//! What every request passes: exact lists of `Host` and `Origin`, the token, and the rate.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{FromRequestParts, Request, State as Extracted};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::auth::Principal;
use crate::problem::Problem;
use crate::state::State;

/// The policy of the page and of everything else.
pub(crate) const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const SECURITY: [(HeaderName, &str); 7] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=()",
    ),
];

/// The names under which the server may be called, and the pages that may call it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    pub(crate) hosts: Vec<String>,
    pub(crate) origins: Vec<String>,
}

impl Allowed {
    /// Refuses a request under another name or from another page.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let refused = |what: &str| {
            let detail = format!(
                "this {what} is not on the list; add it to allowed_{what}s in [server] if it is yours"
            );
            Problem::new(StatusCode::FORBIDDEN, "permission", detail)
        };
        let host = single(headers, &header::HOST).map_err(|()| refused("host"))?;
        let host = host.ok_or_else(|| refused("host"))?;
        if !self
            .hosts
            .iter()
            .any(|known| known.eq_ignore_ascii_case(host))
        {
            return Err(refused("host"));
        }
        // `null` is what sandboxed frames and files say: no page has it for itself.
        match single(headers, &header::ORIGIN).map_err(|()| refused("origin"))? {
            Some(origin) if !self.origins.iter().any(|known| known == origin) => {
                Err(refused("origin"))
            }
            _ => Ok(()),
        }
    }
}

/// A header that may be there once.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, ()> {
    let mut all = headers.get_all(name).iter();
    let first = all.next().map(|value| value.to_str().map_err(|_| ()));
    match all.next() {
        Some(_) => Err(()),
        None => first.transpose(),
    }
}

/// Runs around every request.
pub(crate) async fn guard(
    Extracted(state): Extracted<Arc<State>>,
    request: Request,
    next: Next,
) -> Response {
    let checked = state.allowed.check(request.headers()).and_then(|()| {
        // A name with a scheme in the request line would be a second host.
        match request.uri().authority() {
            Some(_) => Err(Problem::bad("send the path alone in the request line")),
            None => Ok(()),
        }
    });
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => {
            state.counters.refused();
            problem.into_response()
        }
    };
    for (name, value) in SECURITY {
        let headers = response.headers_mut();
        headers
            .entry(name)
            .or_insert(HeaderValue::from_static(value));
    }
    response
}

/// Whoever sent a token with the request.
pub(crate) struct Caller(pub(crate) Principal);

impl FromRequestParts<Arc<State>> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &Arc<State>,
    ) -> Result<Self, Self::Rejection> {
        caller(&parts.headers, state).map(Self)
    }
}

/// The caller by the header of a request, if it may ask now.
pub(crate) fn caller(headers: &HeaderMap, state: &State) -> Result<Principal, Problem> {
    let given = single(headers, &header::AUTHORIZATION).ok().flatten();
    let Some(principal) = given.and_then(|text| state.gatekeeper.of_header(text)) else {
        state.counters.refused();
        return Err(unauthorized());
    };
    paced(&principal, state)?;
    Ok(principal)
}

/// Counts a request or a frame of this caller.
pub(crate) fn paced(principal: &Principal, state: &State) -> Result<(), Problem> {
    if state.stopping.is_cancelled() {
        return Err(Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "stopping",
            "the server is stopping; connect again when it is back",
        ));
    }
    let rate = state.options.limits.requests_per_second;
    if !state.rates.take(principal.owner_id(), rate, Instant::now()) {
        return Err(Problem::too_many(format!(
            "more than {rate} requests per second; wait a moment"
        )));
    }
    Ok(())
}

pub(crate) fn unauthorized() -> Problem {
    Problem::new(
        StatusCode::UNAUTHORIZED,
        "permission",
        "send the token that `toolgate serve` showed, as `Authorization: Bearer TOKEN`",
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_exact() {
        let allowed = Allowed {
            hosts: vec!["127.0.0.1:7433".into(), "localhost:7433".into()],
            origins: vec!["http://127.0.0.1:7433".into()],
        };
        for (hosts, origins, is_taken) in [
            (&["127.0.0.1:7433"][..], &[][..], true),
            (&["LOCALHOST:7433"], &["http://127.0.0.1:7433"], true),
            (&[], &[], false),
            (&["127.0.0.1"], &[], false),
            (&["127.0.0.1:7433", "127.0.0.1:7433"], &[], false),
            (&["0.0.0.0:7433"], &[], false),
            (&["127.0.0.1.nip.io:7433"], &[], false),
            (&["127.0.0.1:7433"], &["null"], false),
            (&["127.0.0.1:7433"], &["http://localhost:3000"], false),
            (&["127.0.0.1:7433"], &["https://127.0.0.1:7433"], false),
            (&["127.0.0.1:7433"], &["http://127.0.0.1:7433/"], false),
            (
                &["127.0.0.1:7433"],
                &["http://127.0.0.1.evil.example"],
                false,
            ),
            (
                &["127.0.0.1:7433"],
                &["http://127.0.0.1:7433", "http://evil.example"],
                false,
            ),
        ] {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(header::HOST, HeaderValue::from_static(host));
            }
            for origin in origins {
                headers.append(header::ORIGIN, HeaderValue::from_static(origin));
            }
            let taken = allowed.check(&headers).is_ok();
            assert_eq!(taken, is_taken, "{hosts:?} {origins:?}");
        }
    }
}
