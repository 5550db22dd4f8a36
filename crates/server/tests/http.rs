//! The HTTP interface, its documents, and tool scopes.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::path::Path;

use serde_json::{Value, json};
use support::{Place, writes};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use toolgate_server::auth::Role;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_held_over_http_alone() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let made = served
        .ask("POST /api/conversations", json!({"conversation_id": "c1"}))
        .await;
    assert_eq!(made.status, 201);
    let again = served
        .ask("POST /api/conversations", json!({"conversation_id": "c1"}))
        .await;
    assert_eq!(again.json()["kind"], "already_exists");
    let said = served
        .ask(
            "POST /api/conversations/c1/messages",
            json!({"message": "Write b."}),
        )
        .await;
    assert_eq!((said.status, said.json()["turn"].as_u64()), (202, Some(1)));
    let waiting = loop {
        let waiting = served.ask("GET /api/approvals", json!(null)).await.json();
        if waiting["total"] == 1 {
            break waiting["approvals"][0].clone();
        }
    };
    let busy = served
        .ask(
            "POST /api/conversations/c1/messages",
            json!({"message": "x"}),
        )
        .await;
    assert_eq!(
        (
            busy.status,
            busy.json()["kind"].as_str().unwrap().to_owned()
        ),
        (409, "busy".into())
    );
    let line = format!(
        "POST /api/approvals/{}",
        waiting["approval_id"].as_str().unwrap()
    );
    let answered = served.ask(&line, json!({"approve": ["call_1"]})).await;
    assert_eq!(answered.status, 200, "{answered:?}");
    // Events as a stream: those of the journal first, then those that happen.
    let mut stream = tokio::net::TcpStream::connect(served.address)
        .await
        .unwrap();
    let request = format!(
        "GET /api/conversations/c1/events?after=0 HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\r\n",
        served.host(),
        served.token
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    while !text.contains("turn_finished") {
        let mut piece = [0; 4096];
        let read = tokio::time::timeout(support::LONG, stream.read(&mut piece)).await;
        text += &String::from_utf8_lossy(&piece[..read.unwrap().unwrap()]);
    }
    assert!(
        text.contains("text/event-stream") && text.contains("id: 1\n"),
        "{text}"
    );
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    let calls = served
        .ask("GET /api/conversations/c1/calls", json!(null))
        .await
        .json();
    assert_eq!(
        (&calls["calls"][0]["state"], &calls["calls"][0]["tool_name"]),
        (&json!("finished"), &json!("write_file"))
    );
    let list = served
        .ask("GET /api/conversations?query=WRITE", json!(null))
        .await
        .json();
    assert_eq!(list["conversations"][0]["first_words"], "Write b.");
    let none = served
        .ask("GET /api/conversations?query=other", json!(null))
        .await
        .json();
    assert_eq!(none["conversations"], json!([]));
    let entries = served
        .ask(
            "GET /api/conversations/c1/entries?after=1&bodies=true&limit=3",
            json!(null),
        )
        .await
        .json();
    let seqs: Vec<_> = entries["entries"].as_array().unwrap().iter().collect();
    assert_eq!((seqs.len(), &entries["more"]), (3, &json!(true)));
    assert_eq!(seqs[0]["seq"], 2);
    assert_eq!(seqs[0]["body"]["text"], "Write b.");
    assert!(seqs[0]["at_ms"].as_u64() <= entries["now_ms"].as_u64());
    let light = served
        .ask("GET /api/conversations/c1/entries", json!(null))
        .await
        .json();
    assert_eq!(light["more"], false);
    assert!(light["entries"][0].get("body").is_none(), "{light}");
    let page = served
        .ask("GET /api/conversations/c1/export?format=md", json!(null))
        .await;
    assert!(page.body.contains("Write b.") && page.head.contains("attachment"));
    let kept = served
        .ask("DELETE /api/conversations/c1", json!(null))
        .await;
    assert_eq!(kept.json()["kind"], "journaled");
    let plan = served
        .ask("POST /api/conversations/c1/undo", json!({}))
        .await
        .json();
    assert_eq!(plan["state"], "planned", "{plan}");
    let done = served
        .ask("POST /api/conversations/c1/undo", json!({"apply": true}))
        .await
        .json();
    assert_eq!(done["state"], "done", "{done}");
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_no_journal_can_be_deleted() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let new = json!({"conversation_id": "c1", "without_workspace": true});
    assert_eq!(served.ask("POST /api/conversations", new).await.status, 201);
    assert_eq!(
        served
            .ask("DELETE /api/conversations/c1", json!(null))
            .await
            .status,
        204
    );
    assert_eq!(
        served
            .ask("GET /api/conversations/c1", json!(null))
            .await
            .status,
        404
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_by_hand_rules_settings_and_counts_are_served() {
    let place = Place::new(&writes("b.txt", "x"));
    std::fs::write(place.workspace.path().join("a.txt"), "hello").unwrap();
    let served = place.serve().await;
    let call = json!({"tool": "read_file", "args": {"path": "a.txt"}});
    let result = served.ask("POST /api/calls", call.clone()).await.json();
    assert!(
        result["result"]["content"]
            .as_str()
            .unwrap()
            .contains("hello"),
        "{result}"
    );
    let explained = served.ask("POST /api/policy/explain", call).await.json();
    assert_eq!(explained["decision"], "allow");
    let tools = served.ask("GET /api/tools", json!(null)).await;
    assert!(tools.body.contains("read_file"));
    assert_eq!(
        served
            .ask("GET /api/policy/check", json!(null))
            .await
            .json()["findings"],
        json!([])
    );
    assert_eq!(
        served.ask("GET /api/grants", json!(null)).await.json()["grants"],
        json!([])
    );
    assert_eq!(
        served
            .ask("DELETE /api/grants/none", json!(null))
            .await
            .status,
        404
    );
    let settings = served.ask("GET /api/settings", json!(null)).await;
    assert!(settings.body.contains("server.port") && settings.status == 200);
    let metrics = served.ask("GET /metrics", json!(null)).await;
    assert!(
        metrics
            .body
            .contains("toolgate_calls_total{tool=\"read_file\",kind=\"ok\"} 1"),
        "{}",
        metrics.body
    );
    assert!(metrics.body.contains("toolgate_server_connections 1"));
    assert_eq!(served.request("GET /metrics", &[], "").await.status, 401);
    for path in ["/health", "/ready"] {
        assert_eq!(
            served.request(&format!("GET {path}"), &[], "").await.status,
            200
        );
    }
    assert_eq!(served.request("PUT /health", &[], "").await.status, 405);
    served.stop().await;
}

/// Begins a conversation with a scope and returns what becomes of a `write_file` and the tools.
async fn results(place: &Place, token: Option<&str>, scope: Option<Value>) -> Vec<Value> {
    let served = place.serve().await;
    let token = token.unwrap_or(&served.token).to_owned();
    let mut new = json!({"conversation_id": "c1", "trust": "autonomous"});
    if let Some(scope) = scope {
        new["scope"] = scope;
    }
    let made = served.ask_as(&token, "POST /api/conversations", new).await;
    assert_eq!(made.status, 201, "{made:?}");
    let mut client = served.client_as(&token).await;
    client.say("c1", "Write.").await;
    client.until("chat:stream-end").await;
    let results = client.of("chat:tool-result");
    served.stop().await;
    results
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scopes_of_requests_and_tokens_only_take_away() {
    let permit = |tool: &str, paths: Value| json!({"permissions": {tool: {"allowed": true, "paths": paths}}});
    for (token, request, expected) in [
        (None, None, None),
        (None, Some(json!({})), Some("policy_denied")),
        (
            None,
            Some(permit("read_file", json!([]))),
            Some("policy_denied"),
        ),
        (None, Some(permit("write_file", json!([]))), None),
        (None, Some(permit("file_write", json!(["b.txt"]))), None),
        (
            None,
            Some(permit("write_file", json!(["src"]))),
            Some("policy_denied"),
        ),
        (
            Some(permit("read_file", json!([]))),
            Some(permit("write_file", json!([]))),
            Some("policy_denied"),
        ),
        (Some(permit("write_file", json!([]))), None, None),
        (Some(json!({})), None, Some("policy_denied")),
    ] {
        let place = Place::new(&writes("b.txt", "x"));
        let of_token = token.clone().map(|scope| {
            let scope = serde_json::from_value(scope).unwrap();
            place.scoped_token("ci", Role::Owner, Some(scope))
        });
        let results = results(&place, of_token.as_deref(), request.clone()).await;
        assert_eq!(results.len(), 1);
        let kind = results[0]["kind"].as_str();
        assert_eq!(kind, expected, "{token:?} {request:?}: {results:?}");
        assert_eq!(place.read("b.txt").is_some(), expected.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_scope_outlives_the_server() {
    let script = writes("b.txt", "x");
    let place = Place::new(&script);
    let served = place.serve().await;
    let new = json!({"conversation_id": "c1", "trust": "autonomous", "scope": {}});
    assert_eq!(served.ask("POST /api/conversations", new).await.status, 201);
    served.stop().await;
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:stream-end").await;
    assert_eq!(client.of("chat:tool-result")[0]["kind"], "policy_denied");
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_workspace_tools_are_off_and_other_directories_are_refused() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    let new = json!({"conversation_id": "c1", "without_workspace": true});
    assert_eq!(served.ask("POST /api/conversations", new).await.status, 201);
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:stream-end").await;
    let results = client.of("chat:tool-result");
    assert!(
        results.iter().all(|one| one["kind"] == "disabled"),
        "{results:?}"
    );
    assert_eq!(place.read("b.txt"), None);
    let other = tempfile::tempdir().unwrap();
    for directory in ["/etc", other.path().to_str().unwrap(), "/nowhere", "../.."] {
        let refused = served
            .ask("POST /api/conversations", json!({"workspace": directory}))
            .await;
        assert_eq!(
            (refused.status, &refused.json()["kind"]),
            (403, &json!("permission"))
        );
    }
    for wrong in [
        json!({"trust": "blind"}),
        json!({"preset": "none"}),
        json!({"more": 1}),
        json!({"scope": {"permissions": {"read_file": {"timeout": "soon"}}}}),
    ] {
        let refused = served.ask("POST /api/conversations", wrong.clone()).await;
        assert_eq!(refused.status, 400, "{wrong}: {refused:?}");
    }
    served.stop().await;
}

#[test]
fn the_committed_documents_are_those_of_the_program() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server");
    for (name, document) in [
        ("openapi.json", toolgate_server::openapi()),
        ("frames.schema.json", toolgate_server::frames::schema()),
    ] {
        let path = docs.join(name);
        let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
        if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
            std::fs::create_dir_all(&docs).unwrap();
            std::fs::write(&path, &text).unwrap();
        }
        let committed = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            committed == text,
            "{name} is out of date: run this test with UPDATE_DOCUMENTS=1"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_served_without_a_token_and_may_load_nothing_but_itself() {
    let place = Place::new(&writes("b.txt", "x"));
    let served = place.serve().await;
    for (path, kind) in [
        ("/", "text/html"),
        ("/page/main.js", "text/javascript"),
        ("/page/base.css", "text/css"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let answer = served.request(&format!("GET {path}"), &[], "").await;
        assert_eq!(answer.status, 200, "{path}");
        let head = answer.head.to_lowercase();
        assert!(
            head.contains(&format!("content-type: {kind}")),
            "{path}: {head}"
        );
        assert!(head.contains("x-content-type-options: nosniff"), "{path}");
        let policy = head
            .lines()
            .find(|line| line.starts_with("content-security-policy:"));
        let policy = policy.unwrap_or_default();
        assert!(policy.contains("default-src 'none'; script-src 'self';"));
        assert!(policy.contains("require-trusted-types-for 'script'"));
        assert!(
            !policy.contains("unsafe") && !policy.contains('*'),
            "{policy}"
        );
        assert!(!head.contains("set-cookie"), "{path}");
    }
    for path in [
        "/page/",
        "/page/tsconfig.json",
        "/page/..%2fCargo.toml",
        "/page/types/frames.d.ts",
    ] {
        let answer = served.request(&format!("GET {path}"), &[], "").await;
        assert_eq!(answer.status, 404, "{path}");
    }
    served.stop().await;
}
