//! A session: what a client asks for, frame by frame.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::ws::{Message, WebSocket};
use futures::StreamExt;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

use super::follow::{Ask, Follow, From};
use super::inbox;
use super::writer::{self, Gone, Out};
use crate::auth::Principal;
use crate::conversations::{NewConversation, Open};
use crate::frames::{
    Accepted, ClientFrame, Hello, PROTOCOL, Ready, Resume, Send, ServerFrame, Subscribe,
    ToolApprove, Welcome, WelcomeLimits,
};
use crate::guard;
use crate::problem::Problem;
use crate::state::State;

/// Close codes of the protocol.
const GOING_AWAY: u16 = 1001;
const UNSUPPORTED: u16 = 1003;
const POLICY: u16 = 1008;

/// A client that goes on after this many refused frames in a row is disconnected.
const PATIENCE: u32 = 100;

struct Session {
    state: Arc<State>,
    principal: Principal,
    out: Out,
    tasks: JoinSet<()>,
    followed: HashMap<String, mpsc::Sender<Ask>>,
    has_inbox: bool,
    refused: u32,
}

/// Serves a client until it is gone.
pub(super) async fn run(socket: WebSocket, principal: Principal, state: Arc<State>) {
    let counted = Arc::clone(&state);
    let _open = counted.counters.socket();
    let limits = state.options.limits;
    let (sink, mut stream) = socket.split();
    let (out, waiting) = Out::new(&state);
    let writing = writer::write(sink, waiting, out.gone.clone(), limits.write);
    let writing = tokio::spawn(writing);
    let mut session = Session {
        state: Arc::clone(&state),
        principal,
        out,
        tasks: JoinSet::new(),
        followed: HashMap::new(),
        has_inbox: false,
        refused: 0,
    };
    let mut beat = tokio::time::interval_at(
        tokio::time::Instant::now() + limits.heartbeat,
        limits.heartbeat,
    );
    beat.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut heard = Instant::now();
    let gone = session.out.gone.clone();
    loop {
        let message = tokio::select! {
            () = gone.cancelled() => break,
            () = state.closing.cancelled() => {
                session.out.close(GOING_AWAY, "the server stops; connect again").await;
                break;
            }
            _ = beat.tick() => {
                let is_silent = heard.elapsed() > limits.heartbeat.mul_f32(2.5);
                let is_good = state.gatekeeper.is_good(&session.principal);
                if is_silent || !is_good || session.out.ping().await.is_err() {
                    session.out.close(POLICY, "silent for too long, or the token was revoked").await;
                    break;
                }
                continue;
            }
            message = stream.next() => message,
        };
        heard = Instant::now();
        let taken = match message {
            Some(Ok(Message::Text(text))) => session.text(text.as_bytes()).await,
            Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(()),
            Some(Ok(Message::Binary(_))) => {
                session.out.close(UNSUPPORTED, "frames are text").await;
                Err(Gone)
            }
            Some(Ok(Message::Close(_)) | Err(_)) | None => Err(Gone),
        };
        if taken.is_err() {
            break;
        }
    }
    // The tasks stop first, and what waits in the queue still goes out.
    session.tasks.shutdown().await;
    drop(session);
    let _ = tokio::time::timeout(limits.shutdown, writing).await;
    gone.cancel();
}

impl Session {
    async fn text(&mut self, text: &[u8]) -> Result<(), Gone> {
        if !self.state.gatekeeper.is_good(&self.principal) {
            self.out.close(POLICY, "the token was revoked").await;
            return Err(Gone);
        }
        let paced = guard::paced(&self.principal, &self.state);
        let most = self.state.options.limits.body_bytes;
        let read = paced.and_then(|()| {
            ClientFrame::read(text, most).map_err(|error| Problem::bad(error.to_string()))
        });
        let frame = match read {
            Ok(frame) => frame,
            Err(problem) => {
                self.refused += 1;
                if self.refused > PATIENCE {
                    self.out.close(POLICY, "too many refused frames").await;
                    return Err(Gone);
                }
                return self.out.problem(None, None, problem).await;
            }
        };
        self.refused = 0;
        let (conversation, request) = named(&frame);
        match self.take(frame).await {
            Ok(()) => Ok(()),
            Err(Refused::Gone) => Err(Gone),
            Err(Refused::Problem(problem)) => {
                self.out.problem(conversation, request, problem).await
            }
        }
    }

