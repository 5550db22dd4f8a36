//! A tool from a struct and a function.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toolgate_model::{
    Args, Category, Facts, NeededDirectory, NetworkAccess, Openings, Risk, ToolError,
};

use super::{
    Ahead, Invocation, Output, Preview, RunCtx, Spelling, Tool, ToolSpec, View, read_args,
};

type Run<A> = dyn Fn(A, RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> + Send + Sync;
type Look<A> = dyn Fn(&A, &View) -> Result<Preview, ToolError> + Send + Sync;

type Check<A> = dyn Fn(&A) -> Result<(), ToolError> + Send + Sync;
type Opens<A> = dyn Fn(&A, &Facts) -> Vec<NeededDirectory> + Send + Sync;
type Networks<A> = dyn Fn(&A) -> Vec<NetworkAccess> + Send + Sync;
type Fails<A> = dyn Fn(&A, &Facts, &Openings) -> Vec<String> + Send + Sync;
type Prepare<A> = dyn Fn(&mut A, &Ahead<'_>) + Send + Sync;
type LeaveOut<A> = dyn Fn(&mut A, &[(String, ToolError)]) + Send + Sync;
type Locations<A> = dyn Fn(&A) -> Vec<String> + Send + Sync;
type Refused<A> = dyn Fn(&A, &Facts) -> Option<ToolError> + Send + Sync;
type Limit<A> = dyn Fn(&A) -> Option<Duration> + Send + Sync;

struct Parts<A> {
    run: Box<Run<A>>,
    check: Box<Check<A>>,
    summary: Box<dyn Fn(&A) -> String + Send + Sync>,
    facts: Box<dyn Fn(&A) -> Facts + Send + Sync>,
    preview: Option<Arc<Look<A>>>,
    prepare: Option<Box<Prepare<A>>>,
    timeout: Box<Limit<A>>,
    opens: Box<Opens<A>>,
    locations: Box<Locations<A>>,
    leave_out: Option<Box<LeaveOut<A>>>,
    could_connect: Box<Networks<A>>,
    would_fail: Box<Fails<A>>,
    refused: Box<Refused<A>>,
}

/// A tool whose arguments are a type: the schema comes from it, and it is parsed once.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolgate_gate::tool::{Facts, Output, typed};
///
/// /// What `greet` takes.
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(deny_unknown_fields)]
/// struct Greet {
///     /// Whom to greet.
///     name: String,
/// }
///
/// let tool = typed("greet", "Greets somebody.", |args: Greet, _cx| async move {
///     Ok(Output::plain(format!("Hello, {}!", args.name)))
/// })
/// .summary(|args| format!("Greet {}", args.name))
/// .facts(|_| Facts::none());
/// ```
pub struct TypedTool<A> {
    spec: ToolSpec,
    parts: Arc<Parts<A>>,
    args: PhantomData<fn() -> A>,
}

/// Makes a tool from a name, a description for models and an async function.
///
/// Until more is said it is read-only and states no facts; a tool with effects
/// has to say [`TypedTool::side_effects`] and its [`TypedTool::facts`].
pub fn typed<A, F, R>(name: &str, description: &str, run: F) -> TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + Sync + 'static,
    F: Fn(A, RunCtx) -> R + Send + Sync + 'static,
    R: Future<Output = Result<Output, ToolError>> + Send + 'static,
{
    let title = name.to_owned();
    TypedTool {
        spec: ToolSpec::new(name, description, schema_of::<A>()),
        parts: Arc::new(Parts {
            run: Box::new(move |args, cx| run(args, cx).boxed()),
            check: Box::new(|_| Ok(())),
            summary: Box::new(move |_| title.clone()),
            facts: Box::new(|_| Facts::none()),
            preview: None,
            prepare: None,
            timeout: Box::new(|_| None),
            opens: Box::new(|_, _| Vec::new()),
            locations: Box::new(|_| Vec::new()),
            leave_out: None,
            could_connect: Box::new(|_| Vec::new()),
            would_fail: Box::new(|_, _, _| Vec::new()),
            refused: Box::new(|_, _| None),
        }),
        args: PhantomData,
    }
}

/// The schema of a type, without the parts no wire wants, and closed against unknown arguments.
fn schema_of<A: JsonSchema>() -> Value {
    let mut schema = schemars::generate::SchemaSettings::draft2020_12()
        .with(|settings| {
            settings.meta_schema = None;
            settings.inline_subschemas = true;
        })
        .into_generator()
        .into_root_schema_for::<A>()
        .to_value();
    if let Some(object) = schema.as_object_mut() {
        object.remove("title");
        object
            .entry("properties")
            .or_insert_with(|| Value::Object(Args::new()));
        object.insert("additionalProperties".into(), false.into());
    }
    schema
}

impl<A> TypedTool<A> {
    fn parts(&mut self) -> Option<&mut Parts<A>> {
        // The builder is the only owner until the tool is registered.
        Arc::get_mut(&mut self.parts)
    }

    fn set(mut self, change: impl FnOnce(&mut Parts<A>)) -> Self {
        if let Some(parts) = self.parts() {
            change(parts);
        }
        self
    }

    fn spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    /// Checks what a schema cannot say, such as one argument against another.
    #[must_use]
    pub fn check(
        self,
        check: impl Fn(&A) -> Result<(), ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.check = Box::new(check))
    }

    /// What a call will do, in one line.
    #[must_use]
    pub fn summary(self, summary: impl Fn(&A) -> String + Send + Sync + 'static) -> Self {
        self.set(|parts| parts.summary = Box::new(summary))
    }

    /// What a call will touch.
    #[must_use]
    pub fn facts(self, facts: impl Fn(&A) -> Facts + Send + Sync + 'static) -> Self {
        self.set(|parts| parts.facts = Box::new(facts))
    }

    /// What a person is shown first. It is called on a thread that may wait for a disk.
    #[must_use]
    pub fn preview(
        self,
        preview: impl Fn(&A, &View) -> Result<Preview, ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.preview = Some(Arc::new(preview)))
    }

    /// What can be made ready while the start of a call is put on record; see
    /// [`Invocation::prepare`]. It is kept among the arguments.
    #[must_use]
    pub fn prepare(self, prepare: impl Fn(&mut A, &Ahead<'_>) + Send + Sync + 'static) -> Self {
        self.set(|parts| parts.prepare = Some(Box::new(prepare)))
    }

    /// How long a call may take, if its arguments say so.
    #[must_use]
    pub fn call_timeout(
        self,
        timeout: impl Fn(&A) -> Option<Duration> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.timeout = Box::new(timeout))
    }

    /// Directories beyond the sandbox that a person can open to a call.
    #[must_use]
    pub fn opens(
        self,
        opens: impl Fn(&A, &Facts) -> Vec<NeededDirectory> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.opens = Box::new(opens))
    }

    /// How a call for several files goes on without some of them; see
    /// [`Invocation::leave_out`]. The facts are stated again after it.
    #[must_use]
    pub fn leave_out(
        self,
        leave_out: impl Fn(&mut A, &[(String, ToolError)]) + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.leave_out = Some(Box::new(leave_out)))
    }

    /// The arguments that are paths; see [`ToolSpec::paths`].
    #[must_use]
    pub fn paths<'p>(self, paths: impl IntoIterator<Item = &'p str>) -> Self {
        self.spec(|spec| spec.paths.extend(paths.into_iter().map(str::to_owned)))
    }

    /// Places beside those of the facts; see [`Invocation::locations`].
    #[must_use]
    pub fn locations(self, locations: impl Fn(&A) -> Vec<String> + Send + Sync + 'static) -> Self {
        self.set(|parts| parts.locations = Box::new(locations))
    }

    /// Networks that an approver can open to a call; see [`Invocation::could_connect`].
    #[must_use]
    pub fn could_connect(
        self,
        networks: impl Fn(&A) -> Vec<NetworkAccess> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.could_connect = Box::new(networks))
    }

    /// What a sandbox of the tool's own will refuse of a call; see [`Invocation::would_fail`].
    #[must_use]
    pub fn would_fail(
        self,
        words: impl Fn(&A, &Facts, &Openings) -> Vec<String> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.would_fail = Box::new(words))
    }

    /// What a sandbox of the tool's own would refuse; see [`Invocation::refused`].
    #[must_use]
    pub fn refused(
        self,
        refused: impl Fn(&A, &Facts) -> Option<ToolError> + Send + Sync + 'static,
    ) -> Self {
        self.set(|parts| parts.refused = Box::new(refused))
    }

    /// It changes, runs or contacts something. Its risk is at least medium.
    #[must_use]
    pub fn side_effects(self) -> Self {
        self.spec(|spec| {
            spec.side_effects = true;
            spec.risk = spec.risk.max(Risk::Medium);
        })
    }

    /// A person is asked even where a default would allow.
    #[must_use]
    pub fn requires_approval(self) -> Self {
        self.spec(|spec| spec.requires_approval = true)
    }

    /// How much harm it can do.
    #[must_use]
    pub fn risk(self, risk: Risk) -> Self {
        self.spec(|spec| spec.risk = risk)
    }

    /// What it is about.
    #[must_use]
    pub fn category(self, category: Category) -> Self {
        self.spec(|spec| spec.category = category)
    }

    /// How long any call of it may take.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> Self {
        self.spec(|spec| spec.timeout = Some(timeout))
    }

    /// Other spellings of its arguments.
    #[must_use]
    pub fn spellings(self, spellings: impl IntoIterator<Item = Spelling>) -> Self {
        self.spec(|spec| spec.spellings.extend(spellings))
    }

    /// It is callable by name and not offered to models.
    #[must_use]
    pub fn unadvertised(self) -> Self {
        self.spec(|spec| spec.advertised = false)
    }

    /// Asking the same again and again is its purpose.
    #[must_use]
    pub fn repeatable(self) -> Self {
        self.spec(|spec| spec.repeatable = true)
    }
}

