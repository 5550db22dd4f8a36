//! Example tools whose every step is a script.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolgate_gate::tool::{
    Facts, Invocation, Output, Preview, RunCtx, Tool, ToolSpec, View, hex, path_error,
};
use toolgate_model::{Args, Risk, Run, Stream, ToolError};
use toolgate_sandbox::paths::StageOptions;

/// Where a tool can go wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// While it reads its arguments.
    Parse,
    /// While it says in a line what it will do.
    Summary,
    /// While it states its facts.
    Facts,
    /// While it says how long it may take.
    Timeout,
    /// While it makes its preview, before the first await.
    Preview,
    /// While it makes its preview, after the first await.
    PreviewLater,
    /// While it runs.
    Run,
}

/// How a tool keeps a thread for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// It never gives the runtime's own thread back.
    TheRuntime,
    /// It works on a thread of its own and has taken its context along.
    AThread,
}

/// What a tool does when it runs.
#[derive(Clone, Debug)]
pub enum Act {
    /// Hands this back.
    Give(Output),
    /// Hands back the argument `text`.
    Echo,
    /// Fails.
    Fail(ToolError),
    /// Waits so long, then hands back `done`.
    Take(Duration),
    /// Waits for ever and can be dropped at any time.
    Sleep,
    /// Waits until it is told to stop, then hands this back.
    StopWith(Output),
    /// Keeps a thread until it is released, whatever it is told.
    Block(Blocking, Release),
    /// Shows these pieces, then ends well.
    Show(Vec<(Stream, Vec<u8>)>),
    /// Shows these pieces, then waits for ever.
    ShowAndSleep(Vec<(Stream, Vec<u8>)>),
    /// Writes a file through the path sandbox.
    Write {
        /// The file.
        path: String,
        /// What it will hold.
        content: String,
    },
}

/// How many times something ran. Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Count(Arc<AtomicUsize>);

impl Count {
    /// How many times so far.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }

    fn add(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Lets a blocked tool go.
#[derive(Clone, Debug, Default)]
pub struct Release(Arc<(Mutex<bool>, Condvar)>);

impl Release {
    /// Lets it go, now or when it comes to that.
    pub fn release(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Lets it go at the latest when the returned value is dropped: a test that fails
    /// does not wait for a thread that nobody releases.
    pub fn at_end(&self) -> AtEnd {
        AtEnd(self.clone())
    }

    /// Keeps this thread until it is let go.
    pub fn wait(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }
}

/// Lets a blocked tool go when it is dropped.
#[derive(Debug)]
pub struct AtEnd(Release);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// A tool by script. Until more is said it only reads, touches nothing and hands back `done`.
#[derive(Clone, Debug)]
pub struct Scripted {
    spec: ToolSpec,
    act: Act,
    facts: Facts,
    from_args: bool,
    panics: Option<Step>,
    rests_on: Vec<String>,
    timeout: Option<Duration>,
    ran: Count,
}

impl Scripted {
    /// A tool of this name that takes an optional `text`.
    pub fn new(name: &str) -> Self {
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"text": {"type": "string"}}});
        Self {
            spec: ToolSpec::new(
                name,
                format!("Does what the script of {name} says."),
                schema,
            ),
            act: Act::Give(Output::plain("done")),
            facts: Facts::none(),
            from_args: false,
            panics: None,
            rests_on: Vec::new(),
            timeout: None,
            ran: Count::default(),
        }
    }

    /// What it does.
    #[must_use]
    pub fn does(mut self, act: Act) -> Self {
        self.act = act;
        self
    }

    /// It hands this back.
    #[must_use]
    pub fn gives(self, content: impl Into<String>) -> Self {
        self.does(Act::Give(Output::plain(content)))
    }

    /// What it says it touches.
    #[must_use]
    pub fn facts(mut self, facts: Facts) -> Self {
        self.facts = facts;
        self
    }

    /// Where it panics, with an escape sequence in what it says.
    #[must_use]
    pub fn panics_in(mut self, step: Step) -> Self {
        self.panics = Some(step);
        self
    }

    /// A file whose content it shows before it is approved.
    #[must_use]
    pub fn shows(mut self, path: &str) -> Self {
        self.rests_on.push(path.to_owned());
        self
    }

    /// How long a call may take, as if its arguments said so.
    #[must_use]
    pub fn call_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// What it says about itself.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// It has side effects: with the default rules a person is asked.
    #[must_use]
    pub fn side_effects(self) -> Self {
        self.spec(|spec| {
            spec.side_effects = true;
            spec.risk = Risk::Medium;
        })
    }

    /// How often it ran.
    pub fn ran(&self) -> Count {
        self.ran.clone()
    }

    fn panic_in(&self, step: Step) {
        if self.panics == Some(step) {
            panic!("\u{1b}[31mboom in {step:?}\nsecond line");
        }
    }
}

impl From<Scripted> for Arc<dyn Tool> {
    fn from(tool: Scripted) -> Self {
        Arc::new(tool)
    }
}

