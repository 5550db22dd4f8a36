//! The state of the screen: messages in, effects out. No I/O, no clock: the time comes in.
//!
//! ```text
//! keys, pastes, events, questions, frames ──▶ State::update ──▶ Effects: send, answer, stop, print …
//!                                                  │
//!                                                  └──▶ draw: the live region
//! ```
//!
//! ```
//! use std::time::Duration;
//! use toolgate_tui::state::{Effect, Message, State, Status};
//!
//! let mut state = State::new(Status::default(), Vec::new());
//! state.update(Message::Paste("hello".into()), Duration::ZERO);
//! assert_eq!(state.draft(), "hello");
//! ```

pub mod calls;
mod commands;
mod events;
mod keys;
mod stop;

use std::collections::VecDeque;
use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui_core::style::{Color, Modifier, Style};
use ratatui_core::text::{Line, Span};
use toolgate_app::approvals::{Answer, ApprovalRequest};
use toolgate_app::supplied::SuppliedResult;
use toolgate_model::{ApprovalId, CallId, Event};

use crate::blocks::Streaming;
use crate::input::{Editor, History};
use crate::panel::Panel;
use crate::text;
use calls::CallView;
pub use commands::{COMMANDS, Command};
use stop::Ladder;

/// The most finished calls whose whole output can be opened, and the most bytes of one.
const KEPT: usize = 50;
const KEPT_BYTES: usize = 256 * 1024;

/// What the status line says besides the turn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The workspace.
    pub workspace: String,
    /// The model, once it is known.
    pub model: String,
    /// The trust level.
    pub trust: String,
    /// Whether commands run in a sandbox.
    pub sandbox: String,
    /// The tokens of the context that the last answer was given in.
    pub context_tokens: Option<u64>,
    /// The tokens that the model's context holds, if configured.
    pub context_limit: Option<u64>,
    /// The tokens of the turn so far.
    pub turn_tokens: u64,
    /// What the turns so far cost, in millionths of a dollar, where prices are configured.
    pub cost: Option<u64>,
}

/// Something that happened.
#[derive(Debug)]
pub enum Message {
    /// A key.
    Key(KeyEvent),
    /// A paste.
    Paste(String),
    /// An event of the conversation.
    Event(Box<Event>),
    /// The questions that wait.
    Questions(Vec<ApprovalRequest>),
    /// A turn ended, perhaps with what the user should know.
    TurnOver(Option<String>),
    /// Words that were not sent, and why.
    Unsent(String, String),
    /// All events of this turn should have come.
    TurnSettled(u64),
    /// A frame was painted; so many rows of the panel were on it.
    Painted(Option<usize>),
    /// The window came to the front or went to the back.
    Focus(bool),
    /// The terminal's width.
    Columns(u16),
    /// Time passed.
    Tick,
    /// What a turn cost, in millionths of a dollar, and the tokens that the model's context holds.
    Spent(Option<u64>, Option<u64>),
    /// Lines for the user.
    Said(Vec<String>),
    /// What the user should know went wrong.
    Wrong(String),
    /// Names that begin with a path that was asked for.
    Completions(String, Vec<String>),
    /// The editor came back with this text.
    Edited(String),
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Begin a turn.
    Send(String),
    /// Give results for calls that were left to the user.
    Supply(Vec<(CallId, String)>),
    /// Stop a call alone.
    StopCall(CallId),
    /// Stop the turn.
    Cancel,
    /// Answer a question.
    Answer(ApprovalId, Answer),
    /// A command of the program, with its argument.
    Command(&'static str, String),
    /// Find names that begin with this path.
    Complete(String),
    /// Open the draft in the user's editor.
    Edit(String),
    /// Show lines on the alternate screen.
    Page(String, String),
    /// Find out what a turn with this usage cost.
    Price(serde_json::Value),
    /// Put a text on the clipboard of the terminal.
    Copy(String),
    /// Tell the user, who may look elsewhere.
    Notify(String),
    /// End the program's foreground job.
    Suspend,
    /// End the program.
    Quit,
}

/// What the screen shows.
pub struct State {
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) browsing: Option<(usize, String)>,
    pub(crate) search: Option<(String, usize)>,
    pub(crate) queue: VecDeque<String>,
    pub(crate) status: Status,
    pub(crate) calls: Vec<CallView>,
    pub(crate) panel: Option<Panel>,
    pub(crate) waiting: usize,
    pub(crate) turn_since: Option<Duration>,
    pub(crate) wanted: Vec<(CallId, String)>,
    pub(crate) supplied: Vec<(CallId, String)>,
    pub(crate) answer: Streaming,
    pub(crate) answer_id: Option<String>,
    pub(crate) thinking: String,
    pub(crate) thinking_since: Option<Duration>,
    pub(crate) shows_thinking: bool,
    pub(crate) hint: Option<(String, Duration)>,
    pub(crate) ladder: Ladder,
    pub(crate) columns: u16,
    /// How many turns were begun here.
    pub(crate) turns: u64,
    /// Whether the user has to decide first what becomes of calls that were cut off.
    pub(crate) is_interrupted: bool,
    kept: VecDeque<(String, String)>,
    /// The last answer, to be copied.
    pub(crate) last_answer: String,
    /// Whether the turn's end was in the events, and whether its task has ended.
    over: (bool, bool),
    has_focus: bool,
    last_key: Option<Duration>,
    /// Lines to print with the next frame.
    finished: Vec<Line<'static>>,
    /// Whether the last printed line is empty.
    ends_apart: bool,
    replaying: bool,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

impl State {
    /// A screen with what was written before.
    pub fn new(status: Status, history: impl Into<History>) -> Self {
        Self {
            editor: Editor::default(),
            history: history.into(),
            browsing: None,
            search: None,
            queue: VecDeque::new(),
            status,
            calls: Vec::new(),
            panel: None,
            waiting: 0,
            turn_since: None,
            wanted: Vec::new(),
            supplied: Vec::new(),
            answer: Streaming::default(),
            answer_id: None,
            thinking: String::new(),
            thinking_since: None,
            shows_thinking: false,
            hint: None,
            ladder: Ladder::default(),
            columns: 80,
            turns: 0,
            is_interrupted: false,
            kept: VecDeque::new(),
            last_answer: String::new(),
            over: (false, false),
            has_focus: true,
            last_key: None,
            finished: Vec::new(),
            ends_apart: true,
            replaying: false,
        }
    }

