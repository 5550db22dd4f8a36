//! How connections and conversations live and end: heartbeat, idleness, TLS, settings in session.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use support::{LONG, Place, Served, writes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use toolgate_server::TlsFiles;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_answers_is_pinged_with_what_it_has_and_stays() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place
        .serve_with(|options| options.limits.heartbeat = Duration::from_millis(100))
        .await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    // Ten heartbeats are four times as long as a silent client has.
    for _ in 0..10 {
        let ping = client.until("chat:ping").await;
        assert_eq!(ping["seqs"]["c1"], confirm["seq"]);
    }
    client.approve(&confirm, false).await;
    client.until("chat:stream-end").await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_answers_no_ping_is_closed_and_others_go_on() {
    let place = Place::new(&writes("b.txt", "x"));
    let heartbeat = Duration::from_millis(200);
    let served = place
        .serve_with(|options| options.limits.heartbeat = heartbeat)
        .await;
    let mut silent = TcpStream::connect(served.address).await.unwrap();
    let request = format!(
        "GET /ws HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: Upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
        served.host(),
        served.token
    );
    let began = Instant::now();
    silent.write_all(request.as_bytes()).await.unwrap();
    // It reads and answers no ping.
    let mut all = Vec::new();
    let read = silent.read_to_end(&mut all);
    let _ = tokio::time::timeout(LONG, read).await.unwrap();
    assert!(began.elapsed() >= heartbeat.mul_f32(2.5));
    let said = String::from_utf8_lossy(&all);
    assert!(said.starts_with("HTTP/1.1 101"), "{said}");
    assert!(said.contains("silent for too long"), "{said}");
    let results = approved(&served, "c1").await;
    assert_eq!(results[0]["status"], "success", "{results:?}");
    served.stop().await;
}

async fn open(served: &Served) -> Option<u64> {
    let metrics = served.ask("GET /metrics", json!(null)).await.body;
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix("toolgate_server_conversations "));
    line?.parse().ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_that_nobody_uses_ends_and_is_opened_again_when_needed() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place
        .serve_with(|options| options.limits.idle = Duration::from_millis(300))
        .await;
    let mut client = served.client().await;
    client.say("followed", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    let new = json!({"conversation_id": "alone"});
    assert_eq!(served.ask("POST /api/conversations", new).await.status, 201);
    assert_eq!(open(&served).await, Some(2));
    let ended = async {
        while open(&served).await != Some(1) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, ended).await.unwrap();
    // The one with a question, which somebody follows, is still there.
    client.approve(&confirm, true).await;
    client.until("chat:stream-end").await;
    assert_eq!(place.read("b.txt").as_deref(), Some("x"));
    let again = served
        .ask("GET /api/conversations/alone", json!(null))
        .await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(open(&served).await, Some(2));
    served.stop().await;
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/tls")
        .join(name)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_certificate_only_tls_is_spoken() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place
        .serve_with(|options| {
            options.tls = Some(TlsFiles {
                certificate: data("certificate.pem"),
                key: data("key.pem"),
            });
        })
        .await;
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(data("certificate.pem")).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    let ask = async |origin: &str| {
        let stream = TcpStream::connect(served.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let mut stream = connector.connect(name, stream).await.unwrap();
        let request = format!(
            "GET /api/me HTTP/1.1\r\nhost: {}\r\norigin: {origin}\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            served.host(),
            served.token
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    };
    let own = format!("https://{}", served.host());
    assert!(ask(&own).await.starts_with("HTTP/1.1 200"));
    // The page of the same address without TLS is another one.
    let plain = format!("http://{}", served.host());
    assert!(ask(&plain).await.starts_with("HTTP/1.1 403"));
    // Plain HTTP is not understood, and gets nothing.
    let answer = served
        .raw(format!("GET /health HTTP/1.1\r\nhost: {}\r\n\r\n", served.host()).as_bytes())
        .await;
    assert!(!answer.contains("HTTP/1.1"), "{answer}");
    served.stop().await;
}

/// What became of the calls of a turn that everything was approved of.
async fn approved(served: &Served, conversation: &str) -> Vec<Value> {
    let mut client = served.client().await;
    client.say(conversation, "Go.").await;
    loop {
        let frame = client.next().await.unwrap();
        match frame["type"].as_str() {
            Some("chat:tool-confirm") => client.approve(&frame["payload"], true).await,
            Some("chat:stream-end") => return client.of("chat:tool-result"),
            _ => {}
        }
    }
}

/// W-037: settings that a call changed do not hold in the session, nor after it, until the user
/// trusts them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w_037_settings_edited_in_session_open_nothing() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret.txt");
    std::fs::write(&secret, "outside").unwrap();
    let settings = format!(
        "[tools]\nmode = \"enabled\"\n\n[tools.sandbox]\nallowed_roots = [{:?}]\ncommand_sandbox = \"off\"\n\n[[tools.rules]]\ntool = \"*\"\naction = \"allow\"\n",
        outside.path()
    );
    let step = |tool: &str, args: &str| {
        format!(
            "[[steps]]\ntext = \"\"\n\n[[steps.calls]]\nid = \"call_{tool}\"\nname = {tool:?}\nargs = {args}\n\n"
        )
    };
    let script = [
        step(
            "write_file",
            &format!("{{ path = \"toolgate.toml\", content = {settings:?} }}"),
        ),
        step("read_file", &format!("{{ path = {secret:?} }}")),
        step("run_command", "{ command = \"touch made\" }"),
        "[[steps]]\ntext = \"Done.\"\n".to_owned(),
    ]
    .concat();
    let place = Place::new(&script);
    for conversation in ["c1", "c2"] {
        let served = place.serve().await;
        let results = approved(&served, conversation).await;
        assert_eq!(results.len(), 3, "{results:?}");
        let read = &results[1];
        assert_eq!(read["kind"], "outside_sandbox", "{read}");
        assert!(!read.to_string().contains("\"outside\""), "{read}");
        // Commands have no sandbox in this program: with the settings of the call they would run.
        assert_eq!(results[2]["kind"], "sandbox_unavailable", "{results:?}");
        assert_eq!(place.read("made"), None);
        served.stop().await;
    }
}

/// W-044: a file of a repository starts no process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn w_044_the_configuration_of_a_repository_starts_nothing() {
    let place = Place::new(&writes("b.txt", "x"));
    let started = place.workspace.path().join("started");
    let server = json!({"mcpServers": {"t": {"command": "touch", "args": [started]}}});
    for name in [".mcp.json", "mcp.json", ".vscode/mcp.json"] {
        let path = place.workspace.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, server.to_string()).unwrap();
    }
    let served = place.serve().await;
    assert_eq!(served.ask("GET /api/tools", json!(null)).await.status, 200);
    let results = approved(&served, "c1").await;
    assert_eq!(results[0]["status"], "success", "{results:?}");
    served.stop().await;
    assert_eq!(place.read("started"), None);
}
