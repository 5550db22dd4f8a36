//! `memory`: values under names, kept for the workspace from one conversation to the next.
//!
//! ```text
//!  get, set, delete, list ──▶ store (workspace, "memory")
//! ```
//!
//! What can go wrong: an argument is missing, a value is larger than the store takes, the
//! store cannot be used. A name that is not there is an answer, not an error.

mod notes;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::tool::{Output, RunCtx, TypedTool, typed};
use toolgate_model::{Category, Facts, Risk, ToolError};

pub use notes::Notes;
pub(crate) use notes::{Kept, space};

const DESCRIPTION: &str = "Remembers small texts for this workspace, also in later conversations. \
    `set` stores value under key, `get` returns it, `delete` removes it, `list` returns all keys.";

/// How many names are told to somebody who asked for one that is not there.
const NAMED: usize = 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Get,
    Set,
    Delete,
    List,
}

impl Action {
    const fn name(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Set => "set",
            Self::Delete => "delete",
            Self::List => "list",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Memory {
    /// What to do: `get`, `set`, `delete` or `list`.
    action: Action,
    /// The name of the value. Needed for everything but `list`.
    #[serde(default)]
    #[schemars(length(min = 1))]
    key: Option<String>,
    /// The text to store. Needed for `set`.
    #[serde(default)]
    value: Option<String>,
}

/// What a call asks for.
enum Request {
    Get(String),
    Set(String, String),
    Delete(String),
    List,
}

impl Memory {
    fn request(&self) -> Result<Request, ToolError> {
        let name = self.action.name();
        let missing = |what: &str| ToolError::bad_args(format!("{name} needs {what}"));
        let refused =
            |what: &str| ToolError::bad_args(format!("{name} takes no {what}; leave it out"));
        if self.value.is_some() && self.action != Action::Set {
            return Err(refused("value"));
        }
        let key = match (&self.key, self.action) {
            (None, Action::List) => return Ok(Request::List),
            (Some(_), Action::List) => return Err(refused("key")),
            (None, _) => return Err(missing("key")),
            (Some(key), _) => key.clone(),
        };
        // The list of keys has one on each line.
        if key.chars().any(char::is_control) {
            return Err(ToolError::bad_args(
                "key holds control characters; use a name of one line",
            ));
        }
        Ok(match self.action {
            Action::Set => {
                let value = self.value.clone().ok_or_else(|| missing("value"))?;
                Request::Set(key, value)
            }
            Action::Delete => Request::Delete(key),
            Action::Get | Action::List => Request::Get(key),
        })
    }
}

/// The tool.
pub(crate) fn tool(notes: &Notes) -> TypedTool<Memory> {
    let notes = notes.clone();
    typed("memory", DESCRIPTION, move |args: Memory, cx| {
        let notes = notes.clone();
        async move { remember(args.request()?, &notes, &cx).await }
    })
    .check(|args| args.request().map(drop))
    .summary(|args| {
        let key = args.key.as_deref().unwrap_or_default();
        format!("Memory {} {key}", args.action.name())
            .trim_end()
            .to_owned()
    })
    // What it changes are the model's own notes, nothing of the person's, so it is not asked about.
    .facts(|_| Facts::none())
    .category(Category::Other)
    .risk(Risk::Low)
}

async fn remember(request: Request, notes: &Notes, cx: &RunCtx) -> Result<Output, ToolError> {
    let space = space(cx, "memory");
    let store = notes.store();
    match request {
        Request::Get(key) => match store.get(&space, &key).await? {
            Some(value) => Ok(Output::exact(value)
                .display(format!("Retrieved {key}"))
                .with("found", true)),
            None => {
                let all = store.list(&space).await?;
                let known = all.iter().map(|(key, _)| key.as_str());
                Ok(not_found(&key, known))
            }
        },
        Request::Set(key, value) => {
            let before = store.set(&space, &key, value).await?;
            let told = format!("Stored {key}");
            Ok(Output::plain(&told)
                .display(told)
                .with("replaced", before.is_some()))
        }
        Request::Delete(key) => match store.delete(&space, &key).await? {
            Some(_) => {
                let told = format!("Deleted {key}");
                Ok(Output::plain(&told).display(told).with("found", true))
            }
            None => Ok(not_found(&key, [])),
        },
        Request::List => {
            let all = store.list(&space).await?;
            let keys: Vec<&str> = all.iter().map(|(key, _)| key.as_str()).collect();
            let noun = if keys.len() == 1 { "key" } else { "keys" };
            let content = if keys.is_empty() {
                "No keys are stored.".to_owned()
            } else {
                keys.join("\n")
            };
            Ok(Output::exact(content)
                .display(format!("{} {noun}", keys.len()))
                .with("count", keys.len()))
        }
    }
}

fn not_found<'a>(key: &str, known: impl IntoIterator<Item = &'a str>) -> Output {
    let known: Vec<&str> = known.into_iter().take(NAMED).collect();
    let mut told = format!("Key not found: {key}");
    if !known.is_empty() {
        told.push_str(&format!("\nKeys there are: {}", known.join(", ")));
    }
    Output::plain(told)
        .display("Key not found")
        .with("found", false)
}
