//! Tables: columns where they fit, else a line for each cell.

use ratatui_core::style::{Modifier, Style};
use ratatui_core::text::{Line, Span};

use crate::text::width;

/// The lines of a table; its first row is the head.
pub(super) fn lines(rows: &[Vec<String>], columns: usize) -> Vec<Line<'static>> {
    let Some((head, body)) = rows.split_first() else {
        return Vec::new();
    };
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| width(cell)).max().unwrap_or(0)
        })
        .collect();
    let total = widths.iter().sum::<usize>() + widths.len().saturating_sub(1) * 3;
    if total > columns {
        return listed(head, body, bold);
    }
    let line = |row: &[String], style: Style| {
        let cells = widths.iter().enumerate().map(|(column, wide)| {
            let cell = row.get(column).map_or("", String::as_str);
            let blanks = " ".repeat(wide - width(cell));
            format!("{cell}{blanks}")
        });
        let text = cells.collect::<Vec<_>>().join(" │ ");
        Line::styled(text.trim_end().to_owned(), style)
    };
    let rule: Vec<String> = widths.iter().map(|wide| "─".repeat(*wide)).collect();
    let mut lines = vec![line(head, bold), Line::raw(rule.join("─┼─"))];
    lines.extend(body.iter().map(|row| line(row, Style::new())));
    lines
}

/// Every cell with its head, for narrow screens.
fn listed(head: &[String], body: &[Vec<String>], bold: Style) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (number, row) in body.iter().enumerate() {
        if number > 0 {
            lines.push(Line::default());
        }
        for (name, cell) in head.iter().zip(row) {
            lines.push(Line::from(vec![
                Span::styled(format!("{name}: "), bold),
                Span::raw(cell.clone()),
            ]));
        }
    }
    lines
}
