//! The conversation as linear text with labels, for screen readers and simple terminals.
//!
//! Lines are printed once and nothing moves. Choices are numbers. A line that was typed before a
//! question was read out is no answer to it.

use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::sync::mpsc::{Receiver, channel};
use toolgate_app::approvals::{Answer, ApprovalRequest};
use toolgate_app::interrupted::Choice;
use toolgate_app::{App, Conversation, Input};
use toolgate_model::{ConversationId, Event};

use super::commands::Planned;
use super::open::{self, Opened};
use super::plain_choices::{self, Meant};
use super::{ChatError, ChatOptions, commands, work};
use crate::panel;
use crate::state::{Effect, Message, State, Status};
use crate::text::one_line;

/// Columns that tables and questions are laid out for. The terminal wraps longer lines.
const COLUMNS: usize = 100;
const MESSAGES: usize = 256;

pub(super) async fn chat(mut options: ChatOptions) -> Result<Option<ConversationId>, ChatError> {
    let opened = open::open(&options.app, options.conversation.as_ref(), &options.start).await?;
    let Opened {
        conversation,
        interrupted,
        wanted,
    } = opened;
    if let Some(cut_off) = interrupted {
        say(open::told(&cut_off).iter().map(String::as_str))?;
        let choice = choose(&[
            "Keep what there is",
            "Discard all results of these calls",
            "Leave",
        ])
        .await?;
        let choice = match choice {
            Some(1) => Choice::Keep,
            Some(2) => Choice::Discard,
            _ => {
                conversation.end().await;
                return Ok(Some(conversation.id().clone()));
            }
        };
        conversation.resume(&cut_off, Some(choice)).await?;
    }
    let (to, mut arriving) = channel(MESSAGES);
    let mut subscription = conversation.subscribe(0).await?;
    let before = subscription.replay().await?;
    let mut state = State::new(Status::default(), Vec::new());
    state.wanted = wanted;
    show_again(&mut state, before)?;
    let tasks = [
        work::follow(subscription, to.clone()),
        work::ask(options.app.clone(), to.clone()),
    ];
    let stop = std::mem::replace(&mut options.stop, Box::pin(futures::future::pending()));
    let talk = talk(&options, &conversation, &mut state, &mut arriving, &to);
    let ended = tokio::select! {
        ended = talk => ended,
        () = stop => Ok(()),
    };
    for task in tasks {
        task.abort();
    }
    conversation.cancel();
    let is_journaled =
        conversation.is_journaled().await && (state.turns > 0 || options.conversation.is_some());
    conversation.end().await;
    ended?;
    Ok(is_journaled.then(|| conversation.id().clone()))
}

fn show_again(state: &mut State, before: Vec<Event>) -> io::Result<()> {
    state.replay(true);
    for event in before {
        state.update(Message::Event(Box::new(event)), Duration::ZERO);
    }
    let wanted = std::mem::take(&mut state.wanted);
    state.replay(false);
    state.wanted = wanted;
    print(state)
}

async fn talk(
    options: &ChatOptions,
    conversation: &Conversation,
    state: &mut State,
    arriving: &mut Receiver<Message>,
    to: &tokio::sync::mpsc::Sender<Message>,
) -> Result<(), ChatError> {
    let planned = Planned::default();
    loop {
        write("you: ")?;
        let Some(line) = line().await? else {
            write("\n")?;
            return Ok(());
        };
        let mut effects = state.submit(line, Duration::ZERO);
        print(state)?;
        while let Some(effect) = effects.pop() {
            let number = state.turns;
            let sent = match effect {
                Effect::Send(text) => Input::message(text),
                Effect::Supply(results) => Input::Results(State::as_supplied(&results)),
                Effect::Quit => return Ok(()),
                Effect::Command(name, rest) => {
                    match commands::run(&options.app, conversation, name, &rest, &planned).await {
                        Ok(lines) => say(lines.iter().map(String::as_str))?,
                        Err(error) => say([format!("error: {error}").as_str()])?,
                    }
                    continue;
                }
                _ => continue,
            };
            drop(work::turn(
                conversation.clone(),
                sent,
                None,
                number,
                to.clone(),
            ));
            follow(&options.app, state, arriving).await?;
        }
    }
}

/// Prints what happens until the turn is over.
async fn follow(
    app: &App,
    state: &mut State,
    arriving: &mut Receiver<Message>,
) -> Result<(), ChatError> {
    while state.is_working() {
        let Some(message) = arriving.recv().await else {
            return Ok(());
        };
        match message {
            Message::Questions(all) => {
                for request in all {
                    print(state)?;
                    let answer = ask(&request).await?;
                    if let Err(error) =
                        app.approvals()
                            .answer(&request.conversation, request.id, answer)
                    {
                        say([format!("error: {error}").as_str()])?;
                    }
                }
            }
            message => {
                state.update(message, Duration::ZERO);
                print(state)?;
            }
        }
    }
    Ok(())
}