/// A tool whose facts are its arguments, and that does nothing.
pub fn states_facts(name: &str) -> Scripted {
    let list = json!({"type": "array", "items": {"type": "string"}});
    let mut tool = Scripted::new(name).spec(|spec| {
        spec.schema = json!({"type": "object", "additionalProperties": false, "properties": {
            "reads": list, "writes": list, "deletes": list, "connects": list,
            "commands": {"type": "array", "items": list}, "opaque": {"type": "boolean"},
        }});
    });
    tool.from_args = true;
    tool
}

fn facts_of(args: &Args) -> Facts {
    let words = |value: &Value| -> Vec<String> {
        let all = value.as_array().into_iter().flatten();
        all.filter_map(|word| word.as_str().map(str::to_owned))
            .collect()
    };
    let list = |key: &str| args.get(key).map(words).unwrap_or_default();
    let runs = args.get("commands").and_then(Value::as_array);
    Facts {
        reads: list("reads"),
        writes: list("writes"),
        deletes: list("deletes"),
        connects: list("connects"),
        runs: runs
            .into_iter()
            .flatten()
            .map(|line| Run {
                words: words(line),
                opaque: false,
            })
            .collect(),
        complete: args.get("opaque") != Some(&Value::Bool(true)),
        ..Facts::none()
    }
}

impl Tool for Scripted {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        self.panic_in(Step::Parse);
        let mut script = self.clone();
        if self.from_args {
            script.facts = facts_of(args);
        }
        let text = args.get("text").and_then(Value::as_str);
        Ok(Box::new(Understood {
            script,
            text: text.unwrap_or_default().to_owned(),
        }))
    }
}

struct Understood {
    script: Scripted,
    text: String,
}

impl Invocation for Understood {
    fn summary(&self) -> String {
        self.script.panic_in(Step::Summary);
        format!("{} {}", self.script.spec.name, self.text)
    }

    fn facts(&self) -> &Facts {
        self.script.panic_in(Step::Facts);
        &self.script.facts
    }

    fn timeout(&self) -> Option<Duration> {
        self.script.panic_in(Step::Timeout);
        self.script.timeout
    }

    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        self.script.panic_in(Step::Preview);
        async move {
            self.script.panic_in(Step::PreviewLater);
            let mut preview = Preview::default();
            for path in &self.script.rests_on {
                let path = path.clone();
                let seen = view.look(move |view| view.read(&path, 1 << 20)).await?;
                let content = seen.content.unwrap_or_default();
                preview.text = Some(String::from_utf8_lossy(&content).into_owned());
                preview.rests_on.push(seen.digest);
            }
            Ok(preview)
        }
        .boxed()
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        async move {
            self.script.ran.add();
            self.script.panic_in(Step::Run);
            act(self.script.act, self.text, cx).await
        }
        .boxed()
    }
}

async fn act(act: Act, text: String, cx: RunCtx) -> Result<Output, ToolError> {
    match act {
        Act::Give(output) => Ok(output),
        Act::Echo => Ok(Output::plain(text)),
        Act::Fail(error) => Err(error),
        Act::Take(time) => {
            tokio::time::sleep(time).await;
            Ok(Output::plain("done"))
        }
        Act::Sleep => std::future::pending().await,
        Act::StopWith(output) => {
            cx.cancel().cancelled().await;
            Ok(output)
        }
        Act::Block(Blocking::TheRuntime, release) => {
            release.wait();
            Ok(Output::plain("released"))
        }
        Act::Block(Blocking::AThread, release) => {
            let thread = tokio::task::spawn_blocking(move || {
                release.wait();
                drop(cx);
            });
            thread.await.expect("the thread does not panic");
            Ok(Output::plain("released"))
        }
        Act::Show(pieces) => {
            show(&cx, pieces).await;
            Ok(Output::plain("shown"))
        }
        Act::ShowAndSleep(pieces) => {
            show(&cx, pieces).await;
            std::future::pending().await
        }
        Act::Write { path, content } => write(&cx, &path, &content),
    }
}

async fn show(cx: &RunCtx, pieces: Vec<(Stream, Vec<u8>)>) {
    for (stream, bytes) in pieces {
        cx.emit(stream, &bytes).await;
    }
}

fn write(cx: &RunCtx, path: &str, content: &str) -> Result<Output, ToolError> {
    let wrong = |error| path_error(&error);
    let options = StageOptions {
        overwrite: true,
        create_parents: true,
        nonce: cx.entropy().bits().expect("randomness"),
    };
    let mut staged = cx.sandbox().stage(path, options).map_err(wrong)?;
    staged.write_all(content.as_bytes()).map_err(wrong)?;
    staged.sync().map_err(wrong)?;
    staged.commit().map_err(wrong)?;
    let handle = cx.sandbox().open_read(path).map_err(wrong)?;
    let (place, sha256) = (
        toolgate_gate::place(&handle),
        hex(&Sha256::digest(content.as_bytes())),
    );
    let now = cx.clock().now_ms();
    cx.session().reads(|log| log.wrote(&place, &sha256, now));
    Ok(Output::plain(format!("wrote {path}")))
}