    /// The text that is being written, whole.
    pub fn draft(&self) -> String {
        self.editor.text()
    }

    /// Replaces it.
    pub fn set_draft(&mut self, text: &str) {
        self.editor.set(text);
    }

    /// The status, to change it.
    pub fn status_mut(&mut self) -> &mut Status {
        &mut self.status
    }

    /// Whether a turn runs.
    pub fn is_working(&self) -> bool {
        self.turn_since.is_some()
    }

    /// Begins or ends showing what is on record: nothing of it is under way.
    pub fn replay(&mut self, on: bool) {
        self.replaying = on;
        if !on {
            self.calls.clear();
            self.turn_since = None;
            self.end_answer();
        }
    }

    /// The lines that are to be printed for good.
    pub fn take_finished(&mut self) -> Vec<Line<'static>> {
        std::mem::take(&mut self.finished)
    }

    /// When something on the screen changes by itself: a spinner, a hint that ends, a panel
    /// that takes keys from then on. Nothing does while the screen is idle.
    pub fn next_change(&self, now: Duration) -> Option<Duration> {
        let spins = self.is_working() && self.panel.as_ref().is_none_or(|panel| !panel.has_focus);
        let spins = spins.then(|| now + SPIN);
        let hint = self.hint.as_ref().map(|(_, until)| *until);
        let armed = self
            .panel
            .as_ref()
            .and_then(|panel| panel.arming.armed_at());
        let armed = armed.filter(|at| *at > now);
        [spins, hint, armed].into_iter().flatten().min()
    }

    /// Takes a message.
    pub fn update(&mut self, message: Message, now: Duration) -> Vec<Effect> {
        if self.hint.as_ref().is_some_and(|(_, until)| *until <= now) {
            self.hint = None;
        }
        match message {
            Message::Key(key) => self.key(key, now),
            Message::Paste(text) => self.pasted(&text, now),
            Message::Event(event) => self.event(&event, now),
            Message::Questions(all) => self.questions(all),
            Message::TurnOver(why) => {
                if let Some(why) = why {
                    self.wrong(&why);
                    self.over.0 = true;
                }
                self.over.1 = true;
                self.turn_over(now)
            }
            Message::TurnSettled(turn) if turn == self.turns && self.is_working() => {
                self.over = (true, true);
                self.turn_over(now)
            }
            Message::TurnSettled(_) => Vec::new(),
            Message::Unsent(words, why) => {
                self.wrong(&why);
                if self.editor.is_empty() {
                    self.editor.set(&words);
                }
                self.queue.clear();
                self.over = (true, true);
                self.turn_over(now)
            }
            Message::Painted(shown) => {
                if let (Some(panel), Some(shown)) = (&mut self.panel, shown) {
                    panel.painted(now, shown);
                }
                Vec::new()
            }
            Message::Focus(has) => {
                self.has_focus = has;
                Vec::new()
            }
            Message::Columns(columns) => {
                self.columns = columns;
                Vec::new()
            }
            Message::Tick => Vec::new(),
            Message::Spent(cost, limit) => {
                self.status.context_limit = limit.or(self.status.context_limit);
                if let Some(cost) = cost {
                    self.status.cost = Some(self.status.cost.unwrap_or_default() + cost);
                }
                Vec::new()
            }
            Message::Said(lines) => {
                self.print(lines.iter().map(|line| Line::raw(text::line(line))));
                Vec::new()
            }
            Message::Wrong(what) => {
                self.wrong(&what);
                Vec::new()
            }
            Message::Completions(path, names) => {
                self.completed(&path, names, now);
                Vec::new()
            }
            Message::Edited(text) => {
                self.editor.set(text.trim_end_matches('\n'));
                Vec::new()
            }
        }
    }

