//! A server in this process, and clients that talk to it over loopback.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing
)]

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message, handshake::client::Request};
use tokio_util::sync::CancellationToken;
use toolgate_app::{App, AppOptions, Approval, Home, Metrics};
use toolgate_server::auth::{NewToken, Role, Tokens};
use toolgate_server::{ScopeText, Server, ServerOptions};

/// Nothing in a test takes longer.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// Directories of a server, which outlive its runs.
pub(crate) struct Place {
    pub(crate) home: TempDir,
    pub(crate) workspace: TempDir,
}

impl Place {
    /// A place whose model plays this script.
    pub(crate) fn new(script: &str) -> Self {
        Self::configured(script, "")
    }

    pub(crate) fn configured(script: &str, more: &str) -> Self {
        let place = Self {
            home: tempfile::tempdir().unwrap(),
            workspace: tempfile::tempdir().unwrap(),
        };
        let path = place.home.path().join("script.toml");
        std::fs::write(&path, script).unwrap();
        let config = format!("[providers.script]\nkind = \"replay\"\nscript = {path:?}\n{more}");
        std::fs::write(place.home.path().join("config.toml"), config).unwrap();
        place
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.workspace.path().join(name)).ok()
    }

    pub(crate) fn token(&self, name: &str, role: Role) -> String {
        self.scoped_token(name, role, None)
    }

    pub(crate) fn scoped_token(&self, name: &str, role: Role, scope: Option<ScopeText>) -> String {
        let new = NewToken {
            name: name.into(),
            role,
            workspaces: vec![self.workspace.path().canonicalize().unwrap()],
            scope,
            now_ms: 1,
        };
        self.tokens().create(new).unwrap().0
    }

    pub(crate) fn tokens(&self) -> Tokens {
        Tokens::at(self.home.path().join("server/tokens.json"))
    }

    pub(crate) async fn serve(&self) -> Served {
        self.serve_with(|_| ()).await
    }

    pub(crate) async fn serve_with(&self, change: impl FnOnce(&mut ServerOptions)) -> Served {
        let metrics = Metrics::new();
        let options = AppOptions::new(Home::at(self.home.path()), self.workspace.path())
            .approval(Approval::Pending)
            .metrics(metrics.clone());
        let app = App::open(options).unwrap();
        let mut options = ServerOptions {
            port: 0,
            metrics,
            ..ServerOptions::default()
        };
        options.limits.requests_per_second = 10_000;
        change(&mut options);
        let server = Server::bind(app, options).await.unwrap();
        Served {
            address: server.address(),
            token: server.token().to_owned(),
            stop: server.stopper(),
            running: tokio::spawn(server.run()),
        }
    }
}

/// A script that writes a file and says so.
pub(crate) fn writes(name: &str, content: &str) -> String {
    format!(
        "[[steps]]\ntext = \"I write it.\"\nchunk_bytes = 3\n\n[[steps.calls]]\nid = \"call_1\"\nname = \"write_file\"\nargs = {{ path = {name:?}, content = {content:?} }}\n\n[[steps]]\ntext = \"It is written.\"\nchunk_bytes = 4\n"
    )
}

/// A server that runs.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

