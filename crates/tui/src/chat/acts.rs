//! Effects of the state: what the screen does about them.

use std::sync::Arc;

use tokio::sync::mpsc::Sender;
use tokio::task::JoinHandle;
use toolgate_app::interrupted::{Choice, Interrupted};
use toolgate_app::{AppError, Conversation, Input as Sent, StartOptions, Usage};

use super::screen::{Next, Screen};
use super::{ChatError, clipboard, commands, paths, work};
use crate::state::{Effect, Message, State};
use crate::text::one_line;

impl Screen {
    pub(super) async fn act(
        &mut self,
        effect: Effect,
        conversation: &Conversation,
        interrupted: &mut Option<Interrupted>,
        to: &Sender<Message>,
        tasks: &mut Vec<JoinHandle<()>>,
    ) -> Result<Option<Next>, ChatError> {
        tasks.retain(|task| !task.is_finished());
        let turn = |sent: Sent, words: Option<String>, number| {
            work::turn(conversation.clone(), sent, words, number, to.clone())
        };
        match effect {
            Effect::Send(text) => {
                // A turn goes on when its task is dropped; it is not among those that are ended.
                drop(turn(
                    Sent::message(text.clone()),
                    Some(text),
                    self.state.turns,
                ));
            }
            Effect::Supply(results) => {
                drop(turn(
                    Sent::Results(State::as_supplied(&results)),
                    None,
                    self.state.turns,
                ));
            }
            Effect::StopCall(call) => {
                conversation.stop_call(&call);
            }
            Effect::Cancel => conversation.cancel(),
            Effect::Answer(id, answer) => {
                let approvals = self.options.app.approvals();
                let asked = approvals
                    .list()
                    .into_iter()
                    .find(|request| request.id == id);
                let of =
                    asked.map_or_else(|| conversation.id().clone(), |request| request.conversation);
                if let Err(error) = approvals.answer(&of, id, answer) {
                    self.say(Message::Wrong(error.to_string()));
                }
            }
            Effect::Command(name, rest) => {
                return self
                    .command(name, rest, conversation, interrupted, to)
                    .await;
            }
            Effect::Complete(path) => {
                let names = paths::beginning_with(self.options.app.workspace(), &path);
                self.say(Message::Completions(path, names));
            }
            Effect::Edit(text) => self.edit(text).await?,
            Effect::Page(title, text) => self.page(&title, &text).await?,
            Effect::Notify(words) => self.notify(&words)?,
            Effect::Price(usage) => {
                let (conversation, to) = (conversation.clone(), to.clone());
                tokio::spawn(async move {
                    let usage: Option<Usage> = serde_json::from_value(usage).ok();
                    let cost = match &usage {
                        Some(usage) => conversation.cost(usage).await,
                        None => None,
                    };
                    let limit = conversation.context_tokens().await;
                    let _ = to.send(Message::Spent(cost, limit)).await;
                });
            }
            Effect::Copy(text) => self.copy(&text)?,
            Effect::Suspend => {
                self.keys = None;
                self.inline.end()?;
                self.modes.leave()?;
                (self.options.suspend)();
                self.modes.enter_again()?;
                self.inline.forget();
            }
            Effect::Quit => return Ok(Some(Next::Leave)),
        }
        Ok(None)
    }

    fn say(&mut self, message: Message) {
        let now = self.now();
        self.state.update(message, now);
    }

