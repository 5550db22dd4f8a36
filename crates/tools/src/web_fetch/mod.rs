//! `web_fetch`: a page of the web as text.
//!
//! ```text
//!  url ──▶ Target (checked, pure) ──▶ facts ──▶ policy, person
//!            └──▶ web ──▶ Answer ──▶ kind? ──▶ charset ──▶ html (selector, readable part) ──▶ text, cut
//! ```
//!
//! What can go wrong: the URL or the selector is refused before anything is contacted; the
//! way there fails ([`crate::web::WebError`]); the server answers with an error, whose text
//! is handed on; the answer is no text; no element fits the selector. What is longer than
//! wanted is cut, and says so.

pub mod html;
mod kind;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{Invocation, Output, RunCtx, Spelling, Tool, ToolSpec, read_args, typed};
use toolgate_model::{Args, Category, ErrorKind, Facts, Risk, ToolError};
use url::Url;

use crate::blocking::{blocking, cancelled};
use crate::web::{Answer, Content, TO_HAND_OVER, Target, Web, WebError, decode};
use html::{NothingFits, Reading, Selector, Style};
use kind::Kind;

const DESCRIPTION: &str = "Fetches a page of the web and returns its readable part as Markdown, or \
    as plain text. Give a CSS selector to get only what fits it. Texts that are no HTML (JSON, XML, \
    source code) are returned as they are. Only public hosts are contacted; a redirect to another \
    host is reported and has to be fetched by a call of its own.";

/// The most characters that are shown of the page of an error.
const ERROR_PAGE: usize = 2_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The whole URL, with `https://` or `http://`.
    #[schemars(length(min = 1))]
    url: String,
    /// A CSS selector: only elements that fit it are returned, such as `main` or `#content p`.
    #[serde(default)]
    #[schemars(length(min = 1, max = 1_000))]
    selector: Option<String>,
    /// The most characters to return. What is longer is cut at the end.
    #[serde(default)]
    max_length: Option<NonZeroUsize>,
    /// What the page is returned as: `markdown` with links and structure, or plain `text`.
    #[serde(default)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Format {
    #[default]
    Markdown,
    Text,
}

impl From<Format> for Style {
    fn from(format: Format) -> Self {
        match format {
            Format::Markdown => Self::Markdown,
            Format::Text => Self::Text,
        }
    }
}

/// The tool.
pub(crate) struct WebFetch {
    spec: ToolSpec,
    web: Arc<Web>,
}

impl WebFetch {
    pub(crate) fn new(web: Arc<Web>) -> Self {
        let limits = web.settings().limits;
        // Only what it says about itself is taken: a URL is parsed into more than a text.
        let described = typed("web_fetch", DESCRIPTION, |_: Arguments, _| async {
            Err(ToolError::failed("a page is fetched from its parsed URL"))
        })
        .category(Category::Web)
        .side_effects()
        .risk(Risk::Medium)
        // Its own deadline says more than the pipeline's, which comes a moment later.
        .timeout(limits.total + TO_HAND_OVER)
        .spellings([Spelling::same("maxLength", "max_length")]);
        Self {
            spec: Tool::spec(&described).clone(),
            web,
        }
    }
}

impl Tool for WebFetch {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        let args: Arguments = read_args(args)?;
        let target = Target::parse(&args.url, &self.web.settings().private_hosts)?;
        let selector = args.selector.as_deref().map(Selector::parse).transpose();
        let selector = selector.map_err(|error| ToolError::bad_args(error.to_string()))?;
        let facts = Facts {
            connects: vec![target.to_string()],
            ..Facts::none()
        };
        Ok(Box::new(Fetch {
            facts,
            wanted: Wanted {
                selector,
                max_length: args.max_length,
                style: args.format.into(),
            },
            target,
            web: Arc::clone(&self.web),
        }))
    }
}

/// A page that is to be fetched.
struct Fetch {
    target: Target,
    wanted: Wanted,
    facts: Facts,
    web: Arc<Web>,
}

