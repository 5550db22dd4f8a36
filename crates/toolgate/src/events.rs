//! Events: what happens to calls and turns, while it happens.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use toolgate::events::EventSink;
//! use toolgate::events::EventKind;
//! use toolgate::{BatchContext, Event};
//!
//! let (events, mut listener) = EventSink::channel(64);
//! let context = BatchContext { events, ..BatchContext::default() };
//! // Pass `&context` to `Gate::run`, and read `listener` in a task of its own: a listener that
//! // does not read makes the gate wait.
//! let kind = EventKind::Error { message: "disk full".into() };
//! context.events.send(|| Event::unnumbered("c", kind)).await;
//! assert_eq!(listener.recv().await.unwrap().conversation_id.as_str(), "c");
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

pub use toolgate_gate::events::{EventSink, Followed, Subscription};
pub use toolgate_model::{Event, EventKind, Stream as OutputStream};
