//! The screen: keys and messages in, frames out.

use std::io::Stdout;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{Event as Input, EventStream};
use futures::StreamExt;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;
use toolgate_app::Conversation;
use toolgate_app::interrupted::Interrupted;
use toolgate_model::ConversationId;

use super::commands::Planned;
use super::open::{self, Opened};
use super::{ChatError, ChatOptions, work};
use crate::draw::draw;
use crate::input::{DraftFile, History};
use crate::state::{Message, State, Status};
use crate::terminal::{Colours, Frame, Inline, Modes, current_size, probe};

/// How many messages wait for the screen.
const MESSAGES: usize = 256;
/// The shortest time between two frames that no key asked for.
const FRAME: Duration = Duration::from_millis(33);
/// The most events of a conversation that goes on which are shown again.
const REPLAYED: usize = 400;
/// A draft up to this length is stored at every key.
const SMALL: usize = 256 * 1024;

/// What the loop ended for.
pub(super) enum Next {
    Leave,
    /// Another conversation: one of the journal, or a new one.
    Switch(Option<ConversationId>),
}

pub(super) struct Screen {
    pub(super) options: ChatOptions,
    pub(super) inline: Inline<Stdout>,
    pub(super) modes: Modes,
    pub(super) keys: Option<EventStream>,
    pub(super) state: State,
    pub(super) draft: DraftFile,
    pub(super) stored: String,
    pub(super) begun: Instant,
    pub(super) last_frame: Option<Duration>,
    /// The undo that was shown last.
    pub(super) planned: Arc<Planned>,
}

pub(super) async fn chat(mut options: ChatOptions) -> Result<Option<ConversationId>, ChatError> {
    let mut opened =
        open::open(&options.app, options.conversation.as_ref(), &options.start).await?;
    let directory = options.directory.clone();
    let draft = DraftFile::adopt(&directory, options.app.workspace());
    let modes = Modes::enter()?;
    let answer = probe::ask()?;
    let colours = if options.colours {
        Colours::Sixteen
    } else {
        Colours::None
    };
    let inline = Inline::new(std::io::stdout(), current_size(), colours, options.reflows);
    let mut state = State::new(Status::default(), History::at(&directory));
    if let Some(text) = draft.read() {
        state.set_draft(&text);
    }
    state.update(Message::Paste(answer.typed), Duration::ZERO);
    let stop = std::mem::replace(&mut options.stop, Box::pin(futures::future::pending()));
    let mut screen = Screen {
        stored: state.draft(),
        options,
        inline,
        modes,
        keys: Some(EventStream::new()),
        state,
        draft,
        begun: Instant::now(),
        last_frame: None,
        planned: Arc::default(),
    };
    let mut stop = stop;
    let ended = loop {
        let next = screen.hold(&mut opened, &mut stop).await;
        let conversation = opened.conversation.clone();
        match next {
            Ok(Next::Switch(id)) => {
                conversation.end().await;
                match open::open(&screen.options.app, id.as_ref(), &screen.options.start).await {
                    Ok(other) => opened = other,
                    Err(error) => {
                        screen
                            .state
                            .update(Message::Wrong(error.to_string()), screen.now());
                        let again = Some(conversation.id().clone());
                        let again = again.filter(|_| screen.state.turns > 0);
                        opened =
                            open::open(&screen.options.app, again.as_ref(), &screen.options.start)
                                .await?;
                    }
                }
            }
            Ok(Next::Leave) => break Ok(conversation),
            Err(error) => break Err(error),
        }
    };
    let _ = screen.keep_draft(true);
    screen.keys = None;
    let _ = screen.inline.end();
    screen.modes.leave()?;
    let conversation = ended?;
    conversation.cancel();
    let is_journaled = conversation.is_journaled().await && screen.state.turns > 0;
    conversation.end().await;
    let went_on = screen.options.conversation.is_some();
    Ok((is_journaled || went_on).then(|| conversation.id().clone()))
}

impl Screen {
    pub(super) fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    /// Holds one conversation.
    async fn hold(
        &mut self,
        opened: &mut Opened,
        stop: &mut futures::future::BoxFuture<'static, ()>,
    ) -> Result<Next, ChatError> {
        let conversation = opened.conversation.clone();
        let (to, mut arriving) = channel(MESSAGES);
        let (mut interrupted, wanted) = (
            opened.interrupted.take(),
            std::mem::take(&mut opened.wanted),
        );
        self.begin(&conversation, interrupted.as_ref(), wanted)
            .await?;
        let mut subscription = conversation.subscribe(0).await?;
        let before = subscription.replay().await?;
        self.show_again(before);
        let mut tasks = vec![
            work::follow(subscription, to.clone()),
            work::ask(self.options.app.clone(), to.clone()),
        ];
        let next = self.turn_of_events(
            &conversation,
            &mut interrupted,
            &mut arriving,
            &to,
            stop,
            &mut tasks,
        );
        let next = next.await;
        for task in tasks {
            task.abort();
        }
        next
    }

