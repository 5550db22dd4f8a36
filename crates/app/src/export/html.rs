//! The conversation as one page that loads nothing and needs no script.
//!
//! Everything that users, models and tools wrote goes through [`safe`]: what a terminal or a reader's eye
//! would fall for is removed, and what a browser would obey is text. Should that ever have
//! a gap, the page's own policy lets nothing run and nothing be fetched.

use std::fmt::Write;

use toolgate_gate::output::sanitize;
use toolgate_model::characters::seen;
use toolgate_model::{ContentBlock, Picture, ToolCall, base64};

use super::rich::rich;
use super::transcript::{Said, Story, Transcript};
use super::words;
use crate::text::grouped;
use crate::time as clock;

const STYLE: &str = include_str!("page.css");

pub(super) fn render(transcript: &Transcript) -> String {
    let title = named(&words::title(transcript));
    let results = words::stories(transcript).filter_map(|story| story.result.as_ref());
    let mut blocks = results.flat_map(|result| &result.blocks);
    // Images stand in the page itself, so nothing is fetched for them either.
    let images = match blocks.any(|block| picture(block).is_some()) {
        true => "; img-src data:",
        false => "",
    };
    let mut page = Page(String::new());
    page.add(&format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'{images}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{title} · Toolgate</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>"
    ));
    head(&mut page, transcript);
    strip(&mut page, transcript);
    page.add("<ol class=\"line\">");
    let mut number = 0;
    for message in &transcript.messages {
        let at = time(message.at_ms);
        match &message.said {
            Said::User { text } => page.add(&format!(
                "<li class=\"said user\"><h2>User</h2>{at}<div class=\"rich\">{}</div></li>",
                rich(text)
            )),
            Said::Assistant {
                text,
                thinking,
                calls,
                by_model,
            } => answered(&mut page, text, thinking.as_deref(), calls, *by_model, &at),
            Said::Ended { outcome, error } => page.add(&format!(
                "<li class=\"said ended\"><h2>The turn ended: {}</h2>{at}<p class=\"words\">{}</p></li>",
                named(outcome),
                safe(error.as_deref().unwrap_or_default())
            )),
            Said::Tool(story) => {
                number += 1;
                told(&mut page, story, number, &at);
            }
        }
    }
    page.add("</ol>\n<footer>Written by Toolgate from its journal. Differences show what a change took out; whole copies of files from before are not part of this page.</footer>");
    page.add("</main>\n</body>\n</html>");
    page.0
}

struct Page(String);

impl Page {
    fn add(&mut self, text: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{text}");
    }
}

/// Text as text: nothing in it is obeyed.
pub(super) fn safe(text: &str) -> String {
    let text = sanitize(text);
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '`' => safe.push_str("&#96;"),
            other => safe.push(other),
        }
    }
    safe
}

/// A name as text: one line, with everything written out that could not be seen.
fn named(text: &str) -> String {
    safe(&text.chars().flat_map(seen).collect::<String>())
}

fn time(at_ms: u64) -> String {
    format!(
        "<time datetime=\"{}\">{}</time>",
        clock::stamp(at_ms),
        clock::shown(at_ms)
    )
}

fn head(page: &mut Page, transcript: &Transcript) {
    page.add(&format!(
        "<header>\n<p class=\"kicker\">Toolgate · conversation</p>\n<h1>{}</h1>\n<dl>",
        named(&words::title(transcript))
    ));
    let first = transcript.messages.first();
    let began = first.map(|message| message.at_ms);
    let ended = transcript
        .messages
        .iter()
        .map(|message| message.at_ms)
        .max();
    let lasted = began
        .zip(ended)
        .map(|(began, ended)| ended.saturating_sub(began));
    let files = words::stories(transcript).filter(|story| story.has_changed());
    let mut files: Vec<&str> = files
        .flat_map(|story| &story.files)
        .map(|file| file.path.as_str())
        .collect();
    files.sort_unstable();
    files.dedup();
    let tokens = transcript.usage.as_ref().map(|usage| {
        let (read, written) = (usage.input_tokens, usage.output_tokens);
        format!("{} in, {} out", grouped(read), grouped(written))
    });
    for (name, value) in [
        ("Conversation", Some(transcript.conversation.clone())),
        ("Workspace", transcript.workspace.clone()),
        ("Model", transcript.model.clone()),
        ("Began", began.map(|at| format!("{} UTC", clock::shown(at)))),
        ("Lasted", lasted.map(words::span)),
        ("Calls", Some(words::counted(transcript))),
        ("Files changed", Some(files.len().to_string())),
        ("Tokens", tokens),
    ] {
        if let Some(value) = value {
            page.add(&format!(
                "<div><dt>{name}</dt><dd>{}</dd></div>",
                named(&value)
            ));
        }
    }
    page.add("</dl>\n</header>");
}

