//! Long lines get the same answers as short ones, in a time that grows with their length.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod support;

use support::analyse_line;

const SIZE: usize = 60_000;

/// What is repeated, and what stands before and behind it.
const SHAPES: &[(&str, &str, &str)] = &[
    ("cat ", "a ", ""),
    ("rm ", "'a' ", ""),
    ("foo ", "a ", ""),
    ("ls ", "*.rs ", ""),
    ("ls ", "*", ""),
    ("cat ", "~/a ", ""),
    ("", "cat a | ", "wc"),
    ("", "cat a && ", "ls"),
    ("", "cd a && ", "ls"),
    ("", "(ls); ", ""),
    ("", "f() { ls; }; ", "f"),
    ("", "cat <<E\nabc\nE\n", ""),
    ("awk '{ ", "print /a/; ", "}' f"),
    ("sed '", "s/a/b/;", "' f"),
    ("python3 -c '", "os.system(\"ls\"); ", "'"),
    ("echo ", "a ", "| xargs ls"),
    ("set -- ", "a ", "; shift; shift; echo $1"),
];

#[test]
fn long_lines_hide_nothing() {
    for (before, repeated, behind) in SHAPES {
        let middle = repeated.repeat(SIZE / repeated.len());
        let line = format!("{before}{middle}{behind}");
        let hiding = format!("{line}\nrm -rf /");
        let facts = analyse_line(&hiding).facts;
        assert!(!facts.catastrophic.is_empty(), "{before}{repeated}{behind}");
    }
}

#[test]
fn many_variables_take_no_more_time_than_many_commands() {
    let numbered = |shape: &str| numbered(shape, SIZE / (shape.len() + 4));
    for shape in [
        "v#=a; ",
        "v#=a; echo $v#; ",
        "export v#=a; ",
        "read v#; ",
        "f#() { ls; }; f#; ",
        "a#=(b c); ",
    ] {
        let facts = analyse_line(&format!("{}\nrm -rf /", numbered(shape))).facts;
        assert!(!facts.catastrophic.is_empty(), "{shape}");
    }
}

/// `shape` so often, with its number in place of `#`.
fn numbered(shape: &str, count: usize) -> String {
    let one = |number: usize| shape.replace('#', &number.to_string());
    (0..count).map(one).collect()
}

#[test]
fn ways_that_part_with_many_variables_are_followed() {
    for count in [30, 300, 3_000] {
        let variables = numbered("v#=a; ", count);
        for ways in [
            "if a; then b=1; fi; ",
            "if [ -f x# ]; then v#=b; else v#=c; fi; ",
            "[ -f x# ] && v#=b || v#=c; ",
            "case $1 in a) v#=1;; *) v#=2;; esac; ls; ",
            "for f in a b; do v#=$f; done; ls; ",
            "while [ -f x# ]; do v#=b; done; ",
            "f#() { local a=$1; v#=b; }; f# x; ls; ",
            "if a; then export v#=b; fi; ",
            "if a; then x#=(b c); fi; ",
            "(v#=b; ls); ",
        ] {
            let line = format!("{variables}{}", numbered(ways, count));
            let analysis = analyse_line(&line);
            let facts = analysis.facts;
            assert!(facts.complete, "{count} {ways}: {:?}", analysis.opaque);
            assert!(facts.catastrophic.is_empty(), "{count} {ways}");
        }
        let parted = numbered("if [ -f x# ]; then v#=b; else v#=c; fi; ", count);
        let facts = analyse_line(&format!("{variables}{parted}cat $v1")).facts;
        assert!(!facts.complete, "v1 has two values");
        let met = numbered("if [ -f x# ]; then v#=b; else v#=b; fi; ", count);
        let facts = analyse_line(&format!("{variables}{met}cat $v1")).facts;
        assert!(facts.complete && facts.reads.contains(&"b".to_owned()));
    }
}

#[test]
fn more_variables_than_can_be_followed_are_denied() {
    let line = numbered("v#=a; ", 4_000) + &"sh -c ls; ".repeat(4_000);
    let facts = analyse_line(&line).facts;
    assert!(!facts.complete);
    let split = |why: &String| why.contains("split the line");
    assert!(
        facts.catastrophic.iter().any(split),
        "{:?}",
        facts.catastrophic
    );
}
