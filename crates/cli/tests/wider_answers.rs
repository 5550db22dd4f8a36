//! Answers that allow more than a call: what is asked after them and what is not, at a terminal,
//! through `run`, `resume`, `policy grants` and the journal.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::path::{Path, PathBuf};

use program::{Bench, Done, answer};
use serde_json::{Value, json};
use toolgate_testkit::{Loopback, Told};

/// Conversations in a workspace, and a directory elsewhere.
struct Place {
    bench: Bench,
    other: PathBuf,
    _directory: Option<tempfile::TempDir>,
}

impl Place {
    /// With the directory where commands have no place of their own.
    fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let other = directory.path().canonicalize().unwrap().join("other");
        Self::with(Bench::new(), other, Some(directory))
    }

    /// With the directory in `/tmp`, which is private to a conversation.
    fn in_tmp() -> Self {
        let bench = Bench::new();
        let other = bench.workspace().with_file_name("other");
        Self::with(bench, other, None)
    }

    fn with(bench: Bench, other: PathBuf, directory: Option<tempfile::TempDir>) -> Self {
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("readme.md"), "of the other\n").unwrap();
        Self {
            bench,
            other,
            _directory: directory,
        }
    }

    fn other(&self, name: &str) -> PathBuf {
        self.other.join(name)
    }

    /// Runs a turn that makes these batches of calls, types these lines into its questions, and
    /// says what was shown.
    fn turn(&self, more: &[&str], batches: &[Value], typed: &[&str]) -> Shown {
        let mut script = String::new();
        for batch in batches {
            script.push_str("[[steps]]\n");
            for call in batch.as_array().unwrap() {
                let (tool, args) = (call[0].as_str().unwrap(), &call[1]);
                let args = toml(args);
                script.push_str(&format!(
                    "[[steps.calls]]\nname = \"{tool}\"\nargs = {args}\n"
                ));
            }
        }
        script.push_str("[[steps]]\ntext = \"Done.\"\n");
        let script = script.replace("$OTHER", self.other.to_str().unwrap());
        self.bench.home("s.toml", &script);
        let line = format!(
            "stty rows 100 columns 250; {} run --script {} {} go < /dev/null",
            env!("CARGO_BIN_EXE_toolgate"),
            self.bench.home_directory().join("s.toml").display(),
            more.join(" "),
        );
        let mut command = self.bench.command(Path::new("script"));
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        let done = answer(command, typed.iter().copied());
        Shown {
            questions: done.stdout.matches("Toolgate asks").count(),
            done,
        }
    }

    /// The same in the conversation that was last.
    fn resumed(&self, batches: &[Value], typed: &[&str]) -> Shown {
        let id = self.conversation();
        self.turn(&["--conversation", &id], batches, typed)
    }

    fn conversation(&self) -> String {
        let listed = self
            .bench
            .run(&["--json", "journal", "list", "--limit", "1"]);
        let listed: Value = serde_json::from_str(listed.stdout.trim()).unwrap();
        listed["conversation"].as_str().unwrap().to_owned()
    }

    fn has(&self, name: &str) -> bool {
        self.bench.workspace().join(name).exists()
    }

    /// What `journal show` says about the conversation that was last.
    fn journal(&self) -> String {
        let shown = self.bench.run(&["journal", "show", &self.conversation()]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        shown.stdout
    }

    /// What holds in the conversation that was last.
    fn held(&self) -> Vec<Value> {
        let id = self.conversation();
        let shown = self
            .bench
            .run(&["--json", "policy", "grants", "--conversation", &id]);
        assert_eq!(shown.code, Some(0), "{shown:?}");
        serde_json::from_str(shown.stdout.trim()).unwrap()
    }

    fn revoke(&self, name: &str) -> Done {
        let id = self.conversation();
        let done = self
            .bench
            .run(&["policy", "grants", "revoke", name, "--conversation", &id]);
        assert_eq!(done.code, Some(0), "{done:?}");
        done
    }
}

/// A value as an inline value of TOML, whose strings are written like those of JSON.
fn toml(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let pairs = map.iter();
            let pairs: Vec<String> = pairs
                .map(|(key, value)| format!("{key} = {}", toml(value)))
                .collect();
            format!("{{ {} }}", pairs.join(", "))
        }
        Value::Array(list) => {
            let all: Vec<String> = list.iter().map(toml).collect();
            format!("[{}]", all.join(", "))
        }
        other => other.to_string(),
    }
}

