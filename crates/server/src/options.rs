//! How a server listens and what it accepts.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use toolgate_app::Metrics;

/// Where the server listens and what it accepts.
#[derive(Clone)]
pub struct ServerOptions {
    /// The address: a literal, or `localhost`.
    pub host: String,
    /// The port; 0 is any free one.
    pub port: u16,
    /// Names, besides its own address, under which it may be called, each with its port unless
    /// that is the scheme's own.
    pub allowed_hosts: Vec<String>,
    /// Pages, besides its own, that may connect.
    pub allowed_origins: Vec<String>,
    /// Directories, besides the app's workspace, that conversations may be about.
    pub workspaces: Vec<PathBuf>,
    /// The certificate; without one, plain HTTP.
    pub tls: Option<TlsFiles>,
    /// Whether plain HTTP may be spoken beyond this machine.
    pub plain_remote: bool,
    /// How long a question waits while no approver watches its conversation; without end if
    /// absent.
    pub unwatched: Option<Duration>,
    /// What is accepted.
    pub limits: Limits,
    /// The counts of calls that the app was opened with.
    pub metrics: Metrics,
}

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerOptions")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 7433,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            workspaces: Vec::new(),
            tls: None,
            plain_remote: false,
            unwatched: Some(Duration::from_secs(60)),
            limits: Limits::default(),
            metrics: Metrics::new(),
        }
    }
}

/// A certificate and its key, PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// The chain of certificates.
    pub certificate: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// What a server accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most connections at once.
    pub connections: usize,
    /// The most conversations of one token that are open at once.
    pub conversations: usize,
    /// The most requests and frames of one token per second, over a while; twice as many at once.
    pub requests_per_second: u32,
    /// The most bytes of a request's body and of a frame.
    pub body_bytes: usize,
    /// The most conversations that one connection follows.
    pub subscriptions: usize,
    /// How long the head of a request may take, and how long a connection may say nothing.
    pub head: Duration,
    /// How long a body may take.
    pub body: Duration,
    /// How often sockets are pinged; one that is silent for 2.5 times as long is closed.
    pub heartbeat: Duration,
    /// How long a client may take to read what was sent to it.
    pub write: Duration,
    /// How long a conversation without a turn and a watcher stays open.
    pub idle: Duration,
    /// How long connections have to end after the conversations did.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 2_048,
            conversations: 2_048,
            requests_per_second: 200,
            body_bytes: 1024 * 1024,
            subscriptions: 256,
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
            write: Duration::from_secs(30),
            idle: Duration::from_secs(600),
            shutdown: Duration::from_secs(5),
        }
    }
}

impl ServerOptions {
    /// The address to listen on, or why it is refused.
    pub(crate) fn address(&self) -> Result<IpAddr, String> {
        let host = self.host.trim_start_matches('[').trim_end_matches(']');
        let address: IpAddr = match host {
            "localhost" => [127, 0, 0, 1].into(),
            literal => literal.parse().map_err(|_| {
                format!("{literal:?} is no address; name an IP address or localhost")
            })?,
        };
        if !address.is_loopback() && self.tls.is_none() && !self.plain_remote {
            return Err(format!(
                "{address} is reachable from other machines, and without TLS they read tokens on the way; set tls_certificate and tls_key in [server], or allow_plain_remote = true on a network that you trust"
            ));
        }
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_tls_or_an_explicit_yes() {
        let tls = TlsFiles {
            certificate: "c".into(),
            key: "k".into(),
        };
        for (host, tls, plain_remote, is_taken) in [
            ("127.0.0.1", None, false, true),
            ("::1", None, false, true),
            ("[::1]", None, false, true),
            ("localhost", None, false, true),
            ("0.0.0.0", None, false, false),
            ("::", None, false, false),
            ("192.168.1.2", None, false, false),
            ("0.0.0.0", Some(tls), false, true),
            ("0.0.0.0", None, true, true),
            ("example.com", None, true, false),
            ("", None, true, false),
        ] {
            let options = ServerOptions {
                host: host.into(),
                tls,
                plain_remote,
                ..ServerOptions::default()
            };
            assert_eq!(options.address().is_ok(), is_taken, "{host}");
        }
    }
}
