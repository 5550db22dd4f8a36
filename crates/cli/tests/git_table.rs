//! Everyday git through the program, for root and for an ordinary user: `data/git.jsonl`. A row comes
//! to what git comes to outside of the sandbox (the same files, `git status`, branches, tags, commits
//! and exit code), or it is refused and nothing has changed. What a refusal tells to paste is pasted,
//! and then the row comes to the same.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/paste.rs"]
mod paste;
#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "support/program.rs"]
mod support;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use run::{Place, User, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    command: String,
    /// What the user did before, outside of the sandbox.
    #[serde(default)]
    before: String,
    /// The exit code, where it is not that of outside: names that stay vacant cannot be removed.
    exit: Option<i32>,
    /// The words of the refusal; none if the row comes to the same as outside.
    refused: Option<String>,
    /// Whether the refusal has a line that opens it.
    #[serde(default)]
    opens: bool,
}

const SETUP: &str = include_str!("data/git_setup.sh");

/// Everything that is compared. Dates and with them the names of commits differ.
const STATE: &str = r#"
    cd "$WS"
    find . -name .git -prune -print -o -type f -printf '%p %m ' -exec sha1sum {} \; -o -type l -printf '%p -> %l\n' | sort
    git status --porcelain
    git symbolic-ref -q HEAD || git rev-parse 'HEAD^{tree}'
    git for-each-ref --format='%(refname) %(objecttype) %(tree) %(*tree) %(contents:subject) %(authorname) %(authoremail)'
    git log --all --format='%T %s %an <%ae> %cn <%ce>' | sort
    git stash list --format=%gs
    git -C "$OUT/remote.git" for-each-ref --format='%(refname) %(tree) %(*tree)'
"#;

struct Bench {
    place: Place,
}

struct End {
    state: String,
    code: Value,
    result: Value,
}

