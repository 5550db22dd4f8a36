//! Calls: how far each has come, and the tail of what it prints.

use std::collections::VecDeque;
use std::time::Duration;

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use toolgate_model::{CallId, PlanRecord, Status, ToolResult};

use crate::text::{self, short_time};

/// The most lines of running output on the screen.
pub const TAIL: usize = 50;
/// The most bytes of a line of it.
const LONGEST: usize = 4096;
/// Lines of output that stay under a finished call.
const FOLDED: usize = 4;

const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Received or planned.
    Pending,
    /// An approver is asked.
    Waiting,
    /// It runs since then.
    Running(Duration),
}

/// A call without a result.
#[derive(Clone, Debug)]
pub struct CallView {
    /// The call.
    pub id: CallId,
    /// The tool's name.
    pub tool: String,
    /// What it does, once it is planned.
    pub title: Option<String>,
    /// The rule that decided, once it is planned.
    pub rule: Option<String>,
    /// How far it is.
    pub progress: Progress,
    /// The end of its output.
    pub tail: Tail,
}

impl CallView {
    /// A call that was received.
    pub fn new(id: CallId, tool: &str) -> Self {
        Self {
            id,
            tool: tool.to_owned(),
            title: None,
            rule: None,
            progress: Progress::Pending,
            tail: Tail::default(),
        }
    }

    /// Notes its plan.
    pub fn planned(&mut self, plan: &PlanRecord) {
        self.tool.clone_from(&plan.call.name);
        self.title = Some(plan.summary.clone());
        self.rule = Some(format!("{} [{}]", plan.decision.rule, plan.decision.source));
    }

    /// Its name on the screen.
    pub fn name(&self) -> String {
        text::one_line(self.title.as_deref().unwrap_or(&self.tool))
    }

    /// Its row while it is under way. `spinner` moves.
    pub fn row(&self, now: Duration, spinner: char) -> Line<'static> {
        let (mark, style, rest) = match self.progress {
            Progress::Pending => ('·', DIM, "pending".to_owned()),
            Progress::Waiting => (
                '?',
                Style::new().fg(Color::Yellow),
                "waits for your approval".to_owned(),
            ),
            Progress::Running(since) => (
                spinner,
                Style::new().fg(Color::Cyan),
                short_time(now.saturating_sub(since)),
            ),
        };
        Line::from(vec![
            Span::styled(format!("{mark} "), style),
            Span::raw(self.name()),
            Span::styled(format!("  {rest}"), DIM),
        ])
    }
}

/// The lines of a call that has its result.
pub fn finished(view: Option<&CallView>, result: &ToolResult) -> Vec<Line<'static>> {
    let (mark, colour) = match result.status() {
        Status::Ok => ('✓', Color::Green),
        Status::Error => ('✗', Color::Red),
        Status::Denied => ('⊘', Color::Yellow),
        Status::Cancelled => ('⊘', Color::Yellow),
    };
    let name = match view {
        Some(view) => view.name(),
        None => text::one_line(&result.tool),
    };
    let mut first = vec![
        Span::styled(format!("{mark} "), Style::new().fg(colour)),
        Span::raw(name),
    ];
    if result.status() == Status::Ok {
        let time = match result.duration_ms {
            0..=999 => format!("  {} ms", result.duration_ms),
            more => format!("  {}.{} s", more / 1_000, more % 1_000 / 100),
        };
        first.push(Span::styled(time, DIM));
    }
    let mut lines = vec![Line::from(first)];
    if let Some(error) = &result.error {
        let message = text::lines(&error.message);
        let style = Style::new().fg(colour);
        lines.extend(
            message
                .into_iter()
                .map(|line| Line::styled(format!("  {line}"), style)),
        );
    }
    if result.status() == Status::Denied
        && let Some(rule) = view.and_then(|view| view.rule.as_deref())
    {
        lines.push(Line::styled(
            format!("  rule: {}", text::one_line(rule)),
            DIM,
        ));
    }
    lines.extend(folded(result));
    lines
}

/// The end of the output under a finished call.
fn folded(result: &ToolResult) -> Vec<Line<'static>> {
    let shown = match result.display.is_empty() {
        true => &result.content,
        false => &result.display,
    };
    let is_said = result
        .error
        .as_ref()
        .is_some_and(|error| error.message == *shown);
    if is_said || shown.trim().is_empty() {
        return Vec::new();
    }
    let count = shown.trim_end().lines().count();
    let skipped = count.saturating_sub(FOLDED);
    let mut lines = Vec::new();
    if skipped > 0 {
        lines.push(Line::styled(
            format!("  │ … {skipped} lines more: Ctrl-O shows all"),
            DIM,
        ));
    }
    for line in shown.trim_end().lines().skip(skipped) {
        let short: String = line.chars().take(LONGEST).collect();
        lines.push(Line::styled(format!("  │ {}", text::line(&short)), DIM));
    }
    lines
}

