//! `run_command`, `command_output` and `stop_command`: real commands in the command sandbox.
//!
//! ```text
//!  args ──▶ facts (shell) ──▶ policy, user ──▶ CommandSandbox::poise ──▶ go ──▶ Running
//!                                                                              │ driver
//!                        events ◀── chunks, in order of arrival ◀──────────────┤
//!                        Output ◀── stdout, then [stderr] ◀── Capture ◀────────┘
//!                                   the rest under a handle
//! ```
//!
//! The sandbox around a command is prepared while its start is journaled; its program begins
//! after that.
//!
//! A command ends in one of few ways (by itself, by a signal, out of time, cancelled, never
//! begun), and each of them is one kind of result. Background commands belong to the
//! conversation ([`background::Commands`]) and end with it.

mod background;
mod capture;
mod companions;
mod denial;
mod driver;
mod ending;
mod foreground;
mod git_effects;
mod place;
mod settings;
mod shared;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use toolgate_gate::session::Session;
use toolgate_gate::tool::{Ahead, Output, Preview, RunCtx, TypedTool, typed};
use toolgate_model::{
    Access, Category, DirectoryAccess, ErrorKind, Facts, NetworkAccess, OpenedDirectory, Openings,
    Risk, ToolError,
};
use toolgate_sandbox::command::{
    Barrier, CommandSandbox, CommandSpec, Denial, ExactDirectory, Grant, InForce, Network, Poised,
    SandboxError,
};
use toolgate_sandbox::paths::{PathSandbox, RootAccess, check_text};
use toolgate_shell::{LineContext, analyse, lookalikes};

pub(crate) use companions::{output_tool, stop_tool};
use foreground::HintContext;
use place::Place;
pub use settings::{CommandSettings, ConfiguredLines};
use shared::Shared;

use crate::blocking::{Begun, DroppedAside, blocking, cancelled};

const DESCRIPTION: &str = "Runs a line in bash and returns what it wrote: standard output first, \
    then standard error under [stderr], and the exit code if it is not 0. The command runs in a \
    sandbox: it can change files of the workspace only, has no network unless that was granted, no \
    terminal and no standard input, and everything it starts ends with it. Start servers and other \
    long work with background: true and read them with command_output. All commands of the \
    conversation share /tmp, the home directory and, unless the network is on, a loopback of their \
    own: a server in the background is reached by the next call, and all of it ends with the \
    conversation.";

/// The longest timeout: a day.
const MOST_SECONDS: u64 = 24 * 60 * 60;

/// More words about what will fail do not help.
const MOST_FAILURES: usize = 5;

/// How much longer the line waits for a command than the command itself may take: time to end
/// it and to hand over what it wrote.
const TO_HAND_OVER: Duration = Duration::from_secs(5);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunCommand {
    /// The line to run.
    #[schemars(length(min = 1))]
    command: String,
    /// The directory to run it in, relative to the workspace. The workspace itself if not given.
    #[serde(default)]
    cwd: Option<String>,
    /// After how many seconds the command is ended.
    #[serde(default)]
    timeout_seconds: Option<NonZeroU64>,
    /// The same in milliseconds.
    #[serde(default)]
    timeout_ms: Option<NonZeroU64>,
    /// After how many seconds without output the command is ended.
    #[serde(default)]
    idle_timeout_seconds: Option<NonZeroU64>,
    /// Whether to return at once and let it run. The result names a handle.
    #[serde(default)]
    background: bool,
    /// The sandbox that was prepared ahead.
    #[serde(skip)]
    ahead: Option<MadeAhead>,
}

/// A command that was made ready before its start was on record.
#[derive(Debug)]
struct MadeAhead {
    /// What was open to the call then.
    opened: Openings,
    /// A command that begins no more has to be ended.
    poised: DroppedAside<Begun<Poised>>,
}

