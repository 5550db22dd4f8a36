//! Events and output on their way to a listener.

use std::time::Duration;

use serde_json::json;
use toolgate_gate::BatchContext;
use toolgate_gate::execute::EventSink;
use toolgate_model::{ErrorKind, Event, EventKind, Status, Stream};
use toolgate_testkit::{Act, Collected, Scripted, call, kinds, paused};

use crate::fixture::{text, with};

fn numbered(count: usize) -> (Vec<(Stream, Vec<u8>)>, String) {
    let lines: Vec<String> = (0..count)
        .map(|n| format!("line {n} {}\n", "ab ".repeat(n % 700)))
        .collect();
    let whole = lines.concat();
    (
        lines
            .into_iter()
            .map(|line| (Stream::Stdout, line.into_bytes()))
            .collect(),
        whole,
    )
}

#[test]
fn started_comes_before_chunks_before_finished_and_a_slow_reader_loses_nothing() {
    paused(async {
        let (pieces, whole) = numbered(200);
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let (events, mut arriving) = EventSink::channel(1);
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let line = async {
            let results = bench
                .run_through(vec![call("1", "chatty", json!({}))], &passage)
                .await;
            drop(passage);
            results
        };
        let reader = async {
            let mut all = Vec::new();
            while let Some(event) = arriving.recv().await {
                tokio::time::sleep(Duration::from_millis(20)).await;
                all.push(event);
            }
            all
        };
        let (results, events) = futures::join!(line, reader);
        assert_eq!(results[0].status(), Status::Ok);
        let mut order = kinds(&events);
        order.dedup();
        assert_eq!(
            order,
            [
                "call_received 1",
                "call_planned 1",
                "call_started 1",
                "output_chunk 1",
                "call_finished 1"
            ]
        );
        assert_eq!(text(&events, Stream::Stdout), whole);
    });
}

#[test]
fn a_piece_that_was_on_its_way_when_the_tool_was_stopped_still_arrives() {
    paused(async {
        let piece = |c: char| {
            (
                Stream::Stderr,
                format!("{}\n", c.to_string().repeat(5))
                    .repeat(2_000)
                    .into_bytes(),
            )
        };
        let tool = Scripted::new("chatty").does(Act::ShowAndSleep(vec![
            piece('a'),
            piece('b'),
            piece('c'),
        ]));
        let bench = with(tool.call_timeout(Duration::from_secs(5)));
        let (events, mut arriving) = EventSink::channel(1);
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let line = async {
            bench
                .run_through(vec![call("1", "chatty", json!({}))], &passage)
                .await;
            drop(passage);
        };
        let reader = async {
            let mut all = Vec::new();
            for _ in 0..3 {
                all.push(arriving.recv().await.unwrap());
            }
            tokio::time::sleep(Duration::from_secs(20)).await;
            while let Some(event) = arriving.recv().await {
                all.push(event);
            }
            all
        };
        let ((), events) = futures::join!(line, reader);
        let said = text(&events, Stream::Stderr);
        assert_eq!(
            (
                said.matches("aaaaa\n").count(),
                said.matches("bbbbb\n").count()
            ),
            (2_000, 2_000)
        );
        assert_eq!(said.matches('c').count(), 0, "the third was never begun");
    });
}

#[test]
fn a_listener_that_hung_up_does_not_block_the_pipeline() {
    paused(async {
        let (pieces, _) = numbered(50);
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let (events, arriving) = EventSink::channel(1);
        drop(arriving);
        assert!(!events.is_open() && !EventSink::none().is_open());
        let passage = BatchContext {
            events,
            ..BatchContext::default()
        };
        let results = bench
            .run_through(vec![call("1", "chatty", json!({}))], &passage)
            .await;
        assert_eq!(results[0].status(), Status::Ok);
    });
}

/// A passage whose listener has taken what came before the start of a call, and no more.
fn unread(room: usize) -> (BatchContext, tokio::sync::mpsc::Receiver<Event>) {
    let (events, arriving) = EventSink::channel(room);
    let passage = BatchContext {
        events,
        ..BatchContext::default()
    };
    (passage, arriving)
}

#[test]
fn the_journal_is_complete_without_a_reader_and_cancelling_ends_the_wait() {
    paused(async {
        let speaks = |name: &str| {
            let piece = (Stream::Stdout, b"some words".to_vec());
            Scripted::new(name).does(Act::Show(vec![piece; 3]))
        };
        let bench = with(speaks("act").call_timeout(Duration::from_secs(5)));
        let (passage, mut arriving) = unread(5);
        let calls = vec![call("1", "act", json!({})), call("2", "act", json!({}))];
        let line = bench.run_through(calls, &passage);
        let mut line = std::pin::pin!(line);
        let waited = tokio::time::timeout(Duration::from_secs(60), &mut line).await;
        assert!(waited.is_err(), "it waits for its listener");
        let done = ["received", "planned", "started", "finished"];
        assert_eq!(bench.journal.of("1"), done);
        passage.cancel.cancel();
        let began = tokio::time::Instant::now();
        let results = line.await;
        assert!(began.elapsed() < Duration::from_secs(1));
        assert_eq!(results[0].kind(), Some(ErrorKind::Timeout));
        assert_eq!(results[1].kind(), Some(ErrorKind::Cancelled));
        let mut seen = Vec::new();
        while let Ok(event) = arriving.try_recv() {
            seen.push(event);
        }
        assert_eq!(kinds(&seen).last().unwrap(), "call_started 1");
    });
}

#[test]
fn a_slow_listener_receives_the_end_of_every_cancelled_call() {
    paused(async {
        let bench = with(Scripted::new("act").does(Act::Sleep));
        let (passage, mut arriving) = unread(1);
        let calls: Vec<_> = ["1", "2", "3"].map(|id| call(id, "act", json!({}))).into();
        let cancel = passage.cancel.clone();
        let line = async {
            let results = bench.run_through(calls, &passage).await;
            drop(passage);
            results
        };
        let reader = async {
            let mut all = Vec::new();
            while let Some(event) = arriving.recv().await {
                if matches!(
                    event,
                    Event {
                        kind: EventKind::CallStarted { .. },
                        ..
                    }
                ) {
                    cancel.cancel();
                }
                tokio::time::sleep(Duration::from_millis(150)).await;
                all.push(event);
            }
            all
        };
        let (results, events) = futures::join!(line, reader);
        assert_eq!(results.len(), 3);
        let ends = kinds(&events).split_off(7);
        assert_eq!(
            ends,
            ["call_finished 1", "call_finished 2", "call_finished 3"]
        );
    });
}

#[test]
fn both_outputs_keep_their_own_text() {
    paused(async {
        let pieces = vec![
            (Stream::Stdout, b"out\x1b[3".to_vec()),
            (Stream::Stderr, b"err \xe2\x82".to_vec()),
            (Stream::Stdout, b"1mred".to_vec()),
            (Stream::Stderr, b"\xac".to_vec()),
        ];
        let bench = with(Scripted::new("chatty").does(Act::Show(pieces)));
        let collected = Collected::listen(8);
        let passage = BatchContext {
            events: collected.sink(),
            ..BatchContext::default()
        };
        bench
            .run_through(vec![call("1", "chatty", json!({}))], &passage)
            .await;
        drop(passage);
        let events = collected.all().await;
        assert_eq!(
            text(&events, Stream::Stdout),
            "outred",
            "a sequence cut across chunks"
        );
        assert_eq!(
            text(&events, Stream::Stderr),
            "err €",
            "a character cut across chunks"
        );
    });
}
