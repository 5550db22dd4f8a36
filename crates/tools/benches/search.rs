//! `grep` and `glob` through the whole line, by turns with ripgrep in the same tree.
//!
//! Both see a warm cache and the same files, and their answers are compared before any
//! clock runs. Ripgrep is started as a process and its output read to its end; where only
//! the first lines are wanted, until these are there, which is as soon as `head` could
//! have had them. Prints the medians, how many times ripgrep's time ours is, and the bound.

#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolgate_gate::approve::ApproveAll;
use toolgate_gate::registry::Registry;
use toolgate_gate::session::Session;
use toolgate_gate::{BatchContext, Gate, Settings};
use toolgate_journal::MemoryJournal;
use toolgate_model::{Call, ToolCall};
use toolgate_sandbox::paths::{PathRules, PathSandbox};
use toolgate_tools::{ToolSettings, register_all};

/// Stands twice in every twentieth file.
const CALL: &str = r"frobnicate_\w+\(";
/// Stands nowhere.
const NOWHERE: &str = "nowhere_to_be_found";
/// The files of every eighth name.
const NOTES: &str = "**/*.md";

/// No answer here is so long, so that none is cut.
const MOST_BYTES: usize = 64 * 1024 * 1024;

const WORDS: [&str; 24] = [
    "queue", "batch", "index", "buffer", "header", "parse", "render", "value", "count", "offset",
    "stream", "record", "window", "layout", "cursor", "signal", "worker", "handle", "format",
    "result", "option", "vector", "slice", "matrix",
];

/// Numbers that look like chance and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn word(&mut self) -> &'static str {
        let at = self.below(WORDS.len());
        WORDS.get(at).unwrap()
    }

    /// Some KiB that look like source text.
    fn source(&mut self, hits: bool) -> String {
        let mut text = String::from("//! One module of many.\n\n");
        let lines = 30 + self.below(70);
        for line in 0..lines {
            let indent = "    ".repeat(1 + self.below(3));
            let (a, b, c) = (self.word(), self.word(), self.word());
            let number = self.below(10_000);
            if hits && (line == 10 || line == 20) {
                writeln!(text, "{indent}let {a} = frobnicate_{b}(&{c}, {number});").unwrap();
            } else {
                writeln!(text, "{indent}let {a}_{b} = {c}.get({number})?;").unwrap();
            }
        }
        text
    }
}

/// A tree of `count` files that count, in directories of 25, and some that are ignored.
fn plant(root: &Path, count: usize) {
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    // Ripgrep obeys `.gitignore` in a repository only.
    put(".git/HEAD", "ref: refs/heads/main\n");
    put(".gitignore", "target/\n*.log\n*.tmp\n/build/\n");
    let mut chance = Chance(42);
    for n in 0..count {
        let (package, part, directory) = (n / 2_500, n / 250 % 10, n / 25 % 10);
        let place = format!(
            "package{package:02}/src/part{part}/{}{directory}",
            chance.word()
        );
        let kind = match n % 8 {
            0 => "md",
            1 => "toml",
            2 => "json",
            _ => "rs",
        };
        let name = format!("{}_{}_{n}.{kind}", chance.word(), chance.word());
        let text = chance.source(n % 20 == 7);
        put(&format!("{place}/{name}"), &text);
        if n % 100 == 0 {
            put(&format!("{place}/run{n}.log"), &text);
            put(&format!("package{package:02}/target/{n}.rs"), &text);
        }
        if n % 2_500 == 0 {
            let rules = "*.gen.rs\n!keep.gen.rs\ndist/\n# what editors leave\n*.swp\n";
            put(&format!("package{package:02}/.gitignore"), rules);
        }
    }
}

/// A tree, and both ways to search it.
struct Place<'a> {
    root: &'a Path,
    files: &'a str,
    gate: Gate,
    session: Arc<Session>,
    runtime: &'a tokio::runtime::Runtime,
    passage: BatchContext,
}

