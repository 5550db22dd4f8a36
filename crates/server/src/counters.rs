//! What the server counts of itself, for Prometheus.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the start.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicU64,
    sockets: AtomicU64,
    refused: AtomicU64,
    turned_away: AtomicU64,
    frames: AtomicU64,
    behind: AtomicU64,
}

/// Something that is open until this is dropped.
pub(crate) struct OpenCount<'a>(&'a AtomicU64);

impl Drop for OpenCount<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Counters {
    pub(crate) fn connection(&self) -> OpenCount<'_> {
        self.connections.fetch_add(1, Ordering::Relaxed);
        OpenCount(&self.connections)
    }

    pub(crate) fn socket(&self) -> OpenCount<'_> {
        self.sockets.fetch_add(1, Ordering::Relaxed);
        OpenCount(&self.sockets)
    }

    pub(crate) fn refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn turned_away(&self) {
        self.turned_away.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn frame(&self) {
        self.frames.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn behind(&self) {
        self.behind.fetch_add(1, Ordering::Relaxed);
    }

    /// The counts as Prometheus text.
    pub(crate) fn render(&self, conversations: usize, questions: usize) -> String {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let count = |length: usize| u64::try_from(length).unwrap_or(u64::MAX);
        let mut text = String::new();
        for (name, kind, help, value) in [
            (
                "connections",
                "gauge",
                "Connections that are open.",
                read(&self.connections),
            ),
            (
                "sockets",
                "gauge",
                "WebSockets that are open.",
                read(&self.sockets),
            ),
            (
                "conversations",
                "gauge",
                "Conversations that are open.",
                count(conversations),
            ),
            (
                "questions",
                "gauge",
                "Questions that wait for an answer.",
                count(questions),
            ),
            (
                "refused_total",
                "counter",
                "Requests without a token, or with a wrong host or origin.",
                read(&self.refused),
            ),
            (
                "turned_away_total",
                "counter",
                "Connections beyond the limit.",
                read(&self.turned_away),
            ),
            (
                "frames_total",
                "counter",
                "Frames that were sent.",
                read(&self.frames),
            ),
            (
                "behind_total",
                "counter",
                "Clients that were too slow and got a snapshot.",
                read(&self.behind),
            ),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "# HELP toolgate_server_{name} {help}\n# TYPE toolgate_server_{name} {kind}\ntoolgate_server_{name} {value}"
            );
        }
        text
    }
}