#[derive(Debug)]
struct Shown {
    questions: usize,
    done: Done,
}

fn write(name: &str) -> Value {
    json!(["write_file", {"path": name, "content": "x\n"}])
}

fn run(command: &str) -> Value {
    json!(["run_command", {"command": command}])
}

/// A turn of one call.
fn once(call: &Value) -> Vec<Value> {
    vec![json!([call])]
}

/// A turn of single calls.
fn one_by_one(calls: &[Value]) -> Vec<Value> {
    calls.iter().map(|call| json!([call])).collect()
}

const MAKEFILE: &str = "a b:\n\ttouch $@-$(shell date +%N)\n";

#[test]
fn a_yes_once_is_for_this_call_and_a_yes_for_the_conversation_or_project_lasts() {
    for (key, questions, resumed, fresh) in [("y\n", 2, 1, 1), ("c\n", 1, 0, 1), ("p\n", 1, 0, 0)] {
        let place = Place::new();
        place.bench.write("Makefile", MAKEFILE);
        let calls = [run("make a"), run("make --silent a")];
        let first = place.turn(&[], &one_by_one(&calls), &[key, "n\n"]);
        assert!(
            first.done.stdout.contains("that covers: make a"),
            "{first:?}"
        );
        assert_eq!(
            first.questions, 2,
            "an option is not what was shown: {first:?}"
        );
        let calls = [run("make a"), run("make a")];
        let first = place.resumed(&one_by_one(&calls), &["n\n", "n\n"]);
        assert_eq!(first.questions, 2 * resumed, "{key}: {first:?}");
        let made = place.bench.listing().len() - 1;
        assert_eq!(made, 3 - 2 * resumed, "{key}: {first:?}");
        let other = place.turn(&[], &one_by_one(&[run("make a")]), &["n\n"]);
        assert_eq!(other.questions, fresh, "{key}: {other:?}");
        // What was remembered is `make a`, and nothing else.
        let other = place.resumed(&one_by_one(&[run("make b")]), &["n\n"]);
        assert_eq!(other.questions, 1, "{key}: {other:?}");
        assert_eq!(questions, 1 + resumed);
    }
}

#[test]
fn a_yes_to_all_edits_covers_file_tools_and_no_command() {
    let place = Place::new();
    let edit = json!(["edit_file", {"path": "b", "edits": [{"target": "x", "replacement": "y"}]}]);
    let calls = [write("a"), write("b"), edit, run("touch c")];
    let first = place.turn(&[], &one_by_one(&calls), &["e\n", "n\n"]);
    assert_eq!(first.questions, 2, "{first:?}");
    assert!(place.has("a") && !place.has("c"), "{first:?}");
    assert_eq!(place.bench.read("b"), "y\n");
    let journal = place.journal();
    assert!(journal.contains("approved by terminal, edits"), "{journal}");
    // The first conversation is over, and it holds when it is resumed.
    let resumed = place.resumed(&one_by_one(&[write("d")]), &["n\n"]);
    assert_eq!(
        (resumed.questions, place.has("d")),
        (0, true),
        "{resumed:?}"
    );
    // What is protected stays so, and a new conversation knows nothing of it.
    let protected = place.resumed(&one_by_one(&[write(".git/config")]), &["y\n"]);
    assert!(!place.has(".git/config"), "{protected:?}");
    let fresh = place.turn(&[], &one_by_one(&[write("e")]), &["n\n"]);
    assert_eq!((fresh.questions, place.has("e")), (1, false), "{fresh:?}");
}

#[test]
fn a_yes_to_all_commands_covers_sandboxed_commands_and_no_file_tool() {
    let place = Place::new();
    let calls = [
        run("touch a"),
        run("mkdir b"),
        run("bash -c 'touch c'"),
        write("d"),
    ];
    let first = place.turn(&[], &one_by_one(&calls), &["s\n", "n\n"]);
    assert_eq!(first.questions, 2, "{first:?}");
    assert!(
        place.has("a") && place.has("b") && place.has("c"),
        "{first:?}"
    );
    assert!(!place.has("d"));
    assert!(place.journal().contains("approved by terminal, commands"));
    let resumed = place.resumed(&one_by_one(&[run("touch e")]), &["n\n"]);
    assert_eq!(
        (resumed.questions, place.has("e")),
        (0, true),
        "{resumed:?}"
    );
    // Neither the floor nor the sandbox is lifted by it.
    let floor = place.resumed(
        &one_by_one(&[run("rm -rf /"), run("touch $OTHER/new")]),
        &["n\n", "n\n"],
    );
    assert!(!place.other("new").exists(), "{floor:?}");
    assert!(
        floor.done.stdout.contains('⊘') || floor.done.stdout.contains("denied"),
        "{floor:?}"
    );
    let fresh = place.turn(&[], &one_by_one(&[run("touch f")]), &["n\n"]);
    assert_eq!((fresh.questions, place.has("f")), (1, false), "{fresh:?}");
}