impl Place<'_> {
    /// One call through the line.
    fn ours(&self, tool: &str, args: &Value) -> String {
        let args = args.as_object().unwrap().clone();
        let call = Call::Whole(ToolCall::new("1", tool, args));
        let run = self.gate.run(&self.session, vec![call], &self.passage);
        let result = self.runtime.block_on(run).pop().unwrap();
        assert!(
            result.error.is_none() && !result.truncated,
            "{}",
            result.display
        );
        result.content
    }

    fn start(&self, args: &[&str]) -> Child {
        Command::new("rg")
            .args(args)
            .current_dir(self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// All of ripgrep's output, or its first lines.
    fn theirs(&self, args: &[&str], first: Option<usize>) -> String {
        let Some(first) = first else {
            let output = self.start(args).wait_with_output().unwrap();
            return String::from_utf8(output.stdout).unwrap();
        };
        let mut text = String::new();
        let mut lines = self.first_lines(args, first, &mut text);
        lines.kill().unwrap();
        lines.wait().unwrap();
        text
    }

    fn first_lines(&self, args: &[&str], first: usize, into: &mut String) -> Child {
        let mut child = self.start(args);
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        for _ in 0..first {
            lines.read_line(into).unwrap();
        }
        child
    }

    /// Both by turns; the ratio of the medians.
    fn against(
        &self,
        name: &str,
        call: (&str, Value),
        args: &[&str],
        first: Option<usize>,
        bound: f64,
    ) {
        let (tool, call) = call;
        let ours = self.ours(tool, &call);
        let theirs = self.theirs(args, first);
        let hits = compare(&ours, &theirs);
        let rounds = if self.files.len() > 3 { 15 } else { 101 };
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let began = Instant::now();
            self.ours(tool, &call);
            one.push(began.elapsed());
            let mut text = String::new();
            let began = Instant::now();
            let left = match first {
                None => {
                    self.theirs(args, None);
                    None
                }
                Some(first) => Some(self.first_lines(args, first, &mut text)),
            };
            other.push(began.elapsed());
            if let Some(mut child) = left {
                child.kill().unwrap();
                child.wait().unwrap();
            }
        }
        let median = |mut times: Vec<Duration>| {
            times.sort();
            times.get(times.len() / 2).unwrap().as_secs_f64() * 1e3
        };
        let (one, other) = (median(one), median(other));
        let name = format!("{name}, {} files", self.files);
        println!(
            "{name:<34} {one:>8.2} ms, rg {other:>8.2} ms: {:.2} times, bound {bound:.2} ({hits} lines)",
            one / other
        );
    }

    fn measure(&self, most: usize, everything: f64, some: f64) {
        let grep = |pattern: &str, most: usize| {
            let args = json!({"pattern": pattern, "case_sensitive": true, "max_results": most});
            ("grep", args)
        };
        let glob = |most: usize| ("glob", json!({"pattern": NOTES, "max_results": most}));
        let sorted = ["-n", "--sort", "path", CALL];
        let listed = ["--files", "--sort", "path", "-g", NOTES];
        self.against("grep", grep(CALL, 10_000), &["-n", CALL], None, everything);
        self.against(
            "grep nothing",
            grep(NOWHERE, 10_000),
            &["-n", NOWHERE],
            None,
            everything,
        );
        self.against(
            &format!("grep first {most}"),
            grep(CALL, most),
            &sorted,
            Some(most),
            some,
        );
        self.against(
            "glob",
            glob(10_000),
            &["--files", "-g", NOTES],
            None,
            everything,
        );
        self.against(
            &format!("glob first {most}"),
            glob(most),
            &listed,
            Some(most),
            some,
        );
    }
}

/// Both found the same; says how much.
fn compare(ours: &str, theirs: &str) -> usize {
    if theirs.is_empty() {
        assert!(ours.starts_with("No "), "{ours}");
        return 0;
    }
    // Ripgrep has no blank in front of the text, and writes as its workers finish.
    let plain = |line: &str| line.replace(": ", ":").replace(' ', "");
    let ours: BTreeSet<String> = ours.lines().map(plain).collect();
    let theirs: BTreeSet<String> = theirs.lines().map(plain).collect();
    assert!(
        ours == theirs,
        "{:?}",
        ours.symmetric_difference(&theirs).next()
    );
    ours.len()
}

fn main() {
    let registry = Registry::new();
    register_all(&registry, &ToolSettings::default()).unwrap();
    let registry = Arc::new(registry);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_time()
        .build()
        .unwrap();
    for (count, files, first, everything, some) in [
        (50_000, "50,000", 100, 1.15, 1.3),
        (500, "500", 20, 1.0, 1.0),
    ] {
        let directory = tempfile::tempdir().unwrap();
        plant(directory.path(), count);
        let sandbox = PathSandbox::open(&PathRules::new(directory.path())).unwrap();
        let settings = Settings {
            max_output_bytes: MOST_BYTES,
            ..Settings::default()
        };
        let journal = Arc::new(MemoryJournal::new());
        let session = Arc::new(Session::new("bench"));
        session.set_available_capacity(MOST_BYTES);
        let place = Place {
            root: directory.path(),
            files,
            gate: Gate::builder(
                Arc::clone(&registry),
                toolgate_gate::Rules::default(),
                sandbox,
                journal,
            )
            .settings(settings)
            .build()
            .unwrap(),
            session,
            runtime: &runtime,
            passage: BatchContext {
                approver: Some(Arc::new(ApproveAll)),
                ..BatchContext::default()
            },
        };
        place.measure(first, everything, some);
    }
}
