//! `web_search`: what search engines say, as a numbered list.
//!
//! ```text
//!  query ──▶ first provider ──▶ hits? ──▶ list
//!              │ none, or an error
//!              └──▶ next provider ──▶ …
//! ```
//!
//! Providers are asked in order until one of them finds something. They are servers of the
//! person's own configuration and may be anywhere; what they find is text like any other.
//!
//! Errors: none is configured, which is refused when a call is planned, or every one of them
//! fails; the error says how each did. Nothing found is no error.

mod brave;
mod searxng;

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout};
use toolgate_gate::tool::{Output, RunCtx, Spelling, TypedTool, typed};
use toolgate_model::{Category, ErrorKind, Facts, Risk, ToolError};

use crate::blocking::cancelled;
use crate::html::{Reading, Style, read};
use crate::web::{Header, TO_HAND_OVER, Target, Web, WebError};
pub use brave::Brave;
pub use searxng::Searxng;

const DESCRIPTION: &str = "Searches the web and returns a numbered list: title, URL and a few words \
    of each result. Read a result with web_fetch.";

/// What a call is refused with where no server is configured.
const NOT_CONFIGURED: &str = "no search server is configured, so nothing was sent. The user can name one \
    at the top of their config.toml: search.searxng.url = \"http://localhost:8080\" or \
    search.brave.api_key_env = \"BRAVE_API_KEY\". Pages whose URL is known are read with web_fetch.";

/// How many results are returned where the call does not say, and at most.
const USUAL: NonZeroUsize = NonZeroUsize::new(5).unwrap();
const MOST: usize = 50;
/// The most characters of a title, and of the words beside it.
const TITLE: usize = 200;
const SNIPPET: usize = 500;

/// One result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// The title of the page.
    pub title: String,
    /// Where it is.
    pub url: String,
    /// Some words of it.
    pub snippet: String,
}

/// Why a provider has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The way there failed.
    #[error("{0}")]
    Web(#[from] WebError),
    /// It answered with an error.
    #[error("HTTP {0}")]
    Status(String),
    /// It answered with something else.
    #[error("its answer cannot be read: {0}")]
    Unreadable(String),
}

/// Somebody who searches.
pub trait SearchProvider: fmt::Debug + Send + Sync {
    /// Its name, for results and errors.
    fn name(&self) -> &str;

    /// The host and the port that it is asked at.
    fn place(&self) -> String;

