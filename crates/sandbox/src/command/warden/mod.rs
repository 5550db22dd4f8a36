//! The warden: a copy of the program with one thread and an empty environment. It makes sandboxes
//! ahead of need and ends them; no command runs in it.

pub(crate) mod blank;
pub(crate) mod descendants;
pub(crate) mod machine;
pub(crate) mod place;
pub(crate) mod pool;
pub(crate) mod ready;
pub(crate) mod serve;
pub(crate) mod template;
