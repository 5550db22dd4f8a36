//! The output of a command, clean and within bounds.

use std::io::{Cursor, Read};

use toolgate_gate::output::{Bounder, Limits, RedactStream, Redactor, Sanitizer};
use toolgate_gate::session::{OutputStore, Session, Spool};
use toolgate_gate::tool::{Output, OutputLimits};
use toolgate_model::{OutputHandle, ToolError};
use toolgate_sandbox::command::Stream;

/// One of the two outputs: no control characters, no secrets, of any length.
#[derive(Debug)]
pub(super) struct Lane {
    sanitizer: Sanitizer,
    redactor: RedactStream,
}

impl Lane {
    pub(super) fn new(redactor: &Redactor) -> Self {
        Self {
            sanitizer: Sanitizer::new(),
            redactor: redactor.stream(),
        }
    }

    /// The clean text that these bytes complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let (mut clean, mut out) = (String::new(), String::new());
        self.sanitizer.push(bytes, &mut clean);
        self.redactor.push(&clean, &mut out);
        out
    }

    /// The rest.
    pub(super) fn finish(&mut self) -> String {
        let (mut clean, mut out) = (String::new(), String::new());
        self.sanitizer.finish(&mut clean);
        self.redactor.push(&clean, &mut out);
        self.redactor.finish(&mut out);
        out
    }
}

/// Both outputs, apart.
#[derive(Debug)]
pub(super) struct Capture {
    stdout: (Lane, Spool),
    stderr: (Lane, Spool),
}

impl Capture {
    pub(super) fn new(redactor: &Redactor, store: &dyn OutputStore) -> Self {
        Self {
            stdout: (Lane::new(redactor), store.spool()),
            stderr: (Lane::new(redactor), store.spool()),
        }
    }

    pub(super) fn push(&mut self, stream: Stream, bytes: &[u8]) {
        let (lane, spool) = match stream {
            Stream::Stdout => &mut self.stdout,
            Stream::Stderr => &mut self.stderr,
        };
        spool.push(&lane.push(bytes));
    }

    /// How many bytes were written, if they are so many that it is no use to wait for more.
    pub(super) fn flood(&self) -> Option<u64> {
        let (out, err) = (&self.stdout.1, &self.stderr.1);
        (out.is_flooded() || err.is_flooded()).then(|| out.total() + err.total())
    }

    /// The end of both.
    pub(super) fn finish(&mut self) {
        for (lane, spool) in [&mut self.stdout, &mut self.stderr] {
            spool.push(&lane.finish());
        }
    }

    /// Standard output, standard error and a last word, within the limits of the call. Where
    /// that is not all, the rest is to be kept. On a thread that may wait.
    pub(super) fn into_output(
        mut self,
        last_word: String,
        limits: OutputLimits,
    ) -> Result<(Output, Option<Rest>), ToolError> {
        let limits = Limits {
            max_bytes: limits.max_bytes,
            max_lines: limits.max_lines,
            capacity: Some(limits.available_capacity),
        };
        let mut bounder = Bounder::new(limits);
        let read = self.each_piece(&last_word, &mut |piece| bounder.push(piece));
        read.map_err(|error| unreadable(&error))?;
        let fits = bounder.clone().finish(None);
        let mut output = Output::self_bounded(fits.text);
        output.cut = fits.truncated;
        for (name, spool) in [("stdout", &self.stdout.1), ("stderr", &self.stderr.1)] {
            output = output.with(&format!("{name}_bytes"), spool.total());
            if spool.dropped() > 0 {
                output = output.with(&format!("{name}_bytes_dropped"), spool.dropped());
            }
            if let Some(why) = spool.failed() {
                output = output.with(&format!("{name}_not_kept"), why.to_owned());
            }
        }
        let rest = fits.truncated.then(|| Rest {
            capture: self,
            last_word,
            bounder,
        });
        Ok((output, rest))
    }

    /// The first bytes of standard error, for what they say about a denial.
    pub(super) fn start_of_stderr(&mut self, most: u64) -> String {
        start_of(&mut self.stderr.1, most)
    }

