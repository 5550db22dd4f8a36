//! The answers of a real provider as a script.

use std::collections::BTreeMap;

use toolgate_model::{Call, ToolResult};

use super::script::{Arguments, Expected, Finish, Part, PlayedCall, Script, Step};
use crate::event::{Seal, StreamEvent};
use crate::fault::{ProviderError, ProviderErrorKind, StreamError};

/// Takes what is sent and what comes, and makes a script of it.
///
/// It sees results and events, no headers and no keys. Of a result only its
/// call and its status are kept: what a tool finds differs from day to day.
#[derive(Debug, Default)]
pub struct Recorder {
    script: Script,
    step: Step,
    /// What the arguments of damaged calls were, by their ids.
    heard: BTreeMap<u64, (String, String)>,
}

impl Recorder {
    /// A recorder of a model's answers.
    pub fn new(model: Option<String>) -> Self {
        Self {
            script: Script {
                model,
                steps: Vec::new(),
            },
            ..Self::default()
        }
    }

    /// Notes the results that the next request contains.
    pub fn request(&mut self, results: &[ToolResult]) {
        self.step.expect = results
            .iter()
            .map(|result| Expected {
                call_id: result.call_id.as_str().to_owned(),
                status: Some(result.status()),
                kind: result.kind(),
                contains: Vec::new(),
            })
            .collect();
    }

    /// Notes what came. The end of an answer ends its step.
    pub fn event(&mut self, event: &StreamEvent) {
        let parts = &mut self.step.parts;
        match event {
            StreamEvent::Text(more) => match parts.last_mut() {
                Some(Part::Text(text)) => text.push_str(more),
                _ => parts.push(Part::Text(more.clone())),
            },
            StreamEvent::Refusal(more) => match parts.last_mut() {
                Some(Part::Refusal(text)) => text.push_str(more),
                _ => parts.push(Part::Refusal(more.clone())),
            },
            StreamEvent::Thinking(more) => match parts.last_mut() {
                Some(Part::Thinking { text, seal: None }) => text.push_str(more),
                _ => parts.push(Part::Thinking {
                    text: more.clone(),
                    seal: None,
                }),
            },
            StreamEvent::Sealed(seal) => match parts.last_mut() {
                Some(Part::Thinking { seal: open, .. })
                    if open.is_none() && !matches!(seal, Seal::Redacted(_)) =>
                {
                    *open = Some(seal.clone());
                }
                _ => parts.push(Part::Thinking {
                    text: String::new(),
                    seal: Some(seal.clone()),
                }),
            },
            StreamEvent::CallStarted { number, id, .. } => {
                let id = id.as_str().to_owned();
                self.heard.insert(*number, (id, String::new()));
            }
            StreamEvent::CallFragment { number, text } => {
                if let Some((_, heard)) = self.heard.get_mut(number) {
                    heard.push_str(text);
                }
            }
            StreamEvent::Call(call) => {
                let call = self.call(call);
                self.step.parts.push(Part::Call(call));
            }
            StreamEvent::Usage(usage) => self.step.usage = Some(*usage),
            StreamEvent::End(end) => {
                let mut step = std::mem::take(&mut self.step);
                step.finish = match end {
                    Ok(reason) => Finish::Stop(reason.clone()),
                    Err(StreamError::Provider(error)) => Finish::Error(error.clone()),
                    Err(StreamError::Cut | StreamError::Nothing) => Finish::Cut,
                    // What no provider says is said as its error, so that it plays the same way.
                    Err(fault) => Finish::Error(ProviderError {
                        kind: ProviderErrorKind::Other,
                        message: fault.to_string(),
                        code: fault.kind().to_owned(),
                    }),
                };
                self.heard.clear();
                self.script.steps.push(step);
            }
        }
    }

    fn call(&self, call: &Call) -> PlayedCall {
        let args = match call {
            Call::Whole(call) => Arguments::Object(call.args.clone()),
            Call::Bad(bad) => {
                let mut heard = self.heard.values();
                let heard = heard.find(|(id, _)| id == bad.id.as_str());
                let text = heard.map_or("", |(_, text)| text.as_str());
                match Arguments::from_text(text.to_owned()) {
                    // It was damaged in a way that its text does not show, and stays damaged.
                    Arguments::Object(_) => Arguments::Damaged(format!("{text} …")),
                    damaged @ Arguments::Damaged(_) => damaged,
                }
            }
        };
        PlayedCall {
            id: Some(call.id().as_str().to_owned()),
            name: call.name().map(str::to_owned),
            args,
        }
    }

    /// What was recorded so far, in whole answers.
    pub const fn script(&self) -> &Script {
        &self.script
    }
}
