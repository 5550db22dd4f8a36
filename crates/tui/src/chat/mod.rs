//! `toolgate chat`: a conversation on the terminal, from the first key to the last.
//!
//! ```no_run
//! use std::sync::Arc;
//! use toolgate_app::{App, AppOptions, Approval, Home};
//! use toolgate_tui::{ChatOptions, chat};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let options = AppOptions::new(Home::at("/home/me/.toolgate"), ".").approval(Approval::Pending);
//! let options = ChatOptions::new(App::open(options)?, "/home/me/.toolgate/chat");
//! chat(options).await?;
//! # Ok(())
//! # }
//! ```

mod acts;
mod clipboard;
mod commands;
mod open;
mod paths;
mod plain;
mod plain_choices;
mod screen;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt};
use toolgate_app::{App, AppError, StartOptions};
use toolgate_model::ConversationId;

/// Lets the user change a text in an editor of their own; an error says why not.
pub type EditText = Arc<dyn Fn(&str) -> Result<String, String> + Send + Sync>;

/// What a chat starts from.
pub struct ChatOptions {
    /// The app. Its questions have to be pending ones to be answered here.
    pub app: App,
    /// How conversations are held.
    pub start: StartOptions,
    /// A conversation that goes on.
    pub conversation: Option<ConversationId>,
    /// Where drafts and the history of the input are.
    pub directory: PathBuf,
    /// Linear text for screen readers.
    pub plain: bool,
    /// Whether colours are wanted.
    pub colours: bool,
    /// Whether the terminal wraps its rows anew when it changes its width.
    pub reflows: bool,
    /// Whether notifications have to pass through tmux.
    pub is_in_tmux: bool,
    /// The trust level, for the status line.
    pub trust: String,
    /// The user's editor.
    pub edit: Option<EditText>,
    /// Ends the chat: a signal.
    pub stop: BoxFuture<'static, ()>,
    /// Suspends the program until it is continued.
    pub suspend: Arc<dyn Fn() + Send + Sync>,
}

impl std::fmt::Debug for ChatOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ChatOptions")
            .field("app", &self.app)
            .field("conversation", &self.conversation)
            .field("plain", &self.plain)
            .finish_non_exhaustive()
    }
}

impl ChatOptions {
    /// A new conversation in colours, with drafts in this directory.
    pub fn new(app: App, directory: impl Into<PathBuf>) -> Self {
        Self {
            app,
            start: StartOptions::default(),
            conversation: None,
            directory: directory.into(),
            plain: false,
            colours: true,
            reflows: true,
            is_in_tmux: false,
            trust: String::new(),
            edit: None,
            stop: futures::future::pending().boxed(),
            suspend: Arc::new(|| {}),
        }
    }
}

/// Why a chat could not be held.
#[derive(Debug)]
pub enum ChatError {
    /// The app refused.
    App(AppError),
    /// The terminal failed.
    Terminal(io::Error),
}

impl std::fmt::Display for ChatError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::App(error) => error.fmt(f),
            Self::Terminal(error) => write!(f, "the terminal failed: {error}"),
        }
    }
}

impl std::error::Error for ChatError {}

impl From<AppError> for ChatError {
    fn from(error: AppError) -> Self {
        Self::App(error)
    }
}

impl From<io::Error> for ChatError {
    fn from(error: io::Error) -> Self {
        Self::Terminal(error)
    }
}

/// Holds conversations until the user leaves. Returns the last one, if any of it is journaled.
pub async fn chat(options: ChatOptions) -> Result<Option<ConversationId>, ChatError> {
    match options.plain {
        true => plain::chat(options).await,
        false => screen::chat(options).await,
    }
}
