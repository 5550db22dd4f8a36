//! Taking changes of files back.
//!
//! ```text
//! entries ──▶ Changes: which call changed which file from what to what
//!                └─ plan(scope, what is there now) ──▶ Restore, Restore, …   │ Refusal
//! ```
//!
//! In: what is on record of a conversation, and what each file holds now. Out: for every
//! file that has to change what it is to hold again, named by hash; who carries that out
//! gets the content from
//! [`ReadJournal::image`](toolgate_gate::journal::ReadJournal::image). Nothing here touches a file.
//!
//! What can go wrong: a file holds something that Toolgate did not write, the record of a
//! change was pruned, or there is nothing of that name. Then nothing is planned at all.

mod changes;
mod plan;
#[cfg(test)]
mod tests;

pub use changes::{Change, Changes, Made, TOOL};
pub use plan::{Differs, Found, Refusal, Restore, Scope};