impl<A> Tool for TypedTool<A>
where
    A: DeserializeOwned + JsonSchema + Send + Sync + 'static,
{
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn parse(&self, args: &Args) -> Result<Box<dyn Invocation>, ToolError> {
        let parsed: A = read_args(args)?;
        (self.parts.check)(&parsed)?;
        let facts = (self.parts.facts)(&parsed);
        Ok(Box::new(TypedInvocation {
            args: Arc::new(parsed),
            facts,
            parts: Arc::clone(&self.parts),
        }))
    }
}

struct TypedInvocation<A> {
    /// Shared with a preview only while that is made.
    args: Arc<A>,
    facts: Facts,
    parts: Arc<Parts<A>>,
}

impl<A: Send + Sync + 'static> Invocation for TypedInvocation<A> {
    fn summary(&self) -> String {
        (self.parts.summary)(&self.args)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn timeout(&self) -> Option<Duration> {
        (self.parts.timeout)(&self.args)
    }

    fn opens(&self) -> Vec<NeededDirectory> {
        (self.parts.opens)(&self.args, &self.facts)
    }

    fn leave_out(&mut self, denied: &[(String, ToolError)]) -> bool {
        let (Some(leave_out), Some(args)) = (&self.parts.leave_out, Arc::get_mut(&mut self.args))
        else {
            return false;
        };
        leave_out(args, denied);
        self.facts = (self.parts.facts)(&self.args);
        true
    }

    fn locations(&self) -> Vec<String> {
        (self.parts.locations)(&self.args)
    }

    fn could_connect(&self) -> Vec<NetworkAccess> {
        (self.parts.could_connect)(&self.args)
    }

    fn would_fail(&self, opened: &Openings) -> Vec<String> {
        (self.parts.would_fail)(&self.args, &self.facts, opened)
    }

    fn refused(&self) -> Option<ToolError> {
        (self.parts.refused)(&self.args, &self.facts)
    }

    fn preview<'a>(&'a self, view: &'a View) -> BoxFuture<'a, Result<Preview, ToolError>> {
        let Some(look) = self.parts.preview.clone() else {
            return Box::pin(std::future::ready(Ok(Preview::default())));
        };
        let args = Arc::clone(&self.args);
        Box::pin(view.look(move |view| look(&args, view)))
    }

    fn prepare(&mut self, ahead: &Ahead<'_>) {
        if let (Some(prepare), Some(args)) = (&self.parts.prepare, Arc::get_mut(&mut self.args)) {
            prepare(args, ahead);
        }
    }

    fn run(self: Box<Self>, cx: RunCtx) -> BoxFuture<'static, Result<Output, ToolError>> {
        let Self { args, parts, .. } = *self;
        match Arc::try_unwrap(args) {
            Ok(args) => (parts.run)(args, cx),
            // A call whose preview was given up is refused, so this is not reached.
            Err(_) => Box::pin(std::future::ready(Err(ToolError::failed(
                "the preview of this call is still being made; nothing was run",
            )))),
        }
    }
}
