//! Toolgate's own files lie in the workspace, and no tool gets at them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing
)]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use program::{Bench, finish};
use serde_json::{Value, json};

/// Where the person keeps what.
struct Layout {
    name: &'static str,
    /// Variables, with names in the workspace.
    env: &'static [(&'static str, &'static str)],
    options: &'static [&'static str],
    /// What may be read and not changed.
    kept: &'static [&'static str],
    /// What may be neither.
    closed: &'static [&'static str],
}

const LAYOUTS: [Layout; 5] = [
    Layout {
        name: "the home directory is the workspace",
        env: &[("HOME", "")],
        options: &[],
        kept: &[".config/toolgate/config.toml", ".CONFIG/Toolgate/new"],
        closed: &[
            ".local/share/toolgate/grants.toml",
            ".local/share/toolgate/trust.toml",
            ".local/share/toolgate/journal.db",
            ".local/share/toolgate/outputs/some_output",
        ],
    },
    Layout {
        name: "everything is in one directory of the workspace",
        env: &[("TOOLGATE_HOME", "tg")],
        options: &[],
        kept: &[],
        closed: &[
            "tg/config.toml",
            "tg/grants.toml",
            "tg/journal.db",
            "TG/new",
        ],
    },
    Layout {
        name: "the directories of the platform are in the workspace",
        env: &[
            ("XDG_CONFIG_HOME", "cfg"),
            ("XDG_DATA_HOME", "kept"),
            ("HOME", "other"),
        ],
        options: &[],
        kept: &["cfg/toolgate/config.toml"],
        closed: &["kept/toolgate/journal.db", "kept/toolgate/grants.toml"],
    },
    Layout {
        name: "a configuration file of the workspace is named",
        env: &[("TOOLGATE_HOME", "../home")],
        options: &["--config", "mine.toml"],
        kept: &["mine.toml"],
        closed: &[],
    },
    Layout {
        name: "a journal of the workspace is named",
        env: &[("TOOLGATE_HOME", "../home")],
        options: &["--journal", "record.db"],
        kept: &[],
        closed: &[
            "record.db",
            "record.db-wal",
            "record.db-shm",
            "record.db-journal",
        ],
    },
];

fn command(bench: &Bench, layout: &Layout) -> Command {
    let mut command = bench.toolgate();
    command.env_remove("TOOLGATE_HOME");
    for (name, value) in layout.env {
        command.env(name, bench.workspace().join(value));
    }
    command.args(["--trust", "autonomous", "--approve", "all"]);
    command.args(layout.options);
    command
}

fn exec(bench: &Bench, layout: &Layout, tool: &str, args: &Value) -> Value {
    let mut command = command(bench, layout);
    command.args(["exec", tool, &args.to_string()]);
    let done = finish(command, b"");
    serde_json::from_str(&done.stdout).unwrap_or_else(|_| panic!("{}: {done:?}", layout.name))
}

fn explained(bench: &Bench, layout: &Layout, tool: &str, args: &Value) -> Value {
    let mut command = command(bench, layout);
    command.args(["policy", "explain", tool, &args.to_string()]);
    serde_json::from_str(&finish(command, b"").stdout).unwrap()
}

fn kind(result: &Value) -> &str {
    result["error"]["kind"].as_str().unwrap_or("none")
}

