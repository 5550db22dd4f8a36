//! The trait of a tool, and its definition.
//!
//! ```text
//! Tool ──parse(args)──▶ Invocation ──facts, summary, preview──▶ (policy, user)
//!                            ├──prepare(Ahead)    while its start is put on record
//!                            └──run(RunCtx)──▶ Output | ToolError
//! ```
//!
//! A tool parses its arguments once. The [`Invocation`] that comes out is what is
//! explained, approved and run; nothing is parsed again. `run` takes a [`RunCtx`]
//! by value, and only this crate's `execute` can make one, so holding a tool is
//! not enough to run it.

mod ahead;
mod context;
mod described;
mod read_args;
mod typed;
mod view;

use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::Value;
use toolgate_model::{
    Args, Category, ContentBlock, FileDigest, Metadata, NeededDirectory, NetworkAccess, Openings,
    OutputHandle, Risk, ToolError,
};

pub use ahead::Ahead;
pub(crate) use context::{ContextParts, Permit};
pub use context::{OutputLimits, RunCtx};
pub use described::Described;
pub use read_args::read_args;
pub use toolgate_model::hex::encode as hex;
pub use typed::{TypedTool, typed};
pub use view::{Seen, View, path_error};

use crate::output::{Limits, bound};

pub use toolgate_model::Facts;
pub use toolgate_policy::Hidden;

/// Another spelling of an argument, taken as the canonical one.
#[derive(Clone)]
pub struct Spelling {
    /// What a model may write.
    pub other: String,
    /// What it means.
    pub canonical: String,
    /// How the value changes, if it does; the error text goes to the model.
    pub convert: Option<fn(Value) -> Result<Value, String>>,
    /// Whether it is one of those that are offered where a name is not known.
    pub offered: bool,
}

impl Spelling {
    /// A spelling whose value means the same.
    pub fn same(other: impl Into<String>, canonical: impl Into<String>) -> Self {
        Self {
            other: other.into(),
            canonical: canonical.into(),
            convert: None,
            offered: true,
        }
    }

    /// The same, understood and never offered.
    #[must_use]
    pub fn not_offered(mut self) -> Self {
        self.offered = false;
        self
    }
}

impl std::fmt::Debug for Spelling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} = {}", self.other, self.canonical)
    }
}

/// What a tool says about itself. Its digest is part of every plan's hash.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The canonical name.
    pub name: String,
    /// What it does, for a model.
    pub description: String,
    /// JSON Schema (2020-12) of its arguments: an object.
    pub schema: Value,
    /// What it is about.
    pub category: Category,
    /// Whether it changes, runs or contacts anything.
    pub side_effects: bool,
    /// Whether approval is needed even where a default would allow.
    pub requires_approval: bool,
    /// How much harm it can do.
    pub risk: Risk,
    /// How long one call may take; the configured default if not given.
    pub timeout: Option<Duration>,
    /// Other spellings of its arguments.
    pub spellings: Vec<Spelling>,
    /// Its arguments that are paths, or lists of paths. They are brought to the names under which
    /// policy and journal know the places, before the tool reads them.
    pub paths: Vec<String>,
    /// Whether it is offered to models. Diagnostic tools are callable by name only.
    pub advertised: bool,
    /// Whether the same call with the same result may come again and again.
    pub repeatable: bool,
}

impl ToolSpec {
    /// A tool that only reads, with everything else at its default.
    pub fn new(name: impl Into<String>, description: impl Into<String>, schema: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            schema,
            category: Category::Other,
            side_effects: false,
            requires_approval: false,
            risk: Risk::Low,
            timeout: None,
            spellings: Vec::new(),
            paths: Vec::new(),
            advertised: true,
            repeatable: false,
        }
    }
}

/// A tool that a model can call.
pub trait Tool: Send + Sync + 'static {
    /// What it says about itself. The same on every call.
    fn spec(&self) -> &ToolSpec;

    /// Reads arguments that fit the schema, once, without touching anything.
    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError>;
}

