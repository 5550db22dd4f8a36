//! Questions, keys and screens for tests of the state.

#![allow(dead_code, clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use toolgate_app::approvals::{ApprovalItem, ApprovalRequest};
use toolgate_model::{ApprovalId, Event, EventKind, Facts, Risk};
use toolgate_tui::draw::{Drawn, draw};
use toolgate_tui::state::{Effect, Message, State, Status};
use toolgate_tui::terminal::Size;

pub(crate) fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub(crate) fn size(columns: u16, rows: u16) -> Size {
    Size { columns, rows }
}

pub(crate) fn item(id: &str, whole: &str) -> ApprovalItem {
    ApprovalItem {
        call_id: id.into(),
        tool: "run_command".into(),
        summary: format!("Run {id}"),
        whole: whole.into(),
        args: serde_json::Map::new(),
        risk: Risk::High,
        facts: Facts::none(),
        locations: vec![],
        why: "side effects [built-in]".into(),
        model_reason: None,
        preview: None,
        preview_cut: false,
        effects: Vec::new(),
        would_fail: Vec::new(),
        could_connect: Vec::new(),
        would_cover: Vec::new(),
        could_allow: Vec::new(),
        could_open: vec![],
        would_remember: vec!["run_command: ls".into()],
        plan_hash: "h".into(),
    }
}

pub(crate) fn request(items: Vec<ApprovalItem>) -> ApprovalRequest {
    ApprovalRequest {
        id: ApprovalId::from_bits(1),
        conversation: "c".into(),
        items,
        expires_after: None,
    }
}

/// A screen that is driven by hand.
pub(crate) struct Driven {
    pub(crate) state: State,
    pub(crate) size: Size,
    pub(crate) effects: Vec<Effect>,
}

impl Driven {
    pub(crate) fn new(columns: u16, rows: u16) -> Self {
        Self {
            state: State::new(Status::default(), Vec::new()),
            size: size(columns, rows),
            effects: Vec::new(),
        }
    }

    pub(crate) fn tell(&mut self, message: Message, now: Duration) {
        self.effects.extend(self.state.update(message, now));
    }

    pub(crate) fn event(&mut self, kind: EventKind) {
        self.tell(
            Message::Event(Box::new(Event::unnumbered("c", kind))),
            ms(0),
        );
    }

    pub(crate) fn key(&mut self, code: KeyCode, now: Duration) {
        self.tell(Message::Key(KeyEvent::new(code, KeyModifiers::NONE)), now);
    }

    pub(crate) fn control(&mut self, c: char, now: Duration) {
        self.tell(
            Message::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)),
            now,
        );
    }

    pub(crate) fn word(&mut self, word: &str, now: Duration, each: Duration) -> Duration {
        let mut at = now;
        for c in word.chars() {
            let code = match c {
                '\n' => KeyCode::Enter,
                '\t' => KeyCode::Tab,
                c => KeyCode::Char(c),
            };
            self.key(code, at);
            at += each;
        }
        at
    }

    /// Draws a frame, as the screen does.
    pub(crate) fn paint(&mut self, now: Duration) -> Drawn {
        let drawn = draw(&mut self.state, self.size, now);
        self.tell(Message::Painted(drawn.panel_rows), now);
        drawn
    }

    pub(crate) fn shown(&mut self, now: Duration) -> String {
        let drawn = self.paint(now);
        let rows: Vec<String> = drawn.rows.iter().map(ToString::to_string).collect();
        rows.join("\n")
    }

    pub(crate) fn finished(&mut self) -> Vec<String> {
        let lines = self.state.take_finished();
        lines.iter().map(ToString::to_string).collect()
    }

    pub(crate) fn answers(&self) -> usize {
        let answers = self
            .effects
            .iter()
            .filter(|effect| matches!(effect, Effect::Answer(..)));
        answers.count()
    }
}
