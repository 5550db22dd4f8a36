//! One question and one answer over a connection that is open.

use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST, HeaderName,
    HeaderValue, LOCATION, USER_AGENT,
};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use http_body_util::{BodyExt, Empty};

use super::WebLimits;
use super::body::{Content, Packing, Unpacker};
use super::error::WebError;
use super::target::{Refusal, Target};

const AGENT: &str = concat!("toolgate/", env!("CARGO_PKG_VERSION"));
const WANTED: &str = "text/html,application/xhtml+xml,text/*;q=0.9,application/json;q=0.9,\
    application/xml;q=0.9,*/*;q=0.1";

/// The most bytes of the head of an answer, and the most lines of it.
const HEAD_BYTES: usize = 64 * 1024;
const HEAD_LINES: usize = 200;

/// A header to send: its name in lower case, and its value.
pub(crate) type Header = (&'static str, String);

/// A connection, encrypted or not.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// The head of an answer, with its body still to come.
#[derive(Debug)]
pub struct Answer {
    url: Url,
    place: String,
    response: Response<Incoming>,
    limits: WebLimits,
    deadline: Instant,
    /// Moves the bytes for as long as the answer is wanted.
    _mover: JoinSet<()>,
}

/// Sends a request and waits for the head of the answer.
pub(super) async fn ask(
    stream: Box<dyn Duplex>,
    target: &Target,
    headers: &[Header],
    limits: &WebLimits,
    deadline: Instant,
) -> Result<Answer, WebError> {
    let place = target.to_string();
    let broken = |error: hyper::Error| broken(&place, &error);
    let request = request(target, headers)?;
    let (mut sender, connection) = http1::Builder::new()
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_LINES)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(broken)?;
    let mut mover = JoinSet::new();
    mover.spawn(async move {
        // What goes wrong here is told to whoever waits for the answer.
        let _ = connection.await;
    });
    let answered = timeout(limits.idle, sender.send_request(request)).await;
    let response = answered
        .map_err(|_| WebError::Silent {
            place: place.clone(),
            after: limits.idle,
        })?
        .map_err(broken)?;
    Ok(Answer {
        url: target.url().clone(),
        place,
        response,
        limits: *limits,
        deadline,
        _mover: mover,
    })
}

fn request(target: &Target, headers: &[Header]) -> Result<Request<Empty<&'static [u8]>>, WebError> {
    let url = target.url();
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let mut request = Request::get(path)
        .header(HOST, url.authority())
        .header(USER_AGENT, AGENT)
        .header(ACCEPT, WANTED)
        .header(ACCEPT_ENCODING, "gzip")
        .header(CONNECTION, "close");
    for (name, value) in headers {
        if let Ok(mut value) = HeaderValue::from_str(value) {
            value.set_sensitive(true);
            request = request.header(HeaderName::from_static(name), value);
        }
    }
    request.body(Empty::new()).map_err(|error| {
        WebError::Refused(Refusal::Unreadable {
            url: url.to_string(),
            problem: error.to_string(),
        })
    })
}

fn broken(place: &str, error: &hyper::Error) -> WebError {
    let mut problem = error.to_string();
    if let Some(cause) = std::error::Error::source(error) {
        problem.push_str(": ");
        problem.push_str(&cause.to_string());
    }
    WebError::Broken {
        place: place.to_owned(),
        problem,
    }
}

impl Answer {
    /// Where it came from, after every redirect.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Its status.
    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Whether it is what was asked for.
    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// The status in words, such as `404: Not Found`.
    pub fn status_text(&self) -> String {
        let status = self.response.status();
        match status.canonical_reason() {
            Some(reason) => format!("{}: {reason}", status.as_str()),
            None => status.as_str().to_owned(),
        }
    }

    /// What it says to be.
    pub fn content_type(&self) -> Option<&str> {
        let value = self.response.headers().get(CONTENT_TYPE)?;
        value.to_str().ok()
    }

    /// Where it sends to, if it is a redirect.
    pub(super) fn location(&self) -> Option<String> {
        let redirects = [
            StatusCode::MOVED_PERMANENTLY,
            StatusCode::FOUND,
            StatusCode::SEE_OTHER,
            StatusCode::TEMPORARY_REDIRECT,
            StatusCode::PERMANENT_REDIRECT,
        ];
        if !redirects.contains(&self.response.status()) {
            return None;
        }
        let location = self.response.headers().get(LOCATION)?;
        Some(String::from_utf8_lossy(location.as_bytes()).into_owned())
    }

    /// The body, unpacked, as much of it as is wanted.
    pub async fn read(self) -> Result<Content, WebError> {
        let Self {
            place,
            response,
            limits,
            deadline,
            _mover,
            ..
        } = self;
        let read = timeout_at(deadline, read(response, &place, &limits)).await;
        read.unwrap_or(Err(WebError::TooSlow {
            place,
            after: limits.total,
        }))
    }
}

async fn read(
    response: Response<Incoming>,
    place: &str,
    limits: &WebLimits,
) -> Result<Content, WebError> {
    let unpackable = |problem: String| WebError::Broken {
        place: place.to_owned(),
        problem,
    };
    let header = response.headers().get(CONTENT_ENCODING);
    let header = header.map(|value| String::from_utf8_lossy(value.as_bytes()));
    let packing = Packing::named(header.as_deref()).ok_or_else(|| {
        let header = header.as_deref().unwrap_or_default();
        unpackable(format!(
            "the page is packed as `{header}`, which was not asked for"
        ))
    })?;
    let mut unpacker = Unpacker::new(packing, limits.max_bytes);
    let mut body = response.into_body();
    loop {
        let frame = timeout(limits.idle, body.frame()).await;
        let frame = frame.map_err(|_| WebError::Silent {
            place: place.to_owned(),
            after: limits.idle,
        })?;
        let Some(frame) = frame else {
            break;
        };
        let frame = frame.map_err(|error| broken(place, &error))?;
        let Some(piece) = frame.data_ref() else {
            continue;
        };
        let more = unpacker.take(piece);
        if !more.map_err(|error| unpackable(error.to_string()))? {
            break;
        }
    }
    let content = unpacker.finish();
    content.map_err(|error| unpackable(format!("the packed page is damaged: {error}")))
}
