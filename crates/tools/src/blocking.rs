//! Work on files, off the threads that serve everybody else.

use tokio_util::sync::CancellationToken;
use toolgate_model::{ErrorKind, ToolError};

/// Runs work that waits for a disk. A panic in it is a panic of the call.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(outcome) => outcome,
        Err(ended) => match ended.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => Err(cancelled()),
        },
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
