//! The state of a conversation, from its events.

use std::collections::BTreeMap;

use toolgate_model::{Event, EventKind};

use crate::frames::{Frames, RunningCall, ServerFrame, SnapshotState, TextDelta, ToolStart};

/// So many bytes of a running call's output are kept.
const TAIL: usize = 16 * 1024;

/// An answer that comes in.
#[derive(Clone, Debug, Default)]
struct Coming {
    id: String,
    text: String,
    thinking: String,
}

/// A call that runs.
#[derive(Clone, Debug)]
struct Running {
    start: ToolStart,
    end: u64,
    tail: String,
}

/// What a client that follows from the beginning would know.
#[derive(Clone, Debug)]
pub(super) struct View {
    frames: Frames,
    conversation: String,
    pub(super) seq: u64,
    turn: u64,
    is_in_turn: bool,
    coming: Option<Coming>,
    running: BTreeMap<String, Running>,
}

/// A streamed piece does not follow what is held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Gap;

impl View {
    pub(super) fn of(conversation: &str, seq: u64) -> Self {
        Self {
            frames: Frames::of(conversation),
            conversation: conversation.to_owned(),
            seq,
            turn: 0,
            is_in_turn: false,
            coming: None,
            running: BTreeMap::new(),
        }
    }

    /// Takes the next event. A piece after a gap is not taken.
    pub(super) fn take(&mut self, event: &Event) -> Result<Option<ServerFrame>, Gap> {
        self.fits(event)?;
        let frame = self.frames.frame(event);
        if let Some(seq) = event.seq {
            self.seq = self.seq.max(seq);
        }
        match &event.kind {
            EventKind::TurnStarted { turn, .. } => {
                self.turn = *turn;
                self.is_in_turn = true;
            }
            EventKind::TurnFinished { .. } => {
                self.is_in_turn = false;
                self.coming = None;
                self.running.clear();
            }
            EventKind::TextDelta {
                message_id, text, ..
            } => self.coming(message_id.as_str()).text.push_str(text),
            EventKind::ThinkingDelta {
                message_id, text, ..
            } => self.coming(message_id.as_str()).thinking.push_str(text),
            EventKind::AssistantMessage { .. } => self.coming = None,
            EventKind::CallFinished { result } => {
                self.running.remove(result.call_id.as_str());
            }
            EventKind::OutputChunk {
                call_id,
                offset,
                text,
                ..
            } => {
                if let Some(call) = self.running.get_mut(call_id.as_str()) {
                    call.push(*offset, text);
                }
            }
            _ => {}
        }
        if let Some(ServerFrame::ToolStart(start)) = &frame {
            let running = Running {
                start: start.clone(),
                end: 0,
                tail: String::new(),
            };
            self.running.insert(start.tool_id.clone(), running);
        }
        Ok(frame)
    }

    /// What makes the frames of questions.
    pub(super) const fn frames(&self) -> &Frames {
        &self.frames
    }

    fn coming(&mut self, id: &str) -> &mut Coming {
        if self.coming.as_ref().is_none_or(|coming| coming.id != id) {
            self.coming = Some(Coming {
                id: id.to_owned(),
                ..Coming::default()
            });
        }
        self.coming.get_or_insert_default()
    }

    /// Whether a streamed piece follows what is held. Output may begin anywhere: of a call that
    /// runs for long only the end is kept.
    fn fits(&self, event: &Event) -> Result<(), Gap> {
        let held = |id: &str| self.coming.as_ref().filter(|coming| coming.id == id);
        let (offset, held) = match &event.kind {
            EventKind::TextDelta {
                message_id, offset, ..
            } => (
                *offset,
                held(message_id.as_str()).map_or(0, |coming| coming.text.len()),
            ),
            EventKind::ThinkingDelta {
                message_id, offset, ..
            } => (
                *offset,
                held(message_id.as_str()).map_or(0, |coming| coming.thinking.len()),
            ),
            _ => return Ok(()),
        };
        if u64::try_from(held) == Ok(offset) {
            Ok(())
        } else {
            Err(Gap)
        }
    }

