//! Clients that mean harm get a clear refusal, and the others go on.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use support::{Answer, LONG, Place, Served, writes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use toolgate_server::ServerOptions;
use toolgate_server::auth::Role;

const CASES: &str = include_str!("data/server.jsonl");

fn is_problem(answer: &Answer, status: u16, kind: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let problem = answer.json();
    assert_eq!(
        (&problem["status"], &problem["kind"]),
        (&json!(status), &json!(kind))
    );
    assert!(
        answer.head.contains("application/problem+json"),
        "{answer:?}"
    );
}

/// Runs the cases of the shared list that are about sockets and configuration; those about
/// approvals and MCP have tests of their own names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_case_of_a_handshake_and_a_frame_is_refused() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let mut run = Vec::new();
    for line in CASES.lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        let (id, args) = (case["id"].as_str().unwrap(), &case["args"]);
        if let Some(handshake) = args["handshake"].as_object() {
            let port = served.address.port().to_string();
            let bearer = format!("Bearer {}", served.token);
            let with_port = |value: &Value| value.as_str().unwrap().replace("$PORT", &port);
            let headers = handshake
                .iter()
                .map(|(name, value)| (name.clone(), with_port(value)));
            let mut headers: Vec<(String, String)> = headers.collect();
            if id != "W-015-no-token" {
                headers.push(("Authorization".into(), bearer));
            }
            let headers: Vec<(&str, &str)> = headers
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()))
                .collect();
            let refused = served.shake("/ws", &headers).await.err();
            let expected = if id == "W-015-no-token" { 401 } else { 403 };
            assert_eq!(refused, Some(expected), "{id}");
        } else if let Some(depth) = args["message_depth"].as_u64() {
            let mut client = served.client().await;
            let depth = usize::try_from(depth).unwrap();
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            client.socket.send(Message::text(text)).await.unwrap();
            assert_eq!(client.until("chat:error").await["kind"], "bad_args", "{id}");
        } else if let Some(listen) = args["config"]["listen"].as_str() {
            let options = ServerOptions {
                host: listen.to_owned(),
                port: 0,
                ..ServerOptions::default()
            };
            let home = tempfile::tempdir().unwrap();
            let home = toolgate_app::Home::at(home.path());
            let app = toolgate_app::AppOptions::new(home, place.workspace.path());
            let app = toolgate_app::App::open(app).unwrap();
            let error = toolgate_server::Server::bind(app, options)
                .await
                .unwrap_err();
            assert!(
                error.to_string().contains("tls_certificate"),
                "{id}: {error}"
            );
        } else {
            continue;
        }
        run.push(id.to_owned());
    }
    assert_eq!(run.len(), 7, "{run:?}");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_counts_once_and_a_late_one_is_refused() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let (mut client, mut other) = (served.client().await, served.client().await);
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    client.approve(&confirm, false).await;
    let resolved = client.until("chat:approval-resolved").await;
    assert_eq!(resolved["outcome"], "denied");
    for _ in 0..2 {
        other.approve(&confirm, true).await;
        assert_eq!(other.until("chat:error").await["kind"], "approval_closed");
    }
    let line = format!(
        "POST /api/approvals/{}",
        confirm["approval_id"].as_str().unwrap()
    );
    let late = served.ask(&line, json!({"approve": "all"})).await;
    is_problem(&late, 409, "approval_closed");
    client.until("chat:stream-end").await;
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_of_another_plan_is_refused() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    let mut forged = confirm.clone();
    forged["plan_hash"] = json!("00");
    client.approve(&forged, true).await;
    assert_eq!(client.until("chat:error").await["kind"], "stale_approval");
    let unknown = json!({"approval_id": confirm["approval_id"], "approve": ["call_9"]});
    client.send("chat:tool-approve", unknown).await;
    assert_eq!(client.until("chat:error").await["kind"], "bad_args");
    assert_eq!(place.read("b.txt"), None);
    client.approve(&confirm, true).await;
    client.until("chat:stream-end").await;
    assert_eq!(place.read("b.txt").as_deref(), Some("x"));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changed_after_the_question_is_not_overwritten() {
    let script = "[[steps]]\n[[steps.calls]]\nid = \"r\"\nname = \"read_file\"\nargs = { path = \"a.txt\" }\n\n[[steps]]\n[[steps.calls]]\nid = \"e\"\nname = \"edit_file\"\nargs = { path = \"a.txt\", edits = [{ target = \"old\", replacement = \"new\" }] }\n\n[[steps]]\ntext = \"Done.\"\n";
    let place = Place::new(script);
    let file = place.workspace.path().join("a.txt");
    std::fs::write(&file, "old\n").unwrap();
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Edit.").await;
    let confirm = client.until("chat:tool-confirm").await;
    std::fs::write(&file, "old, and mine\n").unwrap();
    client.approve(&confirm, true).await;
    // The plan that was approved is void: either the new one is asked about, or the call failed.
    loop {
        let frame = client.next().await.unwrap();
        match frame["type"].as_str().unwrap() {
            "chat:tool-confirm" => {
                assert_ne!(frame["payload"]["plan_hash"], confirm["plan_hash"]);
                break;
            }
            "chat:tool-result" => {
                assert_eq!(frame["payload"]["kind"], "stale_file");
                break;
            }
            _ => {}
        }
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "old, and mine\n");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn roles_and_owners_are_kept_apart() {
    let place = Place::new(&writes("b.txt", "x"));
    let [ada, bob] = ["ada", "bob"].map(|name| place.token(name, Role::Owner));
    let approver = place.token("approver", Role::Approver);
    let reader = place.token("reader", Role::Reader);
    let served = place.serve().await;
    let mut owner = served.client_as(&ada).await;
    owner.say("c1", "Write.").await;
    let confirm = owner.until("chat:tool-confirm").await;
    let answer = json!({"approval_id": confirm["approval_id"], "approve": "all"});
    // Another owner learns nothing, not even that the conversation exists.
    let mut other = served.client_as(&bob).await;
    for (kind, payload, expected) in [
        (
            "chat:subscribe",
            json!({"conversation_id": "c1"}),
            "not_found",
        ),
        ("chat:cancel", json!({"conversation_id": "c1"}), "not_found"),
        ("chat:tool-approve", answer.clone(), "approval_closed"),
        (
            "chat:send",
            json!({"conversation_id": "c1", "message": "x"}),
            "already_exists",
        ),
    ] {
        other.send(kind, payload).await;
        assert_eq!(other.until("chat:error").await["kind"], expected, "{kind}");
    }
    let list = served
        .ask_as(&bob, "GET /api/conversations", json!(null))
        .await;
    assert_eq!(list.json()["conversations"], json!([]));
    // A reader watches and decides nothing.
    let mut watches = served.client_as(&reader).await;
    watches
        .send(
            "chat:subscribe",
            json!({"conversation_id": "c1", "inbox": true}),
        )
        .await;
    assert_eq!(
        watches.until("chat:tool-confirm").await["may_answer"],
        false
    );
    watches.send("chat:tool-approve", answer.clone()).await;
    assert_eq!(watches.until("chat:error").await["kind"], "permission");
    for line in [
        "POST /api/conversations",
        "POST /api/conversations/c1/messages",
    ] {
        let body = match line.ends_with("messages") {
            true => json!({"message": "x"}),
            false => json!({}),
        };
        is_problem(&served.ask_as(&reader, line, body).await, 403, "permission");
    }
    for (line, body) in [
        ("GET /api/settings", json!(null)),
        (
            "POST /api/calls",
            json!({"tool": "read_file", "args": {"path": "a"}}),
        ),
        ("GET /api/grants", json!(null)),
    ] {
        is_problem(&served.ask_as(&ada, line, body).await, 403, "permission");
    }
    // An approver answers what it did not begin.
    let mut decides = served.client_as(&approver).await;
    decides.send("chat:tool-approve", answer).await;
    let resolved = owner.until("chat:approval-resolved").await;
    assert_eq!(
        (&resolved["outcome"], &resolved["by"]),
        (&json!("approved"), &json!("approver"))
    );
    owner.until("chat:stream-end").await;
    // A revoked token is refused at once, on a socket that is open too.
    assert!(place.tokens().revoke("ada").unwrap());
    owner
        .send("chat:subscribe", json!({"conversation_id": "c1"}))
        .await;
    while owner.next().await.is_some() {}
    let refused = served
        .ask_as(&ada, "GET /api/conversations", json!(null))
        .await;
    is_problem(&refused, 401, "permission");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_opens_one_socket() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let ticket = served.ask("POST /api/ticket", json!(null)).await.json();
    assert_eq!(ticket["expires_in_ms"], 30_000);
    let path = format!("/ws?ticket={}", ticket["ticket"].as_str().unwrap());
    assert!(served.shake(&path, &[]).await.is_ok());
    assert_eq!(served.shake(&path, &[]).await.err(), Some(401));
    for path in [
        "/ws",
        "/ws?ticket=",
        "/ws?token=x",
        &format!("/ws?ticket={}", served.token),
    ] {
        let refused = served.shake(path, &[]).await.err().unwrap();
        assert!(matches!(refused, 400 | 401), "{path}: {refused}");
    }
    assert_eq!(
        served
            .ask_as("wrong", "POST /api/ticket", json!(null))
            .await
            .status,
        401
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_hosts_and_origins_reach_nothing() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let bearer = format!("Bearer {}", served.token);
    for (name, value) in [
        ("host", "evil.example"),
        ("host", "127.0.0.1"),
        ("origin", "null"),
        ("origin", "http://localhost:3000"),
        ("origin", "http://127.0.0.1.evil.example"),
    ] {
        for path in ["/", "/health", "/api/conversations", "/metrics", "/nothing"] {
            let headers = [("authorization", bearer.as_str()), (name, value)];
            let answer = served.request(&format!("GET {path}"), &headers, "").await;
            is_problem(&answer, 403, "permission");
        }
    }
    let line = format!("GET http://{}/health", served.host());
    assert_eq!(served.request(&line, &[], "").await.status, 400);
    served.stop().await;
}

async fn still_serves(served: &Served) {
    assert_eq!(served.request("GET /health", &[], "").await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frames_that_are_no_frames_are_refused_and_the_session_goes_on() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let mut client = served.client().await;
    for text in [
        "",
        "x",
        "null",
        "[]",
        "{}",
        "{\"type\": 1}",
        "{\"type\": \"chat:hello\"}",
        "{\"type\": \"chat:stop\", \"payload\": {}}",
        "{\"type\": \"chat:cancel\", \"payload\": {\"conversation_id\": \"c\", \"more\": 1}}",
        "{\"type\": \"chat:cancel\", \"payload\": {\"conversation_id\": \"a\", \"conversation_id\": \"b\"}}",
        "{\"type\": \"chat:cancel\", \"type\": \"chat:hello\", \"payload\": {}}",
    ] {
        client.socket.send(Message::text(text)).await.unwrap();
        assert_eq!(
            client.until("chat:error").await["kind"],
            "bad_args",
            "{text}"
        );
    }
    for id in [
        "",
        "../x",
        "a b",
        "a/b",
        ".hidden",
        &"x".repeat(129),
        "ü",
        "a\u{1b}[2J",
    ] {
        client.say(id, "x").await;
        assert_eq!(client.until("chat:error").await["kind"], "bad_args", "{id}");
    }
    client.send("chat:hello", json!({"protocol": 1})).await;
    client.until("chat:ready").await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn giant_and_binary_frames_end_the_session_alone() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place
        .serve_with(|options| options.limits.body_bytes = 4096)
        .await;
    let mut witness = served.client().await;
    for message in [Message::text("x".repeat(5000)), Message::binary(vec![1])] {
        let mut client = served.client().await;
        let _ = client.socket.send(message).await;
        while client.next().await.is_some() {}
    }
    let answer = served
        .ask(
            "POST /api/conversations",
            json!({"preset": "x".repeat(5000)}),
        )
        .await;
    is_problem(&answer, 413, "too_large");
    witness.send("chat:hello", json!({"protocol": 1})).await;
    witness.until("chat:ready").await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limit_are_turned_away_and_slow_heads_are_dropped() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place
        .serve_with(|options| {
            options.limits.connections = 8;
            options.limits.head = Duration::from_millis(300);
        })
        .await;
    let mut half_open = Vec::new();
    for _ in 0..8 {
        let mut stream = TcpStream::connect(served.address).await.unwrap();
        stream
            .write_all(b"GET /health HTTP/1.1\r\nhost: ")
            .await
            .unwrap();
        half_open.push(stream);
    }
    // All places are taken until the slow heads have run out of time.
    let mut is_turned_away = false;
    let begun = std::time::Instant::now();
    while begun.elapsed() < LONG {
        let answer = served.raw(b"").await;
        if answer.is_empty() {
            break;
        }
        is_turned_away |= answer.starts_with("HTTP/1.1 503");
        if !answer.starts_with("HTTP/1.1 503") {
            break;
        }
    }
    assert!(is_turned_away);
    for mut stream in half_open {
        let mut rest = Vec::new();
        let read = stream.read_to_end(&mut rest);
        let _ = tokio::time::timeout(LONG, read).await.unwrap();
    }
    still_serves(&served).await;
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_holds_nobody_up_and_is_dropped() {
    let text = "word ".repeat(40_000);
    let script = format!("[[steps]]\ntext = {text:?}\nchunk_bytes = 64\n");
    let place = Place::new(&script);
    let served = place
        .serve_with(|options| options.limits.write = Duration::from_millis(500))
        .await;
    let mut deaf = served.client().await;
    deaf.send("chat:subscribe", json!({"inbox": true})).await;
    deaf.say("c1", "Talk.").await;
    let mut client = served.client().await;
    for id in ["c2", "c3"] {
        client.say(id, "Talk.").await;
        client.until("chat:stream-end").await;
    }
    for id in ["c1", "c2", "c3"] {
        let line = format!("GET /api/conversations/{id}/messages");
        let ended = async {
            loop {
                let answer = served.ask(&line, json!(null)).await;
                if answer.status == 200 && answer.body.contains("word word") {
                    return;
                }
            }
        };
        tokio::time::timeout(LONG, ended).await.unwrap();
    }
    served.stop().await;
    drop(deaf.socket.next());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_asks_too_often_waits_and_others_do_not() {
    let place = Place::new(&writes("b.txt", "x"));
    let token = place.token("busy", Role::Reader);
    let served = place
        .serve_with(|options| options.limits.requests_per_second = 1)
        .await;
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(
            served
                .ask_as(&token, "GET /api/me", json!(null))
                .await
                .status,
        );
    }
    assert_eq!(statuses, [200, 200, 429]);
    assert_eq!(served.ask("GET /api/me", json!(null)).await.status, 200);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn path_tricks_and_injected_headers_reach_nothing() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    for path in [
        "/../Cargo.toml",
        "/assets/../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2fetc%2fpasswd",
        "/assets//etc/passwd",
        "/assets/%00",
        "/.git/config",
        "/assets/app.js%0d%0aset-cookie:%20x",
        "//evil.example/",
        "/assets/\\..\\..\\etc",
    ] {
        let answer = served.request(&format!("GET {path}"), &[], "").await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {answer:?}");
        assert!(!answer.head.to_lowercase().contains("set-cookie"), "{path}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    let id = "/api/conversations/x%0d%0aset-cookie:%20a";
    let answer = served.ask(&format!("GET {id}"), json!(null)).await;
    is_problem(&answer, 404, "not_found");
    assert!(!answer.head.contains("set-cookie"));
    for smuggled in [
        "GET /health HTTP/1.1\r\nhost: H\r\ncontent-length: 0\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: H\r\nhost: evil\r\nconnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nhost: H\r\nx: a\r\n bad\r\nconnection: close\r\n\r\n",
        "GET /health HTTP/1.1\r\nconnection: close\r\n\r\n",
    ] {
        let answer = served
            .raw(smuggled.replace('H', &served.host()).as_bytes())
            .await;
        assert!(
            !answer.starts_with("HTTP/1.1 200"),
            "{smuggled:?}: {answer}"
        );
    }
    served.stop().await;
}
