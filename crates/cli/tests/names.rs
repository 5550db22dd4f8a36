//! Which names are denied, and how a user opens one: `data/names.jsonl`, through the program,
//! for root and for an ordinary user. Tools and commands have to give the same answer.

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

use run::{Place, User, program, users};
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    path: String,
    reads: bool,
    why: String,
}

fn rows() -> Vec<Row> {
    include_str!("data/names.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

const CANARY: &str = "CANARY-77aa";

fn on_the_host(place: &Place, script: &str) {
    let mut command = place.command(Path::new("bash"));
    let output = command.args(["-ec", script]).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

fn make(place: &Place, path: &str) {
    let path = format!("$WS/{path}");
    let script = format!("mkdir -p \"$(dirname \"{path}\")\"; echo {CANARY} > \"{path}\"");
    on_the_host(place, &script);
}

fn batch(place: &Place, calls: &[(&str, Value)]) -> (Vec<Value>, String) {
    let lines: Vec<String> = calls
        .iter()
        .map(|(name, args)| json!({"name": name, "args": args}).to_string())
        .collect();
    let mut command = place.toolgate();
    command.arg("--workspace").arg(place.path("ws"));
    command.args(["--approve", "all", "batch", "--unlimited"]);
    let done = support::finish(command, lines.join("\n").as_bytes());
    let results = done.stdout.lines();
    let results: Vec<Value> = results
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(results.len(), calls.len(), "{done:?}");
    (results, done.stderr)
}

fn shows(result: &Value) -> bool {
    result["content"]
        .as_str()
        .is_some_and(|text| text.contains(CANARY))
}

/// A command whose facts are not known, so that only the sandbox stands in its way.
fn cat(path: &str) -> Value {
    let quoted = format!("import sys; print(open({path:?}).read())");
    json!({"command": format!("python3 -c '{quoted}'")})
}

#[test]
fn tools_and_commands_hide_data_by_its_name_and_not_source_code() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let rows = rows();
        for row in &rows {
            make(&place, &row.path);
        }
        let reads = rows
            .iter()
            .map(|row| ("read_file", json!({"path": row.path})));
        let commands = rows.iter().map(|row| ("run_command", cat(&row.path)));
        let listing = [(
            "glob",
            json!({"pattern": "**", "include_hidden": true, "include_ignored": true, "max_results": 1000}),
        )];
        let calls: Vec<_> = reads.chain(commands).chain(listing).collect();
        let (results, _) = batch(&place, &calls);
        let listed = results.last().unwrap()["content"]
            .as_str()
            .unwrap()
            .to_owned();
        let mut wrong = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let read = &results[at];
            let ran = &results[rows.len() + at];
            let is_listed = listed.lines().any(|line| line.trim() == row.path);
            if (shows(read), shows(ran), is_listed) != (row.reads, row.reads, row.reads) {
                let seen = format!("read: {read}\nran: {ran}\nlisted: {is_listed}");
                wrong.push(format!("{} ({}): {seen}", row.path, row.why));
            }
            if !row.reads && read["error"]["kind"] != "denied_pattern" {
                wrong.push(format!("{}: {read}", row.path));
            }
        }
        assert!(wrong.is_empty(), "{user:?}: {}", wrong.join("\n"));
    }
}

/// What a refusal tells the user to add, as configuration.
fn told(result: &Value) -> String {
    let text = result["error"]["message"].as_str().unwrap_or_default();
    let rule = text
        .find("[[tools.rules]]")
        .and_then(|from| text.get(from..));
    let rule = rule.unwrap_or_else(|| panic!("no rule in {result}"));
    rule.trim_end_matches('.').to_owned() + "\n"
}

#[test]
fn the_rule_that_a_denial_tells_opens_that_path_to_tools_and_commands_and_no_other() {
    const PATHS: [&str; 5] = [
        "config/secrets.json",
        ".env",
        "deep/a [b]/credentials.yml",
        ".aws/config",
        "tls.key",
    ];
    const OTHERS: [&str; 4] = ["other/secrets.json", "other/.env", ".aws/cli", ".npmrc"];
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let all = || PATHS.into_iter().chain(OTHERS);
        all().for_each(|path| make(&place, path));
        let reads = all().map(|path| ("read_file", json!({"path": path})));
        let commands = all().map(|path| ("run_command", cat(path)));
        let calls: Vec<_> = reads.chain(commands).collect();
        let (before, _) = batch(&place, &calls);
        assert!(!before.iter().any(shows), "{before:?}");
        let rules: String = before[..PATHS.len()].iter().map(told).collect();
        write_config(&place, user, &rules);
        let (after, notices) = batch(&place, &calls);
        for (at, path) in all().chain(all()).enumerate() {
            let opens = PATHS.contains(&path);
            assert_eq!(shows(&after[at]), opens, "{path} {notices}: {}", after[at]);
        }
        // They were opened for reading.
        let python = |path: &str, mode: &str| json!({"command": format!("python3 -c 'open({path:?}, {mode:?}).write(\"2\")'")});
        let write =
            |path: &str| json!({"path": path, "content": format!("{CANARY}1"), "overwrite": true});
        let tools = PATHS.map(|path| ("write_file", write(path)));
        let calls = [
            &tools[..],
            &PATHS.map(|path| ("run_command", python(path, "w"))),
        ]
        .concat();
        let (written, _) = batch(&place, &calls);
        for result in &written {
            assert_ne!(result["status"], "ok", "{result}");
        }
        // What the refused write tells opens writing.
        let rules: String = written[..PATHS.len()].iter().map(told).collect();
        write_config(&place, user, &rules);
        let reads = PATHS.map(|path| ("read_file", json!({"path": path})));
        let appends = PATHS.map(|path| ("run_command", python(path, "a")));
        let cats = PATHS.map(|path| ("run_command", cat(path)));
        let (open, _) = batch(&place, &[reads, tools, appends, cats].concat());
        for result in &open[3 * PATHS.len()..] {
            let text = result["content"].as_str().unwrap();
            assert_eq!(text.trim_end(), format!("{CANARY}12"), "{result}");
        }
    }
}

