//! The question about calls: what is shown, when keys count, and the answer.
//!
//! ```text
//! question ──▶ painted, keyboard quiet for 500 ms ──▶ armed ── focus key ──▶ keys of the panel
//!                        any key: starts anew            │
//!                                                        └─ all rows were on the screen ──▶ approve
//! ```
//!
//! Nothing that is typed decides before the panel was seen, and a paste never does. Approving
//! works only after every row of the question was on the screen.
//!
//! ```
//! use std::time::Duration;
//! use toolgate_tui::panel::Arming;
//!
//! let at = Duration::from_millis;
//! let mut arming = Arming::default();
//! assert!(!arming.is_armed(at(9_000)));
//! arming.painted(at(1_000));
//! arming.key(at(1_400));
//! assert!(!arming.is_armed(at(1_899)) && arming.is_armed(at(1_900)));
//! ```

mod arming;
mod content;
mod scroll;

use std::collections::BTreeSet;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_core::text::Line;
use toolgate_app::approvals::{
    Answer, ApprovalRequest, CallKind, Choice, DirectoryAccess, NetworkAccess, Open, Remember,
};
use toolgate_model::CallId;

pub use arming::{Arming, QUIET};
pub(crate) use content::colour;
pub use content::lines;
pub use scroll::Scroll;

/// A decision in the panel comes no sooner after the key before it: keys that come in one go were
/// not pressed by somebody who reads.
pub const BETWEEN: Duration = Duration::from_millis(100);

/// A question on the screen.
#[derive(Debug)]
pub struct Panel {
    /// The question.
    pub request: ApprovalRequest,
    /// When keys count.
    pub arming: Arming,
    /// Which rows were seen.
    pub scroll: Scroll,
    /// Whether keys go to the panel.
    pub has_focus: bool,
    /// What the panel is about to do.
    pub stage: Stage,
    /// Why the last key did nothing.
    pub refused: Option<&'static str>,
    rows: Vec<Line<'static>>,
    rows_for: usize,
}

/// What the panel shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stage {
    /// The question with its choices.
    #[default]
    Ask,
    /// Each call alone: which one, and what was chosen for those before it.
    Each(usize, Vec<Verdict>),
    /// Words for the model about a refusal of all, or of a call of [`Stage::Each`].
    Reason(String, Option<(usize, Vec<Verdict>)>),
    /// What would be remembered, and for how long.
    Remember(Remember),
    /// What would be opened, for this call or the conversation.
    Open(Open),
}

/// What was chosen for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may run.
    Approve,
    /// It may not, with words for the model.
    Deny(Option<String>),
}

/// What came of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The panel changed, or nothing did.
    Stay,
    /// Keys go to the input again.
    Leave,
    /// The question is answered.
    Answer(Answer),
}

impl Panel {
    /// A question that was not painted yet.
    pub fn new(request: ApprovalRequest) -> Self {
        Self {
            request,
            arming: Arming::default(),
            scroll: Scroll::default(),
            has_focus: false,
            stage: Stage::Ask,
            refused: None,
            rows: Vec::new(),
            rows_for: 0,
        }
    }

    /// The rows of the question for this many columns. Other columns break rows elsewhere, so
    /// what was seen counts no more.
    pub fn rows(&mut self, columns: usize) -> &[Line<'static>] {
        if self.rows_for != columns {
            self.rows_for = columns;
            self.rows = lines(&self.request, columns);
            self.scroll = Scroll::default();
        }
        &self.rows
    }

    /// The rows that were laid out last.
    pub fn laid_out(&self) -> &[Line<'static>] {
        &self.rows
    }

    /// Whether every row was on the screen.
    pub fn was_read(&self) -> bool {
        self.rows_for > 0 && self.scroll.has_seen(self.rows.len())
    }

    /// Notes what a frame showed.
    pub fn painted(&mut self, now: Duration, shown: usize) {
        self.arming.painted(now);
        self.scroll.painted(shown, self.rows.len());
    }

    /// Whether the project can remember an approval.
    pub fn can_remember(&self) -> bool {
        self.request
            .items
            .iter()
            .any(|item| !item.would_remember.is_empty())
    }

    /// Whether a call needs directories beyond the sandbox.
    pub fn can_open(&self) -> bool {
        self.request
            .items
            .iter()
            .any(|item| !item.could_open.is_empty())
    }

