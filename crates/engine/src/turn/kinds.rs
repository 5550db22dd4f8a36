//! What goes into a turn and what comes out of it.

use std::time::Duration;

use toolgate_gate::ByHand;
use toolgate_gate::journal::Instructions;
use toolgate_gate::journal::Record;
use toolgate_model::{Call, MessageId, ToolCall, ToolResult};
use toolgate_providers::request::Tools;
use toolgate_providers::{Message, Refused, StopReason, StreamError, StreamEvent};

use crate::capacity::Context;
use crate::history::Supplied;

/// The input that begins a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// Words.
    Message(String),
    /// Words, after a conversation that was held elsewhere.
    After {
        /// What was said there: see [`crate::History::carried_in`].
        history: Vec<Message>,
        /// The words.
        message: String,
    },
    /// The results of the calls that the last turn left to the user.
    Results(Supplied),
    /// Nothing new: the last question is asked again.
    GoOn,
}

/// Who runs the model's calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolsFor {
    /// The gate.
    #[default]
    Gate,
    /// The user: the turn ends with the calls, and the next begins with their results.
    Person,
    /// Nobody: no tools are offered, and the gate refuses every call.
    Nobody,
}

/// How often and how patiently a question is asked again that was refused, or whose answer broke
/// off before anything of it had an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// How often where the provider is too busy.
    pub most: u32,
    /// How often after anything else that may pass, such as a broken connection.
    pub most_broken: u32,
    /// How long to wait the first time, at most; twice as long every further time.
    pub first: Duration,
    /// The longest wait of our own.
    pub longest: Duration,
    /// The longest wait that a provider may ask for; whoever asks for more is not waited for.
    pub longest_asked: Duration,
    /// The longest that all waits for a provider that is too busy may take together.
    pub longest_in_all: Duration,
    /// A number that others do not have: it spreads waits of our own over the second half
    /// of their time, so that not all who were refused at once come back at once.
    pub seed: u64,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            most: 10,
            most_broken: 2,
            first: Duration::from_millis(500),
            longest: Duration::from_secs(30),
            longest_asked: Duration::from_secs(60),
            longest_in_all: Duration::from_secs(180),
            seed: 0,
        }
    }
}

impl Retry {
    /// How often a question with this error is asked again.
    pub(super) const fn most(self, fault: &StreamError) -> u32 {
        match fault.is_overload() {
            true => self.most,
            false => self.most_broken,
        }
    }

    /// How long to wait after so many refusals and waits; nothing if it is not asked again.
    pub(super) fn delay(
        self,
        fault: &StreamError,
        (refused, waited): (u32, Duration),
        asked: Option<Duration>,
    ) -> Option<Duration> {
        if !fault.is_retryable() || refused >= self.most(fault) {
            return None;
        }
        let delay = self.wait(refused, asked)?;
        let is_near = waited.saturating_add(delay) <= self.longest_in_all;
        (is_near || !fault.is_overload()).then_some(delay)
    }

    fn wait(self, refused: u32, asked: Option<Duration>) -> Option<Duration> {
        match asked {
            Some(asked) => (asked <= self.longest_asked).then_some(asked),
            None => {
                let factor = 1_u32.checked_shl(refused).unwrap_or(u32::MAX);
                let most = self.first.saturating_mul(factor).min(self.longest);
                let half = most / 2;
                Some(half.saturating_add(self.share(refused, most.saturating_sub(half))))
            }
        }
    }

    /// A part of a time, as the seed says for this try.
    fn share(self, refused: u32, time: Duration) -> Duration {
        const STEPS: u32 = 1024;
        // Neighbouring seeds and tries become numbers that have nothing in common.
        let odd = self.seed.wrapping_add(u64::from(refused)).wrapping_add(1);
        let mixed = odd.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32;
        let step = u32::try_from(mixed % u64::from(STEPS + 1)).unwrap_or(STEPS);
        time.saturating_mul(step) / STEPS
    }
}

