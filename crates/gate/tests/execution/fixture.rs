//! Gates and runtimes that several topics share.

use toolgate_model::{Event, EventKind, Stream};
use toolgate_testkit::{Bench, Rig, Scripted};

#[derive(serde::Deserialize, schemars::JsonSchema)]
pub(crate) struct Nothing {}

pub(crate) fn with(tool: Scripted) -> Bench {
    Rig::new().tool(tool).build()
}

/// A runtime whose time is real and whose threads are two.
pub(crate) fn real<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// The text of one stream, in the order of the events.
pub(crate) fn text(events: &[Event], wanted: Stream) -> String {
    let pieces = events.iter().filter_map(|event| match event {
        Event {
            kind: EventKind::OutputChunk { stream, text, .. },
            ..
        } if *stream == wanted => Some(text.as_str()),
        _ => None,
    });
    pieces.collect()
}