impl RunCommand {
    fn check(&self, settings: &CommandSettings) -> Result<(), ToolError> {
        if self.timeout_seconds.is_some() && self.timeout_ms.is_some() {
            return Err(ToolError::bad_args(
                "give timeout_seconds or timeout_ms, not both",
            ));
        }
        let most = Duration::from_secs(MOST_SECONDS);
        if self.timeout().is_some_and(|timeout| timeout > most)
            || self.idle().is_some_and(|idle| idle > most)
        {
            return Err(ToolError::bad_args(format!(
                "a timeout is at most {MOST_SECONDS} seconds"
            )));
        }
        if self.command.contains('\0') {
            return Err(ToolError::bad_args("command contains a NUL character"));
        }
        if self.command.trim().is_empty() {
            return Err(ToolError::bad_args("command is blank; give a line to run"));
        }
        if let Some(cwd) = self.cwd.as_deref().filter(|cwd| !cwd.is_empty()) {
            check_text(cwd).map_err(|error| ToolError::bad_args(format!("cwd: {error}")))?;
        }
        Place::of(self.cwd.as_deref(), &settings.roots).map(drop)
    }

    fn timeout(&self) -> Option<Duration> {
        let seconds = self.timeout_seconds.map(NonZeroU64::get);
        let millis = self.timeout_ms.map(NonZeroU64::get);
        seconds
            .map(Duration::from_secs)
            .or(millis.map(Duration::from_millis))
    }

    fn idle(&self) -> Option<Duration> {
        let seconds = self.idle_timeout_seconds.map(NonZeroU64::get);
        seconds.map(Duration::from_secs)
    }

    /// When a command in the foreground is ended. One in the background has all the time of
    /// its conversation unless the call says otherwise.
    fn total(&self, settings: &CommandSettings) -> Duration {
        self.timeout().unwrap_or(settings.timeout)
    }

    fn summary(&self) -> String {
        let cwd = self.cwd.as_deref().filter(|cwd| !cwd.is_empty());
        let place = cwd.map(|cwd| format!(" in {cwd}")).unwrap_or_default();
        let manner = if self.background {
            "in the background"
        } else {
            ""
        };
        let how = [manner, place.trim_start()].map(str::trim).join(" ");
        let looks = lookalikes(&self.command);
        let looks = looks.map(|letters| format!(" [the program's name holds {letters}]"));
        let (looks, command) = (looks.unwrap_or_default(), &self.command);
        match how.trim() {
            "" => format!("Run command{looks}: {command}"),
            how => format!("Run command {how}{looks}: {command}"),
        }
    }

    fn facts(&self, settings: &CommandSettings) -> Facts {
        let Ok(place) = Place::of(self.cwd.as_deref(), &settings.roots) else {
            return Facts::opaque();
        };
        let roots: Vec<_> = place
            .roots
            .iter()
            .map(|root| root.to_string_lossy())
            .collect();
        let roots: Vec<&str> = roots.iter().map(AsRef::as_ref).collect();
        let context = LineContext {
            cwd: &place.relative,
            home: settings.home.as_deref(),
            roots: &roots,
        };
        let mut facts = analyse(&self.command, &context).facts;
        settings.find_programs(&mut facts, &place);
        facts
    }

    /// The directory it runs in, as other paths are named: from the workspace where it lies
    /// in it, else whole.
    fn directory(&self, settings: &CommandSettings) -> Vec<String> {
        let place = Place::of(self.cwd.as_deref(), &settings.roots);
        let name = place.ok().map(|place| {
            if place.roots.first() != settings.roots.first() {
                place.absolute.to_string_lossy().into_owned()
            } else if place.relative.is_empty() {
                ".".to_owned()
            } else {
                place.relative
            }
        });
        name.into_iter().collect()
    }

    /// The first path of the line that rules deny to commands, or protect from them. Only
    /// names are told from, and the sandbox holds whatever a line says.
    fn refused(&self, facts: &Facts, settings: &CommandSettings) -> Option<ToolError> {
        let rules = settings.sandbox().ok()?.rules_about();
        let place = Place::of(self.cwd.as_deref(), &settings.roots).ok()?;
        let root = place.roots.first()?;
        let mut paths = facts.paths().filter(|(_, path)| !path.starts_with('~'));
        let refused =
            paths.find_map(|(access, path)| denial::before(&rules, &root.join(path), access));
        refused.map(|error| ToolError::new(error.kind, settings.merged(&error.message)))
    }
}