/// How a turn is held. The conversation it belongs to is its session's.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnSettings {
    /// The provider's name, for the record.
    pub provider: String,
    /// The model's name, for the record.
    pub model: String,
    /// The preset's name, for the record.
    pub preset: Option<String>,
    /// Instructions of the project that the model is told, for the record.
    pub instructions: Option<Box<Instructions>>,
    /// Who runs calls.
    pub tools: ToolsFor,
    /// How many batches of calls one turn may have; 200 by default.
    pub max_iterations: u32,
    /// What happens when nothing of an answer came.
    pub retry: Retry,
    /// The model's context, where it is known.
    pub context: Option<Context>,
}

impl Default for TurnSettings {
    fn default() -> Self {
        Self {
            provider: String::new(),
            model: String::new(),
            preset: None,
            instructions: None,
            tools: ToolsFor::default(),
            max_iterations: 200,
            retry: Retry::default(),
            context: None,
        }
    }
}

/// Setters, to be chained after [`TurnSettings::default`].
///
/// ```
/// use toolgate_engine::TurnSettings;
///
/// let settings = TurnSettings::default().asking("local", "qwen3").max_iterations(20);
/// assert_eq!(settings.model, "qwen3");
/// ```
impl TurnSettings {
    /// Sets the names of provider and model, for the journal.
    #[must_use]
    pub fn asking(mut self, provider: impl Into<String>, model: impl Into<String>) -> Self {
        (self.provider, self.model) = (provider.into(), model.into());
        self
    }

    /// Sets who runs calls.
    #[must_use]
    pub fn tools(mut self, tools: ToolsFor) -> Self {
        self.tools = tools;
        self
    }

    /// Sets how many batches of calls the turn may have.
    #[must_use]
    pub fn max_iterations(mut self, most: u32) -> Self {
        self.max_iterations = most;
        self
    }

    /// Sets what happens when nothing of an answer came.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// Sets the model's context.
    #[must_use]
    pub fn context(mut self, context: Context) -> Self {
        self.context = Some(context);
        self
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The question was taken; an answer comes.
    Asked,
    /// The question was not taken.
    Refused(Refused),
    /// The next of the answer.
    Heard(StreamEvent),
    /// The batch is done: one result per call.
    Results(Vec<ToolResult>),
    /// What of the batch the user has to answer, and the results of the rest.
    HandedOver(ByHand),
    /// The wait is over, or something of the answer has not been noted for a while.
    Elapsed,
    /// The user wants to stop.
    Cancel,
    /// Something that cannot be mended.
    Broken(StreamError),
}

/// What to do at once, in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Adds a message to the history.
    Say(Message),
    /// Notes something that belongs to no call.
    Record(Record),
    /// Notes calls that will not reach the gate, with their results, and adds the results to
    /// the history. They are cleaned first, like those of the gate.
    Settle {
        /// The calls.
        calls: Vec<Call>,
        /// One result each, in the same order.
        results: Vec<ToolResult>,
    },
    /// Notes results of calls that the user was to answer.
    Supply(Vec<ToolResult>),
    /// Makes everything that was noted durable.
    Keep,
    /// Says how many bytes a result may have; nothing where that is not known.
    Capacity(Option<usize>),
    /// Shows a piece of an answer that is coming in. It can hold secrets.
    Show {
        /// The answer.
        message_id: MessageId,
        /// Whether it is text or thinking.
        part: Part,
        /// The piece, sanitized.
        text: String,
    },
    /// Reports an error that is not the result of a call.
    Report(String),
}

/// The two texts of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Words to the user.
    Text,
    /// Words of the model to itself.
    Thinking,
}

/// What to wait for.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Ask the provider, then come with [`Input::Asked`] or [`Input::Refused`].
    Ask(Tools),
    /// Come with the next [`Input::Heard`].
    Listen {
        /// Something of the answer is not noted yet: come with [`Input::Elapsed`] when that
        /// has been so for a moment.
        unkept: bool,
    },
    /// Run the batch, then come with [`Input::Results`].
    Run(Vec<Call>),
    /// Check the batch for the user who answers it, then come with [`Input::HandedOver`].
    HandOver(Vec<Call>),
    /// Come with [`Input::Elapsed`] after this long.
    Wait(Duration),
    /// Something is still under way.
    Await,
    /// The turn is over.
    Finish(Finished),
}