    /// Whether a kind of calls can be allowed until the conversation ends.
    pub fn can_allow(&self, kind: CallKind) -> bool {
        let mut items = self.request.items.iter();
        items.any(|item| item.could_allow.contains(&kind))
    }

    /// Whether a network can be opened.
    pub fn can_connect(&self, network: NetworkAccess) -> bool {
        let mut items = self.request.items.iter();
        items.any(|item| item.could_connect.contains(&network))
    }

    /// Takes a key while the panel has the focus. `since` is the time since the key before it.
    pub fn key(&mut self, key: KeyEvent, since: Duration) -> Outcome {
        self.refused = None;
        if self.moved(key) {
            return Outcome::Stay;
        }
        match self.stage.clone() {
            Stage::Reason(words, each) => self.reason_key(key, words, each),
            _ if since < BETWEEN => {
                self.refused = Some("Too fast: press the key once more.");
                Outcome::Stay
            }
            Stage::Ask => self.ask_key(key),
            Stage::Each(at, chosen) => self.each_key(key, at, chosen),
            Stage::Remember(scope) => self.remember_key(key, scope),
            Stage::Open(open) => self.open_key(key, open),
        }
    }

    fn moved(&mut self, key: KeyEvent) -> bool {
        let total = self.rows.len();
        match key.code {
            KeyCode::Up => self.scroll.by(-1, total),
            KeyCode::Down => self.scroll.by(1, total),
            KeyCode::PageUp => self.scroll.page(-1, total),
            KeyCode::PageDown => self.scroll.page(1, total),
            KeyCode::Char(' ') if !matches!(self.stage, Stage::Reason(..)) => {
                self.scroll.page(1, total)
            }
            KeyCode::Home => self.scroll.to(0, total),
            KeyCode::End => self.scroll.to(usize::MAX, total),
            _ => return false,
        }
        true
    }

    fn approved(&mut self, answer: Answer) -> Outcome {
        if self.was_read() {
            return Outcome::Answer(answer.by("terminal"));
        }
        self.refused = Some("Not all of it was on the screen: Space shows the next part.");
        Outcome::Stay
    }

