//! A few futures in one task.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Futures that make progress together.
///
/// There are never more than `max_concurrent`, so all of them are polled whenever one of
/// them may go on. A set that keeps account of who was woken pays for it by waking its own
/// task whenever it has polled everybody, which on two cores costs more than the line itself.
pub(crate) struct SideBySide<F>(Vec<Pin<Box<F>>>);

impl<F: Future> SideBySide<F> {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn push(&mut self, future: F) {
        self.0.push(Box::pin(future));
    }

    /// What the next one to end came to; nothing if there is none.
    pub(crate) async fn next(&mut self) -> Option<F::Output> {
        if self.0.is_empty() {
            return None;
        }
        let (ended, output) = poll_fn(|cx| {
            for (index, future) in self.0.iter_mut().enumerate() {
                if let Poll::Ready(output) = future.as_mut().poll(cx) {
                    return Poll::Ready((index, output));
                }
            }
            Poll::Pending
        })
        .await;
        drop(self.0.remove(ended));
        Some(output)
    }
}
