//! An answer on its way to the screen, without secrets.

use toolgate_gate::output::{RedactStream, Redactor};
use toolgate_model::{EventKind, MessageId};

use crate::turn::Part;

/// Redacts the pieces of the answer that is coming in and counts what is shown. A piece that
/// may be the beginning of a secret waits for the next one.
pub(crate) struct Shown {
    message_id: Option<MessageId>,
    text: Lane,
    thinking: Lane,
}

struct Lane {
    part: Part,
    redactor: RedactStream,
    offset: u64,
}

impl Shown {
    pub(crate) fn new(redactor: &Redactor) -> Self {
        let lane = |part| Lane {
            part,
            redactor: redactor.stream(),
            offset: 0,
        };
        Self {
            message_id: None,
            text: lane(Part::Text),
            thinking: lane(Part::Thinking),
        }
    }

    /// What is shown of a piece.
    pub(crate) fn push(
        &mut self,
        message_id: MessageId,
        part: Part,
        text: &str,
    ) -> Option<EventKind> {
        if self.message_id.as_ref() != Some(&message_id) {
            // Every answer ends with `end`; this drops nothing.
            self.text.begin();
            self.thinking.begin();
            self.message_id = Some(message_id.clone());
        }
        let lane = match part {
            Part::Text => &mut self.text,
            Part::Thinking => &mut self.thinking,
        };
        let mut shown = String::new();
        lane.redactor.push(text, &mut shown);
        lane.event(&message_id, shown)
    }

    /// What was held back of the answer, which is over.
    pub(crate) fn end(&mut self) -> Vec<EventKind> {
        let Some(message_id) = self.message_id.take() else {
            return Vec::new();
        };
        let lanes = [&mut self.thinking, &mut self.text];
        let rest = lanes.into_iter().filter_map(|lane| {
            let mut shown = String::new();
            lane.redactor.finish(&mut shown);
            lane.event(&message_id, shown)
        });
        rest.collect()
    }
}

impl Lane {
    fn begin(&mut self) {
        self.redactor.finish(&mut String::new());
        self.offset = 0;
    }

    fn event(&mut self, message_id: &MessageId, text: String) -> Option<EventKind> {
        if text.is_empty() {
            return None;
        }
        let (message_id, offset) = (message_id.clone(), self.offset);
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.offset = offset.saturating_add(bytes);
        Some(match self.part {
            Part::Text => EventKind::TextDelta {
                message_id,
                offset,
                text,
            },
            Part::Thinking => EventKind::ThinkingDelta {
                message_id,
                offset,
                text,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_that_is_cut_across_pieces_is_not_shown() {
        let secret = "hunter2-hunter2";
        let redactor = Redactor::new([("KEY", secret)]).unwrap();
        let said = format!("the key is {secret}, keep it");
        for cut in 1..said.len() {
            let mut shown = Shown::new(&redactor);
            let (head, tail) = said.split_at(cut);
            let mut events = Vec::new();
            events.extend(shown.push("1.1".into(), Part::Text, head));
            events.extend(shown.push("1.1".into(), Part::Text, tail));
            events.extend(shown.end());
            let mut held = String::new();
            for event in events {
                let EventKind::TextDelta { offset, text, .. } = event else {
                    panic!("{event:?}");
                };
                assert_eq!(offset, held.len() as u64);
                held.push_str(&text);
            }
            assert_eq!(held, "the key is [redacted:env], keep it", "{cut}");
        }
    }

    #[test]
    fn offsets_begin_anew_with_every_answer_and_part() {
        let redactor = Redactor::new([("KEY", "hunter2-hunter2")]).unwrap();
        let mut shown = Shown::new(&redactor);
        let offset = |event: Option<EventKind>| match event.unwrap() {
            EventKind::TextDelta { offset, .. } | EventKind::ThinkingDelta { offset, .. } => offset,
            other => panic!("{other:?}"),
        };
        let mut push = |id: &str, part, text| offset(shown.push(id.into(), part, text));
        assert_eq!(push("1.1", Part::Thinking, "hm. "), 0);
        assert_eq!(push("1.1", Part::Text, "one. "), 0);
        assert_eq!(push("1.1", Part::Text, "two. "), 5);
        assert_eq!(push("1.2", Part::Text, "three. "), 0);
    }
}
