//! A file as it is now, and whether the conversation knows it like that.

use std::borrow::Cow;
use std::sync::Arc;

use sha2::{Digest, Sha256};
use toolgate_gate::place;
use toolgate_gate::session::{Seen, Staleness};
use toolgate_gate::tool::{RunCtx, hex, path_error};
use toolgate_model::{ErrorKind, ToolError};
use toolgate_sandbox::paths::{FileStat, PathError, PathSandbox};

use super::difference::Touch;
use crate::lines;
use crate::text::{self, Encoding};

/// A larger file cannot be changed by these tools: nobody has read that much.
pub(crate) const LARGEST: u64 = 64 * 1024 * 1024;

/// The file that is there.
#[derive(Clone, Debug)]
pub(crate) struct Current {
    /// Under which name the conversation knows it.
    pub(crate) place: String,
    pub(crate) bytes: Arc<Vec<u8>>,
    pub(crate) sha256: String,
    pub(crate) stat: FileStat,
}

impl Current {
    /// Reads a file; nothing if there is none.
    pub(crate) fn look(sandbox: &PathSandbox, path: &str) -> Result<Option<Self>, ToolError> {
        match sandbox.open_read(path) {
            Ok(mut handle) => {
                let bytes = handle
                    .read_all(LARGEST)
                    .map_err(|error| path_error(&error))?;
                Ok(Some(Self {
                    place: place(&handle),
                    sha256: hex(&Sha256::digest(&bytes)),
                    bytes: Arc::new(bytes),
                    stat: handle.stat,
                }))
            }
            Err(PathError::NotFound { .. }) => Ok(None),
            Err(error) => Err(path_error(&error)),
        }
    }

    /// Its text, unless it is binary.
    pub(crate) fn decoded(&self) -> Option<(Cow<'_, str>, Encoding)> {
        text::read(&self.bytes, true)
    }

    /// Whether the conversation has read it, and as it is now.
    pub(crate) fn check_read(&self, path: &str, cx: &RunCtx) -> Result<(), ToolError> {
        if cx.session().staleness() == Staleness::NotChecked {
            return Ok(());
        }
        cx.session().reads(|log| {
            let checked = log.check(&self.place, path, &self.sha256);
            let changed = u64::try_from(self.stat.modified_ms()).ok();
            let by = changed.and_then(|changed| log.ran_at(changed));
            match by.filter(|_| log.seen(&self.place).is_some()) {
                Some(call) => checked.map_err(|error| ToolError {
                    message: format!("{} The command of call `{call}` changed it.", error.message),
                    ..error
                }),
                None => checked,
            }
        })
    }

    /// Whether the conversation has seen all of its lines but for these, which stay.
    pub(crate) fn check_all_seen(
        &self,
        path: &str,
        text: Option<&str>,
        kept: &[u64],
        cx: &RunCtx,
    ) -> Result<(), ToolError> {
        let total = text.map_or(0, lines::count);
        let Some(mut seen) = self.seen(cx).map(|seen| seen.lines) else {
            return Ok(());
        };
        kept.iter().for_each(|line| seen.add(*line, *line));
        if total == 0 || seen.covers(1, total) {
            return Ok(());
        }
        Err(ToolError::new(
            ErrorKind::StaleFile,
            format!(
                "{path}: not all of its {total} lines were shown in this conversation, and they would be lost. \
                 Read the rest with read_file; a line that holds a secret has to stay as it is shown, with its placeholder."
            ),
        ))
    }

    /// Whether the conversation has seen the lines that a change touches.
    pub(crate) fn check_seen(
        &self,
        path: &str,
        mut touched: impl Iterator<Item = Touch>,
        cx: &RunCtx,
    ) -> Result<(), ToolError> {
        let Some(seen) = self.seen(cx) else {
            return Ok(());
        };
        let known = |first, last| seen.lines.covers(first, last);
        let unseen = touched.find(|touch| match *touch {
            Touch::Lines(first, last) => !known(first, last),
            Touch::Between(above, below) => !known(above, above) && !known(below, below),
        });
        let Some(touch) = unseen else {
            return Ok(());
        };
        let shown = shown_lines(&seen);
        let (Touch::Lines(first, last) | Touch::Between(first, last)) = touch;
        let these = if first == last {
            format!("line {first}")
        } else {
            format!("lines {first}-{last}")
        };
        Err(ToolError::new(
            ErrorKind::StaleFile,
            format!(
                "{path}: the change is in {these}, which this conversation has not been shown; shown were {shown}. \
                 Read {path} with read_file from line {first} to {last}, then try again. \
                 A line that holds a secret cannot be changed; keep it as it is shown, with its placeholder."
            ),
        ))
    }

    /// What the conversation has seen of it; nothing if that does not matter.
    fn seen(&self, cx: &RunCtx) -> Option<Seen> {
        if cx.session().staleness() == Staleness::NotChecked {
            return None;
        }
        cx.session().reads(|log| log.seen(&self.place).cloned())
    }
}

fn shown_lines(seen: &Seen) -> String {
    let ranges: Vec<String> = seen
        .lines
        .as_slice()
        .iter()
        .take(20)
        .map(|&(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        })
        .collect();
    match ranges.len() {
        0 => "none of its lines".to_owned(),
        _ => format!("lines {}", ranges.join(", ")),
    }
}
