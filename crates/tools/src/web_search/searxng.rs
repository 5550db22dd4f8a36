//! SearXNG: a search engine of one's own, which asks others.

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::{Hit, SearchError, SearchProvider, ask, question};
use crate::web::{Refusal, Target, Web};

/// The engines that it is to ask.
const ENGINES: &str = "bing,duckduckgo,brave";

/// A SearXNG server.
#[derive(Clone, Debug)]
pub struct Searxng {
    server: Target,
}

impl Searxng {
    /// The server at a URL of the configuration.
    pub fn at(url: &str) -> Result<Self, Refusal> {
        let server = Target::configured(url)?;
        Ok(Self { server })
    }
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    results: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

impl SearchProvider for Searxng {
    fn name(&self) -> &str {
        "searxng"
    }

    fn place(&self) -> String {
        self.server.to_string()
    }

    fn search<'a>(
        &'a self,
        web: &'a Web,
        query: &'a str,
        _most: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, SearchError>> {
        async move {
            let asked = [("q", query), ("format", "json"), ("engines", ENGINES)];
            let target = question(&self.server, "/search", &asked)?;
            let found: Found = ask(web, &target, &[]).await?;
            let hits = found.results.into_iter().map(|entry| Hit {
                title: entry.title.unwrap_or_default(),
                url: entry.url.unwrap_or_default(),
                snippet: entry.content.unwrap_or_default(),
            });
            Ok(hits.collect())
        }
        .boxed()
    }
}
