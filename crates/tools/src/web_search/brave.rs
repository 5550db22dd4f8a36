//! Brave Search, asked with a key.

use std::fmt;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;

use super::{Hit, SearchError, SearchProvider, ask, question};
use crate::web::{Refusal, Target, Web};

const SERVER: &str = "https://api.search.brave.com";
/// It gives no more in one answer.
const MOST: usize = 20;

/// Brave Search.
#[derive(Clone)]
pub struct Brave {
    server: Target,
    key: String,
}

impl Brave {
    /// The public service, with the person's key.
    pub fn new(key: impl Into<String>) -> Result<Self, Refusal> {
        Self::at(SERVER, key)
    }

    /// The service at another place.
    pub fn at(url: &str, key: impl Into<String>) -> Result<Self, Refusal> {
        let server = Target::configured(url)?;
        let key = key.into();
        Ok(Self { server, key })
    }
}

impl fmt::Debug for Brave {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the key.
        f.debug_struct("Brave")
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    web: Option<Pages>,
}

#[derive(Deserialize)]
struct Pages {
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
    description: Option<String>,
}

impl SearchProvider for Brave {
    fn name(&self) -> &str {
        "brave"
    }

    fn place(&self) -> String {
        self.server.to_string()
    }

    fn search<'a>(
        &'a self,
        web: &'a Web,
        query: &'a str,
        most: usize,
    ) -> BoxFuture<'a, Result<Vec<Hit>, SearchError>> {
        async move {
            let count = most.min(MOST).to_string();
            let asked = [("q", query), ("count", &count)];
            let target = question(&self.server, "/res/v1/web/search", &asked)?;
            let key = [("x-subscription-token", self.key.clone())];
            let found: Found = ask(web, &target, &key).await?;
            let entries = found.web.map(|pages| pages.results).unwrap_or_default();
            let hits = entries.into_iter().map(|entry| Hit {
                title: entry.title.unwrap_or_default(),
                url: entry.url.unwrap_or_default(),
                snippet: entry.description.unwrap_or_default(),
            });
            Ok(hits.collect())
        }
        .boxed()
    }
}