/// Every file of a directory with what it holds, but for what Toolgate itself writes.
fn contents(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut left = vec![directory.to_path_buf()];
    while let Some(next) = left.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                left.push(path);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                let name = path.strip_prefix(directory).unwrap().display().to_string();
                all.insert(name, std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

#[test]
fn file_tools_neither_change_the_configuration_nor_see_the_record() {
    for layout in &LAYOUTS {
        for there in [false, true] {
            let bench = Bench::new();
            bench.write("mine.toml", "");
            if there {
                // A first run makes what Toolgate keeps.
                exec(
                    &bench,
                    layout,
                    "write_file",
                    &json!({"path": "a.txt", "content": "a"}),
                );
                for name in layout.kept {
                    let file = bench.workspace().join(name);
                    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                    std::fs::write(file, "").unwrap();
                }
            }
            let write = |path: &str| json!({"path": path, "content": "[tools]", "overwrite": true});
            for (names, wanted) in [
                (layout.kept, "protected_path"),
                (layout.closed, "denied_pattern"),
            ] {
                for path in names {
                    let told = format!("{}, {path}, {there}", layout.name);
                    let result = exec(&bench, layout, "write_file", &write(path));
                    assert_eq!(kind(&result), wanted, "{told}: {result}");
                    let plan = explained(&bench, layout, "write_file", &write(path));
                    assert_eq!(plan["kind"], wanted, "{told}: {plan}");
                }
            }
            for path in layout.closed {
                let told = format!("{}, {path}, {there}", layout.name);
                let read = exec(&bench, layout, "read_file", &json!({"path": path}));
                assert_eq!(kind(&read), "denied_pattern", "{told}: {read}");
                assert!(
                    read["content"]
                        .as_str()
                        .unwrap()
                        .contains("Toolgate itself"),
                    "{read}"
                );
            }
            for (tool, args) in [
                (
                    "list_directory",
                    json!({"recursive": true, "max_depth": 4, "include_hidden": true}),
                ),
                ("glob", json!({"pattern": "**", "include_hidden": true})),
                ("grep", json!({"pattern": "SQLite", "include_hidden": true})),
            ] {
                let result = exec(&bench, layout, tool, &args);
                let content = result["content"].as_str().unwrap();
                let names = layout
                    .closed
                    .iter()
                    .map(|path| path.rsplit('/').next().unwrap());
                let seen: Vec<&str> = names.filter(|name| content.contains(name)).collect();
                assert_eq!(seen, Vec::<&str>::new(), "{}: {result}", layout.name);
            }
        }
    }
}

#[test]
fn commands_neither_change_the_configuration_nor_see_the_record() {
    for layout in &LAYOUTS {
        let bench = Bench::new();
        bench.write("mine.toml", "");
        for (tool, args) in [
            ("write_file", json!({"path": "a.txt", "content": "a"})),
            ("run_command", json!({"command": "true"})),
        ] {
            exec(&bench, layout, tool, &args);
        }
        let before = contents(&bench.workspace());
        let is_there = |path: &&&str| bench.workspace().join(path).exists();
        let there: Vec<_> = layout.closed.iter().filter(is_there).collect();
        let ways: [fn(&str, &str, &str) -> String; 4] = [
            |path, directory, _| format!("mkdir -p {directory}; echo bad > {path}"),
            |path, directory, top| format!("rm -rf {top}; mkdir -p {directory}; echo bad > {path}"),
            |path, directory, top| {
                format!("mv {top} away; mkdir -p {directory}; echo bad > {path}")
            },
            |path, directory, top| {
                format!(
                    "mkdir -p x/{directory}; echo bad > x/{path}; mv x/{top} .; ln x/{path} {path}"
                )
            },
        ];
        for way in ways {
            let lines = layout.kept.iter().chain(layout.closed).map(|path| {
                let (directory, _) = path.rsplit_once('/').unwrap_or((".", path));
                let (top, _) = path.split_once('/').unwrap_or((path, ""));
                way(path, directory, top)
            });
            let line = lines.collect::<Vec<_>>().join("; ");
            let result = exec(&bench, layout, "run_command", &json!({"command": line}));
            let mut after = contents(&bench.workspace());
            after.retain(|name, _| !name.starts_with("x/") && !name.contains("set-aside"));
            assert_eq!(before, after, "{}: {line}: {result}", layout.name);
            for path in &there {
                assert!(bench.workspace().join(path).exists(), "{line}: {result}");
            }
            let _ = std::fs::remove_dir_all(bench.workspace().join("x"));
        }
        for path in there {
            let line = format!("cat {path} && echo it was read");
            let result = exec(&bench, layout, "run_command", &json!({"command": line}));
            let content = result["content"].as_str().unwrap();
            assert!(
                !content.contains("SQLite") && !content.contains("was read"),
                "{line}: {result}"
            );
        }
        // The record went on through all of it.
        let mut verify = command(&bench, layout);
        verify.args(["journal", "verify"]);
        let done = finish(verify, b"");
        assert_eq!(done.code, Some(0), "{}: {done:?}", layout.name);
    }
}

#[test]
fn nobody_works_where_toolgate_keeps_its_files() {
    let bench = Bench::new();
    std::fs::create_dir_all(bench.home_directory().join("inside")).unwrap();
    let home = bench.home_directory();
    for workspace in [home.clone(), home.join("inside")] {
        let mut command = bench.toolgate();
        command.arg("--workspace").arg(&workspace);
        command.args(["exec", "list_directory", "{}"]);
        let done = finish(command, b"");
        assert_eq!(done.code, Some(2), "{done:?}");
        assert!(done.stderr.contains("keeps its own files"), "{done:?}");
    }
    bench.home(
        "config.toml",
        &format!("[tools.sandbox]\ngrants = [{:?}]\n", home.join("inside")),
    );
    let look = format!(
        "test -e {} && echo it is there; true",
        home.join("inside").display()
    );
    let args = json!({ "command": look }).to_string();
    let done = bench.run(&["--approve", "all", "exec", "run_command", &args]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.stderr.contains("left out"), "{done:?}");
    assert!(!done.stdout.contains("it is there\\n"), "{done:?}");
}

#[test]
fn a_rule_that_names_the_configuration_opens_it_and_never_the_record() {
    let bench = Bench::new();
    let layout = Layout {
        name: "named",
        env: &[("XDG_CONFIG_HOME", "cfg"), ("XDG_DATA_HOME", "kept")],
        options: &[],
        kept: &[],
        closed: &[],
    };
    std::fs::create_dir_all(bench.workspace().join("cfg/toolgate")).unwrap();
    let named = ["cfg/toolgate/config.toml", "kept/toolgate/grants.toml"];
    bench.write(
        "cfg/toolgate/config.toml",
        &format!(
            "[[tools.rules]]\ntool = \"write_file\"\naction = \"allow\"\nwrites = {named:?}\n"
        ),
    );
    for (path, wanted) in named.into_iter().zip(["none", "denied_pattern"]) {
        let args = json!({"path": path, "content": "", "overwrite": true});
        let result = exec(&bench, &layout, "write_file", &args);
        assert_eq!(kind(&result), wanted, "{result}");
    }
}
