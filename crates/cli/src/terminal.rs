//! Asking the person on the terminal itself, never on standard input.

use std::io;

use futures::future::BoxFuture;
use toolgate_app::approvals::{Answer, ApprovalItem, ApprovalRequest, Approver, Unanswered};
use toolgate_app::text::whole_args;
use toolgate_model::Risk;

use crate::answering::{HELP, choices, is_no, understand};
use crate::clean::style::{BOLD, DIM, GREEN, PLAIN, RED, YELLOW};
use crate::clean::{Clean, Style, say};
use crate::difference::coloured;
use crate::out::Out;
use crate::pages::{self, Line, Read};
use crate::tty::{self, Tty};

/// The person at the terminal this program was started from.
#[derive(Debug)]
pub(crate) struct Terminal;

impl Terminal {
    /// Whether somebody is there: there is a terminal and what is shown on it can be seen.
    pub(crate) fn is_there() -> bool {
        Out::stderr_is_seen() && Self::can_be_asked()
    }

    /// Whether there is a terminal at all, for a person who wants to be asked on it.
    pub(crate) fn can_be_asked() -> bool {
        tty::is_there()
    }
}

impl Approver for Terminal {
    fn ask<'a>(
        &'a self,
        request: &'a ApprovalRequest,
    ) -> BoxFuture<'a, Result<Answer, Unanswered>> {
        let request = request.clone();
        Box::pin(async move {
            let asked = tty::ask(move |tty| converse(&request, tty)).await;
            asked.ok().flatten().ok_or(Unanswered::NobodyThere)
        })
    }
}

fn converse(request: &ApprovalRequest, tty: &mut Tty) -> io::Result<Option<Answer>> {
    let colours = crate::out::colours_wanted();
    let choices = choices(request);
    let (_, columns) = tty.size();
    let below = Line::of(PLAIN, &choices).rows(columns).len() + 1;
    let no = |line: &str| is_no(line) || line.trim().eq_ignore_ascii_case("q");
    let mut lines = question(request);
    if tty.follows_expired() {
        lines.insert(1, Line::of(YELLOW, EXPIRED));
    }
    let read = pages::read(
        tty,
        &lines,
        (below, colours),
        "[n]o, or n with words for the model",
        no,
    )?;
    if let Read::Stopped(line) = read {
        let answer = line.and_then(|line| understand(&line, request));
        return gone_or(answer.unwrap_or_else(|| Answer::no().by("terminal")), tty);
    }
    // A yes to something that only looked like a question is no yes to this one, so the choices
    // appear after the call, and nothing that was typed before them counts.
    if !tty.settle()? {
        return gone_or(Answer::no().by("terminal"), tty);
    }
    loop {
        tty.show(&choices)?;
        let Some(line) = tty.line()? else {
            return gone_or(Answer::no().by("terminal"), tty);
        };
        if let Some(answer) = understand(&line, request) {
            return Ok(Some(answer));
        }
        match line.trim() {
            "w" | "W" => {
                let back = |line: &str| line.trim().eq_ignore_ascii_case("q");
                pages::read(tty, &all(request), (below, colours), "[q] back", back)?;
                continue;
            }
            "?" => {}
            _ => tty.show("Not understood. ")?,
        }
        tty.show(HELP)?;
    }
}

/// An answer after which the cursor stands in a line of its own. Who ends the input says no; a
/// terminal that is gone cannot be written to.
fn gone_or(answer: Answer, tty: &mut Tty) -> io::Result<Option<Answer>> {
    tty.show("\n")?;
    Ok(Some(answer))
}

const EXPIRED: &str = "The time for the question before this one is over; this is another one.";

/// The question as the user sees it: a title for each call, and below it all of the call. No
/// line of a call can pass for one of the question's own.
fn question(request: &ApprovalRequest) -> Vec<Line> {
    let mut lines = vec![Line::default(), Line::of(BOLD, "Toolgate asks")];
    for (number, item) in (1_usize..).zip(&request.items) {
        lines.push(title(number, item));
        lines.extend(whole(&item.whole));
        if !item.effects.is_empty() {
            let style = match item.risk {
                Risk::Low => DIM,
                Risk::Medium => PLAIN,
                Risk::High => RED,
            };
            let effects = item.effects.join("; ");
            lines.push(below(style, say!("It {}.", effects)));
        }
        for failure in &item.would_fail {
            lines.push(below(YELLOW, say!("A plain yes fails: {}", failure)));
        }
        lines.push(below(DIM, &item.why));
        if let Some(reason) = &item.model_reason {
            lines.push(below(DIM, say!("the model says: {}", reason)));
        }
        for line in item.preview.iter().flat_map(|preview| preview.lines()) {
            let text = Clean::lines(line);
            lines.push(Line::of(DIM, "     \u{2502} ").and(coloured(line), text));
        }
        if item.preview_cut {
            lines.push(below(
                YELLOW,
                "This is not all of it: [w] shows the whole call.",
            ));
        }
        if !item.could_open.is_empty() {
            let directories = item.could_open.join(", ");
            lines.push(below(
                DIM,
                say!(
                    "[o] would open for reading: {} ([ow] for writing too)",
                    directories
                ),
            ));
        }
        if !item.would_remember.is_empty() {
            let grants = item.would_remember.join("; ");
            lines.push(below(DIM, say!("[c]/[p] would remember: {}", grants)));
            if !item.would_cover.is_empty() {
                let examples = item.would_cover.join("  |  ");
                lines.push(below(DIM, say!("that covers: {}", examples)));
            }
        }
    }
    lines
}

/// Every argument of every call.
fn all(request: &ApprovalRequest) -> Vec<Line> {
    let mut lines = Vec::new();
    for (number, item) in (1_usize..).zip(&request.items) {
        lines.push(title(number, item));
        lines.extend(whole(&whole_args(&item.args)));
    }
    lines
}

fn title(number: usize, item: &ApprovalItem) -> Line {
    let risk = match item.risk {
        Risk::Low => GREEN,
        Risk::Medium => YELLOW,
        Risk::High => RED,
    };
    Line::of(BOLD, say!("  {}", number))
        .and(PLAIN, say!("  {}  ", item.summary))
        .and(risk, say!("{} risk", item.risk))
}

fn whole(text: &str) -> impl Iterator<Item = Line> + '_ {
    text.lines().map(|line| below(PLAIN, Clean::lines(line)))
}

fn below(style: Style, text: impl Into<Clean>) -> Line {
    Line::of(PLAIN, "     ").and(style, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answering::tests::request;

    #[test]
    fn the_question_shows_what_will_happen_and_why() {
        let rows = |columns| -> Vec<Clean> {
            let lines = question(&request());
            lines.iter().flat_map(|line| line.rows(columns)).collect()
        };
        let coloured = Clean::join(rows(200), "\n");
        let plain = coloured.plain();
        let plain = plain.as_str();
        for part in [
            "Write a.txt",
            "path: a.txt",
            "medium risk",
            "side effects [built-in]",
            "the model says: because",
            "+new",
            "would remember",
        ] {
            assert!(plain.contains(part), "{part}: {plain}");
        }
        assert!(!plain.contains('\x1b'));
        assert!(coloured.as_str().contains(GREEN.on("+new").as_str()));
    }
}
