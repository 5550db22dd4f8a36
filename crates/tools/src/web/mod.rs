//! The one way to the network for what a model asks: it leads to the public internet only.
//!
//! ```text
//!  URL ──Target::parse──▶ Target ──resolve once──▶ addresses ──judge every one──▶ connect to one of them
//!        (pure: scheme,             (Network)                                        (Network)
//!         host, port)                                                                    │
//!                        ┌── redirect: checked again, same host, at most so many ◀───────┤
//!                        ▼                                                               ▼
//!                      Target                                  Answer ──read──▶ Content (unpacked, bounded)
//! ```
//!
//! Nothing is resolved twice, so a name cannot lead elsewhere between check and use. A
//! redirect stays at the host that the call was let through for; another host is another
//! call, which policy decides on anew.
//!
//! What can go wrong: the URL is refused, a name leads inside, a server is unreachable,
//! cannot prove who it is, is silent, drips, redirects for ever or sends more than is
//! wanted. Each is a [`WebError`] that becomes the kind of its own.

mod address;
mod body;
mod charset;
mod error;
mod exchange;
mod network;
mod ports;
mod private_hosts;
mod target;
mod tls;

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use url::Host;

pub use address::{Forbidden, judge};
pub use body::Content;
pub(crate) use charset::is_marked;
pub use charset::{Decoded, decode};
pub use error::WebError;
pub use exchange::Answer;
pub(crate) use exchange::Header;
use exchange::{Duplex, ask};
pub use network::{Internet, Network};
pub use private_hosts::{NotAHost, PrivateHosts};
pub use target::{Refusal, Target};
pub use tls::Roots;
use tls::Tls;

/// How much longer the pipeline waits than a tool's own deadline: time to hand over what it says.
pub(crate) const TO_HAND_OVER: Duration = Duration::from_secs(1);

/// How many addresses of one host are tried.
const TRIED: usize = 4;

/// What the web's tools may do, and how they reach it.
#[derive(Clone, Debug)]
pub struct WebSettings {
    /// Hosts of private networks that `web_fetch` may contact.
    pub private_hosts: PrivateHosts,
    /// How much and how long.
    pub limits: WebLimits,
    /// Whose certificates are believed.
    pub roots: Roots,
    /// The network.
    pub network: Arc<dyn Network>,
}

impl Default for WebSettings {
    fn default() -> Self {
        Self {
            private_hosts: PrivateHosts::none(),
            limits: WebLimits::default(),
            roots: Roots::default(),
            network: Arc::new(Internet),
        }
    }
}

/// How much is taken of a page, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebLimits {
    /// The most bytes of a page, unpacked.
    pub max_bytes: usize,
    /// The most redirects.
    pub max_redirects: usize,
    /// How long a connection may take to come about.
    pub connect: Duration,
    /// How long a server may say nothing.
    pub idle: Duration,
    /// How long everything may take until the page is here.
    pub total: Duration,
    /// How long making text of it may take then.
    pub convert: Duration,
}

impl Default for WebLimits {
    fn default() -> Self {
        Self {
            max_bytes: 5 * 1024 * 1024,
            max_redirects: 10,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            total: Duration::from_secs(30),
            convert: Duration::from_secs(10),
        }
    }
}

impl WebLimits {
    /// The usual limits, where a whole call may take this long: no part of it takes longer.
    pub fn within(call: Duration) -> Self {
        let usual = Self::default();
        Self {
            connect: usual.connect.min(call),
            idle: usual.idle.min(call),
            total: call,
            convert: usual.convert.min(call),
            ..usual
        }
    }
}

/// Fetches from the web.
#[derive(Debug)]
pub struct Web {
    settings: WebSettings,
    tls: Tls,
}

impl Web {
    /// A way to the web within these settings.
    pub fn new(settings: &WebSettings) -> Self {
        Self {
            settings: settings.clone(),
            tls: Tls::new(settings.roots.clone()),
        }
    }

    /// What it keeps to.
    pub fn settings(&self) -> &WebSettings {
        &self.settings
    }

    /// Asks for a page and follows redirects. The body is not read yet.
    pub async fn get(&self, target: &Target, headers: &[Header]) -> Result<Answer, WebError> {
        let limits = &self.settings.limits;
        let deadline = Instant::now() + limits.total;
        let followed = timeout_at(deadline, self.follow(target, headers, deadline));
        followed.await.unwrap_or_else(|_| {
            Err(WebError::TooSlow {
                place: target.to_string(),
                after: limits.total,
            })
        })
    }

