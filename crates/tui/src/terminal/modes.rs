//! The modes of the terminal while a conversation is open.

use std::io::{self, Write};

use crossterm::terminal::{disable_raw_mode, enable_raw_mode};

use super::Size;

/// Turned on: bracketed paste, reports of focus, and keys told apart where the terminal can.
const WANTED: &str = "\u{1b}[?2004h\u{1b}[?1004h\u{1b}[>1u";

/// Gives every mode back: keys, focus, paste, wrapping, synchronized updates, cursor, colours.
pub const RESTORED: &str =
    "\u{1b}[<1u\u{1b}[?1004l\u{1b}[?2004l\u{1b}[?7h\u{1b}[?2026l\u{1b}[?25h\u{1b}[0m";

/// Until this is dropped the terminal sends keys one by one.
#[derive(Debug)]
pub struct Modes {
    entered: bool,
}

impl Modes {
    /// Changes the terminal.
    pub fn enter() -> io::Result<Self> {
        enable_raw_mode()?;
        let modes = Self { entered: true };
        send(WANTED)?;
        Ok(modes)
    }

    /// Gives the terminal back for a while.
    pub fn leave(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.entered, false) {
            send(RESTORED)?;
            disable_raw_mode()?;
        }
        Ok(())
    }

    /// Takes it again.
    pub fn enter_again(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.entered, true) {
            enable_raw_mode()?;
            send(WANTED)?;
        }
        Ok(())
    }
}

impl Drop for Modes {
    fn drop(&mut self) {
        // There is nobody left to tell that it failed.
        let _ = self.leave();
    }
}

fn send(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}

/// The terminal's size now; 80 by 24 where it does not say.
pub fn current_size() -> Size {
    match crossterm::terminal::size() {
        Ok((columns, rows)) if columns > 0 && rows > 0 => Size { columns, rows },
        _ => Size {
            columns: 80,
            rows: 24,
        },
    }
}