/// When each call ran, side by side, as bars that lead to the calls.
fn strip(page: &mut Page, transcript: &Transcript) {
    let spans: Vec<(u64, u64, &Story)> = words::stories(transcript)
        .map(|story| {
            let from = story.started_ms.or(story.finished_ms).unwrap_or(0);
            (from, story.finished_ms.unwrap_or(from), story)
        })
        .collect();
    let known = spans.iter().filter(|(from, ..)| *from > 0);
    let first = known.map(|(from, ..)| *from).min().unwrap_or(0);
    let last = spans.iter().map(|(_, to, _)| *to).max().unwrap_or(0);
    let whole = last.saturating_sub(first).max(1);
    if spans.len() < 2 {
        return;
    }
    page.add("<nav class=\"strip\" aria-label=\"When each call ran\">");
    // Thousandths, so that no number needs a fraction.
    let part = |ms: u64| ms.saturating_mul(1000) / whole;
    for (at, (from, to, story)) in spans.iter().enumerate() {
        let left = part(from.saturating_sub(first)).min(994);
        let wide = part(to.saturating_sub(*from)).clamp(6, 1000 - left);
        let class = words::ended(story).replace(' ', "-");
        // What never began and never ended has no place in time.
        let bar = if *from > 0 { "<i></i>" } else { "" };
        page.add(&format!(
            "<a class=\"{class}\" href=\"#call-{}\" style=\"--left:{left};--wide:{wide}\" title=\"{}\"><span>{}</span><b>{bar}</b></a>",
            at + 1,
            words::took(story),
            named(story.tool()),
        ));
    }
    page.add("<p class=\"axis\" aria-hidden=\"true\"><span></span><b>");
    for at in marks(whole) {
        page.add(&format!(
            "<i style=\"--left:{}\">{}</i>",
            part(at),
            words::span(at)
        ));
    }
    page.add("</b></p>\n</nav>");
}

/// The moments that an axis of this length names, in milliseconds: a round distance apart, and
/// no more than fit side by side.
fn marks(whole: u64) -> impl Iterator<Item = u64> {
    const MOST: u64 = 6;
    let rounds = [
        1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1_800, 3_600,
    ];
    let mut steps = [1, 2, 5, 10, 20, 50, 100, 200, 500]
        .into_iter()
        .chain(rounds.map(|seconds| seconds * 1_000))
        .chain((1..).map(|hours: u64| hours.saturating_mul(7_200_000)));
    let step = steps.find(|step| whole / step <= MOST).unwrap_or(whole);
    (0..=whole / step).map(move |number| number * step)
}

fn answered(
    page: &mut Page,
    text: &str,
    thinking: Option<&str>,
    calls: &[ToolCall],
    by_model: bool,
    at: &str,
) {
    let who = if by_model { "Assistant" } else { "Calls" };
    page.add(&format!("<li class=\"said assistant\"><h2>{who}</h2>{at}"));
    if let Some(thinking) = thinking {
        page.add(&format!(
            "<details><summary>Thinking</summary><p class=\"words\">{}</p></details>",
            safe(thinking)
        ));
    }
    if !text.is_empty() {
        page.add(&format!("<div class=\"rich\">{}</div>", rich(text)));
    }
    if !calls.is_empty() {
        let names = calls.iter().map(|call| {
            let (name, id) = (named(&call.name), named(call.id.as_str()));
            format!("<code title=\"{id}\">{name}</code>")
        });
        let names: Vec<String> = names.collect();
        page.add(&format!(
            "<p class=\"asks\">asks for {}</p>",
            names.join(" ")
        ));
    }
    page.add("</li>");
}

