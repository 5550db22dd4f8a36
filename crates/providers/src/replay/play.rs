//! A step as the events of a stream.

use std::time::Duration;

use toolgate_model::json::JsonLimits;

use super::script::{Finish, Pace, Part, Step};
use crate::calls::{Calls, Key};
use crate::event::{StopReason, StreamEvent};
use crate::fault::StreamError;
use crate::machine::Answer;

/// What comes at once, and how long it takes to come.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// How long to wait for it.
    pub delay: Duration,
    /// What comes.
    pub events: Vec<StreamEvent>,
}

/// A step, ready to be played.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// What comes, in its order. The last event of the last beat is the end.
    pub beats: Vec<Beat>,
    /// The number the next call of the conversation gets.
    pub next_number: u64,
}

impl Step {
    /// The answer as a stream of events, the same that a wire's stream would come to.
    ///
    /// `first` is the number of its first call, for ids that the script does not give.
    pub fn play(&self, limits: JsonLimits, first: u64) -> Played {
        let mut stage = Stage {
            // Whoever wrote the script has it in memory already.
            answer: Answer::new(Calls::new(limits, "replay", first), usize::MAX),
            pieces: Pieces::new(&self.pace),
            beats: Vec::new(),
        };
        stage.answer.began = true;
        stage.answer.usage = self.usage;
        let fault = self
            .parts
            .iter()
            .try_for_each(|part| stage.part(part))
            .err();
        let answer = &mut stage.answer;
        match (fault, &self.finish) {
            (Some(fault), _) => answer.close(Some(fault)),
            (None, Finish::Normal) => {
                let refuses = |part: &Part| matches!(part, Part::Refusal(_));
                if self.parts.iter().any(refuses) {
                    answer.stop(StopReason::Refusal);
                }
                answer.end();
            }
            (None, Finish::Stop(reason)) => {
                answer.stop(reason.clone());
                answer.end();
            }
            (None, Finish::Error(error)) => {
                answer.close(Some(StreamError::Provider(error.clone())));
            }
            (None, Finish::Cut) => answer.close(None),
        }
        stage.beat();
        Played {
            beats: stage.beats,
            next_number: stage.answer.calls.next_number(),
        }
    }
}

struct Stage<'a> {
    answer: Answer,
    pieces: Pieces<'a>,
    beats: Vec<Beat>,
}

impl Stage<'_> {
    fn part(&mut self, part: &Part) -> Result<(), StreamError> {
        self.answer.went_on();
        match part {
            Part::Text(text) => self.words(text, Answer::text),
            Part::Refusal(text) => self.words(text, Answer::refusal),
            Part::Thinking { text, seal } => {
                self.words(text, Answer::thinking);
                if let Some(seal) = seal {
                    let sealed = StreamEvent::Sealed(seal.clone());
                    self.answer.out.push(sealed);
                    self.beat();
                }
            }
            Part::Call(call) => {
                let at = self.answer.calls.open(Key::Unnamed)?;
                let (id, name) = (call.id.as_deref(), call.name.as_deref());
                let answer = &mut self.answer;
                answer.calls.describe(at, id, name, &mut answer.out);
                let text = call.args.to_text();
                self.words(&text, |answer, piece| {
                    answer.calls.more(at, piece, &mut answer.out);
                });
                let answer = &mut self.answer;
                answer.calls.close(at, None, &mut answer.out);
                self.beat();
            }
        }
        Ok(())
    }

    fn words(&mut self, text: &str, take: impl Fn(&mut Answer, &str)) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, after) = self.pieces.cut(rest);
            take(&mut self.answer, piece);
            self.beat();
            rest = after;
        }
    }

    fn beat(&mut self) {
        let events = std::mem::take(&mut self.answer.out);
        if !events.is_empty() {
            let delay = self.pieces.delay();
            self.beats.push(Beat { delay, events });
        }
    }
}

/// Goes through the sizes and delays of a pace.
#[derive(Debug)]
pub struct Pieces<'a> {
    pace: &'a Pace,
    cut: usize,
    waited: usize,
}

impl<'a> Pieces<'a> {
    /// From the first size and the first delay on.
    pub const fn new(pace: &'a Pace) -> Self {
        Self {
            pace,
            cut: 0,
            waited: 0,
        }
    }

    /// The next piece of a text, at least a character of it, and the rest.
    pub fn cut<'t>(&mut self, text: &'t str) -> (&'t str, &'t str) {
        let Some(bytes) = turn(&self.pace.chunk_bytes, &mut self.cut) else {
            return (text, "");
        };
        let first = text.chars().next().map_or(0, char::len_utf8);
        let at = text
            .floor_char_boundary((*bytes).min(text.len()))
            .max(first);
        text.split_at_checked(at).unwrap_or((text, ""))
    }

    fn delay(&mut self) -> Duration {
        let delay = turn(&self.pace.delays, &mut self.waited);
        delay.copied().unwrap_or_default()
    }
}

/// The next of a list that is gone through again and again.
fn turn<'a, T>(list: &'a [T], at: &mut usize) -> Option<&'a T> {
    let one = list.get(at.checked_rem(list.len())?);
    *at = at.wrapping_add(1);
    one
}
