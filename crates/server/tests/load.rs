//! Many conversations at once over real sockets. `TOOLGATE_LOAD` says how many [default: 24];
//! figures go to standard output.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout
)]

mod support;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::{Place, Served};

/// So many calls has each turn; every fifth needs approval.
const CALLS: usize = 20;

fn script() -> String {
    let mut script = String::new();
    for call in 1..=CALLS {
        let (tool, args) = if call % 5 == 0 {
            (
                "write_todos",
                format!("{{ action = \"add\", task = \"{call}\" }}"),
            )
        } else {
            ("read_file", "{ path = \"a.txt\" }".to_owned())
        };
        // A line of its own per call, so that no two of them repeat each other.
        let args = match tool {
            "read_file" => {
                format!("{{ path = \"a.txt\", start_line = {call}, end_line = {call} }}")
            }
            _ => args,
        };
        writeln!(
            script,
            "[[steps]]\ntext = \"Call {call}.\"\n\n[[steps.calls]]\nid = \"call_{call}\"\nname = {tool:?}\nargs = {args}\n"
        )
        .unwrap();
    }
    script + "[[steps]]\ntext = \"Done.\"\n"
}

/// One conversation: everything that needs approval gets it. Returns how often each call
/// finished, and the longest time from an answer to the next frame.
async fn conversed(
    served: &Served,
    id: &str,
    patience: Duration,
) -> (BTreeMap<String, usize>, Duration) {
    let mut client = served.client().await;
    client.patience = patience;
    client.say(id, "Go.").await;
    let mut finished = BTreeMap::new();
    let (mut slowest, mut answered) = (Duration::ZERO, None::<Instant>);
    loop {
        let frame = client.next().await.unwrap();
        if let Some(at) = answered.take() {
            slowest = slowest.max(at.elapsed());
        }
        let payload = &frame["payload"];
        match frame["type"].as_str() {
            Some("chat:tool-confirm") => {
                client.approve(payload, true).await;
                answered = Some(Instant::now());
            }
            Some("chat:tool-result") => {
                assert_eq!(payload["status"], "success", "{id}: {payload}");
                let call = payload["tool_id"].as_str().unwrap().to_owned();
                *finished.entry(call).or_default() += 1;
            }
            Some("chat:stream-end") => {
                assert_eq!(payload["outcome"], "done", "{id}: {payload}");
                return (finished, slowest);
            }
            Some("chat:error") => panic!("{id}: {payload}"),
            _ => {}
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_conversations_at_once_have_one_result_per_call() {
    let count = std::env::var("TOOLGATE_LOAD").ok();
    let count: usize = count.map_or(24, |count| count.parse().unwrap());
    let more = "[[tools.rules]]\ntool = \"write_todos\"\naction = \"ask\"\n";
    let place = Place::configured(&script(), more);
    let lines: String = (1..=CALLS).map(|line| format!("line {line}\n")).collect();
    std::fs::write(place.workspace.path().join("a.txt"), lines).unwrap();
    let served = place
        .serve_with(|options| options.limits.requests_per_second = 1_000_000)
        .await;
    let began = Instant::now();
    let names: Vec<String> = (0..count).map(|at| format!("load-{at}")).collect();
    // They share the processors: each of them may have to wait for all others.
    let patience = Duration::from_secs(30 + u64::try_from(count).unwrap());
    let all = names.iter().map(|id| conversed(&served, id, patience));
    let all = futures::future::join_all(all).await;
    let took = began.elapsed();
    let mut delays = Vec::new();
    for (finished, slowest) in all {
        assert_eq!(finished.len(), CALLS);
        assert!(finished.values().all(|times| *times == 1), "{finished:?}");
        delays.push(slowest);
    }
    delays.sort();
    // The journal says the same as the frames did.
    for id in &names {
        let line = format!("GET /api/conversations/{id}/calls");
        let calls = served.ask(&line, json!(null)).await.json();
        let finished = calls["calls"].as_array().unwrap().iter();
        let finished: Vec<&Value> = finished
            .filter(|call| call["state"] == "finished")
            .collect();
        assert_eq!(finished.len(), CALLS, "{id}");
    }
    let figures = json!({
        "conversations": count,
        "calls_per_second": f64::from(u32::try_from(count * CALLS).unwrap()) / took.as_secs_f64(),
        "slowest_answer_ms": delays.last().unwrap().as_millis(),
    });
    println!("{figures}");
    served.stop().await;
}