fn told(page: &mut Page, story: &Story, number: usize, at: &str) {
    let end = words::ended(story);
    let class = end.replace(' ', "-");
    page.add(&format!(
        "<li class=\"call {class}\" id=\"call-{number}\"><h2><span class=\"tool\">{}</span> <code>{}</code> <b class=\"chip\">{end}</b></h2>{at}",
        named(story.tool()),
        named(story.call.id.as_str())
    ));
    if let Some(plan) = &story.plan {
        page.add(&format!(
            "<p class=\"summary\">{}</p>",
            named(&plan.summary)
        ));
    }
    page.add("<dl>");
    let reason = story.call.reason.as_deref();
    let gone = |is_gone: bool| is_gone.then(|| words::GONE.to_owned());
    for (name, value) in [
        ("Asked by", Some(words::asked_by(story).to_owned())),
        ("The model says", reason.map(str::to_owned)),
        ("Let through by", Some(words::approved_by(story))),
        ("Took", Some(words::took(story))),
        ("Arguments", gone(story.gone.call)),
        ("Changed", gone(story.gone.files && story.files.is_empty())),
    ] {
        if let Some(value) = value {
            page.add(&format!(
                "<div><dt>{name}</dt><dd>{}</dd></div>",
                named(&value)
            ));
        }
    }
    if !story.files.is_empty() {
        page.add("<div class=\"files\"><dt>Changed</dt><dd><ul>");
        for file in &story.files {
            let (sign, word) = words::change(file);
            page.add(&format!(
                "<li class=\"{word}\"><b>{sign}</b> <code>{}</code> {word}</li>",
                named(&file.path)
            ));
        }
        page.add("</ul>");
        if let Some(reservation) = words::reservation(story) {
            page.add(&format!("<em>{reservation}</em>"));
        }
        page.add("</dd></div>");
    }
    page.add("</dl>");
    if let Some(args) = words::arguments(story) {
        folded(page, "Arguments", &safe(&args), false);
    }
    let diff = story.plan.as_ref().and_then(|plan| plan.preview.as_deref());
    if let Some(diff) = diff.filter(|_| !story.files.is_empty()) {
        folded(page, "Difference", &painted(diff), true);
    }
    match &story.result {
        Some(result) => {
            let name = match &result.error {
                Some(error) => format!("Result · {}", safe(&error.kind.to_string())),
                None => "Result".to_owned(),
            };
            let short = result.content.lines().count() <= 12;
            folded(page, &name, &safe(&result.content), short);
            for block in words::beside_text(result) {
                page.add(&shown_block(block));
            }
        }
        None => page.add(&format!(
            "<p class=\"none\">{}</p>",
            words::no_result(story)
        )),
    }
    page.add("</li>");
}

/// The image that a page may show: of a kind that was told by its bytes, in plain base64.
fn picture(block: &ContentBlock) -> Option<Picture<'_>> {
    let picture = block.picture()?;
    base64::decode(picture.data).is_ok().then_some(picture)
}

/// A block that is no text: the image, or what it is.
fn shown_block(block: &ContentBlock) -> String {
    let label = named(&block.label());
    match picture(block) {
        Some(picture) => format!(
            "<figure><img style=\"max-width:100%\" src=\"{}\" alt=\"{label}\"><figcaption>{label}</figcaption></figure>",
            picture.data_url()
        ),
        None => format!("<p class=\"none\">{label}</p>"),
    }
}

/// A part that can be opened. `inner` is safe already.
fn folded(page: &mut Page, name: &str, inner: &str, open: bool) {
    let open = if open { " open" } else { "" };
    // A browser drops the first line end after `<pre>`, and only that.
    page.add(&format!(
        "<details{open}><summary>{name}</summary><pre>\n{inner}</pre></details>"
    ));
}

/// A difference with its lines in colours. What stands before the first file's name, or is a
/// new file's text, is no difference.
fn painted(diff: &str) -> String {
    let mut compared = false;
    let mut line = |line: &str| {
        if line.starts_with("--- ") {
            compared = true;
        } else if line.starts_with("new file ") {
            compared = false;
        }
        let class = match line.chars().next() {
            _ if !compared => return format!("{}\n", safe(line)),
            _ if line.starts_with("---") || line.starts_with("+++") => "name",
            Some('+') => "plus",
            Some('-') => "minus",
            Some('@') => "place",
            _ => return format!("{}\n", safe(line)),
        };
        format!("<span class=\"{class}\">{}\n</span>", safe(line))
    };
    sanitize(diff).lines().map(&mut line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_marks_and_not_too_many() {
        for (whole, shown) in [
            (1, &[0, 1][..]),
            (7, &[0, 2, 4, 6]),
            (4_200, &[0, 1_000, 2_000, 3_000, 4_000]),
            (
                100_000,
                &[0, 15_000, 30_000, 45_000, 60_000, 75_000, 90_000],
            ),
        ] {
            assert_eq!(marks(whole).collect::<Vec<_>>(), shown, "{whole}");
        }
        for whole in (1..200_000_000).step_by(777_777) {
            let all: Vec<u64> = marks(whole).collect();
            assert!((1..=7).contains(&all.len()), "{whole}: {all:?}");
            assert!(all.iter().all(|at| *at <= whole));
        }
    }

    #[test]
    fn text_is_text_whatever_it_holds() {
        assert_eq!(
            safe("<script>\"'`&</script>\u{1b}[31m\u{202e}"),
            "&lt;script&gt;&quot;&#39;&#96;&amp;&lt;/script&gt;"
        );
        let diff = painted("- note\n--- a\n+<b>\n y\nnew file b\n+ z");
        assert_eq!(
            diff,
            "- note\n<span class=\"name\">--- a\n</span><span class=\"plus\">+&lt;b&gt;\n</span> y\nnew file b\n+ z\n"
        );
    }
}