    /// Says what the conversation is in.
    async fn begin(
        &mut self,
        conversation: &Conversation,
        interrupted: Option<&Interrupted>,
        wanted: Vec<(toolgate_model::CallId, String)>,
    ) -> Result<(), ChatError> {
        conversation.prepare().await?;
        let sandboxed = conversation.has_command_sandbox().await;
        let workspace = conversation.workspace().await;
        let workspace = workspace.as_deref().unwrap_or(self.options.app.workspace());
        let trust = conversation.trust().await.map(str::to_owned);
        let context_limit = conversation.context_tokens().await;
        // An undo of another conversation is none of this one.
        *self.planned.lock().await = None;
        let status = self.state.status_mut();
        *status = Status {
            workspace: short(workspace),
            trust: trust.unwrap_or_else(|| self.options.trust.clone()),
            context_limit,
            sandbox: if sandboxed {
                "sandboxed"
            } else {
                "commands refused"
            }
            .to_owned(),
            ..Status::default()
        };
        self.state.wanted = wanted;
        self.state.is_interrupted = interrupted.is_some();
        if let Some(interrupted) = interrupted {
            let now = self.now();
            self.state
                .update(Message::Said(open::told(interrupted)), now);
        }
        Ok(())
    }

    /// Shows the end of what is on record.
    fn show_again(&mut self, before: Vec<toolgate_model::Event>) {
        let left_out = before.len().saturating_sub(REPLAYED);
        if left_out > 0 {
            let line =
                format!("({left_out} earlier events are left out: /export writes all of them)");
            self.state.update(Message::Said(vec![line]), Duration::ZERO);
        }
        let wanted = self.state.wanted.clone();
        self.state.replay(true);
        let now = self.now();
        for event in before.into_iter().skip(left_out) {
            self.state.update(Message::Event(Box::new(event)), now);
        }
        self.state.replay(false);
        self.state.wanted = wanted;
    }

    async fn turn_of_events(
        &mut self,
        conversation: &Conversation,
        interrupted: &mut Option<Interrupted>,
        arriving: &mut Receiver<Message>,
        to: &Sender<Message>,
        stop: &mut futures::future::BoxFuture<'static, ()>,
        tasks: &mut Vec<JoinHandle<()>>,
    ) -> Result<Next, ChatError> {
        let mut is_due = Some(Duration::ZERO);
        loop {
            let now = self.now();
            if is_due.is_some_and(|due| due <= now) {
                self.frame()?;
                is_due = None;
            }
            let change = self
                .state
                .next_change(now)
                .map(|at| at.max(now + Duration::from_millis(1)));
            let wake = [is_due, change].into_iter().flatten().min();
            let wait = async {
                match wake {
                    Some(at) => tokio::time::sleep(at.saturating_sub(now)).await,
                    None => std::future::pending().await,
                }
            };
            let keys = self.keys.get_or_insert_with(EventStream::new);
            let mut by_key = false;
            let message = tokio::select! {
                biased;
                key = keys.next() => {
                    by_key = true;
                    match key {
                        Some(Ok(input)) => understood(input),
                        Some(Err(error)) => return Err(error.into()),
                        None => return Ok(Next::Leave),
                    }
                }
                () = &mut *stop => return Ok(Next::Leave),
                Some(message) = arriving.recv() => Some(message),
                () = wait => Some(Message::Tick),
            };
            let now = self.now();
            let effects = match message {
                Some(message) => self.state.update(message, now),
                None => Vec::new(),
            };
            if by_key {
                self.keep_draft(false)?;
            }
            for effect in effects {
                if let Some(next) = self
                    .act(effect, conversation, interrupted, to, tasks)
                    .await?
                {
                    return Ok(next);
                }
            }
            let soonest = match (by_key, self.last_frame) {
                (false, Some(last)) => last + FRAME,
                _ => now,
            };
            is_due = Some(is_due.map_or(soonest, |due| due.min(soonest)));
        }
    }

    /// Draws, and tells the state what was seen.
    fn frame(&mut self) -> Result<(), ChatError> {
        let size = current_size();
        let now = self.now();
        self.state.update(Message::Columns(size.columns), now);
        let drawn = draw(&mut self.state, size, now);
        let frame = Frame {
            finished: self.state.take_finished(),
            live: drawn.rows,
            caret: drawn.caret,
        };
        self.inline.draw(&frame, size)?;
        let now = self.now();
        self.last_frame = Some(now);
        self.state.update(Message::Painted(drawn.panel_rows), now);
        Ok(())
    }

    /// Stores the draft where it changed.
    pub(super) fn keep_draft(&mut self, at_the_end: bool) -> Result<(), ChatError> {
        let draft = self.state.draft();
        if draft == self.stored
            || (draft.len() > SMALL
                && !at_the_end
                && draft.len().abs_diff(self.stored.len()) < SMALL)
        {
            return Ok(());
        }
        if let Err(error) = self.draft.write(&draft) {
            let now = self.now();
            self.state
                .hint(format!("The draft cannot be stored: {error}"), now);
        }
        self.stored = draft;
        Ok(())
    }
}

fn understood(input: Input) -> Option<Message> {
    Some(match input {
        Input::Key(key) => Message::Key(key),
        Input::Paste(text) => Message::Paste(text),
        Input::FocusGained => Message::Focus(true),
        Input::FocusLost => Message::Focus(false),
        Input::Resize(columns, _) => Message::Columns(columns),
        Input::Mouse(_) => return None,
    })
}

/// The last part of a path.
fn short(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| path.display().to_string())
}