/// The end of a call's output, in whole lines.
#[derive(Clone, Debug, Default)]
pub struct Tail {
    lines: VecDeque<String>,
    open: String,
    /// How many lines were dropped.
    dropped: u64,
    /// How many bytes have come.
    bytes: u64,
    /// How many lines the user scrolled up.
    up: usize,
}

impl Tail {
    /// Adds a piece that begins at this offset of the output. One that was there is ignored.
    pub fn push(&mut self, offset: u64, piece: &str) {
        if offset < self.bytes {
            return;
        }
        if offset > self.bytes {
            self.end_line();
            self.line("… output was left out here".to_owned());
        }
        self.bytes = offset + u64::try_from(piece.len()).unwrap_or(u64::MAX);
        for part in self.kept_of(piece).split_inclusive('\n') {
            let room = LONGEST.saturating_sub(self.open.len());
            match part.strip_suffix('\n') {
                Some(part) => {
                    self.open.extend(part.chars().take(room));
                    self.end_line();
                }
                None => self.open.extend(part.chars().take(room)),
            }
        }
    }

    /// The end of a piece: lines that would be dropped at once are only counted.
    fn kept_of<'a>(&mut self, piece: &'a str) -> &'a str {
        let Some((at, _)) = piece.rmatch_indices('\n').nth(TAIL) else {
            return piece;
        };
        let (skipped, kept) = piece.split_at_checked(at + 1).unwrap_or(("", piece));
        let skipped = skipped.bytes().filter(|byte| *byte == b'\n').count();
        self.dropped += u64::try_from(skipped).unwrap_or(0);
        self.open.clear();
        kept
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.open);
        self.line(text::line(&line));
    }

    fn line(&mut self, line: String) {
        self.lines.push_back(line);
        if self.lines.len() > TAIL {
            self.lines.pop_front();
            self.dropped += 1;
        } else if self.up > 0 {
            self.up = (self.up + 1).min(self.lines.len());
        }
    }

    /// Scrolls up (or down, where negative).
    pub fn scroll(&mut self, up: isize) {
        self.up = self.up.saturating_add_signed(up).min(self.lines.len());
    }

    /// The rows on the screen, at most so many: the last ones unless it was scrolled.
    pub fn rows(&self, most: usize) -> Vec<Line<'static>> {
        let open = (!self.open.is_empty()).then(|| text::line(&self.open));
        let all: Vec<&str> = self
            .lines
            .iter()
            .map(String::as_str)
            .chain(open.as_deref())
            .collect();
        let end = all.len().saturating_sub(self.up).max(most.min(all.len()));
        let begin = end.saturating_sub(most);
        let shown = all.iter().skip(begin).take(end - begin);
        let mut rows: Vec<Line<'static>> = shown
            .map(|line| Line::styled(format!("  │ {line}"), DIM))
            .collect();
        let before = u64::try_from(begin).unwrap_or(0) + self.dropped;
        if before > 0
            && let Some(first) = rows.first_mut()
            && most > 1
        {
            *first = Line::styled(format!("  │ … {before} lines before"), DIM);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_keeps_fifty_lines_and_follows_the_end_unless_scrolled() {
        let mut tail = Tail::default();
        let mut offset = 0;
        for number in 0..200 {
            let piece = format!("line {number}\n");
            tail.push(offset, &piece);
            offset += piece.len() as u64;
        }
        tail.push(0, "again\n");
        assert_eq!(tail.lines.len(), TAIL);
        let shown =
            |tail: &Tail| -> Vec<String> { tail.rows(3).iter().map(ToString::to_string).collect() };
        assert_eq!(
            shown(&tail),
            ["  │ … 197 lines before", "  │ line 198", "  │ line 199"]
        );
        tail.scroll(10);
        assert_eq!(shown(&tail)[2], "  │ line 189");
        tail.scroll(-20);
        assert_eq!(shown(&tail)[2], "  │ line 199");
    }

    #[test]
    fn a_gap_in_the_output_is_shown_and_a_line_is_bounded() {
        let mut tail = Tail::default();
        tail.push(0, "a");
        tail.push(10, &"x".repeat(1_000_000));
        assert!(tail.open.len() <= LONGEST);
        assert_eq!(
            tail.rows(9)[1].to_string(),
            "  │ … output was left out here"
        );
    }
}
