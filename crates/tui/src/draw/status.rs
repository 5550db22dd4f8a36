//! The rows under the input: commands that fit, and the status.

use std::time::Duration;

use ratatui_core::style::{Color, Style};
use ratatui_core::text::{Line, Span};

use crate::state::{BOLD, DIM, State};
use crate::text::{cut, one_line, short_number, short_time};

/// Commands that begin with what was typed.
pub(super) fn fitting(state: &State, columns: usize, most: usize) -> Vec<Line<'static>> {
    let rows = state
        .fitting()
        .into_iter()
        .take(most)
        .map(|(name, arguments, what)| {
            let line = Line::from(vec![
                Span::styled(format!("  {name} {arguments}"), BOLD),
                Span::styled(format!("  {what}"), DIM),
            ]);
            cut(&line, columns)
        });
    rows.collect()
}

/// The status line: a hint while there is one, else what the conversation is in.
pub(super) fn line(state: &State, columns: usize, now: Duration) -> Line<'static> {
    if let Some((hint, until)) = &state.hint
        && now < *until
    {
        return cut(
            &Line::styled(one_line(hint), Style::new().fg(Color::Yellow)),
            columns,
        );
    }
    let status = &state.status;
    let mut parts: Vec<String> = Vec::new();
    if let Some(since) = state.turn_since {
        let word = if state.ladder.is_stopping {
            "stopping"
        } else {
            "working"
        };
        parts.push(format!("{word} {}", short_time(now.saturating_sub(since))));
    }
    match state.waiting {
        0 => {}
        1 => parts.push("1 approval waits".into()),
        more => parts.push(format!("{more} approvals wait")),
    }
    if let Some(tokens) = status.context_tokens {
        parts.push(match status.context_limit {
            Some(limit) => format!("context {}/{}", short_number(tokens), short_number(limit)),
            None => format!("context {}", short_number(tokens)),
        });
        parts.push(format!("turn {}", short_number(status.turn_tokens)));
    }
    if let Some(cost) = status.cost {
        parts.push(dollars(cost));
    }
    for part in [
        &status.model,
        &status.trust,
        &status.sandbox,
        &status.workspace,
    ] {
        if !part.is_empty() {
            parts.push(one_line(part));
        }
    }
    cut(&Line::styled(parts.join(" · "), DIM), columns)
}

/// Millionths of a dollar in dollars: small amounts to a hundredth of a cent.
fn dollars(cost: u64) -> String {
    match cost {
        0..=999_999 => format!("${}.{:04}", cost / 1_000_000, cost % 1_000_000 / 100),
        _ => format!("${}.{:02}", cost / 1_000_000, cost % 1_000_000 / 10_000),
    }
}
