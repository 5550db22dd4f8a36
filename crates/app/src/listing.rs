//! The conversations on record as a user looks for them: the newest first, with the first words
//! of each, by the beginning of an id, or the last one of a workspace.
//!
//! ```
//! use toolgate_app::listing::Which;
//! use toolgate_app::{Input, ScriptText, StartOptions};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! # let (home, place) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let options = toolgate_app::AppOptions::new(toolgate_app::Home::at(home.path()), place.path());
//! # let app = toolgate_app::App::open(options)?;
//! # let script = ScriptText { path: "s".into(), text: b"[[steps]]\ntext = \"Nothing.\"\n".to_vec() };
//! # let options = StartOptions { script: Some(script), ..StartOptions::default() };
//! let conversation = app.start(options)?;
//! conversation.send(Input::message("Look around.")).await?.outcome().await?;
//! let listed = app.list(Which::default()).await?;
//! assert_eq!(listed[0].first_words.as_deref(), Some("Look around."));
//! let (beginning, _) = conversation.id().as_str().split_at(10);
//! assert_eq!(app.find_id(beginning).await?, *conversation.id());
//! assert_eq!(app.last_here().await?, *conversation.id());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;
use std::path::PathBuf;

use toolgate_gate::journal::{
    Body, Conversation, ConversationFilter, Filter, Line, ReadJournal, Record,
};
use toolgate_gate::output::Redactor;
use toolgate_model::{CallId, ConversationId};

use crate::app::App;
use crate::error::AppError;

/// The most characters of the first words.
const MOST_CHARS: usize = 72;

/// So many ids are named where the beginning of one is not enough.
const MOST_CANDIDATES: usize = 10;

/// What ids that Toolgate makes begin with.
const KINDS: [&str; 5] = ["run_", "exec_", "batch_", "chat_", "serve_"];

/// A short beginning of such an id is rather a name of the user's own.
const LEAST_DIGITS: usize = 4;

/// Which conversations are listed. A field that is not given does not narrow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Which {
    /// In which something happened at this time or later, in milliseconds since 1970.
    pub since_ms: Option<u64>,
    /// About this directory, with links resolved.
    pub workspace: Option<PathBuf>,
    /// At most so many, the newest.
    pub most: Option<usize>,
}

/// A conversation on record and what it begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The conversation.
    pub conversation: Conversation,
    /// The user's first words, or the first call where there are none: one line, cut.
    pub first_words: Option<String>,
}

impl App {
    /// The conversations that were asked for, the one in which something happened last first.
    pub async fn list(&self, which: Which) -> Result<Vec<Listed>, AppError> {
        let reader = self.reader()?;
        let redactor = self.journal_redactor()?;
        let mut found = newest(&*reader, which.workspace).await?;
        found.retain(|one| which.since_ms.is_none_or(|since| one.last_ms >= since));
        found.truncate(which.most.unwrap_or(usize::MAX));
        let mut listed = Vec::with_capacity(found.len());
        for conversation in found {
            let first_words = first_words(&*reader, &conversation.id, &redactor).await?;
            listed.push(Listed {
                conversation,
                first_words,
            });
        }
        Ok(listed)
    }

    /// The first words of a conversation, or its first call: one line, cut.
    pub async fn first_words(&self, id: &ConversationId) -> Result<Option<String>, AppError> {
        let redactor = self.journal_redactor()?;
        first_words(&*self.reader()?, id, &redactor).await
    }

    /// The id that is meant: this one if there is such a conversation, else the only one that
    /// begins with it, with or without its first word. Where there is none it stays as it is.
    pub async fn find_id(&self, text: &str) -> Result<ConversationId, AppError> {
        let asked = ConversationId::from(text);
        // A journal that cannot be read is reported by the command itself.
        let Ok(reader) = self.reader() else {
            return Ok(asked);
        };
        if text.is_empty() || reader.conversation(&asked).await?.is_some() {
            return Ok(asked);
        }
        let begins = |id: &str| {
            let of_kind = KINDS.iter().find_map(|kind| id.strip_prefix(kind));
            id.starts_with(text) || of_kind.is_some_and(|rest| rest.starts_with(text))
        };
        let mut meant = newest(&*reader, None).await?;
        meant.retain(|one| begins(one.id.as_str()));
        match meant.as_slice() {
            [] => Ok(asked),
            [only] => Ok(only.id.clone()),
            several => {
                let redactor = self.journal_redactor()?;
                let mut candidates = Vec::new();
                for one in several.iter().take(MOST_CANDIDATES) {
                    let words = first_words(&*reader, &one.id, &redactor).await?;
                    candidates.push(match words {
                        Some(words) => format!("  {}  {words}", one.id),
                        None => format!("  {}", one.id),
                    });
                }
                if let Some(more) = several.len().checked_sub(MOST_CANDIDATES)
                    && more > 0
                {
                    candidates.push(format!("  and {more} more"));
                }
                Err(AppError::Ambiguous {
                    prefix: text.to_owned(),
                    candidates,
                })
            }
        }
    }

