//! A question as rows: for each call its title and all of it.

use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use toolgate_app::approvals::{ApprovalItem, ApprovalRequest};
use toolgate_app::text::whole_args;
use toolgate_model::Risk;
use toolgate_model::characters::code_points;

use crate::text::{self, wrapped};

const DIM: Style = Style::new().add_modifier(Modifier::DIM);
const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// The colour of a risk. Its word is always beside it.
pub(crate) const fn colour(risk: Risk) -> Color {
    match risk {
        Risk::Low => Color::Green,
        Risk::Medium => Color::Yellow,
        Risk::High => Color::Red,
    }
}

/// The rows of a question. Nothing of a call is left out.
pub fn lines(request: &ApprovalRequest, columns: usize) -> Vec<Line<'static>> {
    let many = request.items.len() > 1;
    let mut rows = Vec::new();
    for (number, item) in (1_usize..).zip(&request.items) {
        if number > 1 {
            rows.push(Line::default());
        }
        let mut title = Vec::new();
        if many {
            title.push(Span::styled(format!("{number}. "), BOLD));
        }
        title.push(Span::styled(
            format!("{} ", text::one_line(&item.tool)),
            BOLD,
        ));
        let risk = Style::new()
            .fg(colour(item.risk))
            .add_modifier(Modifier::BOLD);
        title.push(Span::styled(format!("{} risk", item.risk), risk));
        rows.extend(wrapped(&[Line::from(title)], columns));
        rows.extend(wrapped(
            &[Line::styled(text::one_line(&item.summary), BOLD)],
            columns,
        ));
        for banner in banners(item) {
            let style = Style::new().fg(Color::Red).add_modifier(Modifier::BOLD);
            rows.extend(wrapped(
                &[Line::styled(format!("! {banner}"), style)],
                columns,
            ));
        }
        rows.extend(block(&item.whole, columns, |_| Style::new()));
        if let Some(preview) = &item.preview {
            rows.extend(block(preview, columns, difference));
        }
        if item.preview_cut {
            rows.push(Line::styled("Every argument:", DIM));
            rows.extend(block(&whole_args(&item.args), columns, |_| Style::new()));
        }
        rows.extend(below(item, columns));
    }
    rows
}

/// What the call touches, why it needs approval, and what the model says.
fn below(item: &ApprovalItem, columns: usize) -> Vec<Line<'static>> {
    let facts = &item.facts;
    let mut said: Vec<(String, String)> = Vec::new();
    for (name, list) in [
        ("reads", &facts.reads),
        ("writes", &facts.writes),
        ("deletes", &facts.deletes),
        ("connects to", &facts.connects),
        ("would open", &item.could_open),
    ] {
        if !list.is_empty() {
            said.push((name.to_owned(), list.join(", ")));
        }
    }
    if !item.effects.is_empty() {
        said.insert(0, ("it".into(), item.effects.join("; ")));
    }
    if !facts.complete {
        said.push(("touches".into(), "perhaps more than is listed".into()));
    }
    said.push(("asked because".into(), item.why.clone()));
    if let Some(reason) = &item.model_reason {
        said.push(("the model says".into(), reason.clone()));
    }
    let warned = item.would_fail.iter().map(|why| {
        let words = format!("A plain yes fails: {}", text::one_line(why));
        Line::styled(words, Style::new().fg(Color::Yellow))
    });
    let said = said.into_iter().map(|(name, words)| {
        Line::from(vec![
            Span::styled(format!("{name}: "), DIM),
            Span::styled(text::one_line(&words), DIM),
        ])
    });
    wrapped(&warned.chain(said).collect::<Vec<_>>(), columns)
}

/// Warnings that no title shows.
fn banners(item: &ApprovalItem) -> Vec<String> {
    let mut banners = Vec::new();
    if !item.facts.runs.is_empty() {
        banners.push("This runs a command.".to_owned());
    }
    for reason in &item.facts.catastrophic {
        banners.push(text::one_line(reason));
    }
    let named = item.facts.runs.iter().filter_map(|run| run.words.first());
    let paths = item
        .facts
        .writes
        .iter()
        .chain(&item.facts.deletes)
        .chain(&item.facts.connects);
    for name in named.chain(paths) {
        if let Some(points) = code_points(name) {
            let name = text::one_line(name);
            banners.push(format!(
                "{name} has characters that may look like others: {points}"
            ));
        }
    }
    let holds_hidden = |text: &str| text.contains("\\u{");
    if holds_hidden(&item.whole) || item.preview.as_deref().is_some_and(holds_hidden) {
        banners.push("It holds characters that are not seen; they are written as \\u{…}.".into());
    }
    banners
}

/// Lines of a call behind a bar: none of them passes for a row of the question itself.
fn block(words: &str, columns: usize, style: impl Fn(&str) -> Style) -> Vec<Line<'static>> {
    let inner = columns.saturating_sub(2).max(1);
    let lines = text::lines(words);
    let lines = lines.into_iter().filter(|_| !words.is_empty());
    lines
        .flat_map(|line| {
            let style = style(&line);
            text::wrap(&Line::styled(line, style), inner)
        })
        .map(|row| {
            let mut spans = vec![Span::styled("│ ", DIM)];
            spans.extend(row.spans);
            Line::from(spans)
        })
        .collect()
}

/// The style of a line of a difference.
pub(crate) fn difference(line: &str) -> Style {
    match line.chars().next() {
        Some('+') => Style::new().fg(Color::Green),
        Some('-') => Style::new().fg(Color::Red),
        Some('@') => Style::new().fg(Color::Cyan),
        _ => Style::new(),
    }
}
