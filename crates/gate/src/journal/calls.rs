//! The calls of one id: which of them an entry is about, and how far it moves that one.
//!
//! A journal keeps the calls it was told of and asks [`advance`] before it writes an entry.
//!
//! ```
//! use toolgate_gate::journal::calls::{About, advance};
//! use toolgate_gate::journal::{Entry, Record};
//! use toolgate_model::{Args, ToolCall};
//!
//! let entry = |record| Entry { conversation: "c".into(), call: "1".into(), at_ms: 0, record };
//! let call = ToolCall::new("1", "read_file", Args::new());
//! let mut calls = Vec::new();
//! assert_eq!(advance(&mut calls, &entry(Record::Received { call }), About::Meant, 1), Ok(1));
//! assert!(advance(&mut calls, &entry(Record::Started), About::Meant, 1).is_err());
//! ```

use super::Entry;
use super::states::{Standing, Step, meant};

/// A call: how far it has come, and the number of the first entry of the batch that received it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// How far it has come.
    pub standing: Standing,
    /// Where the batch that received it began.
    pub batch: u64,
}

/// Which call an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum About {
    /// The one that the record's kind can only mean.
    Meant,
    /// This one of its id.
    Nth(u64),
}

/// An entry cannot follow what is on record about its call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfOrder {
    /// How far the call has come, in a word or two.
    pub standing: &'static str,
}

/// Moves the call of an entry on, in a batch that begins with the number `batch`. Returns which
/// of its id the call is; 0 for an entry that belongs to no call.
pub fn advance(
    calls: &mut Vec<Call>,
    entry: &Entry,
    about: About,
    batch: u64,
) -> Result<u64, OutOfOrder> {
    let step = Step::of(&entry.record);
    if step == Step::Note {
        return Ok(0);
    }
    if step == Step::Receive {
        let nth = calls.last().map_or(0, |call| call.standing.nth) + 1;
        let standing = Standing::received(nth);
        calls.push(Call { standing, batch });
        return Ok(nth);
    }
    let last = calls.last().map(|call| call.batch);
    let is_meant = |call: &&Call| match about {
        // Older ones that never got a result are for the recovery.
        About::Meant => Some(call.batch) == last,
        About::Nth(nth) => call.standing.nth == nth,
    };
    let of_it = calls.iter().filter(is_meant);
    let standings: Vec<Standing> = of_it.map(|call| call.standing).collect();
    let Some((_, to)) = meant(&standings, step) else {
        let standing = standings.last().map(|standing| standing.state.as_str());
        return Err(OutOfOrder {
            standing: standing.unwrap_or("not received"),
        });
    };
    let mut calls = calls.iter_mut();
    if let Some(call) = calls.find(|call| call.standing.nth == to.nth) {
        call.standing = to;
    }
    Ok(to.nth)
}
