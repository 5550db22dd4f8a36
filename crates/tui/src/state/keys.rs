//! Keys: to the input, or to the panel once it has the focus.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use toolgate_model::CallId;

use super::calls::{CallView, Progress};
use super::{Effect, State};
use crate::panel::Outcome;

/// Lines that a page key scrolls a running call's output.
const PAGE: isize = 10;

impl State {
    pub(crate) fn pasted(&mut self, text: &str, now: Duration) -> Vec<Effect> {
        self.since_last_key(now);
        if let Some(panel) = &mut self.panel {
            panel.arming.key(now);
            if panel.has_focus {
                panel.paste(text);
                return Vec::new();
            }
        }
        self.search = None;
        self.editor.paste(text);
        Vec::new()
    }

    pub(crate) fn key(&mut self, key: KeyEvent, now: Duration) -> Vec<Effect> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        let since = self.since_last_key(now);
        let armed = self
            .panel
            .as_ref()
            .is_some_and(|panel| panel.arming.is_armed(now));
        if let Some(panel) = &mut self.panel {
            panel.arming.key(now);
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && key.code == KeyCode::Char('c') {
            return self.interrupt(now);
        }
        if self.panel.as_ref().is_some_and(|panel| panel.has_focus) {
            return self.panel_key(key, since);
        }
        if let Some(panel) = &mut self.panel
            && key.code == KeyCode::Tab
            && key.modifiers.is_empty()
        {
            if armed {
                panel.has_focus = true;
            } else {
                self.hint(
                    "The question takes keys when the keyboard was quiet for a moment.",
                    now,
                );
            }
            return Vec::new();
        }
        if self.search.is_some() && self.search_key(key) {
            return Vec::new();
        }
        self.input_key(key, now)
    }

    fn panel_key(&mut self, key: KeyEvent, since: Duration) -> Vec<Effect> {
        let Some(panel) = &mut self.panel else {
            return Vec::new();
        };
        match panel.key(key, since) {
            Outcome::Stay => Vec::new(),
            Outcome::Leave => {
                panel.has_focus = false;
                Vec::new()
            }
            Outcome::Answer(answer) => {
                let id = panel.request.id;
                self.panel = None;
                vec![Effect::Answer(id, answer)]
            }
        }
    }

    /// Ctrl-C and Esc: out of the panel, then the turn, then the program.
    fn interrupt(&mut self, now: Duration) -> Vec<Effect> {
        if let Some(panel) = self.panel.as_mut().filter(|panel| panel.has_focus) {
            panel.has_focus = false;
            return Vec::new();
        }
        if self.search.take().is_some() {
            return Vec::new();
        }
        if self.is_working() && !self.ladder.is_stopping {
            return self.stop(now);
        }
        if !self.editor.is_empty() {
            let text = self.editor.take();
            self.history.add(&text);
            self.hint("The draft is in the history: Up brings it back.", now);
            return Vec::new();
        }
        if self.ladder.leaves(now) {
            return vec![Effect::Quit];
        }
        let what = match self.is_working() {
            true => "Stopping. Press Ctrl-C again to leave at once.",
            false => "Press Ctrl-C again to leave.",
        };
        self.hint(what, now);
        Vec::new()
    }

    fn stop(&mut self, now: Duration) -> Vec<Effect> {
        let stopped = &self.ladder.stopped;
        let runs = |call: &&CallView| {
            matches!(call.progress, Progress::Running(_)) && !stopped.contains(&call.id)
        };
        let running: Vec<CallId> = self
            .calls
            .iter()
            .filter(runs)
            .map(|call| call.id.clone())
            .collect();
        if !running.is_empty() {
            self.ladder.stopped.extend(running.iter().cloned());
            self.hint("Stopping the call; once more stops the turn.", now);
            return running.into_iter().map(Effect::StopCall).collect();
        }
        self.ladder.is_stopping = true;
        let what = match self.calls.is_empty() {
            true => "Stopping the turn.",
            false => "Stopping the call and the turn; each call gets a result that says so.",
        };
        self.hint(what, now);
        vec![Effect::Cancel]
    }

