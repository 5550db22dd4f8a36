//! What the person and other programs get to see.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use toolgate_model::characters::escape_json;

use crate::args::Common;
use crate::failure::Failure;

/// Standard output for what was asked for, standard error for everything else.
pub(crate) struct Out {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

/// Colours, for a person only. `anstream` takes them away where nobody would see them.
pub(crate) mod style {
    pub(crate) const BOLD: &str = "\x1b[1m";
    pub(crate) const DIM: &str = "\x1b[2m";
    pub(crate) const RED: &str = "\x1b[31m";
    pub(crate) const GREEN: &str = "\x1b[32m";
    pub(crate) const YELLOW: &str = "\x1b[33m";
    pub(crate) const CYAN: &str = "\x1b[36m";
    pub(crate) const RESET: &str = "\x1b[0m";
}

impl Out {
    pub(crate) fn new(common: &Common) -> Self {
        Self {
            json: common.json,
            quiet: common.quiet,
        }
    }

    /// One JSON line on standard output. It may be a terminal, so nothing in it acts on one.
    pub(crate) fn json_line(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_string(value)
            .map_err(|error| Failure::internal(format!("cannot write JSON: {error}")))?;
        line.push('\n');
        self.raw(&escape_json(&line))
    }

    /// Indented JSON on standard output.
    pub(crate) fn json_page(&self, value: &impl Serialize) -> Result<(), Failure> {
        let mut page = serde_json::to_string_pretty(value)
            .map_err(|error| Failure::internal(format!("cannot write JSON: {error}")))?;
        page.push('\n');
        self.raw(&escape_json(&page))
    }

    /// Text with colours on standard output; a line end is added.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::AutoStream::auto(io::stdout());
        written(writeln!(stdout, "{text}").and_then(|()| stdout.flush()))
    }

    /// Bytes on standard output as they are.
    pub(crate) fn raw(&self, text: &str) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        written(
            stdout
                .write_all(text.as_bytes())
                .and_then(|()| stdout.flush()),
        )
    }

    /// A remark for the person on standard error, unless they want quiet.
    pub(crate) fn remark(&self, text: &str) {
        if !self.quiet {
            let mut stderr = anstream::AutoStream::auto(io::stderr());
            // There is nobody left to tell that nobody can be told.
            let _ = writeln!(stderr, "{text}");
        }
    }

    /// A piece of a line on standard error, unless they want quiet.
    pub(crate) fn piece(&self, text: &str) {
        if !self.quiet {
            let mut stderr = anstream::AutoStream::auto(io::stderr());
            let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
        }
    }

    /// Why the command failed, on standard error.
    pub(crate) fn failure(&self, failure: &Failure) {
        let mut stderr = anstream::AutoStream::auto(io::stderr());
        let (red, reset) = (style::RED, style::RESET);
        let _ = writeln!(stderr, "{red}toolgate:{reset} {failure}");
    }

    /// Whether pictures of mistakes may have colours.
    pub(crate) fn colours_on_stderr() -> bool {
        io::stderr().is_terminal() && colours_wanted()
    }
}

/// Whether the person and their terminal want colours.
pub(crate) fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// A reader that has gone has seen what it wanted; every other trouble is told.
fn written(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::internal(format!(
            "cannot write to standard output: {error}"
        ))),
        _ => Ok(()),
    }
}
