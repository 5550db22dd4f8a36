//! The question that a policy answers about a call.

use toolgate_model::{Args, Facts, Risk, Run};
use toolgate_shell::{LineContext, analyse, only_reads};

use crate::defaults::Confined;
use crate::path::Place;
use crate::short::COMMAND_TOOL;

/// A call after parsing, with what the tool declares and which sandboxes are in force.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The tool's canonical name.
    pub tool: &'a str,
    /// The arguments under their canonical names.
    pub args: &'a Args,
    /// What the call says it will touch.
    pub facts: &'a Facts,
    /// Whether the tool declares that it changes something.
    pub side_effects: bool,
    /// Whether the tool wants every call approved, or this one.
    pub requires_approval: bool,
    /// The risk that the tool declares.
    pub risk: Risk,
    /// Whether commands of this call would run in the command sandbox.
    pub command_sandbox: bool,
    /// Whether commands of this call would have no network but a loopback of their own.
    pub network_closed: bool,
    /// Whether the sandbox of this very run is built from its facts.
    pub sandbox_from_facts: bool,
}

impl<'a> Question<'a> {
    /// The question about a call of a tool that only reads; the other fields can be set.
    pub const fn new(tool: &'a str, args: &'a Args, facts: &'a Facts) -> Self {
        Self {
            tool,
            args,
            facts,
            side_effects: false,
            requires_approval: false,
            risk: Risk::Low,
            command_sandbox: false,
            network_closed: false,
            sandbox_from_facts: false,
        }
    }
}

impl Question<'_> {
    /// The question about a shell line, run in the command sandbox at the root of a workspace
    /// of which nothing else is known. Nothing is run, read or contacted.
    ///
    /// ```
    /// use toolgate_model::Action;
    /// use toolgate_policy::{Question, Rules};
    ///
    /// let policy = Rules::default().compile()?;
    /// assert_eq!(policy.decide(&Question::command("rm -rf /")).action, Action::Deny);
    /// assert_eq!(policy.decide(&Question::command("make test")).action, Action::Ask);
    /// # Ok::<(), toolgate_policy::PolicyError>(())
    /// ```
    pub fn command(line: &str) -> CommandQuestion {
        let context = LineContext {
            cwd: "",
            home: None,
            roots: &[],
        };
        Self::command_in(line, &context)
    }

    /// The same in a known place: its directory, its home and its roots.
    pub fn command_in(line: &str, context: &LineContext<'_>) -> CommandQuestion {
        let mut args = Args::new();
        args.insert("command".to_owned(), line.into());
        CommandQuestion {
            args,
            facts: analyse(line, context).facts,
            sandboxed: true,
        }
    }

    /// Whether something about the call is only known when it runs.
    ///
    /// A run that says so counts even where the list of facts claims to be complete.
    pub(crate) fn is_opaque(&self) -> bool {
        !self.facts.complete || self.facts.runs.iter().any(|run| run.opaque)
    }

    /// Whether a command of this call is known to do no more than read and print.
    pub(crate) fn only_reads(&self, run: &Run) -> bool {
        self.facts.claimed && self.facts.plain && !run.opaque && only_reads(&run.words)
    }

    /// Whether all paths that the call reads surely lie in a root.
    pub(crate) fn reads_inside(&self) -> bool {
        let mut reads = self.facts.reads.iter();
        reads.all(|path| Place::of(path).is_inside())
    }

    /// How the call is kept from doing harm.
    pub(crate) fn confined(&self) -> Confined {
        match (self.command_sandbox, self.facts.claimed) {
            (false, _) => Confined::No,
            (true, true) if self.network_closed => Confined::Whole,
            // Other tools than commands run beside the sandbox.
            (true, _) => Confined::Connected,
        }
    }

    /// Whether the facts show what the tool does, so that they decide and not its name.
    ///
    /// A tool with side effects of which the facts show none is still to be decided itself.
    pub(crate) fn facts_show_the_tool(&self) -> bool {
        self.facts.has_effects() || (!self.side_effects && !self.facts.reads.is_empty())
    }
}

/// A question about a shell line that owns its arguments and facts. [`Question::command`]
/// makes it, and [`Policy::decide`](crate::Policy::decide) takes it like any other question.
#[derive(Clone, Debug)]
pub struct CommandQuestion {
    args: Args,
    facts: Facts,
    sandboxed: bool,
}

impl CommandQuestion {
    /// The same where commands would run without the command sandbox: they are refused unless
    /// a trusted rule covers them.
    #[must_use]
    pub fn without_sandbox(mut self) -> Self {
        self.sandboxed = false;
        self
    }

    /// What the line would touch.
    pub const fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The question with what `run_command` declares.
    pub const fn as_question(&self) -> Question<'_> {
        Question {
            tool: COMMAND_TOOL,
            args: &self.args,
            facts: &self.facts,
            side_effects: true,
            requires_approval: true,
            risk: Risk::High,
            command_sandbox: self.sandboxed,
            network_closed: self.sandboxed,
            sandbox_from_facts: false,
        }
    }
}

impl<'a> From<&'a CommandQuestion> for Question<'a> {
    fn from(question: &'a CommandQuestion) -> Self {
        question.as_question()
    }
}

impl<'a> From<&Question<'a>> for Question<'a> {
    fn from(question: &Question<'a>) -> Self {
        *question
    }
}
