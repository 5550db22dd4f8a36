//! The events of a conversation: those of the journal, then those that happen.
//!
//! ```text
//! journal ── entries after the last one read ──▶ Published with its number
//! hub ────── "there may be more" ──▶ read the journal on
//!     └───── pieces of answers and output ──▶ Published without a number, unless the journal
//!                                             has told their answer already
//! ```
//!
//! So a subscriber sees every entry exactly once and in order, whenever it begins. A subscriber
//! that is slow loses pieces, and gets their answer whole from the journal.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use toolgate_gate::journal::{Body, Filter, Line, ReadJournal, Record, VerifyJournal};
use toolgate_gate::output::{Redactor, sanitize};
use toolgate_model::{ApprovalId, CallId, ConversationId, Event, PlanRecord, Risk};
use toolgate_providers::Content;

use super::hub::{Hub, Place, Signal};
use crate::app::App;
use crate::error::AppError;
use crate::secrets;

/// Something that happened in a conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Published {
    /// The number of its journal entry, to subscribe after; nothing for a piece of an answer or
    /// of output, which no journal has. Of several events of one entry the last has it.
    pub seq: Option<u64>,
    /// What happened.
    pub happening: Happening,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Happening {
    /// The user said something.
    UserMessage {
        /// The words.
        text: String,
    },
    /// An event.
    Event(Event),
}

/// Events of a conversation, in order.
pub struct Subscription {
    id: ConversationId,
    app: App,
    /// Opened when there is a journal.
    reader: Option<Arc<dyn VerifyJournal>>,
    redactor: Redactor,
    live: Receiver<Signal>,
    /// The last entry that was read.
    cursor: u64,
    /// Entries up to this one are known to the subscriber.
    after: u64,
    ready: VecDeque<Published>,
    story: Story,
    is_over: bool,
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Subscription")
            .field("id", &self.id)
            .field("cursor", &self.cursor)
            .finish_non_exhaustive()
    }
}

impl Subscription {
    pub(super) fn new(
        app: &App,
        id: &ConversationId,
        hub: &Hub,
        after: u64,
    ) -> Result<Self, AppError> {
        let known = secrets::of_environment(&app.options().environment, app.config());
        Ok(Self {
            id: id.clone(),
            app: app.clone(),
            reader: None,
            redactor: Redactor::new(known).map_err(AppError::internal)?,
            // Before the journal is read: nothing falls between the two.
            live: hub.subscribe(),
            cursor: 0,
            after,
            ready: VecDeque::new(),
            story: Story::default(),
            is_over: false,
        })
    }

    /// Waits for the next event; nothing when the conversation ended in this process and
    /// everything was read.
    pub async fn next(&mut self) -> Result<Option<Published>, AppError> {
        loop {
            if let Some(ready) = self.ready.pop_front() {
                return Ok(Some(ready));
            }
            self.read_on().await?;
            if !self.ready.is_empty() {
                continue;
            }
            if self.is_over {
                return Ok(None);
            }
            match self.live.recv().await {
                Ok(Signal::Journaled) | Err(RecvError::Lagged(_)) => {}
                Ok(Signal::Passing {
                    event,
                    place,
                    first,
                }) => {
                    self.read_on().await?;
                    if let Some(event) = self.story.pass(event, place, first) {
                        self.ready.push_back(Published {
                            seq: None,
                            happening: Happening::Event(event),
                        });
                    }
                }
                Ok(Signal::Ended) | Err(RecvError::Closed) => self.is_over = true,
            }
        }
    }

    /// The events that are there now, without waiting for more.
    pub async fn replay(&mut self) -> Result<Vec<Published>, AppError> {
        self.read_on().await?;
        Ok(self.ready.drain(..).collect())
    }

    /// Reads the journal to its end.
    async fn read_on(&mut self) -> Result<(), AppError> {
        let reader = match &self.reader {
            Some(reader) => Arc::clone(reader),
            // A conversation that has not begun may be the first in its journal.
            None if !self.app.journal_file().exists() => return Ok(()),
            None => Arc::clone(self.reader.insert(self.app.reader()?)),
        };
        let mut lines = Vec::new();
        let each = |line: Line| {
            lines.push(line);
            true
        };
        let reader: &dyn ReadJournal = &*reader;
        let filter = Filter::after(&self.id, self.cursor);
        reader.each(filter, each).await?;
        let mut lines = VecDeque::from(lines);
        while let Some(line) = lines.pop_front() {
            let mut seq = line.seq;
            let mut told = self.story.take(line, &self.redactor);
            // One question is about several calls, with an entry each, in one batch.
            while let (Some(Happening::Event(Event::ApprovalRequested { .. })), Some(next)) =
                (told.last(), lines.front())
            {
                let Some((asked, call, risk)) = self.story.asked(next) else {
                    break;
                };
                let Some(Happening::Event(Event::ApprovalRequested {
                    approval_id,
                    call_ids,
                    risk: highest,
                })) = told.last_mut()
                else {
                    break;
                };
                if *approval_id != asked {
                    break;
                }
                call_ids.push(call);
                *highest = risk.max(*highest);
                seq = next.seq;
                lines.pop_front();
            }
            self.cursor = seq;
            if seq <= self.after {
                continue;
            }
            let last = told.len();
            for (at, happening) in (1..).zip(told) {
                let seq = (at == last).then_some(seq);
                self.ready.push_back(Published { seq, happening });
            }
        }
        Ok(())
    }
}