    pub(crate) fn print(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        self.finished.extend(lines);
        if let Some(last) = self.finished.last() {
            self.ends_apart = last.spans.is_empty();
        }
    }

    /// Prints lines that are set apart from those before.
    pub(crate) fn print_apart(&mut self, lines: Vec<Line<'static>>) {
        let begins_apart = lines.first().is_none_or(|line| line.spans.is_empty());
        if !begins_apart && !self.ends_apart {
            self.print([Line::default()]);
        }
        self.print(lines);
    }

    pub(crate) fn wrong(&mut self, what: &str) {
        let style = Style::new().fg(Color::Red);
        let lines = text::lines(what);
        let mut first = true;
        for line in lines {
            let mark = if std::mem::take(&mut first) {
                "! "
            } else {
                "  "
            };
            self.finished
                .push(Line::from(vec![Span::styled(mark, style), Span::raw(line)]));
        }
    }

    /// Says something for a few seconds under the input.
    pub(crate) fn hint(&mut self, words: impl Into<String>, now: Duration) {
        self.hint = Some((words.into(), now + HINT));
    }

    /// Keeps a call's whole output for the pager.
    fn keep(&mut self, title: String, shown: &str) {
        let end = shown.floor_char_boundary(KEPT_BYTES);
        let mut kept = shown.get(..end).unwrap_or_default().to_owned();
        if end < shown.len() {
            kept.push_str("\n… the rest is in the journal: toolgate journal show");
        }
        self.kept.push_back((title, kept));
        if self.kept.len() > KEPT {
            self.kept.pop_front();
        }
    }

    /// The last call's whole output.
    pub(crate) fn last_output(&self) -> Option<(String, String)> {
        self.kept.back().cloned()
    }

    /// Takes the questions that wait: the first is shown.
    fn questions(&mut self, all: Vec<ApprovalRequest>) -> Vec<Effect> {
        self.waiting = all.len();
        let shown = self.panel.as_ref().map(|panel| panel.request.id);
        if let Some(id) = shown {
            if all.iter().any(|request| request.id == id) {
                return Vec::new();
            }
            self.panel = None;
        }
        let Some(request) = all.into_iter().next() else {
            return Vec::new();
        };
        let first = request.items.first().map(|item| item.summary.clone());
        self.panel = Some(Panel::new(request));
        match self.has_focus {
            true => Vec::new(),
            false => vec![Effect::Notify(format!(
                "Approval needed: {}",
                first.unwrap_or_default()
            ))],
        }
    }

    /// Notes that a turn's end is in the events.
    pub(crate) fn turn_ended(&mut self, now: Duration) -> Vec<Effect> {
        if self.replaying {
            return Vec::new();
        }
        self.over.0 = true;
        self.turn_over(now)
    }

    /// The turn is over when its last event has come and its task has ended.
    fn turn_over(&mut self, now: Duration) -> Vec<Effect> {
        if self.over != (true, true) {
            return Vec::new();
        }
        self.over = (false, false);
        self.turn_since = None;
        self.calls.clear();
        self.end_answer();
        self.ladder = Ladder::default();
        let mut effects = Vec::new();
        if !self.has_focus {
            effects.push(Effect::Notify("The turn is over.".into()));
        }
        if self.wanted.is_empty()
            && let Some(next) = self.queue.pop_front()
        {
            effects.extend(self.submit(next, now));
        }
        effects
    }

    /// Begins a turn.
    pub(crate) fn begin_turn(&mut self, now: Duration) {
        self.turns += 1;
        self.over = (false, false);
        self.turn_since = Some(now);
    }

    /// Results that the user gave for calls, as the app takes them.
    pub fn as_supplied(results: &[(CallId, String)]) -> Vec<SuppliedResult> {
        results
            .iter()
            .map(|(id, text)| SuppliedResult::ok(id.clone(), text.clone()))
            .collect()
    }

    pub(crate) fn since_last_key(&mut self, now: Duration) -> Duration {
        let since = self
            .last_key
            .map_or(Duration::MAX, |last| now.saturating_sub(last));
        self.last_key = Some(now);
        since
    }

    pub(crate) const fn is_replaying(&self) -> bool {
        self.replaying
    }
}

impl From<Vec<String>> for History {
    fn from(entries: Vec<String>) -> Self {
        let mut history = Self::default();
        for entry in entries {
            history.add(&entry);
        }
        history
    }
}

/// How often a spinner moves.
pub const SPIN: Duration = Duration::from_millis(200);
/// How long a hint stays.
const HINT: Duration = Duration::from_secs(5);

pub(crate) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
