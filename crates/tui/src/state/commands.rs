//! What is sent: words for the model, `/` commands and `!` commands.

use std::time::Duration;

use ratatui_core::text::{Line, Span};
use toolgate_model::CallId;

use super::{BOLD, Effect, State};
use crate::text;

/// A command, what stands behind it, and what it does.
pub type Command = (&'static str, &'static str, &'static str);

/// The commands, in the order of the help.
pub const COMMANDS: [Command; 19] = [
    ("/help", "", "Show the commands and keys"),
    ("/tools", "", "List the tools that the model may call"),
    ("/policy", "", "Check the rules and their examples"),
    (
        "/explain",
        "TOOL ARGS",
        "Explain what would be decided about a call",
    ),
    ("/approvals", "", "List the questions that wait"),
    (
        "/grants",
        "[revoke ID]",
        "List remembered approvals, or take one back",
    ),
    (
        "/undo",
        "[turn N|call ID]",
        "Take back what file tools changed",
    ),
    (
        "/export",
        "FILE",
        "Write the conversation as Markdown, JSON or HTML",
    ),
    (
        "/tool",
        "ID RESULT",
        "Give the result of a call that is left to you",
    ),
    (
        "/resume",
        "[ID]",
        "List conversations of this workspace, or go on with one",
    ),
    (
        "/keep",
        "",
        "Go on with what there is of calls that were cut off",
    ),
    (
        "/discard",
        "",
        "Give all results of calls that were cut off up",
    ),
    (
        "/model",
        "[NAME]",
        "Show the model, or change it for the next turns",
    ),
    (
        "/preset",
        "[NAME]",
        "List presets, or change it for the next turns",
    ),
    (
        "/trust",
        "[LEVEL]",
        "Show the trust level, or change it for the next turns",
    ),
    (
        "/network",
        "[off]",
        "Show the network of commands, or close what was opened",
    ),
    ("/copy", "", "Copy the last answer to the clipboard"),
    ("/new", "", "Begin a new conversation"),
    ("/quit", "", "Leave"),
];

const KEYS: [(&str, &str); 12] = [
    (
        "Enter",
        "send; Alt-Enter, Shift-Enter, Ctrl-J or \\ Enter for a new line",
    ),
    (
        "Tab",
        "answer a question that waits; complete a command or @path",
    ),
    (
        "Esc, Ctrl-C",
        "stop the call, once more the turn; Ctrl-C twice leaves",
    ),
    (
        "Up, Down",
        "earlier texts; a queued one is taken back first",
    ),
    ("Ctrl-R", "search earlier texts"),
    ("Ctrl-G", "write in $EDITOR"),
    ("Ctrl-O", "the last call's whole output"),
    ("Ctrl-T", "show or fold the model's thinking"),
    ("PageUp, PageDown", "scroll the output of a running call"),
    ("Ctrl-Z", "suspend"),
    ("Ctrl-D", "leave, where nothing is written"),
    ("! COMMAND", "run a command through the same pipeline"),
];

impl State {
    /// Sends what was written, or queues it while the model works.
    pub(crate) fn submit(&mut self, text: String, now: Duration) -> Vec<Effect> {
        self.browsing = None;
        let words = text.trim();
        if words.is_empty() {
            return Vec::new();
        }
        self.history.add(&text);
        if let Some(rest) = words.strip_prefix('/')
            && !rest.starts_with('/')
            && rest.starts_with(|c: char| c.is_ascii_lowercase())
            && !rest
                .split_whitespace()
                .next()
                .is_some_and(|name| name.contains('/'))
        {
            return self.command(words, now);
        }
        if self.is_working() {
            self.queue.push_back(text);
            return Vec::new();
        }
        if let Some(command) = words.strip_prefix('!') {
            return vec![Effect::Command("!", command.trim().to_owned())];
        }
        if !self.wanted.is_empty() {
            self.wrong("Calls wait for your results: type /tool ID RESULT, or /new for another conversation.");
            self.editor.set(&text);
            return Vec::new();
        }
        if self.is_interrupted {
            self.wrong("The last turn was cut off: type /keep or /discard first.");
            self.editor.set(&text);
            return Vec::new();
        }
        self.begin_turn(now);
        vec![Effect::Send(text)]
    }

    fn command(&mut self, words: &str, now: Duration) -> Vec<Effect> {
        let (name, rest) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
        let rest = rest.trim().to_owned();
        let known = COMMANDS.iter().find(|(known, _, _)| *known == name);
        match known {
            None => {
                let near = COMMANDS
                    .iter()
                    .filter(|(known, ..)| known.starts_with(name.get(..2).unwrap_or(name)));
                let near: Vec<&str> = near.map(|(known, ..)| *known).collect();
                let hint = match near.is_empty() {
                    true => "/help lists them".to_owned(),
                    false => format!("did you mean {}?", near.join(", ")),
                };
                self.wrong(&format!(
                    "There is no command {}: {hint}.",
                    text::one_line(name)
                ));
                self.editor.set(words);
                Vec::new()
            }
            Some(("/help", ..)) => {
                self.help();
                Vec::new()
            }
            Some(("/quit", ..)) => vec![Effect::Quit],
            Some(("/copy", ..)) if self.last_answer.is_empty() => {
                self.wrong("There is no answer to copy yet.");
                Vec::new()
            }
            Some(("/copy", ..)) => vec![Effect::Copy(self.last_answer.clone())],
            Some(("/tool", ..)) => self.supply(&rest, now),
            Some(("/approvals", ..)) => {
                let line = match self.waiting {
                    0 => "No question waits.".to_owned(),
                    1 => "One question waits: Tab goes to it.".to_owned(),
                    more => format!("{more} questions wait: Tab goes to the first."),
                };
                self.hint(line, now);
                Vec::new()
            }
            Some((name, ..)) => vec![Effect::Command(name, rest)],
        }
    }

    fn help(&mut self) {
        self.print([Line::default()]);
        for (name, arguments, what) in COMMANDS {
            let call = format!("{name} {arguments}");
            self.print([Line::from(vec![
                Span::styled(format!("  {call:<24}"), BOLD),
                Span::raw(what),
            ])]);
        }
        self.print([Line::default()]);
        for (keys, what) in KEYS {
            self.print([Line::from(vec![
                Span::styled(format!("  {keys:<24}"), BOLD),
                Span::raw(what),
            ])]);
        }
        self.print([Line::default()]);
    }

    /// A result of the user for a call that was left to them.
    fn supply(&mut self, rest: &str, now: Duration) -> Vec<Effect> {
        let (id, result) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let found = self
            .wanted
            .iter()
            .position(|(known, _)| known.as_str() == id);
        let Some(at) = found else {
            let why = match self.wanted.is_empty() {
                true => "No call waits for a result of yours.".to_owned(),
                false => {
                    let ids: Vec<&str> = self.wanted.iter().map(|(id, _)| id.as_str()).collect();
                    format!(
                        "No call {} waits; these do: {}.",
                        text::one_line(id),
                        ids.join(", ")
                    )
                }
            };
            self.wrong(&why);
            return Vec::new();
        };
        let (call, tool): (CallId, String) = self.wanted.remove(at);
        self.print([Line::styled(
            format!(
                "your result of {} {}",
                text::one_line(&tool),
                text::one_line(call.as_str())
            ),
            super::DIM,
        )]);
        self.supplied.push((call, result.to_owned()));
        match self.wanted.is_empty() {
            true => {
                self.begin_turn(now);
                vec![Effect::Supply(std::mem::take(&mut self.supplied))]
            }
            false => Vec::new(),
        }
    }

    /// Completes a command or a path that was begun.
    pub(crate) fn complete(&mut self) -> Vec<Effect> {
        let before = self.editor.before();
        let word = before
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        if let Some(path) = word.strip_prefix('@') {
            return vec![Effect::Complete(path.to_owned())];
        }
        if let [(only, ..)] = self.fitting().as_slice() {
            let rest = only.get(before.len()..).unwrap_or_default();
            self.editor.insert(&format!("{rest} "));
        }
        Vec::new()
    }

    /// Adds what all names have in common, and lists them where there are several.
    pub(crate) fn completed(&mut self, path: &str, names: Vec<String>, now: Duration) {
        let word = format!("@{path}");
        if !self.editor.before().ends_with(&word) {
            return;
        }
        let Some((first, others)) = names.split_first() else {
            self.hint(format!("Nothing begins with {path}."), now);
            return;
        };
        let mut common = first.as_str();
        for name in others {
            while !name.starts_with(common) {
                let end = common.char_indices().next_back().map_or(0, |(at, _)| at);
                common = common.get(..end).unwrap_or_default();
            }
        }
        if common.len() > path.len() {
            self.editor.remove_before(word.len());
            let end = if others.is_empty() && !common.ends_with('/') {
                " "
            } else {
                ""
            };
            self.editor.insert(&format!("@{common}{end}"));
        }
        if !others.is_empty() {
            let listed: Vec<String> = names
                .iter()
                .take(20)
                .map(|name| text::one_line(name))
                .collect();
            self.hint(listed.join("  "), now);
        }
    }

    /// The commands that fit what was begun, for the rows under the input.
    pub(crate) fn fitting(&self) -> Vec<Command> {
        let before = self.editor.before();
        if !before.starts_with('/') || before.contains(char::is_whitespace) {
            return Vec::new();
        }
        COMMANDS
            .iter()
            .filter(|(name, ..)| name.starts_with(before))
            .copied()
            .collect()
    }
}