#[test]
fn a_revoked_answer_is_on_record_and_is_asked_about_again() {
    for (key, made) in [
        ("e\n", write("a")),
        ("s\n", run("touch a")),
        ("c\n", run("make a")),
    ] {
        let place = Place::new();
        place.bench.write("Makefile", MAKEFILE);
        place.turn(&[], &once(&made), &[key]);
        let held = place.held();
        assert!(!held.is_empty(), "{key}");
        let quiet = place.resumed(&once(&made), &["n\n"]);
        assert_eq!(quiet.questions, 0, "{key}: {quiet:?}");
        for one in &held {
            place.revoke(one["id"].as_str().unwrap());
        }
        assert!(place.held().is_empty(), "{key}");
        let journal = place.journal();
        let revoked = journal.matches("taken back by terminal").count();
        assert_eq!(revoked, held.len(), "{key}: {journal}");
        let again = place.resumed(&one_by_one(&[made]), &["n\n"]);
        assert_eq!(again.questions, 1, "{key}: {again:?}");
        let verified = place.bench.run(&["journal", "verify"]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    let place = Place::new();
    place.turn(&[], &one_by_one(&[write("a")]), &["y\n"]);
    let id = place.conversation();
    let none = place
        .bench
        .run(&["policy", "grants", "revoke", "g0", "--conversation", &id]);
    assert_eq!(none.code, Some(2), "{none:?}");
}

/// An opening is no approval: the next call is asked about too, and a plain yes to it works as long
/// as the opening lasts.
#[test]
fn a_directory_is_opened_for_a_call_or_the_conversation_and_for_reading_or_writing() {
    let read = || run("cat $OTHER/readme.md >> got");
    let change = || run("cp readme $OTHER/new && echo done >> got");
    for (key, call, times) in [
        ("y\n", read(), [0, 0]),
        ("o\n", read(), [1, 0]),
        ("oc\n", read(), [1, 1]),
        ("y\n", change(), [0, 0]),
        ("o\n", change(), [0, 0]),
        ("oc\n", change(), [0, 0]),
        ("ow\n", change(), [1, 0]),
        ("owc\n", change(), [1, 1]),
    ] {
        let place = Place::new();
        place.bench.write("readme", "mine\n");
        let got = || match place.has("got") {
            true => place.bench.read("got").lines().count(),
            false => 0,
        };
        let calls = one_by_one(&[call.clone(), call.clone()]);
        let first = place.turn(&[], &calls, &[key, "y\n"]);
        assert_eq!(first.questions, 2, "{key} {call}: {first:?}");
        assert_eq!(got(), times[0] + times[1], "{key} {call}: {first:?}");
        let (_, second) = first.done.stdout.rsplit_once("Toolgate asks").unwrap();
        let warned = second.contains("A plain yes fails");
        assert_eq!(warned, times[1] == 0, "{key} {call}: {first:?}");
        let journal = place.journal();
        let opened = format!("opens {}", place.other.display());
        let opens = key != "y\n";
        assert_eq!(journal.contains(&opened), opens, "{key}: {journal}");
        assert_eq!(
            journal.contains("(for writing)"),
            key.starts_with("ow"),
            "{journal}"
        );
        let lasts = key.contains('c');
        assert_eq!(
            journal.contains("for this conversation"),
            lasts,
            "{key}: {journal}"
        );
        let before = got();
        let resumed = place.resumed(&once(&call), &["y\n"]);
        assert_eq!(got() - before, times[1], "{key} {call}: {resumed:?}");
        let fresh = place.turn(&[], &once(&call), &["y\n"]);
        assert_eq!(got() - before, times[1], "{key} {call}: {fresh:?}");
        assert!(fresh.done.stdout.contains("A plain yes fails"), "{fresh:?}");
    }
}

#[test]
fn a_directory_that_was_opened_for_reading_is_not_open_for_writing() {
    let place = Place::new();
    place.bench.write("readme", "mine\n");
    let read = run("cat $OTHER/readme.md");
    place.turn(&[], &once(&read), &["oc\n"]);
    let change = run("cp readme $OTHER/new");
    let asked = place.resumed(&one_by_one(&[change]), &["y\n"]);
    assert_eq!(asked.questions, 1, "{asked:?}");
    assert!(!place.other("new").exists(), "{asked:?}");
    // The opening alone can be revoked.
    let name = place.other.display().to_string();
    assert!(place.held().iter().any(|one| one["id"] == name.as_str()));
    place.revoke(&name);
    assert!(place.held().iter().all(|one| one["id"] != name.as_str()));
    let again = place.resumed(&one_by_one(&[read]), &["n\n"]);
    assert_eq!(again.questions, 1, "{again:?}");
}

#[test]
fn a_plain_yes_that_the_sandbox_will_refuse_is_said_before() {
    for place in [Place::new(), Place::in_tmp()] {
        let read = one_by_one(&[run("cat $OTHER/readme.md")]);
        let asked = place.turn(&[], &read, &["y\n"]);
        let shown = &asked.done.stdout;
        let said = shown.find("A plain yes fails");
        assert!(said.is_some() && said < shown.find("[y]es"), "{asked:?}");
        assert!(!shown.contains("of the other"), "{asked:?}");
        let journal = place.journal();
        assert!(journal.contains("the sandbox refuses: "), "{journal}");
        // Where it will not refuse, nothing is said.
        let asked = place.turn(&[], &one_by_one(&[run("touch a")]), &["y\n"]);
        assert!(
            !asked.done.stdout.contains("A plain yes fails"),
            "{asked:?}"
        );
    }
}

#[test]
fn the_network_is_opened_for_a_call_or_the_conversation() {
    for (key, first, second) in [
        ("y\n", 0, 0),
        ("l\n", 0, 0),
        ("lc\n", 0, 0),
        ("i\n", 1, 0),
        ("ic\n", 1, 1),
    ] {
        let server = Loopback::start(|_| Told::new(200, "text/plain", "here"));
        let reached = || server.heard().len();
        let place = Place::new();
        let curl = run(&format!("curl --silent --max-time 5 {}/", server.url()));
        let calls = one_by_one(&[curl.clone(), curl.clone()]);
        let shown = place.turn(&[], &calls, &[key, "y\n"]);
        assert_eq!(shown.questions, 2, "{key}: {shown:?}");
        assert_eq!(reached(), first + second, "{key}: {shown:?}");
        let journal = place.journal();
        assert_eq!(
            journal.contains("opens network"),
            key != "y\n",
            "{key}: {journal}"
        );
        let resumed = place.resumed(&once(&curl), &["y\n"]);
        assert_eq!(reached(), first + 2 * second, "{key}: {resumed:?}");
        let held = place.held();
        let is_held = held.iter().any(|one| one["id"] == "network");
        assert_eq!(is_held, key.contains('c'), "{key}: {held:?}");
        if is_held {
            place.revoke("network");
            let closed = place.resumed(&once(&curl), &["y\n"]);
            assert_eq!(reached(), first + 2 * second, "{key}: {closed:?}");
        }
        let fresh = place.turn(&[], &once(&curl), &["y\n"]);
        assert_eq!(reached(), first + 2 * second, "{key}: {fresh:?}");
    }
}

#[test]
fn a_loopback_network_is_the_commands_own() {
    let place = Place::new();
    let listens = "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1, LocalAddr => q(127.0.0.1:0)) ? qq(listens\\n) : qq(refused\\n)'";
    let asked = place.turn(&[], &one_by_one(&[run(listens)]), &["l\n"]);
    assert!(
        asked
            .done
            .stdout
            .contains("[l] yes, with a loopback network"),
        "{asked:?}"
    );
    assert!(place.journal().contains("listens"), "{}", place.journal());
}

#[test]
fn a_no_with_words_denies_one_call_while_the_others_run() {
    let place = Place::new();
    let batch = json!([write("a"), write("b"), write("c")]);
    let asked = place.turn(&[], &[batch], &["2n use the other file\n"]);
    assert_eq!(asked.questions, 1, "{asked:?}");
    assert!(
        place.has("a") && !place.has("b") && place.has("c"),
        "{asked:?}"
    );
    let journal = place.journal();
    assert!(
        journal.contains("denied by terminal, once: use the other file"),
        "{journal}"
    );
    assert!(
        journal.contains("the person said no: use the other file"),
        "{journal}"
    );
    let words = journal.matches("use the other file").count();
    assert_eq!(words, 2, "{journal}");
}
