//! The server itself: from options to an orderly end.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use toolgate_app::App;

use crate::auth::{Gatekeeper, Tokens, secret};
use crate::conversations::Conversations;
use crate::counters::Counters;
use crate::guard::Allowed;
use crate::options::ServerOptions;
use crate::rate::Rates;
use crate::state::State;
use crate::{http, listen, tls};

/// Why a server does not start.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ServerError(String);

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<TlsAcceptor>,
    token: String,
    state: Arc<State>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}

impl Server {
    /// Listens. Connections wait until [`run`](Self::run).
    pub async fn bind(app: App, mut options: ServerOptions) -> Result<Self, ServerError> {
        let address = options.address().map_err(ServerError)?;
        let acceptor = options.tls.as_ref().map(tls::acceptor).transpose();
        let acceptor = acceptor.map_err(ServerError)?;
        for workspace in &mut options.workspaces {
            *workspace = workspace.canonicalize().map_err(|error| {
                ServerError(format!("workspace {}: {error}", workspace.display()))
            })?;
        }
        options.workspaces.insert(0, app.workspace().to_path_buf());
        let listener = TcpListener::bind((address, options.port)).await;
        let listener = listener.map_err(|error| {
            ServerError(format!(
                "cannot listen on {address} port {}: {error}; choose another with --port",
                options.port
            ))
        })?;
        let address = listener
            .local_addr()
            .map_err(|error| ServerError(error.to_string()))?;
        let secret =
            || secret::fresh().ok_or_else(|| ServerError("the system has no randomness".into()));
        let (token, mut epoch) = (secret()?, secret()?);
        epoch.truncate(16);
        let directory = app.home().server();
        let allowed = allowed(address, acceptor.is_some(), &options);
        let state = State {
            gatekeeper: Gatekeeper::new(&token, Tokens::at(directory.join("tokens.json"))),
            allowed,
            rates: Rates::default(),
            counters: Counters::default(),
            conversations: Conversations::at(directory.join("conversations"), &app, &options),
            app,
            options,
            epoch,
            stopping: CancellationToken::new(),
            closing: CancellationToken::new(),
        };
        Ok(Self {
            listener,
            address,
            tls: acceptor,
            token,
            state: Arc::new(state),
        })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The token of this start, which opens everything.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Where clients connect.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let address = match self.address.ip() {
            IpAddr::V4(any) if any.is_unspecified() => {
                SocketAddr::from(([127, 0, 0, 1], self.address.port()))
            }
            IpAddr::V6(any) if any.is_unspecified() => {
                SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], self.address.port()))
            }
            _ => self.address,
        };
        format!("{scheme}://{address}")
    }

    /// The page with the token of this start. Browsers send no fragment, so the token stays there.
    pub fn link(&self) -> String {
        format!("{}/#token={}", self.url(), self.token)
    }

    /// Cancelled, it stops the server.
    pub fn stopper(&self) -> CancellationToken {
        self.state.stopping.clone()
    }

    /// Serves until it is stopped. Then turns are cancelled and settled, clients are told, and
    /// connections end.
    pub async fn run(self) {
        let state = self.state;
        let router = http::router(&state);
        let ending = tokio::spawn(Arc::clone(&state).end_idle());
        let tasks = listen::accept(self.listener, self.tls, router, Arc::clone(&state)).await;
        ending.abort();
        // Clients hear how their turns end before their connections do.
        state.conversations.close().await;
        state.app.close().await;
        state.closing.cancel();
        tasks.close();
        let _ = tokio::time::timeout(state.options.limits.shutdown, tasks.wait()).await;
    }
}

impl State {
    /// Ends conversations that nobody uses, again and again.
    async fn end_idle(self: Arc<Self>) {
        let mut look = tokio::time::interval(self.options.limits.idle / 10);
        loop {
            look.tick().await;
            self.conversations.end_idle(self.options.limits.idle).await;
        }
    }
}

/// The names and pages of the server.
fn allowed(address: SocketAddr, is_tls: bool, options: &ServerOptions) -> Allowed {
    let (scheme, own_port) = if is_tls { ("https", 443) } else { ("http", 80) };
    let port = address.port();
    let mut names: Vec<String> = Vec::new();
    if address.ip().is_unspecified() || address.ip().is_loopback() {
        names.extend(["127.0.0.1", "localhost", "[::1]"].map(str::to_owned));
    }
    if !address.ip().is_unspecified() {
        let literal = match address.ip() {
            IpAddr::V4(literal) => literal.to_string(),
            IpAddr::V6(literal) => format!("[{literal}]"),
        };
        if !names.contains(&literal) {
            names.push(literal);
        }
    }
    let mut hosts: Vec<String> = names.iter().map(|name| format!("{name}:{port}")).collect();
    if port == own_port {
        hosts.extend(names);
    }
    hosts.extend(options.allowed_hosts.iter().cloned());
    let own = hosts.iter().map(|host| format!("{scheme}://{host}"));
    let origins = own.chain(options.allowed_origins.iter().cloned()).collect();
    Allowed { hosts, origins }
}