    async fn command(
        &mut self,
        name: &'static str,
        rest: String,
        conversation: &Conversation,
        interrupted: &mut Option<Interrupted>,
        to: &Sender<Message>,
    ) -> Result<Option<Next>, ChatError> {
        if self.state.is_working()
            && [
                "/new", "/resume", "/model", "/preset", "/trust", "/undo", "!",
            ]
            .contains(&name)
        {
            self.say(Message::Wrong(format!(
                "{name} waits until the turn is over; Esc stops it."
            )));
            return Ok(None);
        }
        match name {
            "/new" => return Ok(Some(Next::Switch(None))),
            "/resume" if !rest.is_empty() => match self.options.app.find_id(&rest).await {
                Ok(id) => return Ok(Some(Next::Switch(Some(id)))),
                Err(error) => self.say(Message::Wrong(error.to_string())),
            },
            "/keep" | "/discard" => {
                let Some(cut_off) = interrupted.take() else {
                    self.say(Message::Wrong("No turn was cut off.".into()));
                    return Ok(None);
                };
                let choice = if name == "/keep" {
                    Choice::Keep
                } else {
                    Choice::Discard
                };
                match conversation.resume(&cut_off, Some(choice)).await {
                    Ok(settled) => {
                        self.state.is_interrupted = false;
                        let count = settled.len();
                        self.say(Message::Said(vec![format!(
                            "{count} calls settled; nothing was run again."
                        )]));
                    }
                    Err(error) => {
                        *interrupted = Some(cut_off);
                        self.say(Message::Wrong(error.to_string()));
                    }
                }
            }
            "/model" | "/preset" | "/trust" if !rest.is_empty() => {
                let mut start = self.options.start.clone();
                match name {
                    "/model" => start.asked.model = Some(rest.clone()),
                    "/trust" => start.trust = Some(rest.clone()),
                    _ => start.preset = Some(rest.clone()),
                }
                let message = match self.reconfigured(start, conversation).await {
                    Ok(()) => {
                        let trust = conversation.trust().await;
                        self.state.status_mut().trust = trust.unwrap_or_default().to_owned();
                        Message::Said(vec![format!("{} from the next turn on.", one_line(&rest))])
                    }
                    Err(error) => Message::Wrong(error.to_string()),
                };
                self.say(message);
            }
            "/trust" => {
                let trust = conversation.trust().await.unwrap_or("not known yet");
                self.say(Message::Said(vec![format!(
                    "Trust: {trust}. Type /trust supervised, guided or autonomous to change it."
                )]));
            }
            "/model" => {
                let model = self.state.status_mut().model.clone();
                self.say(Message::Said(vec![format!(
                    "Model: {model}. Type /model NAME to change it."
                )]));
            }
            _ => {
                let (app, conversation, to) =
                    (self.options.app.clone(), conversation.clone(), to.clone());
                let planned = Arc::clone(&self.planned);
                tokio::spawn(async move {
                    let ran = commands::run(&app, &conversation, name, &rest, &planned).await;
                    let message = match ran {
                        Ok(lines) => Message::Said(lines),
                        Err(error) => Message::Wrong(error.to_string()),
                    };
                    let _ = to.send(message).await;
                });
            }
        }
        Ok(None)
    }

    /// Changes how the next turns are held. With what cannot be used nothing changes, and the
    /// conversation goes on as before.
    async fn reconfigured(
        &mut self,
        start: StartOptions,
        conversation: &Conversation,
    ) -> Result<(), AppError> {
        conversation.configure(start.clone()).await?;
        if let Err(error) = conversation.prepare().await {
            conversation.configure(self.options.start.clone()).await?;
            conversation.prepare().await?;
            return Err(error);
        }
        self.options.start = start;
        Ok(())
    }

    /// Puts a text on the clipboard of the terminal, also through tmux.
    fn copy(&mut self, text: &str) -> Result<(), ChatError> {
        let (sequence, is_whole) = clipboard::sequence(text, self.options.is_in_tmux);
        self.inline.send(&sequence)?;
        let now = self.now();
        self.state.hint(
            match is_whole {
                true => "Copied, where the terminal allows it.",
                false => "Copied the beginning, where the terminal allows it: it is too long.",
            },
            now,
        );
        Ok(())
    }

    /// Opens the draft in the user's editor.
    async fn edit(&mut self, text: String) -> Result<(), ChatError> {
        let Some(edit) = self.options.edit.clone() else {
            self.say(Message::Wrong("No editor is set: set EDITOR.".into()));
            return Ok(());
        };
        self.keys = None;
        self.inline.end()?;
        self.modes.leave()?;
        let edited = tokio::task::spawn_blocking(move || edit(&text)).await;
        self.modes.enter_again()?;
        self.inline.forget();
        self.say(match edited {
            Ok(Ok(text)) => Message::Edited(text),
            Ok(Err(why)) => Message::Wrong(why),
            Err(error) => Message::Wrong(error.to_string()),
        });
        self.keep_draft(false)
    }

    /// Shows a text whole.
    async fn page(&mut self, title: &str, text: &str) -> Result<(), ChatError> {
        let mut keys = self.keys.take().unwrap_or_default();
        crate::terminal::page(title, text, &mut keys).await?;
        self.keys = Some(keys);
        Ok(())
    }

    /// Tells the user who looks elsewhere.
    fn notify(&mut self, words: &str) -> Result<(), ChatError> {
        let words: String = one_line(words)
            .chars()
            .filter(|c| *c != ';')
            .take(120)
            .collect();
        let told = match self.options.is_in_tmux {
            true => format!("\u{1b}Ptmux;\u{1b}\u{1b}]9;{words}\u{7}\u{1b}\\"),
            false => format!("\u{1b}]9;{words}\u{7}"),
        };
        Ok(self.inline.send(&format!("{told}\u{7}"))?)
    }
}