    /// Takes over the streamed pieces that another view holds.
    pub(super) fn with_streamed(mut self, live: &Self) -> Self {
        self.coming.clone_from(&live.coming);
        for (id, call) in &mut self.running {
            if let Some(held) = live.running.get(id) {
                call.end = held.end;
                call.tail.clone_from(&held.tail);
            }
        }
        self
    }

    pub(super) const fn turn(&self) -> u64 {
        self.turn
    }

    /// Where the conversation stands, if a turn runs here or not.
    pub(super) const fn state(&self, is_busy: bool) -> SnapshotState {
        match (self.is_in_turn, is_busy) {
            (_, true) => SnapshotState::Running,
            (true, false) => SnapshotState::Interrupted,
            (false, false) => SnapshotState::Idle,
        }
    }

    /// Text and thinking of the answer that comes in.
    pub(super) fn pieces(&self) -> (Option<TextDelta>, Option<TextDelta>) {
        let piece = |coming: &Coming, text: &str| TextDelta {
            conversation_id: self.conversation.clone(),
            message_id: coming.id.clone(),
            offset: 0,
            content: text.to_owned(),
        };
        let coming = self.coming.as_ref();
        (
            coming.map(|coming| piece(coming, &coming.text)),
            coming
                .filter(|coming| !coming.thinking.is_empty())
                .map(|coming| piece(coming, &coming.thinking)),
        )
    }

    /// The calls that run.
    pub(super) fn calls(&self) -> Vec<RunningCall> {
        let call = |call: &Running| RunningCall {
            start: call.start.clone(),
            offset: call
                .end
                .saturating_sub(u64::try_from(call.tail.len()).unwrap_or(u64::MAX)),
            tail: call.tail.clone(),
        };
        self.running.values().map(call).collect()
    }
}

impl Running {
    fn push(&mut self, offset: u64, text: &str) {
        if offset != self.end {
            self.tail.clear();
        }
        self.tail.push_str(text);
        self.end = offset.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX));
        if self.tail.len() > TAIL {
            let from = self.tail.len() - TAIL;
            let from = (from..=self.tail.len()).find(|at| self.tail.is_char_boundary(*at));
            self.tail.drain(..from.unwrap_or_default());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn text(offset: u64, text: &str) -> Event {
        let kind = EventKind::TextDelta {
            message_id: "m".into(),
            offset,
            text: text.into(),
        };
        Event::unnumbered("c", kind)
    }

    fn output(offset: u64, text: &str) -> Event {
        let kind = EventKind::OutputChunk {
            call_id: "k".into(),
            stream: toolgate_model::Stream::Stdout,
            offset,
            text: text.into(),
        };
        Event::unnumbered("c", kind)
    }

    #[test]
    fn a_piece_after_a_gap_or_twice_is_not_taken() {
        let mut view = View::of("c", 0);
        view.take(&text(0, "höl")).unwrap();
        assert_eq!(view.take(&text(3, "x")).unwrap_err(), Gap);
        assert_eq!(view.take(&text(0, "höl")).unwrap_err(), Gap);
        view.take(&text(4, "zern")).unwrap();
        assert_eq!(view.pieces().0.unwrap().content, "hölzern");
    }

    #[test]
    fn the_end_of_a_long_output_is_kept_on_a_boundary() {
        let mut view = View::of("c", 0);
        let start = EventKind::CallStarted {
            call_id: "k".into(),
            tool: "run_command".into(),
            input: toolgate_model::Args::new(),
        };
        view.take(&Event {
            seq: Some(4),
            ..Event::unnumbered("c", start)
        })
        .unwrap();
        let piece = "ü".repeat(TAIL / 2);
        view.take(&output(0, &piece)).unwrap();
        view.take(&output(TAIL as u64, "x")).unwrap();
        let calls = view.calls();
        assert_eq!(calls.len(), 1);
        assert!(
            calls
                .iter()
                .all(|call| call.tail.len() < TAIL && call.tail.ends_with("üx"))
        );
        assert_eq!(calls.iter().map(|call| call.offset).sum::<u64>(), 2);
        assert_eq!(view.state(false), SnapshotState::Idle);
    }
}
