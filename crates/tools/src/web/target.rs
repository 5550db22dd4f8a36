//! A URL that a model wrote, read once and checked: where it leads, and whether it may.

use std::fmt;
use std::net::IpAddr;

use toolgate_model::{ErrorKind, ToolError};
use url::{Host, Url};

use super::address::{Forbidden, judge};
use super::ports::is_for_web;
use super::private_hosts::PrivateHosts;

/// Longer URLs are nobody's.
const MOST_BYTES: usize = 8 * 1024;

/// Names that mean something only inside a network: what stands after the last dot, or the
/// last two parts.
const INWARD: &[&str] = &[
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "intern",
    "private",
    "corp",
    "home",
    "lan",
    "home.arpa",
];

/// Why a URL is not fetched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// It cannot be read.
    #[error("`{url}` is no URL: {problem}. Write it whole, such as `https://example.com/page`.")]
    Unreadable {
        /// What was written.
        url: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Another way than the web's.
    #[error(
        "`{scheme}:` is not fetched, only `http:` and `https:`. Files are read with `read_file`."
    )]
    Scheme {
        /// What stands before the colon.
        scheme: String,
    },
    /// A name or a password in front of the host.
    #[error("the URL holds user info before `@`, which is not sent; leave it out")]
    UserInfo,
    /// An address that is not public.
    #[error("`{host}` is {}, which is not contacted. Only the public internet is; {GRANT}", why.said())]
    Address {
        /// The address.
        host: String,
        /// What it is.
        why: Forbidden,
    },
    /// A name that is not public.
    #[error(
        "`{host}` is a name inside a private network, which is not contacted. Only the public internet is; {GRANT}"
    )]
    Name {
        /// The name.
        host: String,
    },
    /// A port where no web server is.
    #[error("port {port} of `{host}` is not a web server's and is not contacted; {GRANT}")]
    Port {
        /// The host.
        host: String,
        /// The port.
        port: u16,
    },
}

const GRANT: &str = "a person can grant private hosts in the configuration.";

impl Refusal {
    fn unreadable(url: &str, problem: impl Into<String>) -> Self {
        Self::Unreadable {
            url: url.chars().take(200).collect(),
            problem: problem.into(),
        }
    }
}

impl From<Refusal> for ToolError {
    fn from(refusal: Refusal) -> Self {
        let kind = match &refusal {
            Refusal::Unreadable { .. } | Refusal::Scheme { .. } | Refusal::UserInfo => {
                ErrorKind::BadArgs
            }
            Refusal::Address { .. } | Refusal::Name { .. } | Refusal::Port { .. } => {
                ErrorKind::BlockedHost
            }
        };
        Self::new(kind, refusal.to_string())
    }
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    url: Url,
    host: Host<String>,
    port: u16,
    granted: bool,
}

impl Target {
    /// Reads a URL and checks what can be checked without the network.
    pub fn parse(text: &str, granted: &PrivateHosts) -> Result<Self, Refusal> {
        check_text(text)?;
        let url = Url::parse(text).map_err(|error| Refusal::unreadable(text, error.to_string()))?;
        Self::checked(url, |host, port| granted.cover(host, port))
    }

    /// A server that the person's own configuration names: it may be anywhere.
    pub fn configured(text: &str) -> Result<Self, Refusal> {
        check_text(text)?;
        let url = Url::parse(text).map_err(|error| Refusal::unreadable(text, error.to_string()))?;
        Self::checked(url, |_, _| true)
    }

    /// Where a redirect from here leads. A server of the configuration is trusted itself,
    /// not in what it points to.
    pub(super) fn redirected(
        &self,
        location: &str,
        granted: &PrivateHosts,
    ) -> Result<Self, Refusal> {
        check_text(location)?;
        let joined = self.url.join(location);
        let url = joined.map_err(|error| Refusal::unreadable(location, error.to_string()))?;
        Self::checked(url, |host, port| {
            (self.granted && *host == self.host && port == self.port) || granted.cover(host, port)
        })
    }

