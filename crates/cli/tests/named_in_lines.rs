//! What a line names is judged like what a file tool is given, as far as the sandbox would refuse it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::os::unix::fs::symlink;

use program::Bench;
use serde_json::{Value, json};

/// Everything is allowed that a rule can allow.
const ALLOW: &str = "[[tools.rules]]\ntool = \"*\"\naction = \"allow\"\n\
    [[tools.rules]]\ntool = \"run_command\"\naction = \"allow\"\nopaque = true\n";

fn bench(more: &str) -> Bench {
    let bench = Bench::new();
    for directory in [".git/hooks", ".ssh", "src/core", "sub"] {
        std::fs::create_dir_all(bench.workspace().join(directory)).unwrap();
    }
    for file in [
        ".env",
        ".env.example",
        "server.pem",
        ".ssh/config",
        ".git/config",
        ".git/HEAD",
        "a.txt",
        "core",
        "src/core/x.rs",
    ] {
        bench.write(file, "");
    }
    symlink(".env", bench.workspace().join("innocent")).unwrap();
    bench.home("config.toml", &format!("{ALLOW}{more}"));
    bench
}

/// What is decided about a line: allow, ask, or the kind of the denial.
fn decided(bench: &Bench, line: &str) -> (String, Value) {
    let args = json!({ "command": line }).to_string();
    let done = bench.run(&["policy", "explain", "run_command", &args]);
    let page: Value = serde_json::from_str(&done.stdout).unwrap();
    let said = page["kind"].as_str().or(page["decision"].as_str());
    (said.unwrap().to_owned(), page)
}

#[test]
fn denied_and_protected_names_in_a_line_are_denied_whatever_rules_allow() {
    let bench = bench("");
    for (line, wanted) in [
        ("cat .env", "denied_pattern"),
        ("cat < .env", "denied_pattern"),
        ("cat sub/../.ENV", "denied_pattern"),
        ("cat innocent", "denied_pattern"),
        ("cat a.txt server.pem", "denied_pattern"),
        ("cat '*.pem'", "denied_pattern"),
        ("cat .ssh/config", "denied_pattern"),
        ("ls .ssh", "denied_pattern"),
        ("rg x .env", "denied_pattern"),
        ("cat core", "denied_pattern"),
        ("cat a.txt > .env", "denied_pattern"),
        ("rm .env", "denied_pattern"),
        ("echo x | tee new.key", "denied_pattern"),
        ("true && (cat .env)", "denied_pattern"),
        ("cat /home/ann/.ssh/id_rsa", "denied_pattern"),
        ("echo x > .git/hooks/pre-commit", "protected_path"),
        ("touch .bashrc", "protected_path"),
        ("cp a.txt .git/hooks/b", "protected_path"),
        ("mv .git x", "protected_path"),
        ("rm -rf .git", "protected_path"),
        ("echo x >> .git/config", "protected_path"),
        ("echo x > .vscode/tasks.json", "protected_path"),
        ("touch toolgate.toml", "protected_path"),
        ("mkdir sub/.vscode", "protected_path"),
    ] {
        let (said, page) = decided(&bench, line);
        assert_eq!(said, wanted, "{line}: {page}");
        assert!(page["reason"].as_str().unwrap().ends_with('.'), "{page}");
    }
}

#[test]
fn ordinary_lines_are_left_to_the_rules() {
    let bench = bench("");
    for line in [
        "cat .git/config",
        "git status",
        "git log -1 && git commit -am x",
        "ls -la",
        "grep -rn secret src",
        "cat *.txt",
        "cat .env.example",
        "ls src/core",
        "cat src/core/x.rs",
        "mkdir -p lib/core",
        "rm -rf sub",
        "rm .git/index.lock",
        "cat /etc/passwd",
        "cat /etc/ssl/certs/ca.pem",
        "echo x > /tmp/x.key",
        "echo x > /dev/null",
        "echo .env",
        "find . -name .env",
        "tar cf x.tar src",
        "cat not/there/yet",
    ] {
        let (said, page) = decided(&bench, line);
        assert!(said == "allow" || said == "ask", "{line}: {page}");
    }
}

#[test]
fn what_a_person_opened_to_commands_is_open() {
    let opened = "[tools.sandbox]\ngrants = [{ path = \".git\", access = \"write\" }]\n";
    let bench = bench(opened);
    for line in ["echo x > .git/hooks/pre-commit", "mv .git x"] {
        let (said, page) = decided(&bench, line);
        assert_eq!(said, "allow", "{line}: {page}");
    }
    assert_eq!(decided(&bench, "touch .bashrc").0, "protected_path");
}