/// A call that was understood and has not run yet.
pub trait Invocation: Send + Sync + 'static {
    /// What it will do, in one line, from the parsed arguments. It is sanitized and shortened by the caller.
    fn summary(&self) -> String;

    /// What it will touch.
    fn facts(&self) -> &Facts;

    /// How much harm this very call can do; the tool's own risk if not given.
    fn risk(&self) -> Option<Risk> {
        None
    }

    /// Whether this very call needs approval, where the tool does not want it
    /// for every one. Like the facts, it follows from the arguments alone.
    fn requires_approval(&self) -> bool {
        false
    }

    /// Takes paths that may not be read out of a call for several, each with the reason; the
    /// call reports them instead of reading them, and they are gone from its facts. False where
    /// the call is all or nothing, and then nothing has changed.
    fn leave_out(&mut self, denied: &[(String, ToolError)]) -> bool {
        let _ = denied;
        false
    }

    /// Directories beyond the roots that this call would need, as they are now. An approver can
    /// open them to it; a plain yes does not.
    fn opens(&self) -> Vec<NeededDirectory> {
        Vec::new()
    }

    /// Places that an approver and a listener are told of beside those of the facts, such as the
    /// directory in which a command runs.
    fn locations(&self) -> Vec<String> {
        Vec::new()
    }

    /// Networks that an approver can open to this call beyond what its sandbox has, the smallest
    /// first.
    fn could_connect(&self) -> Vec<NetworkAccess> {
        Vec::new()
    }

    /// What the call's own sandbox will refuse while it runs, in words, with what is open to the
    /// call already. An approver is told before the answer.
    fn would_fail(&self, opened: &Openings) -> Vec<String> {
        let _ = opened;
        Vec::new()
    }

    /// What the call's own sandbox would refuse of what it says it will touch. Asked where facts
    /// are only claimed: the path sandbox has no part in such a call.
    fn refused(&self) -> Option<ToolError> {
        None
    }

    /// How long this very call may take, if the arguments say so.
    fn timeout(&self) -> Option<Duration> {
        None
    }

    /// What the user is shown before answering, read through the path sandbox. Writes nothing.
    /// It runs on a thread that serves other conversations too: files are read in
    /// [`View::look`].
    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        let _ = view;
        Box::pin(std::future::ready(Ok(Preview::default())))
    }

    /// Begins to make ready what `run` will need, and returns at once. The call is
    /// allowed and its paths are locked, but its start is not recorded yet. So nothing
    /// may happen here that the call is for, and all of it has to go away when the
    /// invocation is dropped. Not every call is asked to.
    fn prepare(&mut self, ahead: &Ahead<'_>) {
        let _ = ahead;
    }

    /// Runs the call.
    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>>;
}

/// What the user is shown, and the files it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// A diff or another text.
    pub text: Option<String>,
    /// Names of arguments that the text shows in another form. All others are shown whole
    /// beside it, so an argument that is named here without need would stay unseen.
    pub shows: &'static [&'static str],
    /// Whether something is missing from the text because it was too long.
    pub cut: bool,
    /// The files it was made from. If one changes before the call runs, the answer is void.
    pub rests_on: Vec<FileDigest>,
}

impl Preview {
    /// A text within its limits that shows these arguments, and the files it was made from.
    pub fn bounded(
        text: &str,
        limits: Limits,
        shows: &'static [&'static str],
        rests_on: Vec<FileDigest>,
    ) -> Self {
        let bounded = bound(text, limits, None);
        Self {
            text: Some(bounded.text),
            shows,
            cut: bounded.truncated,
            rests_on,
        }
    }
}

/// How the text of an output is to be treated on its way to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// Escape sequences and invisible characters are removed, long text is cut in the middle.
    #[default]
    Plain,
    /// The bytes of a file: not sanitized, cut in the middle if too long.
    Exact,
    /// The tool kept it within the limits itself (JSON, base64): neither sanitized nor cut.
    SelfBounded,
}

/// The output of a tool.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// The text that every model gets.
    pub content: String,
    /// Typed parts beside it. Texts in them that `content` does not hold are added to it.
    pub blocks: Vec<ContentBlock>,
    /// What the user sees; the first lines of `content` if not given.
    pub display: Option<String>,
    /// How `content` is treated.
    pub text: Text,
    /// Further facts about the run.
    pub metadata: Metadata,
    /// For a tool that has output and failed all the same, such as a command with an exit code.
    pub error: Option<ToolError>,
    /// Whether the tool itself cut `content`.
    pub cut: bool,
    /// Where the tool itself kept what it cut.
    pub kept: Option<OutputHandle>,
}

impl Output {
    /// Text that is sanitized and bounded.
    pub fn plain(content: impl Into<String>) -> Self {
        Self {
            content: content.into(),
            ..Self::default()
        }
    }

    /// The exact content of a file.
    pub fn exact(content: impl Into<String>) -> Self {
        Self {
            text: Text::Exact,
            ..Self::plain(content)
        }
    }

    /// Text the tool bounded itself.
    pub fn self_bounded(content: impl Into<String>) -> Self {
        Self {
            text: Text::SelfBounded,
            ..Self::plain(content)
        }
    }

    /// The same with a line for the user.
    #[must_use]
    pub fn display(mut self, display: impl Into<String>) -> Self {
        self.display = Some(display.into());
        self
    }

    /// The same with one more block.
    ///
    /// ```
    /// # use toolgate_gate::tool::Output;
    /// # use toolgate_model::ContentBlock;
    /// let shot = Output::plain("The page, 2 columns.").block(ContentBlock::image("image/png", b"bytes"));
    /// assert_eq!(shot.blocks.len(), 1);
    /// ```
    #[must_use]
    pub fn block(mut self, block: ContentBlock) -> Self {
        self.blocks.push(block);
        self
    }

    /// The same with its result as JSON.
    #[must_use]
    pub fn structured(self, json: impl Into<Value>) -> Self {
        self.block(ContentBlock::structured(json.into()))
    }

    /// The same with a piece of metadata.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.to_owned(), value.into());
        self
    }
}
