//! What the user and other programs get to see.

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use rustix::termios::tcgetwinsize;
use serde::Serialize;

use crate::args::Common;
use crate::clean::{Clean, say, style};
use crate::failure::CliError;
use crate::status::StatusLine;

/// Standard output for what was asked for, standard error for everything else.
#[derive(Clone)]
pub(crate) struct Out {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// What is waited for, below everything else.
    pub(crate) status: Arc<StatusLine>,
}

impl Out {
    pub(crate) fn new(common: &Common) -> Self {
        let is_on = !common.json
            && !common.quiet
            && Self::stderr_is_seen()
            && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
        Self {
            json: common.json,
            quiet: common.quiet,
            status: Arc::new(StatusLine::new(is_on)),
        }
    }

    /// One JSON line on standard output. It may be a terminal, so nothing in it acts on one.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), CliError> {
        self.raw(Clean::json_line(value).map_err(no_json)?)
    }

    /// Indented JSON on standard output.
    pub(crate) fn json_page(&self, value: &impl Serialize) -> Result<(), CliError> {
        self.raw(Clean::json_page(value).map_err(no_json)?)
    }

    /// Text with colours on standard output; a line end is added.
    pub(crate) fn text(&self, text: impl Into<Clean>) -> Result<(), CliError> {
        self.painted(say!("{}\n", text.into()))
    }

    /// Text with colours on standard output, as it is.
    pub(crate) fn painted(&self, text: impl Into<Clean>) -> Result<(), CliError> {
        let _held = self.status.hold();
        shown(text)
    }

    /// Text on standard output as it is, without colours.
    pub(crate) fn raw(&self, text: impl Into<Clean>) -> Result<(), CliError> {
        let text = text.into();
        let _held = self.status.hold();
        let mut stdout = io::stdout().lock();
        written(
            stdout
                .write_all(text.as_str().as_bytes())
                .and_then(|()| stdout.flush()),
        )
    }

    /// A remark for the user on standard error, unless they want quiet.
    pub(crate) fn remark(&self, text: impl Into<Clean>) {
        if !self.quiet {
            let _held = self.status.hold();
            told(text);
        }
    }

    /// A piece of a line on standard error, unless they want quiet.
    pub(crate) fn piece(&self, text: impl Into<Clean>) {
        if !self.quiet {
            let _held = self.status.hold();
            told_in_pieces(text);
        }
    }

    /// Why the command failed, on standard error.
    pub(crate) fn failure(&self, failure: &CliError) {
        let _held = self.status.hold();
        told(say!("{} {}", style::RED.on("toolgate:"), failure.message()));
    }

    /// Whether pictures of mistakes may have colours.
    pub(crate) fn colours_on_stderr() -> bool {
        Self::stderr_is_seen() && colours_wanted()
    }

    /// Whether standard output is a terminal.
    pub(crate) fn stdout_is_seen() -> bool {
        io::stdout().is_terminal()
    }

    /// Whether standard input is a terminal.
    pub(crate) fn stdin_is_typed() -> bool {
        io::stdin().is_terminal()
    }

    /// Whether standard error is a terminal.
    pub(crate) fn stderr_is_seen() -> bool {
        io::stderr().is_terminal()
    }
}

/// A line on standard error, whatever the user wants.
pub(crate) fn told(text: impl Into<Clean>) {
    told_in_pieces(say!("{}\n", text.into()));
}

/// The same without the end of the line.
pub(crate) fn told_in_pieces(text: impl Into<Clean>) {
    let mut stderr = anstream::AutoStream::auto(io::stderr());
    // There is nobody left to tell that nobody can be told.
    let _ = write!(stderr, "{}", text.into().as_str()).and_then(|()| stderr.flush());
}

/// Takes away the row in which the cursor stands on standard error, and writes this instead.
pub(crate) fn replace_row(row: impl Into<Clean>) {
    // There is nobody left to tell that nobody can be told.
    let _ = io::stderr().write_all(b"\r\x1b[K");
    told_in_pieces(row);
}

/// How many columns the terminal has, as far as one says so.
pub(crate) fn columns() -> usize {
    let size = tcgetwinsize(io::stderr()).or_else(|_| tcgetwinsize(io::stdout()));
    match size {
        Ok(size) if size.ws_col > 0 => usize::from(size.ws_col),
        _ => 80,
    }
}

/// Text with colours on standard output.
pub(crate) fn shown(text: impl Into<Clean>) -> Result<(), CliError> {
    let mut stdout = anstream::AutoStream::auto(io::stdout());
    let text = text.into();
    written(write!(stdout, "{}", text.as_str()).and_then(|()| stdout.flush()))
}

/// Whether the user and their terminal want colours.
pub(crate) fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

fn no_json(error: serde_json::Error) -> CliError {
    CliError::internal(say!("cannot write JSON: {}", error))
}

/// A reader that has gone has seen what it wanted; every other trouble is told.
fn written(result: io::Result<()>) -> Result<(), CliError> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(CliError::internal(say!(
            "cannot write to standard output: {}",
            error
        ))),
        _ => Ok(()),
    }
}
