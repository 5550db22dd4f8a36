//! Requests within bounds.

use std::time::{Duration, SystemTime};

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use tokio::time::Instant;

use super::body::Sent;
use super::endpoint::{Endpoint, EndpointError};
use super::patience::retry_after;
use crate::fault::StreamError;
use crate::fenced::head;
use crate::provider::Refused;
use crate::request::Request as Asked;
use crate::wire::Wire;

/// Of an error no more than this is read.
const ERROR_BYTES: usize = 64 * 1024;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HttpTimeouts {
    /// To be connected.
    pub connect: Duration,
    /// Without a sign of life, before the answer and within it.
    pub idle: Duration,
    /// For the whole answer, and as long for an error or a list.
    pub total: Duration,
}

impl Default for HttpTimeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(300),
            total: Duration::from_secs(3_600),
        }
    }
}

/// A way to one endpoint. Connections are kept open between requests.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    endpoint: Endpoint,
    timeouts: HttpTimeouts,
}

impl Client {
    /// A client of this endpoint. Nothing is contacted yet.
    pub fn new(endpoint: Endpoint, timeouts: HttpTimeouts) -> Result<Self, EndpointError> {
        // Whoever was first has chosen; all choices are good ones.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(timeouts.connect)
            .tcp_nodelay(true)
            .user_agent(concat!("toolgate/", env!("CARGO_PKG_VERSION")));
        if !endpoint.is_encrypted() {
            // Reading the system's certificates takes longer than everything else at the start.
            builder = builder.tls_certs_only([]);
        }
        let http = builder.build().map_err(|error| EndpointError::Client {
            message: chain(&error),
        })?;
        Ok(Self {
            http,
            endpoint,
            timeouts,
        })
    }

    /// Where it asks.
    pub const fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) const fn timeouts(&self) -> HttpTimeouts {
        self.timeouts
    }

    /// Asks for an answer; what comes back is a stream of the wire's kind.
    pub(super) async fn stream(&self, body: Asked) -> Result<Response, Refused> {
        let asked = self.ask(body).await;
        asked.map_err(|refused| self.endpoint.secrets().refused(refused))
    }

    async fn ask(&self, body: Asked) -> Result<Response, Refused> {
        let request = self
            .request(Method::POST, self.endpoint.ask())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, self.endpoint.wire().stream_type())
            .body(reqwest::Body::wrap(Sent::from(body)));
        let response = self.send(request).await?;
        let kind = content_type(response.headers());
        if is_stream(self.endpoint.wire(), &kind) {
            return Ok(response);
        }
        let body = self.read(response, ERROR_BYTES).await?;
        let text = head(&String::from_utf8_lossy(&body));
        Err(StreamError::NotAStream {
            content_type: kind,
            excerpt: text,
        }
        .into())
    }

    pub(super) fn request(&self, method: Method, url: Url) -> RequestBuilder {
        let headers = self.endpoint.headers().clone();
        self.http.request(method, url).headers(headers)
    }

    /// Sends a request; anything but success is an error in the provider's words.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, Refused> {
        let sent = tokio::time::timeout(self.timeouts.idle, request.send()).await;
        let response = match sent {
            Err(_) => return Err(self.silent().into()),
            Ok(Err(error)) => return Err(self.unreachable(&error).into()),
            Ok(Ok(response)) => response,
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let retry_after = retry_after(response.headers(), SystemTime::now());
        let location = response.headers().get("location").cloned();
        let body = self.read(response, ERROR_BYTES).await.unwrap_or_default();
        let mut error = self.endpoint.wire().read_error(status.as_u16(), &body);
        if status.is_redirection() {
            let to = location
                .as_ref()
                .and_then(|to| to.to_str().ok())
                .unwrap_or("elsewhere");
            error.message = format!(
                "status {status}: it redirects to {}, which is not followed; the base URL has to be that of the place where it leads",
                head(to)
            );
        } else if body.is_empty() {
            error.message = named(status);
        }
        Err(Refused {
            fault: StreamError::Provider(error),
            retry_after,
        })
    }

    /// Reads a body as far as the limit, without the secrets that it repeats: no part of
    /// one is left where only the start of the body is shown.
    pub(super) async fn read(
        &self,
        mut response: Response,
        most: usize,
    ) -> Result<Vec<u8>, Refused> {
        let now = Instant::now();
        let deadline = now.checked_add(self.timeouts.total).unwrap_or(now);
        let mut body = Vec::new();
        while body.len() < most {
            let chunk = tokio::time::timeout(self.timeouts.idle, response.chunk());
            match tokio::time::timeout_at(deadline, chunk).await {
                Err(_) => return Err(self.too_slow().into()),
                Ok(Err(_)) => return Err(self.silent().into()),
                Ok(Ok(Err(error))) => return Err(self.unreachable(&error).into()),
                Ok(Ok(Ok(None))) => break,
                Ok(Ok(Ok(Some(chunk)))) => body.extend_from_slice(&chunk),
            }
        }
        body.truncate(most);
        Ok(self.endpoint.secrets().hide_bytes(body))
    }

    pub(super) fn silent(&self) -> StreamError {
        StreamError::Silent {
            seconds: self.timeouts.idle.as_secs(),
        }
    }

    pub(super) fn too_slow(&self) -> StreamError {
        StreamError::TooSlow {
            seconds: self.timeouts.total.as_secs(),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> StreamError {
        StreamError::Unreachable {
            address: self.endpoint.address(),
            message: chain(error),
        }
    }
}

/// Whether this is what the wire streams. A server that says nothing is believed; what it
/// sends shows soon enough.
fn is_stream(wire: Wire, kind: &str) -> bool {
    let known: &[&str] = match wire {
        Wire::Ollama => &[
            "application/x-ndjson",
            "application/ndjson",
            "application/json",
        ],
        _ => &["text/event-stream"],
    };
    kind.is_empty() || known.contains(&kind)
}

fn content_type(headers: &HeaderMap) -> String {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let kind = value.and_then(|value| value.split(';').next());
    head(&kind.unwrap_or_default().trim().to_ascii_lowercase())
}

fn named(status: StatusCode) -> String {
    format!("status {status}, without a word about it")
}

/// An error with its causes, without the address, which the caller says.
fn chain(error: &reqwest::Error) -> String {
    let mut causes = Vec::new();
    let mut next: Option<&dyn std::error::Error> = std::error::Error::source(error);
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    if causes.is_empty() {
        causes.push(error.to_string());
    }
    causes.dedup();
    head(&causes.join(": "))
}