impl RunCommand {
    /// What the sandbox will refuse of what the line names, with what is open to it.
    fn would_fail(
        &self,
        facts: &Facts,
        opened: &Openings,
        settings: &CommandSettings,
    ) -> Vec<String> {
        let (Ok(sandbox), Ok(place)) = (
            settings.sandbox(),
            Place::of(self.cwd.as_deref(), &settings.roots),
        ) else {
            return Vec::new();
        };
        let more: Vec<Grant> = opened.directories.iter().map(self::opened).collect();
        let reach = sandbox.reach(&more);
        let root = place.roots.first().cloned().unwrap_or_default();
        let beyond = settings.directories_beyond(facts);
        let mut words = Vec::new();
        for (access, path) in facts.paths().filter(|(_, path)| !path.starts_with('~')) {
            let denial = reach.explains(&root.join(path), access);
            // In a private directory an earlier command may have made it, unless the machine has it
            // and an approver is offered to open it.
            let is_offered = |denial: &Denial| {
                let mut all = beyond.iter();
                all.any(|offered| denial.path.starts_with(&offered.to))
            };
            let denial =
                denial.filter(|denial| denial.why != Barrier::Private || is_offered(denial));
            if let Some(denial) = denial {
                let denial = denial.to_string();
                if !words.contains(&denial) && words.len() < MOST_FAILURES {
                    words.push(denial);
                }
            }
        }
        let network = opened.network.map(network).unwrap_or(sandbox.network());
        if network != Network::On && !facts.connects.is_empty() {
            let hosts = facts.connects.join(", ");
            words.push(format!("the network is off for commands: no {hosts}"));
        }
        words
    }
}

/// The tool.
pub(crate) fn tool(settings: &Arc<CommandSettings>) -> TypedTool<RunCommand> {
    let (checks, states, limits) = (
        Arc::clone(settings),
        Arc::clone(settings),
        Arc::clone(settings),
    );
    let (opens, runs) = (Arc::clone(settings), Arc::clone(settings));
    let (prepares, judges) = (Arc::clone(settings), Arc::clone(settings));
    let enters = Arc::clone(settings);
    let lies = Arc::clone(settings);
    let (connects, fails) = (Arc::clone(settings), Arc::clone(settings));
    typed("run_command", DESCRIPTION, move |args: RunCommand, cx| {
        run(args, cx, Arc::clone(&runs))
    })
    .check(move |args| args.check(&checks))
    .summary(RunCommand::summary)
    .facts(move |args| args.facts(&states))
    .preview(move |args, view| {
        // Refuses a directory that it may not run in before an approver is asked.
        let place = Place::of(args.cwd.as_deref(), &enters.roots)?;
        place.check(view.roots(), |path| view.preflight(path, Access::Read))?;
        Ok(Preview::default())
    })
    .prepare(move |args, ahead| prepare(args, ahead, &prepares))
    .locations(move |args| args.directory(&lies))
    .opens(move |_, facts| opens.directories_beyond(facts))
    .could_connect(move |_| connects.networks_beyond())
    .would_fail(move |args, facts, opened| args.would_fail(facts, opened, &fails))
    .refused(move |args, facts| args.refused(facts, &judges))
    .call_timeout(move |args| {
        let longest = if args.background {
            Duration::ZERO
        } else {
            args.total(&limits)
        };
        Some(longest + TO_HAND_OVER)
    })
    .paths(["cwd"])
    .category(Category::Exec)
    .side_effects()
    .requires_approval()
    .risk(Risk::High)
}

impl RunCommand {
    /// The command that this asks for, in a directory that it may run in.
    fn spec(
        &self,
        settings: &CommandSettings,
        paths: &PathSandbox,
        open: &Openings,
        session: &Session,
    ) -> Result<CommandSpec, ToolError> {
        let place = Place::of(self.cwd.as_deref(), &settings.roots)?;
        place.check(paths.roots(), |path| paths.preflight(path, Access::Read))?;
        let mut spec = CommandSpec::line(&self.command, place.absolute);
        spec.env.clone_from(&settings.env);
        spec.opened = open.directories.iter().map(exact).collect();
        spec.network = open.network.map(network);
        spec.place = session.resource::<Shared>().place();
        Ok(spec)
    }
}

/// Puts the sandbox up around a command that is waited for. What stands in the way of that is
/// told when the command is to run.
fn prepare(args: &mut RunCommand, ahead: &Ahead<'_>, settings: &CommandSettings) {
    if !args.background
        && let Ok(sandbox) = settings.sandbox().cloned()
        && let Ok(spec) = args.spec(settings, ahead.sandbox(), ahead.opened(), ahead.session())
    {
        args.ahead = Some(MadeAhead {
            opened: ahead.opened().clone(),
            poised: DroppedAside::new(Begun::with(move || begin(&sandbox, spec))),
        });
    }
}