    async fn take(&mut self, frame: ClientFrame) -> Result<(), Refused> {
        match frame {
            ClientFrame::Hello(hello) => self.hello(hello).await,
            ClientFrame::Subscribe(subscribe) => self.subscribe(subscribe).await,
            ClientFrame::Unsubscribe(select) => {
                self.followed.remove(&select.conversation_id);
                self.out.forget(&select.conversation_id);
                Ok(())
            }
            ClientFrame::Send(said) => self.send(said).await,
            ClientFrame::Cancel(select) => {
                let id = &select.conversation_id;
                let found = self.state.conversations.find_to_write(&self.principal, id);
                found.await?.conversation.cancel();
                Ok(())
            }
            ClientFrame::ToolApprove(given) => self.answer(given).await,
            ClientFrame::Snapshot(select) => {
                let followed = self.followed.get(&select.conversation_id);
                let asked = match followed {
                    Some(follower) => follower.try_send(Ask::Snapshot).is_ok(),
                    None => false,
                };
                // One that waits already will be answered.
                if asked || followed.is_some_and(|follower| !follower.is_closed()) {
                    return Ok(());
                }
                Err(Problem::bad("subscribe to the conversation first").into())
            }
            ClientFrame::Resume(resume) => self.resume(resume).await,
        }
    }

    async fn hello(&mut self, hello: Hello) -> Result<(), Refused> {
        if hello.protocol != PROTOCOL {
            let detail = format!("this server speaks protocol {PROTOCOL}; reload the page");
            return Err(Problem::conflict("protocol", detail).into());
        }
        let limits = self.state.options.limits;
        let welcome = Welcome {
            protocol: PROTOCOL,
            epoch: self.state.epoch.clone(),
            heartbeat_ms: u64::try_from(limits.heartbeat.as_millis()).unwrap_or(u64::MAX),
            name: self.principal.name().to_owned(),
            role: self.principal.role(),
            limits: WelcomeLimits {
                frame_bytes: limits.body_bytes,
                subscriptions: limits.subscriptions,
            },
        };
        self.out.send(&ServerFrame::Welcome(welcome)).await?;
        let mut waiting = Vec::new();
        for resume in hello.resume {
            let id = resume.conversation_id;
            let from = From {
                after: resume.after_seq,
                is_stale: resume.epoch.is_some_and(|epoch| epoch != self.state.epoch),
            };
            let found = self.state.conversations.find(&self.principal, &id).await;
            match found.and_then(|open| self.follow(open, from)) {
                Ok(ready) => waiting.push((id, ready)),
                Err(problem) => self.out.problem(Some(id), None, problem).await?,
            }
        }
        self.ready(waiting).await
    }

    async fn ready(&self, waiting: Vec<(String, oneshot::Receiver<()>)>) -> Result<(), Refused> {
        let mut conversation_ids = Vec::new();
        for (id, ready) in waiting {
            // A follower that failed has said so.
            if ready.await.is_ok() {
                conversation_ids.push(id);
            }
        }
        Ok(self
            .out
            .send(&ServerFrame::Ready(Ready { conversation_ids }))
            .await?)
    }

    async fn subscribe(&mut self, subscribe: Subscribe) -> Result<(), Refused> {
        if subscribe.inbox && !self.has_inbox {
            self.has_inbox = true;
            let (state, principal) = (Arc::clone(&self.state), self.principal.clone());
            self.tasks
                .spawn(inbox::run(state, principal, self.out.clone()));
        }
        let Some(id) = subscribe.conversation_id else {
            return match subscribe.inbox {
                true => Ok(()),
                false => Err(Problem::bad("name a conversation_id, or inbox: true").into()),
            };
        };
        let open = self.state.conversations.find(&self.principal, &id).await?;
        let from = From {
            after: subscribe.after_seq,
            is_stale: false,
        };
        let ready = self.follow(open, from)?;
        self.ready(vec![(id, ready)]).await
    }