    fn checked(
        mut url: Url,
        granted: impl FnOnce(&Host<String>, u16) -> bool,
    ) -> Result<Self, Refusal> {
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme().to_owned();
            return Err(Refusal::Scheme { scheme });
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refusal::UserInfo);
        }
        // One host has one name, for rules too: the dot that ends a full name says nothing new.
        if let Some(name) = url.domain().and_then(|name| name.strip_suffix('.')) {
            let name = name.to_owned();
            let set = url.set_host(Some(&name));
            set.map_err(|error| Refusal::unreadable(&name, error.to_string()))?;
        }
        url.set_fragment(None);
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Refusal::unreadable(url.as_str(), "it names no host"));
        };
        let host = host.to_owned();
        if matches!(&host, Host::Domain(name) if name.split('.').any(str::is_empty)) {
            let problem = "a part of the host's name is empty";
            return Err(Refusal::unreadable(url.as_str(), problem));
        }
        let granted = granted(&host, port);
        let target = Self {
            url,
            host,
            port,
            granted,
        };
        if !granted {
            target.check()?;
        }
        Ok(target)
    }

    fn check(&self) -> Result<(), Refusal> {
        let host = || self.host.to_string();
        let address = match &self.host {
            Host::Ipv4(address) => Some(IpAddr::V4(*address)),
            Host::Ipv6(address) => Some(IpAddr::V6(*address)),
            Host::Domain(_) => None,
        };
        match (address, &self.host) {
            (Some(address), _) => {
                let judged = judge(address);
                judged.map_err(|why| Refusal::Address { host: host(), why })?;
            }
            (None, Host::Domain(name)) if is_inward(name) => {
                return Err(Refusal::Name { host: host() });
            }
            (None, _) => {}
        }
        if !is_for_web(self.port) {
            let (host, port) = (host(), self.port);
            return Err(Refusal::Port { host, port });
        }
        Ok(())
    }

    /// Checks an answer to the question where the host's name leads.
    pub(super) fn check_answer(&self, address: IpAddr) -> Result<IpAddr, Forbidden> {
        match judge(address) {
            Err(why) if self.granted && why.may_be_granted_by_name() => Ok(address),
            judged => judged,
        }
    }

    /// The URL, without a fragment.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The host: a name in ASCII, or an address.
    pub(super) fn host(&self) -> &Host<String> {
        &self.host
    }

    /// The port, said or implied.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Whether the connection is encrypted.
    pub(super) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Whether it is where another one is, or the encrypted side of it.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        let upgraded = other.port == 80 && self.port == 443 && self.is_https();
        self.host == other.host && (self.port == other.port || upgraded)
    }
}

impl fmt::Display for Target {
    /// `host:port`, as facts name it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// What the reader of URLs would drop or turn without a word.
fn check_text(text: &str) -> Result<(), Refusal> {
    if text.len() > MOST_BYTES {
        let problem = format!(
            "it has {} bytes, and at most {MOST_BYTES} are read",
            text.len()
        );
        return Err(Refusal::unreadable(text, problem));
    }
    if text.trim().is_empty() {
        return Err(Refusal::unreadable(text, "it is empty"));
    }
    if text.chars().any(char::is_control) {
        let problem = "it holds control characters; write them as %0A and the like";
        return Err(Refusal::unreadable(
            &text.escape_default().to_string(),
            problem,
        ));
    }
    if text.contains('\\') {
        let problem = "it holds a backslash; write / or %5C";
        return Err(Refusal::unreadable(text, problem));
    }
    Ok(())
}

/// Whether a name is no name on the internet.
fn is_inward(name: &str) -> bool {
    let beneath = |end: &&str| {
        name.strip_suffix(*end)
            .is_some_and(|front| front.is_empty() || front.ends_with('.'))
    };
    !name.contains('.') || INWARD.iter().any(beneath)
}
