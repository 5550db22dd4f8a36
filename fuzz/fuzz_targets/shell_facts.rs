//! Shell lines: any text is analysed, twice the same; two lines together do what each
//! of them does; and a line that bash can read is either understood or called opaque.
#![no_main]

use std::process::{Command, Stdio};

use libfuzzer_sys::fuzz_target;
use toolgate_model::Facts;
use toolgate_shell::{Analysis, LineContext, analyse};

const CONTEXT: LineContext<'_> = LineContext {
    cwd: "",
    home: Some("/home/ann"),
    roots: &["/home/ann/work"],
};

/// One of so many lines is shown to bash: starting it is slow.
const SHOWN_TO_BASH: u64 = 512;

fuzz_target!(|input: &[u8]| {
    // A byte that is in no text parts two lines.
    let mut lines = input.splitn(2, |byte| *byte == 0xff);
    let first = String::from_utf8_lossy(lines.next().unwrap_or_default());
    let analysis = looked_at(&first);
    if let Some(second) = lines.next() {
        together(&first, &analysis, &String::from_utf8_lossy(second));
    }
    if chosen(first.as_bytes()) && bash_reads(&first) {
        let understood = !analysis.commands.is_empty() || does_something(&analysis.facts);
        assert!(understood || !analysis.facts.complete || has_no_command(&first));
    }
});

fn looked_at(line: &str) -> Analysis {
    let analysis = analyse(line, &CONTEXT);
    let again = analyse(line, &CONTEXT);
    assert_eq!(format!("{analysis:?}"), format!("{again:?}"));
    assert_eq!(analysis.facts.complete, analysis.opaque.is_empty());
    assert!(analysis.facts.claimed);
    analysis
}

/// What each of two lines does, both of them do, unless the first changes what the
/// second means.
fn together(first: &str, one: &Analysis, second: &str) {
    let other = looked_at(second);
    if !one.facts.complete || !other.facts.complete || first.ends_with('\\') {
        return;
    }
    let both = looked_at(&format!("{first}\n{second}"));
    if both.facts.complete {
        assert!(within(&one.facts, &both.facts), "{first:?} of {both:#?}");
        assert!(
            changes_the_shell(first) || within(&other.facts, &both.facts),
            "{second:?} of {both:#?}"
        );
    }
}

fn within(part: &Facts, whole: &Facts) -> bool {
    let all = |part: &[String], whole: &[String]| part.iter().all(|entry| whole.contains(entry));
    all(&part.reads, &whole.reads)
        && all(&part.writes, &whole.writes)
        && all(&part.deletes, &whole.deletes)
        && all(&part.connects, &whole.connects)
        && all(&part.catastrophic, &whole.catastrophic)
        && part
            .runs
            .iter()
            .all(|run| whole.runs.iter().any(|other| other.words == run.words))
}

/// Whether a line may leave variables, functions, another directory or an open here-document
/// behind; rather too often than too seldom.
fn changes_the_shell(line: &str) -> bool {
    const WORDS: [&str; 20] = [
        "=", "(", "<<", "cd", "pushd", "popd", "set", "read", "for", "select", "getopts",
        "mapfile", "printf", "shopt", "alias", "declare", "export", "exec", "function", "eval",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

fn does_something(facts: &Facts) -> bool {
    facts.has_effects() || !facts.reads.is_empty() || !facts.catastrophic.is_empty()
}

/// Nothing but blanks and comments.
fn has_no_command(line: &str) -> bool {
    line.lines()
        .map(str::trim_start)
        .all(|line| line.is_empty() || line.starts_with('#'))
}

/// Chosen by the line itself, so that a finding stays one.
fn chosen(line: &[u8]) -> bool {
    let hash = line.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32).is_multiple_of(SHOWN_TO_BASH)
}

/// Whether bash accepts the line. With `-n` it parses and runs nothing.
fn bash_reads(line: &str) -> bool {
    if line.contains('\0') {
        return false;
    }
    Command::new("bash")
        .args(["--norc", "--noprofile", "-n", "-c", line])
        .env_clear()
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}
