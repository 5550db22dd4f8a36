//! What a call may use to get ready, while its start is put on record.

use toolgate_model::Openings;
use toolgate_sandbox::paths::PathSandbox;

use crate::session::Session;

/// The sandbox of a call that is about to start. There is no way in it to do what the call is
/// for. It cannot be made outside the gate.
#[derive(Clone, Copy)]
pub struct Ahead<'a> {
    sandbox: &'a PathSandbox,
    opened: &'a Openings,
    session: &'a Session,
}

impl<'a> Ahead<'a> {
    pub(crate) const fn new(
        sandbox: &'a PathSandbox,
        opened: &'a Openings,
        session: &'a Session,
    ) -> Self {
        Self {
            sandbox,
            opened,
            session,
        }
    }

    /// The path sandbox.
    pub const fn sandbox(&self) -> &'a PathSandbox {
        self.sandbox
    }

    /// The conversation.
    pub const fn session(&self) -> &'a Session {
        self.session
    }

    /// What is open to the call beyond the sandbox so far.
    pub const fn opened(&self) -> &'a Openings {
        self.opened
    }
}

impl std::fmt::Debug for Ahead<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ahead")
    }
}