    fn search_key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let Some((words, skip)) = &mut self.search else {
            return false;
        };
        match key.code {
            KeyCode::Char('r') if control => {
                *skip += 1;
                if self.history.search(words, *skip).is_none() {
                    *skip = skip.saturating_sub(1);
                }
            }
            KeyCode::Char(c) if !control => {
                words.push(c);
                *skip = 0;
            }
            KeyCode::Backspace => {
                words.pop();
                *skip = 0;
            }
            KeyCode::Esc => self.search = None,
            _ => {
                let found = self
                    .history
                    .search(words, *skip)
                    .map(|(_, text)| text.to_owned());
                self.search = None;
                if let Some(found) = found {
                    let old = self.editor.take();
                    self.history.add(&old);
                    self.editor.set(&found);
                }
                // Enter takes it into the input; the next Enter sends it.
                return key.code == KeyCode::Enter;
            }
        }
        true
    }

    fn input_key(&mut self, key: KeyEvent, now: Duration) -> Vec<Effect> {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        let editor = &mut self.editor;
        match key.code {
            KeyCode::Enter if alt || shift || editor.before().ends_with('\\') => {
                if !alt && !shift {
                    editor.backspace();
                }
                editor.insert("\n");
            }
            KeyCode::Enter => {
                let text = editor.take();
                return self.submit(text, now);
            }
            KeyCode::Char('j') if control => editor.insert("\n"),
            KeyCode::Char('a') if control => editor.home(),
            KeyCode::Char('e') if control => editor.end(),
            KeyCode::Char('w') if control => editor.delete_word(),
            KeyCode::Char('u') if control => editor.cut_to_start(),
            KeyCode::Char('k') if control => editor.cut_to_end(),
            KeyCode::Char('y') if control => editor.put_back(),
            KeyCode::Char('b') if control => editor.left(),
            KeyCode::Char('f') if control => editor.right(),
            KeyCode::Char('h') if control => editor.backspace(),
            KeyCode::Char('b') if alt => editor.word_left(),
            KeyCode::Char('f') if alt => editor.word_right(),
            KeyCode::Char('d') if control => {
                if editor.is_empty() {
                    return vec![Effect::Quit];
                }
                editor.delete();
            }
            KeyCode::Char('r') if control => self.search = Some((String::new(), 0)),
            KeyCode::Char('g') if control => return vec![Effect::Edit(editor.text())],
            KeyCode::Char('z') if control => return vec![Effect::Suspend],
            KeyCode::Char('t') if control => {
                self.shows_thinking = !self.shows_thinking;
                let state = if self.shows_thinking {
                    "shown"
                } else {
                    "folded"
                };
                self.hint(format!("Thinking is {state} from now on."), now);
            }
            KeyCode::Char('o') if control => {
                let output = self.last_output();
                return output
                    .map(|(title, text)| Effect::Page(title, text))
                    .into_iter()
                    .collect();
            }
            KeyCode::Char(c) if !control && !alt => editor.insert(c.encode_utf8(&mut [0; 4])),
            KeyCode::Backspace if alt || control => editor.delete_word(),
            KeyCode::Backspace => editor.backspace(),
            KeyCode::Delete => editor.delete(),
            KeyCode::Left if control || alt => editor.word_left(),
            KeyCode::Right if control || alt => editor.word_right(),
            KeyCode::Left => editor.left(),
            KeyCode::Right => editor.right(),
            KeyCode::Home => editor.home(),
            KeyCode::End => editor.end(),
            KeyCode::Tab => return self.complete(),
            KeyCode::Up if !self.editor.up() => self.older(),
            KeyCode::Down if !self.editor.down() => self.newer(),
            KeyCode::PageUp => self.scroll_output(PAGE),
            KeyCode::PageDown => self.scroll_output(-PAGE),
            KeyCode::Esc if self.is_working() && !self.ladder.is_stopping => return self.stop(now),
            _ => {}
        }
        Vec::new()
    }

    fn scroll_output(&mut self, up: isize) {
        if let Some(call) = self.calls.last_mut() {
            call.tail.scroll(up);
        }
    }

    /// The entry before: of what is queued first, then of the history.
    fn older(&mut self) {
        if self.editor.is_empty()
            && let Some(queued) = self.queue.pop_back()
        {
            // What was queued is taken back to be changed.
            self.editor.set(&queued);
            return;
        }
        let (at, draft) = match self.browsing.take() {
            Some(browsing) => browsing,
            None => (self.history.len(), self.editor.text()),
        };
        let Some(before) = at.checked_sub(1) else {
            self.browsing = Some((at, draft));
            return;
        };
        if let Some(entry) = self.history.get(before) {
            self.editor.set(entry);
        }
        self.browsing = Some((before, draft));
    }

    fn newer(&mut self) {
        let Some((at, draft)) = self.browsing.take() else {
            return;
        };
        match self.history.get(at + 1) {
            Some(entry) => {
                self.editor.set(entry);
                self.browsing = Some((at + 1, draft));
            }
            None => self.editor.set(&draft),
        }
    }
}