/// The directories are granted one by one: none of them may take the others' commands away.
#[test]
fn no_grant_makes_commands_refuse() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        on_the_host(
            &place,
            "mkdir -p $OUT/cache $OUT/closed; echo inside > $OUT/cache/x; chmod 000 $OUT/closed",
        );
        let home = place.path("home");
        for (grant, left_out) in [
            (place.path("out/cache"), false),
            (place.path("out"), false),
            ("/nowhere/at/all".into(), true),
            ("/".into(), true),
            ("/proc".into(), true),
            ("/tmp".into(), true),
            ("/run".into(), true),
            ("/var/tmp".into(), true),
            ("/etc".into(), false),
            (home.clone(), true),
            (home.join("journal.sqlite"), true),
            (place.path("."), false),
        ] {
            for access in ["read", "write"] {
                let line = format!(
                    "[tools.sandbox]\ngrants = [{{ path = {grant:?}, access = {access:?} }}]\n"
                );
                write_config(&place, user, &line);
                let (results, notices) = batch(
                    &place,
                    &[("run_command", json!({"command": "echo goes-on"}))],
                );
                assert!(
                    results[0]["content"]
                        .as_str()
                        .unwrap()
                        .starts_with("goes-on\n"),
                    "{user:?} {line}: {results:?} {notices}"
                );
                assert_eq!(
                    notices.contains("was left out"),
                    left_out,
                    "{user:?} {line}: {notices}"
                );
            }
        }
    }
}

#[test]
fn what_the_configuration_denies_is_opened_by_no_rule() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        make(&place, "config/secrets.json");
        write_config(
            &place,
            user,
            "[[tools.rules]]\ntool = \"*\"\naction = \"allow\"\nreads = [\"config/secrets.json\"]\n[tools.sandbox]\ndenied_patterns = [\"config/\"]\n",
        );
        let calls = [
            ("read_file", json!({"path": "config/secrets.json"})),
            ("run_command", cat("config/secrets.json")),
        ];
        let (results, _) = batch(&place, &calls);
        assert!(!results.iter().any(shows), "{results:?}");
        let told = results[0]["error"]["message"].as_str().unwrap();
        assert!(!told.contains("tools.rules"), "{told}");
    }
}

#[test]
fn a_rule_about_a_directory_opens_only_what_its_own_name_denies() {
    let _kept = program();
    for user in users() {
        let place = Place::new(user);
        let files = [
            ("fixtures/secrets/a.json", true),
            ("fixtures/secrets/.env", false),
            ("fixtures/secrets/credentials.json", false),
            ("src/.env", false),
        ];
        for (path, _) in files {
            make(&place, path);
        }
        write_config(
            &place,
            user,
            "[[tools.rules]]\ntool = \"*\"\naction = \"allow\"\nreads = [\"fixtures/secrets\", \"src\"]\n",
        );
        let reads = files
            .iter()
            .map(|(path, _)| ("read_file", json!({"path": path})));
        let commands = files.iter().map(|(path, _)| ("run_command", cat(path)));
        let calls: Vec<_> = reads.chain(commands).collect();
        let (results, _) = batch(&place, &calls);
        for (at, (path, opens)) in files.iter().chain(&files).enumerate() {
            assert_eq!(shows(&results[at]), *opens, "{path}: {}", results[at]);
        }
    }
}

fn write_config(place: &Place, user: User, text: &str) {
    let file = place.path("home").join("config.toml");
    std::fs::write(&file, text).unwrap();
    if user == User::Ordinary {
        let owner = std::os::unix::fs::MetadataExt::uid(&place.path("home").metadata().unwrap());
        std::os::unix::fs::chown(&file, Some(owner), Some(owner)).unwrap();
    }
}