/// Where the subscriber is in the conversation.
#[derive(Default)]
struct Story {
    /// The answer that the journal has not told yet.
    next: Place,
    /// The pieces of that answer that were passed on; nothing if the first was missed.
    heard: Option<Heard>,
    /// The calls that run.
    running: BTreeSet<CallId>,
    /// Tools and risks of the calls of the turn.
    plans: BTreeMap<CallId, (String, Risk)>,
}

#[derive(Default)]
struct Heard {
    text: String,
    thinking: String,
}

impl Story {
    /// A live piece, unless the journal has told more already.
    fn pass(&mut self, event: Event, place: Place, first: bool) -> Option<Event> {
        let (text, is_thinking) = match &event {
            Event::TextDelta { text } => (text, false),
            Event::ThinkingDelta { text } => (text, true),
            Event::OutputChunk { call_id, .. } => {
                return self.running.contains(call_id).then_some(event);
            }
            _ => return Some(event),
        };
        if place < self.next {
            return None;
        }
        if first {
            self.heard = Some(Heard::default());
        }
        let heard = self.heard.as_mut()?;
        match is_thinking {
            true => heard.thinking.push_str(text),
            false => heard.text.push_str(text),
        }
        Some(event)
    }

    /// The question of an entry, with its call and risk.
    fn asked(&self, line: &Line) -> Option<(ApprovalId, CallId, Risk)> {
        let Body::Kept(record) = &line.body else {
            return None;
        };
        let Record::Asked { approval_id, .. } = **record else {
            return None;
        };
        let plan = self.plans.get(&line.call);
        let risk = plan.map_or(Risk::Low, |(_, risk)| *risk);
        Some((approval_id, line.call.clone(), risk))
    }

    /// The events of an entry.
    fn take(&mut self, line: Line, redactor: &Redactor) -> Vec<Happening> {
        let asked = self.asked(&line);
        let Body::Kept(record) = line.body else {
            return Vec::new();
        };
        let event = match *record {
            Record::TurnStarted {
                turn,
                provider,
                model,
                ..
            } => {
                self.next = Place { turn, answer: 0 };
                self.plans.clear();
                Event::TurnStarted {
                    conversation: line.conversation,
                    turn,
                    provider,
                    model,
                }
            }
            Record::UserMessage { text } => {
                let text = redactor.redact(&text).0.into_owned();
                return vec![Happening::UserMessage { text }];
            }
            Record::AssistantMessage { content, .. } => {
                self.next.answer += 1;
                let events = self.answer(content).into_iter();
                return events.map(Happening::Event).collect();
            }
            Record::Received { call } => Event::CallReceived {
                call_id: call.id,
                tool: call.name,
            },
            Record::ReceivedBad { call } => Event::CallReceived {
                call_id: call.id,
                tool: call.name.unwrap_or_default(),
            },
            Record::Planned { plan } => self.planned(&plan, redactor),
            Record::Asked { .. } => match asked {
                Some((approval_id, call, risk)) => Event::ApprovalRequested {
                    approval_id,
                    call_ids: vec![call],
                    risk,
                },
                None => return Vec::new(),
            },
            Record::Answered {
                approval_id,
                approved,
                ..
            } => {
                let (yes, no) = match approved {
                    true => (vec![line.call], Vec::new()),
                    false => (Vec::new(), vec![line.call]),
                };
                Event::ApprovalAnswered {
                    approval_id,
                    approved: yes,
                    denied: no,
                }
            }
            Record::Started => {
                self.running.insert(line.call.clone());
                let plan = self.plans.get(&line.call);
                let tool = plan.map(|(tool, _)| tool.clone()).unwrap_or_default();
                Event::CallStarted {
                    call_id: line.call,
                    tool,
                }
            }
            Record::Finished { result } => {
                self.running.remove(&line.call);
                Event::CallFinished { result }
            }
            Record::TurnFinished { turn, outcome, .. } => Event::TurnFinished {
                turn,
                outcome,
                stop: None,
                usage: None,
            },
            _ => return Vec::new(),
        };
        vec![Happening::Event(event)]
    }

