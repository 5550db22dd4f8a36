//! A text on the alternate screen, which is left as it was found.

use std::io::{self, Write};

use crossterm::event::{Event, EventStream, KeyCode, KeyEventKind};
use futures::StreamExt;
use ratatui_core::text::Line;

use super::current_size;
use crate::text::{cut, lines, one_line, wrapped};

/// Shows a text until the user leaves it.
pub async fn page(title: &str, text: &str, keys: &mut EventStream) -> io::Result<()> {
    write("\u{1b}[?1049h\u{1b}[?25l")?;
    let shown = show(title, text, keys).await;
    write("\u{1b}[?1049l\u{1b}[?25h")?;
    shown
}

async fn show(title: &str, text: &str, keys: &mut EventStream) -> io::Result<()> {
    let all: Vec<Line<'static>> = lines(text).into_iter().map(Line::raw).collect();
    let mut top = 0_usize;
    loop {
        let size = current_size();
        let columns = usize::from(size.columns.saturating_sub(1)).max(1);
        let fits = usize::from(size.rows.saturating_sub(1)).max(1);
        let rows = wrapped(&all, columns);
        let last = rows.len().saturating_sub(fits);
        top = top.min(last);
        let mut out = String::from("\u{1b}[?2026h\u{1b}[?7l");
        for number in 0..fits {
            out.push_str(&format!("\u{1b}[{};1H\u{1b}[2K", number + 1));
            if let Some(row) = rows.get(top + number) {
                out.push_str(&one_line(&row.to_string()));
            }
        }
        let end = (top + fits).min(rows.len());
        let status = format!("{}  {end}/{}  q leaves", one_line(title), rows.len());
        let status = cut(&Line::raw(status), columns);
        out.push_str(&format!(
            "\u{1b}[{};1H\u{1b}[2K\u{1b}[7m{status}\u{1b}[0m\u{1b}[?7h\u{1b}[?2026l",
            fits + 1
        ));
        write(&out)?;
        let Some(event) = keys.next().await else {
            return Ok(());
        };
        let Event::Key(key) = event? else {
            continue;
        };
        if key.kind == KeyEventKind::Release {
            continue;
        }
        top = match key.code {
            KeyCode::Char('q' | 'c' | 'o') | KeyCode::Esc => return Ok(()),
            KeyCode::Up | KeyCode::Char('k') => top.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') | KeyCode::Enter => top + 1,
            KeyCode::PageUp | KeyCode::Char('b') => top.saturating_sub(fits),
            KeyCode::PageDown | KeyCode::Char(' ' | 'f') => top + fits,
            KeyCode::Home | KeyCode::Char('g') => 0,
            KeyCode::End | KeyCode::Char('G') => last,
            _ => top,
        };
    }
}

fn write(bytes: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes.as_bytes())?;
    out.flush()
}