    /// The same where a conversation of that name may also begin: only the beginning of an id
    /// as Toolgate makes them stands for it.
    pub async fn find_id_or_new(&self, text: &str) -> Result<ConversationId, AppError> {
        let mut kinds = KINDS.iter();
        let digits = kinds.find_map(|kind| text.strip_prefix(kind));
        let is_beginning = digits.is_some_and(|digits| {
            digits.len() >= LEAST_DIGITS && digits.chars().all(|digit| digit.is_ascii_hexdigit())
        });
        match is_beginning {
            true => self.find_id(text).await,
            false => Ok(text.into()),
        }
    }

    /// The call of a conversation that is meant: this one, or the only one that begins like it.
    pub async fn find_call(&self, id: &ConversationId, text: &str) -> Result<CallId, AppError> {
        let mut calls = BTreeSet::new();
        let each = |line: Line| {
            calls.insert(line.call.as_str().to_owned());
            true
        };
        let reader = self.reader()?;
        let reader: &dyn ReadJournal = &*reader;
        reader.each(Filter::of(id), each).await?;
        only_one(text, calls.iter().map(String::as_str)).map(CallId::from)
    }

    /// The last conversation of the app's workspace that a model took part in.
    pub async fn last_here(&self) -> Result<ConversationId, AppError> {
        self.last_with("turn_started").await
    }

    /// The last conversations of the app's workspace that meant to change files, the newest
    /// first.
    pub async fn changed_here(&self) -> Result<Vec<ConversationId>, AppError> {
        let found = self.here_with("intended", usize::MAX).await?;
        match found.is_empty() {
            true => Err(AppError::NoneHere(self.workspace().to_path_buf())),
            false => Ok(found),
        }
    }

    async fn last_with(&self, kind: &str) -> Result<ConversationId, AppError> {
        let found = self.here_with(kind, 1).await?.into_iter().next();
        found.ok_or_else(|| AppError::NoneHere(self.workspace().to_path_buf()))
    }

    /// Conversations of the workspace with an entry of this kind.
    async fn here_with(&self, kind: &str, most: usize) -> Result<Vec<ConversationId>, AppError> {
        if !self.journal_file().exists() {
            return Ok(Vec::new());
        }
        let reader = self.reader()?;
        let here = newest(&*reader, Some(self.workspace().to_path_buf())).await?;
        let mut found = Vec::new();
        for one in here {
            if found.len() >= most {
                break;
            }
            let filter = Filter {
                kind: Some(kind.to_owned()),
                most: Some(1),
                ..Filter::of(&one.id)
            };
            if !reader.entries(filter).await?.is_empty() {
                found.push(one.id);
            }
        }
        Ok(found)
    }
}

/// The one that begins like this, if it is one alone; the text itself where there is none.
///
/// ```
/// use toolgate_app::listing::only_one;
///
/// let ids = ["grant_12", "grant_34"];
/// assert_eq!(only_one("grant_3", ids)?, "grant_34");
/// assert_eq!(only_one("other", ids)?, "other");
/// assert!(only_one("grant", ids).is_err());
/// # Ok::<(), toolgate_app::AppError>(())
/// ```
pub fn only_one<'a>(
    text: &str,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<String, AppError> {
    let mut meant = Vec::new();
    for id in ids {
        if id == text {
            return Ok(text.to_owned());
        }
        if !text.is_empty() && id.starts_with(text) && !meant.contains(&id) {
            meant.push(id);
        }
    }
    match meant.as_slice() {
        [] => Ok(text.to_owned()),
        [only] => Ok((*only).to_owned()),
        several => Err(AppError::Ambiguous {
            prefix: text.to_owned(),
            candidates: several.iter().map(|id| format!("  {id}")).collect(),
        }),
    }
}

async fn newest(
    reader: &(impl ReadJournal + ?Sized),
    workspace: Option<PathBuf>,
) -> Result<Vec<Conversation>, AppError> {
    let filter = ConversationFilter {
        workspace: workspace.map(|place| place.to_string_lossy().into_owned()),
        ..ConversationFilter::default()
    };
    let mut found = reader.conversations(filter).await?;
    found.sort_by(|one, other| {
        let by_time = other.last_ms.cmp(&one.last_ms);
        by_time.then_with(|| other.started_ms.cmp(&one.started_ms))
    });
    Ok(found)
}

async fn first_words(
    reader: &(impl ReadJournal + ?Sized),
    id: &ConversationId,
    redactor: &Redactor,
) -> Result<Option<String>, AppError> {
    for kind in ["user_message", "planned"] {
        let filter = Filter {
            kind: Some(kind.to_owned()),
            most: Some(1),
            ..Filter::of(id)
        };
        let first = reader.entries(filter).await?.into_iter().next();
        if let Some(text) = first.and_then(said) {
            return Ok(Some(one_line(&redactor.shown(&text))).filter(|line| !line.is_empty()));
        }
    }
    Ok(None)
}

fn said(line: Line) -> Option<String> {
    match line.body {
        Body::Kept(record) => match *record {
            Record::UserMessage { text } => Some(text),
            Record::Planned { plan } => Some(plan.summary.clone()),
            _ => None,
        },
        Body::Pruned | Body::Unreadable(_) => None,
    }
}

/// The beginning of a text as one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(MOST_CHARS).collect();
    let line = words.join(" ");
    let mut letters = line.chars();
    let mut cut: String = letters.by_ref().take(MOST_CHARS).collect();
    if letters.next().is_some() {
        cut.pop();
        cut.push('…');
    }
    cut
}
