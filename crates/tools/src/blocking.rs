//! Work on files, off the threads that serve everybody else.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use toolgate_model::{ErrorKind, ToolError};

/// Runs work that waits for a disk. A panic in it is a panic of the call.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    Begun::with(work).ended().await
}

/// Work that waits for a disk or for another process, and goes on whether or not anybody
/// waits for it.
#[derive(Debug)]
pub(crate) struct Begun<T>(JoinHandle<Result<T, ToolError>>);

impl<T: Send + 'static> Begun<T> {
    /// Begins with it.
    pub(crate) fn with(work: impl FnOnce() -> Result<T, ToolError> + Send + 'static) -> Self {
        Self(tokio::task::spawn_blocking(work))
    }

    /// Waits for what came of it. A panic in it is a panic of the call.
    pub(crate) async fn ended(self) -> Result<T, ToolError> {
        match self.0.await {
            Ok(outcome) => outcome,
            Err(ended) => match ended.try_into_panic() {
                Ok(payload) => std::panic::resume_unwind(payload),
                Err(_) => Err(cancelled()),
            },
        }
    }
}

/// Stops here if the call was told to stop.
pub(crate) fn go_on(cancel: &CancellationToken) -> Result<(), ToolError> {
    if cancel.is_cancelled() {
        Err(cancelled())
    } else {
        Ok(())
    }
}

/// What a call that stopped half way says.
pub(crate) fn cancelled() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "Cancelled before it was done.")
}
