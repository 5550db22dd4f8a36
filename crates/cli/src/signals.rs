//! Ctrl-C: once means stop what runs, twice means now. So do a request to end and a terminal
//! that goes away.
//!
//! Until a call is under way nobody listens, and the system's own way of ending a program holds.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::failure::CliError;

/// A token that the first interrupt or termination cancels. The second ends the program.
pub(crate) fn stop_token() -> Result<CancellationToken, CliError> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| CliError::internal(format!("cannot listen for signals: {error}")))
    };
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    // Whoever started it so that it outlives the terminal wants it to go on.
    let mut hangup = match outlives_its_terminal() {
        true => None,
        false => Some(listen(SignalKind::hangup())?),
    };
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
                Some(_) = async { hangup.as_mut()?.recv().await } => {}
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

/// Whether this program was started with hang-ups ignored, as `nohup` does.
fn outlives_its_terminal() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    // The first signal is the hang-up.
    ignored.is_some_and(|mask| mask & 1 == 1)
}