/// A decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What to do at once.
    pub effects: Vec<Effect>,
    /// What to wait for.
    pub next: Next,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Finished {
    /// Why.
    pub outcome: Outcome,
    /// The words of the last answer.
    pub text: String,
    /// How many batches of calls were run.
    pub iterations: u32,
}

/// Why a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The model has said what it had to say.
    Done(StopReason),
    /// The user has to supply the results of these calls.
    ResultsWanted(Vec<ToolCall>),
    /// The model went on calling after the last round.
    MaxIterations,
    /// The user stopped it.
    Cancelled,
    /// The provider failed.
    Failed(StreamError),
}

impl Outcome {
    /// The word for [`Outcome::ResultsWanted`].
    pub const RESULTS_WANTED: &'static str = "results_wanted";

    /// Why an answer stopped that broke off and was asked for again: what was said in it does not
    /// count.
    pub const WITHDRAWN: &'static str = "withdrawn";

    /// The word for a turn that was cut off and that the user discarded.
    pub const DISCARDED: &'static str = "discarded";

    /// One word for it, for the record.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::ResultsWanted(_) => Self::RESULTS_WANTED,
            Self::MaxIterations => "max_iterations",
            Self::Cancelled => "cancelled",
            Self::Failed(_) => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use toolgate_providers::{ProviderError, ProviderErrorKind};

    use super::*;

    #[test]
    fn waits_double_and_are_spread_over_the_second_half_of_their_time() {
        let mut seen = [BTreeSet::new(), BTreeSet::new()];
        for seed in 0..512 {
            let retry = Retry {
                seed,
                ..Retry::default()
            };
            for (refused, most) in [(0, 500), (1, 1_000)] {
                let before = (refused, Duration::ZERO);
                let wait = retry.delay(&StreamError::Cut, before, None).unwrap();
                let most = Duration::from_millis(most);
                assert!(wait >= most / 2 && wait <= most, "{seed}: {wait:?}");
                let again = retry.delay(&StreamError::Cut, before, None);
                assert_eq!(again, Some(wait));
                seen[usize::from(refused > 0)].insert(wait);
            }
            let cut = |before, asked| retry.delay(&StreamError::Cut, before, asked);
            assert_eq!(cut((2, Duration::ZERO), None), None);
            // What a provider asks for is what it gets.
            let asked = Duration::from_secs(60);
            assert_eq!(cut((0, Duration::ZERO), Some(asked)), Some(asked));
            assert_eq!(cut((0, Duration::ZERO), Some(asked * 2)), None);
        }
        for waits in seen {
            assert!(waits.len() > 200, "only {} different waits", waits.len());
            let most = waits.last().unwrap();
            let spread = most.saturating_sub(*waits.first().unwrap());
            assert!(spread * 10 > *most * 4, "{spread:?} of {most:?}");
        }
    }

    #[test]
    fn a_minute_of_overload_is_survived_and_waiting_ends() {
        let busy = StreamError::Provider(ProviderError {
            kind: ProviderErrorKind::Overloaded,
            message: String::new(),
            code: String::new(),
        });
        for seed in 0..512 {
            let retry = Retry {
                seed,
                ..Retry::default()
            };
            let asked = Duration::from_secs(60);
            let near = (0, retry.longest_in_all - asked);
            assert_eq!(retry.delay(&busy, near, Some(asked)), Some(asked));
            let late = (0, retry.longest_in_all - asked / 2);
            assert_eq!(retry.delay(&busy, late, Some(asked)), None);
            let mut waited = Duration::ZERO;
            let mut refused = 0;
            while let Some(wait) = retry.delay(&busy, (refused, waited), None) {
                refused += 1;
                waited += wait;
            }
            assert!(waited >= Duration::from_secs(60), "{seed}: {waited:?}");
            assert!(waited <= retry.longest_in_all, "{seed}: {waited:?}");
        }
    }

    #[test]
    fn a_long_row_of_refusals_waits_no_longer_than_the_longest() {
        let retry = Retry {
            most: u32::MAX,
            ..Retry::default()
        };
        for refused in [6, 31, 32, 1_000] {
            let wait = retry.wait(refused, None).unwrap();
            assert!(wait <= retry.longest && wait >= retry.longest / 2);
        }
    }
}