    async fn follow(
        &self,
        target: &Target,
        headers: &[Header],
        deadline: Instant,
    ) -> Result<Answer, WebError> {
        let most = self.settings.limits.max_redirects;
        let mut at = target.clone();
        for _ in 0..=most {
            let answer = self.one(&at, headers, deadline).await?;
            let Some(location) = answer.location() else {
                return Ok(answer);
            };
            let from = || at.url().to_string();
            let redirected = at.redirected(&location, &self.settings.private_hosts);
            let next = redirected.map_err(|refusal| WebError::RedirectRefused {
                from: from(),
                refusal,
            })?;
            let to = || next.url().to_string();
            if at.is_https() && !next.is_https() {
                let (from, to) = (from(), to());
                return Err(WebError::Downgrade { from, to });
            }
            if !next.is_at(target) {
                return Err(WebError::Elsewhere {
                    from: from(),
                    to: to(),
                    status: answer.status(),
                });
            }
            at = next;
        }
        Err(WebError::TooManyRedirects {
            from: target.url().to_string(),
            last: at.url().to_string(),
            most,
        })
    }

    /// One request, without redirects.
    async fn one(
        &self,
        target: &Target,
        headers: &[Header],
        deadline: Instant,
    ) -> Result<Answer, WebError> {
        let addresses = self.addresses(target).await?;
        let stream = self.connect(target, &addresses).await?;
        let limits = &self.settings.limits;
        ask(stream, target, headers, limits, deadline).await
    }

    /// Every address of a target, each of them checked.
    async fn addresses(&self, target: &Target) -> Result<Vec<IpAddr>, WebError> {
        let name = match target.host() {
            // Checked when the URL was read.
            Host::Ipv4(address) => return Ok(vec![IpAddr::V4(*address)]),
            Host::Ipv6(address) => return Ok(vec![IpAddr::V6(*address)]),
            Host::Domain(name) => name,
        };
        let unknown = |problem: String| WebError::Unknown {
            host: name.clone(),
            problem,
        };
        let connect = self.settings.limits.connect;
        let resolved = timeout(connect, self.settings.network.resolve(name)).await;
        let answers = resolved
            .map_err(|_| unknown("the name service does not answer".to_owned()))?
            .map_err(|error| unknown(error.to_string()))?;
        if answers.is_empty() {
            return Err(unknown("it has no address".to_owned()));
        }
        // One answer that leads inside condemns the name: somebody tries something.
        let checked = answers.into_iter().map(|address| {
            target
                .check_answer(address)
                .map_err(|why| WebError::Inward {
                    host: name.clone(),
                    address,
                    why,
                })
        });
        checked.collect()
    }

    /// A connection to one of these addresses, the first that can be had.
    async fn connect(
        &self,
        target: &Target,
        addresses: &[IpAddr],
    ) -> Result<Box<dyn Duplex>, WebError> {
        let limit = self.settings.limits.connect;
        let unreachable = |problem: String| WebError::Unreachable {
            place: target.to_string(),
            problem,
        };
        let mut problem = "it has no address".to_owned();
        for address in addresses.iter().take(TRIED) {
            let address = SocketAddr::new(*address, target.port());
            let opened = timeout(limit, self.settings.network.connect(address)).await;
            let stream = match opened {
                Ok(Ok(stream)) => stream,
                Ok(Err(error)) => {
                    problem = error.to_string();
                    continue;
                }
                Err(_) => {
                    problem = format!("nobody answered within {} s", limit.as_secs_f64());
                    continue;
                }
            };
            if !target.is_https() {
                return Ok(Box::new(stream));
            }
            let proven = timeout(limit, self.proven(target, stream)).await;
            return proven
                .map_err(|_| unreachable("the TLS handshake took too long".to_owned()))?;
        }
        Err(unreachable(problem))
    }

    /// The same connection, encrypted, to somebody who can prove to be the host.
    async fn proven(
        &self,
        target: &Target,
        stream: tokio::net::TcpStream,
    ) -> Result<Box<dyn Duplex>, WebError> {
        let unproven = |problem: String| WebError::Unproven {
            place: target.to_string(),
            problem,
        };
        let name = match target.host() {
            Host::Domain(name) => {
                ServerName::try_from(name.clone()).map_err(|error| unproven(error.to_string()))?
            }
            Host::Ipv4(address) => ServerName::from(IpAddr::V4(*address)),
            Host::Ipv6(address) => ServerName::from(IpAddr::V6(*address)),
        };
        let config = self.tls.config().await.map_err(unproven)?;
        let stream = TlsConnector::from(config).connect(name, stream).await;
        let stream = stream.map_err(|error| unproven(error.to_string()))?;
        Ok(Box::new(stream))
    }
}
