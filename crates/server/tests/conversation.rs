//! Conversations over a real socket, as seed 004 has them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::json;
use support::{Place, seqs, writes};
use toolgate_server::auth::Role;

const READS: &str = "[[steps]]\ntext = \"I look.\"\n\n[[steps.calls]]\nid = \"call_1\"\nname = \"read_file\"\nargs = { path = \"a.txt\" }\n\n[[steps]]\ntext = \"I saw it.\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_safe_tool_runs_without_confirmation_and_its_events_arrive() {
    let place = Place::new(READS);
    std::fs::write(place.workspace.path().join("a.txt"), "hello").unwrap();
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Look.").await;
    let end = client.until("chat:stream-end").await;
    assert_eq!(
        (&end["outcome"], &end["partial"]),
        (&json!("done"), &json!(false))
    );
    assert!(client.of("chat:tool-confirm").is_empty());
    let start = &client.of("chat:tool-start")[0];
    assert_eq!(start["tool_id"], "call_1");
    assert_eq!(start["tool_name"], "read_file");
    assert_eq!(start["input"], json!({"path": "a.txt"}));
    let result = &client.of("chat:tool-result")[0];
    assert_eq!(
        (&result["status"], &result["tool_id"]),
        (&json!("success"), &json!("call_1"))
    );
    assert!(result["result"].as_str().unwrap().contains("hello"));
    assert!(result.get("kind").is_none() && result["metadata"].is_object());
    let message = &client.of("chat:message")[0];
    assert_eq!(
        (&start["message_id"], &result["message_id"]),
        (&message["message_id"], &message["message_id"])
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dangerous_tool_waits_for_its_approval_and_then_the_loop_goes_on() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.send("chat:hello", json!({"protocol": 1})).await;
    assert_eq!(client.until("chat:welcome").await["protocol"], 1);
    client.until("chat:ready").await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    assert_eq!(place.read("b.txt"), None);
    assert_eq!(
        (&confirm["tool_id"], &confirm["tool_name"]),
        (&json!("call_1"), &json!("write_file"))
    );
    assert_eq!(
        (&confirm["pending"], &confirm["may_answer"]),
        (&json!(true), &json!(true))
    );
    assert!(
        confirm["preview"]
            .as_str()
            .unwrap()
            .contains("new file b.txt"),
        "{confirm}"
    );
    assert_eq!(confirm["expires_unwatched_ms"], 60_000);
    client
        .send(
            "chat:tool-approve",
            json!({"tool_id": "call_1", "approved": true}),
        )
        .await;
    let resolved = client.until("chat:approval-resolved").await;
    assert_eq!(
        (&resolved["outcome"], &resolved["by"]),
        (&json!("approved"), &json!("operator"))
    );
    client.until("chat:stream-end").await;
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    let order = [
        "chat:stream-start",
        "chat:user-message",
        "chat:message",
        "chat:tool-confirm",
        "chat:approval-resolved",
        "chat:tool-start",
        "chat:tool-result",
        "chat:message",
        "chat:stream-end",
    ];
    let kinds: Vec<String> = client
        .kinds()
        .into_iter()
        .filter(|kind| order.contains(&kind.as_str()))
        .collect();
    assert_eq!(kinds, order);
    let mut sorted = seqs(&client.seen);
    assert!(sorted.is_sorted(), "{sorted:?}");
    sorted.dedup();
    let last = client.of("chat:message").pop().unwrap();
    let text: String = client
        .of("chat:text-delta")
        .iter()
        .filter(|delta| delta["message_id"] == last["message_id"])
        .map(|delta| delta["content"].as_str().unwrap().to_owned())
        .collect();
    // What is on record before it could be streamed comes whole, and only so.
    assert!("It is written.".starts_with(&text), "{text:?}");
    assert_eq!(last["content"], "It is written.");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_autonomous_conversation_confirms_nothing() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let new = json!({"conversation_id": "c1", "trust": "autonomous"});
    let made = served.ask("POST /api/conversations", new).await;
    assert_eq!(made.status, 201, "{made:?}");
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:stream-end").await;
    assert!(client.of("chat:tool-confirm").is_empty());
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_call_is_an_error_for_the_client_and_the_loop_goes_on() {
    let place = Place::new(READS);
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Look.").await;
    let result = client.until("chat:tool-result").await;
    assert_eq!(
        (&result["status"], &result["kind"]),
        (&json!("error"), &json!("not_found"))
    );
    let end = client.until("chat:stream-end").await;
    assert_eq!(end["outcome"], "done");
    assert_eq!(
        client.of("chat:message").pop().unwrap()["content"],
        "I saw it."
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_denial_with_its_reason_reaches_the_model() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    let answer = json!({
        "approval_id": confirm["approval_id"], "approve": "none", "reason": "Not this file.",
    });
    client.send("chat:tool-approve", answer).await;
    let result = client.until("chat:tool-result").await;
    assert_eq!(
        (&result["status"], &result["kind"]),
        (&json!("error"), &json!("user_denied"))
    );
    assert!(
        result["result"]
            .as_str()
            .unwrap()
            .contains("Not this file.")
    );
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_alone_streams_and_ends() {
    let place = Place::new("[[steps]]\ntext = \"Hällo there.\"\nchunk_bytes = 2\ndelay_ms = 20\n");
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Hello.").await;
    client.until("chat:stream-end").await;
    let deltas = client.of("chat:text-delta");
    let mut held = String::new();
    for delta in &deltas {
        assert_eq!(delta["offset"].as_u64().unwrap(), held.len() as u64);
        held += delta["content"].as_str().unwrap();
    }
    // The end may be on record before it is streamed: then it comes with the whole.
    assert!(
        !held.is_empty() && "Hällo there.".starts_with(&held),
        "{held:?}"
    );
    let whole = client.of("chat:message").pop().unwrap();
    assert_eq!(whole["content"], "Hällo there.");
    assert!(!client.kinds().iter().any(|kind| kind.contains("tool")));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_turn_ends_partially_and_the_conversation_goes_on() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:tool-confirm").await;
    client
        .send("chat:cancel", json!({"conversation_id": "c1"}))
        .await;
    let end = client.until("chat:stream-end").await;
    assert_eq!(
        (&end["outcome"], &end["partial"]),
        (&json!("cancelled"), &json!(true))
    );
    assert_eq!(client.of("chat:tool-result").len(), 1);
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_loop_at_its_limit_ends_with_a_stream_end() {
    let step = "[[steps]]\n[[steps.calls]]\nid = \"call_N\"\nname = \"list_directory\"\nargs = { path = \".\", max_depth = N }\n\n";
    let script: String = (1..=3)
        .map(|at: u32| step.replace('N', &at.to_string()))
        .collect();
    let script = script + "[[steps]]\ntext = \"Enough.\"\n";
    let place = Place::configured(&script, "[tools]\nmax_tool_iterations_per_user_turn = 2\n");
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Go on.").await;
    let end = client.until("chat:stream-end").await;
    // The model gets one more answer, without tools.
    assert_eq!(end["outcome"], "done");
    let kinds = client.of("chat:tool-result");
    let kinds: Vec<_> = kinds.iter().map(|result| result["kind"].clone()).collect();
    assert_eq!(kinds, [json!(null), json!(null), json!("max_iterations")]);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_request_begins_one_turn_also_after_a_restart() {
    let place = Place::new("[[steps]]\ntext = \"Once.\"\n\n[[steps]]\ntext = \"Twice.\"\n");
    let said = json!({"conversation_id": "c1", "message": "Hello.", "request_id": "r1"});
    let served = place.serve().await;
    let mut client = served.client().await;
    client.send("chat:send", said.clone()).await;
    client.send("chat:send", said.clone()).await;
    let first = client.until("chat:accepted").await;
    assert_eq!(client.until("chat:accepted").await, first);
    served.stop().await;
    let served = place.serve().await;
    let mut client = served.client().await;
    client.send("chat:send", said).await;
    assert_eq!(client.until("chat:accepted").await, first);
    let listed = served
        .ask("GET /api/conversations/c1", json!(null))
        .await
        .json();
    assert_eq!(listed["turn"], 1);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_begins_a_conversation_with_what_was_said_before() {
    let place = Place::new("[[steps]]\ntext = \"Yes.\"\n");
    let served = place.serve().await;
    let mut client = served.client().await;
    let history = json!([
        {"role": "user", "content": "My name is Ada."},
        {"role": "assistant", "content": "Hello Ada."},
    ]);
    let said = json!({"conversation_id": "c1", "message": "Who am I?", "history": history});
    client.send("chat:send", said).await;
    client.until("chat:stream-end").await;
    let messages = served
        .ask("GET /api/conversations/c1/messages", json!(null))
        .await;
    assert!(messages.body.contains("My name is Ada."), "{messages:?}");
    let said = json!({"conversation_id": "c2", "message": "x", "history": [{"role": "witch"}]});
    client.send("chat:send", said).await;
    assert_eq!(client.until("chat:error").await["kind"], "bad_args");
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_misses_nothing_and_sees_nothing_twice() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.send("chat:hello", json!({"protocol": 1})).await;
    let epoch = client.until("chat:welcome").await["epoch"].clone();
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    let known = confirm["seq"].as_u64().unwrap();
    // Cut without a goodbye: the turn and its question go on.
    let before = client.seen.clone();
    drop(client);
    let mut again = served.client().await;
    let resume = json!([{"conversation_id": "c1", "after_seq": known, "epoch": epoch}]);
    again
        .send("chat:hello", json!({"protocol": 1, "resume": resume}))
        .await;
    let ready = again.until("chat:ready").await;
    assert_eq!(ready["conversation_ids"], json!(["c1"]));
    assert!(again.of("chat:snapshot").is_empty());
    again.approve(&confirm, true).await;
    again.until("chat:stream-end").await;
    let mut all = seqs(&before);
    all.dedup();
    all.extend(seqs(&again.seen));
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]), "{all:?}");
    // Another tab that knows nothing sees the same.
    let mut fresh = served.client().await;
    fresh
        .send("chat:subscribe", json!({"conversation_id": "c1"}))
        .await;
    fresh.until("chat:ready").await;
    let mut replayed = seqs(&fresh.seen);
    replayed.dedup();
    assert_eq!(replayed, all);
    assert!(
        fresh
            .of("chat:tool-confirm")
            .iter()
            .all(|one| one["pending"] == false)
    );
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_of_an_earlier_run_gets_a_snapshot_and_what_it_missed() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    let known = confirm["seq"].as_u64().unwrap();
    served.stop().await;
    // The server settled the turn before it closed the connection.
    client.until("chat:stream-end").await;
    let served = place.serve().await;
    for (after, reset) in [(known, false), (9_999, true)] {
        let mut again = served.client().await;
        let resume = json!([{"conversation_id": "c1", "after_seq": after, "epoch": "older"}]);
        again
            .send("chat:hello", json!({"protocol": 1, "resume": resume}))
            .await;
        let snapshot = again.until("chat:snapshot").await;
        assert_eq!(snapshot["reset"], reset);
        assert_eq!(snapshot["approvals"], json!([]));
        let end = again.until("chat:stream-end").await;
        assert_eq!(end["outcome"], "cancelled");
        again.until("chat:ready").await;
        again.approve(&confirm, true).await;
        assert_eq!(again.until("chat:error").await["kind"], "approval_closed");
    }
    assert_eq!(place.read("b.txt"), None);
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_snapshot_in_a_turn_has_its_question_whole() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    let confirm = client.until("chat:tool-confirm").await;
    client
        .send("chat:snapshot", json!({"conversation_id": "c1"}))
        .await;
    let snapshot = client.until("chat:snapshot").await;
    assert_eq!(snapshot["state"], "running");
    assert_eq!(snapshot["turn"], 1);
    let waiting = &snapshot["approvals"][0];
    for field in [
        "approval_id",
        "tool_id",
        "plan_hash",
        "whole",
        "preview",
        "input",
    ] {
        assert_eq!(waiting[field], confirm[field], "{field}");
    }
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_inbox_shows_what_waits_in_every_tab_until_it_is_answered() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let served = place.serve().await;
    let (mut one, mut other) = (served.client().await, served.client().await);
    other.send("chat:subscribe", json!({"inbox": true})).await;
    assert_eq!(other.until("chat:inbox").await["total"], 0);
    one.say("c1", "Write.").await;
    let inbox = other.until("chat:inbox").await;
    assert_eq!(inbox["total"], 1);
    let confirm = inbox["approvals"][0].clone();
    assert_eq!(confirm["conversation_id"], "c1");
    other.approve(&confirm, true).await;
    assert_eq!(other.until("chat:inbox").await["total"], 0);
    let resolved = one.until("chat:approval-resolved").await;
    assert_eq!(resolved["approval_id"], confirm["approval_id"]);
    one.until("chat:stream-end").await;
    assert_eq!(place.read("b.txt").as_deref(), Some("new\n"));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_expires_only_while_no_approver_watches() {
    let place = Place::new(&writes("b.txt", "new\n"));
    let reader = place.token("reader", Role::Reader);
    let served = place
        .serve_with(|options| options.unwatched = Some(std::time::Duration::from_millis(300)))
        .await;
    let mut client = served.client().await;
    client.say("c1", "Write.").await;
    client.until("chat:tool-confirm").await;
    // Watched, it waits for longer than it would alone.
    let waited = tokio::time::timeout(
        std::time::Duration::from_millis(900),
        client.until("chat:approval-resolved"),
    );
    assert!(waited.await.is_err());
    let mut watches = served.client_as(&reader).await;
    watches
        .send("chat:subscribe", json!({"conversation_id": "c1"}))
        .await;
    let confirm = watches.until("chat:tool-confirm").await;
    assert_eq!(
        (&confirm["pending"], &confirm["may_answer"]),
        (&json!(true), &json!(false))
    );
    drop(client);
    let resolved = watches.until("chat:approval-resolved").await;
    assert_eq!(resolved["outcome"], "unanswered");
    let result = watches.until("chat:tool-result").await;
    assert_eq!(result["kind"], "approval_expired");
    served.stop().await;
}