    /// The same of standard output, where that is all there is: `2>&1 | tail` has written it.
    pub(super) fn start_of_stdout(&mut self, most: u64) -> String {
        if self.stdout.1.total() > most {
            return String::new();
        }
        start_of(&mut self.stdout.1, most)
    }

    /// The words between standard output and standard error, and before the last word.
    fn between(&self) -> (&'static str, &'static str) {
        let (out, err) = (&self.stdout.1, &self.stderr.1);
        let between = match (out.total(), err.total()) {
            (_, 0) => "",
            (0, _) => "[stderr]\n",
            _ if out.ends_line() => "\n[stderr]\n",
            _ => "\n\n[stderr]\n",
        };
        let last = if err.total() > 0 { err } else { out };
        let before_last = if last.ends_line() { "" } else { "\n" };
        (between, before_last)
    }

    /// The whole text: standard output, `[stderr]` and standard error, the last word.
    fn whole<'c>(&'c mut self, last_word: &'c str) -> impl Read + 'c {
        let (between, before_last) = self.between();
        let before_last = if last_word.is_empty() {
            ""
        } else {
            before_last
        };
        let (out, err) = (&mut self.stdout.1, &mut self.stderr.1);
        out.reader()
            .chain(between.as_bytes())
            .chain(err.reader())
            .chain(before_last.as_bytes())
            .chain(last_word.as_bytes())
    }

    /// The same, with everything in it.
    fn into_whole(self, last_word: String) -> impl Read + Send + 'static {
        let (between, before_last) = self.between();
        let before_last = if last_word.is_empty() {
            ""
        } else {
            before_last
        };
        let (out, err) = (self.stdout.1, self.stderr.1);
        out.into_reader()
            .chain(between.as_bytes())
            .chain(err.into_reader())
            .chain(before_last.as_bytes())
            .chain(Cursor::new(last_word))
    }

    fn each_piece(&mut self, last_word: &str, with: &mut dyn FnMut(&str)) -> std::io::Result<()> {
        let mut whole = self.whole(last_word);
        let mut bytes = vec![0; 64 * 1024];
        let mut held = 0;
        loop {
            let room = bytes.get_mut(held..).unwrap_or_default();
            let read = whole.read(room)?;
            let there = bytes.get(..held + read).unwrap_or_default();
            let text = match std::str::from_utf8(there) {
                Ok(text) => text,
                Err(fault) => {
                    // A character that the next piece completes. All text here is valid.
                    let valid = there.get(..fault.valid_up_to()).unwrap_or_default();
                    std::str::from_utf8(valid).unwrap_or_default()
                }
            };
            with(text);
            let taken = text.len();
            held = there.len() - taken;
            bytes.copy_within(taken..taken + held, 0);
            if read == 0 {
                return Ok(());
            }
        }
    }
}

/// An output that is more than one result takes.
#[derive(Debug)]
pub(super) struct Rest {
    capture: Capture,
    last_word: String,
    bounder: Bounder,
}

impl Rest {
    /// Keeps the whole, and names it in the output.
    pub(super) async fn keep(self, session: &Session, output: Output) -> Output {
        let whole = Box::new(self.capture.into_whole(self.last_word));
        let kept = session.outputs().keep(session.id(), whole).await;
        let name = kept.as_ref().ok().map(OutputHandle::as_str);
        let content = self.bounder.finish(name).text;
        let mut output = Output { content, ..output };
        match kept {
            Ok(handle) => output.kept = Some(handle),
            Err(error) => output = output.with("output_not_kept", error.to_string()),
        }
        output
    }
}

fn start_of(spool: &mut Spool, most: u64) -> String {
    let mut bytes = Vec::new();
    // Unreadable output gives no hints.
    let _ = spool.reader().take(most).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn unreadable(error: &std::io::Error) -> ToolError {
    ToolError::new(
        toolgate_model::ErrorKind::Failed,
        format!("the command ran, and its output cannot be read back: {error}"),
    )
}
