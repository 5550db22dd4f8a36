//! The way out of a socket: a bounded queue and the one who empties it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket};
use futures::SinkExt;
use futures::stream::SplitSink;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::frames::{ErrorFrame, Ping, ServerFrame};
use crate::problem::Problem;
use crate::state::State;

/// How many frames wait for a client that reads slowly.
const QUEUE: usize = 64;

/// Puts frames into the queue of a client.
#[derive(Clone)]
pub(super) struct Out {
    queue: mpsc::Sender<Message>,
    seqs: Arc<Mutex<BTreeMap<String, u64>>>,
    state: Arc<State>,
    /// The client is gone, or has to go.
    pub(super) gone: CancellationToken,
}

/// The client is gone.
#[derive(Debug)]
pub(super) struct Gone;

impl Out {
    pub(super) fn new(state: &Arc<State>) -> (Self, mpsc::Receiver<Message>) {
        let (queue, waiting) = mpsc::channel(QUEUE);
        let out = Self {
            queue,
            seqs: Arc::default(),
            state: Arc::clone(state),
            gone: CancellationToken::new(),
        };
        (out, waiting)
    }

    /// Waits for a place in the queue.
    pub(super) async fn send(&self, frame: &ServerFrame) -> Result<(), Gone> {
        let text = serde_json::to_string(frame).map_err(|_| Gone)?;
        self.message(Message::Text(Utf8Bytes::from(text))).await?;
        self.state.counters.frame();
        Ok(())
    }

    pub(super) async fn problem(
        &self,
        conversation_id: Option<String>,
        request_id: Option<String>,
        problem: Problem,
    ) -> Result<(), Gone> {
        self.send(&ServerFrame::Error(ErrorFrame {
            conversation_id,
            request_id,
            kind: problem.kind.to_owned(),
            message: problem.detail,
        }))
        .await
    }

    async fn message(&self, message: Message) -> Result<(), Gone> {
        tokio::select! {
            biased;
            () = self.gone.cancelled() => Err(Gone),
            sent = self.queue.send(message) => sent.map_err(|_| Gone),
        }
    }

    /// Ends the session, with a reason for the client.
    pub(super) async fn close(&self, code: u16, reason: &'static str) {
        let frame = CloseFrame {
            code,
            reason: Utf8Bytes::from_static(reason),
        };
        let _ = self.message(Message::Close(Some(frame))).await;
    }

    /// Two pings: one that the protocol answers by itself, and one that pages can see.
    pub(super) async fn ping(&self) -> Result<(), Gone> {
        self.message(Message::Ping(Vec::new().into())).await?;
        let seqs = self
            .seqs
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        self.send(&ServerFrame::Ping(Ping { seqs })).await
    }

    /// The last entry of a conversation that was sent.
    pub(super) fn reached(&self, conversation: &str, seq: u64) {
        let mut seqs = self.seqs.lock().unwrap_or_else(PoisonError::into_inner);
        match seqs.get_mut(conversation) {
            Some(last) => *last = (*last).max(seq),
            None => drop(seqs.insert(conversation.to_owned(), seq)),
        }
    }

    /// A conversation is not followed any more.
    pub(super) fn forget(&self, conversation: &str) {
        let mut seqs = self.seqs.lock().unwrap_or_else(PoisonError::into_inner);
        seqs.remove(conversation);
    }
}

/// Sends what waits, until the client is gone or takes too long.
pub(super) async fn write(
    mut sink: SplitSink<WebSocket, Message>,
    mut waiting: mpsc::Receiver<Message>,
    gone: CancellationToken,
    patience: Duration,
) {
    let _done = gone.clone().drop_guard();
    loop {
        let message = tokio::select! {
            biased;
            () = gone.cancelled() => return,
            message = waiting.recv() => message,
        };
        let Some(message) = message else {
            return;
        };
        let is_last = matches!(message, Message::Close(_));
        let sent = tokio::time::timeout(patience, sink.send(message)).await;
        if is_last || !matches!(sent, Ok(Ok(()))) {
            return;
        }
    }
}
