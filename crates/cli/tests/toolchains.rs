//! Toolchains of the user in commands, through the program, for root and for an ordinary user:
//! `data/toolchains.jsonl`. A row says what a command prints with such an entry in `PATH`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "cases/run.rs"]
#[allow(dead_code)]
mod run;
#[path = "support/program.rs"]
mod support;

use std::path::Path;

use run::{Place, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    why: String,
    /// Relative to the home directory, which is `$OUT/me`.
    path: String,
    command: String,
    prints: Option<String>,
    #[serde(default)]
    hides: Vec<String>,
}

const SETUP: &str = r#"
    mkdir -p $OUT/me && cd $OUT/me
    program() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\n%s\n' "$2" > "$1"; chmod 755 "$1"; }
    program .cargo/bin/mycargo 'cat "$RUSTUP_HOME/toolchains/x/version"'
    mkdir -p .rustup/toolchains/x; echo rust-9 > .rustup/toolchains/x/version
    echo token-of-cargo > .cargo/credentials.toml; echo token-of-cargo > .cargo/credentials
    program .local/share/uv/tools/lint/bin/mylint 'echo lint-1'
    mkdir -p .local/bin; ln -s ../share/uv/tools/lint/bin/mylint .local/bin/mylint
    program .nvm/versions/node/v9/bin/mynode 'cat "$(dirname "$0")/../lib/node_modules/x/secrets.js"'
    mkdir -p .nvm/versions/node/v9/lib/node_modules/x; echo node-9 > .nvm/versions/node/v9/lib/node_modules/x/secrets.js
    echo token-of-npm > .nvm/versions/node/v9/.npmrc
    echo token-of-env > .nvm/versions/node/v9/lib/node_modules/x/.env
    echo key-of-pem > .nvm/versions/node/v9/lib/node_modules/x/server.pem
    echo public-cas > .nvm/versions/node/v9/lib/node_modules/x/cacert.pem
    program .pyenv/shims/mypython 'exec "$PYENV_ROOT/versions/3/bin/mypython"'
    program .pyenv/versions/3/bin/mypython 'echo python-3'
    program .sdkman/candidates/java/17/bin/myjava 'echo java-17'
    ln -s 17 .sdkman/candidates/java/current
    program go/bin/mygo 'echo go-1'
    program bin/mine 'echo mine-1'
    mkdir -p lib notes; echo dear-reader > notes/diary.txt; echo dear-reader > diary.txt
    program programs/odd 'echo odd-1'
    program $WS/bin/local 'echo of-the-workspace'
    echo token-of-home > .npmrc; echo token-of-home > .netrc
"#;

fn rows() -> Vec<Row> {
    include_str!("data/toolchains.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

fn run_row(place: &Place, row: &Row) -> Value {
    let home = place.path("out/me");
    let mut command = place.toolgate();
    let path = format!("{}:/usr/bin:/bin", home.join(&row.path).display());
    let command_line = place.filled_in(&row.command);
    let args = json!({"command": command_line}).to_string();
    command.env("HOME", &home).env("PATH", path);
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["--approve", "all", "exec", "run_command", &args]);
    let done = support::finish(command, b"");
    serde_json::from_str(&done.stdout).unwrap_or_else(|e| panic!("{e}: {done:?}"))
}

#[test]
fn toolchains_on_path_work_without_configuration_and_hide_their_secrets() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let mut setup = place.command(Path::new("bash"));
        let output = setup.args(["-ec", SETUP]).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let mut wrong = Vec::new();
        for row in rows() {
            let result = run_row(&place, &row);
            let content = result["content"].as_str().unwrap_or_default();
            let prints = match &row.prints {
                Some(text) => result["status"] == "ok" && content.contains(text),
                None => result["status"] != "ok",
            };
            let shows = row
                .hides
                .iter()
                .find(|text| content.contains(text.as_str()));
            if !prints || shows.is_some() {
                wrong.push(format!("{}: {result}", row.why));
            }
        }
        assert!(wrong.is_empty(), "{user:?}: {}", wrong.join("\n"));
    }
}
