//! Call fragments of any wire, put together to whole calls in their order.
//!
//! ```text
//! open(key, id?, name?) ─▶ more(key, text) ─▶ close(key) ─▶ CallStarted, CallFragment…, Call
//! ```
//!
//! A wire names the call a fragment belongs to by a key; keys are compared and
//! never used as a size. Calls are handed out in the order they were opened,
//! so one that is whole waits for those before it.
//!
//! **No arguments at all** mean an empty object, as several wires send it, but
//! only if the model was done with the call: where an answer was cut short, a
//! call without arguments is one whose arguments never came. Such a call is
//! held until it is clear that the model went on after it.

use toolgate_model::json::JsonLimits;
use toolgate_model::{BadCall, Call, CallId, ErrorKind, ToolError};

use crate::event::StreamEvent;
use crate::fault::StreamError;
use crate::fenced::head;

/// More calls than this in one answer are no answer.
const MAX_CALLS: usize = 512;

/// The most bytes of a call's id. Some servers put a seal of their own into it.
const MAX_ID: usize = 16 * 1024;
/// The most bytes of a tool's name.
const MAX_NAME: usize = 1024;

/// What a wire calls a call while it streams it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A position in the answer.
    Index(u64),
    /// The call's own id, where no position is given.
    Id(String),
    /// Nothing: the call comes whole, or is the only one.
    Unnamed,
}

/// The calls of one answer.
#[derive(Debug)]
pub(crate) struct Calls {
    limits: JsonLimits,
    /// What ids begin with that the wire did not send.
    prefix: &'static str,
    next_number: u64,
    slots: Vec<Slot>,
    /// How many of the slots were handed out.
    released: usize,
}

#[derive(Debug)]
struct Slot {
    key: Key,
    number: u64,
    id: String,
    name: String,
    args: String,
    /// How many bytes of arguments came, kept or not.
    got: usize,
    /// How many bytes of `args` were told as fragments.
    told: usize,
    started: bool,
    closed: bool,
    /// Whether no arguments mean an empty object.
    done: bool,
    fault: Option<CallError>,
}

/// Why a call cannot be run, beyond what its JSON says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CallError {
    #[error(
        "the call was cut off: the answer ended inside it. Nothing was run; send the whole call \
         again, with less in it if it was long"
    )]
    CutOff,
    #[error(
        "the arguments are too large: {got} bytes of JSON, at most {max} are allowed; send less \
         at once"
    )]
    TooLarge { got: usize, max: usize },
    #[error(
        "the call's {what} is too long: {got} bytes, at most {max} are allowed. Nothing was run; \
         send the whole call again"
    )]
    TooLong {
        what: &'static str,
        got: usize,
        max: usize,
    },
    #[error(
        "the call names two tools, {first:?} and {second:?}. Nothing was run; send one call for \
         each"
    )]
    TwoNames { first: String, second: String },
    #[error(
        "the call's arguments came twice and differ. Nothing was run; send the whole call again"
    )]
    TwoArguments,
}

impl CallError {
    fn too_long(what: &'static str, text: &str, max: usize) -> Option<Self> {
        let got = text.len();
        (got > max).then_some(Self::TooLong { what, got, max })
    }
}

impl From<CallError> for ToolError {
    fn from(fault: CallError) -> Self {
        let kind = match fault {
            CallError::TooLarge { .. } | CallError::TooLong { .. } => ErrorKind::LimitExceeded,
            _ => ErrorKind::BadCall,
        };
        Self::new(kind, fault.to_string())
    }
}

impl Calls {
    pub(crate) const fn new(limits: JsonLimits, prefix: &'static str, first: u64) -> Self {
        Self {
            limits,
            prefix,
            next_number: first,
            slots: Vec::new(),
            released: 0,
        }
    }

    pub(crate) const fn next_number(&self) -> u64 {
        self.next_number
    }

    pub(crate) const fn any(&self) -> bool {
        !self.slots.is_empty()
    }

    /// The open call with this key. The last one is looked at first: fragments mostly belong to it.
    pub(crate) fn find(&self, key: &Key) -> Option<usize> {
        self.slots
            .iter()
            .rposition(|slot| !slot.closed && slot.key == *key)
    }

    /// The last call that is still open.
    pub(crate) fn last_open(&self) -> Option<usize> {
        self.slots.iter().rposition(|slot| !slot.closed)
    }

    /// Whether nothing of a call's arguments came yet.
    pub(crate) fn is_blank(&self, at: usize) -> bool {
        self.slots.get(at).is_some_and(|slot| slot.got == 0)
    }

    /// The id that came for a call, if one did.
    pub(crate) fn id(&self, at: usize) -> Option<&str> {
        let slot = self.slots.get(at)?;
        (!slot.id.is_empty()).then_some(slot.id.as_str())
    }

    /// Begins a call.
    pub(crate) fn open(&mut self, key: Key) -> Result<usize, StreamError> {
        if self.slots.len() == MAX_CALLS {
            return Err(StreamError::TooManyParts { max: MAX_CALLS });
        }
        self.slots.push(Slot {
            key,
            number: self.next_number,
            id: String::new(),
            name: String::new(),
            args: String::new(),
            got: 0,
            told: 0,
            started: false,
            closed: false,
            done: false,
            fault: None,
        });
        self.next_number = self.next_number.saturating_add(1);
        Ok(self.slots.len() - 1)
    }

