//! The arguments of one call, as they are typed.

use std::ffi::OsString;

use clap::Args;

/// The arguments of a call.
#[derive(Args, Debug)]
pub(crate) struct CallArgs {
    /// Its arguments: key=value, key:=JSON, one JSON object, or - for standard input
    // Damaged arguments are a call with a result, so the first may begin with a dash.
    #[arg(value_name = "ARGS", allow_hyphen_values = true)]
    first: OsString,
    /// More of them
    #[arg(value_name = "ARGS", hide = true)]
    more: Vec<OsString>,
}

impl CallArgs {
    /// All of them, in order.
    pub(crate) fn all(&self) -> Vec<OsString> {
        let all = std::iter::once(&self.first).chain(&self.more);
        all.cloned().collect()
    }
}
