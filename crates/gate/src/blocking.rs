//! Work that may wait for a disk, off the threads that serve every conversation.
//!
//! ```text
//! async code ──run(work)──▶ a thread that may wait ──▶ its value
//! ```
//!
//! Reading, hashing and writing of files go through here. A panic in the work goes on in the
//! task that waits for it.

use tokio::runtime::Handle;

/// Runs work on a thread that may wait, and waits for its value without holding a thread of the
/// runtime. Without a runtime there is nobody to hold up, and it runs on the calling thread.
///
/// Work that has begun runs to its end, also where nobody waits for it any more.
///
/// ```
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// let text = toolgate_gate::blocking::run(|| std::fs::read_to_string("/proc/self/comm")).await;
/// assert!(text.is_some_and(|text| text.is_ok()));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// Returns nothing where the runtime shuts down before the work begins.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let Ok(runtime) = Handle::try_current() else {
        return Some(work());
    };
    match runtime.spawn_blocking(work).await {
        Ok(value) => Some(value),
        Err(ended) => match ended.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(_) => None,
        },
    }
}