    /// The best results for a query, at most so many.
    fn search<'a>(
        &'a self,
        web: &'a Web,
        query: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, SearchError>>;
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebSearch {
    /// What to search for.
    #[schemars(length(min = 1, max = 2_000))]
    query: String,
    /// The most results to return.
    #[serde(default = "usual")]
    max_results: NonZeroUsize,
}

const fn usual() -> NonZeroUsize {
    USUAL
}

/// The tool.
pub(crate) fn tool(web: Arc<Web>, providers: Vec<Arc<dyn SearchProvider>>) -> TypedTool<WebSearch> {
    let limit = web.settings().limits.total;
    let places: Vec<String> = providers.iter().map(|provider| provider.place()).collect();
    let is_configured = !providers.is_empty();
    let tool = typed(
        "web_search",
        DESCRIPTION,
        move |args: WebSearch, cx: RunCtx| {
            let (web, providers) = (Arc::clone(&web), providers.clone());
            async move {
                let cancel = cx.cancel().clone();
                let searched = cancel
                    .run_until_cancelled(search(&args, &web, &providers))
                    .await;
                searched.unwrap_or_else(|| Err(cancelled()))
            }
        },
    )
    .check(move |args| {
        if args.query.trim().is_empty() {
            return Err(ToolError::bad_args(
                "query is empty; say what to search for",
            ));
        }
        if !is_configured {
            return Err(ToolError::new(ErrorKind::Disabled, NOT_CONFIGURED));
        }
        Ok(())
    })
    .summary(|args| format!("Search the web for {}", args.query))
    .facts(move |_| Facts {
        connects: places.clone(),
        ..Facts::none()
    })
    // It contacts nobody but the servers that the person named for this, so it counts as
    // reading: whoever does not want that names none, or writes a rule.
    .category(Category::Search)
    .risk(Risk::Low)
    .timeout(limit + TO_HAND_OVER)
    .spellings([Spelling::same("numResults", "max_results")]);
    // A model is not offered what would be refused.
    match is_configured {
        true => tool,
        false => tool.unadvertised(),
    }
}

async fn search(
    args: &WebSearch,
    web: &Web,
    providers: &[Arc<dyn SearchProvider>],
) -> Result<Output, ToolError> {
    let most = args.max_results.get().min(MOST);
    let query = args.query.trim();
    let (mut failures, mut answered) = (Vec::new(), None);
    let until = Instant::now() + web.settings().limits.total;
    for (provider, to_come) in providers.iter().zip((1..=providers.len()).rev()) {
        // A server that says nothing leaves the others their part of the time.
        let left = until.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(to_come).unwrap_or(u32::MAX);
        let searched = timeout(share, provider.search(web, query, most)).await;
        let searched = searched.unwrap_or_else(|_| {
            Err(SearchError::Web(WebError::TooSlow {
                place: provider.place(),
                after: share,
            }))
        });
        match searched {
            Ok(mut hits) => {
                hits.retain(is_usable);
                hits.truncate(most);
                if !hits.is_empty() {
                    return Ok(list(&hits, provider.name()));
                }
                answered = Some(provider.name());
            }
            Err(error) => failures.push((provider.name(), error)),
        }
    }
    match answered {
        Some(provider) => Ok(Output::plain("No results found. Try other words.")
            .display("Found 0 results")
            .with("provider", provider)
            .with("result_count", 0)),
        None => Err(nobody(&failures)),
    }
}

fn is_usable(hit: &Hit) -> bool {
    hit.url.starts_with("http://") || hit.url.starts_with("https://")
}

fn list(hits: &[Hit], provider: &str) -> Output {
    let entries = hits.iter().zip(1..).map(|(hit, number)| {
        let title = words(&hit.title, TITLE);
        let title = if title.is_empty() {
            "(no title)".to_owned()
        } else {
            title
        };
        // A line end in a URL would forge another entry.
        let url: String = hit.url.split_whitespace().collect();
        let mut entry = format!("{number}. {title}\n   {url}");
        let snippet = words(&hit.snippet, SNIPPET);
        if !snippet.is_empty() {
            entry.push_str(&format!("\n   {snippet}"));
        }
        entry
    });
    let entries: Vec<String> = entries.collect();
    let noun = if hits.len() == 1 { "result" } else { "results" };
    Output::plain(entries.join("\n\n"))
        .display(format!("Found {} {noun}", hits.len()))
        .with("provider", provider)
        .with("result_count", hits.len())
}

/// A text on one line, without tags, not too long.
fn words(text: &str, most: usize) -> String {
    let reading = Reading {
        style: Style::Text,
        selector: None,
        base: None,
        most: 16 * 1024,
    };
    // Engines mark what they found with tags.
    let plain = read(text, &reading, &|| true).map_or_else(|_| text.to_owned(), |page| page.text);
    let line: Vec<&str> = plain.split_whitespace().collect();
    let line = line.join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn nobody(failures: &[(&str, SearchError)]) -> ToolError {
    let each: Vec<String> = failures
        .iter()
        .map(|(name, error)| format!("{name}: {error}"))
        .collect();
    let only_status = failures
        .iter()
        .all(|(_, error)| matches!(error, SearchError::Status(_)));
    let kind = if only_status {
        ErrorKind::HttpStatus
    } else {
        ErrorKind::Network
    };
    ToolError::retryable(
        kind,
        format!("no search server answered. {}", each.join("; ")),
    )
}

/// Asks a server for JSON.
async fn ask<T: DeserializeOwned>(
    web: &Web,
    target: &Target,
    headers: &[Header],
) -> Result<T, SearchError> {
    let answer = web.get(target, headers).await?;
    if !answer.is_success() {
        return Err(SearchError::Status(answer.status_text()));
    }
    let content = answer.read().await?;
    serde_json::from_slice(&content.bytes)
        .map_err(|error| SearchError::Unreadable(error.to_string()))
}

/// A server's URL with a path beneath it, and a query.
fn question(server: &Target, path: &str, query: &[(&str, &str)]) -> Result<Target, SearchError> {
    let mut url = server.url().clone();
    let beneath = format!("{}{path}", url.path().trim_end_matches('/'));
    url.set_path(&beneath);
    url.query_pairs_mut().clear().extend_pairs(query);
    let target = Target::configured(url.as_str());
    target.map_err(|refusal| SearchError::Web(refusal.into()))
}
