//! Tools that register themselves by being linked in.

use std::sync::Arc;

use crate::tool::Tool;

/// A tool announced at compile time by `toolgate_gate::link_tool!`.
pub struct LinkedTool {
    /// Makes the tool.
    pub make: fn() -> Arc<dyn Tool>,
}

inventory::collect!(LinkedTool);

pub(super) fn all() -> impl Iterator<Item = &'static LinkedTool> {
    inventory::iter::<LinkedTool>.into_iter()
}

/// Announces a tool at compile time: every [`Registry::with_linked`](crate::registry::Registry::with_linked)
/// of a program that links this code has it.
///
/// ```
/// use std::sync::Arc;
/// use toolgate_gate::registry::Registry;
/// use toolgate_gate::tool::{Output, typed};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Nothing {}
///
/// toolgate_gate::link_tool!(|| {
///     Arc::new(typed("ping", "Answers.", |_: Nothing, _| async { Ok(Output::plain("pong")) }))
/// });
///
/// # fn main() {
/// assert!(Registry::with_linked().unwrap().get("ping").is_some());
/// # }
/// ```
#[macro_export]
macro_rules! link_tool {
    ($make:expr) => {
        $crate::registry::inventory::submit! {
            $crate::registry::LinkedTool { make: $make }
        }
    };
}
