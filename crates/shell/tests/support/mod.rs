//! What the tests of this crate share: the place a line runs in, and the data.
#![allow(dead_code, unreachable_pub)]

pub mod bash;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use toolgate_model::Facts;
use toolgate_shell::{Analysis, LineContext, analyse};

pub const HOME: &str = "/home/ann";
pub const ROOT: &str = "/home/ann/work/project";

#[derive(Debug, Deserialize)]
pub struct Case {
    pub id: String,
    pub args: Args,
    pub expect: String,
    pub profile: String,
    #[serde(default)]
    pub rules: Vec<String>,
    #[serde(default)]
    pub accept: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Args {
    pub command: String,
}

pub fn cases(file: &str) -> Vec<Case> {
    rows(file)
}

/// The rows of a file in `tests/data`.
pub fn rows<T: DeserializeOwned>(file: &str) -> Vec<T> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the data file is there");
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[derive(Debug, Deserialize)]
struct Judged {
    line: String,
    /// `allow`: complete. `ask`: incomplete, but not catastrophic. `deny`: catastrophic.
    /// `seen`: incomplete, or the script that is run or the secret that is read is stated.
    expect: String,
}

/// Compares the outcome of every row of a file with the expected one.
pub fn judged_rows(file: &str) {
    let rows: Vec<Judged> = rows(file);
    assert!(rows.len() > 50, "{file} has lost its rows");
    let mut wrong = Vec::new();
    for row in &rows {
        let analysis = analyse_line(&row.line);
        let facts = &analysis.facts;
        let found = match (facts.catastrophic.is_empty(), facts.complete) {
            (false, _) => "deny",
            (true, false) => "ask",
            (true, true) => "allow",
        };
        let script = |run: &toolgate_model::Run| {
            run.words
                .first()
                .is_some_and(|program| program == "./script.sh")
        };
        let stated = facts.runs.iter().any(script)
            || facts
                .reads
                .iter()
                .any(|path| path == ".env" || path.ends_with("private.txt"));
        let fits = match row.expect.as_str() {
            "seen" => found == "ask" || (found == "allow" && stated),
            expected => found == expected,
        };
        if !fits {
            let why = &analysis.opaque;
            wrong.push(format!(
                "{found} instead of {}: {:?} {why:?}",
                row.expect, row.line
            ));
        }
    }
    let (count, all) = (wrong.len(), rows.len());
    assert!(
        wrong.is_empty(),
        "{count} of {all} wrong:\n{}",
        wrong.join("\n")
    );
}

/// The lines of a file in `tests/data`: a line that starts with `}`
/// continues the one before, and `#` at the start is a comment.
pub fn lines(file: &str) -> Vec<String> {
    let path = format!("{}/tests/data/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the data file is there");
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if line.starts_with('}') => {
                last.push('\n');
                last.push_str(line);
            }
            _ if line.starts_with('#') => {}
            _ => lines.push(line.to_owned()),
        }
    }
    lines
}

pub fn context() -> LineContext<'static> {
    LineContext {
        cwd: "",
        home: Some(HOME),
        roots: &[ROOT],
    }
}

pub fn analyse_line(line: &str) -> Analysis {
    analyse(line, &context())
}

/// Whether something of a line is not covered by rules that only name commands.
pub fn stands_out(facts: &Facts, rules: &[String]) -> bool {
    let covered = |words: &[String]| {
        rules.iter().any(|rule| {
            let wanted: Vec<&str> = rule.split(' ').collect();
            match wanted.split_last() {
                Some((&"*", leading)) => starts_with(words, leading),
                _ => starts_with(words, &wanted),
            }
        })
    };
    !facts.complete
        || !facts.catastrophic.is_empty()
        || !facts.writes.is_empty()
        || !facts.deletes.is_empty()
        || !facts.connects.is_empty()
        || facts
            .reads
            .iter()
            .any(|path| path.starts_with('/') || path.starts_with('~'))
        || facts
            .runs
            .iter()
            .any(|run| run.opaque || !covered(&run.words))
}

fn starts_with(words: &[String], leading: &[&str]) -> bool {
    words.len() >= leading.len()
        && words
            .iter()
            .zip(leading)
            .all(|(word, wanted)| word == wanted)
}