async fn run(
    mut args: RunCommand,
    cx: RunCtx,
    settings: Arc<CommandSettings>,
) -> Result<Output, ToolError> {
    let sandbox = settings.sandbox()?;
    let spec = args.spec(&settings, cx.sandbox(), cx.opened(), cx.session())?;
    if let Err(error) = check_git(&args, &cx, &settings).await {
        if let Some(ahead) = args
            .ahead
            .take()
            .and_then(|ahead| ahead.poised.into_inner())
        {
            // It is cleared up before the call ends: what it guards is only what was there.
            let poised = ahead.ended().await;
            let dropped = blocking(move || {
                drop(poised);
                Ok(())
            });
            drop(dropped.await);
        }
        return Err(error);
    }
    if args.background {
        return background::start(&args, spec, &settings, &cx).await;
    }
    let cwd = spec.cwd.clone();
    let ahead = args.ahead.take();
    let ahead = ahead.filter(|ahead| ahead.opened == *cx.opened());
    let poised = match ahead.and_then(|ahead| ahead.poised.into_inner()) {
        Some(poised) => poised,
        None => {
            let sandbox = sandbox.clone();
            Begun::with(move || begin(&sandbox, spec))
        }
    };
    let poised = tokio::select! {
        biased;
        poised = poised.ended() => poised?,
        () = cx.cancel().cancelled() => return Err(cancelled()),
    };
    let around = HintContext {
        cwd,
        sandbox: sandbox.clone(),
        settings,
    };
    foreground::run(&args, poised, around, &cx).await
}

/// Refuses a line whose git commands would change what commands cannot.
async fn check_git(
    args: &RunCommand,
    cx: &RunCtx,
    settings: &Arc<CommandSettings>,
) -> Result<(), ToolError> {
    if !args.command.contains("git") {
        return Ok(());
    }
    let place = Place::of(args.cwd.as_deref(), &settings.roots)?;
    let calls = git_effects::calls(&args.facts(settings), &place);
    let sandbox = settings.sandbox()?.clone();
    if calls.is_empty() {
        return Ok(());
    }
    let specs = calls
        .iter()
        .map(|_| args.spec(settings, cx.sandbox(), cx.opened(), cx.session()))
        .collect::<Result<Vec<_>, _>>()?;
    let more: Vec<Grant> = cx.opened().directories.iter().map(opened).collect();
    let settings = Arc::clone(settings);
    blocking(move || {
        let reach = sandbox.reach(&more);
        let mut calls = calls.iter().zip(specs);
        calls.try_for_each(|(call, spec)| {
            let checked = call.check(&sandbox, &reach, spec);
            checked.map_err(|error| ToolError::new(error.kind, settings.merged(&error.message)))
        })
    })
    .await
}

/// A directory that an approver opened.
fn exact(opened: &OpenedDirectory) -> ExactDirectory {
    let needed = &opened.directory;
    ExactDirectory {
        path: (&needed.to).into(),
        device: needed.device,
        inode: needed.inode,
        access: access(opened.access),
    }
}

fn access(opened: DirectoryAccess) -> RootAccess {
    match opened {
        DirectoryAccess::Read => RootAccess::ReadOnly,
        DirectoryAccess::Write => RootAccess::ReadWrite,
    }
}

/// The network that an approver opened.
fn network(opened: NetworkAccess) -> Network {
    match opened {
        NetworkAccess::Loopback => Network::Loopback,
        NetworkAccess::On => Network::On,
    }
}

/// The same as a grant.
fn opened(opened: &OpenedDirectory) -> Grant {
    Grant {
        path: (&opened.directory.to).into(),
        access: access(opened.access),
    }
}

/// The layers of the sandbox in force, by name.
fn layers(in_force: InForce) -> String {
    let names = in_force.to_string();
    if names.is_empty() {
        "none".to_owned()
    } else {
        names
    }
}

/// Makes a command ready to begin, from a thread that may wait.
fn begin(sandbox: &CommandSandbox, spec: CommandSpec) -> Result<Poised, ToolError> {
    sandbox.poise(spec).map_err(|error| not_started(&error))
}

/// A command that the sandbox did not take.
fn not_started(error: &SandboxError) -> ToolError {
    let kind = if error.is_busy() {
        ErrorKind::Quota
    } else {
        ErrorKind::SandboxUnavailable
    };
    ToolError::new(kind, error.to_string())
}
