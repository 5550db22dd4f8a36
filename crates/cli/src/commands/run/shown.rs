//! What a person sees of a turn while it goes on.

use toolgate_app::text::{approval_text, sanitize};
use toolgate_model::{Action, CallId, Event, EventKind, Status, Stream, ToolResult};

use crate::clean::style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW};
use crate::clean::{Clean, Style, say};
use crate::failure::CliError;
use crate::out::Out;

/// Progress for the person. On a terminal the answer is shown as it comes in; elsewhere
/// standard output gets the last answer alone, when it is known to be the last.
pub(super) struct Progress {
    live: Live,
    /// Words of the answer that may turn out to be the last, where they are not shown yet.
    words: String,
    /// Whose line the cursor stands in.
    open: Option<Open>,
    /// Whose lines were ended before they ended them: their own line end is not shown again.
    ended: Vec<Open>,
}

/// A line that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Open {
    /// Of the model.
    Words,
    /// Of a call, from one of its streams.
    Output(CallId, Stream),
}

/// Where a person sees words as they come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Live {
    /// On the terminal that standard output is.
    Output,
    /// On the terminal that standard error is, while standard output goes elsewhere.
    Error,
    Nowhere,
}

impl Progress {
    pub(super) fn new(out: &Out) -> Self {
        let live = if out.quiet || out.json {
            Live::Nowhere
        } else if Out::stdout_is_seen() {
            Live::Output
        } else if Out::stderr_is_seen() {
            Live::Error
        } else {
            Live::Nowhere
        };
        Self {
            live,
            words: String::new(),
            open: None,
            ended: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, event: &Event, out: &Out) -> Result<(), CliError> {
        match &event.kind {
            EventKind::TextDelta { text, .. } => match self.live {
                Live::Output => {
                    self.open = (!text.ends_with('\n')).then_some(Open::Words);
                    out.raw(Clean::lines(text))?;
                }
                Live::Error => self.piece(text, PLAIN, out),
                Live::Nowhere => self.words.push_str(text),
            },
            EventKind::ThinkingDelta { text, .. } if self.live != Live::Nowhere => {
                self.piece(text, DIM, out);
            }
            // What was said before a call, before an error, or before the end of a turn that
            // failed is not the last word.
            EventKind::CallReceived { .. } => self.told_aside(out)?,
            EventKind::CallFinished { result } => {
                self.end_line(out)?;
                self.ended.retain(
                    |open| !matches!(open, Open::Output(call, _) if *call == result.call_id),
                );
                out.remark(finished(result));
            }
            EventKind::TurnFinished { outcome, .. } => {
                if matches!(outcome.as_str(), "failed" | "cancelled") {
                    self.told_aside(out)?;
                }
                self.end_line(out)?;
            }
            EventKind::OutputChunk {
                call_id,
                stream,
                text,
                ..
            } => {
                let from = Open::Output(call_id.clone(), *stream);
                self.output(from, &sanitize(text), out)?;
            }
            EventKind::Error { message } => {
                self.told_aside(out)?;
                out.remark(say!("{} {}", RED.on("!"), Clean::output(message)));
            }
            _ => {
                if let Some(line) = told(event) {
                    self.end_line(out)?;
                    out.remark(line);
                }
            }
        }
        Ok(())
    }

    /// Whether the person has seen the words on standard output already.
    pub(super) fn has_shown_the_answer(&self) -> bool {
        self.live == Live::Output
    }

    fn piece(&mut self, text: &str, style: Style, out: &Out) {
        self.open = (!text.ends_with('\n')).then_some(Open::Words);
        out.piece(style.on(Clean::lines(text)));
    }

    /// A piece of a command's output. Its line stays open until somebody else writes.
    fn output(&mut self, from: Open, text: &str, out: &Out) -> Result<(), CliError> {
        let mut text = text;
        if let Some(at) = self.ended.iter().position(|ended| *ended == from) {
            self.ended.swap_remove(at);
            text = text.strip_prefix('\n').unwrap_or(text);
        }
        if text.is_empty() {
            return Ok(());
        }
        if self.open.as_ref() != Some(&from) {
            self.end_line(out)?;
        }
        out.piece(DIM.on(Clean::lines(text)));
        self.open = (!text.ends_with('\n')).then_some(from);
        Ok(())
    }

    fn told_aside(&mut self, out: &Out) -> Result<(), CliError> {
        self.end_line(out)?;
        let words = std::mem::take(&mut self.words);
        if !words.trim().is_empty() {
            out.remark(Clean::lines(words.trim()));
        }
        Ok(())
    }

    fn end_line(&mut self, out: &Out) -> Result<(), CliError> {
        match (self.open.take(), self.live) {
            (None, _) => {}
            (Some(Open::Words), Live::Output) => out.raw("\n")?,
            (Some(Open::Words), _) => out.piece("\n"),
            (Some(output), _) => {
                out.piece("\n");
                self.ended.push(output);
            }
        }
        Ok(())
    }
}

fn told(event: &Event) -> Option<Clean> {
    Some(match &event.kind {
        EventKind::CallPlanned { plan } if plan.decision.action != Action::Deny => {
            say!("{} {}", CYAN.on("·"), BOLD.on(&plan.summary))
        }
        _ => return None,
    })
}

fn finished(result: &ToolResult) -> Clean {
    let (colour, word) = match result.status() {
        Status::Ok => (GREEN, "ok"),
        Status::Error => (RED, "error"),
        Status::Denied => (YELLOW, "denied"),
        Status::Cancelled => (YELLOW, "cancelled"),
    };
    let why = result
        .error
        .as_ref()
        .map(|error| approval_text(&error.message));
    let took = say!("{} {} ms", approval_text(&result.tool), result.duration_ms);
    say!(
        "  {} {}{}",
        colour.on(word),
        DIM.on(took),
        why.map(|why| say!("  {}", why))
    )
}
