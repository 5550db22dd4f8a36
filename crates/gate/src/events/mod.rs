//! Events that a client can follow.
//!
//! ```text
//!  Journal::append ─ Ok(first) ─▶ Teller ─▶ Event { seq } ─┬─▶ EventSink    one listener; the pipeline waits for it
//!  deltas, chunks ───────────────────────▶ Event { offset } ┤
//!                                                           └─▶ Hub ─▶ Subscription…   any number; never waited for
//!  ReadJournal ─▶ Teller ─▶ the same events ─▶ Subscription, Gate::replay
//! ```
//!
//! An event of an entry is made from the entry alone and from the plan of its call, and is sent
//! when the entry is durable. So a replay gives the events that were sent live, in the same order.
//! An entry that the journal refuses is still reported to the listener, once and without `seq`.

mod follow;
mod hub;
mod sink;
mod teller;

pub use follow::{Followed, Subscription, replay};
pub use sink::EventSink;

pub(crate) use hub::Hub;
pub(crate) use teller::Teller;