impl Served {
    /// Stops it in order.
    pub(crate) async fn stop(self) {
        self.stop.cancel();
        tokio::time::timeout(LONG, self.running)
            .await
            .unwrap()
            .unwrap();
    }

    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// Sends these bytes and reads to the end.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(LONG, read).await.unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// A request with these headers beside `Host` and `Connection: close`.
    pub(crate) async fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut text = format!("{line} HTTP/1.1\r\nconnection: close\r\n");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            text += &format!("host: {}\r\n", self.host());
        }
        for (name, value) in headers {
            text += &format!("{name}: {value}\r\n");
        }
        text += &format!("content-length: {}\r\n\r\n{body}", body.len());
        let answer = self.raw(text.as_bytes()).await;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
        Answer {
            status: status.unwrap_or_default(),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// A request with a token and a JSON body.
    pub(crate) async fn ask_as(&self, token: &str, line: &str, body: Value) -> Answer {
        let bearer = format!("Bearer {token}");
        let headers = [
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        let body = if body.is_null() {
            String::new()
        } else {
            body.to_string()
        };
        self.request(line, &headers, &body).await
    }

    pub(crate) async fn ask(&self, line: &str, body: Value) -> Answer {
        self.ask_as(&self.token, line, body).await
    }

    /// A handshake with these headers; `authorization` by a token where there is one.
    pub(crate) async fn shake(&self, path: &str, headers: &[(&str, &str)]) -> Result<Client, u16> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let mut request = Request::builder()
            .uri(format!("ws://{}{path}", self.host()))
            .header("connection", "Upgrade")
            .header("upgrade", "websocket")
            .header("sec-websocket-version", "13")
            .header("sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA==");
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            request = request.header("host", self.host());
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(()).unwrap();
        match tokio_tungstenite::client_async(request, stream).await {
            Ok((socket, _)) => Ok(Client {
                socket,
                seen: Vec::new(),
                patience: LONG,
            }),
            Err(Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn client_as(&self, token: &str) -> Client {
        let bearer = format!("Bearer {token}");
        self.shake("/ws", &[("authorization", &bearer)])
            .await
            .unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        self.client_as(&self.token).await
    }
}

/// A client on a socket, with every frame that it saw.
pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<TcpStream>,
    pub(crate) seen: Vec<Value>,
    /// So long the next frame may take.
    pub(crate) patience: Duration,
}

impl Client {
    pub(crate) async fn send(&mut self, kind: &str, payload: Value) {
        let frame = json!({"type": kind, "payload": payload}).to_string();
        self.socket.send(Message::text(frame)).await.unwrap();
    }

    /// The next frame; nothing when the server has closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            let next = tokio::time::timeout(self.patience, self.socket.next()).await;
            match next.unwrap_or_else(|_| panic!("nothing came after {:#?}", self.kinds())) {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value = serde_json::from_str(&text).unwrap();
                    self.seen.push(frame.clone());
                    return Some(frame);
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The payload of the next frame of this type.
    pub(crate) async fn until(&mut self, kind: &str) -> Value {
        loop {
            let Some(frame) = self.next().await else {
                panic!("closed before {kind}, after {:#?}", self.seen);
            };
            if frame["type"] == kind {
                return frame["payload"].clone();
            }
        }
    }

    pub(crate) async fn say(&mut self, conversation: &str, message: &str) {
        let payload = json!({"conversation_id": conversation, "message": message});
        self.send("chat:send", payload).await;
    }

    pub(crate) async fn approve(&mut self, confirm: &Value, approved: bool) {
        let payload = json!({
            "conversation_id": confirm["conversation_id"], "tool_id": confirm["tool_id"],
            "approved": approved, "plan_hash": confirm["plan_hash"],
        });
        self.send("chat:tool-approve", payload).await;
    }

    pub(crate) fn kinds(&self) -> Vec<String> {
        let kinds = self
            .seen
            .iter()
            .map(|frame| frame["type"].as_str().unwrap());
        kinds.map(str::to_owned).collect()
    }

    /// The payloads of this type that were seen.
    pub(crate) fn of(&self, kind: &str) -> Vec<Value> {
        let seen = self.seen.iter().filter(|frame| frame["type"] == kind);
        seen.map(|frame| frame["payload"].clone()).collect()
    }
}

/// The numbers of entries, in the order in which they came.
pub(crate) fn seqs(frames: &[Value]) -> Vec<u64> {
    let numbers = frames
        .iter()
        .filter_map(|frame| frame["payload"]["seq"].as_u64());
    numbers.collect()
}

pub(crate) fn exists(path: &Path) -> bool {
    path.exists()
}
