//! Events: what happens to calls and turns, while it happens.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! use toolgate::events::EventSink;
//! use toolgate::{Event, BatchContext};
//!
//! let (events, mut listener) = EventSink::channel(64);
//! let context = BatchContext { events, ..BatchContext::default() };
//! // Pass `&context` to `Gate::run`, and read `listener` in a task of its own: a listener that
//! // does not read makes the gate wait.
//! context.events.send(|| Event::Error { message: "disk full".into() }).await;
//! assert!(matches!(listener.recv().await, Some(Event::Error { .. })));
//! # });
//! # Ok::<(), std::io::Error>(())
//! ```

pub use toolgate_gate::execute::EventSink;
pub use toolgate_model::{Event, Stream as OutputStream};