    /// Takes an id and a name, each of which may come late or again.
    pub(crate) fn describe(
        &mut self,
        at: usize,
        id: Option<&str>,
        name: Option<&str>,
        out: &mut Vec<StreamEvent>,
    ) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        if let Some(id) = id.filter(|id| !id.trim().is_empty())
            && slot.id.is_empty()
        {
            match CallError::too_long("id", id, MAX_ID) {
                // The call gets an id of ours, under which its error is told.
                Some(fault) => drop(slot.fault.get_or_insert(fault)),
                None => id.clone_into(&mut slot.id),
            }
        }
        if let Some(name) = name.filter(|name| !name.trim().is_empty()) {
            if let Some(fault) = CallError::too_long("name", name, MAX_NAME) {
                slot.fault.get_or_insert(fault);
            } else if slot.name.is_empty() {
                name.clone_into(&mut slot.name);
            } else if slot.name != name {
                slot.fault.get_or_insert(CallError::TwoNames {
                    first: head(&slot.name),
                    second: head(name),
                });
            }
        }
        slot.tell(out);
    }

    /// Takes more of a call's arguments.
    pub(crate) fn more(&mut self, at: usize, text: &str, out: &mut Vec<StreamEvent>) {
        let max = self.limits.max_bytes;
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        slot.got = slot.got.saturating_add(text.len());
        if slot.got > max {
            // What is too much is counted, not kept.
            slot.args = String::new();
            slot.told = 0;
        } else {
            slot.args.push_str(text);
            slot.tell(out);
        }
    }

    /// Takes a call's arguments as a whole, of which fragments may have come before.
    pub(crate) fn whole(&mut self, at: usize, text: &str, out: &mut Vec<StreamEvent>) {
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        if slot.got == 0 {
            self.more(at, text, out);
        } else if slot.got != text.len() || (!slot.args.is_empty() && slot.args != text) {
            slot.fault.get_or_insert(CallError::TwoArguments);
        }
    }

    /// A call is over. `fault` says what the wire knows to be wrong with it.
    pub(crate) fn close(
        &mut self,
        at: usize,
        fault: Option<CallError>,
        out: &mut Vec<StreamEvent>,
    ) {
        if let Some(slot) = self.slots.get_mut(at) {
            slot.closed = true;
            if let Some(fault) = fault {
                slot.fault.get_or_insert(fault);
            }
        }
        self.release(out);
    }

    /// The model went on to something else: calls that are over have all their arguments.
    pub(crate) fn went_on(&mut self, out: &mut Vec<StreamEvent>) {
        for slot in self.slots.iter_mut().skip(self.released) {
            slot.done = slot.closed;
        }
        self.release(out);
    }

    /// The model has come to its end and says so: every call is over.
    pub(crate) fn stop(&mut self, cut_short: bool, out: &mut Vec<StreamEvent>) {
        for slot in self.slots.iter_mut().skip(self.released) {
            slot.closed = true;
            if cut_short && !slot.done && slot.got == 0 {
                slot.fault.get_or_insert(CallError::CutOff);
            }
            slot.done = true;
        }
        self.release(out);
    }

    /// The stream ended without the model saying so: what is open is cut off.
    pub(crate) fn cut(&mut self, out: &mut Vec<StreamEvent>) {
        for slot in self.slots.iter_mut().skip(self.released) {
            if !slot.closed || (slot.got == 0 && !slot.done) {
                slot.fault.get_or_insert(CallError::CutOff);
            }
            slot.closed = true;
            slot.done = true;
        }
        self.release(out);
    }

    fn release(&mut self, out: &mut Vec<StreamEvent>) {
        while let Some(slot) = self.slots.get_mut(self.released) {
            if !slot.closed || (slot.got == 0 && !slot.done && slot.fault.is_none()) {
                return;
            }
            if slot.id.is_empty() {
                slot.id = format!("{}_{}", self.prefix, slot.number);
            }
            slot.tell(out);
            out.push(StreamEvent::Call(slot.take(self.limits)));
            self.released += 1;
        }
    }
}

impl Slot {
    /// Tells the call's start and what came of its arguments, as soon as it has id and name.
    fn tell(&mut self, out: &mut Vec<StreamEvent>) {
        if self.id.is_empty() || self.name.is_empty() {
            return;
        }
        if !self.started {
            self.started = true;
            out.push(StreamEvent::CallStarted {
                number: self.number,
                id: CallId::from(self.id.as_str()),
                name: self.name.clone(),
            });
        }
        if let Some(text) = self.args.get(self.told..)
            && !text.is_empty()
        {
            out.push(StreamEvent::CallFragment {
                number: self.number,
                text: text.to_owned(),
            });
            self.told = self.args.len();
        }
    }

    /// The call itself. Its arguments are needed no more.
    fn take(&mut self, limits: JsonLimits) -> Call {
        let id = CallId::from(std::mem::take(&mut self.id));
        let args = std::mem::take(&mut self.args);
        let too_large = (self.got > limits.max_bytes).then_some(CallError::TooLarge {
            got: self.got,
            max: limits.max_bytes,
        });
        match self.fault.take().or(too_large) {
            Some(fault) => Call::Bad(BadCall {
                id,
                name: (!self.name.is_empty()).then(|| self.name.clone()),
                error: fault.into(),
            }),
            None => Call::from_wire(id, &self.name, args.as_bytes(), limits),
        }
    }
}