/// What is wanted of a page.
struct Wanted {
    selector: Option<Selector>,
    max_length: Option<NonZeroUsize>,
    style: Style,
}

impl Invocation for Fetch {
    fn summary(&self) -> String {
        match &self.wanted.selector {
            Some(selector) => format!("Fetch {} of {}", selector.as_str(), self.target.url()),
            None => format!("Fetch {}", self.target.url()),
        }
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        async move {
            let cancel = cx.cancel().clone();
            let fetched = cancel.run_until_cancelled(fetch(*self, cx)).await;
            fetched.unwrap_or_else(|| Err(cancelled()))
        }
        .boxed()
    }
}

async fn fetch(fetch: Fetch, cx: RunCtx) -> Result<Output, ToolError> {
    let limits = fetch.web.settings().limits;
    let call_ends = Instant::now() + limits.total;
    let Fetch {
        target,
        wanted,
        web,
        ..
    } = fetch;
    let answer = web.get(&target, &[]).await;
    let answer = answer.map_err(|error| no_answer(target.url(), error))?;
    if answer.is_success() && kind::said(answer.content_type()) == Some(Kind::Binary) {
        return Err(no_text(&answer));
    }
    let head = Head::of(&answer);
    let content = answer.read().await;
    let content = content.map_err(|error| no_answer(&head.url, error))?;
    let convert = move || {
        let until = call_ends.min(Instant::now() + limits.convert);
        let go_on = || !cx.cancel().is_cancelled() && Instant::now() < until;
        if head.error.is_none() {
            page(&head, &content, &wanted, limits.max_bytes, &go_on)
        } else {
            Ok(failed(&head, &content, limits.max_bytes, &go_on))
        }
    };
    blocking(convert).await
}

/// What the head of an answer said.
struct Head {
    url: Url,
    status: u16,
    content_type: Option<String>,
    /// Why there is no page.
    error: Option<ToolError>,
}

impl Head {
    fn of(answer: &Answer) -> Self {
        let status = answer.status();
        let error = (!answer.is_success()).then(|| ToolError {
            kind: ErrorKind::HttpStatus,
            message: format!("HTTP {} ({})", answer.status_text(), answer.url()),
            retryable: matches!(status, 408 | 429 | 500..),
        });
        Self {
            url: answer.url().clone(),
            status,
            content_type: answer.content_type().map(str::to_owned),
            error,
        }
    }

    fn described(&self, output: Output) -> Output {
        let content_type = self.content_type.as_deref().unwrap_or_default();
        output
            .with("url", self.url.as_str())
            .with("status", self.status)
            .with("content_type", content_type)
    }
}

/// An error on the way, with the page that was wanted and the reason. A [`Target`] has no
/// user info, and what looks like a secret is taken out of every message.
fn no_answer(url: &Url, error: WebError) -> ToolError {
    let mut error = ToolError::from(error);
    if matches!(
        error.kind,
        ErrorKind::Network | ErrorKind::Timeout | ErrorKind::IdleTimeout
    ) {
        error.message = format!("Failed to fetch {url}: {}", error.message);
    }
    error
}

fn no_text(answer: &Answer) -> ToolError {
    let content_type = answer.content_type().unwrap_or("unknown content");
    ToolError::new(
        ErrorKind::Binary,
        format!(
            "{} is {content_type}, which is no text. Only pages and texts are fetched.",
            answer.url()
        ),
    )
}

