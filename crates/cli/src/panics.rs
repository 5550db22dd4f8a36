//! Panics are results of calls, or one line; never a backtrace.

use std::panic;

use crate::clean::say;
use crate::out;

/// Silences the hook of the standard library. What panicked inside the line becomes a
/// result; what panicked outside ends the program with a line that says so.
pub(crate) fn keep_quiet() {
    panic::set_hook(Box::new(|info| {
        let inside_the_line =
            tokio::task::try_id().is_some() || tokio::runtime::Handle::try_current().is_ok();
        if !inside_the_line {
            let place = info.location().map(ToString::to_string).unwrap_or_default();
            out::told(say!(
                "toolgate: internal error at {}; please report it",
                place
            ));
        }
    }));
}
