//! A call in the background.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate_model::{CallId, ErrorKind, Event, ToolError, ToolResult};

/// A call that goes through the pipeline while its caller does something else.
///
/// Dropping the handle cancels the call.
#[derive(Debug)]
pub struct CallHandle {
    call_id: CallId,
    tool: String,
    cancel: CancellationToken,
    events: mpsc::Receiver<Event>,
    task: Option<JoinHandle<ToolResult>>,
}

impl CallHandle {
    pub(crate) fn new(
        call_id: CallId,
        tool: String,
        cancel: CancellationToken,
        events: mpsc::Receiver<Event>,
        task: JoinHandle<ToolResult>,
    ) -> Self {
        Self {
            call_id,
            tool,
            cancel,
            events,
            task: Some(task),
        }
    }

    /// The call.
    pub fn call_id(&self) -> &CallId {
        &self.call_id
    }

    /// The next event of the call; nothing after its end.
    pub async fn next_event(&mut self) -> Option<Event> {
        self.events.recv().await
    }

    /// Stops the call. Its result says so.
    pub fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the one result. Events that are not read are dropped, so that the call does not wait for them.
    pub async fn result(mut self) -> ToolResult {
        let lost = || {
            let error = ToolError::new(
                ErrorKind::Interrupted,
                "the call was ended with the program",
            );
            ToolResult::failed(self.call_id.clone(), self.tool.clone(), error)
        };
        let Some(mut task) = self.task.take() else {
            return lost();
        };
        loop {
            tokio::select! {
                ended = &mut task => return ended.unwrap_or_else(|_| lost()),
                event = self.events.recv() => {
                    if event.is_none() {
                        return task.await.unwrap_or_else(|_| lost());
                    }
                }
            }
        }
    }
}

impl Drop for CallHandle {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}