    fn planned(&mut self, plan: &Arc<PlanRecord>, redactor: &Redactor) -> Event {
        let known = (plan.tool.clone(), plan.risk);
        self.plans.insert(plan.call.id.clone(), known);
        Event::CallPlanned {
            plan: Arc::new(redactor.shown_plan(plan)),
        }
    }

    /// The pieces of an answer that were not passed on.
    fn answer(&mut self, content: serde_json::Value) -> Vec<Event> {
        let heard = self.heard.take().unwrap_or_default();
        let parts: Vec<Content> = serde_json::from_value(content).unwrap_or_default();
        let (mut text, mut thinking) = (String::new(), String::new());
        for part in &parts {
            match part {
                Content::Text { text: words, .. } => text.push_str(words),
                Content::Thinking { text: words, .. } => thinking.push_str(words),
                Content::Call { .. } | Content::BadCall { .. } => {}
            }
        }
        let rest = |whole: &str, heard: &str| {
            let whole = sanitize(whole);
            let rest = whole.strip_prefix(heard).unwrap_or_default();
            (!rest.is_empty()).then(|| rest.to_owned())
        };
        let thinking = rest(&thinking, &heard.thinking).map(|text| Event::ThinkingDelta { text });
        let text = rest(&text, &heard.text).map(|text| Event::TextDelta { text });
        thinking.into_iter().chain(text).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolgate_model::Stream;

    use super::*;

    fn text(words: &str) -> Event {
        Event::TextDelta {
            text: words.to_owned(),
        }
    }

    fn turn(number: u64) -> Event {
        Event::TurnStarted {
            conversation: "c".into(),
            turn: number,
            provider: String::new(),
            model: String::new(),
        }
    }

    fn answered(words: &str) -> serde_json::Value {
        json!([Content::text(words)])
    }

    /// What a subscriber hears of the pieces that a hub publishes.
    fn heard(story: &mut Story, live: &mut Receiver<Signal>) -> Vec<Event> {
        let mut heard = Vec::new();
        while let Ok(signal) = live.try_recv() {
            if let Signal::Passing {
                event,
                place,
                first,
            } = signal
            {
                heard.extend(story.pass(event, place, first));
            }
        }
        heard
    }

    fn story_at(turn: u64) -> Story {
        Story {
            next: Place { turn, answer: 0 },
            ..Story::default()
        }
    }

    #[test]
    fn the_journal_adds_only_the_pieces_that_were_not_heard() {
        let hub = Hub::new();
        let mut live = hub.subscribe();
        let mut story = story_at(1);
        [turn(1), text("ab"), text("cd")]
            .iter()
            .for_each(|event| hub.publish(event));
        assert_eq!(heard(&mut story, &mut live), [text("ab"), text("cd")]);
        assert_eq!(story.answer(answered("abcdef")), [text("ef")]);
        assert_eq!(story.answer(answered("next")), [text("next")]);
    }

    #[test]
    fn an_answer_that_is_joined_in_the_middle_comes_whole_from_the_journal() {
        let hub = Hub::new();
        [turn(1), text("ab")]
            .iter()
            .for_each(|event| hub.publish(event));
        let mut live = hub.subscribe();
        let mut story = story_at(1);
        hub.publish(&text("cd"));
        assert!(heard(&mut story, &mut live).is_empty());
        assert_eq!(story.answer(answered("abcd")), [text("abcd")]);
    }

    #[test]
    fn pieces_of_an_answer_that_the_journal_told_are_not_repeated() {
        let hub = Hub::new();
        let mut live = hub.subscribe();
        let mut story = story_at(1);
        [turn(1), text("ab")]
            .iter()
            .for_each(|event| hub.publish(event));
        story.next.answer += 1;
        assert_eq!(story.answer(answered("ab")), [text("ab")]);
        assert!(heard(&mut story, &mut live).is_empty());
        let received = Event::CallReceived {
            call_id: "x".into(),
            tool: String::new(),
        };
        let result = toolgate_model::ToolResult::ok("x".into(), "t", "");
        let finished = Event::CallFinished {
            result: Box::new(result),
        };
        [received, finished, text("next")]
            .iter()
            .for_each(|event| hub.publish(event));
        assert_eq!(heard(&mut story, &mut live), [text("next")]);
    }

    #[test]
    fn output_is_passed_on_only_between_start_and_end_of_its_call() {
        let chunk = Event::OutputChunk {
            call_id: "x".into(),
            stream: Stream::Stdout,
            text: "o".to_owned(),
        };
        let mut story = story_at(1);
        let passes = |story: &mut Story| {
            let passed = story.pass(chunk.clone(), Place::default(), false);
            passed.is_some()
        };
        assert!(!passes(&mut story));
        story.running.insert("x".into());
        assert!(passes(&mut story));
        story.running.remove(&CallId::from("x"));
        assert!(!passes(&mut story));
    }
}