/// Prints finished lines. A mark becomes a word.
fn print(state: &mut State) -> io::Result<()> {
    for line in state.take_finished() {
        let line = line.to_string();
        let labelled = LABELS.iter().find_map(|(mark, label)| {
            let rest = line.strip_prefix(mark)?;
            Some(format!("{label}{rest}"))
        });
        write(&format!("{}\n", one_line(&labelled.unwrap_or(line))))?;
    }
    Ok(())
}

/// What a mark at the beginning of a line is in words.
const LABELS: [(&str, &str); 6] = [
    ("> ", "you: "),
    ("✓ ", "tool: done: "),
    ("✗ ", "tool: failed: "),
    ("⊘ ", "tool: denied: "),
    ("! ", "error: "),
    ("  │ ", "output: "),
];

/// Asks with numbers. Words after a number of a refusal go to the model.
async fn ask(request: &ApprovalRequest) -> Result<Answer, ChatError> {
    write("approval needed:\n")?;
    for row in panel::lines(request, COLUMNS) {
        write(&format!("{}\n", one_line(&row.to_string())))?;
    }
    let offered = plain_choices::offered(request);
    let words: Vec<&str> = offered.iter().map(|(words, _)| words.as_str()).collect();
    let chosen = choose(&words).await?;
    let chosen = chosen.and_then(|number| offered.into_iter().nth(number - 1));
    let answer = match chosen.map(|(_, meant)| meant) {
        Some(Meant::Answer(answer)) => answer,
        Some(Meant::Reason) => match reason().await? {
            Some(reason) => Answer::no().because(reason),
            None => Answer::no(),
        },
        Some(Meant::Each) => each(request).await?,
        None => Answer::no(),
    };
    Ok(answer.by("terminal"))
}

async fn reason() -> Result<Option<String>, ChatError> {
    write("reason: ")?;
    let reason = line().await?.unwrap_or_default();
    let reason = reason.trim();
    Ok((!reason.is_empty()).then(|| reason.to_owned()))
}

/// Decides about each call alone.
async fn each(request: &ApprovalRequest) -> Result<Answer, ChatError> {
    let (mut approved, mut denied) = (Vec::new(), Vec::new());
    for (number, item) in (1_usize..).zip(&request.items) {
        say([format!("call {number}: {}", item.summary).as_str()])?;
        match choose(&["Approve", "Deny", "Deny with a reason"]).await? {
            Some(1) => approved.push(item.call_id.clone()),
            Some(3) => denied.extend(reason().await?.map(|why| (item.call_id.clone(), why))),
            _ => {}
        }
    }
    let answer = match approved.is_empty() {
        true => Answer::no(),
        false => Answer::only(approved),
    };
    Ok(denied
        .into_iter()
        .fold(answer, |answer, (call, why)| answer.denying(call, why)))
}

/// Reads a number of a choice; nothing where the input ends.
async fn choose(choices: &[&str]) -> Result<Option<usize>, ChatError> {
    for (number, choice) in (1..).zip(choices) {
        write(&format!("{number}. {}\n", one_line(choice)))?;
    }
    let settled = tokio::task::spawn_blocking(quiet).await;
    settled.map_err(io::Error::other)??;
    loop {
        write(&format!("answer 1 to {}: ", choices.len()))?;
        let Some(line) = line().await? else {
            return Ok(None);
        };
        match line.trim().parse() {
            Ok(number) if (1..=choices.len()).contains(&number) => return Ok(Some(number)),
            _ => write("Not understood. ")?,
        }
    }
}

/// Waits until nothing was typed for a moment, and drops what was.
fn quiet() -> io::Result<()> {
    let stdin = io::stdin();
    if !rustix::termios::isatty(&stdin) {
        return Ok(());
    }
    let moment = Timespec::try_from(panel::QUIET).unwrap_or_default();
    loop {
        tcflush(&stdin, QueueSelector::IFlush)?;
        let fd = stdin.as_fd();
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        if poll(&mut fds, Some(&moment))? == 0 {
            return Ok(());
        }
    }
}

/// A line of standard input, read while somebody waits for it; nothing at its end.
async fn line() -> Result<Option<String>, ChatError> {
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let count = io::stdin().lock().read_line(&mut line)?;
        Ok::<_, io::Error>((count > 0).then_some(line))
    });
    Ok(read.await.map_err(io::Error::other)??)
}

fn say<'a>(lines: impl IntoIterator<Item = &'a str>) -> io::Result<()> {
    for line in lines {
        write(&format!("{}\n", one_line(line)))?;
    }
    Ok(())
}

fn write(words: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(words.as_bytes())?;
    out.flush()
}
