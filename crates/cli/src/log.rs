//! `--log FILE`: what happened, as JSON lines for other programs.
//!
//! ```text
//! every call that settles ──▶ event ─┐
//! every call that ran ──────▶ span ──┴▶ Log ──▶ one line each, appended
//! ```
//!
//! A line says which tool, which call, what was decided and how it ended. It never holds
//! arguments, content or keys: only Toolgate's own spans and events are taken, whose fields
//! are chosen for that, and each is cut to a length at which it says no more than a name.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use toolgate_app::time::stamp;
use toolgate_model::characters::escape_json;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::clock;
use crate::failure::CliError;

/// The most characters of a field's text.
const MOST_CHARS: usize = 200;

/// Takes spans and events, and writes them. Clones write to the same file.
#[derive(Clone)]
pub(crate) struct Log {
    shared: Arc<Shared>,
}

struct Shared {
    file: Mutex<File>,
    spans: Mutex<HashMap<u64, Open>>,
    last: AtomicU64,
    broken: AtomicBool,
}

/// A span that has not ended.
struct Open {
    name: &'static str,
    began: Instant,
    handles: u64,
    fields: Fields,
}

impl Log {
    /// Opens the file, which only its owner can read, and listens from now on.
    pub(crate) fn start(path: &Path) -> Result<Self, CliError> {
        let told = |why: &dyn std::fmt::Display| {
            CliError::usage(format!("the log {}: {why}", path.display()))
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(|error| told(&error))?;
        let log = Self {
            shared: Arc::new(Shared {
                file: Mutex::new(file),
                spans: Mutex::default(),
                last: AtomicU64::new(0),
                broken: AtomicBool::new(false),
            }),
        };
        tracing::subscriber::set_global_default(log.clone()).map_err(|error| told(&error))?;
        Ok(log)
    }

    /// Whether a line could not be written.
    pub(crate) fn is_broken(&self) -> bool {
        self.shared.broken.load(Ordering::Relaxed)
    }

    fn spans<T>(&self, with: impl FnOnce(&mut HashMap<u64, Open>) -> T) -> T {
        let spans = self.shared.spans.lock();
        with(&mut spans.unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, mut line: Map<String, Value>, fields: Fields) {
        line.insert("time".to_owned(), stamp(clock::now_ms()).into());
        line.extend(fields.0);
        // Whoever looks at it looks with a terminal.
        let text = Value::Object(line).to_string();
        let text = format!("{}\n", escape_json(&text));
        let file = self.shared.file.lock();
        let mut file = file.unwrap_or_else(PoisonError::into_inner);
        if file.write_all(text.as_bytes()).is_err() {
            self.shared.broken.store(true, Ordering::Relaxed);
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("toolgate") && *metadata.level() <= Level::INFO
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let open = Open {
            name: span.metadata().name(),
            began: Instant::now(),
            handles: 1,
            fields,
        };
        let id = self.shared.last.fetch_add(1, Ordering::Relaxed) + 1;
        self.spans(|spans| spans.insert(id, open));
        Id::from_u64(id.max(1))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        self.spans(|spans| {
            if let Some(open) = spans.get_mut(&span.into_u64()) {
                values.record(&mut open.fields);
            }
        });
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let mut line = Map::new();
        line.insert("event".to_owned(), event.metadata().name().into());
        self.write(line, fields);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}

    fn clone_span(&self, span: &Id) -> Id {
        self.spans(|spans| {
            if let Some(open) = spans.get_mut(&span.into_u64()) {
                open.handles = open.handles.saturating_add(1);
            }
        });
        span.clone()
    }

    fn try_close(&self, span: Id) -> bool {
        let ended = self.spans(|spans| {
            let open = spans.get_mut(&span.into_u64())?;
            open.handles = open.handles.saturating_sub(1);
            let over = open.handles == 0;
            over.then(|| spans.remove(&span.into_u64())).flatten()
        });
        let Some(open) = ended else { return false };
        let mut line = Map::new();
        line.insert("span".to_owned(), open.name.into());
        let lasted = u64::try_from(open.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        line.insert("lasted_ms".to_owned(), lasted.into());
        self.write(line, open.fields);
        true
    }
}

/// The fields of a span or an event.
#[derive(Default)]
struct Fields(Map<String, Value>);

impl Fields {
    fn put(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.record_str(field, &format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value.chars().take(MOST_CHARS).collect::<String>());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, json!(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, json!(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, value);
    }
}
