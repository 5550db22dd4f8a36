//! The question's rows and its choices.

use std::time::Duration;

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};
use toolgate_app::approvals::{CallKind, DirectoryAccess, NetworkAccess, Open, Remember};

use crate::panel::{Panel, Stage};
use crate::state::{BOLD, DIM, State};
use crate::text::{cut, one_line, wrapped};

/// The question in at most so many rows, and how many of its own rows are among them.
pub(super) fn rows(
    state: &mut State,
    columns: usize,
    most: usize,
    now: Duration,
) -> (Vec<Line<'static>>, usize) {
    let waiting = state.waiting;
    let Some(panel) = &mut state.panel else {
        return (Vec::new(), 0);
    };
    let risk = crate::panel::colour(panel.request.risk());
    let total = panel.rows(columns).len();
    let mut head = vec![Span::styled(
        "Approval needed",
        Style::new().fg(risk).patch(BOLD),
    )];
    if waiting > 1 {
        head.push(Span::styled(format!(" (1 of {waiting})"), DIM));
    }
    let choices = wrapped(&choices(panel, now), columns);
    let fits = most.saturating_sub(choices.len() + 2).max(1);
    let window = panel.scroll.window(fits, total);
    let (begin, end) = (window.start, window.end);
    if total > fits {
        let words = format!("  rows {}–{} of {total}", begin + 1, end);
        head.push(Span::styled(words, DIM));
    }
    let mut rows = vec![cut(&Line::from(head), columns)];
    rows.extend(
        panel
            .laid_out()
            .iter()
            .skip(begin)
            .take(end - begin)
            .cloned(),
    );
    let left = total - end;
    if left > 0 {
        let words = format!("▼ {left} rows more: Space");
        rows.push(cut(
            &Line::styled(words, Style::new().fg(Color::Yellow)),
            columns,
        ));
    }
    rows.extend(choices);
    (rows, fits)
}

fn choices(panel: &Panel, now: Duration) -> Vec<Line<'static>> {
    let key = |key: &'static str, what: &'static str| {
        vec![Span::styled(key, BOLD), Span::raw(format!(" {what}   "))]
    };
    if !panel.has_focus {
        let words = match panel.arming.is_armed(now) {
            true => "Tab answers it. Other keys go to the input.",
            false => "Keys go to the input.",
        };
        return vec![Line::styled(words, Style::new().fg(Color::Yellow))];
    }
    let mut lines = Vec::new();
    match &panel.stage {
        Stage::Ask => {
            let many = panel.request.items.len() > 1;
            let mut spans = key("y", if many { "approve all" } else { "approve" });
            spans.extend(key("n", if many { "deny all" } else { "deny" }));
            spans.extend(key("r", "deny with a reason"));
            if many {
                spans.extend(key("e", "one by one"));
            }
            if panel.can_remember() {
                spans.extend(key("c", "remember for this conversation"));
                spans.extend(key("p", "for this project"));
            }
            if panel.can_allow(CallKind::Edits) {
                spans.extend(key("a", "all edits"));
            }
            if panel.can_allow(CallKind::Commands) {
                spans.extend(key("s", "all sandboxed commands"));
            }
            if panel.can_open() {
                spans.extend(key("o", "open directories"));
                spans.extend(key("w", "for writing"));
            }
            if panel.can_connect(NetworkAccess::Loopback) {
                spans.extend(key("l", "loopback network"));
            }
            if panel.can_connect(NetworkAccess::On) {
                spans.extend(key("i", "network"));
            }
            spans.extend(key("Esc", "back to the input"));
            lines.push(Line::from(spans));
        }
        Stage::Each(at, _) => {
            let name = panel
                .request
                .items
                .get(*at)
                .map(|item| one_line(&item.summary));
            let words = format!(
                "Call {} of {}: {}",
                at + 1,
                panel.request.items.len(),
                name.unwrap_or_default()
            );
            lines.push(Line::styled(words, BOLD));
            let mut spans = key("y", "approve this one");
            spans.extend(key("n", "deny it"));
            spans.extend(key("r", "deny it with a reason"));
            spans.extend(key("Esc", "back"));
            lines.push(Line::from(spans));
        }
        Stage::Reason(words, _) => {
            lines.push(Line::from(vec![
                Span::styled("Why not (Enter denies, Esc goes back): ", BOLD),
                Span::raw(one_line(words)),
                Span::styled("▏", DIM),
            ]));
        }
        Stage::Remember(scope) => lines.extend(remembered(panel, *scope)),
        Stage::Open(open) => lines.extend(opened(panel, *open)),
    }
    if let Some(refused) = panel.refused {
        lines.push(Line::styled(refused, Style::new().fg(Color::Yellow)));
    }
    lines
}

/// What would be remembered, exactly, with examples of what it covers.
fn remembered(panel: &Panel, scope: Remember) -> Vec<Line<'static>> {
    let heading = match scope {
        Remember::Edits => {
            "Approve this and all edits of files in the workspace by file tools, until this conversation ends."
                .to_owned()
        }
        Remember::Commands => {
            "Approve this and all commands in the sandbox, until this conversation ends.".to_owned()
        }
        scope => format!("Approve, and remember for this {}:", scope.as_str()),
    };
    let mut lines = vec![Line::styled(heading, BOLD)];
    let items = panel
        .request
        .items
        .iter()
        .filter(|_| scope.kind().is_none());
    for item in items {
        for rule in &item.would_remember {
            lines.push(Line::raw(format!("  {}", one_line(rule))));
        }
        for example in &item.would_cover {
            lines.push(Line::styled(
                format!("    covers: {}", one_line(example)),
                DIM,
            ));
        }
    }
    lines.push(Line::from(vec![
        Span::styled("y", BOLD),
        Span::raw(" approve and remember   "),
        Span::styled("Esc", BOLD),
        Span::raw(" back"),
    ]));
    lines
}

/// What would be opened, exactly.
fn opened(panel: &Panel, open: Open) -> Vec<Line<'static>> {
    let heading = match (open.directories, open.network) {
        (Some(DirectoryAccess::Read), _) => "Approve, and open for reading:",
        (Some(DirectoryAccess::Write), _) => "Approve, and open for reading and writing:",
        (None, Some(NetworkAccess::Loopback)) => {
            "Approve, and give commands a loopback network of their own."
        }
        (None, _) => "Approve, and open the network to commands.",
    };
    let mut lines = vec![Line::styled(heading, BOLD)];
    if open.directories.is_some() {
        let items = panel.request.items.iter();
        let directories = items.flat_map(|item| &item.could_open);
        lines.extend(directories.map(|name| Line::raw(format!("  {}", one_line(name)))));
    }
    lines.push(Line::from(vec![
        Span::styled("y", BOLD),
        Span::raw(" for this call   "),
        Span::styled("c", BOLD),
        Span::raw(" until this conversation ends   "),
        Span::styled("Esc", BOLD),
        Span::raw(" back"),
    ]));
    lines
}
