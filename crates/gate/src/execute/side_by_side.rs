//! A few futures in one task.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;

/// Futures that make progress together.
///
/// There are never more than `max_concurrent`, so all of them are polled whenever one of
/// them may go on. A set that keeps account of who was woken pays for it by waking its own
/// task whenever it has polled all of them, which on two cores costs more than the pipeline itself.
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

    /// Waits for something else while these go on, and says which of them ended meanwhile.
    pub(crate) async fn beside<T>(
        &mut self,
        other: impl Future<Output = T>,
        mut ended: impl FnMut(F::Output),
    ) -> T {
        let mut other = pin!(other);
        while !self.is_empty() {
            tokio::select! {
                biased;
                done = &mut other => return done,
                Some(output) = self.next() => ended(output),
            }
        }
        other.await
    }
}

#[cfg(test)]
mod tests {
    use std::future::ready;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Wake};

    use futures::FutureExt;
    use futures::future::pending;

    use super::*;

    #[derive(Default)]
    struct Counts(AtomicUsize);

    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn waiting_for_all_is_not_woken_by_the_set() {
        let mut set = SideBySide::new();
        set.push(pending::<()>());
        set.push(pending());
        let woken = Arc::new(Counts::default());
        let waker = Arc::clone(&woken).into();
        let mut next = pin!(set.next());
        for _ in 0..3 {
            assert!(
                next.as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        }
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn each_ends_once_and_the_others_go_on() {
        let mut set = SideBySide::new();
        for number in 0..3 {
            set.push(if number == 1 {
                ready(number).left_future()
            } else {
                pending().right_future()
            });
        }
        assert_eq!(set.next().now_or_never(), Some(Some(1)));
        assert_eq!(set.next().now_or_never(), None);
        assert!(!set.is_empty());
        let mut none = SideBySide::<std::future::Ready<()>>::new();
        assert_eq!(none.next().now_or_never(), Some(None));
    }
}