impl Bench {
    fn new(user: User) -> Self {
        let bench = Self {
            place: Place::new(user),
        };
        bench.outside(SETUP);
        bench.outside(r#"mkdir -p "$OUT/base/ws"; cp -a "$WS/." "$OUT/base/ws"; cp -a "$OUT/remote.git" "$OUT/base/""#);
        bench
    }

    /// Runs a script of the user without any sandbox.
    fn outside(&self, script: &str) -> (String, Option<i32>) {
        let mut bash = self.place.command(Path::new("bash"));
        bash.args(["-c", script])
            .current_dir(self.place.path("ws"))
            .env("HOME", self.place.path("out/me"));
        let output = bash.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        if script == SETUP {
            assert!(output.status.success(), "{text}");
        }
        (text, output.status.code())
    }

    fn state(&self) -> String {
        self.outside(STATE).0
    }

    /// The repository as it was set up, after what the user did.
    fn afresh(&self, row: &Row) {
        self.outside(
            r#"cd "$WS"; find . -mindepth 1 -maxdepth 1 -exec rm -rf {} +; cp -a "$OUT/base/ws/." .
               rm -rf "$OUT/remote.git" "$OUT/tree"; cp -a "$OUT/base/remote.git" "$OUT/""#,
        );
        // Copies have other inodes; git looks at them again before it compares.
        self.outside("git status -s");
        self.outside(&row.before);
    }

    /// With a grant of the user, and what a hint tells.
    fn configure(&self, hint: Option<&str>) -> Result<(), String> {
        let text =
            "[tools.sandbox]\ngrants = [{ path = \"$OUT/remote.git\", access = \"write\" }]\n";
        let text = self.place.filled_in(text);
        let text = match hint {
            Some(hint) => paste::pasted(&text, hint).ok_or_else(|| format!("no line in {hint}"))?,
            None => text,
        };
        paste::write(&self.place.path("home").join("config.toml"), &text);
        Ok(())
    }

    fn inside(&self, row: &Row) -> End {
        let args = json!({"command": self.place.filled_in(&row.command), "timeout_seconds": 60});
        let mut program = self.place.toolgate();
        program
            .env("HOME", self.place.path("out/me"))
            .arg("--workspace")
            .arg(self.place.path("ws"))
            .args(["--approve", "all", "exec", "run_command", &args.to_string()]);
        let done = support::finish(program, b"");
        let result: Value =
            serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"));
        End {
            state: self.state(),
            code: result["metadata"]["exit_code"].clone(),
            result,
        }
    }

    fn check(&self, row: &Row) -> Result<(), String> {
        let command = self.place.filled_in(&row.command);
        self.configure(None)?;
        self.afresh(row);
        let before = self.state();
        let (said, code) = self.outside(&command);
        let wanted = self.state();
        self.afresh(row);
        let got = self.inside(row);
        let same = |got: &End| {
            if got.state != wanted {
                return Err(format!(
                    "{}\noutside ({said})\n{}",
                    got.result,
                    changed(&wanted, &got.state)
                ));
            }
            if got.code != json!(row.exit.or(code)) {
                return Err(format!("exit code {code:?} outside: {}", got.result));
            }
            if got.code == 0 && got.result["status"] != "ok" {
                return Err(format!("no success: {}", got.result));
            }
            Ok(())
        };
        let Some(words) = &row.refused else {
            return same(&got);
        };
        let text = got.result.to_string();
        if got.result["status"] == "ok" || !text.contains(words) {
            return Err(format!("not refused with {words:?}: {text}"));
        }
        if got.state != before {
            return Err(format!(
                "refused after a change: {text}\n{}",
                changed(&before, &got.state)
            ));
        }
        if !row.opens {
            return Ok(());
        }
        let message = got.result["error"]["message"].as_str().unwrap_or_default();
        self.configure(Some(message))?;
        self.afresh(row);
        same(&self.inside(row)).map_err(|why| format!("after {message}: {why}"))
    }
}

/// The lines that only one of two states has.
fn changed(before: &str, after: &str) -> String {
    let lines = |text: &str, other: &str, sign: &str| -> Vec<String> {
        let other: Vec<&str> = other.lines().collect();
        let own = text.lines().filter(|line| !other.contains(line));
        own.map(|line| format!("{sign} {line}")).collect()
    };
    [lines(before, after, "-"), lines(after, before, "+")]
        .concat()
        .join("\n")
}

fn rows() -> Vec<Row> {
    let rows: Vec<Row> = include_str!("data/git.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect();
    assert!(rows.len() >= 60, "{}", rows.len());
    rows
}

fn git_works_or_fails_before_it_changes_anything(user: User) {
    let _kept = program();
    let rows = rows();
    let next = AtomicUsize::new(0);
    let work = || {
        let bench = Bench::new(user);
        let mut wrong = Vec::new();
        while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
            if let Err(why) = bench.check(row) {
                wrong.push(format!("{}: {why}", row.command));
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers = [scope.spawn(work), scope.spawn(work)];
        workers
            .into_iter()
            .flat_map(|one| one.join().unwrap())
            .collect()
    });
    assert!(wrong.is_empty(), "{user:?}: {}", wrong.join("\n\n"));
}

#[test]
fn git_works_or_fails_before_it_changes_anything_as_who_runs_the_tests() {
    git_works_or_fails_before_it_changes_anything(User::Same);
}

#[test]
fn git_works_or_fails_before_it_changes_anything_as_an_ordinary_user() {
    if users().contains(&User::Ordinary) {
        git_works_or_fails_before_it_changes_anything(User::Ordinary);
    }
}

#[test]
fn nothing_of_the_users_git_configuration_but_identity_and_harmless_keys_reaches_commands() {
    let _kept = program();
    for user in users() {
        let bench = Bench::new(user);
        bench.outside(
            r#"cat >> "$OUT/me/.gitconfig" <<'END'
[alias]
	evil = !echo ran-an-alias
[credential]
	helper = "!echo password=secret-of-helper"
[core]
	pager = echo ran-a-pager
	hooksPath = /hooks
[url "https://token-of-user@example.org/"]
	insteadOf = x
[pull]
	rebase = true
END"#,
        );
        let row = Row {
            command: "git config --list --show-origin; git evil; git var GIT_AUTHOR_IDENT"
                .to_owned(),
            before: String::new(),
            exit: None,
            refused: None,
            opens: false,
        };
        bench.configure(None).unwrap();
        let text = bench.inside(&row).result["content"].to_string();
        for part in ["Ann Example <ann@example.org>", "pull.rebase=true"] {
            assert!(text.contains(part), "{user:?}: {part}: {text}");
        }
        for part in ["alias", "helper", "pager=", "hookspath", "token-of-user"] {
            let origin = format!("run/home/.gitconfig\\t{part}");
            assert!(
                !text.contains(&origin) && !text.contains(&format!("ran-a{part}")),
                "{part}: {text}"
            );
        }
        assert!(
            !text.contains("ran-an-alias") && !text.contains("token-of-user"),
            "{text}"
        );
        // A repository's own name for its author counts more.
        let own = Row {
            command: "git commit -q --allow-empty -m x && git log -1 --format=%an".to_owned(),
            before: "git config user.name 'Of The Project'".to_owned(),
            ..row
        };
        bench.afresh(&own);
        let text = bench.inside(&own).result["content"].to_string();
        assert!(text.contains("Of The Project"), "{user:?}: {text}");
    }
}

/// A look that never ends: git's own file is a pipe that nobody writes to.
#[test]
fn what_git_would_write_and_is_not_found_out_refuses_the_line() {
    let _kept = program();
    for user in users() {
        let bench = Bench::new(user);
        let row = Row {
            command: "git bisect reset; touch ran".to_owned(),
            before: "mkfifo .git/BISECT_START".to_owned(),
            exit: None,
            refused: None,
            opens: false,
        };
        bench.configure(None).unwrap();
        bench.afresh(&row);
        let end = bench.inside(&row);
        let text = end.result["content"].to_string();
        assert!(
            text.contains("looking took more than 10 s"),
            "{user:?}: {text}"
        );
        assert_eq!(end.result["error"]["kind"], "limit_exceeded", "{user:?}");
        assert!(!bench.place.path("ws/ran").exists(), "{user:?}");
    }
}

#[test]
fn what_was_committed_is_printed_with_its_commit_and_denied_by_its_name() {
    let _kept = program();
    for user in users() {
        let bench = Bench::new(user);
        bench.outside("echo TOKEN-of-env=1 > .env; git add -f .env; git commit -qm 'Add .env'");
        bench.configure(None).unwrap();
        let run = |command: &str| {
            let row = Row {
                command: command.to_owned(),
                before: String::new(),
                exit: None,
                refused: None,
                opens: false,
            };
            bench.inside(&row).result
        };
        for command in ["git log -p -1", "git show HEAD", "git diff HEAD~1 HEAD"] {
            let result = run(command);
            assert!(
                result["content"].to_string().contains("TOKEN-of-env"),
                "{result}"
            );
        }
        for command in [
            "git show HEAD:.env",
            "git log -p -- .env",
            "git show HEAD -- .env",
            "git diff HEAD~1 -- .env",
            "git blame .env",
            "git cat-file -p HEAD:.env",
        ] {
            let result = run(command);
            assert_eq!(result["error"]["kind"], "denied_pattern", "{result}");
            assert!(!result.to_string().contains("TOKEN-of-env"), "{result}");
        }
    }
}
