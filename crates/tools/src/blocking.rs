//! Work on files, off the threads that serve everybody else.

use tokio::runtime::Handle;
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

/// A value whose end takes a moment, such as a command that has to be ended: it is dropped on a
/// thread that may wait.
#[derive(Debug)]
pub(crate) struct DroppedAside<T: Send + 'static>(Option<T>);

impl<T: Send + 'static> DroppedAside<T> {
    pub(crate) const fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Takes it out: whoever has it drops it.
    pub(crate) fn into_inner(mut self) -> Option<T> {
        self.0.take()
    }

    pub(crate) const fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }
}

impl<T: Send + 'static> Drop for DroppedAside<T> {
    fn drop(&mut self) {
        if let (Some(value), Ok(runtime)) = (self.0.take(), Handle::try_current()) {
            drop(runtime.spawn_blocking(move || drop(value)));
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
