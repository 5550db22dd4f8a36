//! A provider of one's own: a "model" that reads a file and counts its words.
#![allow(clippy::print_stdout)]

use std::collections::VecDeque;
use std::future::ready;

use serde_json::json;
use toolgate::providers::{
    HistoryError, Message, Provider, Refused, StopReason, StreamError, StreamEvent, ToolOffer,
};
use toolgate::turn::{Prompt, Turn, TurnSettings, run_turn};
use toolgate::{BoxFuture, Call, Workspace};

/// Answers the last message. The events of an answer wait until they are asked for.
#[derive(Default)]
struct WordCounter {
    last: Option<Message>,
    answer: VecDeque<StreamEvent>,
}

impl Provider for WordCounter {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.last = Some(message.clone());
        Ok(())
    }

    fn ask(&mut self, _tools: ToolOffer) -> BoxFuture<'_, Result<(), Refused>> {
        let (event, stop) = match &self.last {
            Some(Message::User { text }) => {
                let call = Call::new("1", "read_file", json!({"path": text}));
                (StreamEvent::Call(call), StopReason::ToolUse)
            }
            Some(Message::Tool { results }) => {
                let texts = results.iter().map(|result| &result.content);
                let words: usize = texts.map(|text| text.split_whitespace().count()).sum();
                (
                    StreamEvent::Text(format!("{words} words")),
                    StopReason::EndTurn,
                )
            }
            _ => return Box::pin(ready(Err(StreamError::Nothing.into()))),
        };
        self.answer = [event, StreamEvent::End(Ok(stop))].into();
        Box::pin(ready(Ok(())))
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        let next = self.answer.pop_front();
        let next = next.unwrap_or(StreamEvent::End(Err(StreamError::Cut)));
        Box::pin(ready(next))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = tempfile::tempdir()?;
    std::fs::write(directory.path().join("poem.txt"), "roses are red\n")?;
    let workspace = Workspace::open(directory.path())?;

    let context = workspace.turn_context(&workspace.session("first"));
    let turn = Turn::new(1, TurnSettings::default());
    let prompt = Prompt::Message("poem.txt".into());
    let end = run_turn(&mut WordCounter::default(), &context, turn, prompt).await;
    println!("{:?}: {}", end.outcome, end.text);
    Ok(())
}
