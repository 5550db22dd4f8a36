//! Listening to the line.

use tokio::task::JoinHandle;
use toolgate_gate::execute::EventSink;
use toolgate_model::Event;

/// Takes events as they come, in a task of its own.
#[derive(Debug)]
pub struct Collected {
    sink: EventSink,
    task: JoinHandle<Vec<Event>>,
}

impl Collected {
    /// Begins to listen, with room for so many events on the way.
    pub fn listen(capacity: usize) -> Self {
        let (sink, mut arriving) = EventSink::channel(capacity);
        let task = tokio::spawn(async move {
            let mut all = Vec::new();
            while let Some(event) = arriving.recv().await {
                all.push(event);
            }
            all
        });
        Self { sink, task }
    }

    /// Where the line sends its events.
    pub fn sink(&self) -> EventSink {
        self.sink.clone()
    }

    /// Everything that was sent. Waits until whoever could send more is gone.
    pub async fn all(self) -> Vec<Event> {
        drop(self.sink);
        self.task.await.expect("the listener does not panic")
    }
}

/// The types of events as JSON spells them, each with its call where it has one.
pub fn kinds(events: &[Event]) -> Vec<String> {
    events
        .iter()
        .map(|event| {
            let json = serde_json::to_value(event).expect("events are JSON");
            let kind = json.get("type").and_then(|kind| kind.as_str());
            let kind = kind.unwrap_or_default();
            match event.call_id() {
                Some(call) => format!("{kind} {call}"),
                None => kind.to_owned(),
            }
        })
        .collect()
}
