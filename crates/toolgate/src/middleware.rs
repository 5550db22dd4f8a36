//! Middleware: code of your own around every call. It can tighten and never loosen.
//!
//! ```
//! use toolgate::ToolCall;
//! use toolgate::middleware::{Denied, Middleware};
//!
//! /// Refuses a tool by its name, before anything is planned.
//! struct Without(&'static str);
//!
//! impl Middleware for Without {
//!     fn name(&self) -> &str {
//!         "without"
//!     }
//!
//!     fn rewrite(&self, call: ToolCall) -> Result<ToolCall, Denied> {
//!         if call.name == self.0 {
//!             return Err(Denied { reason: format!("{} is switched off", self.0) });
//!         }
//!         Ok(call)
//!     }
//! }
//! # let _: &dyn Middleware = &Without("web_fetch");
//! ```
//!
//! The model reads `denied by without: …`. To limit what a conversation may use, count in
//! `after` the calls that ran ([`Ended::ran_for`]) and look at the count in `before_start`;
//! `after` is called for every result, also of calls that were refused before they began.

pub use toolgate_gate::middleware::{
    AskAlways, Audit, AuditLine, AuditSink, Denied, Ended, Metrics, Middleware, RepetitionGuard,
};