    fn ask_key(&mut self, key: KeyEvent) -> Outcome {
        if key
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT)
        {
            return Outcome::Stay;
        }
        match key.code {
            KeyCode::Esc | KeyCode::Tab => return Outcome::Leave,
            KeyCode::Char('y') => return self.approved(Answer::yes()),
            KeyCode::Char('n') => return Outcome::Answer(Answer::no().by("terminal")),
            KeyCode::Char('r') => self.stage = Stage::Reason(String::new(), None),
            KeyCode::Char('e') if self.request.items.len() > 1 => {
                self.stage = Stage::Each(0, Vec::new());
            }
            KeyCode::Char('c') if self.can_remember() => {
                self.stage = Stage::Remember(Remember::Conversation);
            }
            KeyCode::Char('p') if self.can_remember() => {
                self.stage = Stage::Remember(Remember::Project);
            }
            KeyCode::Char('a') if self.can_allow(CallKind::Edits) => {
                self.stage = Stage::Remember(Remember::Edits);
            }
            KeyCode::Char('s') if self.can_allow(CallKind::Commands) => {
                self.stage = Stage::Remember(Remember::Commands);
            }
            KeyCode::Char(key) => {
                if let Some(open) = self.opens(key) {
                    self.stage = Stage::Open(open);
                }
            }
            _ => {}
        }
        Outcome::Stay
    }

    /// What a key would open.
    fn opens(&self, key: char) -> Option<Open> {
        let directories = |access| Open {
            directories: Some(access),
            ..Open::default()
        };
        let network = |network| Open {
            network: Some(network),
            ..Open::default()
        };
        match key {
            'o' if self.can_open() => Some(directories(DirectoryAccess::Read)),
            'w' if self.can_open() => Some(directories(DirectoryAccess::Write)),
            'l' if self.can_connect(NetworkAccess::Loopback) => {
                Some(network(NetworkAccess::Loopback))
            }
            'i' if self.can_connect(NetworkAccess::On) => Some(network(NetworkAccess::On)),
            _ => None,
        }
    }

    fn open_key(&mut self, key: KeyEvent, open: Open) -> Outcome {
        let answer = Answer {
            open,
            ..Answer::yes()
        };
        match key.code {
            KeyCode::Char('y') => self.approved(answer),
            KeyCode::Char('c') => {
                let answer = answer.for_conversation();
                self.approved(match self.can_remember() {
                    true => answer.remember(Remember::Conversation),
                    false => answer,
                })
            }
            KeyCode::Esc | KeyCode::Char('n') => {
                self.stage = Stage::Ask;
                Outcome::Stay
            }
            _ => Outcome::Stay,
        }
    }

    fn remember_key(&mut self, key: KeyEvent, scope: Remember) -> Outcome {
        match key.code {
            KeyCode::Char('y') => self.approved(Answer::yes().remember(scope)),
            KeyCode::Esc | KeyCode::Char('n') => {
                self.stage = Stage::Ask;
                Outcome::Stay
            }
            _ => Outcome::Stay,
        }
    }

    fn each_key(&mut self, key: KeyEvent, at: usize, mut chosen: Vec<Verdict>) -> Outcome {
        let verdict = match key.code {
            KeyCode::Char('y') if self.was_read() => Verdict::Approve,
            KeyCode::Char('y') => {
                self.refused = Some("Not all of it was on the screen: Space shows the next part.");
                return Outcome::Stay;
            }
            KeyCode::Char('n') => Verdict::Deny(None),
            KeyCode::Char('r') => {
                self.stage = Stage::Reason(String::new(), Some((at, chosen)));
                return Outcome::Stay;
            }
            KeyCode::Esc => {
                self.stage = Stage::Ask;
                return Outcome::Stay;
            }
            _ => return Outcome::Stay,
        };
        chosen.push(verdict);
        self.next(at + 1, chosen)
    }

    fn next(&mut self, at: usize, chosen: Vec<Verdict>) -> Outcome {
        if at < self.request.items.len() {
            self.stage = Stage::Each(at, chosen);
            return Outcome::Stay;
        }
        Outcome::Answer(self.answer(&chosen))
    }

    fn reason_key(
        &mut self,
        key: KeyEvent,
        mut words: String,
        each: Option<(usize, Vec<Verdict>)>,
    ) -> Outcome {
        match key.code {
            KeyCode::Enter => {
                let reason = (!words.trim().is_empty()).then(|| words.trim().to_owned());
                return match each {
                    None => {
                        let no = Answer::no().by("terminal");
                        Outcome::Answer(match reason {
                            Some(reason) => no.because(reason),
                            None => no,
                        })
                    }
                    Some((at, mut chosen)) => {
                        chosen.push(Verdict::Deny(reason));
                        self.next(at + 1, chosen)
                    }
                };
            }
            KeyCode::Esc => {
                self.stage = each.map_or(Stage::Ask, |(at, chosen)| Stage::Each(at, chosen));
                return Outcome::Stay;
            }
            KeyCode::Backspace => {
                words.pop();
            }
            KeyCode::Char(c) if !key.modifiers.contains(KeyModifiers::CONTROL) => words.push(c),
            _ => {}
        }
        self.stage = Stage::Reason(words, each);
        Outcome::Stay
    }

    /// Adds pasted words to a reason. Nothing else takes a paste.
    pub fn paste(&mut self, text: &str) {
        if let Stage::Reason(words, _) = &mut self.stage {
            words.push_str(&text.replace(['\n', '\r'], " "));
        }
    }

    fn answer(&self, chosen: &[Verdict]) -> Answer {
        let items = self.request.items.iter().zip(chosen);
        let approved: BTreeSet<CallId> = items
            .clone()
            .filter(|(_, verdict)| **verdict == Verdict::Approve)
            .map(|(item, _)| item.call_id.clone())
            .collect();
        let choice = match approved.is_empty() {
            true => Choice::None,
            false => Choice::Only(approved),
        };
        let answer = Answer {
            choice,
            ..Answer::yes()
        };
        let answer = answer.by("terminal");
        items.fold(answer, |answer, (item, verdict)| match verdict {
            Verdict::Deny(Some(reason)) => answer.denying(item.call_id.clone(), reason),
            Verdict::Deny(None) | Verdict::Approve => answer,
        })
    }
}

#[cfg(test)]
mod tests;
