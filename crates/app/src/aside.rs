//! Work that waits for the disk, off the threads that serve every conversation.

use toolgate_gate::blocking;

use crate::error::AppError;

/// Runs work on a thread that may wait.
pub(crate) async fn aside<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AppError> + Send + 'static,
) -> Result<T, AppError> {
    let done = blocking::run(work).await;
    done.unwrap_or_else(|| Err(AppError::internal("the program is about to end")))
}