/// The page as it is wanted.
fn page(
    head: &Head,
    content: &Content,
    wanted: &Wanted,
    most: usize,
    go_on: &dyn Fn() -> bool,
) -> Result<Output, ToolError> {
    let content_type = head.content_type.as_deref();
    let kind = kind::of(content_type, &content.bytes);
    if kind == Kind::Binary {
        return Err(ToolError::new(
            ErrorKind::Binary,
            format!(
                "{} holds no text. Only pages and texts are fetched.",
                head.url
            ),
        ));
    }
    let decoded = decode(&content.bytes, content_type, !content.cut);
    let read = if kind == Kind::Html {
        let reading = Reading {
            style: wanted.style,
            selector: wanted.selector.as_ref(),
            base: Some(&head.url),
            most,
        };
        html::read(&decoded.text, &reading, go_on)
            .map_err(|none| nothing_fits(head, wanted, &none))?
    } else if let Some(selector) = &wanted.selector {
        return Err(ToolError::bad_args(format!(
            "{} is {} and no HTML, so `{}` fits nothing in it. Leave selector out.",
            head.url,
            content_type.unwrap_or("plain text"),
            selector.as_str()
        )));
    } else {
        html::Page {
            text: decoded.text,
            ..html::Page::default()
        }
    };
    let whole = !(content.cut || read.cut);
    let mut text = read.text;
    let titled = wanted.selector.is_none() && wanted.style == Style::Markdown;
    if let (true, Some(title)) = (titled && !starts_with_heading(&text), &read.title) {
        text = format!("# {title}\n\n{text}");
    }
    let (mut text, left_out) = cut(text, wanted.max_length);
    if left_out > 0 {
        text.push_str(&format!(
            "\n\n[Content truncated: {left_out} characters omitted]"
        ));
    } else if !whole && kind == Kind::Html {
        text.push_str(
            "\n\n[Content truncated: the page goes on; ask for a part of it with selector]",
        );
    } else if !whole {
        text.push_str("\n\n[Content truncated: the page goes on]");
    }
    let characters = text.chars().count();
    if text.is_empty() {
        text.push_str("[The page holds no text.]");
    }
    let mut output =
        Output::plain(text).display(format!("Fetched {characters} characters from {}", head.url));
    output.cut = left_out > 0 || !whole;
    if let Some(title) = read.title {
        output = output.with("title", title);
    }
    Ok(head
        .described(output)
        .with("charset", decoded.charset)
        .with("bytes", content.bytes.len()))
}

fn starts_with_heading(text: &str) -> bool {
    text.starts_with("# ")
}

/// The first characters of a text, and how many were left out.
fn cut(mut text: String, most: Option<NonZeroUsize>) -> (String, usize) {
    let end = most.and_then(|most| text.char_indices().nth(most.get()));
    let Some((end, _)) = end else {
        return (text, 0);
    };
    let left_out = text.get(end..).map_or(0, |rest| rest.chars().count());
    text.truncate(end);
    (text, left_out)
}

fn nothing_fits(head: &Head, wanted: &Wanted, none: &NothingFits) -> ToolError {
    let selector = wanted.selector.as_ref().map_or("", Selector::as_str);
    let there = if none.there.is_empty() {
        "The page has no elements with ids or classes; leave selector out.".to_owned()
    } else {
        format!("Some that do: {}.", none.there.join(", "))
    };
    ToolError::new(
        ErrorKind::TargetNotFound,
        format!("no element of {} fits `{selector}`. {there}", head.url),
    )
}

/// What an answer with an error says, as far as it is text.
fn failed(head: &Head, content: &Content, most: usize, go_on: &dyn Fn() -> bool) -> Output {
    let wanted = Wanted {
        selector: None,
        max_length: NonZeroUsize::new(ERROR_PAGE),
        style: Style::Text,
    };
    let told = head.error.as_ref().map_or("", |error| &error.message);
    let body = page(head, content, &wanted, most, go_on);
    let content = match body {
        Ok(page) if !content.bytes.is_empty() => format!("{told}\n\n{}", page.content),
        _ => told.to_owned(),
    };
    let mut output = head.described(Output::plain(content)).display(told);
    output.error.clone_from(&head.error);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        let cut = |text: &str, most| cut(text.to_owned(), NonZeroUsize::new(most));
        assert_eq!(cut("äöü", 2), ("äö".to_owned(), 1));
        assert_eq!(cut("äöü", 3), ("äöü".to_owned(), 0));
        assert_eq!(cut("", 1), (String::new(), 0));
        assert_eq!(cut("abc", 0), ("abc".to_owned(), 0));
    }
}
