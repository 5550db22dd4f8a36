//! Ctrl-C: once means stop what runs, twice means now.
//!
//! Until a call is under way nobody listens, and the system's own way of ending a program holds.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::Failure;

/// A token that the first interrupt or termination cancels. The second ends the program.
pub(crate) fn stop_token() -> Result<CancellationToken, Failure> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| Failure::internal(format!("cannot listen for signals: {error}")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if stop.is_cancelled() {
                #[allow(clippy::exit)]
                std::process::exit(130);
            }
            stop.cancel();
        }
    });
    Ok(token)
}
