//! A conversation over HTTP.

use std::collections::VecDeque;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use reqwest::Response;
use tokio::time::Instant;

use super::client::Client;
use super::redaction::Redaction;
use crate::event::StreamEvent;
use crate::fault::StreamError;
use crate::message::Message;
use crate::provider::{Provider, Refused, calls_in, nothing_asked};
use crate::request::{Conversation, Frame, HistoryError, Tools};
use crate::wire::{StreamDecoder, StreamLimits};

/// So long, and so many bytes, a connection is read on after an answer has ended.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 64 * 1024;

/// A model behind HTTP.
#[derive(Debug)]
pub struct HttpProvider {
    client: Client,
    frame: Frame,
    history: Conversation,
    limits: StreamLimits,
    calls: u64,
    answer: Option<Answer>,
}

/// What is left of an answer.
#[derive(Debug)]
struct Answer {
    response: Response,
    decoder: StreamDecoder,
    veil: Redaction,
    ready: VecDeque<StreamEvent>,
    deadline: Instant,
}

impl HttpProvider {
    /// A conversation in which nothing was said. The frame is one of the endpoint's wire.
    pub fn new(client: Client, frame: Frame, limits: StreamLimits) -> Self {
        let history = Conversation::new(client.endpoint().wire());
        Self {
            client,
            frame,
            history,
            limits,
            calls: 0,
            answer: None,
        }
    }

    /// The same with images in results, or with notes in their place.
    #[must_use]
    pub fn images(mut self, images: bool) -> Self {
        self.history = self.history.images(images);
        self
    }

    async fn open(&mut self, tools: Tools) -> Result<(), Refused> {
        self.answer = None;
        let request = self.frame.request(&self.history, tools);
        let body = request.map_err(StreamError::from)?;
        let total = self.client.timeouts().total;
        let response = self.client.stream(body).await?;
        let (wire, first) = (self.client.endpoint().wire(), self.calls.saturating_add(1));
        let now = Instant::now();
        let mut answer = Answer {
            response,
            decoder: StreamDecoder::counting_from(wire, self.limits, first),
            veil: Redaction::new(self.client.endpoint().secrets().clone()),
            ready: VecDeque::new(),
            deadline: now.checked_add(total).unwrap_or(now),
        };
        // An answer has begun with its first byte: before that it can be asked for again.
        if !answer.read(&self.client).await {
            return Err(answer.fault().into());
        }
        self.answer = Some(answer);
        Ok(())
    }
}

impl Answer {
    async fn next(&mut self, client: &Client) -> StreamEvent {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            if !self.read(client).await && self.ready.is_empty() {
                return StreamEvent::End(Err(StreamError::Cut));
            }
        }
    }

    /// Takes the next bytes. `false` if there are none any more: how it ends is ready then.
    async fn read(&mut self, client: &Client) -> bool {
        let idle = client.timeouts().idle;
        let chunk = tokio::time::timeout_at(
            self.deadline,
            tokio::time::timeout(idle, self.response.chunk()),
        );
        let rest = match chunk.await {
            Err(_) => self.decoder.break_off(client.too_slow()),
            Ok(Err(_)) => self.decoder.break_off(client.silent()),
            Ok(Ok(Ok(Some(bytes)))) => {
                let events = self.decoder.push(&bytes);
                self.show(events);
                return true;
            }
            // A connection that breaks ends the answer where it is, like one that closes.
            Ok(Ok(Ok(None) | Err(_))) => self.decoder.finish(),
        };
        self.show(rest);
        false
    }

    /// Why nothing came of it.
    fn fault(self) -> StreamError {
        let fault = self.ready.into_iter().find_map(|event| match event {
            StreamEvent::End(end) => end.err(),
            _ => None,
        });
        fault.unwrap_or(StreamError::Nothing)
    }

    fn show(&mut self, events: Vec<StreamEvent>) {
        for event in events {
            self.veil.take(event, &mut self.ready);
        }
    }
}

impl Answer {
    /// Reads on to where the response ends, so that its connection serves the next request.
    /// Mostly that has come already; otherwise nobody waits for it.
    fn give_back(mut self) {
        if matches!(self.response.chunk().now_or_never(), Some(Ok(None))) {
            return;
        }
        tokio::spawn(tokio::time::timeout(LINGER, async move {
            let mut left = LINGER_BYTES;
            while let Ok(Some(chunk)) = self.response.chunk().await {
                match left.checked_sub(chunk.len()) {
                    Some(less) => left = less,
                    None => break,
                }
            }
        }));
    }
}

impl Provider for HttpProvider {
    fn push(&mut self, message: &Message) -> Result<(), HistoryError> {
        self.history.push(message)?;
        self.calls = self.calls.saturating_add(calls_in(message));
        Ok(())
    }

    fn ask(&mut self, tools: Tools) -> BoxFuture<'_, Result<(), Refused>> {
        self.open(tools).boxed()
    }

    fn hear(&mut self) -> BoxFuture<'_, StreamEvent> {
        if self.answer.is_none() {
            return nothing_asked();
        }
        async move {
            let Some(answer) = &mut self.answer else {
                return StreamEvent::End(Err(StreamError::Cut));
            };
            let event = answer.next(&self.client).await;
            if let StreamEvent::End(end) = &event {
                let answer = self.answer.take().filter(|_| end.is_ok());
                if let Some(answer) = answer {
                    answer.give_back();
                }
            }
            event
        }
        .boxed()
    }
}
