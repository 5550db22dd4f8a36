//! Gives the terminal back when the program that changed it was killed.
//!
//! ```text
//! program ── starts, before any mode changes ──▶ watcher ── "ready" ──▶ program
//!    │ ends: writes a byte                          │ ends, does nothing
//!    └ is killed: its end of the pipe closes        └ restores modes and settings
//! ```
//!
//! The watcher is a process of its own in a session of its own: what kills the program does not
//! reach it.

use std::io::{self, Read, Write};

use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use super::RESTORED;

/// What the program writes when it gave the terminal back itself.
pub const DONE: u8 = b'd';

/// Leaves the alternate screen, clears what is below the caret, and begins a new row.
const AFTER: &str = "\u{1b}[?1047l\u{1b}[J\r\n";

/// Watches. Standard input is the pipe from the program, standard output the terminal; a byte
/// on standard error says that the watcher is ready.
pub fn watch() -> io::Result<()> {
    // Another session: the terminal's signals end at the program.
    let _ = rustix::process::setsid();
    let terminal = io::stdout();
    let settings = tcgetattr(&terminal)?;
    io::stderr().write_all(b"r")?;
    let mut told = Vec::new();
    io::stdin().lock().read_to_end(&mut told)?;
    if told.contains(&DONE) {
        return Ok(());
    }
    tcsetattr(&terminal, OptionalActions::Now, &settings)?;
    let mut out = terminal.lock();
    out.write_all(RESTORED.as_bytes())?;
    out.write_all(AFTER.as_bytes())?;
    out.flush()
}
