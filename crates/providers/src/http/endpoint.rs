//! Where a provider is, and how it is told who asks.

use std::fmt;

use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};

use super::secrets::{Secret, Secrets};
use crate::wire::Wire;

/// Why there is nowhere to ask.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The base URL is none.
    #[error("the base URL {url:?} cannot be used: {message}; write http://host or https://host")]
    Url {
        /// What was given.
        url: String,
        /// What is wrong with it.
        message: String,
    },
    /// A header cannot be sent.
    #[error("the header {name:?} cannot be sent; names are words, values are one line of ASCII")]
    Header {
        /// Its name.
        name: String,
    },
    /// The key cannot be sent.
    #[error("the key holds characters that a header cannot; check where it comes from")]
    Key,
    /// The key and the headers cannot be looked for in answers.
    #[error("the key or a header is too long to be hidden in answers: {message}")]
    Secrets {
        /// What is wrong with them.
        message: String,
    },
    /// There can be no client on this machine.
    #[error("no connections can be made here: {message}")]
    Client {
        /// What is missing.
        message: String,
    },
}

/// Where a provider is.
#[derive(Clone)]
pub struct Endpoint {
    wire: Wire,
    base: Url,
    headers: HeaderMap,
    secrets: Secrets,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("wire", &self.wire)
            .field("base", &self.base.as_str())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The address of a wire's own provider, as its official SDK has it.
    pub const fn default_base(wire: Wire) -> &'static str {
        match wire {
            Wire::Anthropic => "https://api.anthropic.com",
            Wire::OpenAiChat | Wire::OpenAiResponses => "https://api.openai.com/v1",
            Wire::Ollama => "http://localhost:11434",
        }
    }

    /// An endpoint. The base URL means what it means in the official SDKs: for OpenAI it
    /// ends with the version, for the others the version is part of the path.
    pub fn new(
        wire: Wire,
        base: Option<&str>,
        key: Option<&Secret>,
        headers: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Self, EndpointError> {
        let base = base.unwrap_or(Self::default_base(wire));
        let wrong = |message: String| EndpointError::Url {
            url: base.to_owned(),
            message,
        };
        let mut url = Url::parse(base).map_err(|error| wrong(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong("it is neither http nor https".to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let why = "it holds a name or a password, which would be shown; use a key or a header";
            return Err(wrong(why.to_owned()));
        }
        url.set_query(None);
        url.set_fragment(None);
        let mut all = HeaderMap::new();
        if wire == Wire::Anthropic {
            all.insert("anthropic-version", HeaderValue::from_static("2023-06-01"));
        }
        if let Some(key) = key.filter(|key| !key.expose().is_empty()) {
            let (name, text) = match wire {
                Wire::Anthropic => (
                    HeaderName::from_static("x-api-key"),
                    key.expose().to_owned(),
                ),
                _ => (AUTHORIZATION, format!("Bearer {}", key.expose())),
            };
            let mut value = HeaderValue::from_str(&text).map_err(|_| EndpointError::Key)?;
            value.set_sensitive(true);
            all.insert(name, value);
        }
        let headers: Vec<(String, String)> = headers.into_iter().collect();
        for (name, text) in &headers {
            let header = HeaderName::from_bytes(name.as_bytes()).ok();
            let value = HeaderValue::from_str(text).ok();
            let (Some(header), Some(mut value)) = (header, value) else {
                return Err(EndpointError::Header { name: name.clone() });
            };
            value.set_sensitive(true);
            all.insert(header, value);
        }
        let secrets = Secrets::of(key, headers.iter().map(|(name, text)| (name, text)));
        let secrets = secrets.map_err(|error| EndpointError::Secrets {
            message: error.to_string(),
        })?;
        Ok(Self {
            wire,
            base: url,
            headers: all,
            secrets,
        })
    }

    /// The wire spoken there.
    pub const fn wire(&self) -> Wire {
        self.wire
    }

    /// Whether nobody on the way can read along.
    pub fn is_encrypted(&self) -> bool {
        self.base.scheme() == "https"
    }

    /// Whether it is on this very machine.
    pub fn is_local(&self) -> bool {
        self.base.host_str().is_some_and(|host| {
            let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            host == "localhost" || address.is_ok_and(|address| address.is_loopback())
        })
    }

    /// Where it is, for messages.
    pub fn address(&self) -> String {
        self.base.as_str().trim_end_matches('/').to_owned()
    }

    /// What must not be shown of it.
    pub const fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// Where answers are asked for.
    pub(crate) fn ask(&self) -> Url {
        self.under(match self.wire {
            Wire::Anthropic => "v1/messages",
            Wire::OpenAiChat => "chat/completions",
            Wire::OpenAiResponses => "responses",
            Wire::Ollama => "api/chat",
        })
    }

    /// Where the models are listed.
    pub(crate) fn models(&self) -> Url {
        self.under(match self.wire {
            Wire::Anthropic => "v1/models",
            Wire::OpenAiChat | Wire::OpenAiResponses => "models",
            Wire::Ollama => "api/tags",
        })
    }

    fn under(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        let directory = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{directory}/{path}"));
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(wire: Wire, base: Option<&str>) -> Endpoint {
        Endpoint::new(wire, base, Some(&Secret::new(" k1\n")), []).unwrap()
    }

    #[test]
    fn a_base_url_means_what_it_means_in_the_official_sdks() {
        for (wire, base, ask) in [
            (
                Wire::Anthropic,
                None,
                "https://api.anthropic.com/v1/messages",
            ),
            (
                Wire::Anthropic,
                Some("http://h:1"),
                "http://h:1/v1/messages",
            ),
            (
                Wire::Anthropic,
                Some("http://h/proxy/"),
                "http://h/proxy/v1/messages",
            ),
            (
                Wire::OpenAiChat,
                None,
                "https://api.openai.com/v1/chat/completions",
            ),
            (
                Wire::OpenAiChat,
                Some("http://h/v1"),
                "http://h/v1/chat/completions",
            ),
            (
                Wire::OpenAiResponses,
                Some("http://h/v1/"),
                "http://h/v1/responses",
            ),
            (
                Wire::Ollama,
                Some("http://h:11434"),
                "http://h:11434/api/chat",
            ),
        ] {
            assert_eq!(endpoint(wire, base).ask().as_str(), ask);
        }
    }

    #[test]
    fn keys_go_into_the_header_of_their_wire_and_are_shown_nowhere() {
        let anthropic = endpoint(Wire::Anthropic, None);
        assert_eq!(anthropic.headers()["x-api-key"], "k1");
        let openai = endpoint(Wire::OpenAiChat, None);
        assert_eq!(openai.headers()["authorization"], "Bearer k1");
        for shown in [
            format!("{anthropic:?}"),
            format!("{:?}", openai.headers()),
            format!("{:?}", Secret::new("k1")),
        ] {
            assert!(!shown.contains("k1"), "{shown}");
        }
    }

    #[test]
    fn an_address_that_cannot_be_used_is_said_at_once() {
        for base in ["ftp://h", "h", "http://", "http://u:p@h", "unix:/x"] {
            let fault = Endpoint::new(Wire::Ollama, Some(base), None, []).unwrap_err();
            assert!(matches!(fault, EndpointError::Url { .. }), "{base}");
        }
        let headers = [("a b".to_owned(), "x".to_owned())];
        let fault = Endpoint::new(Wire::Ollama, None, None, headers).unwrap_err();
        assert!(matches!(fault, EndpointError::Header { .. }));
    }
}
