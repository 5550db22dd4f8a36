//! Short ways to write rules, layers and calls.
#![allow(dead_code, unreachable_pub)]

use serde_json::{Value, json};
use toolgate_model::{Action, Args, Decision, Facts, Risk, Run};
use toolgate_policy::{
    Condition, LayerSpec, LayerTrust, Listed, Operator, Policy, Question, RuleSpec, Settings,
    Values, Verdict, WordPattern,
};

pub use toolgate_model::Action::{Allow, Ask, Deny};

/// A call with everything policy wants to know; change fields to taste.
#[derive(Clone, Debug)]
pub struct Call {
    pub tool: String,
    pub args: Args,
    pub facts: Facts,
    pub side_effects: bool,
    pub requires_approval: bool,
    pub risk: Risk,
    pub command_sandbox: bool,
    pub network_closed: bool,
    pub sandbox_from_facts: bool,
}

impl Call {
    pub fn new(tool: &str, facts: Facts) -> Self {
        Self {
            tool: tool.into(),
            args: Args::new(),
            side_effects: facts.has_effects(),
            facts,
            requires_approval: false,
            risk: Risk::Low,
            command_sandbox: true,
            network_closed: true,
            sandbox_from_facts: false,
        }
    }

    pub fn question(&self) -> Question<'_> {
        Question {
            tool: &self.tool,
            args: &self.args,
            facts: &self.facts,
            side_effects: self.side_effects,
            requires_approval: self.requires_approval,
            risk: self.risk,
            command_sandbox: self.command_sandbox,
            network_closed: self.network_closed,
            sandbox_from_facts: self.sandbox_from_facts,
        }
    }

    pub fn with(mut self, param: &str, value: Value) -> Self {
        self.args.insert(param.into(), value);
        self
    }

    pub fn approving(mut self) -> Self {
        self.requires_approval = true;
        self
    }

    pub fn connected(mut self) -> Self {
        self.network_closed = false;
        self
    }

    pub fn unsandboxed(mut self) -> Self {
        self.command_sandbox = false;
        self
    }
}

pub fn read(path: &str) -> Call {
    Call::new("read_file", Facts::reading(path)).with("path", json!(path))
}

pub fn write(path: &str) -> Call {
    Call::new("write_file", Facts::writing(path)).with("path", json!(path))
}

pub fn delete(path: &str) -> Call {
    Call::new(
        "apply_patch",
        Facts {
            deletes: vec![path.into()],
            ..Facts::none()
        },
    )
}

pub fn fetch(host: &str) -> Call {
    Call::new(
        "web_fetch",
        Facts {
            connects: vec![host.into()],
            ..Facts::none()
        },
    )
}

/// A shell line of plain commands separated by `;`. A word `$…` makes its command opaque.
pub fn run(line: &str) -> Call {
    let runs: Vec<Run> = line
        .split(';')
        .map(|command| Run {
            words: command.split_whitespace().map(str::to_owned).collect(),
            opaque: command.contains('$'),
        })
        .collect();
    let complete = runs.iter().all(|run| !run.opaque);
    let facts = Facts {
        runs,
        complete,
        claimed: true,
        ..Facts::none()
    };
    Call::new("run_command", facts).with("command", json!(line))
}

/// A tool of which nothing is known, such as one of an MCP server.
pub fn unknown(tool: &str) -> Call {
    let mut call = Call::new(tool, Facts::opaque());
    call.side_effects = true;
    call
}

pub fn rule(tool: &str, action: Action) -> RuleSpec {
    RuleSpec::new(tool, action)
}

/// Narrowing a rule, one key at a time.
pub trait Narrow {
    fn reads(self, patterns: &[&str]) -> Self;
    fn writes(self, patterns: &[&str]) -> Self;
    fn deletes(self, patterns: &[&str]) -> Self;
    fn connects(self, patterns: &[&str]) -> Self;
    /// Words apart by blanks, alternatives by `|`.
    fn command(self, words: &str) -> Self;
    fn opaque(self) -> Self;
    fn when(self, param: &str, operator: Operator, values: &[&str]) -> Self;
    fn risk(self, risk: Risk) -> Self;
    fn message(self, text: &str) -> Self;
    fn at(self, file: &str, line: u32) -> Self;
    fn examples(self, matches: &[&str], not_matches: &[&str]) -> Self;
}

pub fn strings(list: &[&str]) -> Vec<String> {
    list.iter().map(|&text| text.to_owned()).collect()
}

impl Narrow for RuleSpec {
    fn reads(mut self, patterns: &[&str]) -> Self {
        self.reads = Some(strings(patterns));
        self
    }
    fn writes(mut self, patterns: &[&str]) -> Self {
        self.writes = Some(strings(patterns));
        self
    }
    fn deletes(mut self, patterns: &[&str]) -> Self {
        self.deletes = Some(strings(patterns));
        self
    }
    fn connects(mut self, patterns: &[&str]) -> Self {
        self.connects = Some(strings(patterns));
        self
    }
    fn command(mut self, words: &str) -> Self {
        let words = words.split_whitespace().map(|word| {
            if word.contains('|') {
                WordPattern::Any(word.split('|').map(str::to_owned).collect())
            } else {
                word.into()
            }
        });
        self.command = Some(words.collect());
        self
    }
    fn opaque(mut self) -> Self {
        self.opaque = true;
        self
    }
    fn when(mut self, param: &str, operator: Operator, values: &[&str]) -> Self {
        self.when.push(Condition {
            param: param.into(),
            operator,
            value: match values {
                [one] => (*one).into(),
                many => Values::Any(strings(many)),
            },
        });
        self
    }
    fn risk(mut self, risk: Risk) -> Self {
        self.risk = Some(risk);
        self
    }
    fn message(mut self, text: &str) -> Self {
        self.message = Some(text.into());
        self
    }
    fn at(mut self, file: &str, line: u32) -> Self {
        self.source.file = Some(file.into());
        self.source.line = Some(line);
        self
    }
    fn examples(mut self, matches: &[&str], not_matches: &[&str]) -> Self {
        self.examples.matches = strings(matches);
        self.examples.not_matches = strings(not_matches);
        self
    }
}

pub fn listed(entries: &[&str]) -> Listed {
    Listed {
        entries: strings(entries),
        ..Listed::default()
    }
}

pub fn trusted(name: &str, rules: &[RuleSpec]) -> LayerSpec {
    LayerSpec::new(name, LayerTrust::Trusted, rules.to_vec())
}

pub fn untrusted(name: &str, rules: &[RuleSpec]) -> LayerSpec {
    LayerSpec::new(name, LayerTrust::Untrusted, rules.to_vec())
}

/// The aliases of the built-in tools that the tests use.
pub fn canonical(name: &str) -> String {
    match name {
        "bash" | "shell" => "run_command",
        "file_read" => "read_file",
        "file_write" => "write_file",
        other => other,
    }
    .to_owned()
}

pub fn policy_with(settings: Settings, layers: &[LayerSpec]) -> Policy {
    Policy::compile(settings, layers, &canonical).unwrap()
}

pub fn policy(layers: &[LayerSpec]) -> Policy {
    policy_with(Settings::default(), layers)
}

/// One trusted layer of these rules, with default settings.
pub fn rules(rules: &[RuleSpec]) -> Policy {
    policy(&[trusted("user", rules)])
}

pub fn decide(policy: &Policy, call: &Call) -> Decision {
    policy.decide(call.question())
}

pub fn judge(policy: &Policy, call: &Call) -> Verdict {
    policy.judge(call.question())
}

pub fn action(policy: &Policy, call: &Call) -> Action {
    decide(policy, call).action
}
