//! The conversation as Markdown.
//!
//! What models, tools and people wrote is quoted or fenced so that it stays inside its
//! place: no heading, fence or tag in it is one of the document's.

use std::fmt::Write;

use toolgate_gate::output::sanitize;
use toolgate_model::characters::seen;

use super::transcript::{Said, Story, Transcript};
use super::words;
use crate::time as clock;

pub(super) fn render(transcript: &Transcript) -> String {
    let mut page = format!("# Conversation {}\n\n", code(&transcript.conversation));
    let known = [
        ("Workspace", transcript.workspace.as_deref().map(code)),
        ("Model", transcript.model.as_deref().map(code)),
        ("Calls", Some(words::counted(transcript))),
        (
            "Tokens",
            transcript
                .usage
                .as_ref()
                .map(|usage| format!("{} in, {} out", usage.input_tokens, usage.output_tokens)),
        ),
    ];
    for (name, value) in known {
        if let Some(value) = value {
            line(&mut page, &format!("- {name}: {value}"));
        }
    }
    for message in &transcript.messages {
        let at = clock::shown(message.at_ms);
        match &message.said {
            Said::User { text } => {
                line(&mut page, &format!("\n## User · {at}\n"));
                line(&mut page, &quoted(text));
            }
            Said::Assistant {
                text,
                thinking,
                calls,
                by_model,
            } => {
                let who = if *by_model { "Assistant" } else { "Calls" };
                line(&mut page, &format!("\n## {who} · {at}\n"));
                if let Some(thinking) = thinking {
                    line(&mut page, &format!("*Thinking*\n\n{}\n", quoted(thinking)));
                }
                if !text.is_empty() {
                    line(&mut page, &format!("{}\n", quoted(text)));
                }
                for call in calls {
                    let (name, id) = (code(&call.name), code(call.id.as_str()));
                    line(&mut page, &format!("- calls {name} as {id}"));
                }
            }
            Said::Tool(story) => told(&mut page, story, &at),
            Said::Ended { outcome, error } => {
                line(
                    &mut page,
                    &format!("\n## The turn ended: {} · {at}\n", inline(outcome)),
                );
                if let Some(error) = error {
                    line(&mut page, &quoted(error));
                }
            }
        }
    }
    page
}

/// Writing to a string cannot fail.
fn line(page: &mut String, text: &str) {
    let _ = writeln!(page, "{text}");
}

fn told(page: &mut String, story: &Story, at: &str) {
    let (tool, id) = (code(story.tool()), code(story.call.id.as_str()));
    let end = words::ended(story);
    line(page, &format!("\n## Tool {tool} · {id} · {end} · {at}\n"));
    if let Some(plan) = &story.plan {
        line(page, &format!("{}\n", inline(&plan.summary)));
    }
    line(page, &format!("- asked by: {}", words::asked_by(story)));
    if let Some(reason) = &story.call.reason {
        line(page, &format!("- the model says: {}", inline(reason)));
    }
    line(
        page,
        &format!("- let through by: {}", inline(&words::approved_by(story))),
    );
    line(page, &format!("- took: {}", words::took(story)));
    for file in &story.files {
        let (_, word) = words::change(file);
        line(page, &format!("- {word}: {}", code(&file.path)));
    }
    if let Some(reservation) = words::reservation(story) {
        line(page, &format!("- files: {reservation}"));
    }
    match words::arguments(story) {
        Some(args) => line(page, &format!("\n{}", fenced("json", &args))),
        None => line(page, &format!("- arguments: {}", words::GONE)),
    }
    let diff = story.plan.as_ref().and_then(|plan| plan.preview.as_deref());
    if let Some(diff) = diff.filter(|_| !story.files.is_empty()) {
        line(page, &format!("\n{}", fenced("diff", diff)));
    }
    match &story.result {
        Some(result) => {
            if let Some(error) = &result.error {
                line(page, &format!("\nKind: {}", error.kind));
            }
            line(page, &format!("\n{}", fenced("text", &result.content)));
            for block in words::beside_text(result) {
                line(page, &format!("\nBeside it: {}", inline(&block.label())));
            }
        }
        None => line(page, &format!("\n{}", words::no_result(story))),
    }
}

/// A block that nothing in the text can end.
fn fenced(language: &str, text: &str) -> String {
    let text = sanitize(text);
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!(
        "{fence}{language}\n{}\n{fence}",
        text.trim_end_matches('\n')
    )
}

/// A name within a line.
fn code(text: &str) -> String {
    let text: String = text.chars().flat_map(seen).collect();
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let ticks = "`".repeat(longest + 1);
    // A blank keeps a tick at the edge apart from the marks; a reader takes it away again.
    let edge = text.starts_with('`') || text.ends_with('`') || text.is_empty();
    let gap = if edge { " " } else { "" };
    format!("{ticks}{gap}{text}{gap}{ticks}")
}

fn one_line(text: &str) -> String {
    sanitize(text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Words within a line, none of them a mark.
fn inline(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    for letter in one_line(text).chars() {
        if matches!(
            letter,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&'
        ) {
            words.push('\\');
        }
        words.push(letter);
    }
    words
}

/// Words that may be Markdown themselves, kept together and without tags.
fn quoted(text: &str) -> String {
    let mut fence: Option<(char, usize)> = None;
    let mut page = String::new();
    for line in sanitize(text).lines() {
        let mark = fence_of(line);
        let inside = fence.is_some();
        fence = match (fence, mark) {
            (None, Some((mark, count, _))) => Some((mark, count)),
            (Some((open, least)), Some((mark, count, true))) if mark == open && count >= least => {
                None
            }
            (fence, _) => fence,
        };
        let shown = if inside || mark.is_some() {
            line.to_owned()
        } else {
            line.replace('&', "&amp;").replace('<', "&lt;")
        };
        // Writing to a string cannot fail.
        let _ = writeln!(page, "> {shown}");
    }
    page.trim_end().to_owned()
}

/// Whether a line can open or close a fenced block: its mark, how many, and whether it can close.
fn fence_of(line: &str) -> Option<(char, usize, bool)> {
    let inner = line.trim_start_matches(' ');
    if line.len() - inner.len() > 3 {
        return None;
    }
    let mark = inner
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = inner.trim_start_matches(mark);
    let count = inner.len() - rest.len();
    let is_fence = count >= 3 && !rest.contains(['`', '<', '&']);
    is_fence.then_some((mark, count, rest.trim().is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_was_written_leaves_its_place() {
        assert_eq!(fenced("text", "a\n```\nb"), "````text\na\n```\nb\n````");
        assert_eq!(code("a`b"), "``a`b``");
        assert_eq!(code("`"), "`` ` ``");
        assert_eq!(inline("a\n# *b* <i>"), r"a \# \*b\* \<i\>");
        assert_eq!(quoted("<b>\n# x"), "> &lt;b>\n> # x");
        assert_eq!(
            quoted("```rust\nVec<u8>\n```\n<b>"),
            "> ```rust\n> Vec<u8>\n> ```\n> &lt;b>"
        );
        assert_eq!(
            quoted("~~~\n```\n<b>\n~~~~\n<b>"),
            "> ~~~\n> ```\n> <b>\n> ~~~~\n> &lt;b>"
        );
        assert_eq!(quoted("```<b>"), "> ```&lt;b>");
    }
}
