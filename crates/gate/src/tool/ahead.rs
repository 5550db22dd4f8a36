//! What a call may use to get ready, while its start is put on record.

use toolgate_model::NeededDirectory;
use toolgate_sandbox::paths::PathWall;

/// The walls of a call that is about to start. There is no way in it to do what the call is
/// for. It cannot be made outside the gate.
#[derive(Clone, Copy)]
pub struct Ahead<'a> {
    wall: &'a PathWall,
    opened: &'a [NeededDirectory],
}

impl<'a> Ahead<'a> {
    pub(crate) const fn new(wall: &'a PathWall, opened: &'a [NeededDirectory]) -> Self {
        Self { wall, opened }
    }

    /// The path wall.
    pub const fn wall(&self) -> &'a PathWall {
        self.wall
    }

    /// The folders beyond the walls that are open to the call so far.
    pub const fn opened(&self) -> &'a [NeededDirectory] {
        self.opened
    }
}

impl std::fmt::Debug for Ahead<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ahead")
    }
}