    /// Follows a conversation from there; whoever followed it before does not any more.
    fn follow(&mut self, open: Arc<Open>, from: From) -> Result<oneshot::Receiver<()>, Problem> {
        let id = open.id.as_str().to_owned();
        self.followed.retain(|_, follower| !follower.is_closed());
        let most = self.state.options.limits.subscriptions;
        if self.followed.len() >= most && !self.followed.contains_key(&id) {
            return Err(Problem::too_many(format!(
                "this connection follows {most} conversations; unsubscribe from one"
            )));
        }
        while self.tasks.try_join_next().is_some() {}
        let (ask, asked) = mpsc::channel(1);
        let (ready, is_ready) = oneshot::channel();
        let follow = Follow {
            state: Arc::clone(&self.state),
            open,
            principal: self.principal.clone(),
            out: self.out.clone(),
        };
        self.tasks.spawn(follow.run(from, asked, ready));
        self.followed.insert(id, ask);
        Ok(is_ready)
    }

    async fn send(&mut self, said: Send) -> Result<(), Refused> {
        let id = said.conversation_id.clone();
        let open = match self
            .state
            .conversations
            .find_to_write(&self.principal, &id)
            .await
        {
            Err(problem) if problem.kind == "not_found" => self.begin(&id).await?,
            found => found?,
        };
        let is_followed = self.followed.get(&id).is_some_and(|ask| !ask.is_closed());
        if !is_followed {
            // From here on: whoever wants what was before asks for it.
            let after = open.conversation.last_seq().await.map_err(Problem::from)?;
            let from = From {
                after,
                is_stale: false,
            };
            let _ = self.follow(Arc::clone(&open), from)?.await;
        }
        let turn = open.send(&said).await?;
        let accepted = Accepted {
            conversation_id: id,
            turn,
            request_id: said.request_id,
        };
        Ok(self.out.send(&ServerFrame::Accepted(accepted)).await?)
    }

    async fn begin(&self, id: &str) -> Result<Arc<Open>, Problem> {
        let token = self.state.gatekeeper.token(&self.principal);
        let new = NewConversation {
            conversation_id: Some(id.to_owned()),
            ..NewConversation::default()
        };
        let scope = token.and_then(|token| token.scope);
        let now = self.state.app.now_ms();
        self.state
            .conversations
            .create(&self.principal, scope, new, now)
            .await
    }

    async fn answer(&mut self, mut given: ToolApprove) -> Result<(), Refused> {
        if given.conversation_id.is_none() && given.approval_id.is_none() {
            // A call's id says nothing about its conversation: the one that is followed is meant.
            let mut followed = self.followed.iter().filter(|(_, ask)| !ask.is_closed());
            if let (Some((only, _)), None) = (followed.next(), followed.next()) {
                given.conversation_id = Some(only.clone());
            }
        }
        self.state
            .conversations
            .answer(&self.principal, &given)
            .await?;
        Ok(())
    }

    async fn resume(&mut self, resume: Resume) -> Result<(), Refused> {
        let id = &resume.conversation_id;
        let found = self.state.conversations.find_to_write(&self.principal, id);
        found.await?.resume(resume.choice.as_deref()).await?;
        Ok(())
    }
}

/// Why a frame has no effect.
enum Refused {
    Gone,
    Problem(Problem),
}

impl std::convert::From<Gone> for Refused {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl std::convert::From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// What an error repeats of a frame, so that the client knows which one it was.
fn named(frame: &ClientFrame) -> (Option<String>, Option<String>) {
    match frame {
        ClientFrame::Hello(_) => (None, None),
        ClientFrame::Subscribe(frame) => (frame.conversation_id.clone(), None),
        ClientFrame::Unsubscribe(frame)
        | ClientFrame::Cancel(frame)
        | ClientFrame::Snapshot(frame) => (Some(frame.conversation_id.clone()), None),
        ClientFrame::Send(frame) => (
            Some(frame.conversation_id.clone()),
            frame.request_id.clone(),
        ),
        ClientFrame::ToolApprove(frame) => {
            (frame.conversation_id.clone(), frame.request_id.clone())
        }
        ClientFrame::Resume(frame) => (Some(frame.conversation_id.clone()), None),
    }
}
